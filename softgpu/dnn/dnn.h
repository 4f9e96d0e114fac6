/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of the stand-in for cuDNN share. */
#ifndef WORMHOLE_SOFTGPU_DNN_H
#define WORMHOLE_SOFTGPU_DNN_H

#include "../standin/standin.h"
#include "args.h"

#include <cudnn.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define ST	EXPORT cudnnStatus_t
#define OK	CUDNN_STATUS_SUCCESS
#define WRONG	CUDNN_STATUS_BAD_PARAM
#define NONE	CUDNN_STATUS_BAD_PARAM_NULL_POINTER
#define LACKS	CUDNN_STATUS_NOT_SUPPORTED
#define MISMATCH CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH
#define TENSOR	const cudnnTensorDescriptor_t

/* The functions that make and end a descriptor. */
#define LIFE(Name, type) \
ST cudnnCreate##Name(type *d) \
{ \
	if (!d) \
		return NONE; \
	*d = calloc(1, sizeof(**d)); \
	return *d ? OK : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED; \
} \
ST cudnnDestroy##Name(type d) \
{ \
	free(d); \
	return OK; \
}

struct cudnnContext {
	CUstream stream;
};

struct cudnnTensorStruct {
	cudnnDataType_t type;
	struct tensor_args args;	/* rank 0: not set */
};

struct cudnnFilterStruct {
	cudnnDataType_t type;
	cudnnTensorFormat_t format;
	struct tensor_args args;
};

struct cudnnConvolutionStruct {
	int rank;		/* dimensions of an image, 0: not set */
	int pad[DNN_RANK], step[DNN_RANK], apart[DNN_RANK];
	int groups;
	cudnnConvolutionMode_t mode;
	cudnnDataType_t compute;
	cudnnMathType_t math;
	cudnnReorderType_t reorder;
};

struct cudnnPoolingStruct {
	int rank;
	int size[DNN_RANK], pad[DNN_RANK], step[DNN_RANK];
	cudnnPoolingMode_t mode;
	cudnnNanPropagation_t nan;
};

struct cudnnActivationStruct {
	cudnnActivationMode_t mode;
	cudnnNanPropagation_t nan;
	double coef, swish_beta;
};

/* The element types, in the order of each operation's kernels. */
enum dnn_type { TYPE_F, TYPE_D, TYPE_H, TYPE_B, TYPES };

/* A scalar in the type of sums: float, but double where elements are. */
union scalar {
	float f;
	double d;
};

#define DNN_KERNELS(name) static struct standin_kernel name##_kernel[TYPES] = { \
	{ #name "_f", NULL }, { #name "_d", NULL }, { #name "_h", NULL }, { #name "_b", NULL } }

/* Checks that the handle is valid and the driver is ready. */
cudnnStatus_t dnn_enter(cudnnHandle_t h);
/* Returns false, and says so on stderr, for a type that the stand-in lacks. */
bool dnn_type_of(cudnnDataType_t type, enum dnn_type *t);
union scalar dnn_scalar(enum dnn_type t, const void *p);
union scalar dnn_number(enum dnn_type t, double v);
/* Launches @k on about @n threads. */
cudnnStatus_t dnn_launch(cudnnHandle_t h, struct standin_kernel *k, int64_t n, void **args);

int64_t dnn_elements(const struct tensor_args *t);
bool dnn_same_sizes(const struct tensor_args *a, const struct tensor_args *b);
/* The tensor's arguments with its address. */
struct tensor_args dnn_tensor(const struct tensor_args *t, const void *at);
/*
 * The same as an image, if it has at least three and at most 2 + DNN_SPACE dimensions, else
 * false. A matrix is an image of one place.
 */
bool dnn_image(const struct tensor_args *t, const void *at, struct image_args *to);
/* Rounds of a window of @size over @n places and @pad on both sides; below 1 is none. */
int64_t dnn_output(int64_t n, int64_t pad, int64_t size, int64_t apart, int64_t step);

#endif
