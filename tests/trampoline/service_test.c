// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the service of the page, entered as the gate of a view does: the
 * return address is in the GS base, RCX is anything, and all else is the caller's. The
 * service answers what it knows from the world page. This machine's kernel does the rest,
 * where in a view the worker's vCPU would do it. A filter makes the kernel refuse clocks
 * and futexes, so that the test can tell calls that were handed on from calls that were
 * answered. It needs FSGSBASE.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "enter.h"
#include "fake.h"
#include "vm/vdso.h"
#include "../tap.h"

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

/* --- Clocks ------------------------------------------------------------------- */

#define REFUSED		(-EXDEV)	/* what the filter says */
#define CLOCK_ANSWER	0x77

/* A call stack; the bounds in the world page leave a page on either side. */
static char stack[8 * 4096] __attribute__((aligned(4096)));
#define LOW		((uint64_t)stack + 4096)
#define HIGH		((uint64_t)stack + 7 * 4096)

static struct wh_world_vdso vdso;
/* The assembly below uses these. */
uint64_t clock_rsp, clock_flags, clock_args[2], clock_runs, nested_service;

/* Replaces the vDSO's function: notes what it got, and dirties what C may. */
void fake_clock(void);
/* Does the same, but cannot give the time, and asks the kernel as the gate lets it. */
extern const char fake_vdso[], fake_vdso_end[];

__asm__(".text\n"
	"fake_clock:\n"
	"	mov %rsp, clock_rsp(%rip)\n"
	"	pushfq\n"
	"	popq clock_flags(%rip)\n"
	"	mov %rdi, clock_args(%rip)\n"
	"	mov %rsi, 8+clock_args(%rip)\n"
	"	incq clock_runs(%rip)\n"
	"	mov $-1, %rax\n"
	"	lea -256(%rsp), %rcx\n"
	"1:	mov %rax, (%rcx)\n"
	"	add $8, %rcx\n"
	"	cmp %rsp, %rcx\n"
	"	jb 1b\n"
	"	.irp r, rcx,rdx,rsi,rdi,r8,r9,r10,r11\n"
	"	mov %rax, %\\r\n"
	"	.endr\n"
	"	mov $0x77, %eax\n"
	"	ret\n"
	"fake_vdso:\n"
	"	incq clock_runs(%rip)\n"
	"	lea 1f(%rip), %rax\n"
	"	wrgsbase %rax\n"
	"	mov $228, %eax\n"
	"	jmp *nested_service(%rip)\n"
	"1:	ret\n"
	"fake_vdso_end:\n");

/* Refuses them from now on, for this thread alone. */
static int refuse_clocks_and_futexes(void)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettimeofday, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_time, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static int64_t ask(uint64_t nr, uint64_t a0, uint64_t a1, int *kept)
{
	uint64_t arg[6] = { a0, a1, 0x3333, 0x4444, 0x5555, 0x6666 };
	struct after a;

	a = enter(nr, arg);
	*kept = keeps(&a, arg);
	return (int64_t)a.rax;
}

/* Is this the answer, and is all else as it was? Checks the red zone, too, where there is one. */
static int says(uint64_t rsp, uint64_t nr, uint64_t a0, uint64_t a1, int64_t want)
{
	bool zone = rsp >= LOW && rsp <= HIGH;
	static char before[RED_ZONE];
	int64_t got;
	int kept;

	its_rsp = rsp;
	if (zone) {
		memset((char *)rsp - RED_ZONE, 0xa5, RED_ZONE);
		memcpy(before, (char *)rsp - RED_ZONE, RED_ZONE);
	}
	got = ask(nr, a0, a1, &kept);
	its_rsp = NO_STACK;
	if (got == want && kept && (!zone || !memcmp(before, (char *)rsp - RED_ZONE, RED_ZONE)))
		return 1;
	printf("# %d(0x%llx, 0x%llx) with the stack at 0x%llx: %lld\n", (int)nr,
	       (unsigned long long)a0, (unsigned long long)a1, (unsigned long long)rsp,
	       (long long)got);
	return 0;
}

static void use(struct wh_world_vdso v)
{
	fake_world->vdso = v;
	fake_world->stack = (struct wh_world_stack){ .low = LOW, .high = HIGH };
}

static const struct wh_world_vdso fake = {
	.clock_gettime = (uint64_t)fake_clock, .gettimeofday = (uint64_t)fake_clock,
	.time = (uint64_t)fake_clock,
};

static void test_clock_numbers(void)
{
	static const clockid_t here[] = { 0, 1, 4, 5, 6, 7, 11 };
	static const uint64_t there[] = {
		2, 3, 8, 9, 10, 12, 31, 32, 33, 0xffffffff, (uint64_t)-6,
	};
	uint64_t rsp = LOW + 8192 + 8;
	size_t i, good = 0;

	use(fake);
	for (i = 0; i < sizeof(here) / sizeof(here[0]); i++)
		good += says(rsp, SYS_clock_gettime, (uint64_t)here[i], rsp, CLOCK_ANSWER) &&
			clock_args[0] == (uint64_t)here[i] && clock_args[1] == rsp &&
			clock_rsp % 16 == 8 && !(clock_flags & RFLAGS_DF);
	ok_eq((int)good, sizeof(here) / sizeof(here[0]), "clocks_of_the_vdso_are_called_as_c_is");
	for (good = i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		good += says(rsp, SYS_clock_gettime, there[i], rsp, REFUSED);
	ok_eq((int)good, sizeof(there) / sizeof(there[0]), "other_clocks_are_the_kernels");
	ok(says(rsp, SYS_gettimeofday, rsp, 0, CLOCK_ANSWER) &&
	   says(rsp, SYS_time, 0, 7, CLOCK_ANSWER) && says(rsp, SYS_time, rsp, 7, CLOCK_ANSWER) &&
	   says(rsp, SYS_gettimeofday, rsp, rsp, REFUSED) &&
	   says(rsp, SYS_gettimeofday, 0, 0, REFUSED), "time_and_gettimeofday_without_a_zone_too");
}

static void test_clock_stack(void)
{
	static const struct {
		uint64_t rsp, to;
		int64_t want;
	} at[] = {
		{ LOW, LOW, CLOCK_ANSWER }, { LOW - 1, LOW + 8, REFUSED },
		{ LOW + 3, LOW + 8, CLOCK_ANSWER }, { HIGH, HIGH - 16, CLOCK_ANSWER },
		{ HIGH + 8, HIGH - 16, REFUSED }, { NO_STACK, LOW + 8, REFUSED },
		{ 0, 0, REFUSED }, { ~0ULL, LOW, REFUSED },
		{ LOW + 512, LOW + 512 - RED_ZONE, CLOCK_ANSWER },
		{ LOW + 512, LOW + 511 - RED_ZONE, REFUSED },
		{ LOW + 512, HIGH - 16, CLOCK_ANSWER }, { LOW + 512, HIGH - 15, REFUSED },
		{ LOW + 512, 0, REFUSED }, { LOW + 512, NO_STACK, REFUSED },
		{ LOW + 512, ~0ULL, REFUSED }, { LOW + 512, -16ULL, REFUSED },
		{ LOW + 512, -(uint64_t)RED_ZONE, REFUSED },
		{ LOW + 512, (uint64_t)&clock_rsp, REFUSED },
	};
	size_t i, good = 0;

	use(fake);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		good += says(at[i].rsp, SYS_clock_gettime, 1, at[i].to, at[i].want);
	ok_eq((int)good, sizeof(at) / sizeof(at[0]),
	      "stack_that_is_not_the_calls_is_not_touched_and_no_address_beside_it");
}

static void test_clock_nested(void)
{
	uint64_t rsp = LOW + 8192, runs = clock_runs;
	struct wh_world_vdso v = {
		.clock_gettime = (uint64_t)fake_vdso, .start = (uint64_t)fake_vdso,
		.size = (uint64_t)(fake_vdso_end - fake_vdso),
	};

	nested_service = (uint64_t)((char *)fake_page + fake_page->service);
	use(v);
	ok(says(rsp, SYS_clock_gettime, 1, rsp, REFUSED) && clock_runs == runs + 1,
	   "what_the_vdso_asks_for_is_the_kernels");
	ok(says(rsp, SYS_gettimeofday, rsp, 0, REFUSED) && says(rsp, SYS_time, 0, 0, REFUSED),
	   "function_that_it_has_not_is_the_kernels");
}

/* This machine's clock must lie between two looks by the same way. */
static void test_clock_real(void)
{
	struct timespec before, after, *t = (void *)(HIGH - 256);
	uint64_t rsp = LOW + 8192;
	struct timeval *tv = (void *)t;
	int good;

	use(vdso);
	if (!vdso.clock_gettime || clock_gettime(CLOCK_MONOTONIC, &before)) {
		skip("clocks_of_this_machines_vdso_are_right", "its vDSO reads no clock");
		return;
	}
	good = says(rsp, SYS_clock_gettime, CLOCK_MONOTONIC, (uint64_t)t, 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	good = good && (t->tv_sec > before.tv_sec ||
			(t->tv_sec == before.tv_sec && t->tv_nsec >= before.tv_nsec)) &&
	       (t->tv_sec < after.tv_sec ||
		(t->tv_sec == after.tv_sec && t->tv_nsec <= after.tv_nsec));
	clock_gettime(CLOCK_REALTIME, &before);
	good = good && says(rsp, SYS_gettimeofday, (uint64_t)tv, 0, 0) &&
	       tv->tv_sec - before.tv_sec <= 1 && tv->tv_usec < 1000000;
	ok(good, "clocks_of_this_machines_vdso_are_right");
}

/* --- Futexes --------------------------------------------------------------------- */

static uint32_t word = 5;

static int waits(uint64_t uaddr, uint64_t op, uint64_t timeout, uint64_t bits, int64_t want)
{
	uint64_t arg[6] = { uaddr, op, 6, timeout, 0x5555, bits };
	struct after a = enter(SYS_futex, arg);

	if ((int64_t)a.rax == want && keeps(&a, arg))
		return 1;
	printf("# futex(0x%llx, %d, timeout 0x%llx, bits 0x%llx): %lld\n",
	       (unsigned long long)uaddr, (int)op, (unsigned long long)timeout,
	       (unsigned long long)bits, (long long)a.rax);
	return 0;
}

static void test_futex(void)
{
	uint64_t w = (uint64_t)&word;
	struct timespec *t = (void *)(HIGH - 256);

	use(fake);
	ok(waits(w, FUTEX_WAIT, 0, 0, -EAGAIN) &&
	   waits(w, FUTEX_WAIT_PRIVATE, 0, 0, -EAGAIN) &&
	   waits(w, FUTEX_WAIT_BITSET, 0, 1, -EAGAIN) &&
	   waits(w, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 0, ~0U, -EAGAIN) &&
	   waits(w, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, 4, -EAGAIN) &&
	   waits(w, 0xabcd00000000 | FUTEX_WAIT, 0, 0, -EAGAIN),
	   "word_that_differs_is_not_waited_for");
	ok(waits(w + 1, FUTEX_WAIT, 0, 0, REFUSED) && waits(w + 2, FUTEX_WAIT, 0, 0, REFUSED) &&
	   waits(w, FUTEX_WAIT_BITSET, 0, 0, REFUSED) &&
	   waits(w, FUTEX_WAIT_BITSET, 0, 1ULL << 32, REFUSED) &&
	   waits(w, FUTEX_WAIT | FUTEX_CLOCK_REALTIME, 0, 0, REFUSED),
	   "what_the_kernel_refuses_without_a_look_is_the_kernels");
	ok(waits(w, FUTEX_WAKE, 0, 0, REFUSED) && waits(w, FUTEX_WAKE_PRIVATE, 0, 0, REFUSED) &&
	   waits(w, FUTEX_LOCK_PI, 0, 0, REFUSED) && waits(w, FUTEX_CMP_REQUEUE, 0, 0, REFUSED) &&
	   waits(w, FUTEX_WAIT | 0x200, 0, 0, REFUSED), "so_are_other_operations");
	its_rsp = LOW + 512;
	*t = (struct timespec){ .tv_sec = 1 };
	ok(waits(w, FUTEX_WAIT, (uint64_t)t, 0, -EAGAIN) &&
	   waits(w, FUTEX_WAIT_BITSET, (uint64_t)t, 1, -EAGAIN), "timeout_changes_nothing");
	t->tv_nsec = 1000000000;
	ok(waits(w, FUTEX_WAIT, (uint64_t)t, 0, REFUSED) &&
	   (t->tv_nsec = -1, waits(w, FUTEX_WAIT, (uint64_t)t, 0, REFUSED)) &&
	   (*t = (struct timespec){ .tv_sec = -1 },
	    waits(w, FUTEX_WAIT, (uint64_t)t, 0, REFUSED)) &&
	   waits(w, FUTEX_WAIT, NO_STACK, 0, REFUSED) &&
	   waits(w, FUTEX_WAIT, HIGH - 8, 0, REFUSED),
	   "timeout_that_is_none_or_elsewhere_is_the_kernels");
	its_rsp = NO_STACK;
	word = 6;
	ok(waits(w, FUTEX_WAIT, 0, 0, REFUSED), "word_that_stays_is_the_kernels_to_wait_for");
}

static volatile int go, done;

/* Changes the word some time after the wait began. */
static void *change(void *arg)
{
	volatile int i;

	while (!done) {
		while (!go && !done)
			;
		go = 0;
		for (i = 0; i < 200; i++)
			;
		__atomic_store_n(&word, 5, __ATOMIC_SEQ_CST);
	}
	return arg;
}

static void test_futex_change(void)
{
	uint64_t arg[6] = { (uint64_t)&word, FUTEX_WAIT, 6, 0, 0, 0 };
	int tries, in_time = 0;

	for (tries = 0; tries < 100000 && !in_time; tries++) {
		__atomic_store_n(&word, 6, __ATOMIC_SEQ_CST);
		go = 1;
		in_time += (int64_t)enter(SYS_futex, arg).rax == -EAGAIN;
		while (go || __atomic_load_n(&word, __ATOMIC_SEQ_CST) == 6)
			;
	}
	ok(in_time, "word_that_changes_soon_is_not_slept_for");
}

int main(void)
{
	const char *why = fake_setup();
	pthread_t thread;

	if (why) {
		printf("TAP version 13\n1..0 # SKIP %s\n", why);
		return 0;
	}
	memset(vectors_in, 0x3c, sizeof(vectors_in));
	tap_plan(22);
	test_known();
	test_others();
	wh_vdso_find(&vdso);
	if (pthread_create(&thread, NULL, change, NULL) || refuse_clocks_and_futexes())
		return 1;
	test_clock_numbers();
	test_clock_stack();
	test_clock_nested();
	test_clock_real();
	test_futex();
	test_futex_change();
	done = 1;
	return tap_exit();
}
