// SPDX-License-Identifier: Apache-2.0
/*
 * Lets a client's profiler see what the worker does for it. The genuine CUPTI records the work of
 * this process, which is one program's. Its records are kept here until the client fetches them:
 * only kinds that are known (wire_cupti.h), without addresses of this process, and no more than
 * MOST bytes. A record tells its request by the number that is pushed around each request.
 */
#include "gen_cupti_server.h"
#include "state/messages.h"

#include <pthread.h>
#include <stdlib.h>

#define MOST		(128UL << 20)
#define BUFFER		(1UL << 20)
#define BLOCK		(256UL << 10)
/* These tell which request a record is of, and what a library has called. */
#define ALWAYS		(WH_CUPTI_KIND(DRIVER) | WH_CUPTI_KIND(RUNTIME) | \
			 WH_CUPTI_KIND(EXTERNAL_CORRELATION))

struct block {
	struct block *next;
	size_t used, read;
	uint8_t bytes[BLOCK];
};

/* CUPTI is a process's, and its callbacks have no argument for anything else. */
static struct {
	pthread_mutex_t lock;		/* of what follows, up to `dropped` */
	struct block *first, *last;
	size_t bytes;			/* of all blocks */
	uint64_t dropped;
	const struct wh_cupti_functions *l;
	uint64_t kinds;			/* that are enabled */
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- Keeping records --------------------------------------------------------------------- */

/* The lock is held. */
static uint8_t *room_for(size_t n)
{
	struct block *b = kept.last;
	uint8_t *at;

	if (!b || BLOCK - b->used < n) {
		b = kept.bytes + sizeof(*b) <= MOST ? malloc(sizeof(*b)) : NULL;
		if (!b)
			return NULL;
		b->next = NULL;
		b->used = b->read = 0;
		kept.bytes += sizeof(*b);
		if (kept.last)
			kept.last->next = b;
		else
			kept.first = b;
		kept.last = b;
	}
	at = b->bytes + b->used;
	b->used += n;
	return at;
}

/* Bytes of the text in an answer, padded. */
static size_t padded(size_t text)
{
	return (text + 7) & ~(size_t)7;
}

/* `record` has been scrubbed. */
static void keep(const void *record, size_t size, const char *text)
{
	size_t n = text ? strnlen(text, WH_CUPTI_TEXT_MOST - 1) + 1 : 0;
	struct wh_cupti_record head = { .size = size, .text = n };
	uint8_t *at;

	pthread_mutex_lock(&kept.lock);
	at = room_for(sizeof(head) + size + padded(n));
	if (at) {
		memcpy(at, &head, sizeof(head));
		memcpy(at + sizeof(head), record, size);
		if (n) {
			memset(at + sizeof(head) + size, 0, padded(n));
			memcpy(at + sizeof(head) + size, text, n - 1);
		}
	} else {
		kept.dropped++;
	}
	pthread_mutex_unlock(&kept.lock);
}

/* Does a record of so many bytes have the field? Newer libraries only append fields. */
#define HAS(size, type, field)	((size) >= offsetof(type, field) + sizeof(((type *)0)->field))
#define CLEAR(type, field) do {						\
	if (HAS(size, type, field))					\
		((type *)copy)->field = 0;				\
} while (0)
#define TAKE(type, field) do {						\
	if (HAS(size, type, field)) {					\
		text = ((type *)copy)->field;				\
		((type *)copy)->field = NULL;				\
	}								\
} while (0)

/* Keeps a copy without what is an address in this process. Kinds that are not known are left. */
static void take(const CUpti_Activity *record, size_t size)
{
	uint64_t copy[WH_CUPTI_RECORD_MOST / sizeof(uint64_t)];
	const char *text = NULL;

	if (size < sizeof(*record) || size > sizeof(copy) || size % sizeof(uint64_t))
		return;
	memcpy(copy, record, size);
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		TAKE(CUpti_ActivityKernel10, name);
		CLEAR(CUpti_ActivityKernel10, reserved0);
		CLEAR(CUpti_ActivityKernel10, pAccessPolicyWindow);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		CLEAR(CUpti_ActivityMemcpy6, reserved0);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		CLEAR(CUpti_ActivityMemcpyPtoP4, reserved0);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		CLEAR(CUpti_ActivityMemset4, reserved0);
		break;
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		CLEAR(CUpti_ActivityOverhead3, overheadData);
		break;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		TAKE(CUpti_ActivityDevice5, name);
		break;
	case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
		CLEAR(CUpti_ActivityCudaEvent2, reserved0);
		break;
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		TAKE(CUpti_ActivityMemory4, name);
		CLEAR(CUpti_ActivityMemory4, PC);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		CLEAR(CUpti_ActivityGraphTrace2, reserved);
		break;
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
	case CUPTI_ACTIVITY_KIND_CONTEXT:
	case CUPTI_ACTIVITY_KIND_STREAM:
	case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
		break;
	default:
		return;
	}
	keep(copy, size, text);
}

/* --- CUPTI's callbacks, which come in any thread ------------------------------------------- */

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = aligned_alloc(8, BUFFER);
	*size = *buffer ? BUFFER : 0;
	*records = 0;
}

/* A record ends where the next one begins. */
static void CUPTIAPI completed(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *record = NULL, *last = NULL;
	bool more;

	(void)ctx, (void)stream, (void)size;
	while (valid) {
		more = kept.l->cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS;
		if (last)
			take(last, (more ? (uint8_t *)record : buffer + valid) - (uint8_t *)last);
		if (!more)
			break;
		last = record;
	}
	free(buffer);
}

/* --- Around each request --------------------------------------------------------------------- */

/* The session's hook (state/state.h); in the thread that runs the request. */
static void around(uint32_t number)
{
	uint64_t last;

	if (number)
		kept.l->cuptiActivityPushExternalCorrelationId(WH_CUPTI_EXTERNAL, number);
	else
		kept.l->cuptiActivityPopExternalCorrelationId(WH_CUPTI_EXTERNAL, &last);
}

/* --- Calls ----------------------------------------------------------------------------------- */

static const struct wh_cupti_functions *functions(struct wh_session *s)
{
	const struct wh_cupti_functions *l = wh_library_functions(s, WH_LIB_cupti);

	return l->cuptiActivityEnable && l->cuptiActivityDisable && l->cuptiActivityFlushAll &&
	       l->cuptiActivityGetNextRecord && l->cuptiActivityPushExternalCorrelationId &&
	       l->cuptiActivityPopExternalCorrelationId && l->cuptiGetTimestamp ? l : NULL;
}

/*
 * An error that the client cannot explain stands in the server's log, once for each kind; 0: CUPTI
 * does not start.
 */
static void say(const struct wh_cupti_functions *l, unsigned int kind, CUptiResult res)
{
	static uint64_t said;
	const char *text = NULL;

	if (said >> kind & 1)
		return;
	said |= 1ULL << kind;
	if (!l->cuptiGetResultString || l->cuptiGetResultString(res, &text) != CUPTI_SUCCESS)
		text = NULL;
	if (!text)
		text = "error";
	if (kind)
		fprintf(wh_messages(), "warn: worker: CUPTI's records of kind %u: %s (%d)\n", kind,
			text, res);
	else
		fprintf(wh_messages(), "warn: worker: CUPTI does not start: %s (%d)\n", text, res);
	fflush(wh_messages());
}

static CUptiResult change(const struct wh_cupti_functions *l, uint64_t kinds)
{
	CUptiResult res = CUPTI_SUCCESS;
	unsigned int k;
	uint64_t bit;

	for (k = 0; k < CUPTI_ACTIVITY_KIND_COUNT && res == CUPTI_SUCCESS; k++) {
		bit = 1ULL << k;
		if (!((kinds ^ kept.kinds) & bit))
			continue;
		res = kinds & bit ? l->cuptiActivityEnable(k) : l->cuptiActivityDisable(k);
		if (res == CUPTI_SUCCESS)
			kept.kinds ^= bit;
		else
			say(l, k, res);
	}
	return res;
}

int32_t wh_do_whCuptiKinds(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cupti_functions *l = functions(s);
	const struct wh_req_whCuptiKinds *q = f->req;
	CUptiResult res = CUPTI_SUCCESS;

	if (f->req_size < sizeof(*q) || q->kinds & ~WH_CUPTI_KINDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!l)
		return wh_library_missing(s, "cuptiActivityEnable", CUPTI_ERROR_NOT_SUPPORTED);
	if (kept.l && kept.l != l)
		return CUPTI_ERROR_INVALID_OPERATION;
	if (!kept.l) {
		res = l->cuptiActivityRegisterCallbacks(requested, completed);
		if (res != CUPTI_SUCCESS) {
			say(l, 0, res);
			return res;
		}
		kept.l = l;
	}
	res = change(l, q->kinds ? q->kinds | ALWAYS : 0);
	/* The client sends numbers as soon as this call has succeeded once. */
	if (res == CUPTI_SUCCESS || kept.kinds)
		s->profile = around;
	return res;
}

int32_t wh_do_whCuptiFlush(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whCuptiFlush *q = f->req;

	(void)s;
	if (f->req_size < sizeof(*q) || q->flag > 1)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return kept.l ? kept.l->cuptiActivityFlushAll(q->flag) : CUPTI_SUCCESS;
}

/* Bytes of whole records of the block that have room; the lock is held. */
static size_t whole(const struct block *b, size_t room)
{
	struct wh_cupti_record head;
	size_t n = 0, one;

	while (b->read + n < b->used) {
		memcpy(&head, b->bytes + b->read + n, sizeof(head));
		one = sizeof(head) + head.size + padded(head.text);
		if (n + one > room)
			break;
		n += one;
	}
	return n;
}

static void drop_first(void)
{
	struct block *b = kept.first;

	kept.first = b->next;
	if (!kept.first)
		kept.last = NULL;
	kept.bytes -= sizeof(*b);
	free(b);
}

int32_t wh_do_whCuptiRead(struct wh_session *s, struct wh_frame *f)
{
	struct wh_rsp_whCuptiRead *r = wh_reply(f, sizeof(*r));
	size_t room = f->max - f->rsp_size - WH_WIRE_ALIGN, n;
	void *to;

	(void)s;
	pthread_mutex_lock(&kept.lock);
	while (kept.first && kept.first->read == kept.first->used)
		drop_first();
	n = kept.first ? whole(kept.first, room) : 0;
	if (n && wh_room(f, n, 1, &to)) {
		memcpy(to, kept.first->bytes + kept.first->read, n);
		kept.first->read += n;
		r->bytes = n;
	}
	r->dropped = kept.dropped;
	kept.dropped = 0;
	pthread_mutex_unlock(&kept.lock);
	return CUPTI_SUCCESS;
}

int32_t wh_do_whCuptiClock(struct wh_session *s, struct wh_frame *f)
{
	struct wh_rsp_whCuptiClock *r = wh_reply(f, sizeof(*r));
	const struct wh_cupti_functions *l = functions(s);

	if (!l)
		return wh_library_missing(s, "cuptiGetTimestamp", CUPTI_ERROR_NOT_SUPPORTED);
	return l->cuptiGetTimestamp(&r->now);
}

/* --- Numbers of objects -------------------------------------------------------------------- */

static bool find(struct wh_session *s, uint64_t id, int type, void **object)
{
	*object = id ? wh_handles_get(&s->handles, id, type) : NULL;
	return !id || *object;
}

static CUptiResult stream_id(struct wh_session *s, const struct wh_cupti_functions *l,
			     const struct wh_req_whCuptiId *q, uint64_t *id)
{
	void *ctx, *stream;
	CUptiResult res;
	uint32_t n = 0;

	/* The two default streams have handles that are no objects. */
	if (q->handle <= (uintptr_t)CU_STREAM_PER_THREAD)
		stream = (void *)q->handle;
	else if (!find(s, q->handle, WH_H_CUstream, &stream))
		return CUPTI_ERROR_INVALID_STREAM;
	if (!find(s, q->ctx, WH_H_CUcontext, &ctx))
		return CUPTI_ERROR_INVALID_CONTEXT;
	if (!l->cuptiGetStreamIdEx)
		return wh_library_missing(s, "cuptiGetStreamIdEx", CUPTI_ERROR_NOT_SUPPORTED);
	res = l->cuptiGetStreamIdEx(ctx, stream, q->what == WH_CUPTI_STREAM_PER_THREAD, &n);
	*id = n;
	return res;
}

static CUptiResult context_id(struct wh_session *s, const struct wh_cupti_functions *l,
			      const struct wh_req_whCuptiId *q, uint64_t *id)
{
	CUptiResult res;
	uint32_t n = 0;
	void *ctx;

	if (!find(s, q->ctx, WH_H_CUcontext, &ctx) || !ctx)
		return CUPTI_ERROR_INVALID_CONTEXT;
	if (!l->cuptiGetContextId)
		return wh_library_missing(s, "cuptiGetContextId", CUPTI_ERROR_NOT_SUPPORTED);
	res = l->cuptiGetContextId(ctx, &n);
	*id = n;
	return res;
}

/* cuptiGetGraphId() takes executable graphs too: CUDA before 12.3 has nothing else for them. */
static bool find_graph(struct wh_session *s, const struct wh_req_whCuptiId *q, void **object)
{
	if (q->what == WH_CUPTI_GRAPH && find(s, q->handle, WH_H_CUgraph, object) && *object)
		return true;
	return find(s, q->handle, WH_H_CUgraphExec, object) && *object;
}

static CUptiResult graph_id(struct wh_session *s, const struct wh_cupti_functions *l,
			    const struct wh_req_whCuptiId *q, uint64_t *id)
{
	CUptiResult res = CUPTI_ERROR_NOT_SUPPORTED;
	uint32_t n = 0;
	void *object;

	if (q->what == WH_CUPTI_NODE) {
		if (!find(s, q->handle, WH_H_CUgraphNode, &object) || !object)
			return CUPTI_ERROR_INVALID_PARAMETER;
		return l->cuptiGetGraphNodeId ? l->cuptiGetGraphNodeId(object, id) : res;
	}
	if (!find_graph(s, q, &object))
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (q->what == WH_CUPTI_GRAPH && l->cuptiGetGraphId)
		res = l->cuptiGetGraphId(object, &n);
	if (q->what == WH_CUPTI_GRAPH_EXEC && l->cuptiGetGraphExecId)
		res = l->cuptiGetGraphExecId(object, &n);
	*id = n;
	return res;
}

int32_t wh_do_whCuptiId(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cupti_functions *l = wh_library_functions(s, WH_LIB_cupti);
	const struct wh_req_whCuptiId *q = f->req;
	struct wh_rsp_whCuptiId *r;
	struct wh_req_whCuptiId copy;

	if (f->req_size < sizeof(*q))
		return CUPTI_ERROR_INVALID_PARAMETER;
	copy = *q;
	r = wh_reply(f, sizeof(*r));
	switch (copy.what) {
	case WH_CUPTI_CONTEXT:
		return context_id(s, l, &copy, &r->id);
	case WH_CUPTI_STREAM:
	case WH_CUPTI_STREAM_PER_THREAD:
		return stream_id(s, l, &copy, &r->id);
	case WH_CUPTI_GRAPH:
	case WH_CUPTI_GRAPH_EXEC:
	case WH_CUPTI_NODE:
		return graph_id(s, l, &copy, &r->id);
	}
	return CUPTI_ERROR_INVALID_PARAMETER;
}
