/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcufile.so.0: what cufile.h has of its errors. */
#ifndef WORMHOLE_CUFILE_STUB_H
#define WORMHOLE_CUFILE_STUB_H

#include <sys/types.h>

#include "library.h"

enum { CU_FILE_PLATFORM_NOT_SUPPORTED = 5007 };

typedef struct {
	int err;
	CUresult cu_err;
} CUfileError_t;

#define REFUSED	((CUfileError_t) { CU_FILE_PLATFORM_NOT_SUPPORTED, CUDA_SUCCESS })

#endif
