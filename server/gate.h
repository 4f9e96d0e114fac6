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
bool wh_capturing(struct wh_session *s, CUstream stream);

#endif
