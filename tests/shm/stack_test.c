// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that variables on a stack can be registered: the device and the program see the
 * same bytes, and the stack goes on as a stack. It grows, takes signals, has frames of other calls
 * beside the variable, and a fork's child has its own.
 */
#define _GNU_SOURCE
#include "registered.h"

#include <alloca.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#define BYTES	300
#define CYCLES	200
#define FORKS	60

/* The stack of a thread that the library makes has room for it, too. */
static __thread volatile uint8_t much[300 * 1024];

/* Goes `depth` bytes down the stack and back. */
static __attribute__((noinline)) unsigned int dive(size_t depth)
{
	volatile uint8_t frame[4000];

	frame[0] = depth % 251;
	return depth < sizeof(frame) ? frame[0] : frame[0] + dive(depth - sizeof(frame));
}

/* --- The first thread ------------------------------------------------------------------ */

static void *registers_of_another(void *p)
{
	CUresult res;

	cuCtxSetCurrent(ctx);
	res = cuMemHostRegister(p, BYTES, 0);
	if (!res)
		cuMemHostUnregister(p);
	return (void *)(uintptr_t)res;
}

static void test_much(void)
{
	uint8_t here[BYTES];

	much[sizeof(much) - 1] = 7;
	pattern(here, BYTES, 5);
	ok(!cuMemHostRegister(here, BYTES, 0) && same(here, BYTES, 5) &&
	   !cuMemHostUnregister(here) && much[sizeof(much) - 1] == 7,
	   "variable_is_registered_beside_much_thread_local_data");
}

static void test_first(void)
{
	int there = strcmp(getenv("WORMHOLE_TRANSPORT"), "loopback");
	unsigned int depth = dive(100000);
	uint8_t here[BYTES], pages[3 * 4096];
	pthread_t thread;
	void *res;

	pattern(here, BYTES, 1);
	pattern(pages, sizeof(pages), 2);
	pthread_create(&thread, NULL, registers_of_another, here);
	pthread_join(thread, &res);
	ok_eq((uintptr_t)res, there ? CUDA_ERROR_NOT_SUPPORTED : 0,
	      "another_thread_cannot_register_the_first_ones_stack");
	ok(!cuMemHostRegister(here, BYTES, 0) && same(here, BYTES, 1) &&
	   !cuMemHostRegister(pages, sizeof(pages), 0) && same(pages, sizeof(pages), 2),
	   "variables_of_the_first_thread_are_registered");
	ok(works(here, BYTES, 3) && works(pages, sizeof(pages), 4) && same(here, BYTES, 3),
	   "the_device_and_the_program_see_the_same");
	ok(dive(100000) == depth && dive(4 << 20) && works(here, BYTES, 5),
	   "the_stack_grows_below_them");
	ok(!cuMemHostUnregister(here) && !cuMemHostUnregister(pages) && same(here, BYTES, 5) &&
	   same(pages, sizeof(pages), 4), "afterwards_they_have_what_was_there");
	ok(!cuMemHostRegister(here, BYTES, 0) && works(here, BYTES, 6) &&
	   !cuMemHostUnregister(here) && dive(4 << 20), "they_are_registered_again");
}

/* --- Another thread: its own data is beside its first frames -------------------------------- */

static volatile uint64_t signals;
static pthread_t target;

static void *disturb(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		pthread_kill(target, SIGUSR1);
		sched_yield();
	}
	return arg;
}

static void on_signal(int number)
{
	volatile uint8_t frame[2000];

	frame[number] = 1;
	signals += frame[number];
}

static void *of_a_thread(void *arg)
{
	volatile uint64_t beside = 0;
	uint8_t here[BYTES];
	pthread_t counter, disturber;
	int i, good = 0;

	cuCtxSetCurrent(ctx);
	ok(!cuMemHostRegister(here, BYTES, 0) && works(here, BYTES, 7) &&
	   !cuMemHostUnregister(here) && same(here, BYTES, 7),
	   "a_variable_beside_a_threads_own_data_is_registered");
	neighbour = &beside;
	target = pthread_self();
	pthread_create(&counter, NULL, count, NULL);
	pthread_create(&disturber, NULL, disturb, NULL);
	while (!__atomic_load_n(&beside, __ATOMIC_RELAXED) || !signals)
		sched_yield();
	for (i = 0; i < CYCLES; i++)
		good += !cuMemHostRegister(here, BYTES, 0) && works(here, BYTES, i) &&
			!cuMemHostUnregister(here) && same(here, BYTES, i);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(counter, NULL);
	pthread_join(disturber, NULL);
	ok(good == CYCLES, "signals_come_meanwhile");
	ok(counted && beside == counted, "what_others_write_beside_it_is_never_lost");
	return arg;
}

/*
 * Writers are not held off where the kernel has no userfaultfd. The thread itself must not write
 * then, also not in a signal handler.
 */
static bool no_userfaultfd(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = filter };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* Most of the page below the variable has the frames of what is called here. */
static void *without_userfaultfd(void *arg)
{
	int there = strcmp(getenv("WORMHOLE_TRANSPORT"), "loopback");
	bool refused;
	size_t too_high = ((uintptr_t)__builtin_frame_address(0) - 3900) % 4096;
	uint8_t *volatile pad = alloca(3 * 4096 + too_high);
	uint8_t *here = alloca(BYTES);
	pthread_t disturber;
	int i, good = 0;

	*pad = 0;
	cuCtxSetCurrent(ctx);
	ok(!cuMemHostRegister((void *)pthread_self(), 64, 0) &&
	   !cuMemHostUnregister((void *)pthread_self()), "a_threads_own_data_is_registered");
	refused = no_userfaultfd() && syscall(SYS_userfaultfd, 0) < 0;
	ok_eq(cuMemHostRegister((void *)pthread_self(), 64, 0),
	      there ? CUDA_ERROR_NOT_SUPPORTED : 0,
	      "it_is_refused_where_nobody_holds_off_writers");
	if (!there)
		cuMemHostUnregister((void *)pthread_self());
	stop = 0;
	signals = 0;
	target = pthread_self();
	pthread_create(&disturber, NULL, disturb, NULL);
	while (!signals)
		sched_yield();
	for (i = 0; i < CYCLES; i++)
		good += !cuMemHostRegister(here, BYTES, 0) && works(here, BYTES, i) &&
			!cuMemHostUnregister(here) && same(here, BYTES, i);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(disturber, NULL);
	ok(refused && good == CYCLES, "signals_come_also_then");
	return arg;
}

/* --- Fork ------------------------------------------------------------------------------ */

struct shared {
	volatile uint64_t seen;		/* the device writes it */
	volatile uint64_t counter;	/* another thread does */
	volatile uint64_t mine;
};

static CUdeviceptr seen_there;
static int lost, finished;

/* Each value that the device writes must be seen before the next one. */
static void *device_writes(void *arg)
{
	volatile uint64_t *seen = arg;
	time_t end = time(NULL) + 20;
	uint64_t i;

	cuCtxSetCurrent(ctx);
	for (i = 1; i <= 2000 && !lost; i++) {
		lost |= cuMemcpyHtoD(device, &i, sizeof(i)) ||
			cuMemcpyDtoD(seen_there, device, sizeof(i)) || cuCtxSynchronize();
		while (*seen != i && !lost)
			lost |= time(NULL) > end;
	}
	__atomic_store_n(&finished, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int child_of(struct shared *s, const uint8_t *pages, unsigned int depth)
{
	uint64_t before = s->mine;
	unsigned int again;

	s->mine = 0;
	s->seen = 0;
	s->counter = 0;
	again = dive(100000);
	return before != 5 || s->mine || !same(pages, 4096, 8) || again != depth;
}

static void test_fork(void)
{
	unsigned int depth = dive(100000);
	struct shared s = { .mine = 5 };
	uint8_t pages[4096];
	int i, status, bad = 0;
	pthread_t writer, counter;
	pid_t child;

	pattern(pages, sizeof(pages), 8);
	stop = 0;
	counted = 0;
	neighbour = &s.counter;
	bad |= cuMemHostRegister(&s, sizeof(s), 0) || cuMemHostRegister(pages, 4096, 0) ||
	       cuMemHostGetDevicePointer(&seen_there, (void *)&s.seen, 0);
	pthread_create(&counter, NULL, count, NULL);
	pthread_create(&writer, NULL, device_writes, (void *)&s.seen);
	for (i = 0; i < FORKS || !__atomic_load_n(&finished, __ATOMIC_ACQUIRE); i++) {
		child = fork();
		if (!child)
			_exit(child_of(&s, pages, depth));
		bad |= waitpid(child, &status, 0) != child || status || s.mine != 5 ||
		       !same(pages, 4096, 8);
	}
	pthread_join(writer, NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(counter, NULL);
	ok(!bad, "parent_and_child_have_a_stack_each");
	ok(!lost && s.seen == 2000, "what_the_device_writes_during_a_fork_is_seen");
	ok(counted && s.counter == counted, "what_others_write_during_a_fork_is_never_lost");
	ok(works(pages, sizeof(pages), 9) && !cuMemHostUnregister(pages) &&
	   !cuMemHostUnregister(&s) && s.mine == 5 && same(pages, sizeof(pages), 9),
	   "afterwards_the_device_has_the_parents");
}

static void *forks_in_a_thread(void *arg)
{
	uint8_t here[BYTES];
	int i, status, bad = 0;
	pid_t child;

	cuCtxSetCurrent(ctx);
	bad |= cuMemHostRegister(here, BYTES, 0);
	for (i = 0; i < FORKS; i++) {
		pattern(here, BYTES, i);
		child = fork();
		if (!child) {
			memset(here, 0, BYTES);
			_exit(dive(10000) ? 0 : 1);
		}
		bad |= waitpid(child, &status, 0) != child || status || !same(here, BYTES, i);
	}
	/* A child's number in this thread's data would make this a wait for another thread. */
	bad |= pthread_kill(pthread_self(), 0) || !works(here, BYTES, 99);
	bad |= cuMemHostUnregister(here);
	ok(!bad, "so_have_those_that_a_thread_makes");
	return arg;
}

static void in_a_thread(void *(*fn)(void *))
{
	pthread_t t;

	pthread_create(&t, NULL, fn, NULL);
	pthread_join(t, NULL);
}

int main(void)
{
	struct sigaction a = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &a, NULL);
	tap_plan(18);
	begin();
	cuMemAlloc(&device, 1 << 20);
	/* Pages that were registered once are plain ones, which others may register. */
	test_first();
	test_much();
	in_a_thread(of_a_thread);
	test_fork();
	in_a_thread(forks_in_a_thread);
	in_a_thread(without_userfaultfd);
	return tap_exit();
}
