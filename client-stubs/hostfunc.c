// SPDX-License-Identifier: Apache-2.0
/*
 * Host functions run in this process, on a thread of their own, when their
 * stream has come to them; the stream goes on when they return. Each one has a
 * gate in the data area: the worker's stream raises `reached` and waits for
 * `done`. The two sides may be in different VMs, so this side looks.
 */
#define _GNU_SOURCE
#include "client.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GATES	64

struct job {
	bool used;
	CUhostFn fn;
	CUstreamCallback callback;
	CUstream stream;
	void *data;
};

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_cond = PTHREAD_COND_INITIALIZER;
static struct wh_gate *gates;
static struct job job[GATES];
static unsigned int pending;
static bool started;

static void futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

static void run(const struct job *j, CUresult status)
{
	if (j->fn)
		j->fn(j->data);
	else
		j->callback(j->stream, status, j->data);
}

static void open_gate(int i)
{
	__atomic_store_n(&gates[i].done, 1, __ATOMIC_RELEASE);
	futex(&gates[i].done, FUTEX_WAKE, 1, NULL);
}

/* Run what is due; returns one gate that is not, or -1 when none is left. */
static int sweep(void)
{
	int i, waiting = -1;

	for (i = 0; i < GATES; i++) {
		struct job j;

		if (!job[i].used)
			continue;
		if (!__atomic_load_n(&gates[i].reached, __ATOMIC_ACQUIRE)) {
			waiting = i;
			continue;
		}
		j = job[i];
		pthread_mutex_unlock(&gate_lock);
		run(&j, (CUresult)gates[i].status);
		open_gate(i);
		pthread_mutex_lock(&gate_lock);
		job[i].used = false;
		pending--;
		pthread_cond_broadcast(&gate_cond);
	}
	return waiting;
}

/*
 * While something is pending: look, then sleep on one gate. Another gate's wake
 * is missed for a millisecond at most.
 */
static void *dispatch(void *unused)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };
	int i;

	(void)unused;
	pthread_mutex_lock(&gate_lock);
	for (;;) {
		while (!pending)
			pthread_cond_wait(&gate_cond, &gate_lock);
		i = sweep();
		if (i < 0)
			continue;
		pthread_mutex_unlock(&gate_lock);
		futex(&gates[i].reached, FUTEX_WAIT, 0, &nap);
		pthread_mutex_lock(&gate_lock);
		if (wh_client.state != WH_READY) {
			pending = 0;
			memset(job, 0, sizeof(job));
			pthread_cond_broadcast(&gate_cond);
		}
	}
	return NULL;
}

static bool start(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (started)
		return true;
	if (!gates)
		gates = wh_data_alloc(GATES * sizeof(*gates), 0, false);
	if (!gates)
		return false;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	started = pthread_create(&thread, &attr, dispatch, NULL) == 0;
	pthread_attr_destroy(&attr);
	return started;
}

/* A free gate with the job in it; waits while all are taken. */
static int take_gate(const struct job *j)
{
	int i = 0;

	pthread_mutex_lock(&gate_lock);
	if (!start()) {
		pthread_mutex_unlock(&gate_lock);
		return -1;
	}
	while (pending == GATES)
		pthread_cond_wait(&gate_cond, &gate_lock);
	while (job[i].used)
		i++;
	gates[i] = (struct wh_gate) { 0 };
	job[i] = *j;
	job[i].used = true;
	pending++;
	pthread_cond_broadcast(&gate_cond);
	pthread_mutex_unlock(&gate_lock);
	return i;
}

static void cancel(int i)
{
	pthread_mutex_lock(&gate_lock);
	/* Had the gate been reached, the function would have been enqueued. */
	if (job[i].used) {
		job[i].used = false;
		pending--;
	}
	pthread_mutex_unlock(&gate_lock);
}

static CUresult enqueue(const struct job *j)
{
	struct wh_req_whHostFunc *q;
	uint64_t stream;
	struct wh_call c;
	CUresult res;
	int gate;

	res = wh_usable();
	if (res != CUDA_SUCCESS)
		return res;
	stream = wh_stream(j->stream);
	gate = take_gate(j);
	if (gate < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	q = wh_begin(&c, WH_CALL_whHostFunc, sizeof(*q));
	if (!q) {
		cancel(gate);
		return c.result;
	}
	q->stream = stream;
	q->gate = (uintptr_t)&gates[gate];
	q->with_status = j->callback != NULL;
	res = wh_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res != CUDA_SUCCESS)
		cancel(gate);
	return res;
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
	const struct job j = { .fn = fn, .stream = hStream, .data = userData };

	return fn ? enqueue(&j) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
			     unsigned int flags)
{
	const struct job j = { .callback = callback, .stream = hStream, .data = userData };

	return callback && !flags ? enqueue(&j) : CUDA_ERROR_INVALID_VALUE;
}
