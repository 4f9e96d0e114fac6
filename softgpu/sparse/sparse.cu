// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels of the stand-in for cuSPARSE, for float (_f), double (_d), complex numbers of either
 * (_c, _z), f16 (_h) and bf16 (_b). Of the last two, sums are in float. A scalar is passed as a
 * pair: its value, or its address on the device. blockIdx.y is the matrix of a batch.
 */
#include "../standin/half.cuh"
#include "args.h"

FN void add(float *p, float v) { atomicAdd(p, v); }
FN void add(double *p, double v) { atomicAdd(p, v); }
template <class R> FN void add(complex<R> *p, complex<R> v)
{
	atomicAdd(&p->re, v.re);
	atomicAdd(&p->im, v.im);
}

FN bool is_zero(float v) { return v == 0; }
FN bool is_zero(double v) { return v == 0; }
template <class R> FN bool is_zero(complex<R> v) { return v.re == 0 && v.im == 0; }

template <class S> FN S get(S value, const S *at)
{
	return at ? *at : value;
}

FN i64 index(const void *p, int is_wide, i64 i)
{
	return is_wide ? ((const i64 *)p)[i] : ((const int *)p)[i];
}

FN void put_index(void *p, int is_wide, i64 i, i64 v)
{
	if (is_wide)
		((i64 *)p)[i] = v;
	else
		((int *)p)[i] = (int)v;
}

/* The matrix of the batch that this block works on. */
FN sparse_args mine(sparse_args a, int value_size)
{
	a.offsets = (char *)a.offsets + blockIdx.y * a.offsets_apart * (a.wide_offsets ? 8 : 4);
	a.indices = (char *)a.indices + blockIdx.y * a.values_apart * (a.wide_indices ? 8 : 4);
	a.values = (char *)a.values + blockIdx.y * a.values_apart * value_size;
	return a;
}

FN dense_args mine(dense_args d, int value_size)
{
	d.values = (char *)d.values + blockIdx.y * d.apart * value_size;
	return d;
}

FN i64 first_of(sparse_args a, i64 line)
{
	return index(a.offsets, a.wide_offsets, line) - a.base;
}

FN i64 index_of(sparse_args a, i64 e)
{
	return index(a.indices, a.wide_indices, e) - a.base;
}

/* The compressed line that entry @e is in: the last one that begins at or before it. */
FN i64 line_of(sparse_args a, i64 lines, i64 e)
{
	i64 low = 0, high = lines;

	while (high - low > 1) {
		i64 middle = (low + high) / 2;

		if (first_of(a, middle) <= e)
			low = middle;
		else
			high = middle;
	}
	return low;
}

FN void place_of(sparse_args a, i64 e, i64 *row, i64 *column)
{
	i64 other = index_of(a, e);

	if (a.format == FORMAT_COO) {
		*row = index(a.offsets, a.wide_offsets, e) - a.base;
		*column = other;
	} else if (a.format == FORMAT_CSR) {
		*row = line_of(a, a.rows, e);
		*column = other;
	} else {
		*row = other;
		*column = line_of(a, a.cols, e);
	}
}

/* Element (i, j) of a dense matrix that is perhaps transposed. */
template <class T> FN T *place(dense_args d, int op, i64 i, i64 j)
{
	if (op) {
		i64 swap = i;

		i = j;
		j = swap;
	}
	return (T *)d.values + (d.by_row ? i * d.ld + j : i + j * d.ld);
}

template <class T> FN typename sum_of<T>::type element(dense_args d, int op, i64 i, i64 j)
{
	typename sum_of<T>::type v = wide(*place<T>(d, op, i, j));

	return op == 2 ? conj(v) : v;
}

/* c = alpha sum + beta c. With a zero beta, @c may hold anything and is not read. */
template <class T, class S> FN void finish(T *c, S sum, S alpha, S beta)
{
	sum = alpha * sum;
	put(c, is_zero(beta) ? sum : sum + beta * wide(*c));
}

/* --- Products with dense matrices ------------------------------------------------- */

/* For matrices whose lines are the rows of op(A): a thread has an element of C. */
template <class T, class S> FN void gather(sparse_args a, view_args op, dense_args b,
					   dense_args c, S alpha, S beta)
{
	a = mine(a, sizeof(T));
	b = mine(b, sizeof(T));
	c = mine(c, sizeof(T));
	for (i64 e = me(); e < c.rows * c.cols; e += all()) {
		i64 i = e % c.rows, j = e / c.rows, end = first_of(a, i + 1);
		S sum = real<S>(0);

		for (i64 k = first_of(a, i); k < end; k++) {
			S v = wide(((const T *)a.values)[k]);

			sum = sum + (op.a == 2 ? conj(v) : v) * element<T>(b, op.b, index_of(a, k),
									   j);
		}
		finish(place<T>(c, 0, i, j), sum, alpha, beta);
	}
}

/* For all others: a thread has an entry of A, and adds to sums that are zero before. */
template <class T, class S> FN void scatter(sparse_args a, view_args op, dense_args b,
					    i64 c_rows, i64 c_cols, S *sums)
{
	a = mine(a, sizeof(T));
	b = mine(b, sizeof(T));
	sums += blockIdx.y * c_rows * c_cols;
	for (i64 e = me(); e < a.nnz * c_cols; e += all()) {
		i64 k = e % a.nnz, j = e / a.nnz, row, column;
		S v = wide(((const T *)a.values)[k]);

		place_of(a, k, &row, &column);
		if (op.a) {
			i64 swap = row;

			row = column;
			column = swap;
		}
		/* A row of a hostile matrix must not reach beyond the sums. */
		if ((unsigned long long)row < c_rows)
			add(&sums[row + j * c_rows],
			    (op.a == 2 ? conj(v) : v) * element<T>(b, op.b, column, j));
	}
}

template <class T, class S> FN void finish_all(dense_args c, const S *sums, S alpha, S beta)
{
	c = mine(c, sizeof(T));
	sums += blockIdx.y * c.rows * c.cols;
	for (i64 e = me(); e < c.rows * c.cols; e += all())
		finish(place<T>(c, 0, e % c.rows, e / c.rows), sums[e], alpha, beta);
}

/* The product of two dense matrices, where C has entries. */
template <class T, class S> FN void sampled(sparse_args c, view_args op, dense_args a,
					    dense_args b, i64 inner, S alpha, S beta)
{
	c = mine(c, sizeof(T));
	a = mine(a, sizeof(T));
	b = mine(b, sizeof(T));
	for (i64 e = me(); e < c.nnz; e += all()) {
		S sum = real<S>(0);
		i64 i, j;

		place_of(c, e, &i, &j);
		for (i64 k = 0; k < inner; k++)
			sum = sum + element<T>(a, op.a, i, k) * element<T>(b, op.b, k, j);
		finish((T *)c.values + e, sum, alpha, beta);
	}
}

/* --- Between sparse and dense -------------------------------------------------------- */

template <class T> FN void to_dense(sparse_args a, dense_args d)
{
	for (i64 e = me(); e < a.nnz; e += all()) {
		i64 i, j;

		place_of(a, e, &i, &j);
		*place<T>(d, 0, i, j) = ((const T *)a.values)[e];
	}
}

template <class T> FN void clear(dense_args d)
{
	for (i64 e = me(); e < d.rows * d.cols; e += all())
		put(place<T>(d, 0, e % d.rows, e / d.rows), real<typename sum_of<T>::type>(0));
}

/* Counts the elements of each line that are not zero; line i's goes to counts[i + 1]. */
template <class T> FN void count(dense_args d, int columns, i64 lines, i64 length, i64 *counts)
{
	for (i64 i = me(); i < lines; i += all()) {
		i64 n = 0;

		for (i64 k = 0; k < length; k++)
			n += !is_zero(wide(*place<T>(d, columns, i, k)));
		counts[i + 1] = n;
	}
}

template <class T> FN void to_sparse(dense_args d, sparse_args a, i64 lines, i64 length,
				     const i64 *starts)
{
	for (i64 i = me(); i < lines; i += all()) {
		i64 e = starts[i];

		for (i64 k = 0; k < length; k++) {
			T v = *place<T>(d, a.format == FORMAT_CSC, i, k);

			if (is_zero(wide(v)))
				continue;
			((T *)a.values)[e] = v;
			put_index(a.indices, a.wide_indices, e, k + a.base);
			if (a.format == FORMAT_COO)
				put_index(a.offsets, a.wide_offsets, e, i + a.base);
			e++;
		}
	}
}

/* --- Products of sparse matrices ------------------------------------------------------ */

/*
 * Makes a row of the product in the room that its products need: columns ascend, and each is
 * there once. counts[i + 1] is the length of row i.
 */
template <class T, class S> FN void multiply(sparse_args a, sparse_args b, const i64 *starts,
					     i64 *columns, S *values, i64 *counts)
{
	for (i64 i = me(); i < a.rows; i += all()) {
		i64 *c = columns + starts[i], n = 0, room = starts[i + 1] - starts[i];
		S *v = values + starts[i];

		for (i64 k = first_of(a, i); k < first_of(a, i + 1); k++) {
			i64 row = index_of(a, k);
			S x = wide(((const T *)a.values)[k]);

			for (i64 e = first_of(b, row); e < first_of(b, row + 1); e++) {
				i64 column = index_of(b, e), at = n;
				S y = x * wide(((const T *)b.values)[e]);

				while (at && c[at - 1] > column)
					at--;
				if (at && c[at - 1] == column) {
					v[at - 1] = v[at - 1] + y;
					continue;
				}
				/* The matrices may have changed since they were counted. */
				if (n >= room)
					continue;
				for (i64 m = n; m > at; m--) {
					c[m] = c[m - 1];
					v[m] = v[m - 1];
				}
				c[at] = column;
				v[at] = y;
				n++;
			}
		}
		counts[i + 1] = n;
	}
}

template <class T, class S> FN void write_product(sparse_args c, const i64 *starts,
						  const i64 *columns, const S *values,
						  const i64 *ends, S alpha)
{
	for (i64 i = me(); i < c.rows; i += all()) {
		i64 to = ends[i], n = ends[i + 1] - to;

		put_index(c.offsets, c.wide_offsets, i + 1, ends[i + 1] + c.base);
		if (!i)
			put_index(c.offsets, c.wide_offsets, 0, c.base);
		for (i64 k = 0; k < n; k++) {
			put_index(c.indices, c.wide_indices, to + k,
				  columns[starts[i] + k] + c.base);
			put((T *)c.values + to + k, alpha * values[starts[i] + k]);
		}
	}
}

/* --- Triangular solutions: a block has a column of X --------------------------------------- */

template <class T> FN T block_add(T v)
{
	__shared__ T part[BLOCK / 32];

	v = warp_sum(v);
	__syncthreads();
	if (!(threadIdx.x % 32))
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = part[0];
	for (int i = 1; i < BLOCK / 32; i++)
		v = v + part[i];
	return v;
}

/* Solves op(A) x = alpha b, of the triangle of A that @how names; other entries do not count. */
template <class T> FN void solve(sparse_args a, triangle_args how, dense_args b, int b_op,
				 dense_args x, T alpha)
{
	i64 n = a.rows, column = blockIdx.x;
	bool forward = how.upper == (how.op != 0);

	for (i64 i = threadIdx.x; i < n; i += BLOCK)
		*place<T>(x, 0, i, column) = alpha * element<T>(b, b_op, i, column);
	__syncthreads();
	for (i64 s = 0; s < n; s++) {
		i64 i = forward ? s : n - 1 - s;
		T *xi = place<T>(x, 0, i, column), sum = real<T>(0), diagonal = real<T>(0);

		for (i64 e = first_of(a, i) + threadIdx.x; e < first_of(a, i + 1); e += BLOCK) {
			i64 j = index_of(a, e);
			T v = ((const T *)a.values)[e];

			v = how.op == 2 ? conj(v) : v;
			if (j == i)
				diagonal = diagonal + v;
			else if (!how.op && (j > i) == (bool)how.upper)
				sum = sum + v * *place<T>(x, 0, j, column);
		}
		diagonal = how.unit ? real<T>(1) : block_add(diagonal);
		sum = how.op ? sum : block_add(sum);
		if (!threadIdx.x)
			*xi = over(*xi - sum, diagonal);
		__syncthreads();
		/* The row of A is a column of op(A), whose part of the right side is known now. */
		for (i64 e = first_of(a, i) + threadIdx.x; how.op && e < first_of(a, i + 1);
		     e += BLOCK) {
			i64 j = index_of(a, e);
			T v = ((const T *)a.values)[e];

			if (j != i && (j > i) == (bool)how.upper)
				add(place<T>(x, 0, j, column),
				    real<T>(0) - (how.op == 2 ? conj(v) : v) * *xi);
		}
		__syncthreads();
	}
}

#define KERNEL extern "C" __global__ void __launch_bounds__(BLOCK)
#define OF_TYPE(T, S, t) \
KERNEL gather_##t(sparse_args a, view_args op, dense_args b, dense_args c, S alpha, \
		  const S *alpha_at, S beta, const S *beta_at) \
{ gather<T, S>(a, op, b, c, get(alpha, alpha_at), get(beta, beta_at)); } \
KERNEL scatter_##t(sparse_args a, view_args op, dense_args b, i64 c_rows, i64 c_cols, S *sums) \
{ scatter<T, S>(a, op, b, c_rows, c_cols, sums); } \
KERNEL finish_##t(dense_args c, const S *sums, S alpha, const S *alpha_at, S beta, \
		  const S *beta_at) \
{ finish_all<T, S>(c, sums, get(alpha, alpha_at), get(beta, beta_at)); } \
KERNEL sampled_##t(sparse_args c, view_args op, dense_args a, dense_args b, i64 inner, S alpha, \
		   const S *alpha_at, S beta, const S *beta_at) \
{ sampled<T, S>(c, op, a, b, inner, get(alpha, alpha_at), get(beta, beta_at)); } \
KERNEL to_dense_##t(sparse_args a, dense_args d) { to_dense<T>(a, d); } \
KERNEL clear_##t(dense_args d) { clear<T>(d); } \
KERNEL count_##t(dense_args d, int columns, i64 lines, i64 length, i64 *counts) \
{ count<T>(d, columns, lines, length, counts); } \
KERNEL to_sparse_##t(dense_args d, sparse_args a, i64 lines, i64 length, const i64 *starts) \
{ to_sparse<T>(d, a, lines, length, starts); } \
KERNEL multiply_##t(sparse_args a, sparse_args b, const i64 *starts, i64 *columns, S *values, \
		    i64 *counts) \
{ multiply<T, S>(a, b, starts, columns, values, counts); } \
KERNEL write_product_##t(sparse_args c, const i64 *starts, const i64 *columns, \
			 const S *values, const i64 *ends, S alpha, const S *alpha_at) \
{ write_product<T, S>(c, starts, columns, values, ends, get(alpha, alpha_at)); }
#define SOLVES(T, t) \
KERNEL solve_##t(sparse_args a, triangle_args how, dense_args b, int b_op, dense_args x, \
		 T alpha, const T *alpha_at) \
{ solve<T>(a, how, b, b_op, x, get(alpha, alpha_at)); }

OF_TYPE(float, float, f)
OF_TYPE(double, double, d)
OF_TYPE(complex<float>, complex<float>, c)
OF_TYPE(complex<double>, complex<double>, z)
OF_TYPE(__half, float, h)
OF_TYPE(__nv_bfloat16, float, b)
SOLVES(float, f)
SOLVES(double, d)
SOLVES(complex<float>, c)
SOLVES(complex<double>, z)

/* --- Indices alone ----------------------------------------------------------------------- */

KERNEL clear_bytes(char *p, i64 bytes)
{
	for (i64 i = me(); i < bytes; i += all())
		p[i] = 0;
}

/* Makes starts of counts: counts[0] is set to zero. One block does it, a thread has a part. */
KERNEL add_up(i64 *counts, i64 n)
{
	__shared__ i64 part[BLOCK];
	i64 each = (n + BLOCK - 1) / BLOCK, from = 1 + threadIdx.x * each, sum = 0;
	i64 to = from + each < n + 1 ? from + each : n + 1;

	for (i64 i = from; i < to; i++)
		sum += counts[i];
	part[threadIdx.x] = sum;
	__syncthreads();
	if (!threadIdx.x) {
		counts[0] = 0;
		for (int i = 1; i < BLOCK; i++)
			part[i] += part[i - 1];
	}
	__syncthreads();
	sum = threadIdx.x ? part[threadIdx.x - 1] : 0;
	for (i64 i = from; i < to; i++)
		counts[i] = sum += counts[i];
}

KERNEL put_starts(sparse_args a, i64 lines, const i64 *starts)
{
	for (i64 i = me(); i <= lines; i += all())
		put_index(a.offsets, a.wide_offsets, i, starts[i] + a.base);
}

/* How many products row i of A makes with rows of B, to counts[i + 1]. */
KERNEL count_products(sparse_args a, sparse_args b, i64 *counts)
{
	for (i64 i = me(); i < a.rows; i += all()) {
		i64 n = 0;

		for (i64 k = first_of(a, i); k < first_of(a, i + 1); k++) {
			i64 row = index_of(a, k), more = first_of(b, row + 1) - first_of(b, row);

			n += more > 0 ? more : 0;
		}
		counts[i + 1] = n;
	}
}

KERNEL coo2csr(const int *rows, i64 nnz, i64 m, int *offsets, int base)
{
	for (i64 i = me(); i <= m; i += all()) {
		i64 low = 0, high = nnz;

		while (low < high) {
			i64 middle = (low + high) / 2;

			if (rows[middle] - base < i)
				low = middle + 1;
			else
				high = middle;
		}
		offsets[i] = (int)low + base;
	}
}

KERNEL csr2coo(sparse_args a, int *rows)
{
	for (i64 e = me(); e < a.nnz; e += all())
		rows[e] = (int)line_of(a, a.rows, e) + a.base;
}

/* Transposing: entries are counted by column, then placed, then put into their order. */
KERNEL count_columns(sparse_args a, i64 *counts)
{
	for (i64 e = me(); e < a.nnz; e += all()) {
		i64 column = index_of(a, e);

		if ((unsigned long long)column < a.cols)
			atomicAdd((unsigned long long *)&counts[column + 1], 1ull);
	}
}

KERNEL place_entries(sparse_args a, i64 *next, i64 *entries)
{
	for (i64 e = me(); e < a.nnz; e += all()) {
		i64 column = index_of(a, e);

		if ((unsigned long long)column < a.cols)
			entries[atomicAdd((unsigned long long *)&next[column], 1ull)] = e;
	}
}

KERNEL order_entries(const i64 *starts, i64 lines, i64 *entries)
{
	for (i64 j = me(); j < lines; j += all())
		for (i64 k = starts[j] + 1; k < starts[j + 1]; k++) {
			i64 e = entries[k], at = k;

			for (; at > starts[j] && entries[at - 1] > e; at--)
				entries[at] = entries[at - 1];
			entries[at] = e;
		}
}

KERNEL transpose(sparse_args a, sparse_args t, const i64 *entries, int value_size)
{
	for (i64 k = me(); k < a.nnz; k += all()) {
		i64 e = entries[k];

		put_index(t.indices, t.wide_indices, k, line_of(a, a.rows, e) + t.base);
		for (int i = 0; i < value_size; i++)
			((char *)t.values)[k * value_size + i] =
				((const char *)a.values)[e * value_size + i];
	}
}
