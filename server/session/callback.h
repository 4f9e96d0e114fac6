/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks: points where the worker's streams and graphs wait for a function of the client. */
#ifndef WORMHOLE_SERVER_CALLBACK_H
#define WORMHOLE_SERVER_CALLBACK_H

#include "session/handler.h"

/* May the client name this address as a callback? */
bool wh_callback_ok(const struct wh_session *s, uint64_t callback);
/* Host functions of the driver; the argument is a callback. */
void CUDA_CB wh_callback_function(void *callback);
/*
 * The same for the client's part of a copy; by this function such a node differs from a host node.
 */
void CUDA_CB wh_callback_copy(void *callback);
/* Destructor of user objects. */
void CUDA_CB wh_callback_gone(void *callback);

#endif
