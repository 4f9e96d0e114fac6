// SPDX-License-Identifier: Apache-2.0
/*
 * Makes one call for the stubs: takes a slot, lets the stub build the request, sends it, lets
 * the stub read the response, and gives the slot back. A transport that fails once is dead for
 * good, because nobody knows then what the worker has done.
 */
#define _GNU_SOURCE
#include "quick.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* Only these two run before cuInit has returned. */
_Static_assert(WH_CALL_whDeviceInfo < 3 && WH_CALL_whHello < 3, "first calls, first numbers");
#define FIRST_CALLS	3

/* Returns the worker's last word, which stays in the part until another worker has the part. */
static CUresult last_word(void)
{
	const struct wh_ctl *ctl = (const struct wh_ctl *)wh_client.link.part;

	return ctl && __atomic_load_n(&ctl->last, __ATOMIC_ACQUIRE) == WH_CTL_LAST_TIMEOUT ?
	       CUDA_ERROR_LAUNCH_TIMEOUT : CUDA_ERROR_DEVICE_UNAVAILABLE;
}

static CUresult not_ready(int state)
{
	switch (state) {
	case WH_DEAD:
		return wh_client.last;
	case WH_ENDED:
		return CUDA_ERROR_DEINITIALIZED;
	default:
		return CUDA_ERROR_NOT_INITIALIZED;
	}
}

CUresult wh_usable(void)
{
	if (WH_UNLIKELY(wh_thread.in_callback))
		return CUDA_ERROR_NOT_PERMITTED;
	return wh_client.state == WH_READY ? CUDA_SUCCESS : not_ready(wh_client.state);
}

/* --- Calls -------------------------------------------------------------------------- */

static CUresult lost(int status)
{
	/* The transport refused the call, and nothing happened to the call that is under way. */
	if (status == WH_EBUSY)
		return CUDA_ERROR_NOT_PERMITTED;
	/* There is no way back: a restarted worker would know none of the handles. */
	if (wh_client.state < WH_DEAD) {
		wh_client.last = last_word();
		__atomic_store_n(&wh_client.state, WH_DEAD, __ATOMIC_RELEASE);
		wh_log("worker is gone (status %d); every further call fails", status);
	}
	return not_ready(wh_client.state);
}

bool wh_drop_abandoned(uint32_t slot)
{
	struct wh_link *l = &wh_client.link;
	int status;

	if (!l->t || wh_client.state >= WH_DEAD)
		return true;
	wh_log("a call was left by siglongjmp(): it is dropped");
	status = l->t->abandon ? l->t->abandon(l, slot) : WH_EFATAL;
	if (status)
		lost(status);
	return !status;
}

/* The caller has a slot. Is there a link to use? If not, the slot is given back. */
static inline CUresult look_at_link(struct wh_thread *t)
{
	if (WH_LIKELY(wh_client.link.t && wh_client.state < WH_DEAD))
		return CUDA_SUCCESS;
	wh_slot_give(t);
	return not_ready(wh_client.state);
}

/*
 * Takes a slot with the link in it, or returns why it cannot. It checks again whether the slot
 * must be the first one: a call in another slot that began earlier is not counted where that
 * matters.
 */
static inline CUresult take_slot(struct wh_thread *t, const void *frame)
{
	bool first = wh_slot_first_only(), left;
	CUresult res;

	for (;;) {
		res = wh_slot_take(t, frame, first, &left);
		if (WH_UNLIKELY(res != CUDA_SUCCESS))
			return res;
		if (WH_UNLIKELY(left))
			wh_drop_abandoned(t->slot);
		first = wh_slot_first_only();
		if (WH_LIKELY(!first || !t->slot))
			break;
		wh_slot_give(t);
	}
	return look_at_link(t);
}

static CUresult refuse_size(struct wh_thread *t, CUresult res)
{
	wh_slot_give(t);
	return res;
}

static inline void *describe(struct wh_call *c, void *msg, size_t size)
{
	*c = (struct wh_call) { .rsp = msg, .msg = msg, .size = size };
	return msg;
}

static void *begin(struct wh_call *c, uint32_t call, size_t size)
{
	struct wh_client *cl = &wh_client;
	struct wh_thread *t = &wh_thread;
	struct wh_link *l = &cl->link;
	struct wh_req *q;

	if (WH_UNLIKELY(t->in_callback)) {
		c->result = CUDA_ERROR_NOT_PERMITTED;
		return NULL;
	}
	if (!t->known)
		wh_thread_first();
	if (WH_UNLIKELY(cl->mirrors)) {
		c->result = wh_hooks.before(call);
		if (c->result != CUDA_SUCCESS)
			return NULL;
	}
	if (WH_UNLIKELY(wh_slots_used > 1) && wh_post_waits(call))
		wh_slot_permit(t);
	c->result = take_slot(t, c);
	if (c->result != CUDA_SUCCESS)
		return NULL;
	wh_post_begin(&wh_slots[t->slot], call);
	if (WH_UNLIKELY(cl->mirrors))
		wh_hooks.sent(call);
	if (WH_UNLIKELY(size > l->room) && size <= l->msg_size &&
	    l->t->settle && l->t->settle(l, t->slot)) {
		c->result = refuse_size(t, lost(WH_EGONE));
		return NULL;
	}
	if (size > l->msg_size) {
		c->result = refuse_size(t, CUDA_ERROR_INVALID_VALUE);
		return NULL;
	}
	q = wh_request(t->slot, call);
	if (cl->captures)
		q->capture_mode = wh_hooks.capture_mode(t);
	return describe(c, q, size);
}

void *wh_begin(struct wh_call *c, uint32_t call, size_t size)
{
	void *q = wh_quick_begin(c, call, size).msg;

	return q ? describe(c, q, size) : wh_begin_slowly(c, call, size);
}

void *wh_begin_slowly(struct wh_call *c, uint32_t call, size_t size)
{
	if (WH_UNLIKELY(wh_client.state != WH_READY) && call >= FIRST_CALLS) {
		c->result = not_ready(wh_client.state);
		return NULL;
	}
	return begin(c, call, size);
}

void *wh_begin_connected(struct wh_call *c, uint32_t call, size_t size)
{
	if (wh_client.state != WH_READY && wh_client.state != WH_CONNECTED) {
		c->result = not_ready(wh_client.state);
		return NULL;
	}
	return begin(c, call, size);
}

/* Sleeps without the time that the kernel adds to its shortest sleeps. */
static void pause_us(int us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000L };

	if (us < 60)
		sched_yield();
	else
		nanosleep(&t, NULL);
}

#define WH_KEPT	1	/* see call_patiently */

/* Takes the slot that the call had, since its request and response have their place there. */
static CUresult take_again(struct wh_thread *t, const void *frame)
{
	CUresult res = wh_slot_again(t, frame);

	return res == CUDA_SUCCESS ? look_at_link(t) : res;
}

/*
 * Nothing was done, since the client has used up its share of the device for now. It waits
 * without the slot, which its other threads and calls can use meanwhile, and sends the same
 * request again. Signal handlers run in between as they would before the call.
 */
static int try_later(struct wh_call *c, uint32_t handler, int status)
{
	struct wh_link *l = &wh_client.link;
	struct wh_thread *t = &wh_thread;
	void *request = malloc(c->size);

	if (!request)
		return WH_ENOMEM;
	memcpy(request, c->msg, c->size);
	while (status > 0) {
		wh_slot_give(t);
		pause_us(status);
		c->result = take_again(t, c);
		if (c->result != CUDA_SUCCESS) {
			status = WH_EBUSY;
			break;
		}
		wh_slots[t->slot].running = ((struct wh_req *)request)->call;
		memcpy(c->msg, request, c->size);
		if (status == WH_KEPT && l->t->call_patiently)
			status = l->t->call_patiently(l, handler, c->size, t->slot);
		else
			status = l->t->call(l, handler, c->size, t->slot);
	}
	free(request);
	return status;
}

static inline int send(struct wh_call *c, uint32_t handler)
{
	struct wh_link *l = &wh_client.link;
	int status = WH_EGONE;

	wh_slots[wh_thread.slot].crossings++;
	if (wh_profiled())
		wh_profile_request((struct wh_req *)c->msg, handler);
	if (WH_LIKELY(wh_client.state < WH_DEAD))
		status = wh_post_order(c, handler);
	if (WH_LIKELY(!status))
		status = l->t->call(l, handler, c->size, wh_thread.slot);
	return status;
}

/* Is there a response? */
static CUresult answered(struct wh_call *c, uint32_t handler, int status)
{
	struct wh_rsp *r = c->rsp;

	if (WH_UNLIKELY(status > 0))
		status = try_later(c, handler, status);
	if (WH_UNLIKELY(status != 0)) {
		if (c->result != CUDA_SUCCESS)
			return c->result;
		r->size = 0;	/* the bytes there are no response */
		return lost(status);
	}
	wh_slot_ended();
	if (WH_UNLIKELY(r->size & WH_RSP_OUTPUT)) {
		r->size &= ~WH_RSP_OUTPUT;
		wh_slots[wh_thread.slot].output = true;
	}
	if (r->size < sizeof(*r) || r->size > wh_client.link.msg_size)
		return lost(WH_EFATAL);
	return CUDA_SUCCESS;
}

CUresult wh_run_on(struct wh_call *c, uint32_t handler)
{
	return answered(c, handler, send(c, handler));
}

CUresult wh_run(struct wh_call *c, size_t fixed)
{
	return wh_run_rest(c, fixed, send(c, WH_HANDLER_CUDA));
}

CUresult wh_run_rest(struct wh_call *c, size_t fixed, int status)
{
	CUresult res = answered(c, WH_HANDLER_CUDA, status);
	uint32_t call = wh_slots[wh_thread.slot].running;
	const struct wh_rsp *r = c->rsp;

	if (res == CUDA_SUCCESS)
		res = r->result;
	if (res == CUDA_SUCCESS && r->size < fixed)
		return lost(WH_EFATAL);
	res = wh_post_end(res);
	if (WH_UNLIKELY(res != CUDA_SUCCESS))
		wh_hooks.failed(call, res);
	if (WH_UNLIKELY(wh_client.mirrors))
		wh_hooks.answered(res);
	return res;
}

void wh_end(struct wh_call *c)
{
	struct wh_slot_state *s = &wh_slots[wh_thread.slot];
	bool output = s->output, fetch = s->fetch, logged = s->logged;

	s->output = s->fetch = s->logged = false;
	if (WH_UNLIKELY(wh_client.mirrors && wh_thread.slot))
		wh_hooks.missed();
	wh_slot_give(&wh_thread);
	if (WH_UNLIKELY(wh_thread.request))
		wh_profile_ended();
	if (WH_UNLIKELY(c && c->head))
		wh_hooks.long_end(c);
	if (WH_UNLIKELY(fetch))
		wh_hooks.after();
	if (WH_UNLIKELY(output))
		wh_hooks.output();
	if (WH_UNLIKELY(logged))
		wh_hooks.logged();
}

CUresult wh_quick_rest(struct wh_quick k, size_t size, int status)
{
	struct wh_call c = { .rsp = k.msg, .msg = k.msg, .size = size };
	CUresult res = wh_run_rest(&c, sizeof(struct wh_rsp), status);

	wh_end(NULL);
	return res;
}

void wh_reply_take(struct wh_call *c, void *dst, size_t count, size_t size)
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

/* Kernel names repeat, so a list for each hash is enough. */
static const char *intern_locked(const char *text, size_t n)
{
	static struct interned *bucket[256] WH_PAIR;
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

static const char *intern(const char *text, size_t n)
{
	static pthread_mutex_t lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
	const char *kept;

	pthread_mutex_lock(&lock);
	kept = intern_locked(text, n);
	pthread_mutex_unlock(&lock);
	return kept;
}

const char *wh_reply_take_string(struct wh_call *c, uint64_t size)
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
	static pthread_mutex_t lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
	static const char *said[1024] WH_PAIR;
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < 1024 && said[i] && said[i] != name; i++)
		;
	if (i < 1024 && !said[i]) {
		said[i] = name;
		wh_log("%s is not supported", name);
	}
	pthread_mutex_unlock(&lock);
	wh_hooks.refused(name);
	return CUDA_ERROR_NOT_SUPPORTED;
}
