# SPDX-License-Identifier: Apache-2.0
# Lists the objects of the executor, and builds them and the loader for any makefile that
# includes this. Set PTX_OUT (folder of the objects) and, if wanted, PTX_FLAGS; the results
# are EXEC_OBJ and PTX_OBJ. The handlers are compiled twice: for any x86-64, and for AVX2
# with FMA.
EXEC_SRC := barrier call cluster group pool print run sync
EXEC_OPS := async atom bits cvt float half int matrix mem setp shared sreg surf tensor tex wgmma

# Floating point must be exact: no contraction and no reassociation. The relaxed flags only
# say that no code reads errno or exception flags.
PTX_CFLAGS = $(WH_CFLAGS) -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math $(PTX_FLAGS)
EXEC_V3   := -march=x86-64-v3 -DEXEC_V3

EXEC_OBJ    := $(EXEC_SRC:%=$(PTX_OUT)/exec/%.o) $(EXEC_OPS:%=$(PTX_OUT)/exec/%.o)
EXEC_V3_OBJ := $(EXEC_OPS:%=$(PTX_OUT)/exec/%_v3.o)

$(EXEC_OBJ): $(PTX_OUT)/exec/%.o: $(TOP)/softgpu/exec/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(PTX_CFLAGS) -c -o $@ $<

$(EXEC_V3_OBJ): $(PTX_OUT)/exec/%_v3.o: $(TOP)/softgpu/exec/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(PTX_CFLAGS) $(EXEC_V3) -c -o $@ $<

EXEC_OBJ += $(EXEC_V3_OBJ)
-include $(EXEC_OBJ:.o=.d)

include $(TOP)/softgpu/ptx/ptx.mk
