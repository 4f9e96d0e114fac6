# SPDX-License-Identifier: Apache-2.0
# What libcublas.so.13 is made of, beside what all stand-ins have.
# One that brought the headers alone will do: tools/get-headers.sh.
BLAS_H   := $(firstword $(wildcard $(CUDA_INC)/cublas_api.h $(LIB_INC)/cublas_api.h))
BLAS_OBJ := $(addprefix $(OUT)/blas/,handle.o level1.o level2.o level3.o) $(STANDIN_OBJ)

$(OUT)/blas/%.o $(OUT)/gen_softgpu_cublas.o: CFLAGS_ALL += -isystem $(LIB_INC)
ifneq ($(and $(HAVE_NVCC),$(BLAS_H)),)
$(eval $(call standin_lib,libcublas.so.13,cublas,$(BLAS_OBJ),$(OUT)/blas/blas_image.o,$(BLAS_H),15))
else
$(info  softgpu: no nvcc or cublas_api.h: libcublas.so.13 is not built)
endif
