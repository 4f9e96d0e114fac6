/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running state: machine, block, warp. A warp is 32 lanes with their
 * registers side by side. Lanes that are at the same place of the program form
 * a group; there is one group unless lanes have diverged.
 */
#ifndef WORMHOLE_SOFTGPU_EXEC_WARP_H
#define WORMHOLE_SOFTGPU_EXEC_WARP_H

#include "exec.h"
#include "../ptx/insn.h"

enum group_state {
	GROUP_READY,
	GROUP_BAR,	/* waits at a barrier of the block */
	GROUP_SYNC,	/* waits for other lanes of its member mask */
};

struct group {
	uint32_t mask;
	uint32_t pc;
	uint32_t rbase;		/* frame in the register stack */
	uint32_t lbase;		/* frame in local memory */
	uint32_t fn;		/* index of the function */
	uint16_t depth;		/* of calls */
	uint8_t state;
	uint8_t bar;		/* GROUP_BAR: which one */
};

struct cta;
struct exec_machine;

enum access_kind {
	ACCESS_SCATTER,
	ACCESS_LINEAR,		/* all lanes, one after the other */
	ACCESS_UNIFORM,		/* all lanes at one address */
	ACCESS_GROUPS,		/* as access.group says of each 8 lanes */
};

#define GROUP_LANES 8

struct access {
	uint64_t a[WARP_LANES];	/* relative to base */
	uintptr_t base;
	enum access_kind kind;
	uint8_t group[WARP_LANES / GROUP_LANES];	/* enum access_kind */
	bool global;		/* others may see it: atomics must be atomic */
};

/* What the addresses in a register of 32 bits look like (insn.slot). */
struct slot {
	uint32_t of[WARP_LANES];	/* the addresses that all this was found for */
	uint32_t bytes;		/* ... and of how many each; 0: the slot is empty */
	uint32_t any;		/* all or-ed */
	uint32_t hi;		/* the highest */
	struct access ac;	/* the base is set by each load */
};

#define NSTRIDES 8

struct warp {
	uint8_t *bank[2];	/* current frame; constants */
	uint32_t lbase;		/* of the current group */
	uint32_t cc;		/* carry flags, a bit per lane */
	uint32_t live;		/* lanes that have not exited */
	uint32_t index;		/* in its block */
	struct cta *cta;
	struct exec_machine *m;
	uint8_t *regs;		/* register stack */
	uint32_t regs_size;
	uint8_t *local;		/* lane 0; the others follow at local_size */
	int32_t ngroups, cur;
	uint32_t spins;		/* slices spent with diverged lanes */
	bool turns;		/* groups run in turns, not the first one first */
	struct group g[WARP_LANES];
	uint32_t tid[3][WARP_LANES];
	struct slot slot[NSLOTS];
	uint64_t went[NSTRIDES];	/* where loads went the last time, by a hash */
};

#define NBARRIERS 16

struct barrier {
	uint32_t want;		/* threads; 0 = all of the block that live */
	uint32_t arrived;	/* by bar.arrive */
	uint32_t waiting;	/* lanes that wait */
	uint32_t popc;		/* bar.red: lanes with a true predicate */
};

struct cta {
	uint8_t *shared;
	uint32_t shared_size;
	uint32_t id[3];
	uint32_t nwarps;
	struct warp *warps;
	struct barrier bar[NBARRIERS];
	uint32_t used;		/* a bit per barrier where somebody has arrived */
	uint32_t live;		/* threads that have not exited */
};

/* A growing buffer kept between launches. */
struct scratch {
	uint8_t *p;
	size_t size;
};

#define NRANGES 8

/* The address of this is what %envreg1 and 2 say in cooperative launches. */
struct grid_workspace {
	uint32_t size, barrier;
	uint32_t pad[14];
};

struct exec_pool;

struct exec_machine {
	const struct exec_launch *l;
	struct exec_pool *pool;	/* who shares the blocks; nullable */
	bool pooled;		/* this launch uses it */
	uint64_t block;		/* which one runs then */
	const struct ptx_image *img;
	const struct ptx_code *code;
	struct exec_fault fault;
	struct exec_range range[NRANGES];
	uint32_t next_range;
	uint32_t dyn_base;	/* where dynamic shared memory starts */
	uint32_t shared_size, local_size, regs_size;
	uint32_t nthreads, nwarps;
	uint64_t blocks_done;
	int32_t budget;		/* jumps until the warp must let others run */
	struct scratch ctas, warps, regs, local, shared, text;
	struct grid_workspace ws;
};

/* Records the fault of one lane; returns 1. */
int exec_fault(struct warp *w, enum exec_status st, const struct insn *in,
	       uint32_t lane, uint64_t addr);

/* The allocation around a device address, or NULL. */
const struct exec_range *exec_find(struct exec_machine *m, uint64_t addr);

/* Host address of [addr, addr + size) in the generic space, or NULL. */
uint8_t *exec_generic(struct warp *w, uint32_t lane, uint64_t addr,
		      uint64_t size, bool write);

bool exec_scratch(struct scratch *s, size_t size);

/* What a warp did in its turn. */
enum run {
	RUN_ON,		/* goes on (inside the scheduler) */
	RUN_PICK,	/* another group may be next */
	RUN_BLOCKED,	/* all its lanes wait, or have exited */
	RUN_YIELD,	/* its slice is used up */
	RUN_FAULT,
};

/* group.c: the lanes of a warp. */
/* @moved is set if any lane ran. */
enum run warp_run(struct warp *w, bool *moved);
void warp_start(struct warp *w, const struct ptx_code *code, uint32_t live);
struct group *group_split(struct warp *w, struct group *g, uint32_t mask);
void group_remove(struct warp *w, struct group *g);
/* Lanes of @g that are not in @mask stay behind at the next instruction. */
void group_keep(struct warp *w, struct group *g, uint32_t mask);

/* barrier.c */
enum run exec_barrier(struct warp *w, struct group *g, const struct insn *in,
		      uint32_t mask);
void exec_barriers_recheck(struct cta *cta);

/* sync.c */
enum run exec_sync(struct warp *w, struct group *g, const struct insn *in,
		   uint32_t mask);
/* After lanes have exited: maybe nobody is missing any more. */
bool exec_sync_retry(struct warp *w);

/* call.c */
enum run exec_call(struct warp *w, struct group *g, const struct insn *in,
		   uint32_t mask);
enum run exec_return(struct warp *w, struct group *g, uint32_t mask);

/* print.c */
int exec_vprintf(struct warp *w, const struct call_site *s,
		 const struct insn *in, uint32_t mask);
int exec_assert(struct warp *w, const struct call_site *s,
		const struct insn *in, uint32_t mask);

/* The registers of a group that need not be the current one. */
static inline uint8_t *group_bank(struct warp *w, const struct group *g)
{
	return w->regs + g->rbase;
}

static inline uint8_t *lane_local(struct warp *w, uint32_t lane)
{
	return w->local + (size_t)lane * w->m->local_size;
}

static inline void *src(const struct warp *w, int32_t o)
{
	return w->bank[o & 1] + (o & ~1);
}

static inline void *dst(const struct warp *w, int32_t o)
{
	return w->bank[0] + o;
}

#endif
