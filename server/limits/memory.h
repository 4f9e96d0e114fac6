/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the memory limit, for memory.c, pool.c and figure.c. */
#ifndef WORMHOLE_LIMITS_MEMORY_H
#define WORMHOLE_LIMITS_MEMORY_H

#include "limits/charge.h"
#include "limits/limits.h"

#define WH_MEM_BLOCK	(2ull << 20)	/* what the driver takes from a device at a time */
#define WH_MEM_SMALL	(1ull << 20)	/* allocations up to this size share blocks */
#define WH_MEM_POOL_STEP (32ull << 20)	/* NVIDIA's pools and graphs grow by it */
#define WH_MEM_ALIGN	512ull		/* alignment of an allocation inside a block */

/* Rounds up to a multiple of a power of two, or to the largest multiple that there is. */
static inline uint64_t wh_mem_round(uint64_t bytes, uint64_t to)
{
	return bytes > UINT64_MAX - to ? UINT64_MAX & ~(to - 1) : (bytes + to - 1) & ~(to - 1);
}

/* Types of entries that belong to no handle. */
#define WH_MEM_ADDRESS	0u		/* = WH_H_NONE */
#define WH_MEM_MAPPING	0x100u		/* address of a mapping -> handle; `bytes` is its size */
#define WH_MEM_GRAPHS	0x101u		/* memory that graphs' nodes have taken of a device */
#define WH_MEM_STACK	0x102u		/* context -> largest stack of a launched thread */
#define WH_MEM_HEAP	0x103u		/* context that has its heap */
#define WH_MEM_PRINTS	0x104u		/* context -> memory that printf() of its kernels needs */
#define WH_MEM_MALLOCS	0x105u		/* context -> memory that malloc() of its kernels needs */
#define WH_MEM_SHARED	0x107u		/* number of a shared block -> its place */
#define WH_MEM_POOLED	0x106u		/* address of a part of a pool; `object` is the pool */
#define WH_MEM_DESTROYED 0x108u		/* number -> destroyed pool of which parts still live */
#define WH_MEM_NEED	0x200u		/* + device: graph -> memory that its nodes need */

struct wh_mem_entry {
	uint64_t key;
	uint64_t bytes;
	uint64_t ctx;		/* the entry ends with this context; 0: with none */
	uint64_t object;	/* for a mapping or a second handle: the first handle */
	uint32_t type;
	int16_t device;
	uint16_t used;		/* 0: empty; 1: used; 2: was used, so a search goes on */
	uint32_t refs;		/* handles and mappings that keep it */
	/*
	 * for a pool: bytes that programs have of it; for a part: the type of its pool's entry; for
	 * a need: equal to the state's `trims` if the memory is there
	 */
	uint64_t inside;
};

struct wh_mem_device {
	uint64_t small;		/* bytes of small arrays, which share blocks */
	struct wh_mem_shared **shared;	/* blocks.c: blocks by address */
	uint32_t shared_count, shared_room;
	uint64_t extra;		/* charged beyond the tracked sum, by the driver's own figure */
};

/* A kernel that was launched in this context: its next launch takes no memory. */
struct wh_mem_launched {
	const void *function;
	uint64_t ctx;
};
#define WH_MEM_LAUNCHED	256u	/* a power of two; kernels may share a place */

struct wh_mem_state {
	struct wh_mem_entry *table;
	/* size is a power of two; filled counts places that are or were used */
	uint32_t size, filled;
	struct wh_mem_device device[WH_TENANT_DEVICES];
	bool pools_dirty;		/* something was freed to a pool since the last look */
	bool freeing;			/* and so was something in the order of a stream */
	uint64_t pool_step;		/* by how much pools grow, as far as known; 0: not yet */
	uint64_t destroyed;		/* number of pools destroyed so far */
	uint32_t needing;		/* bits of devices on which graphs have memory nodes */
	/* the need of some graph is not known, so no graph is launched */
	bool needs_lost;
	uint32_t trims;			/* how often graphs' memory was given back, plus 1 */
	size_t old_limit;		/* value before cuCtxSetLimit, to undo it */
	struct wh_figure *figure;	/* figure.c; NULL: there is none */
	bool figure_asked;
	struct wh_mem_launched launched[WH_MEM_LAUNCHED];
	bool mallocs;			/* some loaded code may use the heap of a context */
	/* the code that is about to be loaded uses printf(), malloc() */
	bool code_prints, code_mallocs;
	uint64_t figure_tsc;
	uint32_t unseen;		/* calls of libraries since the figure was last read */
};

struct wh_mem_entry *wh_mem_find(struct wh_mem_state *m, uint32_t type, uint64_t key);
/* Returns a new entry with refs 1; NULL when there is no memory for it. */
struct wh_mem_entry *wh_mem_add(struct wh_mem_state *m, uint32_t type, uint64_t key);
void wh_mem_remove(struct wh_mem_state *m, struct wh_mem_entry *e);

/* Take the lock around check and charge. False: it cannot be had, and nothing may be charged. */
bool wh_sums_lock(struct wh_session *s);
void wh_sums_unlock(struct wh_session *s);
/* Change how much the worker holds of a device. Taking more than the quota is refused. */
bool wh_mem_take(struct wh_session *s, int device, uint64_t bytes);
void wh_mem_give(struct wh_session *s, int device, uint64_t bytes);
/* The driver has taken the memory already, so it is charged whatever the quota says. */
void wh_mem_note_taken(struct wh_session *s, int device, uint64_t bytes);
/* The quota of a device; 0: none. */
uint64_t wh_mem_quota(struct wh_session *s, int device);
/* Has any device a quota? If so, memory that cannot be measured is refused. */
bool wh_mem_any_quota(struct wh_session *s);
/* The driver's figure for this process; false: there is none (yet). */
bool wh_mem_driver(struct wh_session *s, int device, uint64_t *bytes);
/* Reads the figure, and charges the part of it that is not tracked. */
bool wh_mem_follow(struct wh_session *s, int device);
/* This call takes memory that is seen only after it. Until its end the server allows for that. */
void wh_mem_taking(struct wh_session *s);
/* Was the figure read so long ago that it says little? */
bool wh_mem_figure_is_old(const struct wh_session *s);
/* Read the driver's figure if it matters for taking `bytes` more. */
void wh_mem_look(struct wh_session *s, int device, uint64_t bytes);
/* Updates every figure that may have become less, and trims what pools keep idle. */
void wh_mem_make_room(struct wh_session *s, int device);

/* blocks.c: a small allocation lies at this address now. */
enum wh_block_found {
	WH_BLOCK_KNOWN,		/* in a block that others share */
	WH_BLOCK_NEW,		/* it is the first one in its block */
	WH_BLOCK_LOST,		/* there is no memory to note it: its block stays charged */
};
enum wh_block_found wh_block_add(struct wh_session *s, int device, uint64_t address,
				 uint64_t bytes);
/* It was freed. True: it was the last in its block, which goes back to the device. */
bool wh_block_drop(struct wh_session *s, int device, uint64_t address, uint64_t bytes);
/* Is there a gap for so many bytes in any block? */
bool wh_block_gap(const struct wh_session *s, int device, uint64_t bytes);
void wh_blocks_free(struct wh_mem_state *m);

/* pool.c: the pool is destroyed. What lives of it stays charged until it is freed. */
void wh_pool_destroyed(struct wh_session *s, struct wh_mem_entry *pool);
/* Memory of a pool is freed. False: the address belongs to no known pool. */
bool wh_pool_freed(struct wh_session *s, CUdeviceptr address);
/*
 * Gives a charge back when the driver has the memory: in the order of a stream, or of any (NULL),
 * that may be later. Until then it is charged as what only the driver's figure knows.
 */
void wh_mem_give_in_order(struct wh_session *s, int device, uint64_t bytes, const CUstream *order);

/* figure.c: the driver's own count of this process's bytes on a device. */
struct wh_figure *wh_figure_open(struct wh_session *s);
void wh_figure_close(struct wh_figure *f);
bool wh_figure_read(struct wh_figure *f, int device, uint64_t *bytes);

#endif
