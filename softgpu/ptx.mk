# SPDX-License-Identifier: Apache-2.0
# How the PTX half of softgpu is built, for whoever includes this: set PTX_OUT
# (folder of the objects) and, if wanted, PTX_FLAGS; get PTX_OBJ. The files of
# handlers are compiled twice: for any x86-64, and for AVX2 with FMA.
PTX_DIR  := $(TOP)/softgpu
PTX_SRC  := ptx_decl ptx_emit ptx_emit_flow ptx_emit_mem ptx_emit_mov ptx_form ptx_lex \
	    ptx_link ptx_operand ptx_parse ptx_regs ptx_sym ptx_util \
	    exec exec_barrier exec_call exec_group exec_isa exec_pool exec_print exec_sync
PTX_OPS  := exec_atom exec_bits exec_cvt exec_float exec_half exec_int exec_mem exec_setp exec_shared \
	    exec_sreg exec_tex

# Exact floating point: no contraction, no reassociation; the relaxed flags only
# say that nobody looks at errno or at exception flags.
PTX_CFLAGS = $(WH_CFLAGS) -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math $(PTX_FLAGS)
PTX_V3     := -march=x86-64-v3 -DEXEC_V3

PTX_OBJ := $(PTX_SRC:%=$(PTX_OUT)/%.o) $(PTX_OPS:%=$(PTX_OUT)/%.o) $(PTX_OPS:%=$(PTX_OUT)/%_v3.o)

$(PTX_SRC:%=$(PTX_OUT)/%.o) $(PTX_OPS:%=$(PTX_OUT)/%.o): $(PTX_OUT)/%.o: $(PTX_DIR)/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(PTX_CFLAGS) -c -o $@ $<

$(PTX_OPS:%=$(PTX_OUT)/%_v3.o): $(PTX_OUT)/%_v3.o: $(PTX_DIR)/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(PTX_CFLAGS) $(PTX_V3) -c -o $@ $<

-include $(PTX_OBJ:.o=.d)
