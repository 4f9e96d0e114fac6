/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of NCCL that both ends share beside the generated messages: the operations of a
 * group, and the messages of calls that are handwritten at both ends.
 */
#ifndef WORMHOLE_WIRE_NCCL_H
#define WORMHOLE_WIRE_NCCL_H

#include <nccl.h>
#include <stdbool.h>

#include "wire.h"

/* Types in the worker's handle table. */
#define WH_H_nccl_comm		224
#define WH_H_nccl_buffer	225

/* --- Groups --------------------------------------------------------------------------- */

enum wh_nccl_kind {
	WH_NCCL_ALL_REDUCE, WH_NCCL_ALL_GATHER, WH_NCCL_REDUCE_SCATTER, WH_NCCL_REDUCE,
	WH_NCCL_BROADCAST, WH_NCCL_ALL_TO_ALL, WH_NCCL_GATHER, WH_NCCL_SCATTER, WH_NCCL_SEND,
	WH_NCCL_RECV,
	WH_NCCL_LAUNCHES,	/* all kinds before this put kernels into a stream */
	/* The four kinds that make a communicator; `made` has number, rank and so on. */
	WH_NCCL_INIT = WH_NCCL_LAUNCHES, WH_NCCL_INIT_SCALABLE, WH_NCCL_SPLIT, WH_NCCL_SHRINK,
	WH_NCCL_FINALIZE, WH_NCCL_DESTROY, WH_NCCL_ABORT, WH_NCCL_REVOKE,
	WH_NCCL_KINDS,
};

static inline bool wh_nccl_makes(uint32_t kind)
{
	return kind >= WH_NCCL_INIT && kind <= WH_NCCL_SHRINK;
}

struct wh_nccl_op {
	uint32_t kind;		/* enum wh_nccl_kind */
	int32_t type;		/* ncclDataType_t */
	int32_t op;		/* ncclRedOp_t; flags of a revocation */
	int32_t peer;		/* or root */
	uint64_t comm;		/* in the handle table; the one that is split or shrunk */
	uint64_t stream;
	uint64_t send, recv, count;
};

/* Returns the bytes of an ncclDataType_t. An unknown type, which is refused elsewhere, gives 1. */
static inline size_t wh_nccl_type_size(int32_t type)
{
	switch (type) {
	case ncclInt64:
	case ncclUint64:
	case ncclFloat64:
		return 8;
	case ncclInt32:
	case ncclUint32:
	case ncclFloat32:
		return 4;
	case ncclFloat16:
	case ncclBfloat16:
		return 2;
	default:
		return 1;
	}
}

/* Strings are cut: NCCL looks for the network by its name, and writes the other into its log. */
#define WH_NCCL_NAME	64

/* ncclConfig_t, whose own strings are elsewhere. */
struct wh_nccl_config {
	ncclConfig_t c;		/* `size` as the program has it, at most ours; strings NULL */
	char net[WH_NCCL_NAME], comm[WH_NCCL_NAME];	/* "": none */
};

/*
 * Behind the operations there is one of these for each that makes a communicator, in their
 * order.
 */
struct wh_nccl_made {
	uint64_t ctx;		/* the context on whose device it will be */
	int32_t a, b;		/* ranks and rank; color and key; flags of shrinking */
	uint32_t n;		/* number that follows: unique ids, excluded ranks (4 bytes each) */
	uint32_t has_config;
	struct wh_nccl_config config;
};
/* Behind each wh_nccl_made are its unique ids or ranks. */

#define WH_NCCL_MAX_IDS		64
#define WH_NCCL_MAX_RANKS	1024

static inline size_t wh_nccl_list(uint32_t kind, uint32_t n)
{
	return kind == WH_NCCL_SHRINK ? wh_wire_bytes(n, sizeof(int)) :
		wh_wire_bytes(n, sizeof(ncclUniqueId));
}

struct wh_req_whNcclGroup {
	struct wh_req hdr;
	uint32_t count;		/* number of operations, which follow */
	/* Between ncclGroupStart and ncclGroupEnd, even if it is only one. */
	uint32_t together;
	uint32_t simulate;	/* ncclGroupSimulateEnd */
	uint32_t resv;
};
/* Behind it: a handle for each communicator that was made, 0 for one that was not. */
struct wh_rsp_whNcclGroup {
	struct wh_rsp hdr;
	float time;		/* estimated */
	uint32_t made;
	uint64_t hint;		/* after a failure: bytes of a string in place of handles */
};

struct wh_rsp_ncclGetUniqueId {
	struct wh_rsp hdr;
	uint64_t hint;		/* after a failure: bytes of a string, which follows */
	ncclUniqueId id;
};

/* --- Others -------------------------------------------------------------------------------- */

struct wh_req_whNcclAsk {
	struct wh_req hdr;
	uint64_t comm;
};
struct wh_rsp_whNcclAsk {
	struct wh_rsp hdr;
	int32_t error;		/* asynchronous */
	int32_t ranks, rank;	/* -1: not known yet */
	int32_t resv;
};

struct wh_req_whNcclLastError {
	struct wh_req hdr;
	uint64_t comm;		/* or 0 */
};
struct wh_rsp_whNcclLastError {
	struct wh_rsp hdr;
	uint64_t size;		/* bytes of the string, which follows */
};

struct wh_req_whNcclRegister {
	struct wh_req hdr;
	uint64_t comm;
	uint64_t addr, size;
};
struct wh_rsp_whNcclRegister {
	struct wh_rsp hdr;
	uint64_t buffer;
};

struct wh_req_whNcclDeregister {
	struct wh_req hdr;
	uint64_t comm;
	uint64_t buffer;
};

/* Makes an operator (`destroy` is 0), or destroys one (`op`). */
struct wh_req_whNcclRedOp {
	struct wh_req hdr;
	uint64_t comm;
	uint64_t addr;		/* address of the factor, if it is in device memory */
	double factor;		/* its bytes, if it is in the program's memory */
	int32_t type;
	int32_t residence;	/* ncclScalarResidence_t */
	int32_t op;
	uint32_t destroy;
};
struct wh_rsp_whNcclRedOp {
	struct wh_rsp hdr;
	int32_t op;
	int32_t resv;
};

#endif
