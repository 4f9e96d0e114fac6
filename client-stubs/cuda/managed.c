// SPDX-License-Identifier: Apache-2.0
/*
 * Managed variables. The driver places them in the worker, and code on the device finds them
 * there, so the address cannot be chosen. Memory of this process, a mirror, is mapped at the
 * same address.
 *
 * Changes of the host go to the device before any call that could make the device read them.
 * Changes of the device come back when a call says that work is done. A shadow holds the state
 * on which both sides agreed last. So only changes are sent, and a side that did not change a
 * byte never undoes the other's change. That is what CUDA promises for devices without
 * concurrent access (the attribute is 0 here), and a little more.
 *
 * In one process (loopback) the driver's own memory is used, and nothing is copied.
 */
#define _GNU_SOURCE
#include "slots.h"
#include "stubs.h"
#include "table.h"
#include "gen_effects.h"

#include <stdlib.h>
#include <sys/mman.h>

#define BUFFER		(512UL << 10)
#define BLOCK		64u	/* bytes compared at once */
#define WORD		4u	/* bytes sent as a whole; the device may be writing the next word */

struct var {
	uint8_t *start;
	size_t size;
	uint64_t owner;
	uint8_t *shadow;	/* NULL: no mirror, since it is the driver's own memory */
};

/* The table is changed with both locks held, WH_LOCK_MANAGED first. */
static pthread_rwlock_t table_lock WH_PAIR = PTHREAD_RWLOCK_INITIALIZER;
static struct var *var WH_PAIR;		/* by address, disjoint */
static size_t vars WH_PAIR, room WH_PAIR;

static uint8_t *buffer WH_PAIR;		/* in the data area */
static uint64_t last_ctx WH_PAIR;	/* some current context, since not every thread has one */
static CUresult failed WH_PAIR;		/* the error of a fetch that could not report it */

/* --- What the device may have done; with the slot's lock ----------------------------- */

#define NO_STREAM	UINT64_MAX
#define MANY_STREAMS	(UINT64_MAX - 1)

/* Numbers of calls that could make the device write; `seen` of them are fetched. */
static uint64_t sent WH_PAIR = 1, seen WH_PAIR = 1;
/* The same, not yet copied to `seen`; with WH_LOCK_MANAGED. */
static uint64_t fetched WH_PAIR;
/* The stream of all calls since then, if it is one. */
static uint64_t stream WH_PAIR = NO_STREAM, stream_before WH_PAIR;
static uint32_t current WH_PAIR;		/* the call that runs */
static bool unknown WH_PAIR;	/* there is a new variable, and nobody counted earlier calls */

/* A default stream is one stream for each context. */
static uint64_t key_of(uint64_t id)
{
	return id > (uintptr_t)CU_STREAM_PER_THREAD ? id : wh_thread.ctx | 1ULL << 63;
}

static void catch_up(void)
{
	uint64_t n = __atomic_load_n(&fetched, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&unknown, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&unknown, false, __ATOMIC_RELAXED);
		__atomic_store_n(&sent, sent + 1, __ATOMIC_RELAXED);
		stream = MANY_STREAMS;
	}
	if (n <= seen)
		return;
	seen = n;
	stream = sent == seen ? NO_STREAM : MANY_STREAMS;
}

/* Does the call make the device neither read nor write? */
static bool is_quiet(uint32_t call)
{
	return call < WH_CALLS && wh_effects[call] & WH_EFFECT_QUIET;
}

void wh_managed_sent(uint32_t call)
{
	current = call;
	if (wh_thread.ctx)
		last_ctx = wh_thread.ctx;
	catch_up();
	if (is_quiet(call))
		return;
	__atomic_store_n(&sent, sent + 1, __ATOMIC_RELAXED);
	stream_before = stream;
	stream = MANY_STREAMS;
}

void wh_managed_launched(uint64_t id)
{
	uint64_t key = key_of(id);

	if (stream_before == NO_STREAM || stream_before == key)
		stream = key;
}

/* Looks for calls whose success says that work is done. Waits use wh_managed_fetch(). */
void wh_managed_answered(CUresult res)
{
	wh_slots[0].fetch = res == CUDA_SUCCESS && current < WH_CALLS &&
			  wh_effects[current] & WH_EFFECT_SETTLES;
}

/* The call began before there were variables, in another slot than the first. */
void wh_managed_missed(void)
{
	__atomic_store_n(&unknown, true, __ATOMIC_RELEASE);
}

uint64_t wh_managed_ticket(uint32_t kind, uint64_t handle)
{
	catch_up();
	return kind == WH_WAIT_CONTEXT || (kind == WH_WAIT_STREAM && key_of(handle) == stream) ?
	       sent : 0;
}

void wh_managed_after_fork(void)
{
	sent = seen = 1;
	stream = NO_STREAM;
}

/* --- The table -------------------------------------------------------------------------- */

/* Returns the index of the first variable that starts above p. */
static size_t above(const void *p)
{
	return WH_ABOVE(var, vars, start, p);
}

bool wh_managed_has(const void *p)
{
	bool found;
	size_t i;

	if (WH_LIKELY(!__atomic_load_n(&vars, __ATOMIC_RELAXED)))
		return false;
	pthread_rwlock_rdlock(&table_lock);
	i = above(p);
	found = i && (size_t)((const uint8_t *)p - var[i - 1].start) < var[i - 1].size;
	pthread_rwlock_unlock(&table_lock);
	return found;
}

static uintptr_t page_down(const void *p)
{
	return (uintptr_t)p & -(uintptr_t)WH_PAGE_SIZE;
}

static uintptr_t page_up(const void *p)
{
	return page_down((const uint8_t *)p + WH_PAGE_SIZE - 1);
}

/* Does another mirror have a part of the page? Neighbours may share one. */
static bool page_in_use(uintptr_t page, const struct var *v)
{
	size_t i;

	for (i = 0; i < vars; i++)
		if (var[i].start != v->start && var[i].shadow &&
		    page_down(var[i].start) <= page && page < page_up(var[i].start + var[i].size))
			return true;
	return false;
}

/* Finds the pages that belong to v alone. */
static void own_pages(const struct var *v, uintptr_t *from, uintptr_t *to)
{
	*from = page_down(v->start);
	*to = page_up(v->start + v->size);
	if (page_in_use(*from, v))
		*from += WH_PAGE_SIZE;
	if (*to > *from && page_in_use(*to - WH_PAGE_SIZE, v))
		*to -= WH_PAGE_SIZE;
}

/* Maps only over free addresses: something of this program may be there already. */
static bool map(const struct var *v)
{
	uintptr_t from, to;
	void *got;

	own_pages(v, &from, &to);
	if (from >= to)
		return true;
	got = mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (got == (void *)from) {
		/* A fork's child has no such variable before it has loaded the module itself. */
		madvise(got, to - from, MADV_DONTFORK);
		return true;
	}
	if (got != MAP_FAILED)
		munmap(got, to - from);
	return false;
}

static void unmap(const struct var *v)
{
	uintptr_t from, to;

	own_pages(v, &from, &to);
	if (from < to)
		munmap((void *)from, to - from);
}

/* The variable is gone in the worker, so its mirror goes, as the driver's own memory would. */
static void drop(size_t i)
{
	struct var *v = &var[i];

	pthread_rwlock_wrlock(&table_lock);
	if (v->shadow) {
		unmap(v);
		free(v->shadow);
		wh_client.mirrors--;
		wh_first_only_by(-1);
	}
	memmove(v, v + 1, (vars - i - 1) * sizeof(*v));
	vars--;
	pthread_rwlock_unlock(&table_lock);
}

static bool insert(const struct var *v)
{
	size_t i;

	pthread_rwlock_wrlock(&table_lock);
	if (!WH_MAKE_ROOM(var, vars, room, 16)) {
		pthread_rwlock_unlock(&table_lock);
		return false;
	}
	i = above(v->start);
	memmove(&var[i + 1], &var[i], (vars - i) * sizeof(*var));
	var[i] = *v;
	vars++;
	wh_client.mirrors += v->shadow != NULL;
	wh_first_only_by(v->shadow != NULL);
	pthread_rwlock_unlock(&table_lock);
	return true;
}

/* --- Copies; with WH_LOCK_MANAGED --------------------------------------------------------- */

/* Pieces that are sent together; their bytes are in the buffer. */
static struct {
	uint32_t op;
	uint32_t n;
	size_t used;
	struct wh_managed_piece piece[WH_MANAGED_PIECES];
} batch WH_PAIR;

static struct var *find(uint64_t addr)
{
	size_t i = above((const void *)addr);

	return i && addr - (uintptr_t)var[i - 1].start < var[i - 1].size ? &var[i - 1] : NULL;
}

static CUresult send(uint32_t *bad)
{
	const struct wh_rsp_whManaged *r;
	struct wh_req_whManaged *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_whManaged, WH_WIRE_FIXED(*q) +
		     wh_wire_bytes(batch.n, sizeof(*batch.piece)));
	if (!q)
		return c.result;
	/*
	 * A thread without a context may be the first to wait. The call takes part in no
	 * capture.
	 */
	if (!q->hdr.ctx)
		q->hdr.ctx = last_ctx;
	q->hdr.capture_mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	q->buffer = (uintptr_t)buffer;
	q->size = BUFFER;
	q->op = batch.op;
	q->pieces = batch.n;
	c.pos = WH_WIRE_FIXED(*q);
	wh_request_put(&c, batch.piece, batch.n, sizeof(*batch.piece));
	res = wh_run(&c, sizeof(*r));
	r = c.rsp;
	*bad = r->hdr.size >= sizeof(*r) && r->piece < batch.n ? r->piece : 0;
	wh_end(&c);
	return res;
}

static uint64_t word(const uint8_t *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/*
 * Bytes that differ from the shadow are the device's changes. All others stay untouched, byte
 * by byte, because the host may have written them meanwhile.
 */
static void merge_page(uint8_t *mirror, uint8_t *shadow, const uint8_t *in, size_t n)
{
	size_t i = 0, k;

	while (i < n) {
		if (n - i >= sizeof(uint64_t) && word(in + i) == word(shadow + i)) {
			i += sizeof(uint64_t);
			continue;
		}
		for (k = 0; k < sizeof(uint64_t) && i < n; k++, i++)
			if (in[i] != shadow[i])
				*(volatile uint8_t *)&mirror[i] = shadow[i] = in[i];
	}
}

static void merge(uint8_t *mirror, uint8_t *shadow, const uint8_t *in, size_t n)
{
	size_t i, part;

	for (i = 0; i < n; i += part) {
		part = n - i < WH_PAGE_SIZE ? n - i : WH_PAGE_SIZE;
		if (memcmp(in + i, shadow + i, part))
			merge_page(mirror + i, shadow + i, in + i, part);
	}
}

static void settle(const struct wh_managed_piece *p)
{
	const struct var *v = find(p->addr);
	size_t at = p->addr - (uintptr_t)v->start;

	if (batch.op == WH_MANAGED_OUT)
		merge(v->start + at, v->shadow + at, buffer + p->at, p->size);
	else
		memcpy(v->shadow + at, buffer + p->at, p->size);
}

/*
 * CUDA_ERROR_NOT_FOUND: a variable went with its module. It is dropped here, too, and the
 * caller must begin again.
 */
static CUresult flush(void)
{
	CUresult res = CUDA_SUCCESS;
	uint32_t i, bad = 0;
	struct var *gone;

	if (batch.n)
		res = send(&bad);
	if (res == CUDA_ERROR_NOT_FOUND) {
		gone = find(batch.piece[bad].addr);
		drop(gone - var);
	}
	for (i = 0; i < batch.n && res == CUDA_SUCCESS; i++)
		settle(&batch.piece[i]);
	batch.n = 0;
	batch.used = 0;
	return res;
}

/* Adds a range in pieces, and sends what is full. */
static CUresult add(const uint8_t *p, size_t n)
{
	CUresult res = CUDA_SUCCESS;
	size_t part;

	for (; n && res == CUDA_SUCCESS; p += part, n -= part) {
		part = n < BUFFER - batch.used ? n : BUFFER - batch.used;
		batch.piece[batch.n++] =
			(struct wh_managed_piece) { (uintptr_t)p, part, batch.used };
		if (batch.op == WH_MANAGED_IN)
			memcpy(buffer + batch.used, p, part);
		batch.used += part;
		if (batch.used == BUFFER || batch.n == WH_MANAGED_PIECES)
			res = flush();
	}
	return res;
}

/*
 * Returns the first place at or after i, by steps, where mirror and shadow are the same, or
 * differ.
 */
static size_t next(const struct var *v, size_t i, size_t step, bool same)
{
	for (; i < v->size; i += step)
		if (!memcmp(v->start + i, v->shadow + i, step < v->size - i ? step : v->size - i) ==
		    same)
			return i;
	return v->size;
}

/* Sends what the host has changed. */
static CUresult give(const struct var *v)
{
	CUresult res = CUDA_SUCCESS;
	size_t from, to = 0;

	while (res == CUDA_SUCCESS && to < v->size) {
		from = next(v, to, WH_PAGE_SIZE, false);
		from = next(v, next(v, from, BLOCK, false), WORD, false);
		to = next(v, from, WORD, true);
		res = add(v->start + from, to - from);
	}
	return res;
}

static CUresult fetch(const struct var *v)
{
	return add(v->start, v->size);
}

static CUresult each(uint32_t op, CUresult (*what)(const struct var *v))
{
	CUresult res;
	size_t i;

	do {
		batch.op = op;
		res = CUDA_SUCCESS;
		for (i = 0; i < vars && res == CUDA_SUCCESS; i++)
			if (var[i].shadow)
				res = what(&var[i]);
		if (res == CUDA_SUCCESS)
			res = flush();
		batch.n = 0;
		batch.used = 0;
	} while (res == CUDA_ERROR_NOT_FOUND);
	return res;
}

/* --- When ------------------------------------------------------------------------------------ */

CUresult wh_managed_give(void)
{
	CUresult res = wh_lock(WH_LOCK_MANAGED);

	if (res != CUDA_SUCCESS)
		return res;
	res = failed;
	failed = CUDA_SUCCESS;
	if (res == CUDA_SUCCESS && last_ctx)
		res = each(WH_MANAGED_IN, give);
	wh_unlock(WH_LOCK_MANAGED);
	return res;
}

CUresult wh_managed_before(uint32_t call)
{
	return is_quiet(call) ? CUDA_SUCCESS : wh_managed_give();
}

CUresult wh_managed_fetch(uint64_t ticket)
{
	CUresult res = wh_lock(WH_LOCK_MANAGED);

	if (res != CUDA_SUCCESS)
		return res;
	if (fetched < __atomic_load_n(&sent, __ATOMIC_RELAXED) && last_ctx) {
		res = each(WH_MANAGED_OUT, fetch);
		if (res == CUDA_SUCCESS && ticket > fetched)
			__atomic_store_n(&fetched, ticket, __ATOMIC_RELEASE);
	}
	wh_unlock(WH_LOCK_MANAGED);
	return res;
}

void wh_managed_after(void)
{
	CUresult res = wh_managed_fetch(0);

	if (res == CUDA_SUCCESS || res == CUDA_ERROR_NOT_PERMITTED)
		return;
	wh_log("managed variables cannot be fetched (error %d)", res);
	failed = res;
}

/* --- New variables ------------------------------------------------------------------- */

static CUresult make_mirror(struct var *v)
{
	CUresult res;

	if (!buffer)
		buffer = wh_data_alloc(BUFFER, 0, false);
	v->shadow = calloc(1, v->size);
	if (!buffer || !v->shadow) {
		free(v->shadow);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!map(v)) {
		wh_complain("the address of a managed variable, %p, is taken in this process",
			    v->start);
		free(v->shadow);
		return CUDA_ERROR_MAP_FAILED;
	}
	memset(v->start, 0, v->size);
	if (!insert(v)) {
		unmap(v);
		free(v->shadow);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	__atomic_store_n(&unknown, true, __ATOMIC_RELEASE);
	last_ctx = wh_thread.ctx ? wh_thread.ctx : last_ctx;
	res = each(WH_MANAGED_OUT, fetch);
	if (res != CUDA_SUCCESS)
		drop(find((uintptr_t)v->start) - var);
	return res;
}

static void drop_overlapping(const struct var *v)
{
	size_t i;

	for (i = vars; i--; )
		if (var[i].start < v->start + v->size && v->start < var[i].start + var[i].size)
			drop(i);
}

/*
 * The variable's owner has changed: the module was loaded again to the same place, or the same
 * variable was found by its module instead of its library. The device's bytes are right in both
 * cases, since nothing of the host is under way at an unload.
 */
static CUresult add_locked(struct var *v)
{
	struct var *old = find((uintptr_t)v->start);

	if (old && old->start == v->start && old->size == v->size) {
		if (old->owner == v->owner || !old->shadow)
			return CUDA_SUCCESS;
		old->owner = v->owner;
		return each(WH_MANAGED_OUT, fetch);
	}
	drop_overlapping(v);
	if (wh_client.link.one_process)
		return insert(v) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	return make_mirror(v);
}

CUresult wh_managed_add(uint64_t owner, uint64_t addr, uint64_t size)
{
	struct var v = { (uint8_t *)addr, size, owner, NULL };
	CUresult res = wh_lock(WH_LOCK_MANAGED);

	if (res != CUDA_SUCCESS)
		return res;
	res = add_locked(&v);
	wh_unlock(WH_LOCK_MANAGED);
	return res;
}
