# SPDX-License-Identifier: Apache-2.0
# Lists what libcublasLt.so.13 is built from, besides what all stand-ins have. The header is
# enough; tools/get-headers.sh can fetch it without the library.
BLASLT_H   := $(firstword $(wildcard $(CUDA_INC)/cublasLt.h $(LIB_INC)/cublasLt.h))
BLASLT_OBJ := $(addprefix $(OUT)/blaslt/,descriptor.o library.o matmul.o) $(STANDIN_OBJ)

$(OUT)/blaslt/blaslt.ptx: blaslt/args.h
$(OUT)/blaslt/%.o $(OUT)/gen_softgpu_cublasLt.o: CFLAGS_ALL += -isystem $(LIB_INC)

ifneq ($(and $(HAVE_NVCC),$(BLASLT_H)),)
$(eval $(call standin_lib,libcublasLt.so.13,cublasLt,$(BLASLT_OBJ),$(OUT)/blaslt/blaslt_image.o,$(BLASLT_H),15))
else
$(info  softgpu: no nvcc or cublasLt.h: libcublasLt.so.13 is not built)
endif
