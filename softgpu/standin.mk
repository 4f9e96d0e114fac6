# SPDX-License-Identifier: Apache-2.0
# Builds the stand-ins for CUDA libraries, build/softgpu/libcublas.so.13 and
# libcurand.so.10, where nvcc and the libraries' headers are there: their
# kernels are CUDA C, made PTX for any GPU from compute capability 7.5 on.
HAVE_NVCC    := $(shell command -v $(NVCC) 2>/dev/null)
HAVE_RAND    := $(and $(HAVE_NVCC),$(wildcard $(CUDA_INC)/curand_kernel.h))
HAVE_BLAS    := $(and $(HAVE_NVCC),$(wildcard $(CUDA_INC)/cublas_api.h))

SI       := $(OUT)/standin
RAND_OBJ := $(SI)/rand/rand.o $(SI)/standin/standin.o
BLAS_SRC := handle level1 level2 level3
BLAS_OBJ := $(BLAS_SRC:%=$(SI)/blas/%.o) $(SI)/standin/standin.o

$(if $(HAVE_RAND),,$(info  softgpu: no nvcc or curand_kernel.h: libcurand.so.10 is not built))
$(if $(HAVE_BLAS),,$(info  softgpu: no nvcc or cublas_api.h: libcublas.so.13 is not built))
all: $(if $(HAVE_RAND),$(OUT)/libcurand.so.10) $(if $(HAVE_BLAS),$(OUT)/libcublas.so.13)

$(SI)/%.o: %.c Makefile standin.mk
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CFLAGS_ALL) -c -o $@ $<

$(SI)/%.ptx: %.cu standin.mk
	@mkdir -p $(@D)
	$(call say,NVCC,$@)$(NVCC) -ptx -arch=compute_75 $(NVCC_FLAGS) -o $@ $<

# The header's own tables and helpers are not all used.
$(SI)/rand/rand.ptx: NVCC_FLAGS := -diag-suppress 177

$(SI)/%_image.o: standin/image.S $(SI)/%.ptx
	$(call say,AS,$@)$(CC) -DIMAGE='"$(SI)/$*.ptx"' -c -o $@ $<

$(GEN)/gen_softgpu_curand.c: gen_standin.py $(RAND_OBJ) | $(GEN)
	$(call say,GEN,$@)$(PYTHON) gen_standin.py curand 204 $@ $(CUDA_INC)/curand.h $(RAND_OBJ)

$(GEN)/gen_softgpu_cublas.c: gen_standin.py $(BLAS_OBJ) | $(GEN)
	$(call say,GEN,$@)$(PYTHON) gen_standin.py cublas 15 $@ $(CUDA_INC)/cublas_api.h $(BLAS_OBJ)

$(SI)/gen_softgpu_%.o: $(GEN)/gen_softgpu_%.c
	$(call say,CC,$@)$(CC) $(CFLAGS_ALL) -c -o $@ $<

# One version node, named as the soname: so have the genuine ones.
define standin_lib
$(OUT)/$(1): $(2)
	$$(Q)printf '$(1) {\nglobal:\n\t$(3)*;\n\twormhole_standin_driver;\nlocal:\n\t*;\n};\n' > $(SI)/$(3).map
	$$(call say,LD,$$@)$$(CC) -shared -Wl,-soname,$(1) -Wl,--version-script=$(SI)/$(3).map \
		-Wl,-Bsymbolic-functions -Wl,--no-undefined -o $$@.new $(2) -lpthread -ldl -lm
	$$(Q)mv -f $$@.new $$@
endef
$(eval $(call standin_lib,libcurand.so.10,$(RAND_OBJ) $(SI)/rand/rand_image.o $(SI)/gen_softgpu_curand.o,curand))
$(eval $(call standin_lib,libcublas.so.13,$(BLAS_OBJ) $(SI)/blas/blas_image.o $(SI)/gen_softgpu_cublas.o,cublas))

# Kept: what a library was made of.
.PRECIOUS: $(SI)/%.ptx

-include $(wildcard $(SI)/*/*.d)
