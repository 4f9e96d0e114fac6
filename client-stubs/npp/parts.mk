# SPDX-License-Identifier: Apache-2.0
# Links NPP's other libraries: each has the same code and the functions of its own headers, which jump
# into it.
LIB_PARTS  := $(PARTS_$(NAME))
PART_LIBS  := $(LIB_PARTS:%=$(OUT)/%)
PART_NAMES := $(LIB_PARTS:%=$(OBJ)/name_%.o)

all: $(PART_LIBS)

$(PART_NAMES): $(OBJ)/name_%.o: ../soname.c $(GEN)/.$(NAME) Makefile ../library.mk parts.mk | $(OBJ)
	$(call say,CC,$@)$(CC) $(CFLAGS_LIB) -DSONAME='"$*"' -c -o $@ $<

$(OBJ)/entry.o: entry.S Makefile parts.mk | $(OBJ)
	$(call say,AS,$@)$(CC) -c -o $@ $<
$(LIB) $(PART_LIBS): $(OBJ)/entry.o

$(LIB_PARTS:%=$(OBJ)/stubs_%.o): $(OBJ)/stubs_%.o: $(GEN)/.$(NAME) Makefile parts.mk | $(OBJ)
	$(call say,AS,$@)$(CC) -c -o $@ $(GEN)/gen_$(firstword $(subst ., ,$*)).S

$(PART_LIBS): $(OUT)/%: $(OBJS) $(OBJ)/name_%.o $(OBJ)/stubs_%.o $(OUT)/libcuda.so.1
	$(call link,gen_$(firstword $(subst ., ,$*)).map)
	$(Q)ln -sf $(@F) $(@:.13=)
