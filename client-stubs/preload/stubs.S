/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stub for each export of libcudart.so.13, libcudart.so.12 and libcudart.so.11.0, and 128
 * (PRELOAD_LATER_MAX) for functions that 13 lacks: a jump through preload_slots. At the start a
 * slot points to code that asks preload_resolve() for the target and keeps the argument
 * registers. No function of the runtime takes a floating-point argument.
 */
#include "gen_cudart_exports.h"

#define STUBS (RT_EXPORT_COUNT + 128)

	.section .data.rel.local, "aw"
	.balign	8
	.hidden	preload_slots
	.globl	preload_slots
preload_slots:
	.set	i, 0
	.rept	STUBS
	.quad	first_calls + 16 * i
	.set	i, i + 1
	.endr
	.size	preload_slots, . - preload_slots

	.text
	.balign	16
	.hidden	preload_stubs
	.globl	preload_stubs
preload_stubs:
	.set	i, 0
	.rept	STUBS
	.balign	16
	endbr64
	jmp	*preload_slots + 8 * i(%rip)
	.set	i, i + 1
	.endr
	.balign	16
	.size	preload_stubs, . - preload_stubs

	.balign	16
first_calls:
	.set	i, 0
	.rept	STUBS
	.balign	16
	endbr64
	pushq	$i
	jmp	first_call
	.set	i, i + 1
	.endr

	/* The stack here is as at the function's entry, with the export's index on top. */
	.balign	16
first_call:
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	movq	48(%rsp), %rdi
	call	preload_resolve
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	addq	$8, %rsp
	jmp	*%rax

	.section .note.GNU-stack, "", @progbits
