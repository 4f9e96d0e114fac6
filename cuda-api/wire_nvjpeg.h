/* SPDX-License-Identifier: Apache-2.0 */
/* The message for a batch of images, for both ends, and what both refuse. */
#ifndef WORMHOLE_WIRE_NVJPEG_H
#define WORMHOLE_WIRE_NVJPEG_H

#include <nvjpeg.h>
#include <stdbool.h>

#include "wire.h"

/*
 * Behind it, each padded: `count` lengths of 8 bytes, `count` images, `count` numbers of decode
 * parameters if `ex` is 1, and the bytes of each image.
 */
struct wh_req_whNvjpegBatch {
	struct wh_req hdr;
	uint64_t handle;
	uint64_t state;
	uint64_t stream;
	uint32_t count;		/* as nvjpegDecodeBatchedInitialize was told */
	uint32_t ex;		/* 0: nvjpegDecodeBatched, 1: nvjpegDecodeBatchedEx */
};
struct wh_rsp_whNvjpegBatch {
	struct wh_rsp hdr;
};

/* These backends read the compressed bytes from device memory. */
static inline bool wh_nvjpeg_of_device(nvjpegBackend_t backend)
{
	return backend == NVJPEG_BACKEND_GPU_HYBRID_DEVICE ||
	       backend == NVJPEG_BACKEND_HARDWARE_DEVICE;
}

#endif
