// SPDX-License-Identifier: Apache-2.0
/*
 * Replaces softgpu/ptx/isa.c, which asks gcc about the processor, in words that clang
 * does not know.
 */
#include "ptx/insn.h"

int ptx_isa(void)
{
	return 0;
}
