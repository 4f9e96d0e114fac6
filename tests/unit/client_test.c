// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the slot's lock and the end of the link, over a transport that does
 * what the test says: calls on top of calls, calls that siglongjmp() leaves, statuses.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "quick.h"
#include "stubs.h"

static uint8_t area[4096] __attribute__((aligned(16)));
static int calls, abandons, ends, status_of_call, status_of_abandon;
static bool signal_in_call;
static sigjmp_buf back;

void wh_log(const char *fmt, ...)
{
	(void)fmt;
}

uint32_t wh_capture_mode_now(const struct wh_thread *t)
{
	return t->capture_mode;
}

void wh_output_print(void)
{
}

void wh_logs_failed(uint32_t call, CUresult res)
{
	(void)call;
	(void)res;
}

void wh_logs_refused(const char *name)
{
	(void)name;
}

void wh_logs_deliver(void)
{
	abort();
}

/* There are no managed variables, so nothing may ask for their copies. */
CUresult wh_managed_before(uint32_t call)
{
	(void)call;
	abort();
}

void wh_managed_sent(uint32_t call)
{
	(void)call;
	abort();
}

void wh_managed_answered(CUresult res)
{
	(void)res;
	abort();
}

void wh_managed_missed(void)
{
	abort();
}

void wh_managed_after(void)
{
	abort();
}

void wh_managed_after_fork(void)
{
}

/* There are no requests longer than an area. */
void wh_long_end(struct wh_call *c)
{
	(void)c;
	abort();
}

/* No memory is registered. */
bool wh_registered_hold(bool patient)
{
	(void)patient;
	return false;
}

void wh_registered_release(void)
{
	abort();
}

void wh_registered_release_in_child(void)
{
	abort();
}

void wh_registered_after_fork(void)
{
	abort();
}

/* No other library is called. */
bool wh_library_answer(struct wh_call *c, size_t fixed)
{
	(void)c;
	(void)fixed;
	abort();
}

void wh_drop_thread_streams(struct wh_thread *t)
{
	(void)t;
}

static int fake_call(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot)
{
	struct wh_rsp *r = (struct wh_rsp *)area;

	(void)l;
	(void)slot;
	(void)handler;
	(void)arg;
	calls++;
	if (signal_in_call)
		raise(SIGUSR1);
	*r = (struct wh_rsp) { .size = WH_WIRE_FIXED(*r) };
	return status_of_call;
}

static int fake_abandon(struct wh_link *l, uint32_t slot)
{
	(void)l;
	(void)slot;
	abandons++;
	return status_of_abandon;
}

static void fake_end(struct wh_link *l)
{
	(void)l;
	ends++;
}

static const struct wh_transport fake = {
	.name = "fake", .call = fake_call, .abandon = fake_abandon, .end = fake_end,
};

/* Calls as launches do. Returns false if the call must be made in the way of all calls. */
static WH_INLINE bool call_quickly(const void *frame, CUresult *res)
{
	struct wh_quick k = wh_quick_begin(frame, WH_CALL_whLaunch, sizeof(struct wh_req));

	if (!k.msg)
		return false;
	*res = wh_quick_post(k, sizeof(struct wh_req), sizeof(struct wh_req));
	return true;
}

/* Makes a call in one of the two ways, in turn. */
__attribute__((noinline)) static CUresult call_once(void)
{
	static bool quickly;
	struct wh_call c;
	CUresult res;

	quickly = !quickly;
	if (quickly && call_quickly(&c, &res))
		return res;
	if (!wh_begin(&c, WH_CALLS - 1, sizeof(struct wh_req)))
		return c.result;
	res = wh_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

__attribute__((noinline)) static CUresult call_deeper(void)
{
	volatile char deep[8192];
	CUresult res;

	deep[0] = 1;
	res = call_once();
	deep[8191] = deep[0];
	return res;
}

static void on(int sig, void (*handler)(int), int flags)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags };

	sigaction(sig, &a, NULL);
}

/* --- What need not be waited for ------------------------------------------------------ */

static int posts;

static int fake_post(struct wh_link *l, uint32_t slot, uint32_t handler, uint64_t arg)
{
	(void)l;
	(void)slot;
	(void)handler;
	(void)arg;
	posts++;
	return WH_OK;
}

static void call_of(uint32_t call)
{
	struct wh_call c;

	if (wh_begin(&c, call, sizeof(struct wh_req)))
		wh_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
}

/* Returns how many of three like calls are waited for. */
static int waited_of_three(uint32_t call)
{
	int i, before = calls;
	struct wh_call c;

	for (i = 0; i < 3; i++) {
		if (wh_begin(&c, call, sizeof(struct wh_req)))
			wh_post(&c, sizeof(struct wh_req));
		wh_end(&c);
	}
	return calls - before;
}

static void test_captures(void)
{
	static const struct wh_transport posting = {
		.name = "posting", .call = fake_call, .abandon = fake_abandon, .end = fake_end,
		.post = fake_post,
	};

	wh_client.link.t = &posting;
	waited_of_three(WH_CALL_whLaunch);
	ok_eq(waited_of_three(WH_CALL_whLaunch), 0, "launch_like_an_earlier_one_is_posted");
	call_of(WH_CALL_cuStreamBeginCapture_v2);
	ok_eq(waited_of_three(WH_CALL_whLaunch), 1, "in_a_capture_the_first_of_a_kind_is_waited_for");
	ok_eq(waited_of_three(WH_CALL_cuEventRecord), 3, "and_each_that_names_an_event");
	call_of(WH_CALL_cuStreamEndCapture);
	ok_eq(waited_of_three(WH_CALL_whLaunch), 1, "what_was_proven_in_a_capture_ends_with_it");
	ok_eq(waited_of_three(WH_CALL_cuEventRecord), 1, "then_events_are_posted_again");
	wh_client.link.t = &fake;
}

/* --- On top of a call -------------------------------------------------------------- */

static CUresult from_handler;

static void handler_calls(int sig)
{
	(void)sig;
	signal_in_call = false;
	from_handler = call_once();
}

static void test_handler(int flags, const char *name)
{
	CUresult outer;
	int before;

	on(SIGUSR1, handler_calls, flags);
	from_handler = CUDA_SUCCESS;
	signal_in_call = true;
	before = calls;
	alarm(10);
	outer = call_once();
	alarm(0);
	ok(from_handler == CUDA_ERROR_NOT_PERMITTED && outer == CUDA_SUCCESS && calls == before + 1,
	   name);
}

static void test_idle_handler(void)
{
	on(SIGUSR1, handler_calls, 0);
	raise(SIGUSR1);
	ok_eq(from_handler, CUDA_SUCCESS, "handler_outside_of_a_call_may_call");
}

/* --- A call that was left ------------------------------------------------------------ */

static void handler_leaves(int sig)
{
	(void)sig;
	signal_in_call = false;
	siglongjmp(back, 1);
}

static void leave_a_call(void)
{
	on(SIGUSR1, handler_leaves, 0);
	if (sigsetjmp(back, 1))
		return;
	signal_in_call = true;
	call_once();
}

static void *other_thread(void *arg)
{
	*(CUresult *)arg = call_once();
	return NULL;
}

static CUresult call_in_thread(void)
{
	CUresult res = CUDA_ERROR_UNKNOWN;
	struct timespec t;
	pthread_t thread;

	if (pthread_create(&thread, NULL, other_thread, &res))
		return CUDA_ERROR_UNKNOWN;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 10;
	return pthread_timedjoin_np(thread, NULL, &t) ? CUDA_ERROR_TIMEOUT : res;
}

static void test_left(void)
{
	int before;

	leave_a_call();
	before = calls;
	ok(call_deeper() == CUDA_ERROR_NOT_PERMITTED && calls == before && !abandons,
	   "call_that_may_be_a_handlers_is_refused");
	ok(call_once() == CUDA_SUCCESS && abandons == 1 && calls == before + 1,
	   "call_after_siglongjmp_drops_the_one_before");
	ok_eq(call_in_thread(), CUDA_SUCCESS, "other_threads_get_in_after_that");
	ok(call_once() == CUDA_SUCCESS && abandons == 1, "nothing_is_dropped_twice");
}

static void *leave_and_end(void *arg)
{
	(void)arg;
	leave_a_call();
	return NULL;
}

static void test_thread_end(void)
{
	pthread_t thread;

	abandons = 0;
	pthread_create(&thread, NULL, leave_and_end, NULL);
	pthread_join(thread, NULL);
	ok(call_in_thread() == CUDA_SUCCESS && abandons == 1,
	   "thread_that_ends_gives_back_what_it_left");
}

/* --- Statuses -------------------------------------------------------------------------- */

static void test_busy(void)
{
	status_of_call = WH_EBUSY;
	ok_eq(call_once(), CUDA_ERROR_NOT_PERMITTED, "busy_link_is_an_error");
	status_of_call = WH_OK;
	ok_eq(call_once(), CUDA_SUCCESS, "busy_link_stays_usable");
	status_of_call = WH_EBUSY;
	ok(call_once() == CUDA_ERROR_NOT_PERMITTED && call_once() == CUDA_ERROR_NOT_PERMITTED,
	   "busy_link_is_an_error_in_each_way");
	status_of_call = WH_OK;
	ok(call_once() == CUDA_SUCCESS && call_once() == CUDA_SUCCESS,
	   "each_way_goes_on_after_that");
}

/* Each runs in a child, because a dead link stays dead. */
static int in_child(CUresult (*f)(void))
{
	int status;
	pid_t pid = _Fork();	/* without the handlers for a fork */

	if (!pid) {
		_exit(f());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static CUresult lose(void)
{
	status_of_call = WH_EGONE;
	call_once();
	status_of_call = WH_OK;
	return call_once();
}

static CUresult lose_abandoned(void)
{
	status_of_abandon = WH_EGONE;
	leave_a_call();
	if (call_once() != CUDA_ERROR_DEVICE_UNAVAILABLE)
		return 99;
	return call_in_thread();
}

static void test_lost(void)
{
	ok_eq(in_child(lose), CUDA_ERROR_DEVICE_UNAVAILABLE, "gone_worker_stays_gone");
	ok_eq(in_child(lose_abandoned), CUDA_ERROR_DEVICE_UNAVAILABLE,
	      "link_that_cannot_drop_a_call_is_dead");
}

/* --- The end ------------------------------------------------------------------------------ */

static int report;	/* pipe: what was found after the destructor of process.c */

/* Destructors of lower priority numbers run later; 0 to 100 are the implementation's. */
static void late(void)
{
	char text[2] = { ends, call_once() };

	if (write(report, text, 2) != 2)
		abort();
}

static void child_ends(void)
{
	exit(0);
}

static int exit_in_child(void (*ending)(void), char text[2])
{
	int p[2], status;
	pid_t pid;

	text[0] = text[1] = -1;
	if (pipe(p))
		return -1;
	pid = ending == child_ends ? fork() : _Fork();
	if (!pid) {
		report = p[1];
		alarm(10);
		ending();
	}
	close(p[1]);
	if (read(p[0], text, 2) < 0)
		text[0] = -1;
	close(p[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void (*const last[])(void) __attribute__((section(".fini_array.00000"), used)) = { late };

static void own_process_ends(void)
{
	wh_client.state = WH_READY;
	wh_client.pid = getpid();
	exit(call_once());
}

static void ends_inside(int sig)
{
	(void)sig;
	exit(0);
}

static void ends_in_a_call(void)
{
	wh_client.state = WH_READY;
	wh_client.pid = getpid();
	on(SIGUSR1, ends_inside, 0);
	signal_in_call = true;
	call_once();
}

static void test_end(void)
{
	char text[2];

	ok(exit_in_child(own_process_ends, text) == 0 && text[0] == 1, "exit_gives_the_pair_back");
	ok_eq(text[1], CUDA_ERROR_DEINITIALIZED, "call_after_the_end_is_an_error");
	ok(exit_in_child(ends_in_a_call, text) == 0 && text[0] == 1,
	   "exit_in_a_handler_on_top_of_a_call_gives_it_back");
	ok(exit_in_child(child_ends, text) == 0 && text[0] == 0 &&
	   text[1] == CUDA_ERROR_NOT_INITIALIZED, "child_of_a_fork_does_not_give_it_back");
}

int main(void)
{
	static char alt[65536];
	stack_t ss = { .ss_sp = alt, .ss_size = sizeof(alt) };

	report = open("/dev/null", 1);
	wh_client.link = (struct wh_link) { .t = &fake, .slots = 1, .msg_size = sizeof(area),
					    .room = sizeof(area), .slot[0].msg = area };
	wh_client.state = WH_READY;
	wh_client.pid = getpid();
	wh_fork_matters();
	sigaltstack(&ss, NULL);
	tap_plan(24);
	ok_eq(call_once(), CUDA_SUCCESS, "call_goes_through");
	test_captures();
	test_idle_handler();
	test_handler(0, "handler_on_top_of_a_call_is_refused_at_once");
	test_handler(SA_ONSTACK, "handler_on_a_stack_of_its_own_is_refused_at_once");
	test_left();
	test_thread_end();
	test_busy();
	test_lost();
	test_end();
	return tap_exit();
}
