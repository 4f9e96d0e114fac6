/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the cuSOLVER that writes down what it is told share (fake_cusolver.c). */
#ifndef WORMHOLE_TESTS_FAKE_CUSOLVER_H
#define WORMHOLE_TESTS_FAKE_CUSOLVER_H

#include <cuda_runtime_api.h>

#define OK	CUSOLVER_STATUS_SUCCESS

struct context {
	const char *kind;
	int number;
	cudaStream_t stream;
};

struct cusolverDnContext {
	struct context c;
};
struct cusolverSpContext {
	struct context c;
};
struct cusolverRfCommon {
	struct context c;
};

/* Notes a call on a handle, with the handle's state. */
void fake_cusolver_on(const struct context *c, const char *what);

#endif
