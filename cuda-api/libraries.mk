# SPDX-License-Identifier: Apache-2.0
# Gives makefiles what the heads of descriptions say about libraries: LIBRARIES, REFUSED, and for each
# library SONAME_name and WIRE_name. A Makefile includes it after common.mk.
ifndef LIBRARIES
.DEFAULT_GOAL := all
# The folder itself is a prerequisite too, since a removed description is none.
$(O)/gen/gen_libraries.mk: $(wildcard $(addprefix $(TOP)/cuda-api/,*.api *.refused wire*.h gone*.h)) $(TOP)/cuda-api/heads.py $(TOP)/cuda-api/.
	$(call say,GEN,$@)$(PYTHON) -B $(TOP)/cuda-api/heads.py $(O)/gen && touch $@

include $(O)/gen/gen_libraries.mk
endif
