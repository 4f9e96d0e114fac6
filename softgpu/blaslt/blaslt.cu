// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels of the stand-in for cublasLt. They compute in float (_f) or double (_d), whatever
 * type the matrices have. One thread computes an element in the order of k, so results
 * repeat.
 */
#include <cuda_fp16.h>

#include "args.h"

#define BLOCK 256

/* bf16 is the upper half of a float. Conversion to it rounds to nearest even. */
static __device__ float from_bf16(unsigned short h)
{
	return __uint_as_float((unsigned int)h << 16);
}

static __device__ unsigned short to_bf16(float f)
{
	unsigned int u = __float_as_uint(f);

	if (isnan(f))
		return 0x7fff;
	return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

template <class T> static __device__ T load(const void *at, int type, long long i)
{
	switch (type) {
	case LT_F32:
		return ((const float *)at)[i];
	case LT_F64:
		return (T)((const double *)at)[i];
	case LT_F16:
		return __half2float(((const __half *)at)[i]);
	default:
		return from_bf16(((const unsigned short *)at)[i]);
	}
}

template <class T> static __device__ void store(void *at, int type, long long i, T v)
{
	switch (type) {
	case LT_F32:
		((float *)at)[i] = (float)v;
		break;
	case LT_F64:
		((double *)at)[i] = v;
		break;
	case LT_F16:
		((__half *)at)[i] = __float2half((float)v);
		break;
	default:
		((unsigned short *)at)[i] = to_bf16((float)v);
	}
}

static __device__ long long place(const lt_matrix &m, long long i, long long j, long long z)
{
	return i * m.rs + j * m.cs + z * m.apart;
}

/* Scalars on the device have the type T that the kernel computes in. */
template <class T> static __device__ T scalar(const lt_scalar &s, long long row)
{
	return s.at ? ((const T *)s.at)[s.each * row] : (T)s.value;
}

/* Approximates GELU by the hyperbolic tangent, as cublasLt documents it. */
template <class T> static __device__ T gelu(T x)
{
	return x / 2 * (1 + tanh((T)0.7978845608028654 * (x + (T)0.044715 * x * x * x)));
}

template <class T> static __device__ void multiply(const lt_product &p)
{
	long long e = (long long)blockIdx.x * BLOCK + threadIdx.x;

	for (; e < p.m * p.n * p.batch; e += (long long)gridDim.x * BLOCK) {
		const long long i = e % p.m, j = e / p.m % p.n, z = e / p.m / p.n;
		const T beta = scalar<T>(p.beta, i);
		T v = 0;

		for (long long l = 0; l < p.k; l++)
			v += load<T>(p.a.at, p.a.type, place(p.a, i, l, z)) *
			     load<T>(p.b.at, p.b.type, place(p.b, l, j, z));
		v *= scalar<T>(p.alpha, i);
		if (beta != 0)
			v += beta * load<T>(p.c.at, p.c.type, place(p.c, i, j, z));
		if (p.bias)
			v += load<T>(p.bias, p.bias_type, i + z * p.bias_apart);
		if (p.relu && v < 0)
			v = 0;
		if (p.gelu)
			v = gelu(v);
		store(p.d.at, p.d.type, place(p.d, i, j, z), v);
	}
}

template <class T> static __device__ void sum(const lt_sum &p)
{
	long long e = (long long)blockIdx.x * BLOCK + threadIdx.x;

	for (; e < p.m * p.n * p.batch; e += (long long)gridDim.x * BLOCK) {
		const long long i = e % p.m, j = e / p.m % p.n, z = e / p.m / p.n;
		T v = 0;

		if (p.a.at)
			v += scalar<T>(p.alpha, 0) * load<T>(p.a.at, p.a.type, place(p.a, i, j, z));
		if (p.b.at)
			v += scalar<T>(p.beta, 0) * load<T>(p.b.at, p.b.type, place(p.b, i, j, z));
		store(p.c.at, p.c.type, place(p.c, i, j, z), v);
	}
}

extern "C" __global__ void multiply_f(lt_product p) { multiply<float>(p); }
extern "C" __global__ void multiply_d(lt_product p) { multiply<double>(p); }
extern "C" __global__ void sum_f(lt_sum p) { sum<float>(p); }
extern "C" __global__ void sum_d(lt_sum p) { sum<double>(p); }
