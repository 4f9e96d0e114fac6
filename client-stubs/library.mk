# SPDX-License-Identifier: Apache-2.0
# Builds a stub library over our libcuda.so.1, for the Makefile of a folder here. The folder has the name of
# the description, cuda-api/NAME.api. The Makefile includes ../../common.mk first, and sets SHARED if it uses
# files of the folder above.
include $(TOP)/cuda-api/libraries.mk
NAME   := $(notdir $(CURDIR))
SONAME := $(SONAME_$(NAME))
OUT := $(O)/client-stubs
OBJ := $(OUT)/$(NAME)
GEN := $(O)/gen
LIB := $(OUT)/$(SONAME)
DEV := $(OUT)/$(firstword $(subst .so,.so ,$(SONAME)))

MORE := $(SHARED:%=$(OBJ)/shared_%.o)
OBJS := $(patsubst %.c,$(OBJ)/%.o,$(wildcard *.c)) $(MORE) $(OBJ)/gen_$(NAME)_client.o

CFLAGS_LIB := $(WH_CFLAGS) -fPIC -Wno-deprecated-declarations -I. -I../cuda -I../transport \
	      -I$(TOP)/cuda-api -isystem $(LIB_INC) -isystem $(CUDA_INC)

all: $(LIB) $(DEV)

$(GEN)/.$(NAME): FORCE
	$(Q)$(MAKE) --no-print-directory -C $(TOP)/cuda-api

$(OBJS): $(GEN)/.$(NAME) Makefile ../library.mk | $(OBJ)

$(OBJ):
	$(Q)mkdir -p $@

$(OBJ)/%.o: %.c
	$(call say,CC,$@)$(CC) $(CFLAGS_LIB) -c -o $@ $<

$(MORE): $(OBJ)/shared_%.o: ../%.c
	$(call say,CC,$@)$(CC) $(CFLAGS_LIB) -c -o $@ $<

$(OBJ)/gen_$(NAME)_client.o:
	$(call say,CC,$@)$(CC) $(CFLAGS_LIB) -c -o $@ $(GEN)/$(@F:.o=.c)

# The library needs the exact interface of our libcuda.so.1. An exported name without code fails here.
$(LIB): $(OBJS) $(OUT)/libcuda.so.1
	$(call say,LD,$@)$(CC) -shared -o $@ $(OBJS) $(OUT)/libcuda.so.1 -Wl,-soname,$(SONAME) \
		-Wl,--version-script=$(GEN)/gen_lib$(NAME).map -Wl,--no-undefined-version \
		-Wl,-Bsymbolic -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -lpthread

# Programs that are linked here need this link.
$(DEV): $(LIB)
	$(Q)ln -sf $(SONAME) $@

FORCE:
.PHONY: all FORCE
-include $(OBJS:.o=.d)
