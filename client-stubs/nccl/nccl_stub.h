/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the client's libnccl.so.2. */
#ifndef WORMHOLE_NCCL_STUB_H
#define WORMHOLE_NCCL_STUB_H

#include "gen_nccl_client.h"
#include "../handle.h"

/* A function's second name; in the file that defines it. */
#define WH_NCCL_ALIAS(name) \
	extern __typeof__(name) p##name __attribute__((alias(#name)))

/* other.c: what the worker says why ranks cannot meet, once. */
void wh_nccl_explain(struct wh_call *c, size_t fixed, uint64_t size);

/* --- comm.c -------------------------------------------------------------------------- */

struct ncclComm {
	struct wh_handle h;
	uint64_t id;		/* the worker's; 0: it is made when its group ends */
	int ranks, rank;	/* -1: not known */
	int device;		/* as the program numbers them */
};

/* NULL: no memory. */
struct ncclComm *wh_nccl_new(int ranks, int rank, int device);
bool wh_nccl_alive(const struct ncclComm *c);
/* It has the worker's handle now; 0: it has not come to be, and is no more. */
void wh_nccl_made(struct ncclComm *c, uint64_t id);
void wh_nccl_gone(struct ncclComm *c);

/* --- group.c ------------------------------------------------------------------------- */

/*
 * An operation of the thread's group, or alone. @list are the unique ids or ranks that `made`
 * has the number of. *made_comm is set at once, and becomes NULL where the group fails.
 */
ncclResult_t wh_nccl_add(const struct wh_nccl_op *op);
ncclResult_t wh_nccl_add_made(const struct wh_nccl_op *op, const struct wh_nccl_made *made,
			      const void *list, struct ncclComm *comm, ncclComm_t *made_comm);
/* The same wrong thing natively: an error at once, which also spoils the group. */
ncclResult_t wh_nccl_spoil(ncclResult_t res);

#endif
