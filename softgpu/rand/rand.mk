# SPDX-License-Identifier: Apache-2.0
# Lists what libcurand.so.10 is built from, besides what all stand-ins have.
RAND_INC := $(patsubst %/curand_kernel.h,%,$(firstword $(wildcard $(CUDA_INC)/curand_kernel.h $(LIB_INC)/curand_kernel.h)))
RAND_H   := $(addsuffix /curand.h,$(RAND_INC))
RAND_OBJ := $(OUT)/rand/rand.o $(STANDIN_OBJ)

# Not all tables and helpers of the header are used.
$(OUT)/rand/rand.ptx: NVCC_FLAGS := -diag-suppress 177 $(addprefix -isystem ,$(RAND_INC))
$(OUT)/rand/rand.o $(OUT)/gen_softgpu_curand.o: CFLAGS_ALL += -isystem $(RAND_INC)

ifneq ($(and $(HAVE_NVCC),$(RAND_H)),)
$(eval $(call standin_lib,libcurand.so.10,curand,$(RAND_OBJ),$(OUT)/rand/rand_image.o,$(RAND_H),204))
else
$(info  softgpu: no nvcc or curand_kernel.h: libcurand.so.10 is not built)
endif
