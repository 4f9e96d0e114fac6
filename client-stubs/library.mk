# SPDX-License-Identifier: Apache-2.0
# Builds a stub library over our libcuda.so.1, for the Makefile of a folder here. The folder has the name of
# the description, cuda-api/NAME.api. The Makefile includes ../../common.mk first, and sets SHARED if it uses
# files of the folder above. If the description names libraries of older majors (`older` of CUDA 12, `oldest` of
# CUDA 11), these are linked from the same objects.
include $(TOP)/cuda-api/libraries.mk
NAME   := $(notdir $(CURDIR))
SONAME := $(SONAME_$(NAME))
OLDER  := $(OLDER_$(NAME))
OLDEST := $(OLDEST_$(NAME))
OUT := $(O)/client-stubs
OBJ := $(OUT)/$(NAME)
GEN := $(O)/gen
LIB := $(OUT)/$(SONAME)
DEV := $(OUT)/$(firstword $(subst .so,.so ,$(SONAME)))

MORE := $(SHARED:%=$(OBJ)/shared_%.o)
OBJS := $(patsubst %.c,$(OBJ)/%.o,$(wildcard *.c)) $(MORE) $(OBJ)/gen_$(NAME)_client.o

CFLAGS_LIB := $(WH_CFLAGS) -fPIC -Wno-deprecated-declarations -I. -I../cuda -I../transport \
	      -I$(TOP)/cuda-api $(PLAIN) -isystem $(LIB_INC) -isystem $(CUDA_INC)

OLD    := $(addprefix $(OUT)/,$(OLDER) $(OLDEST))
NAMES  := $(patsubst %,$(OBJ)/name_%.o,$(SONAME) $(OLDER) $(OLDEST))
GONE   := $(if $(OLDER),$(OBJ)/gen_$(NAME)_older.o) $(if $(OLDEST),$(OBJ)/gen_$(NAME)_oldest.o)

all: $(LIB) $(OLD) $(DEV)

$(GEN)/.$(NAME): FORCE
	$(Q)$(MAKE) --no-print-directory -C $(TOP)/cuda-api

$(OBJS) $(NAMES) $(GONE): $(GEN)/.$(NAME) Makefile ../library.mk | $(OBJ)

$(OBJ):
	$(Q)mkdir -p $@

$(OBJ)/%.o: %.c
	$(call say,CC,$@)$(CC) $(CFLAGS_LIB) -c -o $@ $<

$(MORE): $(OBJ)/shared_%.o: ../%.c
	$(call say,CC,$@)$(CC) $(CFLAGS_LIB) -c -o $@ $<

$(NAMES): $(OBJ)/name_%.o: ../soname.c
	$(call say,CC,$@)$(CC) $(CFLAGS_LIB) -DSONAME='"$*"' -c -o $@ $<

$(OBJ)/gen_$(NAME)_client.o $(GONE):
	$(call say,CC,$@)$(CC) $(CFLAGS_LIB) $(GENERATED) -c -o $@ $(GEN)/$(@F:.o=.c)

# The library needs the exact interface of our libcuda.so.1. An exported name without code fails here.
define link # MAP[,NEEDED]
$(call say,LD,$@)$(CC) -shared -o $@ $(filter %.o,$^) $(OUT)/libcuda.so.1 $(2:%=-Wl,--no-as-needed %) \
	-Wl,-soname,$(@F) -Wl,--version-script=$(GEN)/$1 -Wl,--no-undefined-version \
	-Wl,-Bsymbolic -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -lpthread
endef

$(LIB): $(OBJS) $(OBJ)/name_$(SONAME).o $(OUT)/libcuda.so.1
	$(call link,gen_lib$(NAME).map)

ifdef OLDER
$(OUT)/$(OLDER): $(OBJS) $(OBJ)/name_$(OLDER).o $(OBJ)/gen_$(NAME)_older.o $(OUT)/libcuda.so.1
	$(call link,gen_lib$(NAME)_older.map)
endif
ifdef OLDEST
# The linker asks for a file of each library that is needed: an empty one of that name does, and none waits for another.
NEEDED := $(NEEDED_$(NAME):%=$(OBJ)/needed/%)
$(NEEDED): Makefile ../library.mk
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared -nostdlib -o $@ -x c /dev/null -Wl,-soname,$(@F)

$(OUT)/$(OLDEST): $(OBJS) $(OBJ)/name_$(OLDEST).o $(OBJ)/gen_$(NAME)_oldest.o $(OUT)/libcuda.so.1 $(NEEDED)
	$(call link,gen_lib$(NAME)_oldest.map,$(NEEDED))
endif

# Programs that are linked here need this link.
$(DEV): $(LIB)
	$(Q)ln -sf $(SONAME) $@

FORCE:
.PHONY: all FORCE
-include $(patsubst %.o,%.d,$(OBJS) $(NAMES) $(GONE))
