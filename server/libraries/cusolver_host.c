// SPDX-License-Identifier: Apache-2.0
/*
 * Checks that something is a matrix, or a permutation, or factors that fit. cuSOLVER's code on the
 * CPU trusts its indices, and it runs with the worker's rights. Everything here is in the request's
 * private copy, so what was checked cannot change.
 */
#include "gen_cusolver_server.h"

#include <stdlib.h>

#define BAD	CUSOLVER_STATUS_INVALID_VALUE

/* Makes a mark for each of n columns, and one more, so that n = 0 is no failed allocation. */
static int *marks(int n)
{
	int *mark = malloc(((size_t)n + 1) * sizeof(*mark));
	int i;

	for (i = 0; mark && i < n; i++)
		mark[i] = -1;
	return mark;
}

/* Checks that a row begins and ends where it may, after `from`, and that its columns differ. */
static bool row_fits(int row, int64_t from, int64_t begin, int64_t end, int64_t last, int base,
		     int cols, const int *col, int *mark)
{
	int64_t i, c;

	if (begin < from || end < begin || end > last)
		return false;
	for (i = begin - base; i < end - base; i++) {
		c = (int64_t)col[i] - base;
		if (c < 0 || c >= cols || mark[c] == row)
			return false;
		mark[c] = row;
	}
	return true;
}

cusolverStatus_t wh_csr_parts(int rows, int cols, int nnz,
			      const struct wh_obj_cusparseMatDescr_t *d, const int *start,
			      const int *end, const int *col)
{
	int base = d ? (int)d->base : 0, *mark, i;
	int64_t from = base;
	bool fits = true;

	if (rows < 1 || cols < 1 || nnz < 0 || (d && !d->there))
		return BAD;
	mark = marks(cols);
	if (!mark)
		return CUSOLVER_STATUS_ALLOC_FAILED;
	for (i = 0; fits && i < rows; i++) {
		fits = row_fits(i, from, start[i], end[i], (int64_t)base + nnz, base, cols, col,
				mark);
		from = end[i];
	}
	free(mark);
	return fits ? CUSOLVER_STATUS_SUCCESS : BAD;
}

cusolverStatus_t wh_csr(int rows, int cols, int nnz, const struct wh_obj_cusparseMatDescr_t *d,
			const int *start, const int *col)
{
	int64_t base = d ? d->base : 0;

	if (rows < 1 || nnz < 0 || start[0] != base || start[rows] != base + nnz)
		return BAD;
	return wh_csr_parts(rows, cols, nnz, d, start, start + 1, col);
}

cusolverStatus_t wh_permutation(const int *p, int n)
{
	bool fits = true;
	int *mark, i;

	if (n < 0)
		return BAD;
	mark = marks(n);
	if (!mark)
		return CUSOLVER_STATUS_ALLOC_FAILED;
	for (i = 0; fits && i < n; i++) {
		fits = p[i] >= 0 && p[i] < n && mark[p[i]] < 0;
		if (fits)
			mark[p[i]] = i;
	}
	free(mark);
	return fits ? CUSOLVER_STATUS_SUCCESS : BAD;
}

/* The meaning of each option depends on METIS's version; some of them move all indices. */
cusolverStatus_t wh_metis_options(const int64_t *option)
{
	int i;

	for (i = 0; option && i < WH_METIS_OPTIONS; i++)
		if (option[i] != -1 && option[i] != 0)
			return CUSOLVER_STATUS_NOT_SUPPORTED;
	return CUSOLVER_STATUS_SUCCESS;
}

/* --- Factors that are to be made again -------------------------------------------------- */

/* Are all columns on one side of the diagonal? The diagonal itself is allowed. */
static bool is_triangle(const struct wh_rf_matrix *m, int n, bool lower)
{
	int i, k;

	for (i = 0; i < n; i++)
		for (k = m->start[i]; k < m->start[i + 1]; k++)
			if (lower ? m->col[k] > i : m->col[k] < i)
				return false;
	return true;
}

static void mark_row(const struct wh_rf_matrix *m, int i, int *mark)
{
	int k;

	for (k = m->start[i]; k < m->start[i + 1]; k++)
		mark[m->col[k]] = i;
}

/*
 * With rows and columns where P and Q put them, is each element of A one of L, of U, or of the
 * diagonal, which L or U need not have? The library looks for the element's place there.
 */
static bool has_places(const struct wh_rf_matrix *a, const struct wh_rf_matrix *lower,
		       const struct wh_rf_matrix *upper, int n, const int *p, const int *place,
		       int *mark)
{
	int i, k;

	for (i = 0; i < n; i++) {
		mark_row(lower, i, mark);
		mark_row(upper, i, mark);
		mark[i] = i;
		for (k = a->start[p[i]]; k < a->start[p[i] + 1]; k++)
			if (mark[place[a->col[k]]] != i)
				return false;
	}
	return true;
}

static cusolverStatus_t factors_fit(int n, const struct wh_rf_matrix *a,
				    const struct wh_rf_matrix *lower,
				    const struct wh_rf_matrix *upper, const int *p, const int *q)
{
	int *mark = marks(n), *place = marks(n), i;
	cusolverStatus_t res = CUSOLVER_STATUS_ALLOC_FAILED;

	if (mark && place) {
		for (i = 0; i < n; i++)
			place[q[i]] = i;
		res = is_triangle(lower, n, true) && is_triangle(upper, n, false) &&
		      has_places(a, lower, upper, n, p, place, mark) ?
		      CUSOLVER_STATUS_SUCCESS : BAD;
	}
	free(mark);
	free(place);
	return res;
}

cusolverStatus_t wh_rf_factors(const struct wh_cusolver_functions *l, cusolverRfHandle_t handle,
			       int n, struct wh_rf_matrix a, struct wh_rf_matrix lower,
			       struct wh_rf_matrix upper, const int *p, const int *q)
{
	cusolverRfMatrixFormat_t format = CUSOLVERRF_MATRIX_FORMAT_CSR;
	cusolverRfUnitDiagonal_t diagonal;
	cusolverStatus_t res;

	if (!l->cusolverRfGetMatrixFormat)
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	res = l->cusolverRfGetMatrixFormat(handle, &format, &diagonal);
	if (res != CUSOLVER_STATUS_SUCCESS)
		return res;
	/* If stored by columns, the factors are the transposed ones. */
	if (format == CUSOLVERRF_MATRIX_FORMAT_CSC)
		return factors_fit(n, &a, &upper, &lower, q, p);
	return factors_fit(n, &a, &lower, &upper, p, q);
}
