/* SPDX-License-Identifier: Apache-2.0 */
/* Gives cuBLAS's handles in the worker to libraries that take one as their own. */
#ifndef WORMHOLE_SERVER_CUBLAS_H
#define WORMHOLE_SERVER_CUBLAS_H

#include "session/library.h"

#include <cublas_api.h>

/* Returns the library's handle behind a client's number, or NULL. */
cublasHandle_t wh_cublas_real(const struct wh_session *s, uint64_t id);

#endif
