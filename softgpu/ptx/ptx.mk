# SPDX-License-Identifier: Apache-2.0
# Lists the objects of the PTX loader. exec/exec.mk includes this file: neither half runs
# without the other, since the loader's forms name the executor's handlers.
PTX_SRC := decl emit emit_async emit_flow emit_matrix emit_mem emit_mov emit_tex finish form isa lex operand parse \
	   regs sym util
PTX_OBJ := $(PTX_SRC:%=$(PTX_OUT)/ptx/%.o)

$(PTX_OBJ): $(PTX_OUT)/ptx/%.o: $(TOP)/softgpu/ptx/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(PTX_CFLAGS) -c -o $@ $<

-include $(PTX_OBJ:.o=.d)
