/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcublasLt.so.13. */
#ifndef WORMHOLE_CUBLASLT_STUB_H
#define WORMHOLE_CUBLASLT_STUB_H

#include "gen_cublaslt_client.h"

#include "../memo.h"

/* descriptor.c: is it a descriptor of this kind that was made? */
bool wh_lt_good(enum wh_lt_kind kind, const void *descriptor);
/* Copy the descriptors that calls take. False: one was not made. */
bool wh_lt_take_preference(const cublasLtMatmulPreferenceOpaque_t *from,
			   struct wh_lt_preference *to);
bool wh_lt_take_matmul(const cublasLtMatmulDescOpaque_t *from, struct wh_lt_matmul *to,
		       struct wh_lt_emulation *emulation);
bool wh_lt_take_layout(const cublasLtMatrixLayoutOpaque_t *from, struct wh_lt_layout *to);

#endif
