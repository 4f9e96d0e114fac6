/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of the hardware, which the worker's CUPTI counts if the administrator has allowed it:
 * one message for all functions (cuda-api/wire_cupti.h), and what their files share.
 */
#ifndef WORMHOLE_CUPTI_COUNTERS_H
#define WORMHOLE_CUPTI_COUNTERS_H

#include "cupti_stub.h"

#pragma GCC visibility push(hidden)

/* A call, with all that the program has given to it. */
struct cu_count {
	const char *function;		/* the program called this one */
	struct wh_req_whCuptiCounters q;	/* without its head and lengths */
	const char *const *name;	/* q.names of them */
	const char *text;		/* or NULL */
	const void *image[WH_CUPTI_IMAGES];	/* or NULL */
	/* The answer. */
	struct wh_rsp_whCuptiCounters r;
	size_t room;			/* for what comes back; more is asked for if it is longer */
	char *back;			/* r.bytes of it; the caller frees it */
};

/* Makes the call. Who has no permission gets CUPTI_ERROR_INSUFFICIENT_PRIVILEGES. */
CUptiResult cu_count(struct cu_count *c);
/* The same for a call that brings names, which stay for the process: r.r[0] of them, or `least`. */
CUptiResult cu_count_names(struct cu_count *c, size_t least, const char ***names);
/* The same for a call that brings as many bytes as there is room for at `to'. */
CUptiResult cu_count_bytes(struct cu_count *c, void *to, size_t size);
/*
 * The parameters are wrong. Nobody without permission learns that: returns what the worker says of
 * permission, and else that a parameter is wrong.
 */
CUptiResult cu_count_wrong(const char *function);

/* counters_range.c: the bytes of the image of available counters that came last; 0: none came. */
size_t cu_availability_size(void);

/* Begins a function: are parameters there, and of the size that the headers give them? */
#define CU_COUNT_GOOD(params, type) \
	((params) && (params)->structSize == type##_STRUCT_SIZE && !(params)->pPriv)

#pragma GCC visibility pop

#endif
