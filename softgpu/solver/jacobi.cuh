/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eigenvalues and singular values, by Jacobi's rotations. In a round the columns are paired so
 * that each is in one pair, and all pairs are turned at once. Sweeps end when no rotation is
 * left that matters.
 */
#include "../standin/factor.cuh"

#define SWEEPS	60

/* A rotation of columns p and q: p' = c p - conj(s) q, q' = s p + c q. */
template <class T> struct rotation {
	typename number<T>::real c;
	T s;
};

/* Makes the rotation after which p'q is zero: @pq is its value, @pp and @qq are the diagonal's. */
template <class T> FN rotation<T> annul(double pp, double qq, T pq)
{
	typedef typename number<T>::real R;
	R size = magnitude(pq);
	double zeta = (qq - pp) / (2 * (double)size);
	double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
	double c = 1 / sqrt(1 + t * t);

	return rotation<T>{ (R)c, scaled(scaled(pq, 1 / size), (R)(c * t)) };
}

template <class T> FN void turn(rotation<T> r, T *p, T *q)
{
	T x = *p, y = *q;

	*p = scaled(x, r.c) - conj(r.s) * y;
	*q = r.s * x + scaled(y, r.c);
}

/* The pair @k of @round, of @n columns made even. Returns false if one does not exist. */
FN bool pair_of(i64 n, i64 round, i64 k, i64 *p, i64 *q)
{
	i64 last = n + n % 2 - 1, a = k ? (round + k) % last : last, b = (round + last - k) % last;

	*p = a < b ? a : b;
	*q = a < b ? b : a;
	return *q < n;
}

FN i64 rounds_of(i64 n) { return n + n % 2 - 1; }
FN i64 pairs_of(i64 n) { return (n + 1) / 2; }

/* Copies the stored triangle of @a to both triangles of @full. Returns the Frobenius norm. */
template <class T> FN double unfold(bool lower, i64 n, const T *a, i64 lda, T *full)
{
	double sum = 0;

	for (i64 e = threadIdx.x; e < n * n; e += BLOCK) {
		i64 i = e % n, j = e / n;
		T v = (i >= j) == lower || i == j ? a[i + j * lda] : conj(a[j + i * lda]);

		full[e] = i == j ? real<T>(re(v)) : v;
		sum += square(full[e]);
	}
	return sqrt(block_sum(sum));
}

template <class T> FN void identity(i64 n, T *v, i64 ldv)
{
	for (i64 e = threadIdx.x; e < n * n; e += BLOCK)
		v[e % n + e / n * ldv] = real<T>(e % n == e / n);
	__syncthreads();
}

/* Prepares the rotations of a round. Returns, to all threads, whether there is one to do. */
template <class T> FN bool rotations(i64 n, i64 round, const T *full, double least,
				     rotation<T> *list)
{
	int any = 0;

	for (i64 k = threadIdx.x; k < pairs_of(n); k += BLOCK) {
		i64 p, q;

		list[k] = rotation<T>{ 1, real<T>(0) };
		if (!pair_of(n, round, k, &p, &q) || !(magnitude(full[p + q * n]) > least))
			continue;
		list[k] = annul(re(full[p + p * n]), re(full[q + q * n]), full[p + q * n]);
		any = 1;
	}
	return __syncthreads_or(any);
}

template <class T> FN void turn_columns(i64 n, i64 round, const rotation<T> *list, T *a, i64 lda)
{
	for (i64 e = threadIdx.x; e < pairs_of(n) * n; e += BLOCK) {
		i64 k = e / n, i = e % n, p, q;

		if (pair_of(n, round, k, &p, &q))
			turn(list[k], &a[i + p * lda], &a[i + q * lda]);
	}
	__syncthreads();
}

template <class T> FN void turn_rows(i64 n, i64 round, const rotation<T> *list, T *a)
{
	for (i64 e = threadIdx.x; e < pairs_of(n) * n; e += BLOCK) {
		i64 k = e / n, j = e % n, p, q;
		rotation<T> r = list[k];

		if (!pair_of(n, round, k, &p, &q))
			continue;
		r.s = conj(r.s);
		turn(r, &a[p + j * n], &a[q + j * n]);
	}
	__syncthreads();
}

/* Sets what a rotation has annulled to zero, so that rounding leaves nothing there. */
template <class T> FN void clear_annulled(i64 n, i64 round, const rotation<T> *list, T *a)
{
	for (i64 k = threadIdx.x; k < pairs_of(n); k += BLOCK) {
		i64 p, q;

		if (!pair_of(n, round, k, &p, &q) || square(list[k].s) == 0)
			continue;
		a[p + q * n] = a[q + p * n] = real<T>(0);
		a[p + p * n] = real<T>(re(a[p + p * n]));
		a[q + q * n] = real<T>(re(a[q + q * n]));
	}
	__syncthreads();
}

/* Swaps columns so that @w ascends, or descends. @v or @u may be NULL. */
template <class T, class R> FN void sort_columns(i64 n, bool descending, R *w, T *v, i64 ldv,
						 i64 rows, T *u, i64 ldu, i64 urows)
{
	for (i64 k = 0; k + 1 < n; k++) {
		__shared__ i64 best;

		if (!threadIdx.x) {
			best = k;
			for (i64 i = k + 1; i < n; i++)
				if (descending ? w[i] > w[best] : w[i] < w[best])
					best = i;
			R x = w[k];

			w[k] = w[best];
			w[best] = x;
		}
		__syncthreads();
		i64 b = best;

		for (i64 i = threadIdx.x; v && b != k && i < rows; i += BLOCK) {
			T x = v[i + k * ldv];

			v[i + k * ldv] = v[i + b * ldv];
			v[i + b * ldv] = x;
		}
		for (i64 i = threadIdx.x; u && b != k && i < urows; i += BLOCK) {
			T x = u[i + k * ldu];

			u[i + k * ldu] = u[i + b * ldu];
			u[i + b * ldu] = x;
		}
		__syncthreads();
	}
}

/*
 * The eigenvalues of @a, ascending in @w, and if @vectors the eigenvectors in its place. @work
 * has room for a matrix and for the rotations. @info is 0, or n if the sweeps did not suffice.
 */
template <class T> FN void eigen(bool vectors, bool lower, i64 n, T *a, i64 lda,
				 typename number<T>::real *w, T *work, int *info)
{
	T *full = work;
	rotation<T> *list = (rotation<T> *)(work + n * n);
	double least = eps_of(re(work[0])) * unfold(lower, n, (const T *)a, lda, full) / n;
	bool moved = true;
	int sweep;

	__syncthreads();
	if (vectors)
		identity(n, a, lda);
	for (sweep = 0; moved && sweep < SWEEPS; sweep++) {
		moved = false;
		for (i64 round = 0; round < rounds_of(n); round++) {
			if (!rotations(n, round, (const T *)full, least, list))
				continue;
			moved = true;
			turn_columns(n, round, list, full, n);
			turn_rows(n, round, list, full);
			clear_annulled(n, round, list, full);
			if (vectors)
				turn_columns(n, round, list, a, lda);
		}
	}
	for (i64 i = threadIdx.x; i < n; i += BLOCK)
		w[i] = re(full[i + i * n]);
	__syncthreads();
	sort_columns(n, false, w, vectors ? a : (T *)0, lda, n, (T *)0, 0, 0);
	if (!threadIdx.x)
		*info = moved ? (int)n : 0;
}

/* --- Singular values --------------------------------------------------------------- */

/* One round over the columns of @b, which has @rows at least as many as @n columns. */
template <class T> FN bool orthogonalise(i64 rows, i64 n, i64 round, T *b, T *v)
{
	int any = 0;

	for (i64 k = warp(); k < pairs_of(n); k += WARPS) {
		double pp = 0, qq = 0;
		T pq = real<T>(0);
		i64 p, q;

		if (!pair_of(n, round, k, &p, &q))
			continue;
		for (i64 i = lane(); i < rows; i += 32) {
			pp += square(b[i + p * rows]);
			qq += square(b[i + q * rows]);
			pq = pq + conj(b[i + p * rows]) * b[i + q * rows];
		}
		pp = warp_sum(pp);
		qq = warp_sum(qq);
		pq = warp_sum(pq);
		if (!(magnitude(pq) > eps_of(re(pq)) * 4 * sqrt(pp) * sqrt(qq)))
			continue;
		rotation<T> r = annul(pp, qq, pq);

		for (i64 i = lane(); i < rows; i += 32)
			turn(r, &b[i + p * rows], &b[i + q * rows]);
		for (i64 i = lane(); i < n; i += 32)
			turn(r, &v[i + p * n], &v[i + q * n]);
		any = 1;
	}
	return __syncthreads_or(any);
}

/*
 * Makes column @k of @u orthogonal to the ones before it, of length one. It begins with the unit
 * vector that those reach least, and is cleared of them twice against rounding.
 */
template <class T> FN void complete_column(i64 rows, i64 k, T *u, i64 ldu)
{
	__shared__ double reach[BLOCK];
	__shared__ i64 who[BLOCK];
	T *column = u + k * ldu;
	double least = 2;
	i64 at = 0;

	for (i64 i = threadIdx.x; i < rows; i += BLOCK) {
		double sum = 0;

		for (i64 j = 0; j < k; j++)
			sum += square(u[i + j * ldu]);
		if (sum < least) {
			least = sum;
			at = i;
		}
	}
	reach[threadIdx.x] = least;
	who[threadIdx.x] = at;
	__syncthreads();
	for (int d = BLOCK / 2; d; d /= 2) {
		if (threadIdx.x < d && reach[threadIdx.x + d] < reach[threadIdx.x]) {
			reach[threadIdx.x] = reach[threadIdx.x + d];
			who[threadIdx.x] = who[threadIdx.x + d];
		}
		__syncthreads();
	}
	for (i64 i = threadIdx.x; i < rows; i += BLOCK)
		column[i] = real<T>(i == who[0]);
	__syncthreads();
	for (i64 j = 0; j < 2 * k; j++) {
		const T *other = u + j % k * ldu;
		double sr = 0, si = 0;

		for (i64 i = threadIdx.x; i < rows; i += BLOCK) {
			T x = conj(other[i]) * column[i];

			sr += re(x);
			si += im(x);
		}
		sr = block_sum(sr);
		si = block_sum(si);
		for (i64 i = threadIdx.x; i < rows; i += BLOCK)
			column[i] = column[i] - make<T>(sr, si) * other[i];
		__syncthreads();
	}
	double sum = 0;

	for (i64 i = threadIdx.x; i < rows; i += BLOCK)
		sum += square(column[i]);
	sum = 1 / sqrt(block_sum(sum));
	for (i64 i = threadIdx.x; i < rows; i += BLOCK)
		column[i] = scaled(column[i], (typename number<T>::real)sum);
	__syncthreads();
}

template <class T> FN double length_of(i64 rows, const T *column)
{
	double sum = 0;

	for (i64 i = threadIdx.x; i < rows; i += BLOCK)
		sum += square(column[i]);
	return sqrt(block_sum(sum));
}

/* Writes @want left vectors to @u: the columns of @b divided by their lengths, then others. */
template <class T, class R> FN void left_vectors(i64 rows, i64 n, i64 want, const T *b, const R *s,
						 T *u, i64 ldu)
{
	i64 good = 0;

	/* Directions of what is only rounding are no directions. */
	while (good < n && s[good] > s[0] * eps_of(s[0]) * (R)0.125)
		good++;
	for (i64 e = threadIdx.x; e < rows * (good < want ? good : want); e += BLOCK)
		u[e % rows + e / rows * ldu] = scaled(b[e], 1 / s[e / rows]);
	__syncthreads();
	for (i64 k = good; k < want; k++)
		complete_column(rows, k, u, ldu);
}

/* Where a decomposition goes. Either place may be NULL. */
template <class T> struct vectors {
	T *at;
	i64 ld, count;
	bool adjoint;	/* rows of conjugates instead of columns */
};

template <class T> FN void put_right(i64 n, const T *v, vectors<T> to)
{
	for (i64 e = threadIdx.x; to.at && e < n * to.count; e += BLOCK) {
		i64 i = e % n, j = e / n;

		if (to.adjoint)
			to.at[j + i * to.ld] = conj(v[e]);
		else
			to.at[i + j * to.ld] = v[e];
	}
	__syncthreads();
}

/*
 * a = U diag(s) V', with @s descending. If @a is wide, the decomposition is of its adjoint, and
 * the two sides change their places: then @v must not be asked for as an adjoint. @work has room
 * for a copy of @a and a square matrix of its shorter side.
 */
template <class T> FN void singular(i64 m, i64 n0, const T *a, i64 lda,
				    typename number<T>::real *s, vectors<T> u, vectors<T> v,
				    T *work, int *info)
{
	bool wide = m < n0, moved = true;
	i64 rows = wide ? n0 : m, n = wide ? m : n0;
	T *b = work, *turned = b + rows * n;
	vectors<T> left = wide ? v : u;

	for (i64 e = threadIdx.x; e < rows * n; e += BLOCK) {
		i64 i = e % rows, j = e / rows;

		b[e] = wide ? conj(a[j + i * lda]) : a[i + j * lda];
	}
	identity(n, turned, n);
	for (int sweep = 0; moved && sweep < SWEEPS; sweep++) {
		moved = false;
		for (i64 round = 0; round < rounds_of(n); round++)
			moved |= orthogonalise(rows, n, round, b, turned);
	}
	for (i64 j = 0; j < n; j++) {
		double length = length_of(rows, (const T *)b + j * rows);

		if (!threadIdx.x)
			s[j] = (typename number<T>::real)length;
	}
	__syncthreads();
	sort_columns(n, true, s, turned, n, n, b, rows, rows);
	if (left.at)
		left_vectors(rows, n, left.count, (const T *)b, s, left.at, left.ld);
	put_right(n, (const T *)turned, wide ? u : v);
	if (!threadIdx.x)
		*info = moved ? (int)n : 0;
}
