// SPDX-License-Identifier: Apache-2.0
/*
 * Brings the worker's records and the program's calls together. A record of the worker has the
 * worker's own correlation id. Records of external ids say which request that was, and the request
 * has its call's number: that is the correlation id here. What a library called in the worker, for
 * one request, are calls of their own: they keep the worker's number, with a bit that no call has.
 */
#include "cupti_stub.h"

#include <stdlib.h>
#include <unistd.h>

/* Records of one flush, as they came: struct wh_cupti_record, record, text. */
static uint8_t *bytes;
static size_t have, room, dropped;

/* By the worker's correlation id: the number of the request. Open addressing; 0 is nobody's id. */
static struct pair {
	uint32_t theirs, number;
} *map;
static size_t map_size, map_used;

/* --- Fetching --------------------------------------------------------------------------- */

static bool make_room(size_t n)
{
	size_t more = room ? room : 1UL << 20;
	uint8_t *p;

	while (more - have < n)
		more *= 2;
	if (more == room)
		return true;
	p = realloc(bytes, more);
	if (!p)
		return false;
	bytes = p;
	room = more;
	return true;
}

/* Sets *n to the bytes that came; 0: there are no more. */
static CUptiResult fetch_some(size_t *n)
{
	const struct wh_rsp_whCuptiRead *r;
	struct wh_call c;
	CUptiResult res;

	*n = 0;
	if (!wh_cupti_begin(&c, WH_CALL_whCuptiRead, sizeof(struct wh_req)))
		return wh_cupti_lost(c.result);
	res = wh_cupti_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUPTI_SUCCESS) {
		dropped += r->dropped;
		*n = r->bytes <= r->hdr.size ? r->bytes : 0;
		c.pos = WH_WIRE_FIXED(*r);
		if (*n && !make_room(*n)) {
			res = CUPTI_ERROR_OUT_OF_MEMORY;
		} else if (*n) {
			wh_reply_take(&c, bytes + have, *n, 1);
			have += *n;
		}
	}
	wh_end(&c);
	return res;
}

/* --- The worker's correlation ids ---------------------------------------------------------- */

static struct pair *slot_of(uint32_t theirs)
{
	size_t i = theirs * 0x9e3779b9u & (map_size - 1);

	while (map[i].theirs && map[i].theirs != theirs)
		i = (i + 1) & (map_size - 1);
	return &map[i];
}

static bool grow_map(void)
{
	struct pair *old = map;
	size_t n = map_size, i;

	if (map_size && map_used < map_size / 2)
		return true;
	map_size = n ? n * 2 : 4096;
	map = calloc(map_size, sizeof(*map));
	if (!map) {
		map = old;
		map_size = n;
		return false;
	}
	for (i = 0; i < n; i++)
		if (old[i].theirs)
			*slot_of(old[i].theirs) = old[i];
	free(old);
	return true;
}

static void learn(const CUpti_ActivityExternalCorrelation *e)
{
	struct pair *p;

	if (e->externalKind != WH_CUPTI_EXTERNAL || !e->correlationId || !grow_map())
		return;
	p = slot_of(e->correlationId);
	map_used += !p->theirs;
	*p = (struct pair) { e->correlationId, (uint32_t)e->externalId };
}

static uint32_t number_of(uint32_t theirs)
{
	return map && theirs ? slot_of(theirs)->number : 0;
}

/* The correlation id of a record here. 0: of no call. */
static uint32_t id_here(uint32_t theirs)
{
	uint32_t number = number_of(theirs);

	return number & WH_CUPTI_OF_LIBRARY ? theirs | WH_CUPTI_OF_LIBRARY : number;
}

/* --- Calls into buffers ------------------------------------------------------------------ */

static void put_api(const struct cu_call *c, const CUpti_ActivityAPI *api)
{
	CUpti_ActivityExternalCorrelation e = {
		.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
		.correlationId = api->correlationId,
	};
	unsigned int i;

	if (cu_kinds_ever() & WH_CUPTI_KIND(EXTERNAL_CORRELATION))
		for (i = 0; i < c->externals; i++) {
			e.externalKind = c->external_kind[i];
			e.externalId = c->external_id[i];
			cu_buffer_put(&e, sizeof(e));
		}
	if (api->kind)
		cu_buffer_put(api, sizeof(*api));
}

static void put_call(const struct cu_call *c)
{
	const CUpti_ActivityAPI api = {
		.kind = c->kind,
		.cbid = c->cbid,
		.start = c->start,
		.end = c->end,
		.processId = getpid(),
		.threadId = c->thread,
		.correlationId = c->number,
		.returnValue = c->result,
	};

	put_api(c, &api);
}

/* A call that a library made in the worker is the program's thread's, as natively. */
static void put_their_api(CUpti_ActivityAPI *api)
{
	uint32_t number = number_of(api->correlationId);
	const struct cu_call *c;

	if (!(number & WH_CUPTI_OF_LIBRARY))
		return;
	c = cu_call_find(number & ~WH_CUPTI_OF_LIBRARY);
	if (!c || !(cu_kinds_ever() >> api->kind & 1) || !cu_call_wanted(api->kind, api->cbid))
		return;
	api->correlationId = id_here(api->correlationId);
	api->start = cu_clock_here(api->start);
	api->end = cu_clock_here(api->end);
	api->processId = getpid();
	api->threadId = c->thread;
	put_api(c, api);
}

/* --- The device's records into buffers --------------------------------------------------- */

/* Names of kernels repeat, and stay valid for the process, as CUPTI's own do. */
static struct {
	char **text;
	size_t size, used;	/* a power of two; half of the places are free */
} texts;
static pthread_mutex_t texts_lock = PTHREAD_MUTEX_INITIALIZER;
WH_IN_CHILD(pthread_mutex_init(&texts_lock, NULL))

/* Returns the place of an equal text, or the free one where it belongs. */
static char **text_slot(char **table, size_t size, const char *text)
{
	size_t i = 5381;
	const char *p;

	for (p = text; *p; p++)
		i = i * 33 + (uint8_t)*p;
	for (i &= size - 1; table[i] && strcmp(table[i], text); i = (i + 1) & (size - 1))
		;
	return &table[i];
}

static bool grow_texts(void)
{
	size_t size = texts.size ? texts.size * 2 : 1024, i;
	char **bigger;

	if (texts.used < texts.size / 2)
		return true;
	bigger = calloc(size, sizeof(*bigger));
	if (!bigger)
		return false;
	for (i = 0; i < texts.size; i++)
		if (texts.text[i])
			*text_slot(bigger, size, texts.text[i]) = texts.text[i];
	free(texts.text);
	texts.text = bigger;
	texts.size = size;
	return true;
}

/* The lock is held. */
static const char *find_text(const char *text)
{
	char **slot;

	if (!grow_texts())
		return "";
	slot = text_slot(texts.text, texts.size, text);
	if (!*slot) {
		*slot = strdup(text);
		texts.used += *slot != NULL;
	}
	return *slot ? *slot : "";
}

const char *cu_keep_text(const char *text)
{
	const char *kept;

	pthread_mutex_lock(&texts_lock);
	kept = find_text(text);
	pthread_mutex_unlock(&texts_lock);
	return kept;
}

#define HAS(type, field)	(size >= offsetof(type, field) + sizeof(((type *)0)->field))
#define TIME(type, field) do {							\
	if (HAS(type, field))							\
		((type *)record)->field = cu_clock_here(((type *)record)->field); \
} while (0)
#define DEVICE(type, field) do {						\
	if (HAS(type, field))							\
		((type *)record)->field = wh_profile_device(((type *)record)->field); \
} while (0)
#define ID(type) do {								\
	if (HAS(type, correlationId))						\
		((type *)record)->correlationId =				\
			id_here(((type *)record)->correlationId);		\
} while (0)
#define TEXT(type, field) do {							\
	if (HAS(type, field))							\
		((type *)record)->field = text ? cu_keep_text(text) : "";		\
} while (0)
#define SPAN(type) do {								\
	TIME(type, start);							\
	TIME(type, end);							\
} while (0)

static void put_kernel(CUpti_Activity *record, size_t size, const char *text)
{
	TEXT(CUpti_ActivityKernel10, name);
	SPAN(CUpti_ActivityKernel10);
	TIME(CUpti_ActivityKernel10, completed);
	TIME(CUpti_ActivityKernel10, queued);
	TIME(CUpti_ActivityKernel10, submitted);
	DEVICE(CUpti_ActivityKernel10, deviceId);
	ID(CUpti_ActivityKernel10);
}

/* A copy of pageable memory is made in pieces, of pinned memory of the worker: one copy here. */
static struct {
	uint64_t bytes[WH_CUPTI_RECORD_MOST / sizeof(uint64_t)];
	size_t size;		/* 0: there is none */
} piece;

static void put_pieces(void)
{
	if (piece.size)
		cu_buffer_put(piece.bytes, piece.size);
	piece.size = 0;
}

static uint8_t as_pageable(uint8_t kind)
{
	return kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED ?
	       CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : kind;
}

static void put_staged(CUpti_ActivityMemcpy6 *m, size_t size)
{
	CUpti_ActivityMemcpy6 *before = (void *)piece.bytes;

	if (piece.size && before->correlationId == m->correlationId &&
	    before->copyKind == m->copyKind && before->streamId == m->streamId) {
		before->bytes += m->bytes;
		before->end = m->end;
		return;
	}
	put_pieces();
	m->srcKind = as_pageable(m->srcKind);
	m->dstKind = as_pageable(m->dstKind);
	memcpy(piece.bytes, m, size);
	piece.size = size;
}

static void put_copy(CUpti_Activity *record, size_t size)
{
	CUpti_ActivityMemcpy6 *m = (void *)record;
	const struct cu_call *c;

	SPAN(CUpti_ActivityMemcpy6);
	DEVICE(CUpti_ActivityMemcpy6, deviceId);
	ID(CUpti_ActivityMemcpy6);
	c = HAS(CUpti_ActivityMemcpy6, correlationId) ? cu_call_find(m->correlationId) : NULL;
	if (c && c->staged)
		put_staged(m, size);
	else
		cu_buffer_put(record, size);
}

static void put_peer_copy(CUpti_Activity *record, size_t size)
{
	SPAN(CUpti_ActivityMemcpyPtoP4);
	DEVICE(CUpti_ActivityMemcpyPtoP4, deviceId);
	DEVICE(CUpti_ActivityMemcpyPtoP4, srcDeviceId);
	DEVICE(CUpti_ActivityMemcpyPtoP4, dstDeviceId);
	ID(CUpti_ActivityMemcpyPtoP4);
}

static void put_fill(CUpti_Activity *record, size_t size)
{
	SPAN(CUpti_ActivityMemset4);
	DEVICE(CUpti_ActivityMemset4, deviceId);
	ID(CUpti_ActivityMemset4);
}

static void put_memory(CUpti_Activity *record, size_t size, const char *text)
{
	TEXT(CUpti_ActivityMemory4, name);
	TIME(CUpti_ActivityMemory4, timestamp);
	DEVICE(CUpti_ActivityMemory4, deviceId);
	ID(CUpti_ActivityMemory4);
	if (HAS(CUpti_ActivityMemory4, processId))
		((CUpti_ActivityMemory4 *)record)->processId = getpid();
}

static void put_pool(CUpti_Activity *record, size_t size)
{
	TIME(CUpti_ActivityMemoryPool3, timestamp);
	DEVICE(CUpti_ActivityMemoryPool3, deviceId);
	ID(CUpti_ActivityMemoryPool3);
	if (HAS(CUpti_ActivityMemoryPool3, processId))
		((CUpti_ActivityMemoryPool3 *)record)->processId = getpid();
}

/* What the worker's CUPTI cost is no cost of a thread of the program, but of the process. */
static void put_overhead(CUpti_Activity *record, size_t size)
{
	CUpti_ActivityOverhead3 *o = (void *)record;

	SPAN(CUpti_ActivityOverhead3);
	ID(CUpti_ActivityOverhead3);
	if (!HAS(CUpti_ActivityOverhead3, objectId))
		return;
	if (o->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ||
	    o->objectKind == CUPTI_ACTIVITY_OBJECT_PROCESS) {
		o->objectId.pt.processId = getpid();
		o->objectId.pt.threadId = getpid();
	}
}

static void put_other(CUpti_Activity *record, size_t size, const char *text)
{
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		SPAN(CUpti_ActivitySynchronization2);
		ID(CUpti_ActivitySynchronization2);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		SPAN(CUpti_ActivityGraphTrace2);
		DEVICE(CUpti_ActivityGraphTrace2, deviceId);
		DEVICE(CUpti_ActivityGraphTrace2, endDeviceId);
		ID(CUpti_ActivityGraphTrace2);
		break;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		TEXT(CUpti_ActivityDevice5, name);
		DEVICE(CUpti_ActivityDevice5, id);
		break;
	case CUPTI_ACTIVITY_KIND_CONTEXT:
		DEVICE(CUpti_ActivityContext3, deviceId);
		break;
	case CUPTI_ACTIVITY_KIND_STREAM:
		ID(CUpti_ActivityStream);
		break;
	case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
		DEVICE(CUpti_ActivityCudaEvent2, deviceId);
		TIME(CUpti_ActivityCudaEvent2, deviceTimestamp);
		ID(CUpti_ActivityCudaEvent2);
		break;
	default:
		break;
	}
}

static void put(CUpti_Activity *record, size_t size, const char *text)
{
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		return;
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_DRIVER:
		if (size >= sizeof(CUpti_ActivityAPI))
			put_their_api((CUpti_ActivityAPI *)record);
		return;
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		put_kernel(record, size, text);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		put_copy(record, size);
		return;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		put_peer_copy(record, size);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		put_fill(record, size);
		break;
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		put_memory(record, size, text);
		break;
	case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
		put_pool(record, size);
		break;
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		put_overhead(record, size);
		break;
	default:
		put_other(record, size, text);
	}
	cu_buffer_put(record, size);
}

/* Calls `with` with each record. The worker is trusted with its own bytes no more than needed. */
static void each(void (*with)(CUpti_Activity *record, size_t size, const char *text))
{
	struct wh_cupti_record head;
	size_t at = 0, n;
	uint8_t *p;

	while (have - at >= sizeof(head)) {
		memcpy(&head, bytes + at, sizeof(head));
		at += sizeof(head);
		n = ((size_t)head.text + 7) & ~(size_t)7;
		if (head.size < sizeof(CUpti_Activity) || head.size > WH_CUPTI_RECORD_MOST ||
		    head.size % 8 || head.text > WH_CUPTI_TEXT_MOST || have - at < head.size + n)
			return;
		p = bytes + at;
		at += head.size + n;
		with((CUpti_Activity *)p, head.size,
		     head.text && !p[head.size + head.text - 1] ? (char *)p + head.size : NULL);
	}
}

static void learn_one(CUpti_Activity *record, size_t size, const char *text)
{
	(void)text;
	if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION &&
	    size >= sizeof(CUpti_ActivityExternalCorrelation))
		learn((const CUpti_ActivityExternalCorrelation *)record);
}

CUptiResult cu_records_fetch(void)
{
	CUptiResult res;
	size_t n;

	have = 0;
	do {
		res = fetch_some(&n);
	} while (res == CUPTI_SUCCESS && n);
	each(learn_one);
	cu_calls_tell(put_call);
	each(put);
	put_pieces();
	free(bytes);
	bytes = NULL;
	have = room = 0;
	return res;
}

void cu_records_forget(void)
{
	free(map);
	map = NULL;
	map_size = map_used = 0;
}

size_t cu_records_dropped(void)
{
	size_t n = dropped;

	dropped = 0;
	return n;
}
