/* SPDX-License-Identifier: Apache-2.0 */
/* Gates: where the worker's streams and graphs wait for a function of the client. */
#ifndef WORMHOLE_SERVER_GATE_H
#define WORMHOLE_SERVER_GATE_H

#include "worker.h"

/* May the client name this address as a gate? */
bool wh_gate_ok(const struct wh_session *s, uint64_t gate);
/* Host functions of the driver; the argument is a gate. */
void CUDA_CB wh_gate_function(void *gate);
/* The same for the client's part of a copy: tells such a node from a host node. */
void CUDA_CB wh_gate_copy(void *gate);
/* Destructor of user objects. */
void CUDA_CB wh_gate_gone(void *gate);
/* While the stream captures, work for it becomes part of a graph. */
enum wh_capture {
	WH_CAPTURE_NONE,
	WH_CAPTURE_ACTIVE,
	WH_CAPTURE_ERROR,	/* broken, or not to be asked because of another stream's */
};

static inline enum wh_capture wh_capture_of(struct wh_session *s, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (!s->drv.cuStreamIsCapturing)
		return WH_CAPTURE_NONE;
	if (s->drv.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS)
		return WH_CAPTURE_ERROR;
	switch (status) {
	case CU_STREAM_CAPTURE_STATUS_NONE:
		return WH_CAPTURE_NONE;
	case CU_STREAM_CAPTURE_STATUS_ACTIVE:
		return WH_CAPTURE_ACTIVE;
	default:
		return WH_CAPTURE_ERROR;
	}
}

static inline bool wh_capturing(struct wh_session *s, CUstream stream)
{
	return wh_capture_of(s, stream) == WH_CAPTURE_ACTIVE;
}

#endif
