# SPDX-License-Identifier: Apache-2.0
# What every folder's Makefile shares: where products go, flags, quiet rules.
# A folder's Makefile says `include ../common.mk` first (deeper folders: the
# matching number of `..`); all products go below $(O), never beside sources.
TOP     := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
O       ?= $(TOP)/build
override O := $(abspath $(O))

CC      ?= gcc
NASM    ?= nasm
PYTHON  ?= /usr/bin/python3
# build/nvcc: what tools/get-nvcc.sh found or fetched.
NVCC    ?= $(firstword $(wildcard $(O)/nvcc/bin/nvcc) nvcc)
# The headers of the CUDA toolkit (cuda.h, cuda_runtime_api.h, fatbinary_section.h).
CUDA_INC ?= $(firstword $(wildcard $(O)/nvcc/include $(CUDA_HOME)/include /usr/local/cuda/include))
# Headers that a toolkit may lack (nvml.h, cudnn.h): tools/get-headers.sh.
LIB_INC ?= $(O)/headers

# Programs of a CUDA library: built with the toolkit's, or with PyPI's headers and our own library
# where it has none, which has the same name, versions and functions. $(call has_header,HEADER,WHAT),
# LIB_FLAGS, and in recipes, when ours are built, $(call cuda_lib,NAME).
has_header = $(if $(wildcard $(CUDA_INC)/$1 $(LIB_INC)/$1),$2)
LIB_FLAGS = $(if $(wildcard $(CUDA_INC)/cublas_v2.h),,-isystem $(LIB_INC)) -L$(CUDA_INC)/../lib64 -L$(CUDA_INC)/../lib
cuda_lib = $(if $(wildcard $(CUDA_INC)/../lib64/lib$1.so $(CUDA_INC)/../lib/lib$1.so),-l$1,$(addprefix \
	   -Xlinker ,$(wildcard $(O)/client-stubs/lib$1.so)) -Xlinker -rpath-link=$(O)/client-stubs)

# For code that reads wire_cupti.h.
PLAIN := -I$(TOP)/cuda-api/plain

# A function that nobody declares would be called with other arguments than it has.
WH_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror=implicit-function-declaration -Werror=int-conversion \
	     -fno-strict-aliasing -MMD -MP \
	     -I$(TOP)/hypercall-abi -I$(O)/gen $(if $(WERROR),-Werror)

# Generated code is large, and nobody looks at its variables in a debugger: this takes a quarter less time.
GENERATED := -g1

# What is shipped is built with Debian's flags (debian/rules), so that packages have the very files
# that the tests ran. There is no stack protector: its value is read through FS, which a call
# switches between the client and the worker (trampoline/landing.asm).
SHIPPED := server client-stubs softgpu host trampoline
HARDEN  := -Wformat -Werror=format-security -Wdate-time -D_FORTIFY_SOURCE=2 -Wl,-z,relro -Wl,-z,now
ifneq ($(if $(SAN),,$(filter $(SHIPPED:%=$(TOP)/%) $(SHIPPED:%=$(TOP)/%/%),$(CURDIR))),)
CC += $(HARDEN)
endif

# What is generated from cuda-api/ where an API's code is built: all of it, or `driver`, without
# the libraries over the driver and their headers.
CUDA_API ?= all

# Quiet by default; V=1 shows the commands.
V ?= 0
ifeq ($(V),0)
Q   := @
say  = @printf '  %-8s %s\n' '$(1)' '$(patsubst $(TOP)/%,%,$(2))';
else
Q   :=
say  =
endif
