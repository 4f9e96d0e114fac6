/* SPDX-License-Identifier: Apache-2.0 */
/* A client's communicator, shared by the two files of NCCL. */
#ifndef WORMHOLE_NCCL_GROUP_H
#define WORMHOLE_NCCL_GROUP_H

#include "gen_nccl_server.h"
#include "libraries/nccl_hint.h"

struct wh_nccl_comm {
	ncclComm_t real;	/* NCCL may write it after the call, so it stays in its place */
	int ranks, rank;	/* -1: not known yet */
	uint64_t group;		/* the last group that named it */
	unsigned int users;	/* groups that have it, also while they are away from the session */
	bool closing;		/* one of these groups ends it */
	bool ended;		/* no handle leads to it any more */
};

/* Puts the hint behind the fixed part of a response; returns its bytes there, or 0. */
uint64_t wh_nccl_put_hint(struct wh_frame *f, ncclResult_t res);

/* Returns NULL if no communicator has that number. */
struct wh_nccl_comm *wh_nccl_find(struct wh_session *s, uint64_t id);
bool wh_nccl_measure(const struct wh_nccl_functions *l, struct wh_nccl_comm *c);

#endif
