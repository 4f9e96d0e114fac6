/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that workers of a tenant write about its calls while somebody traces it. They are in
 * memory that the server makes with the tenant, that workers write and that the command reads. It
 * has no pages until something is written. Each worker has a ring, by the number of its account. A
 * reader that is too slow misses records and can tell how many. Nothing in this memory decides
 * anything: no worker is trusted, and its trace least of all.
 */
#ifndef WORMHOLE_TENANT_TRACE_H
#define WORMHOLE_TENANT_TRACE_H

#include "tenant/tenant.h"

#define WH_TRACE_MAGIC		0x4543415254485748ULL	/* "HWHTRACE" */
#define WH_TRACE_VERSION	1u
#define WH_TRACE_RECORDS	32768u			/* records of a ring; a power of two */
#define WH_TRACE_TEXT		40u

enum wh_trace_kind {
	WH_TRACE_NAME = 1,	/* a piece of a kernel's name, from byte `value` on */
	WH_TRACE_CALL,		/* a call in the worker, from begin to end */
	WH_TRACE_LAUNCH,	/* the same for a launch into `stream`: kernel `name`, or a graph */
	WH_TRACE_COPY,		/* `value` bytes */
	WH_TRACE_FILL,
	WH_TRACE_WAIT,
	WH_TRACE_HELD,		/* the call was not done: it has to wait for its share of time */
	WH_TRACE_DEVICE,	/* the work of such a call on the device, by the device's clock */
	WH_TRACE_KINDS,
};

enum wh_trace_way { WH_TRACE_NO_WAY, WH_TRACE_TO_DEVICE, WH_TRACE_TO_HOST };

struct wh_trace_record {
	uint64_t number;	/* number in its ring, from 1; written last. 0: being written */
	uint64_t begin_ns, end_ns;	/* CLOCK_MONOTONIC */
	uint64_t stream;	/* the client's value of the stream */
	uint64_t value;
	uint64_t name;		/* of a kernel, as in its WH_TRACE_NAME records */
	uint32_t client;	/* the client's process; 0: it is in another VM */
	uint32_t call;		/* number of the call in the ABI, with the library's number */
	uint16_t slot;
	uint8_t kind, way;
	uint8_t of;		/* for WH_TRACE_DEVICE: the kind of the call */
	uint8_t resv[3];
	uint32_t grid[3], block[3];
	union {
		char text[WH_TRACE_TEXT];
		uint8_t pad[40];
	};
};
_Static_assert(sizeof(struct wh_trace_record) == 128, "two lines of a cache");

struct wh_trace_head {
	uint64_t magic;
	uint32_t version, records;
	/* 1: somebody traces; a worker turns it off if until_ns has passed */
	uint32_t on;
	uint32_t starts;	/* raised by each new tracer: names are said again */
	uint64_t until_ns;	/* the tracer moves this on now and then, to show that it lives */
	uint64_t resv[4];
	struct {
		uint64_t next;	/* number of records that were begun */
		uint64_t resv[7];
	} ring[WH_TENANT_WORKERS];
};
#define WH_TRACE_HEAD	8192u
_Static_assert(sizeof(struct wh_trace_head) <= WH_TRACE_HEAD, "before the rings");
#define WH_TRACE_RING	(WH_TRACE_RECORDS * sizeof(struct wh_trace_record))
#define WH_TRACE_SIZE	(WH_TRACE_HEAD + WH_TENANT_WORKERS * WH_TRACE_RING)

static inline struct wh_trace_record *wh_trace_ring(struct wh_trace_head *h, unsigned int account)
{
	return (struct wh_trace_record *)((char *)h + WH_TRACE_HEAD + account * WH_TRACE_RING);
}

/* Makes such memory, of a size that nobody can change. Returns its descriptor, or -1 (errno). */
int wh_trace_create(void);
/* Maps such memory; NULL: it is not such memory (errno). */
struct wh_trace_head *wh_trace_map(int fd);

#endif
