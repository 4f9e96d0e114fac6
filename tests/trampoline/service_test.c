// SPDX-License-Identifier: Apache-2.0
/*
 * The service of the page, entered as the gate of a view does: the return address
 * in the GS base, RCX anything, and all else the caller's. What it knows it answers
 * from the world page; the rest this machine's kernel does, where in a view the
 * worker's vCPU would. Needs FSGSBASE.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake.h"
#include "../tap.h"

#define NO_STACK	0x10		/* an address that is not mapped */
#define FLAGS		(0x1UL | 0x4 | 0x10 | 0x80 | RFLAGS_DF | 0x800)
#define ALL_FLAGS	(FLAGS | 0x40)	/* ZF, which PF, SF and CF do not go with */

/* Everything that a system call keeps, after one. */
struct after {
	uint64_t rax, rbx, rdx, rsi, rdi, rbp, r8, r9, r10, r12, r13, r14, r15;
	uint64_t rsp, rflags, gs;
};

static uint64_t own_rsp;

/* Without a stack: one that is used is a fault. */
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
			 "mov (%%rcx), %%rax; mov 8(%%rcx), %%rdi; mov 16(%%rcx), %%rsi\n\t"
			 "mov 24(%%rcx), %%rdx; mov 32(%%rcx), %%r10; mov 40(%%rcx), %%r8\n\t"
			 "mov 48(%%rcx), %%r9\n\t"
			 "mov $0xb, %%rbx; mov $0xbb, %%rbp; mov $0x12, %%r12\n\t"
			 "mov $0x13, %%r13; mov $0x14, %%r14; mov $0x15, %%r15\n\t"
			 "jmp *%%r11\n"
			 "1:\tlea %4, %%rcx\n\t"
			 "mov %%rsp, 104(%%rcx)\n\t"
			 "mov %2, %%rsp\n\t"
			 "pushfq; popq 112(%%rcx); cld\n\t"
			 "mov %%rax, (%%rcx); mov %%rbx, 8(%%rcx); mov %%rdx, 16(%%rcx)\n\t"
			 "mov %%rsi, 24(%%rcx); mov %%rdi, 32(%%rcx); mov %%rbp, 40(%%rcx)\n\t"
			 "mov %%r8, 48(%%rcx); mov %%r9, 56(%%rcx); mov %%r10, 64(%%rcx)\n\t"
			 "mov %%r12, 72(%%rcx); mov %%r13, 80(%%rcx); mov %%r14, 88(%%rcx)\n\t"
			 "mov %%r15, 96(%%rcx); rdgsbase %%rax; mov %%rax, 120(%%rcx)\n\t"
			 "xor %%eax, %%eax; wrgsbase %%rax\n\t"
			 "pop %%rbp; pop %%rbx"
			 : : "r"(in), "i"(FLAGS), "m"(own_rsp), "i"(NO_STACK), "m"(a)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
			   "r13", "r14", "r15", "memory", "cc");
	return a;
}

static const uint64_t args[6] = { 0x1111, 0x2222, 0x3333, 0x4444, 0x5555, 0x6666 };

static int keeps(const struct after *a, const uint64_t arg[6])
{
	return a->rbx == 0xb && a->rbp == 0xbb && a->r12 == 0x12 && a->r13 == 0x13 &&
	       a->r14 == 0x14 && a->r15 == 0x15 && a->rdi == arg[0] && a->rsi == arg[1] &&
	       a->rdx == arg[2] && a->r10 == arg[3] && a->r8 == arg[4] && a->r9 == arg[5] &&
	       a->rsp == NO_STACK && !a->gs && (a->rflags & ALL_FLAGS) == FLAGS;
}

static int64_t answer(long nr)
{
	return (int64_t)enter((uint64_t)nr, args).rax;
}

static const struct {
	const char *name;
	long nr;
	size_t member;
} known[] = {
	{ "getppid", SYS_getppid, offsetof(struct wh_world_self, ppid) },
	{ "getpid", SYS_getpid, offsetof(struct wh_world_self, pid) },
	{ "gettid", SYS_gettid, offsetof(struct wh_world_self, tid) },
	{ "getuid", SYS_getuid, offsetof(struct wh_world_self, uid) },
	{ "geteuid", SYS_geteuid, offsetof(struct wh_world_self, euid) },
	{ "getgid", SYS_getgid, offsetof(struct wh_world_self, gid) },
	{ "getegid", SYS_getegid, offsetof(struct wh_world_self, egid) },
};

#define KNOWN	(sizeof(known) / sizeof(known[0]))

static void test_known(void)
{
	char *self = (char *)&fake_world->self;
	int answered = 0, asked = 0, kept = 0;
	struct after a;
	uint32_t value;
	size_t i;

	for (i = 0; i < KNOWN; i++) {
		value = 0xf0000000 + (uint32_t)i;	/* not to be extended by its sign */
		memset(self, 0, sizeof(fake_world->self));
		memcpy(self + known[i].member, &value, sizeof(value));
		a = enter((uint64_t)known[i].nr, args);
		answered += a.rax == value;
		kept += keeps(&a, args);
		memset(self, 0, sizeof(fake_world->self));
		a = enter((uint64_t)known[i].nr, args);
		asked += (long)a.rax == syscall(known[i].nr);
		kept += keeps(&a, args);
	}
	ok_eq(answered, KNOWN, "what_the_world_page_says_is_the_answer");
	ok_eq(asked, KNOWN, "where_it_says_nothing_the_kernel_does");
	ok_eq(kept, 2 * KNOWN, "both_keep_what_a_system_call_keeps_and_need_no_stack");
}

static void test_others(void)
{
	uint64_t fd[2], write_args[6] = { 0, (uint64_t)"xyz", 3, 4, 5, 6 };
	struct after a;
	char text[4] = "";
	int pipes[2];

	a = enter(SYS_sched_yield, args);
	ok(!a.rax && keeps(&a, args), "sched_yield_is_0");
	if (pipe(pipes))
		return;
	fd[0] = (uint64_t)pipes[0];
	write_args[0] = (uint64_t)pipes[1];
	a = enter(SYS_write, write_args);
	ok(a.rax == 3 && keeps(&a, write_args) && read((int)fd[0], text, 3) == 3 &&
	   !strcmp(text, "xyz"), "all_else_is_the_kernels");
	ok_eq(answer(100000), -ENOSYS, "so_are_numbers_that_nobody_has");
	ok_eq(answer(-1), -ENOSYS, "negative_ones_too");
	ok_eq(answer(0x100000000 + SYS_getpid), getpid(), "the_kernel_looks_at_half_a_number");
}

int main(void)
{
	const char *why = fake_setup();

	if (why) {
		printf("TAP version 13\n1..0 # SKIP %s\n", why);
		return 0;
	}
	tap_plan(8);
	test_known();
	test_others();
	return tap_exit();
}
