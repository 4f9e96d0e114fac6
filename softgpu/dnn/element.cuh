/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of the types of the stand-in for cuDNN, and functions of one of them. */
#ifndef WORMHOLE_SOFTGPU_DNN_ELEMENT_H
#define WORMHOLE_SOFTGPU_DNN_ELEMENT_H

#include <math_constants.h>

#include "../standin/half.cuh"
#include "args.h"

/* y = alpha v + beta y. With a zero beta, @y may hold anything and is not read. */
template <class T, class S> FN void finish(T *y, S v, S alpha, S beta)
{
	put(y, beta == 0 ? alpha * v : alpha * v + beta * wide(*y));
}

FN double block_add(double v)
{
	__shared__ double part[BLOCK / 32];

	v = warp_sum(v);
	__syncthreads();
	if (!(threadIdx.x % 32))
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = 0;
	for (int i = 0; i < BLOCK / 32; i++)
		v += part[i];
	return v;
}

/* Of cudnnActivationMode_t. */
enum { SIGMOID, RELU, TANH, CLIPPED_RELU, ELU, IDENTITY, SWISH };

template <class S> FN S activate(int mode, S coef, S x)
{
	switch (mode) {
	case SIGMOID:
		return 1 / (1 + exp(-x));
	case RELU:
		return x > 0 || isnan(x) ? x : 0;
	case TANH:
		return tanh(x);
	case CLIPPED_RELU:
		return x > coef ? coef : x > 0 || isnan(x) ? x : 0;
	case ELU:
		return x >= 0 ? x : coef * expm1(x);
	case SWISH:
		return x / (1 + exp(-coef * x));
	default:
		return x;
	}
}

/* The derivative, by the input @x and the output @y. */
template <class S> FN S slope(int mode, S coef, S x, S y)
{
	S s;

	switch (mode) {
	case SIGMOID:
		return y * (1 - y);
	case RELU:
		return x > 0;
	case TANH:
		return 1 - y * y;
	case CLIPPED_RELU:
		return x > 0 && x < coef;
	case ELU:
		return x >= 0 ? 1 : y + coef;
	case SWISH:
		s = 1 / (1 + exp(-coef * x));
		return s + coef * x * s * (1 - s);
	default:
		return 1;
	}
}

#endif
