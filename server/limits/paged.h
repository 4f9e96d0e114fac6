/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large allocations of a tenant that may be parked (daemon/room.c). They are made of the driver's
 * virtual memory management: the program's address is a reservation, which stays when the memory
 * behind it leaves the device. So the worker itself moves it to the host and back, at the bus's
 * rate. paged.c owns the allocations, paged_calls.c what a program sees of them, paging.c their
 * way to the host, and pinning.c their place there. All is for the worker of a server that parks
 * tenants.
 */
#ifndef WORMHOLE_LIMITS_PAGED_H
#define WORMHOLE_LIMITS_PAGED_H

#include <pthread.h>

#include "state/state.h"

#define WH_PAGED_LEAST	(2ull << 20)	/* smaller allocations stay the driver's own */

/* For the worker, when it has its tenant: allocations are made so from now on. False: no memory. */
bool wh_paged_begin(struct wh_session *s);
/* May the server park this worker's tenant? */
bool wh_paged_moves(const struct wh_session *s);
/* The context `ctx`, in the client's world, has ended, and what was allocated in it. */
void wh_paged_context_gone(struct wh_session *s, uint64_t ctx);
/*
 * For a thread that serves no slot, while no call is inside: carries out an order (WH_PAGE_*) and
 * says in the account how it went. On WH_PAGING_FULL and WH_PAGING_UNABLE all is as it was.
 */
void wh_paging_obey(struct wh_session *s, uint32_t order);
/* For a thread of its own, which does not return: makes the place in the host when told to. */
void wh_paging_ahead(struct wh_session *s);

/* --- For limits/ alone ------------------------------------------------------------------- */

struct wh_paged_range {
	uint64_t addr;
	uint64_t bytes;			/* as the program asked for */
	uint64_t size;			/* mapped: whole pages of the device */
	CUmemGenericAllocationHandle handle;	/* 0: another worker's memory, or it is away */
	CUcontext real;			/* the context that it was allocated in */
	uint64_t ctx;			/* the same in the client's world */
	uint64_t id;			/* never used twice */
	int device;
	uint64_t host;			/* where in the host's memory it is while it is away */
	bool away;			/* its memory is in the host */
	bool goes;			/* it leaves by the order that is carried out */
	bool was_away;			/* it came back last */
	bool shared;			/* others may have it open: it stays on the device */
	bool foreign;			/* it is another worker's, opened here */
};

/* Host memory, in parts of WH_PAGED_PART bytes. A part stays until the worker ends. */
#define WH_PAGED_PART	(64ull << 20)
struct wh_paged_part {
	char *at;
	bool filled;			/* it has its pages */
	bool pinned;
	bool pending;			/* a thread makes it, or will */
};

#define WH_PINNING_THREADS	8	/* at most */

/* Threads that make parts, while there are some (pinning.c). */
struct wh_pinning {
	CUcontext ctx;
	size_t next, end;		/* the parts from `next' on nobody has begun with */
	pthread_t thread[WH_PINNING_THREADS];
	size_t n;
	pthread_cond_t settled;		/* a part is not pending any more */
	size_t wanted;			/* so many parts are to be pinned at the end */
	CUresult why;			/* why the last one was not that was not */
};

struct wh_paged {
	struct wh_driver real;		/* the driver's own functions */
	pthread_mutex_t lock;		/* around the table; calls allocate side by side */
	uint32_t hidden;		/* bit i: device i is not the tenant's */
	struct wh_paged_range *range;	/* by address */
	size_t n, room;
	uint64_t granularity[WH_TENANT_DEVICES];	/* 0: not asked yet */
	uint64_t ids;
	pthread_mutex_t place_lock;	/* around what follows, but for a part's own words */
	struct wh_paged_part **part;
	size_t parts;
	struct wh_pinning team;
};

/* Replaces the functions that meet such memory (paged_calls.c). */
void wh_paged_replace(struct wh_session *s);
/*
 * With the lock: the range that an address lies in, NULL: none; and whether any lies in or across
 * these addresses.
 */
struct wh_paged_range *wh_paged_find(struct wh_paged *p, uint64_t addr);
bool wh_paged_overlaps(struct wh_paged *p, uint64_t addr, uint64_t size);
/* Makes an allocation in the current context. The caller holds no lock. */
CUresult wh_paged_take(struct wh_session *s, CUdeviceptr *out, uint64_t bytes);
/* Waits for the work of its context, and frees the range at this address. */
CUresult wh_paged_give(struct wh_session *s, uint64_t addr);
/* The same, where nothing uses the range any more. */
CUresult wh_paged_end(struct wh_paged *p, uint64_t addr);
/* Gives a range memory of its device at its address. CUDA_ERROR_OUT_OF_MEMORY: there is no room. */
CUresult wh_paged_fill(struct wh_paged *p, struct wh_paged_range *r);
/* Takes the memory from a range, which keeps its address. */
CUresult wh_paged_empty(struct wh_paged *p, struct wh_paged_range *r);

/*
 * Of pinning.c. Threads begin to make the place of so many bytes, in this context. Then part i is
 * there for copies, NULL: there is none; who asks waits for it, or makes it himself in the current
 * context. At the end no thread is left, and the log says what could not be pinned.
 */
void wh_pinning_begin(struct wh_paged *p, CUcontext ctx, uint64_t bytes);
char *wh_pinning_part(struct wh_paged *p, size_t i);
void wh_pinning_end(struct wh_paged *p);
/* Makes the pages of so many bytes, as long as the word `order' has this value. */
void wh_pinning_ahead(struct wh_paged *p, uint64_t bytes, const uint32_t *order, uint32_t value);

/*
 * Of ipc.c: is the address in such an allocation of ours, and from where to where? Then *fd is a
 * descriptor of it, which another worker opens by wh_paged_import().
 */
bool wh_paged_is(struct wh_session *s, uint64_t addr, uint64_t *base, uint64_t *bytes);
CUresult wh_paged_export(struct wh_session *s, uint64_t addr, int *fd);
/* Maps memory of another worker. The current context's device has access to it. */
CUresult wh_paged_import(struct wh_session *s, int fd, int device, uint64_t size,
			 CUdeviceptr *out);

#endif
