/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mock driver's files share this file. All objects are in one table; a handle is an
 * object's address, a device address a number of its own.
 */
#ifndef WORMHOLE_TESTS_LIMITS_MOCK_DRIVER_H
#define WORMHOLE_TESTS_LIMITS_MOCK_DRIVER_H

/* The functions are declared under their own names, with the old ones among them. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <stdlib.h>
#include <string.h>

#include "mock.h"

#define BLOCK	(2ull << 20)
#define OBJECTS	65536

enum kind {
	FREE, PLAIN, POOLED, PHYSICAL, MAPPING, ARRAY, MODULE, FUNCTION, CONTEXT, STREAM, POOL,
	GRAPH, EXEC, OF_GRAPH,
	DYING,		/* plain memory that was freed in the order of a stream */
};

struct object {
	enum kind kind;
	uint64_t bytes;
	uint64_t refs;
	struct object *of;		/* its pool, or its physical memory */
	uint64_t address;
	uint64_t reserved, used, pending;	/* of a pool */
	CUcontext ctx;
	uint64_t local;			/* of code: bytes of a thread's own */
	int mallocs;			/* code that calls malloc(); a context with a heap */
	uint64_t stacks, heap, calls;	/* of a context: beyond MOCK_CONTEXT */
	size_t stack_limit, heap_limit;
	CUdevice device;		/* of a context, or a pool */
};

extern struct object mock_object[OBJECTS];	/* the first one is never used */
extern struct mock_gpu *mock_gpu;
extern CUcontext mock_current;

#define MOCK_STACK	1024u		/* of a thread, in a new context */

/*
 * Takes at least this much for the stacks of the current context. Returns 0 when there is
 * no more.
 */
int mock_stacks(uint64_t bytes);

/* Takes memory of the device. Returns 0 when the device has no more. */
int mock_take(uint64_t bytes);
void mock_give(uint64_t bytes);
/*
 * Takes memory at an address of the object. Small amounts share blocks with others of
 * their kind.
 */
int mock_take_placed(struct object *o);
void mock_give_placed(struct object *o);

uint64_t mock_addresses(uint64_t bytes, uint64_t align);
struct object *mock_make(enum kind kind, uint64_t bytes);
struct object *mock_at(uint64_t address, enum kind kind);
struct object *mock_valid(void *handle, enum kind kind);
/* The device of a context; that of none is the first one. */
CUdevice mock_device(CUcontext ctx);

/* Frees memory of a pool, without the order of any stream. */
CUresult mock_pool_free(uint64_t address);
CUresult mock_graph_free(uint64_t address);
/* Notes the allocation for the graph, if the stream captures. */
int mock_captured(CUstream stream, uint64_t bytes, CUdeviceptr *out);

static inline uint64_t up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

#endif
