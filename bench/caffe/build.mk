# SPDX-License-Identifier: Apache-2.0
# Builds Caffe 1.0 with CUDA 13 in a folder of its own. The checkout stays as it is.
#
#	make -f build.mk CAFFE=CHECKOUT O=FOLDER CODE=OPTIONS
#
# CODE is what nvcc is told to generate code for. Results: O/libcaffe.so, O/caffe,
# O/test_caffe and O/digits. compat.h says how old Caffe meets new CUDA. cuDNN, OpenCV,
# LevelDB, Python and NCCL are left out: Caffe 1.0 speaks to a cuDNN that has ended.
HERE := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
NVCC ?= nvcc
SRC  := $(CAFFE)/src
ARCH := $(shell $(CXX) -print-multiarch)
Q    := $(if $(V),,@)
B    := $(O)/obj

FOLDERS := $(addprefix caffe/,layers/ solvers/ util/) caffe/
CPP   := $(foreach p,$(FOLDERS),$(patsubst $(SRC)/%,%,$(wildcard $(SRC)/$(p)*.cpp)))
CU    := $(foreach p,$(FOLDERS),$(patsubst $(SRC)/%,%,$(wildcard $(SRC)/$(p)*.cu)))
# The file of the tests that has main() includes what the others need.
T_CPP := $(patsubst $(SRC)/%,%,$(wildcard $(SRC)/caffe/test/*.cpp)) gtest/gtest-all.cpp
T_CU  := $(patsubst $(SRC)/%,%,$(wildcard $(SRC)/caffe/test/*.cu))

# Headers are most of what a file's compilation reads: several files with kernels are one, and
# the others have the headers read before.
UNITS  := a b c d
OBJS   := $(patsubst %,$(B)/%.o,$(CPP) caffe/proto/caffe.pb.cc) $(patsubst %,$(B)/kernels_%.o,$(UNITS))
T_OBJS := $(patsubst %,$(B)/%.o,$(T_CPP) $(T_CU))

# protobuf, boost and glog warn of themselves where their old names are used.
FLAGS := -O2 -DNDEBUG -DCAFFE_VERSION=1.0.0 -DUSE_HDF5 -DUSE_LMDB -I$(B) -I$(SRC) -I$(CAFFE)/include \
	 -I$(HERE) -I/usr/include/hdf5/serial -I/usr/include/$(ARCH) \
	 -DBOOST_BIND_GLOBAL_PLACEHOLDERS
CUDA  := $(patsubst %/bin/,%,$(dir $(realpath $(shell command -v $(NVCC)))))
CXX_FLAGS := $(FLAGS) -std=c++17 -pthread -fPIC -w -isystem $(CUDA)/include
# A test launches a kernel that libcaffe.so has, which CUDA 13 allows on demand alone.
CU_FLAGS  := $(FLAGS) -static-global-template-stub=false -device-entity-has-hidden-visibility=false -include $(HERE)compat.h -std=c++17 -cudart shared -Xcompiler -fPIC -w $(CODE)
LIBS := -L$(CUDA)/lib64 -lcudart -lcublas -lcurand -lglog -lgflags -lprotobuf -lboost_system -lboost_filesystem \
	-lboost_thread -llmdb -L/usr/lib/$(ARCH)/hdf5/serial -lhdf5_hl -lhdf5 -lopenblas -lm
# What this machine has and another one lacks may lie in lib/ beside the programs.
LINK := -pthread -Wl,--disable-new-dtags,-rpath,'$$ORIGIN:$$ORIGIN/lib'

all: $(O)/caffe $(O)/test_caffe $(O)/digits

$(OBJS) $(T_OBJS) $(B)/main.o $(B)/digits.o: $(B)/caffe/proto/caffe.pb.h $(HERE)compat.h
$(filter %.cpp.o %.cc.o,$(OBJS)) $(B)/main.o $(B)/digits.o: HEADERS := $(B)/caffe.h
$(filter %.cpp.o %.cc.o,$(OBJS)) $(B)/main.o $(B)/digits.o: $(B)/caffe.h.gch
# Tests are hundreds of instances of templates; optimising all of them takes most of a build.
$(T_OBJS) $(B)/tests.h.gch: OPT := -O1
$(T_OBJS): HEADERS := $(B)/tests.h
$(T_OBJS): $(B)/tests.h.gch

$(B)/caffe/proto/caffe.pb.h $(B)/caffe/proto/caffe.pb.cc &: $(SRC)/caffe/proto/caffe.proto
	@echo '  PROTOC caffe.proto'
	$(Q)mkdir -p $(B)/caffe/proto && protoc -I$(SRC) --cpp_out=$(B) $<

$(B)/caffe.h.gch: WHAT := caffe/caffe.hpp
$(B)/tests.h.gch: WHAT := caffe/test/test_gradient_check_util.hpp
$(B)/%.h.gch: $(B)/caffe/proto/caffe.pb.h $(HERE)compat.h
	@echo '  HEADERS $*'
	$(Q)printf '#include "%s"\n' compat.h caffe/caffe.hpp $(WHAT) >$(B)/$*.h
	$(Q)$(CXX) $(CXX_FLAGS) $(OPT) -x c++-header -o $@ $(B)/$*.h

cxx = @echo '  CXX $(notdir $<)'; mkdir -p $(@D) && $(CXX) $(CXX_FLAGS) $(OPT) -include $(HEADERS) -c -o $@ $<

$(B)/caffe/proto/caffe.pb.cc.o: $(B)/caffe/proto/caffe.pb.cc
	$(cxx)
$(B)/%.cpp.o: $(SRC)/%.cpp
	$(cxx)
$(B)/%.cu.o: $(SRC)/%.cu
	@echo '  NVCC $(notdir $<)'; mkdir -p $(@D) && $(NVCC) $(CU_FLAGS) -c -o $@ $<
# The files of a unit: each fourth one.
$(B)/kernels_a.cu $(B)/kernels_b.cu $(B)/kernels_c.cu $(B)/kernels_d.cu &: $(addprefix $(SRC)/,$(CU))
	$(Q)mkdir -p $(@D); set -- $(UNITS); for u; do :>$(B)/kernels_$$u.cu; done; for f in $(CU); do \
		echo "#include \"$$f\"" >>$(B)/kernels_$$1.cu; set -- "$$@" $$1; shift; done
$(B)/kernels_%.o: $(B)/kernels_%.cu
	@echo '  NVCC kernels_$*'
	$(Q)$(NVCC) $(CU_FLAGS) -c -o $@ $<
$(B)/main.o: $(CAFFE)/tools/caffe.cpp
	$(cxx)
$(B)/digits.o: $(HERE)digits.cpp
	$(cxx)

$(O)/libcaffe.so: $(OBJS)
	@echo '  LD libcaffe.so'
	$(Q)$(CXX) -shared -Wl,-soname,$(@F) -o $@ $^ $(LINK) $(LIBS)
$(O)/caffe: $(B)/main.o $(O)/libcaffe.so
$(O)/test_caffe: $(T_OBJS) $(O)/libcaffe.so
$(O)/digits: $(B)/digits.o $(O)/libcaffe.so
$(O)/caffe $(O)/test_caffe $(O)/digits:
	@echo '  LD $(notdir $@)'
	$(Q)$(CXX) -o $@ $^ $(LINK) $(LIBS)
