// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises, under a share of time, that the marker behind work shows that it is
 * under way (gpu_time.c). Whatever a program does between its launches, no launch is left
 * without a marker when a call goes on in another context. Such a launch would be charged
 * to nobody, and could last for ever.
 */
#define _GNU_SOURCE
#include "session_fixture.h"

#include <pthread.h>
#include <unistd.h>

#include "limits/join.h"
#include "tenant/tenant.h"

#define A	((CUcontext)0xa000)
#define B	((CUcontext)0xb000)
#define C	((CUcontext)0xc000)
#define WARM	64	/* a pause of this thread puts a marker behind a launch */
#define TRIES	1000	/* a pause of this thread puts a marker behind a launch at once */

static struct wh_session *s;
static uint64_t a, b, c, function;
static __thread CUcontext current;
static CUcontext marked_in;
static CUevent newest;
static CUstream of_b;
static uint32_t at, launched, marked;	/* order: now, last launch, last marker */
static pthread_barrier_t turn;

/* --- A driver whose work is done at once --------------------------------------------- */

static CUresult my_set_current(CUcontext ctx)
{
	current = ctx;
	return CUDA_SUCCESS;
}

static CUresult my_get_device(CUdevice *dev)
{
	*dev = 0;
	return CUDA_SUCCESS;
}

static CUresult my_launch(const CUlaunchConfig *l, CUfunction f, void **params, void **extra)
{
	(void)l, (void)f, (void)params, (void)extra;
	launched = ++at;
	return CUDA_SUCCESS;
}

static CUresult my_event(CUevent *e, unsigned int flags)
{
	static uintptr_t n = 0xe000;

	(void)flags;
	*e = (CUevent)(n += 16);
	return CUDA_SUCCESS;
}

static CUresult my_record(CUevent e, CUstream stream)
{
	if (stream && (stream == of_b) != (current == B))
		return CUDA_ERROR_INVALID_HANDLE;
	newest = e;
	marked = ++at;
	marked_in = current;
	return CUDA_SUCCESS;
}

static bool endless;		/* what was launched last */

static CUresult my_query(CUevent e)
{
	return endless && e == newest && marked > launched ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

#define STUCK_MS	200
static int done_after = STUCK_MS;	/* milliseconds */

static void *ask(void *arg)
{
	wh_awaited_ask(s);
	return arg;
}

static void in_a_thread(void *(*what)(void *))
{
	pthread_t t;

	pthread_create(&t, NULL, what, NULL);
	pthread_join(t, NULL);
}

static uint64_t charged;	/* by the worker's watching thread while a call is stuck */

/* The call waits for the kernel and for something else, which keeps the worker's thread in it. */
static CUresult my_synchronize(void)
{
	uint64_t begun = s->limits.account->device[0].gpu_ns;
	unsigned int again;
	int i;

	for (i = 0; i < STUCK_MS / 10; i++) {
		usleep(10000);
		endless = endless && i < done_after / 10;
		wh_sm_watch(s, &again);
		if (wh_awaited_late(s))
			in_a_thread(ask);
	}
	charged = s->limits.account->device[0].gpu_ns - begun;
	return CUDA_SUCCESS;
}

static CUresult my_elapsed(float *ms, CUevent from, CUevent to)
{
	static float now;

	(void)from, (void)to;
	*ms = now += 0.001f;
	return CUDA_SUCCESS;
}

static CUresult my_end_event(CUevent e)
{
	(void)e;
	return CUDA_SUCCESS;
}

static CUresult my_destroy(CUcontext ctx)
{
	(void)ctx;
	return CUDA_SUCCESS;
}

static CUresult my_stream_context(CUstream stream, CUcontext *ctx)
{
	*ctx = stream == of_b ? B : A;
	return CUDA_SUCCESS;
}

static CUresult my_stream_query(CUstream stream)
{
	(void)stream;
	return CUDA_SUCCESS;
}

static void fill(void)
{
	s->drv.cuCtxSetCurrent = my_set_current;
	s->drv.cuCtxGetDevice = my_get_device;
	s->drv.cuCtxDestroy_v2 = my_destroy;
	s->drv.cuLaunchKernelEx = my_launch;
	s->drv.cuEventCreate = my_event;
	s->drv.cuEventRecord = my_record;
	s->drv.cuEventQuery = my_query;
	s->drv.cuEventElapsedTime = my_elapsed;
	s->drv.cuEventDestroy_v2 = my_end_event;
	s->drv.cuStreamQuery = my_stream_query;
	s->drv.cuStreamGetCtx = my_stream_context;
	s->drv.cuCtxSynchronize = my_synchronize;
}

/* --- A tenant with half of the time ---------------------------------------------------- */

static void *file(int *fd, size_t size)
{
	*fd = memfd_create("tenant", MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, (off_t)size))
		exit(1);
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
}

static void join(void)
{
	const struct wh_device_limit half = { .sm_percent = 50, .sm_policy = WH_SM_TEMPORAL };
	struct wh_tenant_files f = { .seats = -1, .seat = -1, .trace = -1, .account = -1 };
	struct wh_tenant_limits *limits = file(&f.limits, sizeof(*limits));
	struct wh_tenant_usage *usage = file(&f.usage, sizeof(*usage));
	char err[200];

	wh_tenant_limits_init(limits, "t", 1);
	wh_tenant_usage_init(usage, 1);
	wh_tenant_limits_set(limits, 0, &half);
	if (!wh_session_set_tenant(s, &f, err, sizeof(err)))
		return;
	printf("Bail out! %s\n", err);
	exit(1);
}

/* --- Calls ------------------------------------------------------------------------------- */

static void *begin(uint32_t slot, uint32_t call, uint64_t ctx, size_t size)
{
	struct wh_req *q = (struct wh_req *)s->frame[slot].msg;

	memset(q, 0, size);
	q->call = call;
	q->ctx = ctx;
	q->capture_mode = wh_self.capture_mode;
	return q;
}

static int64_t finish(uint32_t slot, size_t size)
{
	return wh_dispatch_slot(s, slot, WH_HANDLER_CUDA, size);
}

static int64_t query(uint32_t slot, uint64_t ctx)
{
	begin(slot, WH_CALL_cuStreamQuery, ctx, sizeof(struct wh_req_cuStreamQuery));
	return finish(slot, sizeof(struct wh_req_cuStreamQuery));
}

/* Launches as a client does: again as long as it has to wait. */
static void launch_into(uint64_t ctx, uint64_t into)
{
	struct wh_req_whLaunch *q = begin(0, WH_CALL_whLaunch, ctx, WH_WIRE_FIXED(*q));
	int64_t rc;

	q->grid[0] = q->grid[1] = q->grid[2] = 1;
	q->block[0] = q->block[1] = q->block[2] = 1;
	q->function = function;
	q->stream = into;
	do
		rc = finish(0, WH_WIRE_FIXED(*q));
	while (rc > 0);
}

static void launch(uint64_t ctx)
{
	launch_into(ctx, 0);
}

static void end_context(uint64_t ctx, uint64_t id)
{
	struct wh_req_cuCtxDestroy_v2 *q = begin(0, WH_CALL_cuCtxDestroy_v2, ctx, sizeof(*q));

	q->ctx = id;
	finish(0, sizeof(*q));
}

/* Launches without a marker yet, as are most launches in a row. */
static bool launch_in_a_row(uint64_t ctx)
{
	int i;

	for (i = 0; i < WARM; i++)
		launch(ctx);
	for (i = 0; i < TRIES && marked > launched; i++)
		launch(ctx);
	return launched > marked;
}

/* The second thread, whose slot is used before and after the first one's launches. */
static void *other(void *arg)
{
	wh_session_new_thread(s);
	query(1, b);
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	query(1, b);
	return arg;
}

/* Launches a kernel of so many milliseconds, and makes a call that waits for longer. */
static void wait_for_work(int ms)
{
	done_after = ms;
	endless = false;
	launch(a);
	endless = true;
	begin(0, WH_CALL_cuCtxSynchronize, a, sizeof(struct wh_req_cuCtxSynchronize));
	finish(0, sizeof(struct wh_req_cuCtxSynchronize));
}

static bool is_marked_in(CUcontext ctx)
{
	return marked > launched && marked_in == ctx;
}

int main(int argc, char **argv)
{
	pthread_t t;

	(void)argc;
	tap_plan(8);
	s = open_session_of(argv[0], 2);
	join();
	fill();
	say_hello(s);
	wh_session_slot(s, 1);
	a = wh_new(s, WH_H_CUcontext, A, 0);
	b = wh_new(s, WH_H_CUcontext, B, 0);
	c = wh_new(s, WH_H_CUcontext, C, 0);
	function = wh_new(s, WH_H_CUfunction, (void *)0xf000, 0);
	ok(launch_in_a_row(a), "launches_in_a_row_share_a_marker");
	query(0, b);
	ok(is_marked_in(A), "who_goes_on_in_another_context_has_left_one_behind_them");

	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&t, NULL, other, NULL);
	pthread_barrier_wait(&turn);
	/* The second thread has not heard of this when its turn comes. */
	end_context(b, c);
	ok(launch_in_a_row(a), "so_do_those_behind_the_end_of_a_third_context");
	pthread_barrier_wait(&turn);
	pthread_join(t, NULL);
	ok(is_marked_in(A), "a_thread_that_has_not_heard_of_that_end_leaves_one_behind_them_too");

	of_b = (CUstream)0xbb00;
	launch_into(a, wh_new(s, WH_H_CUstream, of_b, b));
	query(0, a);
	ok(is_marked_in(B), "launch_into_a_stream_of_another_context_is_marked_there");
	ok(s->limits.account->device[0].gpu_ns < 1000000000ull, "and_charged_for_what_it_takes");

	wait_for_work(STUCK_MS);
	ok(charged > STUCK_MS / 2 * 1000000ull, "work_is_charged_while_the_call_behind_it_is_stuck");
	diag("%llu ms of %d", (unsigned long long)(charged / 1000000), STUCK_MS);
	wait_for_work(10);
	ok(charged < STUCK_MS / 2 * 1000000ull, "and_no_more_once_it_is_done_whatever_the_call_waits_for");
	diag("%llu ms of %d", (unsigned long long)(charged / 1000000), STUCK_MS);
	return tap_exit();
}
