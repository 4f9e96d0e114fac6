# SPDX-License-Identifier: Apache-2.0
# Builds the worker's decoding of library calls, all under AddressSanitizer and UBSan.
SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# Not optimised: under sanitizers that takes three times as long.
UNIT_CFLAGS := $(WH_CFLAGS) -O0 $(SAN) -Wno-deprecated-declarations -I../unit -I.. -I$(TOP)/server \
	       -I$(TOP)/cuda-api $(PLAIN) -isystem $(LIB_INC) -isystem $(CUDA_INC)
include $(TOP)/server/rooms.mk
ROOM_SRC  := $(WORKER) $(LIBRARIES_HAND)
UNIT      := $(OUT)/unit
UNIT_OBJ  := $(ROOM_SRC:%=$(UNIT)/%.o) $(UNIT)/gen_server.o $(LIBRARIES:%=$(UNIT)/gen_%_server.o)

UNIT_TESTS := fuzz_test nccl_unit_test cusolver_unit_test

all: $(UNIT_TESTS:%=$(OUT)/%.t) $(OUT)/fake_cuda.so
# tests/unit and tests/attack link these objects as well.
session: $(UNIT_OBJ)
.PHONY: session

UNIT_FOLDERS := $(ROOMS:%=$(UNIT)/%)
$(UNIT) $(UNIT_FOLDERS):
	$(Q)mkdir -p $@

$(UNIT_OBJ) $(UNIT_TESTS:%=$(UNIT)/%.o): Makefile unit.mk | $(UNIT_FOLDERS)

$(ROOM_SRC:%=$(UNIT)/%.o): $(UNIT)/%.o: $(TOP)/server/%.c
	$(call say,CC,$@)$(CC) $(UNIT_CFLAGS) -c -o $@ $<

$(UNIT)/gen_server.o $(LIBRARIES:%=$(UNIT)/gen_%_server.o): $(UNIT)/%.o: $(GEN)/%.c
	$(call say,CC,$@)$(CC) $(UNIT_CFLAGS) -c -o $@ $<

$(UNIT_TESTS:%=$(UNIT)/%.o): $(UNIT)/%.o: %.c
	$(call say,CC,$@)$(CC) $(UNIT_CFLAGS) -c -o $@ $<

$(UNIT_TESTS:%=$(OUT)/%.t): $(OUT)/%.t: $(UNIT)/%.o $(UNIT_OBJ)
	$(call say,LD,$@)$(CC) $(SAN) -o $@ $^ $(UNPACK_LIBS) -lpthread -ldl

$(OUT)/fake_cuda.so: ../unit/fake_cuda.c | $(UNIT)
	$(call say,CC,$@)$(CC) $(WH_CFLAGS) -fPIC -shared -isystem $(CUDA_INC) -o $@ $<

-include $(wildcard $(UNIT)/*.d $(UNIT)/*/*.d)
