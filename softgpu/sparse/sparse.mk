# SPDX-License-Identifier: Apache-2.0
# Lists what libcusparse.so.12 is built from, besides what all stand-ins have. The header is
# enough; tools/get-headers.sh can fetch it without the library.
SPARSE_H   := $(firstword $(wildcard $(CUDA_INC)/cusparse.h $(LIB_INC)/cusparse.h))
SPARSE_OBJ := $(addprefix $(OUT)/sparse/,handle.o descriptor.o product.o convert.o) $(STANDIN_OBJ)

$(OUT)/sparse/sparse.ptx: sparse/args.h standin/half.cuh standin/number.cuh
$(OUT)/sparse/%.o $(OUT)/gen_softgpu_cusparse.o: CFLAGS_ALL += -isystem $(LIB_INC)

ifneq ($(and $(HAVE_NVCC),$(SPARSE_H)),)
$(eval $(call standin_lib,libcusparse.so.12,cusparse,$(SPARSE_OBJ),$(OUT)/sparse/sparse_image.o,$(SPARSE_H),10))
else
$(info  softgpu: no nvcc or cusparse.h: libcusparse.so.12 is not built)
endif
