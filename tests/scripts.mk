# SPDX-License-Identifier: Apache-2.0
# Included by a folder of tests that are all scripts, after common.mk: each is copied, with the
# places of the source and of what is built in it.
D := $(O)/tests/$(notdir $(CURDIR))
SCRIPTS := $(patsubst %_test.sh,$(D)/%.t,$(wildcard *_test.sh))

$(SCRIPTS): $(D)/%.t: %_test.sh
	$(Q)mkdir -p $(@D)
	$(call say,COPY,$@)sed -e 's|@TOP@|$(TOP)|' -e 's|@BUILD@|$(O)|' $< >$@ && chmod 755 $@

.PHONY: all
