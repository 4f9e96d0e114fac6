// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels of the stand-in for cuRAND. The generators themselves come from cuRAND's device
 * header. The code here decides which of their words becomes which output.
 *
 * XORWOW and MRG32k3a: @width subsequences take turns, position by position. The state of a
 * subsequence is made at its first turn (less than @width positions after @start), and is
 * kept between calls. Philox: subsequence (position / 4) % 65536 makes four positions, and
 * then waits for its next turn.
 */
#include <curand_kernel.h>

typedef unsigned long long u64;

enum { BITS, UNIFORM, UNIFORM2, NORMAL, NORMAL2, LOG, LOG2 };

/* How an output of each kind is made: one @type per position, from the state @s. */
template <int WHAT> struct kind;
template <> struct kind<BITS> {
	typedef unsigned int type;
	template <class S> static __device__ type next(S *s, double, double) { return curand(s); }
};
template <> struct kind<UNIFORM> {
	typedef float type;
	template <class S> static __device__ type next(S *s, double, double)
	{
		return curand_uniform(s);
	}
};
template <> struct kind<UNIFORM2> {
	typedef double type;
	template <class S> static __device__ type next(S *s, double, double)
	{
		return curand_uniform_double(s);
	}
};

static __device__ float2 pair(curandStateXORWOW_t *s) { return curand_box_muller(s); }
static __device__ float2 pair(curandStateMRG32k3a_t *s) { return curand_box_muller_mrg(s); }
static __device__ double2 pair2(curandStateXORWOW_t *s) { return curand_box_muller_double(s); }
static __device__ double2 pair2(curandStateMRG32k3a_t *s)
{
	return curand_box_muller_mrg_double(s);
}

static __device__ float2 scale(float2 v, double mean, double dev)
{
	return make_float2((float)mean + v.x * (float)dev, (float)mean + v.y * (float)dev);
}

static __device__ double2 scale(double2 v, double mean, double dev)
{
	return make_double2(mean + v.x * dev, mean + v.y * dev);
}

template <> struct kind<NORMAL> {
	typedef float2 type;
	template <class S> static __device__ type next(S *s, double mean, double dev)
	{
		return scale(pair(s), mean, dev);
	}
};
template <> struct kind<NORMAL2> {
	typedef double2 type;
	template <class S> static __device__ type next(S *s, double mean, double dev)
	{
		return scale(pair2(s), mean, dev);
	}
};
template <> struct kind<LOG> {
	typedef float2 type;
	template <class S> static __device__ type next(S *s, double mean, double dev)
	{
		float2 v = scale(pair(s), mean, dev);

		return make_float2(expf(v.x), expf(v.y));
	}
};
template <> struct kind<LOG2> {
	typedef double2 type;
	template <class S> static __device__ type next(S *s, double mean, double dev)
	{
		double2 v = scale(pair2(s), mean, dev);

		return make_double2(exp(v.x), exp(v.y));
	}
};

template <class S, int WHAT>
static __device__ void turns(S *states, unsigned int width, u64 seed, u64 start, u64 pos, u64 n,
			     void *out_, double mean, double dev)
{
	typedef typename kind<WHAT>::type T;
	u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x, first = pos + i;
	unsigned int sub = first % width;
	T *out = (T *)out_;
	S s;

	if (i >= n || i >= width)
		return;
	if (first - start < width)
		curand_init(seed, sub, first / width, &s);
	else
		s = states[sub];
	for (; i < n; i += width)
		out[i] = kind<WHAT>::next(&s, mean, dev);
	states[sub] = s;
}

template <int WHAT>
static __device__ void philox(u64 seed, u64 start, u64 pos, u64 n, void *out, double mean,
			      double dev)
{
	u64 t = (u64)blockIdx.x * blockDim.x + threadIdx.x, quad = pos / 4 + t;
	u64 skipped = start / 4 / 65536;	/* by an offset, which counts 4 words per turn */
	const bool wide = WHAT == UNIFORM2 || WHAT == NORMAL2 || WHAT == LOG2;
	curandStatePhilox4_32_10_t s;
	double d[4] = {};
	float f[4] = {};
	uint4 x, y;

	if (quad * 4 >= pos + n)
		return;
	curand_init(seed, quad % 65536,
		    skipped * 4 + (quad / 65536 - skipped) * (wide ? 8 : 4), &s);
	x = curand4(&s);
	if (wide)
		y = curand4(&s);
	if (WHAT == UNIFORM) {
		float4 u = _curand_uniform4(x);

		f[0] = u.x, f[1] = u.y, f[2] = u.z, f[3] = u.w;
	} else if (WHAT == UNIFORM2) {
		d[0] = _curand_uniform_double_hq(x.x, x.y);
		d[1] = _curand_uniform_double_hq(x.z, x.w);
		d[2] = _curand_uniform_double_hq(y.x, y.y);
		d[3] = _curand_uniform_double_hq(y.z, y.w);
	} else if (WHAT == NORMAL || WHAT == LOG) {
		float2 a = scale(_curand_box_muller(x.x, x.y), mean, dev);
		float2 b = scale(_curand_box_muller(x.z, x.w), mean, dev);

		f[0] = a.x, f[1] = a.y, f[2] = b.x, f[3] = b.y;
		for (int j = 0; WHAT == LOG && j < 4; j++)
			f[j] = expf(f[j]);
	} else if (WHAT != BITS) {
		double2 a = scale(_curand_box_muller_double(x.x, x.y, x.z, x.w), mean, dev);
		double2 b = scale(_curand_box_muller_double(y.x, y.y, y.z, y.w), mean, dev);

		d[0] = a.x, d[1] = a.y, d[2] = b.x, d[3] = b.y;
		for (int j = 0; WHAT == LOG2 && j < 4; j++)
			d[j] = exp(d[j]);
	}
#pragma unroll
	for (int j = 0; j < 4; j++) {
		u64 i = quad * 4 + j - pos;

		if (quad * 4 + j < pos || i >= n)
			continue;
		if (WHAT == BITS)
			((unsigned int *)out)[i] = j == 0 ? x.x : j == 1 ? x.y : j == 2 ? x.z : x.w;
		else if (wide)
			((double *)out)[i] = d[j];
		else
			((float *)out)[i] = f[j];
	}
}

#define KERNELS(name, WHAT) \
extern "C" __global__ void xorwow_##name(curandStateXORWOW_t *st, unsigned int width, u64 seed, \
		u64 start, u64 pos, u64 n, void *out, double mean, double dev) \
{ turns<curandStateXORWOW_t, WHAT>(st, width, seed, start, pos, n, out, mean, dev); } \
extern "C" __global__ void mrg_##name(curandStateMRG32k3a_t *st, unsigned int width, u64 seed, \
		u64 start, u64 pos, u64 n, void *out, double mean, double dev) \
{ turns<curandStateMRG32k3a_t, WHAT>(st, width, seed, start, pos, n, out, mean, dev); } \
extern "C" __global__ void philox_##name(void *, unsigned int, u64 seed, \
		u64 start, u64 pos, u64 n, void *out, double mean, double dev) \
{ philox<WHAT>(seed, start, pos, n, out, mean, dev); }

KERNELS(bits, BITS)
KERNELS(uniform, UNIFORM)
KERNELS(uniform2, UNIFORM2)
KERNELS(normal, NORMAL)
KERNELS(normal2, NORMAL2)
KERNELS(log, LOG)
KERNELS(log2, LOG2)
