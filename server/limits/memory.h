/* SPDX-License-Identifier: Apache-2.0 */
/* Between memory.c, pool.c and figure.c: the state of the memory limit. */
#ifndef WORMHOLE_LIMITS_MEMORY_H
#define WORMHOLE_LIMITS_MEMORY_H

#include "limits/charge.h"
#include "limits/limits.h"

#define WH_MEM_BLOCK	(2ull << 20)	/* what the driver takes from a device at a time */
#define WH_MEM_SMALL	(1ull << 20)	/* up to this, allocations share blocks */
#define WH_MEM_POOL_STEP (32ull << 20)	/* by which NVIDIA's pools and graphs' memory grow */
#define WH_MEM_ALIGN	512ull		/* of an allocation inside of a block */

/* Up to a multiple of a power of two; what is too much stays the most there is. */
static inline uint64_t wh_mem_round(uint64_t bytes, uint64_t to)
{
	return bytes > UINT64_MAX - to ? UINT64_MAX & ~(to - 1) : (bytes + to - 1) & ~(to - 1);
}

/* Types of entries that are no handle's. */
#define WH_MEM_ADDRESS	0u		/* = WH_H_NONE */
#define WH_MEM_MAPPING	0x100u		/* address of a mapping -> handle, in `bytes` its size */
#define WH_MEM_GRAPHS	0x101u		/* what graphs' memory nodes have taken of a device */
#define WH_MEM_STACK	0x102u		/* of a context -> largest stack of a launched thread */
#define WH_MEM_HEAP	0x103u		/* of a context that has its heap, */
#define WH_MEM_PRINTS	0x104u		/* what printf() of its kernels needs, */
#define WH_MEM_MALLOCS	0x105u		/* and malloc() */
#define WH_MEM_SHARED	0x107u		/* number of a shared block -> its place */
#define WH_MEM_POOLED	0x106u		/* address -> pool in `object`, of which it is a part */
#define WH_MEM_DESTROYED 0x108u		/* a number -> a pool of which parts live on */
#define WH_MEM_NEED	0x200u		/* + device: graph -> what its memory nodes need there */

struct wh_mem_entry {
	uint64_t key;
	uint64_t bytes;
	uint64_t ctx;		/* ends with this context; 0: with none */
	uint64_t object;	/* of a mapping and of a second handle: the first handle */
	uint32_t type;
	int16_t device;
	uint16_t used;		/* 0: empty; 1; 2: was used, the search goes on */
	uint32_t refs;		/* handles and mappings that keep it */
	uint64_t inside;	/* of a pool: bytes that programs have of it; of a part: its pool's
				 * type; of a need: = the state's trims, it is there
				 */
};

struct wh_mem_device {
	uint64_t small;		/* bytes of arrays in blocks that they share */
	struct wh_mem_shared **shared;	/* blocks.c: blocks of addresses */
	uint32_t shared_count, shared_room;
	uint64_t extra;		/* charged beyond what is tracked, by the driver's own figure */
};

/* A kernel that was launched in this context: its next launch takes nothing. */
struct wh_mem_launched {
	const void *function;
	uint64_t ctx;
};
#define WH_MEM_LAUNCHED	256u	/* a power of two; who shares a place is only asked again */

struct wh_mem_state {
	struct wh_mem_entry *table;
	uint32_t size, filled;		/* a power of two; used or once used */
	struct wh_mem_device device[WH_TENANT_DEVICES];
	bool pools_dirty;		/* something was freed to a pool since the last look */
	uint64_t pool_step;		/* by which pools grow, as far as is known; 0: not yet */
	uint64_t destroyed;		/* pools so far that were, with parts living */
	uint32_t needing;		/* bits of devices that memory nodes of graphs are on */
	bool needs_lost;		/* of some graph it is not known: none is launched */
	uint32_t trims;			/* how often graphs' memory was given back, plus 1 */
	size_t old_limit;		/* of cuCtxSetLimit, to undo it */
	struct wh_figure *figure;	/* figure.c; NULL: not there */
	bool figure_asked;
	struct wh_mem_launched launched[WH_MEM_LAUNCHED];
	bool mallocs;			/* code that was loaded may use the heap of a context */
	bool code_prints, code_mallocs;	/* the code that is about to be loaded */
	uint64_t figure_tsc;
	uint32_t unseen;		/* calls of libraries since the figure was read */
};

struct wh_mem_entry *wh_mem_find(struct wh_mem_state *m, uint32_t type, uint64_t key);
/* A new entry with refs 1; NULL when there is no memory for it. */
struct wh_mem_entry *wh_mem_add(struct wh_mem_state *m, uint32_t type, uint64_t key);
void wh_mem_remove(struct wh_mem_state *m, struct wh_mem_entry *e);

/* Around check and charge; false: not to be had, and nothing may be charged. */
bool wh_sums_lock(struct wh_session *s);
void wh_sums_unlock(struct wh_session *s);
/* Change what the worker holds of a device. Taking is refused beyond the quota. */
bool wh_mem_take(struct wh_session *s, int device, uint64_t bytes);
void wh_mem_give(struct wh_session *s, int device, uint64_t bytes);
/* The driver has it already: charged whatever the quota says. */
void wh_mem_note_taken(struct wh_session *s, int device, uint64_t bytes);
/* Of a device; 0 for none. */
uint64_t wh_mem_quota(struct wh_session *s, int device);
/* Has any device one? What cannot be measured is refused then. */
bool wh_mem_any_quota(struct wh_session *s);
/* The driver's figure for this process; false: there is none (yet). */
bool wh_mem_driver(struct wh_session *s, int device, uint64_t *bytes);
/* Read it, and charge what it has beyond what is tracked. */
bool wh_mem_follow(struct wh_session *s, int device);
/* What this call takes is seen behind it: until its end the server allows for that. */
void wh_mem_taking(struct wh_session *s);
/* Was it read so long ago that it says little? */
bool wh_mem_figure_is_old(const struct wh_session *s);
/* Read the driver's figure if it matters for taking `bytes` more. */
void wh_mem_look(struct wh_session *s, int device, uint64_t bytes);
/* Bring everything up to date that may have become less; trim what pools keep idle. */
void wh_mem_make_room(struct wh_session *s, int device);

/* blocks.c: a small allocation lies at this address now. */
enum wh_block_found {
	WH_BLOCK_KNOWN,		/* in a block that others share */
	WH_BLOCK_NEW,		/* the first in its block */
	WH_BLOCK_LOST,		/* no memory to keep it: its block stays charged */
};
enum wh_block_found wh_block_add(struct wh_session *s, int device, uint64_t address,
				 uint64_t bytes);
/* It was freed. True: the last in its block, which goes back to the device. */
bool wh_block_drop(struct wh_session *s, int device, uint64_t address, uint64_t bytes);
/* Is there a gap for so many bytes? */
bool wh_block_gap(const struct wh_session *s, int device, uint64_t bytes);
void wh_blocks_free(struct wh_mem_state *m);

/* pool.c: the pool is destroyed; what lives of it stays charged until it is freed. */
void wh_pool_destroyed(struct wh_session *s, struct wh_mem_entry *pool);
/* Memory of a pool is freed; false: it is nobody's known to be. */
bool wh_pool_freed(struct wh_session *s, CUdeviceptr address);

/* figure.c: the driver's own count of this process's bytes on a device. */
struct wh_figure *wh_figure_open(struct wh_session *s);
void wh_figure_close(struct wh_figure *f);
bool wh_figure_read(struct wh_figure *f, int device, uint64_t *bytes);

#endif
