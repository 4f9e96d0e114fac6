# SPDX-License-Identifier: Apache-2.0
# Lists what libcudnn.so.9 is built from, besides what all stand-ins have. The headers are
# enough; tools/get-headers.sh can fetch them without the library.
DNN_H   := $(foreach h,cudnn_graph.h cudnn_ops.h cudnn_cnn.h cudnn_adv.h,$(firstword \
	   $(wildcard $(CUDA_INC)/$(h) $(LIB_INC)/$(h))))
DNN_OBJ := $(addprefix $(OUT)/dnn/,handle.o descriptor.o convolution.o norm.o tensor.o) $(STANDIN_OBJ)

$(OUT)/dnn/dnn.ptx: dnn/args.h dnn/element.cuh dnn/image.cuh standin/half.cuh standin/number.cuh
$(OUT)/dnn/%.o $(OUT)/gen_softgpu_cudnn.o: CFLAGS_ALL += -isystem $(LIB_INC)

ifneq ($(and $(HAVE_NVCC),$(word 4,$(DNN_H))),)
$(eval $(call standin_lib,libcudnn.so.9,cudnn,$(DNN_OBJ),$(OUT)/dnn/dnn_image.o,$(DNN_H),3000))
else
$(info  softgpu: no nvcc or cudnn_graph.h: libcudnn.so.9 is not built)
endif
