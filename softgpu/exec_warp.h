/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running state: machine, block, warp. A warp is 32 lanes with their
 * registers side by side. Lanes that are at the same place of the program form
 * a group; there is one group unless lanes have diverged.
 */
#ifndef WORMHOLE_SOFTGPU_EXEC_WARP_H
#define WORMHOLE_SOFTGPU_EXEC_WARP_H

#include "exec.h"
#include "exec_insn.h"
#include "ptx.h"
#include "ptx_int.h"

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
	uint16_t depth;		/* of calls */
	uint8_t state;
	uint8_t bar;		/* GROUP_BAR: which one */
};

struct cta;
struct exec_machine;

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
	struct group g[WARP_LANES];
	uint32_t tid[3][WARP_LANES];
};

#define NBARRIERS 16

struct barrier {
	uint32_t want;		/* threads; 0 = all of the block */
	uint32_t arrived;	/* by bar.arrive, without the waiting ones */
	uint32_t popc;		/* bar.red: lanes with a true predicate */
	uint32_t voted;
	bool used;
};

struct cta {
	uint8_t *shared;
	uint32_t shared_size;
	uint32_t id[3];
	uint32_t nwarps;
	struct warp *warps;
	struct barrier bar[NBARRIERS];
	uint32_t live;		/* threads that have not exited */
	bool running;
};

/* A growing buffer kept between launches. */
struct scratch {
	uint8_t *p;
	size_t size;
};

#define NRANGES 8

struct exec_machine {
	const struct exec_launch *l;
	const struct ptx_image *img;
	const struct ptx_code *code;
	struct exec_fault fault;
	struct exec_range range[NRANGES];
	uint32_t next_range;
	uint32_t dyn_base;	/* where dynamic shared memory starts */
	uint32_t shared_size, local_size, regs_size;
	uint32_t nthreads, nwarps;
	uint64_t blocks_done;
	int64_t budget;		/* jumps until the warp must let others run */
	struct scratch ctas, warps, regs, local, shared, text;
};

/* Records the fault of one lane; returns 1. */
int exec_fault(struct warp *w, enum exec_status st, const struct insn *in,
	       uint32_t lane, uint64_t addr);

/* The allocation around a device address, or NULL. */
const struct exec_range *exec_find(struct exec_machine *m, uint64_t addr);

/* Host address of [addr, addr + size) in the generic space, or NULL. */
uint8_t *exec_generic(struct warp *w, uint32_t lane, uint64_t addr,
		      uint64_t size, bool write);

/* exec_sync.c */
int exec_barrier(struct warp *w, struct group *g, const struct insn *in,
		 uint32_t mask);
int exec_sync(struct warp *w, struct group *g, const struct insn *in,
	      uint32_t mask);
void exec_barriers_recheck(struct cta *cta);
bool exec_sync_waiting(struct warp *w);

/* exec_call.c */
int exec_call(struct warp *w, struct group *g, const struct insn *in,
	      uint32_t mask);
int exec_return(struct warp *w, struct group *g, uint32_t mask);

/* exec_print.c */
int exec_vprintf(struct warp *w, const struct call_site *s, uint32_t mask,
		 const struct insn *in);
int exec_assert(struct warp *w, const struct call_site *s, uint32_t mask,
		const struct insn *in);

/* exec_group.c */
struct group *group_split(struct warp *w, struct group *g, uint32_t mask);
void group_remove(struct warp *w, struct group *g);
void warp_use_group(struct warp *w, int32_t i);
void group_join(struct warp *w);

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
