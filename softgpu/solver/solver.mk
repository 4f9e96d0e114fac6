# SPDX-License-Identifier: Apache-2.0
# Lists what libcusolver.so.12 is built from, besides what all stand-ins have. The headers are
# enough; tools/get-headers.sh can fetch them without the library.
SOLVER_H   := $(foreach h,cusolver_common.h cusolverDn.h cusolverSp.h cusolverRf.h,$(firstword \
	      $(wildcard $(CUDA_INC)/$(h) $(LIB_INC)/$(h))))
SOLVER_OBJ := $(addprefix $(OUT)/solver/,handle.o dense.o legacy.o generic.o) $(STANDIN_OBJ)

$(OUT)/solver/solver.ptx: standin/number.cuh standin/factor.cuh solver/jacobi.cuh
$(OUT)/solver/%.o $(OUT)/gen_softgpu_cusolver.o: CFLAGS_ALL += -isystem $(LIB_INC)

ifneq ($(and $(HAVE_NVCC),$(word 4,$(SOLVER_H))),)
$(eval $(call standin_lib,libcusolver.so.12,cusolver,$(SOLVER_OBJ),$(OUT)/solver/solver_image.o,$(SOLVER_H),9))
else
$(info  softgpu: no nvcc or cusolverDn.h: libcusolver.so.12 is not built)
endif
