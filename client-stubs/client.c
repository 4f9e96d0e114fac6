// SPDX-License-Identifier: Apache-2.0
/*
 * One call from the stubs' side: take the slot, build, send, read, leave. Owns
 * the slot's lock and the process's state; a transport that fails once is
 * dead for good, because nobody knows what the worker has done by then.
 */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>

struct wh_client wh_client = { .lock = PTHREAD_MUTEX_INITIALIZER };
__thread struct wh_thread wh_thread __attribute__((tls_model("initial-exec")));

/* Only these two run before cuInit has returned. */
_Static_assert(WH_CALL_whDeviceInfo < 3 && WH_CALL_whHello < 3, "first calls, first numbers");
#define FIRST_CALLS	3

static CUresult not_ready(int state)
{
	switch (state) {
	case WH_DEAD:
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	default:
		return CUDA_ERROR_NOT_INITIALIZED;
	}
}

void *wh_begin(struct wh_call *c, uint32_t call, size_t size)
{
	struct wh_client *cl = &wh_client;
	struct wh_thread *t = &wh_thread;
	struct wh_req *q;

	if (__builtin_expect(cl->state != WH_READY, 0) && call >= FIRST_CALLS) {
		c->result = not_ready(cl->state);
		return NULL;
	}
	if (!t->known)
		wh_thread_first();
	pthread_mutex_lock(&cl->lock);
	if (size > cl->link.msg_size || !cl->link.t) {
		pthread_mutex_unlock(&cl->lock);
		c->result = cl->link.t ? CUDA_ERROR_INVALID_VALUE : not_ready(cl->state);
		return NULL;
	}
	q = (struct wh_req *)cl->link.msg;
	q->call = call;
	q->null = 0;
	q->ctx = t->ctx;
	q->capture_mode = t->capture_mode;
	q->resv = 0;
	c->rsp = c->msg = cl->link.msg;
	c->size = size;
	c->pos = 0;
	return q;
}

static CUresult lost(int status)
{
	/* No way back: a restarted worker would know none of the handles. */
	if (wh_client.state != WH_FORKED) {
		wh_client.state = WH_DEAD;
		wh_log("worker is gone (status %d); every further call fails", status);
	}
	return CUDA_ERROR_DEVICE_UNAVAILABLE;
}

CUresult wh_run(struct wh_call *c, size_t fixed)
{
	struct wh_link *l = &wh_client.link;
	const struct wh_rsp *r = c->rsp;
	int status;

	if (__builtin_expect(wh_client.state >= WH_DEAD, 0))
		return not_ready(wh_client.state);
	status = l->t->call(l, WH_HANDLER_CUDA, c->size);
	if (__builtin_expect(status != 0, 0))
		return lost(status);
	if (r->result != CUDA_SUCCESS)
		return r->result;
	if (r->size < fixed || r->size > l->msg_size)
		return lost(WH_EFATAL);
	return CUDA_SUCCESS;
}

void wh_end(struct wh_call *c)
{
	(void)c;
	pthread_mutex_unlock(&wh_client.lock);
}

void wh_take(struct wh_call *c, void *dst, size_t count, size_t size)
{
	const struct wh_rsp *r = c->rsp;
	size_t n = count * size, room = r->size > c->pos ? r->size - c->pos : 0;

	memcpy(dst, c->msg + c->pos, n < room ? n : room);
	c->pos += wh_wire_bytes(count, size);
}

/* --- Strings that the driver owns -------------------------------------------------- */

struct interned {
	struct interned *next;
	char text[];
};

/* Called with the slot's lock held. Kernel names repeat: a list per hash suffices. */
static const char *intern(const char *text, size_t n)
{
	static struct interned *bucket[256];
	uint32_t h = 5381;
	struct interned *e;
	size_t i;

	for (i = 0; i < n; i++)
		h = h * 33 + (uint8_t)text[i];
	for (e = bucket[h % 256]; e; e = e->next)
		if (!strcmp(e->text, text))
			return e->text;
	e = malloc(sizeof(*e) + n);
	if (!e)
		return "";
	memcpy(e->text, text, n);
	e->next = bucket[h % 256];
	bucket[h % 256] = e;
	return e->text;
}

const char *wh_take_string(struct wh_call *c, uint64_t size)
{
	const struct wh_rsp *r = c->rsp;
	const char *p = (const char *)c->msg + c->pos;

	if (!size || c->pos > r->size || size > r->size - c->pos || p[size - 1])
		return NULL;
	c->pos += wh_wire_bytes(size, 1);
	return intern(p, size);
}

/* --- Refusals ---------------------------------------------------------------------- */

CUresult wh_refuse(const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const char *said[1024];
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < 1024 && said[i] && said[i] != name; i++)
		;
	if (i < 1024 && !said[i]) {
		said[i] = name;
		wh_log("%s is not supported", name);
	}
	pthread_mutex_unlock(&lock);
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* --- Threads and fork ----------------------------------------------------------------- */

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void thread_end(void *p)
{
	struct wh_thread *t = p;

	if (wh_client.state == WH_READY)
		wh_drop_thread_streams(t);
	t->known = false;
	__atomic_fetch_sub(&wh_client.threads, 1, __ATOMIC_RELAXED);
}

/*
 * The child has the parent's memory but not its worker. The lock may have been
 * held by a thread that does not exist here.
 */
static void child_after_fork(void)
{
	pthread_mutex_init(&wh_client.lock, NULL);
	wh_client.state = WH_FORKED;
}

static void thread_setup(void)
{
	pthread_key_create(&thread_key, thread_end);
	pthread_atfork(NULL, NULL, child_after_fork);
}

void wh_thread_first(void)
{
	pthread_once(&thread_once, thread_setup);
	pthread_setspecific(thread_key, &wh_thread);
	wh_thread.known = true;
	__atomic_fetch_add(&wh_client.threads, 1, __ATOMIC_RELAXED);
}
