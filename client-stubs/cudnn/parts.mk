# SPDX-License-Identifier: Apache-2.0
# Builds cuDNN's parts under their own names: each of their functions is libcudnn.so.9's. The engines and
# the heuristics serve cuDNN itself, so their files only have to be found.
SPLIT       := ops cnn adv graph
EMPTY_SPLIT := heuristic engines_precompiled engines_runtime_compiled
PART_LIBS   := $(SPLIT:%=$(OUT)/libcudnn_%.so.9) $(EMPTY_SPLIT:%=$(OUT)/libcudnn_%.so.9)
GEN_PART    := $(TOP)/cuda-api/gen_parts.py

all: $(PART_LIBS)

part_header = $(firstword $(wildcard $(LIB_INC)/cudnn_$(1).h $(CUDA_INC)/cudnn_$(1).h) cudnn_$(1).h-is-missing)

$(SPLIT:%=$(GEN)/gen_cudnn_%.S): $(GEN)/gen_cudnn_%.S: $(GEN_PART) Makefile parts.mk | $(OBJ)
	$(call say,GEN,$@)$(PYTHON) -B $(GEN_PART) libcudnn_$*.so.9 $(SONAME) $(call part_header,$*) $@ $(@:.S=.map)

$(EMPTY_SPLIT:%=$(GEN)/gen_cudnn_%.S): $(GEN)/gen_cudnn_%.S: $(GEN_PART) Makefile parts.mk | $(OBJ)
	$(call say,GEN,$@)$(PYTHON) -B $(GEN_PART) libcudnn_$*.so.9 $(SONAME) none $@ $(@:.S=.map)

$(PART_LIBS): $(OUT)/libcudnn_%.so.9: $(GEN)/gen_cudnn_%.S $(LIB)
	$(call say,LD,$@)$(CC) -shared -nostdlib -o $@ $< -Wl,--no-as-needed $(LIB) -Wl,-soname,$(@F) \
		-Wl,--version-script=$(GEN)/gen_cudnn_$*.map -Wl,--no-undefined-version -Wl,-z,defs \
		-Wl,-z,now -Wl,-z,relro
	$(Q)ln -sf $(@F) $(@:.9=)
