/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcurand.so.10. */
#ifndef WORMHOLE_CURAND_STUB_H
#define WORMHOLE_CURAND_STUB_H

#include "gen_curand_client.h"

/* table.c: fetches `size` bytes of the worker's host memory, in pieces through the data area. */
curandStatus_t wh_curand_fetch(uint32_t source, void *to, size_t size);

#endif
