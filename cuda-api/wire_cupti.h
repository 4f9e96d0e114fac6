/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of CUPTI's internal calls, which are handwritten at both ends, and how a worker's
 * records travel.
 */
#ifndef WORMHOLE_WIRE_CUPTI_H
#define WORMHOLE_WIRE_CUPTI_H

#include <cupti_activity.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
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

/* --- Counters ---------------------------------------------------------------------------- */

/*
 * The functions of the profiler, the profiler's host and the range profiler, which all have one
 * message. The comments say what a function has besides the object: n[i] are numbers of the
 * request, and r[i] of the answer.
 */
enum wh_cupti_op {
	WH_CUPTI_MAY,		/* may the tenant count at all? */
	WH_CUPTI_INITIALIZE,
	WH_CUPTI_DEINITIALIZE,
	WH_CUPTI_SUPPORTED,	/* n: device, API; r: seven levels */
	WH_CUPTI_CHIP,		/* n: device; back: its name */
	WH_CUPTI_AVAILABILITY,	/* context; back: an image */
	/* The host of the profiler */
	WH_CUPTI_HOST_CHIPS,	/* back: names */
	WH_CUPTI_HOST_MOST,	/* n: type; text: chip, or NULL; image: availability; r: number */
	WH_CUPTI_HOST_MAKE,	/* the same; makes an object */
	WH_CUPTI_HOST_END,
	WH_CUPTI_HOST_BASE,	/* n: type; back: names */
	WH_CUPTI_HOST_SUB,	/* n: type; text: metric; back: names */
	WH_CUPTI_HOST_PROPERTIES, /* text: metric; r: type; back: three names */
	WH_CUPTI_HOST_ADD,	/* names */
	WH_CUPTI_HOST_SIZE,	/* r: bytes */
	WH_CUPTI_HOST_IMAGE,	/* n: bytes; back: an image of a configuration */
	WH_CUPTI_HOST_PASSES,	/* image: configuration; r: number */
	WH_CUPTI_HOST_RANGE,	/* n: index; text: delimiter; image: data; back: a name */
	WH_CUPTI_HOST_VALUES,	/* n: index; names; image: data; back: doubles */
	/* The range profiler */
	WH_CUPTI_RANGE_MAKE,	/* context; makes an object */
	WH_CUPTI_RANGE_END,
	WH_CUPTI_RANGE_SIZE,	/* n: ranges, nodes; names; r: bytes */
	WH_CUPTI_RANGE_IMAGE,	/* n: bytes; back: an image of data */
	/* n: enum wh_cupti_config; images: configuration, data */
	WH_CUPTI_RANGE_CONFIG,
	WH_CUPTI_RANGE_START,
	WH_CUPTI_RANGE_STOP,	/* r: pass, level, all submitted */
	WH_CUPTI_RANGE_PUSH,	/* text: name */
	WH_CUPTI_RANGE_POP,
	WH_CUPTI_RANGE_DECODE,	/* r: dropped; back: the image of data */
	WH_CUPTI_RANGE_INFO,	/* image: data; r: ranges */
	WH_CUPTI_RANGE_NAME,	/* n: index; text: delimiter; image: data; back: a name */
	WH_CUPTI_OPS
};

/* n[] of WH_CUPTI_RANGE_CONFIG */
enum wh_cupti_config {
	WH_CUPTI_RANGE_MODE, WH_CUPTI_REPLAY_MODE, WH_CUPTI_MOST_RANGES, WH_CUPTI_LEVELS,
	WH_CUPTI_FIRST_LEVEL, WH_CUPTI_PASS, WH_CUPTI_TARGET_LEVEL,
};

#define WH_CUPTI_NUMBERS	7
#define WH_CUPTI_IMAGES		2

/*
 * Behind it, each padded: the names, one after the other, each with its NUL; the text with its NUL;
 * the images. A length of 0 is NULL.
 */
struct wh_req_whCuptiCounters {
	struct wh_req hdr;
	uint32_t op;		/* enum wh_cupti_op */
	uint32_t names;		/* number of names */
	uint64_t object;	/* handle of the worker's; 0: NULL */
	uint64_t ctx;		/* 0: NULL */
	uint64_t n[WH_CUPTI_NUMBERS];
	uint64_t names_bytes;
	uint64_t text_bytes;
	uint64_t image_bytes[WH_CUPTI_IMAGES];
};

struct wh_rsp_whCuptiCounters {
	struct wh_rsp hdr;
	uint64_t object;
	uint64_t r[WH_CUPTI_NUMBERS];
	uint64_t bytes;		/* of what comes back */
	uint32_t follows;	/* 0: there was no room for it in the answer */
	uint32_t resv;
};

/*
 * An image of the library's, as the program has it, ends with so many bytes of the worker's, by
 * which the worker knows an image that it has given out. The library follows numbers in an image
 * wherever they lead.
 */
#define WH_CUPTI_SEAL		16u
/* The most bytes of an image, of all names, of a text; the most names, and ranges of a pass. */
#define WH_CUPTI_IMAGE_MOST	(64u << 20)
#define WH_CUPTI_NAMES_MOST	(1u << 20)
#define WH_CUPTI_NAMES		4096u
#define WH_CUPTI_RANGES_MOST	65536u

#endif
