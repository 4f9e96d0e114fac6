/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers of a tenant write down of its calls while somebody traces it: memory that the
 * server makes with the tenant, workers write and the command reads. It has no pages until
 * something is written. Each worker has a ring, by the number of its account; who reads too
 * slowly misses records and can tell how many. Nothing in it decides about anything: a worker
 * is believed nothing, its trace least of all.
 */
#ifndef WORMHOLE_TENANT_TRACE_H
#define WORMHOLE_TENANT_TRACE_H

#include "tenant/tenant.h"

#define WH_TRACE_MAGIC		0x4543415254485748ULL	/* "HWHTRACE" */
#define WH_TRACE_VERSION	1u
#define WH_TRACE_RECORDS	32768u			/* of a ring; a power of two */
#define WH_TRACE_TEXT		40u

enum wh_trace_kind {
	WH_TRACE_NAME = 1,	/* a piece of a kernel's name, from byte `value` on */
	WH_TRACE_CALL,		/* in the worker, from begin to end */
	WH_TRACE_LAUNCH,	/* the same, into `stream`: kernel `name`, or a graph */
	WH_TRACE_COPY,		/* `value` bytes */
	WH_TRACE_FILL,
	WH_TRACE_WAIT,
	WH_TRACE_HELD,		/* the call was not done: by the share of time it has to wait */
	WH_TRACE_DEVICE,	/* of such a call's work, on the device: by its own clock */
	WH_TRACE_KINDS,
};

enum wh_trace_way { WH_TRACE_NO_WAY, WH_TRACE_TO_DEVICE, WH_TRACE_TO_HOST };

struct wh_trace_record {
	uint64_t number;	/* in its ring, from 1; written last. 0: being written */
	uint64_t begin_ns, end_ns;	/* CLOCK_MONOTONIC */
	uint64_t stream;	/* the client's name for it */
	uint64_t value;
	uint64_t name;		/* of a kernel: whatever WH_TRACE_NAME said of it */
	uint32_t client;	/* its process; 0 in another VM */
	uint32_t call;		/* of the ABI, with the library's number */
	uint16_t slot;
	uint8_t kind, way;
	uint8_t of;		/* of WH_TRACE_DEVICE: what kind of call */
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
	uint32_t on;		/* somebody traces; a worker that finds them late turns it off */
	uint32_t starts;	/* raised by each who begins: names are said again */
	uint64_t until_ns;	/* who traces says every now and then that it lives */
	uint64_t resv[4];
	struct {
		uint64_t next;	/* records that were begun */
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

/* Such memory, of a size that nobody can change: its descriptor, or -1 (errno). */
int wh_trace_create(void);
/* Mapped; NULL: it is none (errno). */
struct wh_trace_head *wh_trace_map(int fd);

#endif
