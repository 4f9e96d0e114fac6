/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcublas.so.13. */
#ifndef WORMHOLE_CUBLAS_STUB_H
#define WORMHOLE_CUBLAS_STUB_H

#include "gen_cublas_client.h"

#endif
