# SPDX-License-Identifier: Apache-2.0
# Lists what libcufft.so.12 is built from, besides what all stand-ins have. The headers are
# enough; tools/get-headers.sh can fetch them without the library.
FFT_H   := $(foreach h,cufft.h cufftXt.h,$(firstword $(wildcard $(CUDA_INC)/$(h) $(LIB_INC)/$(h))))
FFT_OBJ := $(addprefix $(OUT)/fft/,plan.o shape.o exec.o) $(STANDIN_OBJ)

$(OUT)/fft/fft.ptx: fft/layout.h
$(OUT)/fft/%.o $(OUT)/gen_softgpu_cufft.o: CFLAGS_ALL += -isystem $(LIB_INC)
ifneq ($(and $(HAVE_NVCC),$(word 2,$(FFT_H))),)
$(eval $(call standin_lib,libcufft.so.12,cufft,$(FFT_OBJ),$(OUT)/fft/fft_image.o,$(FFT_H),16))
else
$(info  softgpu: no nvcc or cufftXt.h: libcufft.so.12 is not built)
endif
