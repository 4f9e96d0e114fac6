# SPDX-License-Identifier: Apache-2.0
# A folder of tests that are all scripts includes this file after common.mk. Each script is
# copied, with the places of the source and of the build folder filled in.
.DEFAULT_GOAL := all
D := $(O)/tests/$(notdir $(CURDIR))
SCRIPTS := $(patsubst %_test.sh,$(D)/%.t,$(wildcard *_test.sh))

$(SCRIPTS): $(D)/%.t: %_test.sh
	$(Q)mkdir -p $(@D)
	$(call say,COPY,$@)sed -e 's|@TOP@|$(TOP)|' -e 's|@BUILD@|$(O)|' $< >$@ && chmod 755 $@

.PHONY: all
