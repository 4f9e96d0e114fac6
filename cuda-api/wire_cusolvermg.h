/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of cuSOLVERMg, all of which are handwritten at both ends. */
#ifndef WORMHOLE_WIRE_CUSOLVERMG_H
#define WORMHOLE_WIRE_CUSOLVERMG_H

#include <cusolverMg.h>
#include <stdbool.h>

#include "wire.h"
#include "wire_scalar.h"

/* The type in the worker's handle table, of all three kinds. */
#define WH_H_mg		253

/* Devices of a handle or a grid, at most. */
#define WH_MG_DEVICES	16

enum wh_mg_kind { WH_MG_HANDLE, WH_MG_GRID, WH_MG_DESC, WH_MG_KINDS };

/* A grid's devices follow, as 32-bit numbers of the worker. */
struct wh_req_whMgMake {
	struct wh_req hdr;
	uint32_t kind;
	uint32_t devices;
	int64_t rows, columns;	/* of a grid in devices, of a descriptor in elements */
	int64_t row_block, column_block;
	uint64_t grid;
	int32_t mapping;
	int32_t type;		/* cudaDataType */
};
struct wh_rsp_whMgMake {
	struct wh_rsp hdr;
	uint64_t id;
};

struct wh_req_whMgEnd {
	struct wh_req hdr;
	uint64_t id;
	uint32_t kind;
	uint32_t resv;
};

/* The devices follow, as above. */
struct wh_req_whMgSelect {
	struct wh_req hdr;
	uint64_t handle;
	uint32_t devices;
	uint32_t resv;
};

enum wh_mg_op {
	WH_MG_SYEVD, WH_MG_GETRF, WH_MG_GETRS, WH_MG_POTRF, WH_MG_POTRS, WH_MG_POTRI, WH_MG_OPS,
};

/* Arrays of addresses that an operation may have, in the order in which they follow. */
enum wh_mg_array { WH_MG_A, WH_MG_PIVOTS, WH_MG_B, WH_MG_WORK, WH_MG_ARRAYS };

struct wh_req_whMgRun {
	struct wh_req hdr;
	uint64_t handle;
	uint64_t desc[2];	/* of A and B */
	int64_t work;		/* elements of the workspace on each device */
	uint32_t op;		/* enum wh_mg_op */
	uint32_t asks;		/* 1: only for the size of the workspace */
	uint32_t count[WH_MG_ARRAYS];	/* 0: the array is NULL, or the operation has none */
	int32_t mode;		/* which part of a matrix, or how it is read */
	int32_t vectors;	/* cusolverEigMode_t */
	int32_t m, n;
	int32_t at[4];		/* IA, JA, IB, JB */
	int32_t compute_type;
	int32_t value_type;	/* of eigenvalues, which follow in the response */
	uint32_t values;	/* 0: there is no place for them */
	uint32_t resv;
};
struct wh_rsp_whMgRun {
	struct wh_rsp hdr;
	int64_t work;
	int32_t info;
	uint32_t ran;		/* 1: info is the library's, which may refuse by it; 0: none */
};

/* Which arrays an operation has, as bits. */
static inline uint32_t wh_mg_arrays(uint32_t op)
{
	static const uint8_t has[WH_MG_OPS] = {
		[WH_MG_SYEVD] = 1 << WH_MG_A | 1 << WH_MG_WORK,
		[WH_MG_GETRF] = 1 << WH_MG_A | 1 << WH_MG_PIVOTS | 1 << WH_MG_WORK,
		[WH_MG_GETRS] = 1 << WH_MG_A | 1 << WH_MG_PIVOTS | 1 << WH_MG_B | 1 << WH_MG_WORK,
		[WH_MG_POTRF] = 1 << WH_MG_A | 1 << WH_MG_WORK,
		[WH_MG_POTRS] = 1 << WH_MG_A | 1 << WH_MG_B | 1 << WH_MG_WORK,
		[WH_MG_POTRI] = 1 << WH_MG_A | 1 << WH_MG_WORK,
	};

	return op < WH_MG_OPS ? has[op] : 0;
}

#endif
