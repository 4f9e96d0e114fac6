// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises signal handlers on top of calls, over shm with a real worker. A
 * handler that calls CUDA gets an error at once; a handler that leaves by siglongjmp()
 * leaves a usable process. A host function keeps the stream, and so the main thread in
 * its calls, until the handler has seen what it came for. The test is not for loopback,
 * where nobody else could finish such a call.
 */
#include "driver_test.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>

static volatile sig_atomic_t refused, leave;
static volatile int done;
static sigjmp_buf back;
static CUdeviceptr memory;

/*
 * Between two slices of the wait the call is allowed, so the handler returns and comes
 * again. It must not wait for the stream itself.
 */
static void handler(int sig)
{
	(void)sig;
	if (cuStreamQuery(NULL) != CUDA_ERROR_NOT_PERMITTED)
		return;
	refused = 1;
	if (leave)
		siglongjmp(back, 1);
}

/* --- A signal while the library looks whether the worker lives ----------------------------- */

#define LARGE	(300UL << 20)

static volatile bool interrupted;
static int looks;

/* The library looks by this function, without waiting. It is as if a signal came each time. */
int poll(struct pollfd *p, nfds_t n, int timeout)
{
	if (!interrupted || timeout)
		return (int)syscall(SYS_poll, p, n, timeout);
	looks++;
	errno = EINTR;
	return -1;
}

/* Makes calls that take long, until the library has looked. */
static void test_looks(void)
{
	CUdeviceptr large;
	CUresult res = cuMemAlloc(&large, LARGE);
	int i;

	interrupted = true;
	for (i = 0; i < 1000 && !looks && !res; i++)
		res = cuMemsetD8(large, (unsigned char)i, LARGE);
	interrupted = false;
	ok(looks && !res && !cuMemFree(large), "a_signal_is_not_taken_for_the_workers_end");
}

static void keep(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* Signals the main thread until a handler was refused. It makes no CUDA call. */
static void *signaller(void *target)
{
	int i;

	for (i = 0; i < 5000 && !refused; i++) {
		pthread_kill(*(pthread_t *)target, SIGUSR1);
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static CUresult wait_under_signals(void)
{
	pthread_t me = pthread_self(), t;
	volatile CUresult res = CUDA_ERROR_UNKNOWN;

	refused = 0;
	done = 0;
	if (pthread_create(&t, NULL, signaller, &me))
		return CUDA_ERROR_UNKNOWN;
	/* The function runs at once or later; a handler may leave either call. */
	if (!sigsetjmp(back, 1))
		res = cuLaunchHostFunc(NULL, keep, NULL) || cuStreamSynchronize(NULL);
	pthread_join(t, NULL);
	return res;
}

static int round_trip(void)
{
	char out[100000], in[100000];

	pattern(out, sizeof(out), 7);
	return !cuMemcpyHtoD(memory, out, sizeof(out)) && !cuMemcpyDtoH(in, memory, sizeof(in)) &&
	       same(in, sizeof(in), 7);
}

static void *other(void *result)
{
	CUdeviceptr p;

	*(int *)result = !cuCtxSetCurrent(ctx) && !cuMemAlloc(&p, 64) && !cuMemFree(p);
	return NULL;
}

int main(void)
{
	struct sigaction a = { .sa_handler = handler };
	CUresult res;
	pthread_t t;
	int good = 0;

	tap_plan(7);
	begin();
	cuMemAlloc(&memory, 100000);
	sigaction(SIGUSR1, &a, NULL);
	alarm(60);
	res = wait_under_signals();
	ok(refused, "handler_on_top_of_a_call_is_refused");
	ok_eq(res, CUDA_SUCCESS, "and_the_call_under_it_goes_on");
	leave = 1;
	res = wait_under_signals();
	ok(refused && res == CUDA_ERROR_UNKNOWN, "handler_leaves_the_call_for_good");
	leave = 0;
	ok_eq(cuCtxSynchronize(), CUDA_SUCCESS, "next_call_works");
	ok(round_trip(), "copies_work_after_that");
	pthread_create(&t, NULL, other, &good);
	pthread_join(t, NULL);
	ok(good, "and_other_threads_get_in");
	test_looks();
	return tap_exit();
}
