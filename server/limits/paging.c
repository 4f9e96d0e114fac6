// SPDX-License-Identifier: Apache-2.0
/*
 * Moves the allocations of paged.h to the host and back, when overcommit parks the worker's tenant
 * (checkpoint/checkpoint.c). No call is inside, and none begins before all is back. Memory goes by
 * the device's own copies to memory that pinning.c makes and keeps. No more leaves than is wanted:
 * the server says how much is to be free on each device then (`wanted'), and the driver how much
 * is. Each worker of a tenant does as if it were alone. What leaves no device by this
 * is counted by the server as still there: contexts, code, small allocations, arrays, pools, what
 * libraries have, and what others may have open.
 */
#define _GNU_SOURCE
#include "limits/paged.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "limits/memory.h"
#include "state/messages.h"
#include "tenant/clock.h"

#define LOOK_NS	200000		/* between two looks whether the devices are idle */

/* Beside what is wanted, the driver takes some: so much, or this part of the device. */
#define RESERVE		(256ull << 20)
#define RESERVE_PART	64

/* The driver has to take the memory, or it stays away: the log says why. */
static enum wh_paging unable(const char *what, CUresult res)
{
	fprintf(wh_messages(), "warn: worker: its memory is not moved: %s: error %d\n", what, (int)res);
	return WH_PAGING_UNABLE;
}

/* --- Contexts ---------------------------------------------------------------------------- */

/* The event stands behind all that the context has under way. */
struct busy {
	CUcontext ctx;
	CUevent event;
};

/* The handle of a primary context outlives it (session/context.c), and its work does not. */
static bool is_gone(CUresult res)
{
	return res == CUDA_ERROR_CONTEXT_IS_DESTROYED || res == CUDA_ERROR_INVALID_CONTEXT;
}

/* *gone: the context has ended. */
static CUresult mark(struct wh_paged *p, struct busy *b, bool *gone)
{
	CUresult res = p->real.cuCtxSetCurrent(b->ctx);

	if (res == CUDA_SUCCESS)
		res = p->real.cuEventCreate(&b->event, CU_EVENT_DISABLE_TIMING);
	*gone = is_gone(res);
	if (res != CUDA_SUCCESS)
		return res;
	res = p->real.cuCtxRecordEvent(b->ctx, b->event);
	if (res != CUDA_SUCCESS)
		p->real.cuEventDestroy_v2(b->event);
	return res;
}

/* Is another order there? Then nobody waits for this one any more. */
static bool is_over(const struct wh_session *s, uint32_t order)
{
	return __atomic_load_n(&s->limits.account->order, __ATOMIC_ACQUIRE) != order;
}

static enum wh_paging await(struct wh_session *s, const struct busy *b, uint32_t order)
{
	static const struct timespec nap = { .tv_nsec = LOOK_NS };
	CUresult res;

	while ((res = s->limits.paged->real.cuEventQuery(b->event)) == CUDA_ERROR_NOT_READY) {
		if (is_over(s, order))
			return WH_PAGING_BUSY;
		nanosleep(&nap, NULL);
	}
	return res == CUDA_SUCCESS ? WH_PAGING_DONE : unable("work under way", res);
}

/* Waits for one context. */
static enum wh_paging settle(struct wh_session *s, CUcontext ctx, uint32_t order)
{
	struct wh_paged *p = s->limits.paged;
	struct busy b = { .ctx = ctx };
	enum wh_paging how;
	bool gone;
	CUresult res = mark(p, &b, &gone);

	if (gone)
		return WH_PAGING_DONE;
	if (res != CUDA_SUCCESS)
		return unable("an event of a context", res);
	how = await(s, &b, order);
	p->real.cuEventDestroy_v2(b.event);
	return how;
}

static enum wh_paging settle_part(struct wh_session *s, CUgreenCtx part, uint32_t order)
{
	const struct wh_driver *real = &s->limits.paged->real;
	CUresult res = CUDA_ERROR_NOT_SUPPORTED;
	CUcontext ctx;

	if (real->cuCtxFromGreenCtx)
		res = real->cuCtxFromGreenCtx(&ctx, part);
	return res == CUDA_SUCCESS ? settle(s, ctx, order) : unable("a part of a device", res);
}

/* Libraries may have work in a primary context that the program never asked for. */
static enum wh_paging settle_primary(struct wh_session *s, CUdevice device, uint32_t order)
{
	struct wh_paged *p = s->limits.paged;
	enum wh_paging how;
	unsigned int flags;
	CUcontext ctx;
	int active = 0;

	if (!p->real.cuDevicePrimaryCtxGetState || !p->real.cuDevicePrimaryCtxRetain ||
	    p->real.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS ||
	    !active || p->real.cuDevicePrimaryCtxRetain(&ctx, device) != CUDA_SUCCESS)
		return WH_PAGING_DONE;
	how = settle(s, ctx, order);
	p->real.cuDevicePrimaryCtxRelease_v2(device);
	return how;
}

/* An answer that is the context's own error says nothing of captures. */
static bool is_captured(const struct wh_driver *real, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult res;

	if (!real->cuStreamIsCapturing)
		return false;
	res = real->cuStreamIsCapturing(stream, &status);
	return res == CUDA_SUCCESS ? status != CU_STREAM_CAPTURE_STATUS_NONE :
				     res == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

/*
 * Does the program capture? A context's event would end that. All streams that can be captured are
 * the program's own.
 */
static bool captures(struct wh_session *s)
{
	const struct wh_handle *e = s->handles.entry, *owner;
	bool yes = false;
	uint32_t i;

	for (i = 1; !yes && i < s->handles.used; i++) {
		if (!e[i].real || e[i].type != WH_H_CUstream)
			continue;
		owner = &e[e[i].owner];
		if (owner->type == WH_H_CUcontext)
			s->limits.paged->real.cuCtxSetCurrent(owner->real);
		yes = is_captured(&s->limits.paged->real, e[i].real);
	}
	return yes;
}

/* All work of all contexts: any of it may use any address. No call is inside, so no more comes. */
static enum wh_paging settle_all(struct wh_session *s, uint32_t order)
{
	const struct wh_handles *h = &s->handles;
	enum wh_paging how = captures(s) ? WH_PAGING_BUSY : WH_PAGING_DONE;
	int devices = 0, d;
	uint32_t i;

	for (i = 1; how == WH_PAGING_DONE && i < h->used; i++)
		if (h->entry[i].real && h->entry[i].type == WH_H_CUcontext)
			how = settle(s, h->entry[i].real, order);
		else if (h->entry[i].real && h->entry[i].type == WH_H_CUgreenCtx)
			how = settle_part(s, h->entry[i].real, order);
	s->limits.paged->real.cuDeviceGetCount(&devices);
	for (d = 0; how == WH_PAGING_DONE && d < devices; d++)
		how = settle_primary(s, d, order);
	return how;
}

/* --- Copies ---------------------------------------------------------------------------------- */

struct way {
	struct wh_paged *p;
	bool out;
	uint64_t at;		/* on the way out, the next one's place; back, bytes so far */
	CUcontext ctx;		/* whose stream that is; NULL: there is none */
	CUstream stream;
};

static CUresult finish(struct way *w)
{
	CUresult res;

	if (!w->ctx)
		return CUDA_SUCCESS;
	res = w->p->real.cuStreamSynchronize(w->stream);
	w->p->real.cuStreamDestroy_v2(w->stream);
	w->ctx = NULL;
	return res;
}

/* Copies are queued in a stream of the context that has the memory. */
static CUresult enter(struct way *w, CUcontext ctx)
{
	CUresult res;

	if (w->ctx == ctx)
		return CUDA_SUCCESS;
	res = finish(w);
	if (res == CUDA_SUCCESS)
		res = w->p->real.cuCtxSetCurrent(ctx);
	if (res == CUDA_SUCCESS)
		res = w->p->real.cuStreamCreate(&w->stream, CU_STREAM_NON_BLOCKING);
	w->ctx = res == CUDA_SUCCESS ? ctx : NULL;
	return res;
}

/*
 * While one part is on its way, the next ones are pinned. Not all that was copied need be away:
 * each range knows its place.
 */
static CUresult copy(struct way *w, struct wh_paged_range *r)
{
	CUresult res = enter(w, r->real);
	uint64_t done, n, in;
	char *host;

	if (w->out)
		r->host = w->at;
	for (done = 0; res == CUDA_SUCCESS && done < r->size; done += n, w->at += n) {
		in = (r->host + done) % WH_PAGED_PART;
		n = WH_PAGED_PART - in < r->size - done ? WH_PAGED_PART - in : r->size - done;
		host = wh_pinning_part(w->p, (r->host + done) / WH_PAGED_PART);
		if (!host)
			return CUDA_ERROR_OUT_OF_MEMORY;
		res = w->out ? w->p->real.cuMemcpyDtoHAsync_v2(host + in, r->addr + done, n,
							       w->stream) :
			       w->p->real.cuMemcpyHtoDAsync_v2(r->addr + done, host + in, n,
							       w->stream);
	}
	return res;
}

static bool moves(const struct wh_paged_range *r, bool out)
{
	return out ? r->goes : r->away;
}

/* Where the place ends of what is away. */
static uint64_t end_of_place(const struct wh_paged *p)
{
	const struct wh_paged_range *r;
	uint64_t end = 0;

	for (r = p->range; r < p->range + p->n; r++)
		if (r->away && end < r->host + r->size)
			end = r->host + r->size;
	return end;
}

/* Threads make the place of all that moves, each in a context that has some of it. */
static void begin_place(struct wh_paged *p, bool out)
{
	const struct wh_paged_range *r;
	uint64_t bytes = end_of_place(p);
	CUcontext ctx = NULL;

	for (r = p->range; r < p->range + p->n; r++) {
		if (!moves(r, out))
			continue;
		ctx = r->real;
		bytes += out ? r->size : 0;
	}
	wh_pinning_begin(p, ctx, bytes);
}

/*
 * Copies all that leaves, or all that is away, in the order of the table. What leaves has its place
 * behind what is away already. *bytes: how much.
 */
static CUresult copy_all(struct wh_paged *p, bool out, uint64_t *bytes)
{
	uint64_t from = out ? end_of_place(p) : 0;
	struct way w = { .p = p, .out = out, .at = from };
	CUresult res = CUDA_SUCCESS, end;
	size_t i;

	begin_place(p, out);
	for (i = 0; res == CUDA_SUCCESS && i < p->n; i++)
		if (moves(&p->range[i], out))
			res = copy(&w, &p->range[i]);
	end = finish(&w);
	wh_pinning_end(p);
	p->real.cuCtxSetCurrent(NULL);
	*bytes = w.at - from;
	return res == CUDA_SUCCESS ? end : res;
}

/* Is any of its memory in the host? */
static bool is_away(const struct wh_session *s)
{
	const struct wh_paged *p = s->limits.paged;
	size_t i = 0;

	while (p && i < p->n && !p->range[i].away)
		i++;
	return p && i < p->n;
}

/* --- Out ---------------------------------------------------------------------------------- */

static void say(struct wh_session *s, uint32_t order, enum wh_paging how)
{
	uint32_t *word = &s->limits.account->obeyed;

	__atomic_store_n(word, WH_PAGE_NUMBER(order) | how, __ATOMIC_RELEASE);
	wh_tenant_wake(word);
}

static bool can_leave(const struct wh_paged_range *r)
{
	return !r->foreign && !r->shared && !r->away;
}

/* Of one device. The caller has the lock, or nobody else is inside. */
static uint64_t leaving_of(const struct wh_paged *p, int device)
{
	const struct wh_paged_range *r;
	uint64_t sum = 0;

	for (r = p->range; r < p->range + p->n; r++)
		sum += can_leave(r) && r->device == device ? r->size : 0;
	return sum;
}

static uint64_t leaving(const struct wh_paged *p)
{
	uint64_t sum = 0;
	int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		sum += leaving_of(p, d);
	return sum;
}

/*
 * Would most of what the worker has stay? Then the driver's checkpoint, which is slow but takes
 * all, makes more room.
 */
static bool pays(const struct wh_session *s)
{
	uint64_t all = 0;
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		all += s->limits.account->device[d].memory;
	return leaving(s->limits.paged) > all / 2;
}

static void trim_pools(struct wh_session *s)
{
	int devices = 0, d;

	s->limits.paged->real.cuDeviceGetCount(&devices);
	for (d = 0; d < devices && d < WH_TENANT_DEVICES; d++)
		if (s->limits.account->device[d].memory)
			wh_mem_make_room(s, d);
}

static uint64_t wanted_on(const struct wh_session *s, int device)
{
	return __atomic_load_n(&s->limits.page->device[device].wanted, __ATOMIC_ACQUIRE);
}

/* So much is missing on a device, by its driver. UINT64_MAX: all has to leave. */
static uint64_t missing_on(const struct wh_session *s, int device)
{
	uint64_t wanted = wanted_on(s, device), reserve;
	const struct wh_paged *p = s->limits.paged;
	const struct wh_paged_range *r = p->range;
	size_t free, total;

	while (r < p->range + p->n && !(can_leave(r) && r->device == device))
		r++;
	if (wanted == WH_WANTED_NOTHING || r == p->range + p->n)
		return 0;
	if (!wanted || p->real.cuCtxSetCurrent(r->real) != CUDA_SUCCESS ||
	    p->real.cuMemGetInfo_v2(&free, &total) != CUDA_SUCCESS)
		return UINT64_MAX;
	reserve = total / RESERVE_PART < RESERVE ? total / RESERVE_PART : RESERVE;
	free = free > reserve ? free - reserve : 0;
	return wanted > free ? wanted - free : 0;
}

/*
 * Marks what leaves a device: what is no larger than what is missing still, and for the rest of
 * that the smallest of the others, each of which is larger than it.
 */
static void choose_on(struct wh_session *s, int device)
{
	struct wh_paged *p = s->limits.paged;
	struct wh_paged_range *r, *last = NULL;
	uint64_t missing = missing_on(s, device);

	for (r = p->range; r < p->range + p->n; r++) {
		if (!can_leave(r) || r->device != device)
			continue;
		r->goes = r->size <= missing;
		if (r->goes)
			missing -= r->size;
		else if (!last || r->size < last->size)
			last = r;
	}
	if (missing && last)
		last->goes = true;
}

static void choose(struct wh_session *s)
{
	struct wh_paged *p = s->limits.paged;
	struct wh_paged_range *r;
	int d;

	for (r = p->range; r < p->range + p->n; r++)
		r->goes = can_leave(r) && r->was_away &&
			  wanted_on(s, r->device) == WH_WANTED_BEFORE;
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		if (wanted_on(s, d) != WH_WANTED_BEFORE)
			choose_on(s, d);
	p->real.cuCtxSetCurrent(NULL);
}

/* A worker that is parked says what could leave still, so that the server asks for that first. */
static void tell_rest(struct wh_session *s, bool is_parked)
{
	uint64_t mib;
	int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		mib = is_parked ? (leaving_of(s->limits.paged, d) + (1 << 20) - 1) >> 20 : 0;
		__atomic_store_n(&s->limits.account->device[d].can_leave,
				 mib < UINT32_MAX ? (uint32_t)mib : UINT32_MAX, __ATOMIC_RELEASE);
	}
}

/*
 * A range that the driver does not unmap stays where it is. What was away before is of no interest
 * from now on: those that come back in vain leave as they were now.
 */
static void empty_all(struct wh_session *s)
{
	struct wh_paged *p = s->limits.paged;
	struct wh_paged_range *r;

	for (r = p->range; r < p->range + p->n; r++) {
		r->was_away = false;
		if (!r->goes || wh_paged_empty(p, r) != CUDA_SUCCESS)
			continue;
		r->away = true;
		r->goes = false;
		s->limits.account->device[r->device].paged += r->size;
	}
}

static enum wh_paging go_out(struct wh_session *s, uint32_t order)
{
	struct wh_worker_usage *own = s->limits.account;
	uint64_t began, bytes;
	enum wh_paging how;
	CUresult res;

	/* Who has moved some of it goes on so: the driver takes all or nothing. */
	if (!is_away(s) && !pays(s))
		return WH_PAGING_UNABLE;
	if (!leaving(s->limits.paged))
		return WH_PAGING_DONE;
	how = settle_all(s, order);
	s->limits.paged->real.cuCtxSetCurrent(NULL);
	if (how != WH_PAGING_DONE)
		return how;
	say(s, order, WH_PAGING_MOVES);
	/* Who gave the next order before seeing this does not wait for it (checkpoint/). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (is_over(s, order))
		return WH_PAGING_BUSY;
	trim_pools(s);
	choose(s);
	began = wh_now_ns();
	res = copy_all(s->limits.paged, true, &bytes);
	if (res != CUDA_SUCCESS)
		return unable("the way to the host", res);
	empty_all(s);
	tell_rest(s, true);
	own->paged_out_ns += wh_now_ns() - began;
	own->paged_out_bytes += bytes;
	return WH_PAGING_DONE;
}

/* --- And back ------------------------------------------------------------------------------ */

/* Takes back what has come so far: all of it is away still. */
static void undo(struct wh_paged *p, size_t n)
{
	while (n--)
		if (p->range[n].away && p->range[n].handle)
			wh_paged_empty(p, &p->range[n]);
}

static CUresult fill_all(struct wh_paged *p)
{
	CUresult res = CUDA_SUCCESS;
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (p->range[i].away)
			res = p->real.cuCtxSetCurrent(p->range[i].real);
		if (p->range[i].away && res == CUDA_SUCCESS)
			res = wh_paged_fill(p, &p->range[i]);
		if (res != CUDA_SUCCESS)
			break;
	}
	if (res != CUDA_SUCCESS)
		undo(p, i);
	return res;
}

static void are_back(struct wh_session *s)
{
	struct wh_paged *p = s->limits.paged;
	unsigned int d;
	size_t i;

	for (i = 0; i < p->n; i++) {
		p->range[i].was_away = p->range[i].away;
		p->range[i].away = false;
	}
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		s->limits.account->device[d].paged = 0;
}

static enum wh_paging come_back(struct wh_session *s, uint32_t order)
{
	struct wh_worker_usage *own = s->limits.account;
	struct wh_paged *p = s->limits.paged;
	uint64_t began = wh_now_ns(), bytes;
	CUresult res;

	say(s, order, WH_PAGING_MOVES);
	res = fill_all(p);
	if (res == CUDA_ERROR_OUT_OF_MEMORY)
		return WH_PAGING_FULL;
	if (res == CUDA_SUCCESS)
		res = copy_all(p, false, &bytes);
	if (res != CUDA_SUCCESS) {
		undo(p, p->n);
		return unable("the way back", res);
	}
	are_back(s);
	own->paged_in_ns += wh_now_ns() - began;
	own->paged_in_bytes += bytes;
	return WH_PAGING_DONE;
}

void wh_paging_obey(struct wh_session *s, uint32_t order)
{
	enum wh_paging how = WH_PAGING_DONE;
	bool out = WH_PAGE_STATE(order) == WH_PAGE_OUT;
	bool in = WH_PAGE_STATE(order) == WH_PAGE_IN;

	/* Where there is nothing to move, the driver may be locked: it is asked for nothing. */
	if (out && !s->limits.paged)
		how = WH_PAGING_UNABLE;
	else if (out)
		how = go_out(s, order);
	else if (in && is_away(s))
		how = come_back(s, order);
	if (in && how == WH_PAGING_DONE && s->limits.paged)
		tell_rest(s, false);
	wh_self.ctx = WH_CTX_UNKNOWN;
	say(s, order, how);
}

/* --- Before an order to leave ---------------------------------------------------------------- */

#define NICE	19	/* the program's own threads go first */

/* The driver, which knows what is free, is not asked: so much may leave. */
static uint64_t most_leaving(struct wh_session *s)
{
	struct wh_paged *p = s->limits.paged;
	uint64_t sum = 0, all, wanted;
	int d;

	pthread_mutex_lock(&p->lock);
	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		all = leaving_of(p, d);
		wanted = wanted_on(s, d);
		if (wanted && wanted < all)
			sum += all - wanted > RESERVE ? wanted + RESERVE : all;
		else if (wanted != WH_WANTED_NOTHING)
			sum += all;
	}
	pthread_mutex_unlock(&p->lock);
	return sum;
}

void wh_paging_ahead(struct wh_session *s)
{
	const uint32_t *word = &s->limits.account->order;
	struct wh_paged *p = s->limits.paged;
	uint32_t order;

	/* Where this is refused, it costs the program some of its CPU. */
	setpriority(PRIO_PROCESS, 0, NICE);
	for (;;) {
		order = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		if (WH_PAGE_STATE(order) == WH_PAGE_AHEAD) {
			wh_pinning_ahead(p, most_leaving(s), word, order);
		}
		wh_tenant_await(word, order, 0);
	}
}
