/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enters the page's service as the gate of a view does, and compares afterwards what a
 * system call keeps. A program may include this file only once, because it has state.
 */
#ifndef WORMHOLE_TEST_ENTER_H
#define WORMHOLE_TEST_ENTER_H

#include <stdint.h>
#include <string.h>

#include "fake.h"

#define NO_STACK	0x10		/* an address that is not mapped */
#define FLAGS		(0x1UL | 0x4 | 0x10 | 0x80 | RFLAGS_DF | 0x800)
#define ALL_FLAGS	(FLAGS | 0x40)	/* ZF, which PF, SF and CF do not go with */

/* Everything that a system call keeps, as it is after one. */
struct after {
	uint64_t rax, rbx, rdx, rsi, rdi, rbp, r8, r9, r10, r12, r13, r14, r15;
	uint64_t rsp, rflags, gs;
};

#define VECTORS		16
#define RED_ZONE	128

static uint64_t own_rsp;
/* There is no stack: the use of one is a fault. */
static uint64_t its_rsp = NO_STACK;
static uint64_t vectors_in[VECTORS][2], vectors_out[VECTORS][2];

static __attribute__((noinline)) struct after enter(uint64_t nr, const uint64_t arg[6])
{
	void *service = (char *)fake_page + fake_page->service;
	static struct after a;
	static uint64_t in[8];

	in[0] = nr;
	memcpy(in + 1, arg, 6 * sizeof(*arg));
	in[7] = (uint64_t)service;
	__asm__ volatile("push %%rbx; push %%rbp\n\t"
			 "lea 1f(%%rip), %%rax; wrgsbase %%rax\n\t"
			 "mov %0, %%rcx\n\t"
			 "mov 56(%%rcx), %%r11\n\t"
			 "pushq %1; popfq\n\t"
			 "mov %%rsp, %2\n\t"
			 "mov %3, %%rsp\n\t"
			 ".set v, 0\n\t"
			 ".irp x, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
			 "movups v+%5, %%xmm\\x\n\t"
			 ".set v, v + 16\n\t"
			 ".endr\n\t"
			 "mov (%%rcx), %%rax; mov 8(%%rcx), %%rdi; mov 16(%%rcx), %%rsi\n\t"
			 "mov 24(%%rcx), %%rdx; mov 32(%%rcx), %%r10; mov 40(%%rcx), %%r8\n\t"
			 "mov 48(%%rcx), %%r9\n\t"
			 "mov $0xb, %%rbx; mov $0xbb, %%rbp; mov $0x12, %%r12\n\t"
			 "mov $0x13, %%r13; mov $0x14, %%r14; mov $0x15, %%r15\n\t"
			 "jmp *%%r11\n"
			 "1:\tlea %4, %%rcx\n\t"
			 "mov %%rsp, 104(%%rcx)\n\t"
			 "mov %2, %%rsp\n\t"
			 ".set v, 0\n\t"
			 ".irp x, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
			 "movups %%xmm\\x, v+%6\n\t"
			 ".set v, v + 16\n\t"
			 ".endr\n\t"
			 "pushfq; popq 112(%%rcx); cld\n\t"
			 "mov %%rax, (%%rcx); mov %%rbx, 8(%%rcx); mov %%rdx, 16(%%rcx)\n\t"
			 "mov %%rsi, 24(%%rcx); mov %%rdi, 32(%%rcx); mov %%rbp, 40(%%rcx)\n\t"
			 "mov %%r8, 48(%%rcx); mov %%r9, 56(%%rcx); mov %%r10, 64(%%rcx)\n\t"
			 "mov %%r12, 72(%%rcx); mov %%r13, 80(%%rcx); mov %%r14, 88(%%rcx)\n\t"
			 "mov %%r15, 96(%%rcx); rdgsbase %%rax; mov %%rax, 120(%%rcx)\n\t"
			 "xor %%eax, %%eax; wrgsbase %%rax\n\t"
			 "pop %%rbp; pop %%rbx"
			 : : "r"(in), "i"(FLAGS), "m"(own_rsp), "m"(its_rsp), "m"(a),
			     "m"(vectors_in), "m"(vectors_out)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
			   "r13", "r14", "r15", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3",
			   "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
			   "xmm12", "xmm13", "xmm14", "xmm15");
	return a;
}

static const uint64_t args[6] = { 0x1111, 0x2222, 0x3333, 0x4444, 0x5555, 0x6666 };

static int keeps(const struct after *a, const uint64_t arg[6])
{
	return a->rbx == 0xb && a->rbp == 0xbb && a->r12 == 0x12 && a->r13 == 0x13 &&
	       a->r14 == 0x14 && a->r15 == 0x15 && a->rdi == arg[0] && a->rsi == arg[1] &&
	       a->rdx == arg[2] && a->r10 == arg[3] && a->r8 == arg[4] && a->r9 == arg[5] &&
	       a->rsp == its_rsp && !a->gs && (a->rflags & ALL_FLAGS) == FLAGS &&
	       !memcmp(vectors_in, vectors_out, sizeof(vectors_in));
}

#endif
