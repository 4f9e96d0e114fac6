// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels of the stand-in for cuBLAS, for float (_f) and double (_d), and products of matrices
 * of f16 and bf16. A scalar is passed as a pair: its value, or its address on the device. One
 * block computes the sum over a vector, in a fixed order, so results repeat bit by bit.
 */
#include <cuda_fp16.h>

#include "../standin/factor.cuh"

/* bf16 is the upper half of a float. Conversion to it rounds to nearest even. */
struct bf16 { unsigned short bits; };

static __device__ float of(float v) { return v; }
static __device__ double of(double v) { return v; }
static __device__ float of(__half v) { return __half2float(v); }
static __device__ float of(bf16 v) { return __uint_as_float((unsigned int)v.bits << 16); }

static __device__ void put(float *p, float v) { *p = v; }
static __device__ void put(double *p, double v) { *p = v; }
static __device__ void put(__half *p, float v) { *p = __float2half(v); }

static __device__ void put(bf16 *p, float v)
{
	unsigned int u = __float_as_uint(v);

	p->bits = isnan(v) ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

template <class T> static __device__ T get(T value, const T *at)
{
	return at ? *at : value;
}

/* Returns element @i of @n. With a negative increment the vector starts at its end. */
template <class T> static __device__ T &at(T *x, i64 i, i64 n, i64 inc)
{
	return x[inc < 0 ? (i - n + 1) * inc : i * inc];
}

static __device__ i64 me()
{
	return (i64)blockIdx.x * BLOCK + threadIdx.x;
}

static __device__ i64 all()
{
	return (i64)gridDim.x * BLOCK;
}

/* --- Level 1 -------------------------------------------------------------------- */

template <class T> static __device__ void axpy(i64 n, T a, const T *ap, const T *x, i64 incx,
					       T *y, i64 incy)
{
	a = get(a, ap);
	for (i64 i = me(); i < n; i += all())
		at(y, i, n, incy) += a * at(x, i, n, incx);
}

template <class T> static __device__ void scal(i64 n, T a, const T *ap, T *x, i64 incx)
{
	a = get(a, ap);
	for (i64 i = me(); i < n; i += all())
		x[i * incx] *= a;
}

template <class T> static __device__ void copy(i64 n, const T *x, i64 incx, T *y, i64 incy)
{
	for (i64 i = me(); i < n; i += all())
		at(y, i, n, incy) = at(x, i, n, incx);
}

template <class T> static __device__ void swap(i64 n, T *x, i64 incx, T *y, i64 incy)
{
	for (i64 i = me(); i < n; i += all()) {
		T v = at(x, i, n, incx);

		at(x, i, n, incx) = at(y, i, n, incy);
		at(y, i, n, incy) = v;
	}
}

template <class T> static __device__ void rot(i64 n, T *x, i64 incx, T *y, i64 incy, T c,
					      const T *cp, T s, const T *sp)
{
	c = get(c, cp);
	s = get(s, sp);
	for (i64 i = me(); i < n; i += all()) {
		T a = at(x, i, n, incx), b = at(y, i, n, incy);

		at(x, i, n, incx) = c * a + s * b;
		at(y, i, n, incy) = c * b - s * a;
	}
}

/* @param holds flag, h11, h21, h12, h22. The flag says which of the four are used. */
template <class T> static __device__ void rotm(i64 n, T *x, i64 incx, T *y, i64 incy,
					       const T *param)
{
	T flag = param[0], h11 = param[1], h21 = param[2], h12 = param[3], h22 = param[4];

	if (flag == -2)
		return;
	if (flag == 0)
		h11 = h22 = 1;
	if (flag == 1) {
		h12 = 1;
		h21 = -1;
	}
	for (i64 i = me(); i < n; i += all()) {
		T a = at(x, i, n, incx), b = at(y, i, n, incy);

		at(x, i, n, incx) = h11 * a + h12 * b;
		at(y, i, n, incy) = h21 * a + h22 * b;
	}
}

static __device__ double sum_block(double v)
{
	__shared__ double part[BLOCK];

	part[threadIdx.x] = v;
	__syncthreads();
	for (int d = BLOCK / 2; d; d /= 2) {
		if (threadIdx.x < d)
			part[threadIdx.x] += part[threadIdx.x + d];
		__syncthreads();
	}
	v = part[0];
	__syncthreads();
	return v;
}

static __device__ double max_block(double v)
{
	__shared__ double part[BLOCK];

	part[threadIdx.x] = v;
	__syncthreads();
	for (int d = BLOCK / 2; d; d /= 2) {
		if (threadIdx.x < d)
			part[threadIdx.x] = fmax(part[threadIdx.x], part[threadIdx.x + d]);
		__syncthreads();
	}
	v = part[0];
	__syncthreads();
	return v;
}

template <class T> static __device__ void dot(i64 n, const T *x, i64 incx, const T *y, i64 incy,
					      T *out)
{
	double v = 0;

	for (i64 i = threadIdx.x; i < n; i += BLOCK)
		v += (double)at(x, i, n, incx) * (double)at(y, i, n, incy);
	v = sum_block(v);
	if (!threadIdx.x)
		*out = (T)v;
}

template <class T> static __device__ void asum(i64 n, const T *x, i64 incx, T *out)
{
	double v = 0;

	for (i64 i = threadIdx.x; i < n; i += BLOCK)
		v += fabs((double)x[i * incx]);
	v = sum_block(v);
	if (!threadIdx.x)
		*out = (T)v;
}

/* Scales by the largest magnitude, so that squares neither overflow nor vanish. */
template <class T> static __device__ void nrm2(i64 n, const T *x, i64 incx, T *out)
{
	double most = 0, v = 0;

	for (i64 i = threadIdx.x; i < n; i += BLOCK)
		most = fmax(most, fabs((double)x[i * incx]));
	most = max_block(most);
	if (most == 0 || isinf(most))
		most = 1;
	for (i64 i = threadIdx.x; i < n; i += BLOCK) {
		double e = (double)x[i * incx] / most;

		v += e * e;
	}
	v = most * sqrt(sum_block(v));
	if (!threadIdx.x)
		*out = (T)v;
}

/* Finds the first element of the largest (smallest) magnitude; elements count from 1. */
template <class T> static __device__ void extreme(i64 n, const T *x, i64 incx, i64 *out64,
						  int *out32, bool largest)
{
	__shared__ double best[BLOCK];
	__shared__ i64 where[BLOCK];
	int t = threadIdx.x;

	where[t] = 0;
	best[t] = 0;
	for (i64 i = t; i < n; i += BLOCK) {
		double v = fabs((double)x[i * incx]);

		if (!where[t] || (largest ? v > best[t] : v < best[t])) {
			best[t] = v;
			where[t] = i + 1;
		}
	}
	__syncthreads();
	for (int d = BLOCK / 2; d; d /= 2) {
		if (t < d && where[t + d]) {
			double a = best[t], b = best[t + d];

			if (!where[t] || (largest ? b > a : b < a) ||
			    (a == b && where[t + d] < where[t])) {
				best[t] = b;
				where[t] = where[t + d];
			}
		}
		__syncthreads();
	}
	if (t)
		return;
	if (out64)
		*out64 = where[0];
	if (out32)
		*out32 = (int)where[0];
}

/* One thread runs this function, and also rotmg(). */
template <class T> static __device__ void rotg(T *a, T *b, T *c, T *s)
{
	T roe = fabs(*a) > fabs(*b) ? *a : *b, scale = fabs(*a) + fabs(*b), r, z;

	if (scale == 0) {
		*c = 1;
		*s = *a = *b = 0;
		return;
	}
	r = scale * sqrt((*a / scale) * (*a / scale) + (*b / scale) * (*b / scale));
	if (roe < 0)
		r = -r;
	*c = *a / r;
	*s = *b / r;
	z = 1;
	if (fabs(*a) > fabs(*b))
		z = *s;
	else if (*c != 0)
		z = 1 / *c;
	*a = r;
	*b = z;
}

template <class T> static __device__ void rotmg(T *d1, T *d2, T *x1, const T *y1, T *param)
{
	const T gam = 4096, gamsq = gam * gam, rgamsq = 1 / gamsq;
	T flag, h11 = 0, h12 = 0, h21 = 0, h22 = 0, p1, p2, q1, q2, u, v;

	p2 = *d2 * *y1;
	if (*d1 < 0) {
		flag = -1;
		*d1 = *d2 = *x1 = 0;
	} else if (p2 == 0) {
		param[0] = -2;
		return;
	} else {
		p1 = *d1 * *x1;
		q2 = p2 * *y1;
		q1 = p1 * *x1;
		if (fabs(q1) > fabs(q2)) {
			h21 = -*y1 / *x1;
			h12 = p2 / p1;
			u = 1 - h12 * h21;
			flag = 0;
			if (u > 0) {
				*d1 /= u;
				*d2 /= u;
				*x1 *= u;
			} else {
				flag = -1;
				h12 = h21 = 0;
				*d1 = *d2 = *x1 = 0;
			}
		} else if (q2 < 0) {
			flag = -1;
			*d1 = *d2 = *x1 = 0;
		} else {
			flag = 1;
			h11 = p1 / p2;
			h22 = *x1 / *y1;
			u = 1 + h11 * h22;
			v = *d2 / u;
			*d2 = *d1 / u;
			*d1 = v;
			*x1 = *y1 * u;
		}
		/* Keep both weights within the range of the number format. */
		for (int i = 0; i < 2; i++) {
			T *d = i ? d2 : d1;

			while (*d != 0 && (fabs(*d) <= rgamsq || fabs(*d) >= gamsq)) {
				T f = fabs(*d) <= rgamsq ? gam : 1 / gam;

				if (flag == 0)
					h11 = h22 = 1;
				if (flag == 1) {
					h21 = -1;
					h12 = 1;
				}
				flag = -1;
				*d *= f * f;
				if (i) {
					h21 /= f;
					h22 /= f;
				} else {
					*x1 /= f;
					h11 /= f;
					h12 /= f;
				}
			}
		}
	}
	param[0] = flag;
	if (flag < 0 || flag == 1)
		param[1] = h11;
	if (flag <= 0) {
		param[2] = h21;
		param[3] = h12;
	}
	if (flag < 0 || flag == 1)
		param[4] = h22;
}

/* --- Level 2 -------------------------------------------------------------------- */

/* Computes y = alpha A x + beta y with any strides: A(i, j) = a[i * rs + j * cs]. */
template <class T> static __device__ void gemv(i64 m, i64 n, T alpha, const T *alphap, const T *a,
					       i64 rs, i64 cs, const T *x, i64 incx, T beta,
					       const T *betap, T *y, i64 incy)
{
	alpha = get(alpha, alphap);
	beta = get(beta, betap);
	for (i64 i = me(); i < m; i += all()) {
		T *out = &at(y, i, m, incy), v = 0;

		for (i64 j = 0; alpha != 0 && j < n; j++)
			v += a[i * rs + j * cs] * at(x, j, n, incx);
		*out = beta == 0 ? alpha * v : alpha * v + beta * *out;
	}
}

template <class T> static __device__ void symv(int upper, i64 n, T alpha, const T *alphap,
					       const T *a, i64 lda, const T *x, i64 incx, T beta,
					       const T *betap, T *y, i64 incy)
{
	alpha = get(alpha, alphap);
	beta = get(beta, betap);
	for (i64 i = me(); i < n; i += all()) {
		T *out = &at(y, i, n, incy), v = 0;

		for (i64 j = 0; alpha != 0 && j < n; j++) {
			bool mine = upper ? i <= j : i >= j;

			v += (mine ? a[i + j * lda] : a[j + i * lda]) * at(x, j, n, incx);
		}
		*out = beta == 0 ? alpha * v : alpha * v + beta * *out;
	}
}

/* @part selects what of A is updated: 0 all, 1 the upper triangle, 2 the lower one. */
template <class T> static __device__ void ger(int part, i64 m, i64 n, T alpha, const T *alphap,
					      const T *x, i64 incx, const T *y, i64 incy, T *a,
					      i64 lda)
{
	alpha = get(alpha, alphap);
	for (i64 e = me(); alpha != 0 && e < m * n; e += all()) {
		i64 i = e % m, j = e / m;

		if ((part == 1 && i > j) || (part == 2 && i < j))
			continue;
		a[i + j * lda] += alpha * at(x, i, m, incx) * at(y, j, n, incy);
	}
}

/* --- Level 3 -------------------------------------------------------------------- */

#define TILE	64		/* rows and columns of C that a block computes */
#define DEPTH	16
#define EACH	4		/* rows and columns of C that a thread computes */

template <class T> struct alignas(16) run { T v[EACH]; };

/*
 * Computes C = alpha A B + beta C, batched. A and B have strides, so they may be transposed. Sums
 * are of the type T, whatever the elements of A and B (E) and of C (O) are.
 */
template <class T, class E, class O> static __device__ void gemm(i64 m, i64 n, i64 k, T alpha,
		const T *alphap, const E *a, const E *const *as, i64 ars, i64 acs, i64 abatch,
		const E *b, const E *const *bs, i64 brs, i64 bcs, i64 bbatch,
		T beta, const T *betap, O *c, O *const *cs, i64 ldc, i64 cbatch, i64 batch)
{
	__shared__ run<T> ta[DEPTH][TILE / EACH], tb[DEPTH][TILE / EACH];
	const int t = threadIdx.x, tx = t % 16, ty = t / 16;
	const i64 row = (i64)blockIdx.x * TILE, col = (i64)blockIdx.y * TILE;

	alpha = get(alpha, alphap);
	beta = get(beta, betap);
	for (i64 z = blockIdx.z; z < batch; z += gridDim.z) {
		const E *pa = as ? as[z] : a + z * abatch, *pb = bs ? bs[z] : b + z * bbatch;
		O *pc = cs ? cs[z] : c + z * cbatch;
		T acc[EACH][EACH] = {};

		for (i64 at = 0; alpha != 0 && at < k; at += DEPTH) {
#pragma unroll
			for (int e = 0; e < TILE * DEPTH / BLOCK; e++) {
				const int i = t % TILE, d = t / TILE + e * (BLOCK / TILE);
				const bool deep = at + d < k;

				ta[d][i / EACH].v[i % EACH] = deep && row + i < m ?
					of(pa[(row + i) * ars + (at + d) * acs]) : 0;
				tb[d][i / EACH].v[i % EACH] = deep && col + i < n ?
					of(pb[(at + d) * brs + (col + i) * bcs]) : 0;
			}
			__syncthreads();
#pragma unroll
			for (int d = 0; d < DEPTH; d++) {
				const run<T> x = ta[d][tx], y = tb[d][ty];

#pragma unroll
				for (int j = 0; j < EACH; j++)
#pragma unroll
					for (int i = 0; i < EACH; i++)
						acc[j][i] += x.v[i] * y.v[j];
			}
			__syncthreads();
		}
#pragma unroll
		for (int j = 0; j < EACH; j++)
#pragma unroll
			for (int i = 0; i < EACH; i++) {
				const i64 r = row + tx * EACH + i, q = col + ty * EACH + j;

				if (r >= m || q >= n)
					continue;
				O *out = &pc[r + q * ldc];
				T v = alpha * acc[j][i];

				put(out, beta == 0 ? v : v + beta * of(*out));
			}
	}
}

template <class T> static __device__ void geam(i64 m, i64 n, T alpha, const T *alphap, const T *a,
					       i64 ars, i64 acs, T beta, const T *betap, const T *b,
					       i64 brs, i64 bcs, T *c, i64 ldc)
{
	alpha = get(alpha, alphap);
	beta = get(beta, betap);
	for (i64 e = me(); e < m * n; e += all()) {
		i64 i = e % m, j = e / m;
		T v = alpha == 0 ? 0 : alpha * a[i * ars + j * acs];

		c[i + j * ldc] = beta == 0 ? v : v + beta * b[i * brs + j * bcs];
	}
}

template <class T> static __device__ void dgmm(int left, i64 m, i64 n, const T *a, i64 lda,
					       const T *x, i64 incx, T *c, i64 ldc)
{
	for (i64 e = me(); e < m * n; e += all()) {
		i64 i = e % m, j = e / m;

		c[i + j * ldc] = a[i + j * lda] * (left ? at(x, i, m, incx) : at(x, j, n, incx));
	}
}

#define KERNELS(T, s) \
extern "C" __global__ void axpy_##s(i64 n, T a, const T *ap, const T *x, i64 incx, T *y, i64 incy) \
{ axpy<T>(n, a, ap, x, incx, y, incy); } \
extern "C" __global__ void scal_##s(i64 n, T a, const T *ap, T *x, i64 incx) \
{ scal<T>(n, a, ap, x, incx); } \
extern "C" __global__ void copy_##s(i64 n, const T *x, i64 incx, T *y, i64 incy) \
{ copy<T>(n, x, incx, y, incy); } \
extern "C" __global__ void swap_##s(i64 n, T *x, i64 incx, T *y, i64 incy) \
{ swap<T>(n, x, incx, y, incy); } \
extern "C" __global__ void rot_##s(i64 n, T *x, i64 incx, T *y, i64 incy, T c, const T *cp, T v, \
				   const T *vp) \
{ rot<T>(n, x, incx, y, incy, c, cp, v, vp); } \
extern "C" __global__ void rotm_##s(i64 n, T *x, i64 incx, T *y, i64 incy, const T *param) \
{ rotm<T>(n, x, incx, y, incy, param); } \
extern "C" __global__ void dot_##s(i64 n, const T *x, i64 incx, const T *y, i64 incy, T *out) \
{ dot<T>(n, x, incx, y, incy, out); } \
extern "C" __global__ void asum_##s(i64 n, const T *x, i64 incx, T *out) \
{ asum<T>(n, x, incx, out); } \
extern "C" __global__ void nrm2_##s(i64 n, const T *x, i64 incx, T *out) \
{ nrm2<T>(n, x, incx, out); } \
extern "C" __global__ void extreme_##s(i64 n, const T *x, i64 incx, i64 *out64, int *out32, \
				       int largest) \
{ extreme<T>(n, x, incx, out64, out32, largest); } \
extern "C" __global__ void rotg_##s(T *a, T *b, T *c, T *v) \
{ if (!threadIdx.x) rotg<T>(a, b, c, v); } \
extern "C" __global__ void rotmg_##s(T *d1, T *d2, T *x1, const T *y1, T *param) \
{ if (!threadIdx.x) rotmg<T>(d1, d2, x1, y1, param); } \
extern "C" __global__ void gemv_##s(i64 m, i64 n, T alpha, const T *alphap, const T *a, i64 rs, \
		i64 cs, const T *x, i64 incx, T beta, const T *betap, T *y, i64 incy) \
{ gemv<T>(m, n, alpha, alphap, a, rs, cs, x, incx, beta, betap, y, incy); } \
extern "C" __global__ void symv_##s(int upper, i64 n, T alpha, const T *alphap, const T *a, \
		i64 lda, const T *x, i64 incx, T beta, const T *betap, T *y, i64 incy) \
{ symv<T>(upper, n, alpha, alphap, a, lda, x, incx, beta, betap, y, incy); } \
extern "C" __global__ void ger_##s(int part, i64 m, i64 n, T alpha, const T *alphap, const T *x, \
		i64 incx, const T *y, i64 incy, T *a, i64 lda) \
{ ger<T>(part, m, n, alpha, alphap, x, incx, y, incy, a, lda); } \
extern "C" __global__ void geam_##s(i64 m, i64 n, T alpha, const T *alphap, const T *a, i64 ars, \
		i64 acs, T beta, const T *betap, const T *b, i64 brs, i64 bcs, T *c, i64 ldc) \
{ geam<T>(m, n, alpha, alphap, a, ars, acs, beta, betap, b, brs, bcs, c, ldc); } \
extern "C" __global__ void dgmm_##s(int left, i64 m, i64 n, const T *a, i64 lda, const T *x, \
		i64 incx, T *c, i64 ldc) \
{ dgmm<T>(left, m, n, a, lda, x, incx, c, ldc); }

KERNELS(float, f)
KERNELS(double, d)

#define GEMM(T, E, O, s) \
extern "C" __global__ void gemm_##s(i64 m, i64 n, i64 k, T alpha, const T *alphap, \
		const E *a, const E *const *as, i64 ars, i64 acs, i64 abatch, \
		const E *b, const E *const *bs, i64 brs, i64 bcs, i64 bbatch, \
		T beta, const T *betap, O *c, O *const *cs, i64 ldc, i64 cbatch, i64 batch) \
{ gemm<T, E, O>(m, n, k, alpha, alphap, a, as, ars, acs, abatch, b, bs, brs, bcs, bbatch, beta, \
		betap, c, cs, ldc, cbatch, batch); }

GEMM(float, float, float, f)
GEMM(double, double, double, d)
GEMM(float, __half, __half, half)
GEMM(float, __half, float, half_f)
GEMM(float, bf16, bf16, bf16)
GEMM(float, bf16, float, bf16_f)

/* --- Factors and triangular solutions: a block has a matrix of a batch --------------------- */

/* Solves op(A) X = alpha B, or on the right X op(A) = alpha B, which is the transpose of that. */
template <class T> static __device__ void trsm(triangle<T> a, int right, i64 m, i64 n, T alpha,
					       T *b,
					       i64 ldb)
{
	for (i64 e = threadIdx.x; e < m * n; e += BLOCK)
		b[e % m + e / m * ldb] = alpha * b[e % m + e / m * ldb];
	__syncthreads();
	/* With a factor of zero the matrix is not looked at. */
	if (magnitude(alpha) == 0)
		return;
	if (right)
		solve(a, n, b, ldb, 1, m);
	else
		solve(a, m, b, 1, ldb, n);
}

#define FACTORS(T, s) \
extern "C" __global__ void trsm_##s(int right, int lower, int op, int unit, i64 m, i64 n, T alpha, \
				    const T *alphap, matrices<T> a, matrices<T> b) \
{ \
	bool turned = (op != 0) != (right != 0); \
	triangle<T> t = { a.mine(), a.ld, (lower != 0) != turned, turned, op == 2, unit != 0 }; \
\
	trsm(t, right, m, n, get(alpha, alphap), b.mine(), b.ld); \
} \
extern "C" __global__ void getrf_batch_##s(i64 n, matrices<T> a, int *pivot, int *info) \
{ \
	pivots p = { pivot ? pivot + blockIdx.x * n : (int *)0, 0 }; \
\
	lu(n, n, a.mine(), a.ld, p, info + blockIdx.x); \
} \
extern "C" __global__ void getrs_batch_##s(int op, i64 n, i64 nrhs, matrices<T> a, int *pivot, \
					   matrices<T> b) \
{ \
	pivots p = { pivot ? pivot + blockIdx.x * n : (int *)0, 0 }; \
\
	lu_solve(op, n, nrhs, (const T *)a.mine(), a.ld, p, b.mine(), b.ld); \
} \
extern "C" __global__ void geqrf_batch_##s(i64 m, i64 n, matrices<T> a, T *const *tau) \
{ qr(m, n, a.mine(), a.ld, tau[blockIdx.x]); }

FACTORS(float, f)
FACTORS(double, d)
FACTORS(complex<float>, c)
FACTORS(complex<double>, z)
