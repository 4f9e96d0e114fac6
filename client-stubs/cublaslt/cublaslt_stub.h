/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the client's libcublasLt.so.13. */
#ifndef WORMHOLE_CUBLASLT_STUB_H
#define WORMHOLE_CUBLASLT_STUB_H

#include "gen_cublaslt_client.h"

/* descriptor.c: is it one of this kind that was made? */
bool wh_lt_good(enum wh_lt_kind kind, const void *descriptor);
/* Copies of what matmul calls take; false for what was not made. */
bool wh_lt_take_matmul(const cublasLtMatmulDescOpaque_t *from, struct wh_lt_matmul *to,
		       struct wh_lt_emulation *emulation);
bool wh_lt_take_layout(const cublasLtMatrixLayoutOpaque_t *from, struct wh_lt_layout *to);

/*
 * memo.c: what the worker has answered. A question is the call and all that its answer
 * depends on: these bytes, and the calling thread's context. An answer is what came,
 * whole; *room is its size then. One that is larger than *room is not taken.
 */
bool wh_lt_recall(uint32_t call, const void *question, size_t bytes, void *answer, size_t *room);
void wh_lt_remember(uint32_t call, const void *question, size_t bytes, const void *answer,
		    size_t size);

#endif
