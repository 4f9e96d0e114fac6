/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the client's libcupti.so.13: the results that cupti_result.h has. A build does
 * not need CUPTI's headers, so they are repeated here.
 */
#ifndef WORMHOLE_CUPTI_STUB_H
#define WORMHOLE_CUPTI_STUB_H

#include "library.h"

typedef int CUptiResult;

enum {
	CUPTI_SUCCESS = 0,
	CUPTI_ERROR_INVALID_PARAMETER = 1,
	CUPTI_ERROR_NOT_SUPPORTED = 27,
};

#define CUPTI_API_VERSION	130001

#endif
