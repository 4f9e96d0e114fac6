# SPDX-License-Identifier: Apache-2.0
# Where each forwarded function of NPP jumps to, with its number in eax. Saves the registers that may have parameters,
# and calls wh_npp_call() (call.c) with them and the caller's words on the stack.
	.text
	.globl wh_npp_entry
	.hidden wh_npp_entry
	.type wh_npp_entry, @function
	.balign 16
wh_npp_entry:
	.cfi_startproc
	endbr64
	pushq %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq $112, %rsp
	movq %rdi, 0(%rsp)
	movq %rsi, 8(%rsp)
	movq %rdx, 16(%rsp)
	movq %rcx, 24(%rsp)
	movq %r8, 32(%rsp)
	movq %r9, 40(%rsp)
	movq %xmm0, 48(%rsp)
	movq %xmm1, 56(%rsp)
	movq %xmm2, 64(%rsp)
	movq %xmm3, 72(%rsp)
	movq %xmm4, 80(%rsp)
	movq %xmm5, 88(%rsp)
	movq %xmm6, 96(%rsp)
	movq %xmm7, 104(%rsp)
	movl %eax, %edi
	movq %rsp, %rsi
	leaq 16(%rbp), %rdx
	call wh_npp_call
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size wh_npp_entry, . - wh_npp_entry

	.section .note.GNU-stack, "", @progbits
