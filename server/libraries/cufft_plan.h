/* SPDX-License-Identifier: Apache-2.0 */
/* A client's cuFFT plan, shared by the two files of cuFFT. */
#ifndef WORMHOLE_CUFFT_PLAN_H
#define WORMHOLE_CUFFT_PLAN_H

#include "gen_cufft_server.h"

#define TYPES	CUFFT_CB_UNDEFINED	/* of callbacks; the first half are those that load */

/* Bytes from the first element to the end of the last one, for each side. */
struct extents {
	uint64_t side[2];
	bool gaps[2];			/* some of these bytes are of no element */
};

struct plan {
	cufftHandle real;
	bool made;
	bool broken;			/* it could not be made */
	struct extents reach;		/* valid once the plan is made */
	struct extents next;		/* reach of the call that is about to make the plan */
	uint64_t work[WH_CUFFT_GPUS];	/* bytes of the plan's work area on each GPU */
	uint64_t stream;		/* the stream that the library was told */
	uint64_t area;
	bool own_area;
	bool allocate;
	bool callback[TYPES];
	struct code *code[TYPES];	/* what the library was given, which it may read later */
	uint32_t gpus;			/* 0: the client has not said which */
	int32_t gpu[WH_CUFFT_GPUS];
	uint32_t users;			/* descriptors that were made with it */
	bool ended;			/* no handle leads to it any more */
};

struct plan *wh_cufft_plan(struct wh_session *s, const struct wh_obj_cufftHandle *o);
/* Ends a plan to which no handle leads, once no descriptor needs it. */
cufftResult wh_cufft_plan_end(const struct wh_cufft_functions *l, struct plan *p);

/* Are there as many sizes in the request as the library will write, and may the plan be used? */
cufftResult wh_cufft_sizes(struct wh_session *s, const struct wh_obj_cufftHandle *o,
			   uint64_t count);
/* May the library work on the plan's GPUs? */
cufftResult wh_cufft_may_run(struct wh_session *s, const struct plan *p);

#endif
