/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running state: machine, block, warp. A warp is 32 lanes whose registers are side by
 * side. Lanes at the same place of the program form a group. There is one group unless
 * lanes have diverged.
 */
#ifndef WORMHOLE_SOFTGPU_EXEC_WARP_H
#define WORMHOLE_SOFTGPU_EXEC_WARP_H

#include "exec.h"
#include "../ptx/insn.h"

enum group_state {
	GROUP_READY,
	GROUP_BAR,	/* waits at a barrier of the block */
	GROUP_SYNC,	/* waits for other lanes of its member mask */
	GROUP_MATRIX,	/* waits for all other lanes at this instruction */
	GROUP_CLUSTER,	/* waits at the barrier of the cluster */
	GROUP_WARPGROUP, /* waits for the other warps of the warpgroup at this instruction */
};

struct group {
	uint32_t mask;
	uint32_t pc;
	uint32_t rbase;		/* the frame's place in the register stack */
	uint32_t lbase;		/* the frame's place in local memory */
	uint32_t fn;		/* index of the function */
	uint16_t depth;		/* of nested calls */
	uint8_t state;
	uint8_t bar;		/* the barrier, in state GROUP_BAR */
};

struct cta;
struct exec_machine;

enum access_kind {
	ACCESS_SCATTER,
	ACCESS_LINEAR,		/* all lanes, one after the other */
	ACCESS_UNIFORM,		/* all lanes at one address */
	ACCESS_GROUPS,		/* access.group has the kind of each 8 lanes */
};

#define GROUP_LANES 8

struct access {
	uint64_t a[WARP_LANES];	/* addresses relative to base */
	uintptr_t base;
	enum access_kind kind;
	uint8_t group[WARP_LANES / GROUP_LANES];	/* enum access_kind */
	bool global;		/* other threads may see it: atomics must be atomic */
};

/* Facts about the addresses in a 32-bit register (insn.slot). */
struct slot {
	uint32_t of[WARP_LANES];	/* the addresses for which these facts were found */
	uint32_t bytes;		/* bytes of each access; 0: the slot is empty */
	uint32_t any;		/* OR of all addresses */
	uint32_t hi;		/* the highest address */
	struct access ac;	/* the base is set by each load */
};

#define NSTRIDES 8

struct warp {
	uint8_t *bank[2];	/* current frame, and constants */
	uint32_t lbase;		/* local frame of the current group */
	uint32_t cc;		/* carry flags, a bit per lane */
	uint32_t live;		/* lanes that have not exited */
	uint32_t arrived;	/* lanes that are waited for no more at the cluster's barrier */
	uint32_t passed;	/* lanes that did arrive there and need not wait any more */
	uint32_t index;		/* number of the warp in its block */
	struct cta *cta;
	struct exec_machine *m;
	uint8_t *regs;		/* register stack */
	uint32_t regs_size;
	uint8_t *local;		/* of lane 0; the other lanes follow at local_size */
	int32_t ngroups, cur;
	uint32_t spins;		/* slices spent with diverged lanes */
	bool turns;		/* groups run in turns instead of by depth and address */
	struct group g[WARP_LANES];
	uint32_t tid[3][WARP_LANES];
	struct slot slot[NSLOTS];
	uint64_t went[NSTRIDES];	/* last load addresses, by instruction hash */
};

#define NBARRIERS 16

struct barrier {
	uint32_t want;		/* threads; 0 = all living threads of the block */
	uint32_t arrived;	/* threads counted by bar.arrive */
	uint32_t waiting;	/* lanes that wait */
	uint32_t popc;		/* bar.red: lanes with a true predicate */
};

/* Blocks that are present together and reach each other's shared memory. */
struct cluster {
	struct cta *ctas;	/* by rank; exec_machine.ncluster of them */
	uint32_t id[3];
	uint32_t live;		/* threads that have not exited */
	uint32_t arrived;	/* those of them that have arrived at the barrier */
};

struct cta {
	uint8_t *shared;
	uint32_t shared_size;
	uint32_t id[3];
	uint32_t nwarps;
	struct warp *warps;
	struct barrier bar[NBARRIERS];
	uint32_t used;		/* a bit per barrier at which a thread has arrived */
	uint32_t live;		/* threads that have not exited */
	struct cluster *cluster;
	uint32_t rank;		/* in the cluster */
	uint64_t number;	/* of the blocks that this thread has started */
};

/* A growing buffer that is kept between launches. */
struct scratch {
	uint8_t *p;
	size_t size;
};

#define NRANGES 8

/* %envreg1 and %envreg2 hold the address of this in cooperative launches. */
struct grid_workspace {
	uint32_t size, barrier;
	uint32_t pad[14];
};

struct exec_pool;

struct exec_machine {
	const struct exec_launch *l;
	struct exec_pool *pool;	/* threads that share the blocks; may be NULL */
	bool pooled;		/* this launch uses the pool */
	uint64_t turn;		/* the cluster that this thread runs then */
	const struct ptx_image *img;
	const struct ptx_code *code;
	struct exec_fault fault;
	struct exec_range range[NRANGES];
	uint32_t next_range;
	uint32_t dyn_base;	/* where dynamic shared memory starts */
	uint32_t shared_size, local_size, regs_size;
	uint32_t nthreads, nwarps;
	uint32_t cluster[3], ncluster;	/* shape of a cluster, and its blocks: at least 1 */
	bool explicit_cluster;	/* the launch or the kernel gives a shape */
	uint64_t started;	/* blocks */
	int32_t budget;		/* jumps until the warp must let others run */
	struct scratch clusters, ctas, warps, regs, local, shared, text;
	struct grid_workspace ws;
};

/* Records the fault of one lane; returns 1. */
int exec_fault(struct warp *w, enum exec_status st, const struct insn *in,
	       uint32_t lane, uint64_t addr);

/* Finds the allocation that holds a device address, or returns NULL. */
const struct exec_range *exec_find(struct exec_machine *m, uint64_t addr);

/* Returns the host address of [addr, addr + size) in the generic space, or NULL. */
uint8_t *exec_generic(struct warp *w, uint32_t lane, uint64_t addr,
		      uint64_t size, bool write);

/*
 * Returns the host address of [at, at + size) in the shared memory of the cluster, or NULL. The
 * bits from CLUSTER_SHIFT on are a block's rank plus 1, or 0 for the block that asks.
 */
uint8_t *exec_shared(const struct warp *w, uint64_t at, uint64_t size);

bool exec_scratch(struct scratch *s, size_t size);

/* What a warp reports after its turn. */
enum run {
	RUN_ON,		/* continue (inside the scheduler) */
	RUN_PICK,	/* another group may be next */
	RUN_BLOCKED,	/* all lanes wait or have exited */
	RUN_YIELD,	/* the slice is used up */
	RUN_FAULT,
};

/* group.c: the lanes of a warp. */
/* Sets @moved if any lane ran. */
enum run warp_run(struct warp *w, bool *moved);
void warp_start(struct warp *w, const struct ptx_code *code, uint32_t live);
struct group *group_split(struct warp *w, struct group *g, uint32_t mask);
void group_remove(struct warp *w, struct group *g);
bool group_same_place(const struct group *a, const struct group *b);
/* Lanes of @g that are not in @mask stay behind at the next instruction. */
void group_keep(struct warp *w, struct group *g, uint32_t mask);

/* barrier.c */
enum run exec_barrier(struct warp *w, struct group *g, const struct insn *in,
		      uint32_t mask);
void exec_barriers_recheck(struct cta *cta);

/* cluster.c */
enum run exec_cluster_barrier(struct warp *w, struct group *g, const struct insn *in,
			      uint32_t mask);
/* Lanes have exited: nobody waits for them any more. */
void exec_cluster_exit(struct warp *w, uint32_t mask);

/* sync.c */
enum run exec_sync(struct warp *w, struct group *g, const struct insn *in,
		   uint32_t mask);
/* Runs an instruction of a matrix for all living lanes at once. */
enum run exec_matrix(struct warp *w, struct group *g, const struct insn *in,
		     uint32_t mask);
/* Does the same for the four warps of a warpgroup. */
enum run exec_warpgroup(struct warp *w, struct group *g, const struct insn *in, uint32_t mask);
/* Call this after lanes have exited: a waiting group may be complete now. */
bool exec_sync_retry(struct warp *w);

/* call.c */
enum run exec_call(struct warp *w, struct group *g, const struct insn *in,
		   uint32_t mask);
enum run exec_return(struct warp *w, struct group *g, uint32_t mask);

/* print.c */
int exec_vprintf(struct warp *w, const struct call_site *s,
		 const struct insn *in, uint32_t mask);
int exec_condition(struct warp *w, const struct call_site *s,
		   const struct insn *in, uint32_t mask);
int exec_assert(struct warp *w, const struct call_site *s,
		const struct insn *in, uint32_t mask);

/* Returns the registers of a group, which need not be the current one. */
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
