/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of CUPTI's internal calls, which are handwritten at both ends, and how a worker's
 * records travel.
 */
#ifndef WORMHOLE_WIRE_CUPTI_H
#define WORMHOLE_WIRE_CUPTI_H

#include <cupti_activity.h>
#include <stdbool.h>

#include "wire.h"

/*
 * A request of a client that profiles has a number in its head (struct wh_req). The worker pushes
 * it as an external id of this kind, so that records tell which request they are of. The bit says
 * that a library's request has it, whose own calls of the runtime the worker records.
 */
#define WH_CUPTI_EXTERNAL	CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2
#define WH_CUPTI_OF_LIBRARY	0x80000000u

/* Bit k: the kind k of CUpti_ActivityKind. The worker makes records of these kinds alone. */
#define WH_CUPTI_KIND(k)	(1ULL << CUPTI_ACTIVITY_KIND_##k)
#define WH_CUPTI_KINDS							\
	(WH_CUPTI_KIND(MEMCPY) | WH_CUPTI_KIND(MEMSET) | WH_CUPTI_KIND(KERNEL) |	\
	 WH_CUPTI_KIND(CONCURRENT_KERNEL) | WH_CUPTI_KIND(OVERHEAD) |		\
	 WH_CUPTI_KIND(MEMCPY2) | WH_CUPTI_KIND(SYNCHRONIZATION) |		\
	 WH_CUPTI_KIND(DEVICE) | WH_CUPTI_KIND(CONTEXT) | WH_CUPTI_KIND(STREAM) |	\
	 WH_CUPTI_KIND(CUDA_EVENT) | WH_CUPTI_KIND(MEMORY2) |			\
	 WH_CUPTI_KIND(MEMORY_POOL) | WH_CUPTI_KIND(GRAPH_TRACE))

struct wh_req_whCuptiKinds {
	struct wh_req hdr;
	uint64_t kinds;		/* from now on; 0: none */
};

struct wh_req_whCuptiFlush {
	struct wh_req hdr;
	uint32_t flag;		/* of cuptiActivityFlushAll() */
	uint32_t resv;
};

/* Opens each record in an answer. The record follows, and then its text with a NUL, padded to 8. */
struct wh_cupti_record {
	uint32_t size;		/* bytes of the record, a multiple of 8 */
	uint32_t text;		/* bytes of the text; 0: it has none */
};
#define WH_CUPTI_RECORD_MOST	1024u
#define WH_CUPTI_TEXT_MOST	16384u

struct wh_rsp_whCuptiRead {
	struct wh_rsp hdr;
	uint64_t bytes;		/* whole records, which follow */
	uint64_t dropped;	/* records for which there was no room, since the last answer */
};

struct wh_rsp_whCuptiClock {
	struct wh_rsp hdr;
	uint64_t now;		/* cuptiGetTimestamp() */
};

enum wh_cupti_what {
	WH_CUPTI_CONTEXT, WH_CUPTI_STREAM, WH_CUPTI_STREAM_PER_THREAD, WH_CUPTI_GRAPH,
	WH_CUPTI_GRAPH_EXEC, WH_CUPTI_NODE,
};

struct wh_req_whCuptiId {
	struct wh_req hdr;
	uint64_t ctx;		/* of a context or stream */
	uint64_t handle;
	uint32_t what;		/* enum wh_cupti_what */
	uint32_t resv;
};
struct wh_rsp_whCuptiId {
	struct wh_rsp hdr;
	uint64_t id;
};

#endif
