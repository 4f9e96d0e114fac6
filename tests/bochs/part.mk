# SPDX-License-Identifier: Apache-2.0
# The Makefile of a folder with one test of the emulated host includes this first. The test is the
# folder's script of the folder's name; programs for it are made in $(D). GROUP is the group of
# tests that it belongs to, `bochs` where nothing is said.
include ../../../common.mk

PART := $(notdir $(CURDIR))
D    := $(O)/bochs/$(PART)/bin
T    := $(O)/tests/$(or $(GROUP),bochs)
LIB  := $(O)/client-stubs/libcuda.so.1
GPU  := $(O)/softgpu/libcuda.so.1

all: $(T)/$(PART).t

$(LIB):
	$(Q)$(MAKE) --no-print-directory -C $(TOP)/client-stubs

$(GPU):
	$(Q)$(MAKE) --no-print-directory -C $(TOP)/softgpu

# Such a library is for the server VM and uses the softgpu there.
$(D)/lib%.so: %.c Makefile $(GPU) | $(D)
	$(call say,CC,$@)$(CC) $(WH_CFLAGS) -fPIC -shared -isystem $(CUDA_INC) -o $@ $< \
		-Wl,--no-as-needed $(GPU) -Wl,-rpath,'$$ORIGIN'

$(T)/%.t: %.sh Makefile | $(T)
	$(Q)sed -e 's|@TOP@|$(TOP)|' -e 's|@BUILD@|$(O)|' $< >$@ && chmod 755 $@

$(D) $(T):
	$(Q)mkdir -p $@

clean:
	rm -rf $(D) $(T)/$(PART).t

-include $(wildcard $(D)/*.d)
.PHONY: all clean
