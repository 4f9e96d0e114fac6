/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of cuTENSOR that both ends share beside the generated messages: values for what a
 * call reads of the program's memory, and the kinds of computation, which are data of the
 * library.
 */
#ifndef WORMHOLE_WIRE_CUTENSOR_H
#define WORMHOLE_WIRE_CUTENSOR_H

/*
 * The header is for C++ here: in C++ a constant belongs to its file, in C it would be defined
 * by every file.
 */
#define cutensorDataType_t cutensorDataType_t __attribute__((weak))
#include <cutensor.h>
#undef cutensorDataType_t

#include <stdbool.h>

#include "wire.h"
#include "wire_scalar.h"

/* A tensor has no more modes. Both ends check that a descriptor has not. */
#define WH_CUTENSOR_MODES	64
typedef struct {
	int32_t mode[WH_CUTENSOR_MODES];
} wh_cutensor_modes_t;

/* It is as long as the largest type, a complex number of two doubles. */
typedef struct {
	uint64_t word[2];
} wh_cutensor_scale_t;

/* Both ends know each kind by its number, so entries are only appended. */
#define WH_EACH_CUTENSOR_COMPUTE(X) \
	X(16F) X(16BF) X(TF32) X(3XTF32) X(32F) X(64F) X(9X16BF) X(8XINT8) X(4X16F)
#define WH_CUTENSOR_COMPUTES	9
struct wh_obj_cutensorComputeDescriptor_t {
	uint64_t number;
};

struct wh_req_whCutensorInfo {
	struct wh_req hdr;
};
struct wh_rsp_whCutensorInfo {
	struct wh_rsp hdr;
	uint64_t version;
	uint64_t cudart_version;
};

#endif
