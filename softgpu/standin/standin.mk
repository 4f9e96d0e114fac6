# SPDX-License-Identifier: Apache-2.0
# Builds a stand-in for a CUDA library (blas/blas.mk, fft/fft.mk, rand/rand.mk), if nvcc and
# the library's header are there, and the objects that all stand-ins share. Their kernels
# are CUDA C, compiled to PTX for any GPU from compute capability 7.5 on.
HAVE_NVCC   := $(shell command -v $(NVCC) 2>/dev/null)
STANDIN_OBJ := $(OUT)/standin/standin.o

$(OUT)/%.ptx: %.cu standin/standin.mk
	@mkdir -p $(@D)
	$(call say,NVCC,$@)$(NVCC) -ptx -arch=compute_75 $(NVCC_FLAGS) -o $@ $<

$(OUT)/%_image.o: standin/image.S $(OUT)/%.ptx
	$(call say,AS,$@)$(CC) -DIMAGE='"$(OUT)/$*.ptx"' -c -o $@ $<

# standin_lib LIBRARY, PREFIX, OBJECTS, IMAGE, HEADER, STATUS of a refusal. The library has
# one version node with the name of the soname, as NVIDIA's libraries do.
define standin_lib
all: $(OUT)/$(1)

$(GEN)/gen_softgpu_$(2).c: standin/gen_standin.py $(3) | $(GEN)
	$$(call say,GEN,$$@)$(PYTHON) standin/gen_standin.py $(2) $(6) $$@ $(5) $(3)

$(OUT)/gen_softgpu_$(2).o: $(GEN)/gen_softgpu_$(2).c
	$$(call say,CC,$$@)$(CC) $$(CFLAGS_ALL) -c -o $$@ $$<

$(OUT)/$(1): $(3) $(4) $(OUT)/gen_softgpu_$(2).o
	$$(Q)printf '$(1) {\nglobal:\n\t$(2)*;\n\twormhole_standin_driver;\nlocal:\n\t*;\n};\n' >$(OUT)/$(2).map
	$$(call say,LD,$$@)$(CC) -shared -Wl,-soname,$(1) -Wl,--version-script=$(OUT)/$(2).map \
		-Wl,-Bsymbolic-functions -Wl,--no-undefined -o $$@.new $$^ -lpthread -ldl -lm
	$$(Q)mv -f $$@.new $$@

-include $(patsubst %.o,%.d,$(3) $(OUT)/gen_softgpu_$(2).o)
endef

# The PTX is kept, because it shows what a library was built from.
.PRECIOUS: $(OUT)/%.ptx
