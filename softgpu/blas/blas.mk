# SPDX-License-Identifier: Apache-2.0
# Lists what libcublas.so.13 is built from, besides what all stand-ins have. The header is
# enough; tools/get-headers.sh can fetch it without the library.
BLAS_H   := $(firstword $(wildcard $(CUDA_INC)/cublas_api.h $(LIB_INC)/cublas_api.h))
BLAS_OBJ := $(addprefix $(OUT)/blas/,handle.o level1.o level2.o level3.o factor.o) $(STANDIN_OBJ)

$(OUT)/blas/blas.ptx: standin/number.cuh standin/factor.cuh
$(OUT)/blas/%.o $(OUT)/gen_softgpu_cublas.o: CFLAGS_ALL += -isystem $(LIB_INC)
ifneq ($(and $(HAVE_NVCC),$(BLAS_H)),)
$(eval $(call standin_lib,libcublas.so.13,cublas,$(BLAS_OBJ),$(OUT)/blas/blas_image.o,$(BLAS_H),15))
else
$(info  softgpu: no nvcc or cublas_api.h: libcublas.so.13 is not built)
endif
