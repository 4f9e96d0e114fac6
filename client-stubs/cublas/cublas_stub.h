/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the client's libcublas.so.13. */
#ifndef WORMHOLE_CUBLAS_STUB_H
#define WORMHOLE_CUBLAS_STUB_H

/* The library exports what NVIDIA's header declares, and its map says so. */
#pragma GCC visibility push(default)
#include "wire_cublas.h"
#pragma GCC visibility pop

#include "gen_cublas_client.h"

#endif
