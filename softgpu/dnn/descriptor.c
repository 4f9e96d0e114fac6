// SPDX-License-Identifier: Apache-2.0
/* Descriptors of tensors, filters, convolutions, poolings and activations of cuDNN's stand-in. */
#include "dnn.h"

#include <limits.h>
#include <stdlib.h>

LIFE(TensorDescriptor, cudnnTensorDescriptor_t)
LIFE(FilterDescriptor, cudnnFilterDescriptor_t)
LIFE(PoolingDescriptor, cudnnPoolingDescriptor_t)
LIFE(ActivationDescriptor, cudnnActivationDescriptor_t)

/* --- Tensors and filters ---------------------------------------------------------- */

static int bytes_of(cudnnDataType_t type)
{
	switch (type) {
	case CUDNN_DATA_DOUBLE:
	case CUDNN_DATA_INT64:
		return 8;
	case CUDNN_DATA_FLOAT:
	case CUDNN_DATA_INT32:
		return 4;
	case CUDNN_DATA_HALF:
	case CUDNN_DATA_BFLOAT16:
		return 2;
	case CUDNN_DATA_INT8:
	case CUDNN_DATA_UINT8:
	case CUDNN_DATA_BOOLEAN:
		return 1;
	default:
		return 0;
	}
}

/* As the documentation says, no tensor has 2^31 elements or more. */
static bool sizes_good(int rank, const int n[])
{
	int64_t all = 1;
	int d;

	for (d = 0; d < rank; d++)
		if (n[d] < 1 || (all *= n[d]) > INT_MAX)
			return false;
	return rank > 0 && rank <= DNN_RANK;
}

/* Distances of a packed tensor in the order of a format. */
static void pack(struct tensor_args *t, bool channels_last)
{
	int64_t apart = channels_last ? t->n[1] : 1;
	int d;

	for (d = t->rank - 1; d >= 0; d--) {
		if (channels_last && d == 1)
			continue;
		t->stride[d] = apart;
		apart *= t->n[d];
	}
	if (channels_last)
		t->stride[1] = 1;
}

/* Sets sizes; @stride, or else @format, says where elements are. */
static cudnnStatus_t set_sizes(struct tensor_args *t, cudnnTensorFormat_t format, int rank,
			       const int n[], const int stride[])
{
	int d;

	if (!n)
		return NONE;
	if (rank > DNN_RANK || !sizes_good(rank, n))
		return WRONG;
	if (format == CUDNN_TENSOR_NCHW_VECT_C) {
		standin_refuse("a tensor of cuDNN with vectors of channels");
		return LACKS;
	}
	t->rank = rank;
	for (d = 0; d < rank; d++)
		t->n[d] = n[d];
	if (!stride)
		pack(t, format == CUDNN_TENSOR_NHWC && rank > 2);
	for (d = 0; stride && d < rank; d++)
		t->stride[d] = stride[d];
	return OK;
}

static cudnnStatus_t set_tensor(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format,
				cudnnDataType_t type, int rank, const int n[], const int stride[])
{
	cudnnStatus_t st;

	if (!d)
		return NONE;
	st = set_sizes(&d->args, format, rank, n, stride);
	if (!st)
		d->type = type;
	return st;
}

ST cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format,
			      cudnnDataType_t type, int n, int c, int h, int w)
{
	return set_tensor(d, format, type, 4, (int[]){ n, c, h, w }, NULL);
}

ST cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t d, cudnnDataType_t type, int n, int c,
				int h, int w, int ns, int cs, int hs, int ws)
{
	return set_tensor(d, CUDNN_TENSOR_NCHW, type, 4, (int[]){ n, c, h, w },
			  (int[]){ ns, cs, hs, ws });
}

ST cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t d, cudnnDataType_t type, int rank,
			      const int n[], const int stride[])
{
	return stride ? set_tensor(d, CUDNN_TENSOR_NCHW, type, rank, n, stride) : NONE;
}

ST cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format,
				cudnnDataType_t type, int rank, const int n[])
{
	return set_tensor(d, format, type, rank, n, NULL);
}

ST cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t d, cudnnDataType_t *type, int *n,
			      int *c, int *h, int *w, int *ns, int *cs, int *hs, int *ws)
{
	int *sizes[] = { n, c, h, w }, *strides[] = { ns, cs, hs, ws }, i;

	if (!d || !type)
		return NONE;
	if (d->args.rank != 4)
		return WRONG;
	*type = d->type;
	for (i = 0; i < 4; i++) {
		if (!sizes[i] || !strides[i])
			return NONE;
		*sizes[i] = d->args.n[i];
		*strides[i] = (int)d->args.stride[i];
	}
	return OK;
}

ST cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t d, int asked, cudnnDataType_t *type,
			      int *rank, int n[], int stride[])
{
	int i;

	if (!d || !type || !rank)
		return NONE;
	if (asked < 0)
		return WRONG;
	*type = d->type;
	*rank = d->args.rank;
	for (i = 0; i < asked && i < d->args.rank; i++) {
		if (n)
			n[i] = d->args.n[i];
		if (stride)
			stride[i] = (int)d->args.stride[i];
	}
	return OK;
}

/* From the first element to the last one, whatever lies between them. */
ST cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t d, size_t *size)
{
	int64_t last = 0;
	int i;

	if (!d || !size)
		return NONE;
	for (i = 0; i < d->args.rank; i++)
		last += (int64_t)(d->args.n[i] - 1) * d->args.stride[i];
	*size = d->args.rank ? (size_t)(last + 1) * bytes_of(d->type) : 0;
	return OK;
}

static cudnnStatus_t set_filter(cudnnFilterDescriptor_t d, cudnnDataType_t type,
				cudnnTensorFormat_t format, int rank, const int n[])
{
	cudnnStatus_t st;

	if (!d)
		return NONE;
	st = set_sizes(&d->args, format, rank, n, NULL);
	if (st)
		return st;
	d->type = type;
	d->format = format;
	return OK;
}

ST cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type,
			      cudnnTensorFormat_t format, int k, int c, int h, int w)
{
	return set_filter(d, type, format, 4, (int[]){ k, c, h, w });
}

ST cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type,
			      cudnnTensorFormat_t format, int rank, const int n[])
{
	return set_filter(d, type, format, rank, n);
}

ST cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t d, cudnnDataType_t *type,
			      cudnnTensorFormat_t *format, int *k, int *c, int *h, int *w)
{
	if (!d || !type || !format || !k || !c || !h || !w)
		return NONE;
	if (d->args.rank != 4)
		return WRONG;
	*type = d->type;
	*format = d->format;
	*k = d->args.n[0];
	*c = d->args.n[1];
	*h = d->args.n[2];
	*w = d->args.n[3];
	return OK;
}

ST cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t d, int asked, cudnnDataType_t *type,
			      cudnnTensorFormat_t *format, int *rank, int n[])
{
	int i;

	if (!d || !type || !format || !rank)
		return NONE;
	if (asked < 0)
		return WRONG;
	*type = d->type;
	*format = d->format;
	*rank = d->args.rank;
	for (i = 0; n && i < asked && i < d->args.rank; i++)
		n[i] = d->args.n[i];
	return OK;
}

ST cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t d, size_t *size)
{
	if (!d || !size)
		return NONE;
	*size = (size_t)dnn_elements(&d->args) * bytes_of(d->type);
	return OK;
}

/* --- Convolutions ----------------------------------------------------------------- */

ST cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *d)
{
	if (!d)
		return NONE;
	*d = calloc(1, sizeof(**d));
	if (!*d)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	(*d)->groups = 1;
	return OK;
}

ST cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t d)
{
	free(d);
	return OK;
}

ST cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t d, int rank, const int pad[],
				   const int step[], const int apart[],
				   cudnnConvolutionMode_t mode, cudnnDataType_t compute)
{
	int i;

	if (!d || !pad || !step || !apart)
		return NONE;
	if (rank < 1 || rank > DNN_RANK - 2 || (unsigned int)mode > CUDNN_CROSS_CORRELATION)
		return WRONG;
	for (i = 0; i < rank; i++)
		if (pad[i] < 0 || step[i] < 1 || apart[i] < 1)
			return WRONG;
	for (i = 0; i < rank; i++) {
		d->pad[i] = pad[i];
		d->step[i] = step[i];
		d->apart[i] = apart[i];
	}
	d->rank = rank;
	d->mode = mode;
	d->compute = compute;
	return OK;
}

ST cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t d, int pad_h, int pad_w, int u,
				   int v, int apart_h, int apart_w, cudnnConvolutionMode_t mode,
				   cudnnDataType_t compute)
{
	return cudnnSetConvolutionNdDescriptor(d, 2, (int[]){ pad_h, pad_w }, (int[]){ u, v },
					       (int[]){ apart_h, apart_w }, mode, compute);
}

ST cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t d, int asked, int *rank,
				   int pad[], int step[], int apart[], cudnnConvolutionMode_t *mode,
				   cudnnDataType_t *compute)
{
	int i;

	if (!d || !rank || !mode || !compute)
		return NONE;
	if (asked < 0)
		return WRONG;
	*rank = d->rank;
	*mode = d->mode;
	*compute = d->compute;
	for (i = 0; i < asked && i < d->rank; i++) {
		if (pad)
			pad[i] = d->pad[i];
		if (step)
			step[i] = d->step[i];
		if (apart)
			apart[i] = d->apart[i];
	}
	return OK;
}

ST cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t d, int *pad_h, int *pad_w,
				   int *u, int *v, int *apart_h, int *apart_w,
				   cudnnConvolutionMode_t *mode, cudnnDataType_t *compute)
{
	if (!d || !pad_h || !pad_w || !u || !v || !apart_h || !apart_w || !mode || !compute)
		return NONE;
	if (d->rank != 2)
		return WRONG;
	*pad_h = d->pad[0];
	*pad_w = d->pad[1];
	*u = d->step[0];
	*v = d->step[1];
	*apart_h = d->apart[0];
	*apart_w = d->apart[1];
	*mode = d->mode;
	*compute = d->compute;
	return OK;
}

#define PART(Name, type, member, good) \
ST cudnnSetConvolution##Name(cudnnConvolutionDescriptor_t d, type v) \
{ \
	if (!d) \
		return NONE; \
	if (!(good)) \
		return WRONG; \
	d->member = v; \
	return OK; \
} \
ST cudnnGetConvolution##Name(const cudnnConvolutionDescriptor_t d, type *v) \
{ \
	if (!d || !v) \
		return NONE; \
	*v = d->member; \
	return OK; \
}

/* Every kind of mathematics may be as precise as the type. */
PART(MathType, cudnnMathType_t, math, (unsigned int)v <= CUDNN_FMA_MATH)
PART(GroupCount, int, groups, v > 0)
PART(ReorderType, cudnnReorderType_t, reorder, (unsigned int)v <= CUDNN_NO_REORDER)

ST cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t d,
					 const cudnnTensorDescriptor_t x,
					 const cudnnFilterDescriptor_t w, int rank, int n[])
{
	int i;

	if (!d || !x || !w || !n)
		return NONE;
	if (rank != x->args.rank || rank != w->args.rank || rank != d->rank + 2)
		return WRONG;
	n[0] = x->args.n[0];
	n[1] = w->args.n[0];
	for (i = 0; i < d->rank; i++)
		n[2 + i] = (int)dnn_output(x->args.n[2 + i], d->pad[i], w->args.n[2 + i],
					   d->apart[i],
					   d->step[i]);
	return sizes_good(rank, n) ? OK : WRONG;
}

ST cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t d,
					 const cudnnTensorDescriptor_t x,
					 const cudnnFilterDescriptor_t f, int *n, int *c, int *h,
						 int *w)
{
	int sizes[4];
	cudnnStatus_t st = cudnnGetConvolutionNdForwardOutputDim(d, x, f, 4, sizes);

	if (st)
		return st;
	if (!n || !c || !h || !w)
		return NONE;
	*n = sizes[0];
	*c = sizes[1];
	*h = sizes[2];
	*w = sizes[3];
	return OK;
}

/* --- Poolings and activations ----------------------------------------------------- */

ST cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t d, const cudnnPoolingMode_t mode,
			       const cudnnNanPropagation_t nan, int rank, const int size[],
			       const int pad[], const int step[])
{
	int i;

	if (!d || !size || !pad || !step)
		return NONE;
	if (rank < 1 || rank > DNN_RANK - 2 || (unsigned int)mode > CUDNN_POOLING_MAX_DETERMINISTIC)
		return WRONG;
	for (i = 0; i < rank; i++)
		if (size[i] < 1 || pad[i] < 0 || pad[i] >= size[i] || step[i] < 1)
			return WRONG;
	for (i = 0; i < rank; i++) {
		d->size[i] = size[i];
		d->pad[i] = pad[i];
		d->step[i] = step[i];
	}
	d->rank = rank;
	d->mode = mode;
	d->nan = nan;
	return OK;
}

ST cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode,
			       cudnnNanPropagation_t nan, int h, int w, int pad_h, int pad_w,
			       int step_h, int step_w)
{
	return cudnnSetPoolingNdDescriptor(d, mode, nan, 2, (int[]){ h, w }, (int[]){ pad_h,
										     pad_w },
					   (int[]){ step_h, step_w });
}

ST cudnnGetPoolingNdDescriptor(const cudnnPoolingDescriptor_t d, int asked,
			       cudnnPoolingMode_t *mode,
			       cudnnNanPropagation_t *nan, int *rank, int size[], int pad[],
			       int step[])
{
	int i;

	if (!d || !mode || !nan || !rank)
		return NONE;
	*mode = d->mode;
	*nan = d->nan;
	*rank = d->rank;
	for (i = 0; i < asked && i < d->rank; i++) {
		if (size)
			size[i] = d->size[i];
		if (pad)
			pad[i] = d->pad[i];
		if (step)
			step[i] = d->step[i];
	}
	return OK;
}

ST cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t d, cudnnPoolingMode_t *mode,
			       cudnnNanPropagation_t *nan, int *h, int *w, int *pad_h, int *pad_w,
			       int *step_h, int *step_w)
{
	if (!d || !mode || !nan || !h || !w || !pad_h || !pad_w || !step_h || !step_w)
		return NONE;
	if (d->rank != 2)
		return WRONG;
	*mode = d->mode;
	*nan = d->nan;
	*h = d->size[0];
	*w = d->size[1];
	*pad_h = d->pad[0];
	*pad_w = d->pad[1];
	*step_h = d->step[0];
	*step_w = d->step[1];
	return OK;
}

ST cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t d,
				     const cudnnTensorDescriptor_t x, int rank, int n[])
{
	int i;

	if (!d || !x || !n)
		return NONE;
	if (rank != x->args.rank || rank != d->rank + 2)
		return WRONG;
	n[0] = x->args.n[0];
	n[1] = x->args.n[1];
	for (i = 0; i < d->rank; i++)
		n[2 + i] = (int)dnn_output(x->args.n[2 + i], d->pad[i], d->size[i], 1, d->step[i]);
	return sizes_good(rank, n) ? OK : WRONG;
}

ST cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t d,
				     const cudnnTensorDescriptor_t x, int *n, int *c, int *h,
					     int *w)
{
	int sizes[4];
	cudnnStatus_t st = cudnnGetPoolingNdForwardOutputDim(d, x, 4, sizes);

	if (st)
		return st;
	if (!n || !c || !h || !w)
		return NONE;
	*n = sizes[0];
	*c = sizes[1];
	*h = sizes[2];
	*w = sizes[3];
	return OK;
}

ST cudnnSetActivationDescriptor(cudnnActivationDescriptor_t d, cudnnActivationMode_t mode,
				cudnnNanPropagation_t nan, double coef)
{
	if (!d)
		return NONE;
	if ((unsigned int)mode > CUDNN_ACTIVATION_SWISH)
		return WRONG;
	d->mode = mode;
	d->nan = nan;
	d->coef = coef;
	d->swish_beta = 1;
	return OK;
}

ST cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t d, cudnnActivationMode_t *mode,
				cudnnNanPropagation_t *nan, double *coef)
{
	if (!d || !mode || !nan || !coef)
		return NONE;
	*mode = d->mode;
	*nan = d->nan;
	*coef = d->coef;
	return OK;
}

ST cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t d, double beta)
{
	if (!d)
		return NONE;
	d->swish_beta = beta;
	return OK;
}

ST cudnnGetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t d, double *beta)
{
	if (!d || !beta)
		return NONE;
	*beta = d->swish_beta;
	return OK;
}
