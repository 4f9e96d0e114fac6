/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libnccl.so.2. */
#ifndef WORMHOLE_NCCL_STUB_H
#define WORMHOLE_NCCL_STUB_H

#include "gen_nccl_client.h"
#include "../handle.h"

/* Defines a function's second name, in the file that defines the function. */
#define WH_NCCL_ALIAS(name) \
	extern __typeof__(name) p##name __attribute__((alias(#name)))

/* other.c: prints once the worker's reason why ranks cannot meet. */
void wh_nccl_explain(struct wh_call *c, size_t fixed, uint64_t size);

/* --- comm.c -------------------------------------------------------------------------- */

struct ncclComm {
	struct wh_handle h;
	uint64_t id;		/* in the worker; 0: it is made when its group ends */
	int ranks, rank;	/* -1: not known */
	int device;		/* as the program numbers them */
};

/* Returns NULL if there is no memory. */
struct ncclComm *wh_nccl_new(int ranks, int rank, int device);
bool wh_nccl_alive(const struct ncclComm *c);
/* The communicator has the worker's handle now. id 0: it was not made, and is freed. */
void wh_nccl_made(struct ncclComm *c, uint64_t id);
void wh_nccl_gone(struct ncclComm *c);

/* --- group.c ------------------------------------------------------------------------- */

/*
 * Adds an operation to the thread's group, or makes it alone. @list has the unique ids or
 * ranks; `made` has their number. *made_comm is set at once, and becomes NULL if the group
 * fails.
 */
ncclResult_t wh_nccl_add(const struct wh_nccl_op *op);
ncclResult_t wh_nccl_add_made(const struct wh_nccl_op *op, const struct wh_nccl_made *made,
			      const void *list, struct ncclComm *comm, ncclComm_t *made_comm);
/* Returns an error at once, which also spoils the group, as natively. */
ncclResult_t wh_nccl_spoil(ncclResult_t res);

#endif
