/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of cuRAND that both ends share beside the generated messages: the form in which a
 * generator is sent, and the messages of calls that are handwritten at both ends.
 */
#ifndef WORMHOLE_WIRE_CURAND_H
#define WORMHOLE_WIRE_CURAND_H

#include <curand.h>
#include <stdbool.h>

#include "wire.h"

/*
 * A generator with what the client keeps of its state. The worker sets seed and offset if their
 * serial has changed since the last call, the lower serial first. All serials of a generator
 * come from one counter.
 */
struct wh_obj_curandGenerator_t {
	uint64_t id;		/* in the worker's handle table */
	uint64_t stream;
	uint64_t seed;
	uint64_t offset;
	uint64_t seed_serial;
	uint64_t offset_serial;
};

/* --- Life -------------------------------------------------------------------------- */

struct wh_req_curandCreateGenerator {
	struct wh_req hdr;
	curandRngType_t type;
};
struct wh_rsp_curandCreateGenerator {
	struct wh_rsp hdr;
	uint64_t generator;
};

struct wh_req_curandDestroyGenerator {
	struct wh_req hdr;
	uint64_t generator;
};

/* --- Numbers ------------------------------------------------------------------------ */

enum wh_curand_kind {
	WH_CURAND_BITS, WH_CURAND_BITS64, WH_CURAND_UNIFORM, WH_CURAND_UNIFORM64,
	WH_CURAND_NORMAL, WH_CURAND_NORMAL64, WH_CURAND_LOG_NORMAL, WH_CURAND_LOG_NORMAL64,
	WH_CURAND_POISSON, WH_CURAND_POISSON_METHOD,
	WH_CURAND_KINDS,
};

/* Returns the bytes of one number. */
static inline size_t wh_curand_size(uint32_t kind)
{
	switch (kind) {
	case WH_CURAND_BITS64:
	case WH_CURAND_UNIFORM64:
	case WH_CURAND_NORMAL64:
	case WH_CURAND_LOG_NORMAL64:
		return 8;
	default:
		return 4;
	}
}

struct wh_req_whCurandGenerate {
	struct wh_req hdr;
	struct wh_obj_curandGenerator_t generator;
	uint64_t out;		/* device or data area; 0 for a host generator: to be fetched */
	uint64_t count;
	double a, b;		/* mean and deviation; lambda */
	uint32_t kind;		/* enum wh_curand_kind */
	uint32_t method;	/* curandMethod_t */
};

/* --- Host memory of the worker ------------------------------------------------------ */

enum wh_curand_source {
	WH_CURAND_NUMBERS,	/* the numbers of the last whCurandGenerate without `out` */
	WH_CURAND_VECTORS = CURAND_DIRECTION_VECTORS_32_JOEKUO6,	/* and the other sets */
	WH_CURAND_CONSTANTS32 = 201,
	WH_CURAND_CONSTANTS64,
};

/* Tables for all dimensions that cuRAND documents. */
#define WH_CURAND_DIMENSIONS	20000

/* Returns the bytes of a table; 0: there is no such table. */
static inline size_t wh_curand_table(uint32_t source)
{
	switch (source) {
	case CURAND_DIRECTION_VECTORS_32_JOEKUO6:
	case CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6:
		return WH_CURAND_DIMENSIONS * sizeof(curandDirectionVectors32_t);
	case CURAND_DIRECTION_VECTORS_64_JOEKUO6:
	case CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6:
		return WH_CURAND_DIMENSIONS * sizeof(curandDirectionVectors64_t);
	case WH_CURAND_CONSTANTS32:
		return WH_CURAND_DIMENSIONS * sizeof(unsigned int);
	case WH_CURAND_CONSTANTS64:
		return WH_CURAND_DIMENSIONS * sizeof(unsigned long long);
	default:
		return 0;
	}
}

struct wh_req_whCurandFetch {
	struct wh_req hdr;
	uint64_t to;		/* address in the data area */
	uint64_t offset;	/* in the source */
	uint64_t size;
	uint32_t source;	/* enum wh_curand_source */
	uint32_t resv;
};

#endif
