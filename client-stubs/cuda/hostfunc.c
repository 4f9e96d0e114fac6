// SPDX-License-Identifier: Apache-2.0
/*
 * Functions of the client that the worker's streams and graphs reach: host functions,
 * callbacks, the client's part of copies in graphs, destructors of user objects. They run in
 * this process, on a thread of their own, each by a callback in the data area. The stream or
 * graph goes on when its function has returned. The two sides may be in different VMs, so this
 * side polls.
 */
#define _GNU_SOURCE
#include "stubs.h"
#include "callback.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define AREAS	16
/* The first place in an area is the bell. */
#define CALLBACKS	(WH_CALLBACK_AREA / sizeof(struct wh_callback) - 1)

static pthread_mutex_t lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond WH_PAIR = PTHREAD_COND_INITIALIZER;
static struct wh_callback *area[AREAS] WH_PAIR;
static unsigned int areas WH_PAIR;
static struct wh_callback_job *job WH_PAIR;	/* AREAS * CALLBACKS entries */
static unsigned int in_use WH_PAIR, top WH_PAIR;	/* no job at or above top */
static bool started WH_PAIR;

static struct wh_callback *callback_of(unsigned int i)
{
	return &area[i / CALLBACKS][1 + i % CALLBACKS];
}

static void futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

/* --- Running ---------------------------------------------------------------------------- */

/*
 * A function of the program's, which gets CUDA_ERROR_NOT_PERMITTED from each call of CUDA, as from
 * the driver. A thread that is not known takes no fast path, so that begin() refuses.
 */
static void run_programs(const struct wh_callback_job *j, CUresult status)
{
	struct wh_thread *t = &wh_thread;
	bool known = t->known;

	t->known = false;
	t->in_callback = true;
	if (j->kind == WH_JOB_CALLBACK)
		j->status_fn(j->stream, status, j->data);
	else
		j->fn(j->data);
	t->in_callback = false;
	t->known = known;
}

static void run(const struct wh_callback_job *j, CUresult status)
{
	if (j->kind == WH_JOB_COPY)
		wh_graph_copy_part(j->copy);
	else
		run_programs(j, status);
}

static void end_job(unsigned int i)
{
	if (job[i].kind == WH_JOB_COPY)
		wh_graph_copy_free(job[i].copy);
	job[i] = (struct wh_callback_job) { 0 };
	in_use--;
	while (top && !job[top - 1].kind)
		top--;
	pthread_cond_broadcast(&cond);
}

/* Runs callback i once, if something waits there. The caller holds the lock. */
static void serve(unsigned int i)
{
	struct wh_callback *c = callback_of(i);
	uint32_t reached = __atomic_load_n(&c->reached, __ATOMIC_ACQUIRE);
	struct wh_callback_job j = job[i];

	if (reached != c->done) {
		pthread_mutex_unlock(&lock);
		run(&j, (CUresult)c->status);
		pthread_mutex_lock(&lock);
		__atomic_store_n(&c->done, c->done + 1, __ATOMIC_RELEASE);
		futex(&c->done, FUTEX_WAKE, INT32_MAX, NULL);
		if (j.kind == WH_JOB_ONCE || j.kind == WH_JOB_CALLBACK)
			end_job(i);
	} else if (__atomic_load_n(&c->gone, __ATOMIC_ACQUIRE)) {
		end_job(i);
		if (j.kind == WH_JOB_OBJECT) {
			pthread_mutex_unlock(&lock);
			run(&j, CUDA_SUCCESS);
			pthread_mutex_lock(&lock);
		}
	}
}

static void sweep(void)
{
	unsigned int i;

	for (i = 0; i < top; i++)
		if (job[i].kind)
			serve(i);
}

/*
 * While a callback is in use, it polls, and then sleeps on the bell. In another VM nobody can
 * ring the bell, and only the first area's bell is listened to, so the sleep is short.
 */
static void *dispatch(void *unused)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };
	uint32_t rung;

	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!in_use)
			pthread_cond_wait(&cond, &lock);
		rung = __atomic_load_n(&area[0]->reached, __ATOMIC_ACQUIRE);
		sweep();
		pthread_mutex_unlock(&lock);
		futex(&area[0]->reached, FUTEX_WAIT, rung, &nap);
		pthread_mutex_lock(&lock);
		if (wh_client.state != WH_READY) {
			memset(job, 0, top * sizeof(*job));
			in_use = top = 0;
			pthread_cond_broadcast(&cond);
		}
	}
	return NULL;
}

/* --- Callbacks ----------------------------------------------------------------------------- */

/* An area is aligned to its size, so that the worker finds the bell from a callback. */
static bool add_area(void)
{
	uintptr_t p;

	if (areas == AREAS)
		return false;
	p = (uintptr_t)wh_data_alloc(2 * WH_CALLBACK_AREA, 0, false);
	if (!p)
		return false;
	p = (p + WH_CALLBACK_AREA - 1) & ~(uintptr_t)(WH_CALLBACK_AREA - 1);
	area[areas] = (struct wh_callback *)p;
	memset(area[areas++], 0, WH_CALLBACK_AREA);
	return true;
}

static bool start(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (started)
		return true;
	if (!job)
		job = calloc(AREAS * CALLBACKS, sizeof(*job));
	if (!job || (!areas && !add_area()))
		return false;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	started = pthread_create(&thread, &attr, dispatch, NULL) == 0;
	pthread_attr_destroy(&attr);
	return started;
}

static int find_free(void)
{
	unsigned int i;

	for (i = 0; i < areas * CALLBACKS; i++)
		if (!job[i].kind)
			return i;
	return add_area() ? (int)i : -1;
}

/*
 * If a callback runs once, waiting makes one free. Callbacks that stay are never freed by
 * waiting.
 */
struct wh_callback *wh_callback_take(const struct wh_callback_job *j)
{
	bool once = j->kind == WH_JOB_ONCE || j->kind == WH_JOB_CALLBACK;
	struct wh_callback *c = NULL;
	int i = -1;

	if (j->kind == WH_JOB_NODE && wh_client.mirrors)
		wh_log("a host function in a graph sees managed variables as they are at its launch");
	pthread_mutex_lock(&lock);
	if (start()) {
		i = find_free();
		while (i < 0 && once && wh_client.state == WH_READY) {
			pthread_cond_wait(&cond, &lock);
			i = find_free();
		}
	}
	if (i >= 0) {
		c = callback_of(i);
		/*
		 * The counts stay, since the worker may still check whether the last job is
		 * done.
		 */
		c->status = 0;
		c->gone = 0;
		job[i] = *j;
		top = top > (unsigned int)i ? top : (unsigned int)i + 1;
		in_use++;
		pthread_cond_broadcast(&cond);
	}
	pthread_mutex_unlock(&lock);
	return c;
}

/* Graphs end some time after the call that ended them, so it waits a little for the next one. */
bool wh_callback_await_end(void)
{
	struct timespec t;
	int rc = ETIMEDOUT;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 100000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_mutex_lock(&lock);
	if (in_use)
		rc = pthread_cond_timedwait(&cond, &lock, &t);
	pthread_mutex_unlock(&lock);
	return rc == 0;
}

static int index_of(const struct wh_callback *c)
{
	uintptr_t a = (uintptr_t)c & ~(uintptr_t)(WH_CALLBACK_AREA - 1);
	unsigned int i, at = ((uintptr_t)c - a) / sizeof(*c);

	for (i = 0; i < areas; i++)
		if ((uintptr_t)area[i] == a && at)
			return i * CALLBACKS + at - 1;
	return -1;
}

/* The worker refused the callback, so it has not reached it. */
void wh_callback_cancel(struct wh_callback *c)
{
	int i;

	pthread_mutex_lock(&lock);
	i = index_of(c);
	if (i >= 0 && job[i].kind)
		end_job(i);
	pthread_mutex_unlock(&lock);
}

bool wh_callback_job_at(uint64_t addr, struct wh_callback_job *j)
{
	int i;

	pthread_mutex_lock(&lock);
	i = index_of((const struct wh_callback *)(uintptr_t)addr);
	if (i >= 0)
		*j = job[i];
	pthread_mutex_unlock(&lock);
	return i >= 0 && j->kind;
}

struct wh_callback *wh_callback_for_good(CUhostFn fn, void *data)
{
	struct wh_callback *c = NULL;
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < top && !c; i++)
		if (job[i].kind == WH_JOB_NODE && job[i].for_good && job[i].fn == fn &&
		    job[i].data == data)
			c = callback_of(i);
	pthread_mutex_unlock(&lock);
	return c;
}

void wh_callback_keep(struct wh_callback *c)
{
	int i;

	pthread_mutex_lock(&lock);
	i = index_of(c);
	if (i >= 0)
		job[i].for_good = true;
	pthread_mutex_unlock(&lock);
}

/* --- Streams ---------------------------------------------------------------------------------- */

static CUresult send(const struct wh_callback_job *j)
{
	struct wh_req_whHostFunc *q;
	struct wh_callback *callback;
	uint64_t stream;
	struct wh_call c;
	CUresult res;

	res = wh_usable();
	if (res != CUDA_SUCCESS)
		return res;
	stream = wh_stream(j->stream);
	callback = wh_callback_take(j);
	if (!callback)
		return CUDA_ERROR_OUT_OF_MEMORY;
	q = wh_begin(&c, WH_CALL_whHostFunc, sizeof(*q));
	if (!q) {
		wh_callback_cancel(callback);
		return c.result;
	}
	q->stream = stream;
	q->callback = (uintptr_t)callback;
	q->with_status = j->status_fn != NULL;
	res = wh_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res != CUDA_SUCCESS)
		wh_callback_cancel(callback);
	return res;
}

bool wh_library_waits(void)
{
	return wh_client.mirrors || __atomic_load_n(&wh_client.captures, __ATOMIC_RELAXED);
}

/*
 * A function may use managed variables, which this process can only fetch between calls. If
 * there are any, it waits for the stream's work before and after the function.
 */
static CUresult enqueue(const struct wh_callback_job *j)
{
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult res = CUDA_SUCCESS;

	if (WH_LIKELY(!wh_client.mirrors) ||
	    cuStreamIsCapturing(j->stream, &capture) != CUDA_SUCCESS ||
	    capture != CU_STREAM_CAPTURE_STATUS_NONE)
		return send(j);
	res = cuStreamSynchronize(j->stream);
	/* A callback is called even after an error. */
	if (res == CUDA_SUCCESS || j->status_fn)
		res = send(j);
	return res == CUDA_SUCCESS ? cuStreamSynchronize(j->stream) : res;
}

/* While the stream captures, the function becomes a node. */
CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
	const struct wh_callback_job j = { .kind = WH_JOB_ONCE, .fn = fn, .stream = hStream,
					   .data = userData };
	CUresult res = fn ? enqueue(&j) : CUDA_ERROR_INVALID_VALUE;

	return res == CUDA_ERROR_NOT_READY ? wh_graph_capture_host(hStream, fn, userData) : res;
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
			     unsigned int flags)
{
	const struct wh_callback_job j = { .kind = WH_JOB_CALLBACK, .status_fn = callback,
					   .stream = hStream, .data = userData };

	return callback && !flags ? enqueue(&j) : CUDA_ERROR_INVALID_VALUE;
}

/* --- User objects ------------------------------------------------------------------------- */

CUresult cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
			    unsigned int initialRefcount, unsigned int flags)
{
	const struct wh_callback_job j = { .kind = WH_JOB_OBJECT, .fn = destroy, .data = ptr };
	struct wh_req_user_object *q;
	struct wh_callback *callback;
	struct wh_call c;
	CUresult res = wh_usable();

	if (res != CUDA_SUCCESS)
		return res;
	if (!object_out || !destroy)
		return CUDA_ERROR_INVALID_VALUE;
	callback = wh_callback_take(&j);
	if (!callback)
		return CUDA_ERROR_OUT_OF_MEMORY;
	q = wh_begin(&c, WH_CALL_cuUserObjectCreate, sizeof(*q));
	if (!q) {
		wh_callback_cancel(callback);
		return c.result;
	}
	q->callback = (uintptr_t)callback;
	q->refs = initialRefcount;
	q->flags = flags;
	res = wh_run(&c, sizeof(struct wh_rsp_user_object));
	if (res == CUDA_SUCCESS)
		*object_out = (CUuserObject)((const struct wh_rsp_user_object *)c.rsp)->object;
	wh_end(&c);
	if (res != CUDA_SUCCESS)
		wh_callback_cancel(callback);
	return res;
}
