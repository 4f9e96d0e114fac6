// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises threads of a client over the vmfunc transport, each call in a slot.
 * It runs the stubs' own locks, slots and end of the process, the transport, and the
 * trampoline; hypercalls and the switch are faked (fake_host.h, fake_slots.h). Each pair
 * is a child's, with as many slots as the point needs, and ends by exit() as a program's
 * does. It runs on any x86-64 machine with FSGSBASE.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <sys/wait.h>

#include "../tap.h"
#include "fake_slots.h"
#include "gen_api.h"
#include "quick.h"

/* A program that hangs is killed after this time. */
#define FINITE_S	60

#define BRIEF		WH_CALL_whLaunch
#define WAITING		WH_CALL_cuEventSynchronize	/* without a bound, for all that is known */

/* Counts over the processes of a point. */
static struct counts {
	int detaches, cancels, bad;
} *count;

/* --- What libcuda.so.1 has beside calls ------------------------------------------------ */

uint32_t wh_capture_mode_now(const struct wh_thread *t)
{
	return t->capture_mode;
}

void wh_drop_thread_streams(struct wh_thread *t)
{
	(void)t;
}

/* Nothing is printed, no memory is registered, no variable is managed, and no library is called. */
void wh_output_print(void) { abort(); }
void wh_logs_failed(uint32_t call, CUresult res) { (void)call; (void)res; }
void wh_logs_refused(const char *name) { (void)name; }
void wh_logs_deliver(void) { abort(); }
CUresult wh_managed_before(uint32_t call) { (void)call; abort(); }
void wh_managed_sent(uint32_t call) { (void)call; abort(); }
void wh_managed_answered(CUresult res) { (void)res; abort(); }
void wh_managed_missed(void) { abort(); }
void wh_long_end(struct wh_call *c) { (void)c; abort(); }
void wh_managed_after(void) { abort(); }
void wh_managed_after_fork(void) { }
bool wh_registered_hold(bool patient) { (void)patient; return false; }
void wh_registered_release(void) { abort(); }
void wh_registered_release_in_child(void) { abort(); }
void wh_registered_after_fork(void) { abort(); }
bool wh_library_answer(struct wh_call *c, size_t n) { (void)c; (void)n; abort(); }

/* --- Calls ---------------------------------------------------------------------------- */

static void fill(struct op *q, uint64_t op, uint64_t arg, uint64_t value)
{
	q->op = op;
	q->arg = arg;
	q->value = value;
}

/* Is the answer this call's? Returns the slot that it had, or -1. */
static int slot_of(const struct answer *a, uint64_t value)
{
	return a->value == mixed(value) ? (int)a->slot : -1;
}

/* All calls have the same frame, so that the next call can tell whether one was left. */
__attribute__((noinline)) static CUresult call(uint32_t number, uint64_t op, uint64_t arg,
					       uint64_t value, int *slot)
{
	struct wh_call c;
	struct op *q = wh_begin(&c, number, sizeof(*q));
	CUresult res;

	*slot = -1;
	if (!q)
		return c.result;
	fill(q, op, arg, value);
	res = wh_run(&c, sizeof(struct answer));
	if (res == CUDA_SUCCESS)
		*slot = slot_of((const struct answer *)c.rsp, value);
	wh_end(&c);
	return res;
}

static CUresult call_once(uint64_t value)
{
	int slot;
	CUresult res = call(BRIEF, OP_MIX, 0, value, &slot);

	return res == CUDA_SUCCESS && slot < 0 ? CUDA_ERROR_UNKNOWN : res;
}

static bool calls_work(int n)
{
	bool good = true;

	while (n--)
		good &= call_once((uint64_t)n) == CUDA_SUCCESS;
	return good;
}

/* --- Pairs ---------------------------------------------------------------------------- */

static bool cancel_counts;

static void note_cancelled(uint32_t slot)
{
	if (cancel_counts)
		__atomic_add_fetch(&count->cancels, 1, __ATOMIC_SEQ_CST);
	cancelled(slot);
}

/* Does what cuInit does. The parts before `part` belong to others. */
static bool connect_to(uint32_t slots, int part)
{
	struct wh_link link = { 0 };

	fresh_host();
	while (part--)
		host.attach[part] = WH_EBUSY;
	host.slots = slots;
	host.attached = attached;
	host.cancelled = note_cancelled;
	host.detaches_of_all = &count->detaches;
	cancel_counts = true;
	wh_fork_matters();
	if (wh_transport_vmfunc.open(&link))
		return false;
	wh_client.link = link;
	wh_client.pid = getpid();
	wh_client.state = WH_READY;
	return true;
}

static int exit_code(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/*
 * Runs a program with a pair. It ends by exit(), and its exit code shows a thing that may
 * not happen.
 */
static int program(int (*body)(void), uint32_t slots)
{
	pid_t pid;

	format_window(slots, WH_API_HASH);
	memset(count, 0, sizeof(*count));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(FINITE_S);
		exit(connect_to(slots, 0) ? body() : 100);
	}
	return exit_code(pid);
}

static void late(void)
{
	if (wrong)
		_exit(101);
}

/* This runs after the destructors of the library; 0 to 100 are the implementation's. */
static void (*const last[])(void) __attribute__((section(".fini_array.00000"), used)) = { late };

/* Did it end well, and give its pair back? */
static bool ended(int code)
{
	if (code || count->detaches != 1)
		diag("exit code %d, %d detaches", code, count->detaches);
	return !code && count->detaches == 1;
}

/* --- At the same time ------------------------------------------------------------------- */

#define MANY	16

static void *meets(void *together)
{
	int slot;
	CUresult res = call(BRIEF, OP_MEET, (uintptr_t)together, (uintptr_t)&slot, &slot);

	return (void *)(intptr_t)(res ? -1 : slot);
}

static uint32_t met_in(uint32_t threads)
{
	pthread_t t[MANY];
	uint32_t i, in = 0;
	void *slot;

	for (i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, meets, (void *)(uintptr_t)threads);
	for (i = 0; i < threads; i++) {
		pthread_join(t[i], &slot);
		in |= (intptr_t)slot < 0 ? 0 : 1U << (intptr_t)slot;
	}
	return in;
}

static int two_meet(void)
{
	return __builtin_popcount(met_in(2)) != 2;
}

static int four_meet(void)
{
	return met_in(4) != 0xf;
}

static int sixteen_meet(void)
{
	return met_in(16) != 0xffff;
}

static void test_meeting(void)
{
	ok(ended(program(two_meet, 4)), "two_threads_are_in_handlers_at_the_same_time");
	ok(ended(program(four_meet, 4)), "four_threads_are_in_all_four_slots_at_the_same_time");
	ok(ended(program(sixteen_meet, 16)), "sixteen_threads_are_in_all_that_a_pair_can_have");
}

/* --- More threads than slots -------------------------------------------------------------- */

#define CALLS	2000

static void *works(void *number)
{
	uint64_t i, value, bad = 0;
	int slot;

	for (i = 0; i < CALLS; i++) {
		value = (uint64_t)(uintptr_t)number << 32 | i;
		bad += call(mixed(value) % 8 ? BRIEF : WAITING, OP_MIX, 0, value, &slot) ||
		       slot < 0;
	}
	return (void *)(uintptr_t)bad;
}

static int crowd(void)
{
	pthread_t t[8];
	uintptr_t i, bad = 0;
	void *res;

	for (i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, works, (void *)(i + 1));
	for (i = 0; i < 8; i++) {
		pthread_join(t[i], &res);
		bad += (uintptr_t)res;
	}
	return bad || !calls_work(10);
}

static void test_crowd(void)
{
	ok(ended(program(crowd, 4)), "eight_threads_on_four_slots_get_each_its_own_results");
	ok(ended(program(crowd, 2)), "eight_threads_on_two_slots_do");
	ok(ended(program(crowd, 1)), "eight_threads_on_one_slot_do");
}

/* --- Calls that stay ------------------------------------------------------------------------ */

static uint32_t number_of_stay = BRIEF;

static void *stays(void *gate)
{
	int slot;
	CUresult res = call(number_of_stay, OP_STAY, (uintptr_t)gate, 4711, &slot);

	return (void *)(intptr_t)(res == CUDA_SUCCESS && slot < 0 ? CUDA_ERROR_UNKNOWN : res);
}

static CUresult result_of(pthread_t t)
{
	void *res;

	pthread_join(t, &res);
	return (CUresult)(uintptr_t)res;
}

/* A call may also wait for a function of the program that makes calls itself. */
static int one_stays(void)
{
	pthread_t t;
	bool good;

	pthread_create(&t, NULL, stays, NULL);
	await(&arrived[0], 1);
	good = calls_work(500);
	tell(&opened[0]);
	return result_of(t) || !good;
}

static int three_stay(void)
{
	pthread_t t[3];
	bool good;
	int i;

	for (i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, stays, NULL);
	await(&arrived[0], 3);
	good = calls_work(500);
	tell(&opened[0]);
	for (i = 0; i < 3; i++)
		good &= !result_of(t[i]);
	return !good;
}

/* Calls that may wait without a bound leave two slots free. */
static int many_wait(void)
{
	pthread_t t[6];
	bool good = calls_work(1);
	int i;

	number_of_stay = WAITING;
	for (i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, stays, NULL);
	await(&arrived[0], 2);
	good &= calls_work(500) && told(&arrived[0]) == 2;
	tell(&opened[0]);
	for (i = 0; i < 6; i++)
		good &= !result_of(t[i]);
	return !good || told(&arrived[0]) != 6;
}

/* A thread that is cancelled while it waits for its turn has nothing, and takes nothing along. */
static int waiter_is_cancelled(void)
{
	pthread_t t[2], third;
	bool good = calls_work(1);
	int i;

	number_of_stay = WAITING;
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, stays, NULL);
	await(&arrived[0], 2);
	pthread_create(&third, NULL, stays, NULL);
	good &= calls_work(50);
	pthread_cancel(third);
	good &= result_of(third) == (CUresult)(uintptr_t)PTHREAD_CANCELED && calls_work(50);
	tell(&opened[0]);
	for (i = 0; i < 2; i++)
		good &= !result_of(t[i]);
	return !good || crowd();
}

static void test_staying(void)
{
	ok(ended(program(one_stays, 2)), "call_that_waits_for_what_other_threads_call_ends");
	ok(ended(program(three_stay, 4)), "three_calls_that_stay_leave_the_fourth_slot_to_others");
	ok(ended(program(many_wait, 4)), "calls_that_wait_without_a_bound_fill_all_slots_but_two");
	ok(ended(program(waiter_is_cancelled, 4)), "thread_cancelled_before_its_turn_takes_no_slot");
}

/* --- Signals -------------------------------------------------------------------------------- */

static void on(void (*f)(int))
{
	struct sigaction a = { .sa_handler = f };

	sigaction(SIGUSR1, &a, NULL);
}

static uint32_t refused;

static void calls_on_top(int sig)
{
	(void)sig;
	if (call_once(1) == CUDA_ERROR_NOT_PERMITTED)
		tell(&refused);
}

static int call_on_top(void)
{
	bool good;
	pthread_t t;

	on(calls_on_top);
	pthread_create(&t, NULL, stays, NULL);
	await(&arrived[0], 1);
	pthread_kill(t, SIGUSR1);
	await(&refused, 1);
	good = calls_work(100);
	tell(&opened[0]);
	return result_of(t) || !good;
}

static void calls_or_is_refused(int sig)
{
	CUresult res = call_once(77);

	(void)sig;
	if (res != CUDA_SUCCESS && res != CUDA_ERROR_NOT_PERMITTED)
		is_wrong("a handler's call got something else");
	if (res == CUDA_ERROR_NOT_PERMITTED)
		tell(&refused);
}

static void *works_after_one(void *number)
{
	bool good = calls_work(1);

	tell(&arrived[1]);
	return good ? works(number) : (void *)1;
}

/*
 * Signals come before, in and behind calls, and while calls wait for a slot. They do not
 * come before a thread's first call, in which the C library says where its stack is.
 * Returns how many results were wrong.
 */
static uintptr_t storm_once(int so_far)
{
	pthread_t t[4];
	uintptr_t i, bad = 0;
	void *res;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, works_after_one, (void *)(i + 1));
	await(&arrived[1], so_far + 4);
	for (i = 0; i < 4000; i++) {
		pthread_kill(t[mixed(i) % 4], SIGUSR1);
		if (i % 4 == 3)
			bad += !calls_work(1);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], &res);
		bad += (uintptr_t)res;
	}
	return bad;
}

#define STORMS		20
#define NONE_IN_A_CALL	3	/* exit code */

/*
 * On a busy machine it can be that no signal of a storm comes into a call, whose
 * handler's own call would be refused.
 */
static int storm(void)
{
	int i;

	on(calls_or_is_refused);
	for (i = 0; i < STORMS && !told(&refused); i++)
		if (storm_once(4 * i))
			return 1;
	return told(&refused) ? 0 : NONE_IN_A_CALL;
}

static void test_signals(void)
{
	ok(ended(program(call_on_top, 4)), "call_on_top_of_a_suspended_one_is_refused_alone");
	ok(ended(program(storm, 2)), "signals_at_any_time_change_no_result");
}

/* --- Calls that are left ------------------------------------------------------------------- */

static __thread sigjmp_buf back;
static uint32_t left;
static bool calls_again;

static void leaves(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

/* Leaves its call; later makes another one, or ends without. */
static void *leaves_a_call(void *gate)
{
	if (!sigsetjmp(back, 1))
		return stays(gate);
	tell(&left);
	await(&opened[1], 1);
	return (void *)(uintptr_t)(calls_again ? call_once(1) : CUDA_ERROR_DEVICE_UNAVAILABLE);
}

static pthread_t one_that_leaves(void)
{
	uint32_t before = told(&left);
	pthread_t t;

	on(leaves);
	pthread_create(&t, NULL, leaves_a_call, NULL);
	await(&arrived[0], before + 1);
	pthread_kill(t, SIGUSR1);
	await(&left, before + 1);
	return t;
}

/*
 * The left call's slot is lost, and the others go on. When its thread finds that it has
 * left the call, the pair is over, but for calls that are in their handlers by then.
 */
static int left_alone(void)
{
	pthread_t a = one_that_leaves(), b;
	bool good;

	pthread_create(&b, NULL, stays, (void *)2);
	await(&arrived[2], 1);
	good = calls_work(500) && !count->cancels;
	tell(&opened[1]);
	good &= result_of(a) == CUDA_ERROR_DEVICE_UNAVAILABLE && count->cancels == 1;
	good &= call_once(1) == CUDA_ERROR_DEVICE_UNAVAILABLE;
	tell(&opened[2]);
	return result_of(b) || !good;
}

static int left_and_ended(void)
{
	calls_again = false;
	return left_alone();
}

/* All four calls are left, and a fifth thread comes. */
static int all_left(void)
{
	pthread_t t[4];
	bool good = true;
	int i;

	for (i = 0; i < 4; i++)
		t[i] = one_that_leaves();
	tell(&opened[1]);
	for (i = 0; i < 4; i++)
		good &= result_of(t[i]) == CUDA_ERROR_DEVICE_UNAVAILABLE;
	return !good || call_once(1) != CUDA_ERROR_DEVICE_UNAVAILABLE;
}

static void test_left(void)
{
	calls_again = true;
	ok(ended(program(left_alone, 4)) && count->cancels == 1,
	   "slot_of_a_call_that_was_left_is_lost_alone_until_its_thread_calls_again");
	ok(ended(program(left_and_ended, 4)) && count->cancels == 1, "or_until_its_thread_ends");
	ok(ended(program(all_left, 4)) && count->cancels == 4,
	   "when_all_slots_were_left_calls_say_that_the_device_is_gone");
}

/* --- Fork ------------------------------------------------------------------------------------ */

static uint32_t over;

static void *goes_on(void *number)
{
	uint64_t i, bad = 0;

	for (i = 0; !told(&over); i++)
		bad += call_once((uint64_t)(uintptr_t)number << 32 | i) != CUDA_SUCCESS;
	return (void *)(uintptr_t)bad;
}

/* The child works with a pair of its own, and with threads in it. */
static int child_works(void)
{
	if (call_once(1) != CUDA_ERROR_NOT_INITIALIZED || is_mapped(WH_WINDOW_VA + DATA))
		return 1;
	memset(arrived, 0, sizeof(arrived));
	return !connect_to(4, 1) || met_in(4) != 0xf || !calls_work(50);
}

static int forks(void)
{
	pthread_t t[6];
	uintptr_t i;
	bool good = true;
	pid_t pid;

	for (i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, goes_on, (void *)(i + 1));
	for (i = 0; i < 10; i++) {
		pid = fork();
		if (!pid) {
			alarm(FINITE_S);
			exit(child_works());
		}
		good &= exit_code(pid) == 0;
	}
	good &= count->detaches == 10;
	tell(&over);
	for (i = 0; i < 6; i++)
		good &= !result_of(t[i]);
	return !good || !calls_work(10);
}

static volatile sig_atomic_t is_child;

static void forks_on_top(int sig)
{
	pid_t pid = fork();

	(void)sig;
	if (!pid) {
		is_child = true;
		return;
	}
	if (exit_code(pid))
		__atomic_store_n(&count->bad, 1, __ATOMIC_SEQ_CST);
	tell(&opened[0]);
}

/* The child goes back into its parent's call, which KVM refuses to continue there. */
static int fork_on_top(void)
{
	CUresult res;

	on(forks_on_top);
	res = (CUresult)(uintptr_t)stays(NULL);
	if (is_child)
		return res != CUDA_ERROR_NOT_INITIALIZED ||
		       call_once(1) != CUDA_ERROR_NOT_INITIALIZED;
	return res || count->bad || !calls_work(10);
}

static void *raises(void *main_thread)
{
	await(&arrived[0], 1);
	pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
	return NULL;
}

static int raised_fork_on_top(void)
{
	pthread_t self = pthread_self(), t;

	pthread_create(&t, NULL, raises, &self);
	return fork_on_top();
}

static void test_fork(void)
{
	int code = program(forks, 4);

	ok(!code && count->detaches == 11, "children_forked_among_calls_have_pairs_of_their_own");
	ok(ended(program(raised_fork_on_top, 4)),
	   "child_forked_on_top_of_a_call_comes_back_from_it_with_an_error");
}

/* --- The end ------------------------------------------------------------------------------ */

/* Calls until the end of the process, and after that. */
static void *never_stops(void *number)
{
	CUresult res;
	uint64_t i;

	for (i = 0; ; i++) {
		res = call_once((uint64_t)(uintptr_t)number << 32 | i);
		if (res != CUDA_SUCCESS && res != CUDA_ERROR_DEINITIALIZED)
			_exit(102);
		if (i == 20)
			tell(&arrived[1]);
	}
	return NULL;
}

static void six_that_never_stop(void)
{
	uintptr_t i;
	pthread_t t;

	for (i = 0; i < 6; i++)
		pthread_create(&t, NULL, never_stops, (void *)(i + 1));
	await(&arrived[1], 6);
}

static int ends_among_calls(void)
{
	six_that_never_stop();
	return 0;
}

static void *exits(void *unused)
{
	(void)unused;
	exit(0);
}

static int another_thread_ends_it(void)
{
	pthread_t t;

	six_that_never_stop();
	pthread_create(&t, NULL, exits, NULL);
	return never_stops(NULL) != NULL;
}

static int ends_with_one_inside(void)
{
	pthread_t t;

	pthread_create(&t, NULL, stays, NULL);
	await(&arrived[0], 1);
	return 0;
}

static void exits_on_top(int sig)
{
	(void)sig;
	exit(0);
}

/*
 * Ends the process in the handler of a signal that interrupted its own call, among
 * others' calls.
 */
static int ends_on_top(void)
{
	pthread_t t;

	six_that_never_stop();
	on(exits_on_top);
	pthread_create(&t, NULL, stays, NULL);
	await(&arrived[0], 1);
	pthread_kill(t, SIGUSR1);
	return never_stops(NULL) != NULL;
}

static bool always_ended(int (*body)(void), int cancels)
{
	bool good = true;
	int i;

	for (i = 0; i < 10 && good; i++)
		good = ended(program(body, 4)) && count->cancels == cancels;
	return good;
}

static void test_end(void)
{
	ok(always_ended(ends_among_calls, 0), "exit_among_calls_of_threads_gives_the_pair_back_once");
	ok(always_ended(another_thread_ends_it, 0), "exit_by_another_thread_does");
	ok(always_ended(ends_on_top, 1), "exit_on_top_of_a_call_cancels_that_one");
	ok(program(ends_with_one_inside, 4) == 0 && !count->detaches,
	   "exit_while_a_call_stays_ends_and_leaves_the_pair_to_the_host");
}

int main(void)
{
	char cmd[64];

	count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (!mkdtemp(sysfs) || count == MAP_FAILED)
		return 1;
	tap_plan(21);
	if (!(getauxval(AT_HWCAP2) & 2)) {
		while (tap_run < tap_planned)
			skip("slots over vmfunc", "this machine runs without FSGSBASE");
		return tap_exit();
	}
	map_hooks();
	test_meeting();
	test_crowd();
	test_staying();
	test_signals();
	test_left();
	test_fork();
	test_end();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", sysfs);
	return system(cmd) || tap_exit();
}
