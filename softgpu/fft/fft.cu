// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels of the stand-in for cuFFT, for float (_f) and double (_d). A transform has three
 * steps: load all lines into the work area as complex numbers without gaps, run one pass
 * for each factor of each dimension, and store. So a transform in its own place needs no
 * special code, and only the first and the last step deal with layouts. Sums are computed
 * in double.
 */
#include "layout.h"

typedef long long i64;

#define BLOCK 256

template <class T> struct complex {
	T re, im;
};

static __device__ i64 me()
{
	return (i64)blockIdx.x * BLOCK + threadIdx.x;
}

static __device__ i64 all()
{
	return (i64)gridDim.x * BLOCK;
}

/* The coordinates of element @i, if elements are counted without gaps. */
struct place {
	i64 x[FFT_RANK], batch;
};

static __device__ struct place place_of(const struct fft_layout *a, i64 i)
{
	struct place p;

	for (int d = FFT_RANK - 1; d >= 0; d--) {
		p.x[d] = i % a->n[d];
		i /= a->n[d];
	}
	p.batch = i;
	return p;
}

static __device__ i64 offset(const struct fft_layout *a, const struct place *p)
{
	i64 at = p->batch * a->dist;

	for (int d = 0; d < FFT_RANK; d++)
		at += p->x[d] * a->stride[d];
	return at;
}

/* Replaces an element by its conjugate partner, which is in the stored half. */
static __device__ void mirror(const struct fft_layout *a, struct place *p)
{
	for (int d = 0; d < FFT_RANK; d++)
		p->x[d] = p->x[d] ? a->n[d] - p->x[d] : 0;
}

template <class T> static __device__ void load(struct fft_layout a, int kind, i64 total,
					       const void *in, complex<T> *work)
{
	for (i64 i = me(); i < total; i += all()) {
		struct place p = place_of(&a, i);
		bool other = kind == FFT_C2R && p.x[FFT_RANK - 1] > a.n[FFT_RANK - 1] / 2;

		if (kind == FFT_R2C) {
			work[i].re = ((const T *)in)[offset(&a, &p)];
			work[i].im = 0;
			continue;
		}
		if (other)
			mirror(&a, &p);
		work[i] = ((const complex<T> *)in)[offset(&a, &p)];
		if (other)
			work[i].im = -work[i].im;
	}
}

template <class T> static __device__ void store(struct fft_layout a, int kind, i64 total,
						const complex<T> *work, void *out)
{
	for (i64 i = me(); i < total; i += all()) {
		struct place p = place_of(&a, i);

		if (kind == FFT_C2R)
			((T *)out)[offset(&a, &p)] = work[i].re;
		else if (kind == FFT_C2C || p.x[FFT_RANK - 1] <= a.n[FFT_RANK - 1] / 2)
			((complex<T> *)out)[offset(&a, &p)] = work[i];
	}
}

/*
 * Combines interleaved transforms of @l elements each into transforms of @l * @r. Lines
 * have @n elements that are @inner apart. Element k * n/l + j of a line is the k-th element
 * of the transform of the elements j, j + n/l, ... @roots are the n-th roots of unity.
 */
template <class T> static __device__ void pass(i64 n, i64 l, i64 r, i64 inner, i64 total,
					       int inverse, const complex<double> *roots,
					       const complex<T> *in, complex<T> *out)
{
	i64 apart = n / l, next = apart / r;

	for (i64 i = me(); i < total; i += all()) {
		i64 e = i / inner % n, line = i - e * inner;
		i64 k = e / next, from = k % l * apart + e % next, step = k * next % n, w = 0;
		double re = 0, im = 0;

		for (i64 u = 0; u < r; u++) {
			complex<T> x = in[line + (from + u * next) * inner];
			double c = roots[w].re, s = inverse ? -roots[w].im : roots[w].im;

			re += x.re * c - x.im * s;
			im += x.re * s + x.im * c;
			w += step;
			if (w >= n)
				w -= n;
		}
		out[i].re = re;
		out[i].im = im;
	}
}

#define KERNELS(T, s) \
extern "C" __global__ void load_##s(struct fft_layout a, int kind, i64 total, const void *in, \
				    complex<T> *work) \
{ \
	load<T>(a, kind, total, in, work); \
} \
extern "C" __global__ void store_##s(struct fft_layout a, int kind, i64 total, \
				     const complex<T> *work, void *out) \
{ \
	store<T>(a, kind, total, work, out); \
} \
extern "C" __global__ void pass_##s(i64 n, i64 l, i64 r, i64 inner, i64 total, int inverse, \
				    const complex<double> *roots, const complex<T> *in, \
				    complex<T> *out) \
{ \
	pass<T>(n, l, r, inner, total, inverse, roots, in, out); \
}

KERNELS(float, f)
KERNELS(double, d)
