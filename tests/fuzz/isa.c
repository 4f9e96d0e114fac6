// SPDX-License-Identifier: Apache-2.0
/* softgpu/exec_isa.c asks gcc about the processor, in words that clang does not know. */
#include "exec_insn.h"

int exec_isa(void)
{
	return 0;
}
