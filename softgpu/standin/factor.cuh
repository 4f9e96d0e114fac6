/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Factors and solutions: Cholesky, LU, QR. One block works on one matrix, and all its threads
 * call each function together. Matrices are stored by columns; @a is at element (0, 0).
 */
#ifndef WORMHOLE_SOFTGPU_FACTOR_H
#define WORMHOLE_SOFTGPU_FACTOR_H

#include "number.cuh"

typedef long long i64;

#define BLOCK	256
#define WARPS	(BLOCK / 32)

FN int lane() { return threadIdx.x % 32; }
FN int warp() { return threadIdx.x / 32; }

/* Adds over the block, in a fixed order, so results repeat bit by bit. */
FN double block_sum(double v)
{
	__shared__ double part[WARPS];

	v = warp_sum(v);
	__syncthreads();
	if (!lane())
		part[warp()] = v;
	__syncthreads();
	v = 0;
	for (int i = 0; i < WARPS; i++)
		v += part[i];
	return v;
}

/* Returns the row in [from, n) whose element of @column is largest, the first of equals. */
template <class T> FN i64 block_largest(const T *column, i64 from, i64 n)
{
	__shared__ double best[BLOCK];
	__shared__ i64 where[BLOCK];
	double most = -1;
	i64 at = from;

	for (i64 i = from + threadIdx.x; i < n; i += BLOCK) {
		double v = magnitude(column[i]);

		if (v > most) {
			most = v;
			at = i;
		}
	}
	__syncthreads();
	best[threadIdx.x] = most;
	where[threadIdx.x] = at;
	__syncthreads();
	for (int d = BLOCK / 2; d; d /= 2) {
		int o = threadIdx.x + d;

		if (threadIdx.x < d && (best[o] > best[threadIdx.x] ||
					(best[o] == best[threadIdx.x] &&
					 where[o] < where[threadIdx.x]))) {
			best[threadIdx.x] = best[o];
			where[threadIdx.x] = where[o];
		}
		__syncthreads();
	}
	at = where[0];
	__syncthreads();
	return at;
}

/*
 * A triangular matrix as its user sees it: stored in @a, perhaps transposed, perhaps with
 * conjugated elements, perhaps with ones on the diagonal that are not stored.
 */
template <class T> struct triangle {
	const T *a;
	i64 lda;
	bool lower, transposed, conjugated, unit;

	__device__ T get(i64 i, i64 j) const
	{
		T v = transposed ? a[j + i * lda] : a[i + j * lda];

		return conjugated ? conj(v) : v;
	}
};

/*
 * Solves @t x = b in the place of @b, for @nrhs right sides. Elements of one side are @step from
 * each other, and sides are @apart.
 */
template <class T> FN void solve(triangle<T> t, i64 n, T *b, i64 step, i64 apart, i64 nrhs)
{
	for (i64 s = 0; s < n; s++) {
		i64 k = t.lower ? s : n - 1 - s, left = n - 1 - s, from = t.lower ? k + 1 : 0;

		if (!t.unit) {
			for (i64 j = threadIdx.x; j < nrhs; j += BLOCK) {
				T *x = b + k * step + j * apart;

				*x = over(*x, t.get(k, k));
			}
			__syncthreads();
		}
		for (i64 e = threadIdx.x; e < left * nrhs; e += BLOCK) {
			i64 i = from + e % left, j = e / left;
			T *to = b + i * step + j * apart;

			*to = *to - t.get(i, k) * b[k * step + j * apart];
		}
		__syncthreads();
	}
}

/* Of a matrix with the factor in its upper triangle, the lower one is the conjugate of that. */
template <class T> FN triangle<T> cholesky_factor(bool lower, const T *a, i64 lda)
{
	return triangle<T>{ a, lda, true, !lower, !lower, false };
}

template <class T> FN triangle<T> cholesky_adjoint(bool lower, const T *a, i64 lda)
{
	return triangle<T>{ a, lda, false, lower, lower, false };
}

/* @info is 0, or the order of the first leading minor that is not positive. */
template <class T> FN void cholesky(bool lower, i64 n, T *a, i64 lda, int *info)
{
	typedef typename number<T>::real R;
	/* From an element to the one below it and the one beside it. */
	i64 step = lower ? 1 : lda, turn = lower ? lda : 1;

	for (i64 k = 0; k < n; k++) {
		R d = re(a[k + k * lda]);
		i64 left = n - k - 1;
		T *column = a + k * turn;

		__syncthreads();
		if (!(d > 0)) {
			if (!threadIdx.x)
				*info = (int)(k + 1);
			return;
		}
		d = sqrt(d);
		for (i64 i = k + threadIdx.x; i < n; i += BLOCK)
			column[i * step] = i == k ? real<T>(d) : scaled(column[i * step], 1 / d);
		__syncthreads();
		for (i64 e = threadIdx.x; e < left * left; e += BLOCK) {
			i64 i = k + 1 + e % left, j = k + 1 + e / left;
			T *to = a + i * step + j * turn;

			/* The upper triangle holds conjugates: u(j,i) -= conj(u(k,j)) u(k,i). */
			if (i >= j)
				*to = *to - column[i * step] * conj(column[j * step]);
		}
		__syncthreads();
	}
	if (!threadIdx.x)
		*info = 0;
}

/* Row interchanges of LU are counted from one, in int or in 64 bits. */
struct pivots {
	void *at;	/* NULL: no interchanges */
	int wide;

	__device__ i64 get(i64 i) const
	{
		return (wide ? ((const i64 *)at)[i] : ((const int *)at)[i]) - 1;
	}
	__device__ void put(i64 i, i64 row) const
	{
		if (wide)
			((i64 *)at)[i] = row + 1;
		else
			((int *)at)[i] = (int)row + 1;
	}
};

template <class T> FN void swap_rows(T *a, i64 lda, i64 n, i64 r, i64 s)
{
	if (r != s)
		for (i64 j = threadIdx.x; j < n; j += BLOCK) {
			T v = a[r + j * lda];

			a[r + j * lda] = a[s + j * lda];
			a[s + j * lda] = v;
		}
	__syncthreads();
}

/* @info is 0, or the first diagonal element of U, counted from one, that is zero. */
template <class T> FN void lu(i64 m, i64 n, T *a, i64 lda, pivots p, int *info)
{
	i64 least = m < n ? m : n, zero = 0;

	for (i64 k = 0; k < least; k++) {
		T *column = a + k * lda, d;
		i64 rows = m - k - 1, columns = n - k - 1;

		if (p.at) {
			i64 row = block_largest(column, k, m);

			if (!threadIdx.x)
				p.put(k, row);
			swap_rows(a, lda, n, k, row);
		}
		d = column[k];
		if (magnitude(d) == 0) {
			zero = zero ? zero : k + 1;
			continue;
		}
		for (i64 i = k + 1 + threadIdx.x; i < m; i += BLOCK)
			column[i] = over(column[i], d);
		__syncthreads();
		for (i64 e = threadIdx.x; e < rows * columns; e += BLOCK) {
			T *to = column + k + 1 + e % rows + (1 + e / rows) * lda;

			*to = *to - column[k + 1 + e % rows] * to[-1 - e % rows];
		}
		__syncthreads();
	}
	if (!threadIdx.x)
		*info = (int)zero;
}

/* @op is of cublasOperation_t: 0 as it is, 1 transposed, 2 the adjoint. */
template <class T> FN void lu_solve(int op, i64 n, i64 nrhs, const T *a, i64 lda, pivots p, T *b,
				    i64 ldb)
{
	if (!op) {
		for (i64 i = 0; p.at && i < n; i++)
			swap_rows(b, ldb, nrhs, i, p.get(i));
		solve(triangle<T>{ a, lda, true, false, false, true }, n, b, 1, ldb, nrhs);
		solve(triangle<T>{ a, lda, false, false, false, false }, n, b, 1, ldb, nrhs);
		return;
	}
	solve(triangle<T>{ a, lda, true, true, op == 2, false }, n, b, 1, ldb, nrhs);
	solve(triangle<T>{ a, lda, false, true, op == 2, true }, n, b, 1, ldb, nrhs);
	for (i64 i = n - 1; p.at && i >= 0; i--)
		swap_rows(b, ldb, nrhs, i, p.get(i));
}

/*
 * A reflector is H = I - tau v v'. Its v begins with a one, which is not stored: @v is at the
 * element after that. Each warp takes a vector of @c: the @n vectors are @apart elements from
 * each other, and elements of one vector are @step from each other.
 */
template <class T> FN void reflect(const T *v, i64 length, T tau, T *c, i64 step, i64 apart, i64 n,
				   bool right)
{
	for (i64 j = warp(); j < n; j += WARPS) {
		T *x = c + j * apart, sum = lane() ? real<T>(0) : x[0];

		for (i64 i = 1 + lane(); i < length; i += 32)
			sum = sum + (right ? v[i - 1] : conj(v[i - 1])) * x[i * step];
		sum = tau * warp_sum(sum);
		__syncwarp();
		for (i64 i = lane(); i < length; i += 32)
			x[i * step] = x[i * step] - sum * (!i ? real<T>(1) :
				right ? conj(v[i - 1]) : v[i - 1]);
	}
	__syncthreads();
}

template <class T> FN void qr(i64 m, i64 n, T *a, i64 lda, T *tau)
{
	typedef typename number<T>::real R;

	for (i64 k = 0; k < m && k < n; k++) {
		T *column = a + k * lda, alpha = column[k], scale, t;
		double below = 0;
		R beta;

		for (i64 i = k + 1 + threadIdx.x; i < m; i += BLOCK)
			below += square(column[i]);
		below = block_sum(below);
		if (below == 0 && im(alpha) == 0) {
			if (!threadIdx.x)
				tau[k] = real<T>(0);
			continue;
		}
		beta = (R)sqrt(square(alpha) + below);
		beta = re(alpha) > 0 ? -beta : beta;
		t = make<T>((beta - re(alpha)) / beta, -im(alpha) / beta);
		scale = over(real<T>(1), alpha - real<T>(beta));
		for (i64 i = k + 1 + threadIdx.x; i < m; i += BLOCK)
			column[i] = scale * column[i];
		__syncthreads();
		if (!threadIdx.x) {
			tau[k] = t;
			column[k] = real<T>(beta);
		}
		reflect(column + k + 1, m - k, conj(t), column + k + lda, 1, lda, n - k - 1, false);
	}
}

/* Makes the first @n columns of the product of @k reflectors, in the place of these. */
template <class T> FN void make_q(i64 m, i64 n, i64 k, T *a, i64 lda, const T *tau)
{
	for (i64 e = threadIdx.x; e < m * (n - k); e += BLOCK)
		a[e % m + (k + e / m) * lda] = real<T>(e % m == k + e / m);
	__syncthreads();
	for (i64 s = k - 1; s >= 0; s--) {
		T *column = a + s * lda, t = tau[s];

		reflect(column + s + 1, m - s, t, column + s + lda, 1, lda, n - s - 1, false);
		for (i64 i = threadIdx.x; i < m; i += BLOCK)
			column[i] = i < s ? real<T>(0) : i == s ? real<T>(1) - t :
				    real<T>(0) - t * column[i];
		__syncthreads();
	}
}

/* Multiplies @c by the product of @k reflectors or its adjoint, from the left or the right. */
template <class T> FN void apply_q(bool right, bool adjoint, i64 m, i64 n, i64 k, const T *a,
				   i64 lda, const T *tau, T *c, i64 ldc)
{
	for (i64 s = 0; s < k; s++) {
		/* The reflector beside @c comes first. */
		i64 r = right == adjoint ? k - 1 - s : s;
		T t = adjoint ? conj(tau[r]) : tau[r];

		if (right)
			reflect(a + r + 1 + r * lda, n - r, t, c + r * ldc, ldc, 1, m, true);
		else
			reflect(a + r + 1 + r * lda, m - r, t, c + r, 1, ldc, n, false);
	}
}

/* A matrix of a batch: by a list of addresses, or at a fixed distance. */
template <class T> struct matrices {
	T *at;
	T *const *list;
	i64 ld, apart;

	__device__ T *mine() const
	{
		return list ? list[blockIdx.x] : at + blockIdx.x * apart;
	}
};

#endif
