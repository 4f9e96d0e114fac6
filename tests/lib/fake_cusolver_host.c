// SPDX-License-Identifier: Apache-2.0
/*
 * The functions of fake_cusolver.c on matrices in host memory. A function that solves a
 * system multiplies with the matrix, so that a result depends on all that came.
 * Informations keep the addresses that they were given and look there later, and
 * workspaces are written from end to end.
 */
#include <cusolverRf.h>
#include <cusolverSp.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>
#include <string.h>

#include "fake_cusolver.h"
#include "fake_library.h"
#include "fake_matdescr.h"

#define ROOM(n)	((size_t)(n) * 16)	/* of a workspace */

struct matrix {
	int rows, nnz, base;
	const int *start, *col;
	const double *value;
};

static struct matrix matrix(int rows, int nnz, cusparseMatDescr_t d, const double *value,
			    const int *start, const int *col)
{
	note("%d rows, %d of %d to %d, base %d", rows, nnz, start[0], start[rows], d->base);
	return (struct matrix) { rows, nnz, d->base, start, col, value };
}

static void multiply(const struct matrix *a, const double *b, double *x)
{
	int i, k;

	for (i = 0; i < a->rows; i++) {
		x[i] = 0;
		for (k = a->start[i] - a->base; k < a->start[i + 1] - a->base; k++)
			x[i] += a->value[k] * b[a->col[k] - a->base];
	}
}

/* --- In one call ------------------------------------------------------------------------- */

cusolverStatus_t cusolverSpXcsrissymHost(cusolverSpHandle_t handle, int m, int nnz,
					 const cusparseMatDescr_t d, const int *start,
					 const int *end, const int *col, int *issym)
{
	fake_cusolver_on(&handle->c, "issym");
	note("%d rows, %d: %d to %d, last column %d, base %d", m, nnz, start[0], end[m - 1],
	     col[end[m - 1] - d->base - 1], d->base);
	*issym = 1;
	return OK;
}

#define ORDER(name, place) \
cusolverStatus_t cusolverSpXcsr##name##Host(cusolverSpHandle_t handle, int n, int nnz, \
		const cusparseMatDescr_t d, const int *start, const int *col, int *p) \
{ \
	int i; \
\
	fake_cusolver_on(&handle->c, #name); \
	matrix(n, nnz, d, NULL, start, col); \
	for (i = 0; i < n; i++) \
		p[i] = (place); \
	return OK; \
}

ORDER(symrcm, n - 1 - i)
ORDER(symmdq, i)
ORDER(symamd, (i + 1) % n)

cusolverStatus_t cusolverSpXcsrmetisndHost(cusolverSpHandle_t handle, int n, int nnz,
					   const cusparseMatDescr_t d, const int *start,
					   const int *col, const int64_t *options, int *p)
{
	note("options %s", !options ? "NULL" : options[39] == -1 ? "default" : "other");
	return cusolverSpXcsrsymamdHost(handle, n, nnz, d, start, col, p);
}

cusolverStatus_t cusolverSpDcsrzfdHost(cusolverSpHandle_t handle, int n, int nnz,
				       const cusparseMatDescr_t d, const double *value,
				       const int *start, const int *col, int *p, int *numnz)
{
	*numnz = (int)value[nnz - 1];
	return cusolverSpXcsrsymrcmHost(handle, n, nnz, d, start, col, p);
}

cusolverStatus_t cusolverSpXcsrperm_bufferSizeHost(cusolverSpHandle_t handle, int m, int n,
						   int nnz, const cusparseMatDescr_t d,
						   const int *start, const int *col, const int *p,
						   const int *q, size_t *size)
{
	(void)d, (void)start, (void)col, (void)p, (void)q;
	fake_cusolver_on(&handle->c, "perm size");
	*size = ROOM(m + n + nnz);
	return OK;
}

/* Computes B = A(p, q), with its rows ordered by column. */
cusolverStatus_t cusolverSpXcsrpermHost(cusolverSpHandle_t handle, int m, int n, int nnz,
					const cusparseMatDescr_t d, int *start, int *col,
					const int *p, const int *q, int *map, void *work)
{
	int *to = work, *at = to + m + 1, *from = at + nnz, *place = from + nnz, i, j, k, out = 0;

	fake_cusolver_on(&handle->c, "perm");
	memset(work, 1, ROOM(m + n + nnz));
	for (i = 0; i < n; i++)
		place[q[i]] = i + d->base;
	for (i = 0; i < m; i++) {
		to[i] = out + d->base;
		for (k = start[p[i]] - d->base; k < start[p[i] + 1] - d->base; k++, out++) {
			for (j = out; j > to[i] - d->base &&
			     at[j - 1] > place[col[k] - d->base]; j--) {
				at[j] = at[j - 1];
				from[j] = from[j - 1];
			}
			at[j] = place[col[k] - d->base];
			from[j] = map[k];
		}
	}
	to[m] = out + d->base;
	memcpy(start, to, (m + 1) * sizeof(int));
	memcpy(col, at, nnz * sizeof(int));
	memcpy(map, from, nnz * sizeof(int));
	return OK;
}

#define SOLVE(name) \
cusolverStatus_t cusolverSpDcsrlsv##name##Host(cusolverSpHandle_t handle, int n, int nnz, \
		const cusparseMatDescr_t d, const double *value, const int *start, \
		const int *col, const double *b, double tol, int reorder, double *x, \
		int *singularity) \
{ \
	struct matrix a; \
\
	fake_cusolver_on(&handle->c, "lsv" #name); \
	note("tol=%g reorder=%d", tol, reorder); \
	a = matrix(n, nnz, d, value, start, col); \
	multiply(&a, b, x); \
	*singularity = -1; \
	return OK; \
}

SOLVE(lu)
SOLVE(qr)
SOLVE(chol)

cusolverStatus_t cusolverSpDcsrlsqvqrHost(cusolverSpHandle_t handle, int m, int n, int nnz,
					  const cusparseMatDescr_t d, const double *value,
					  const int *start, const int *col, const double *b,
					  double tol, int *rank, double *x, int *p, double *norm)
{
	int i;

	fake_cusolver_on(&handle->c, "lsqvqr");
	matrix(m, nnz, d, value, start, col);
	for (i = 0; i < n; i++) {
		x[i] = b[m - 1] + i;
		p[i] = i;
	}
	*rank = n;
	*norm = tol * 2;
	return OK;
}

cusolverStatus_t cusolverSpDcsreigvsiHost(cusolverSpHandle_t handle, int m, int nnz,
					  const cusparseMatDescr_t d, const double *value,
					  const int *start, const int *col, double mu0,
					  const double *x0, int maxite, double tol, double *mu,
					  double *x)
{
	struct matrix a = matrix(m, nnz, d, value, start, col);

	(void)tol;
	fake_cusolver_on(&handle->c, "eigvsi");
	multiply(&a, x0, x);
	*mu = mu0 + maxite;
	return OK;
}

cusolverStatus_t cusolverSpZcsreigsHost(cusolverSpHandle_t handle, int m, int nnz,
					const cusparseMatDescr_t d, const cuDoubleComplex *value,
					const int *start, const int *col, cuDoubleComplex low,
					cuDoubleComplex high, int *num)
{
	fake_cusolver_on(&handle->c, "eigs");
	matrix(m, nnz, d, NULL, start, col);
	*num = (int)(value[nnz - 1].y + low.x + high.y);
	return OK;
}

/* --- In steps ------------------------------------------------------------------------------ */

struct csrluInfoHost {
	struct matrix a;
};
struct csrqrInfoHost {
	struct matrix a;
};
struct csrcholInfoHost {
	struct matrix a;
};

static cusolverStatus_t factor(struct matrix *a, const double *value, void *work)
{
	note("factor");
	a->value = value ? value : a->value;
	memset(work, 0x11, ROOM(a->rows));
	return OK;
}

/* Solves by the analysis, whose bytes in the workspace must still be there. */
static cusolverStatus_t solve(const struct matrix *a, const double *b, double *x, const char *work)
{
	note("solve, workspace %s", work[ROOM(a->rows) - 1] == 0x11 ? "kept" : "lost");
	multiply(a, b, x);
	return OK;
}

#define STEPS(kind, name) \
cusolverStatus_t cusolverSpCreate##name##InfoHost(kind##InfoHost_t *info) \
{ \
	*info = calloc(1, sizeof(**info)); \
	return OK; \
} \
cusolverStatus_t cusolverSpDestroy##name##InfoHost(kind##InfoHost_t info) \
{ \
	note("destroy " #kind); \
	free(info); \
	return OK; \
} \
cusolverStatus_t cusolverSpD##kind##ZeroPivotHost(cusolverSpHandle_t handle, \
		kind##InfoHost_t info, double tol, int *position) \
{ \
	(void)handle, (void)tol; \
	*position = info->a.rows; \
	return OK; \
}

STEPS(csrlu, Csrlu)
STEPS(csrqr, Csrqr)
STEPS(csrchol, Csrchol)

#define SQUARE(kind) \
cusolverStatus_t cusolverSpX##kind##AnalysisHost(cusolverSpHandle_t handle, int n, int nnz, \
		const cusparseMatDescr_t d, const int *start, const int *col, \
		kind##InfoHost_t info) \
{ \
	fake_cusolver_on(&handle->c, #kind " analysis"); \
	info->a = matrix(n, nnz, d, NULL, start, col); \
	return OK; \
} \
cusolverStatus_t cusolverSpD##kind##BufferInfoHost(cusolverSpHandle_t handle, int n, int nnz, \
		const cusparseMatDescr_t d, const double *value, const int *start, \
		const int *col, kind##InfoHost_t info, size_t *internal, size_t *work) \
{ \
	(void)handle, (void)d, (void)value, (void)start, (void)col, (void)info; \
	*internal = nnz; \
	*work = ROOM(n); \
	return OK; \
} \
cusolverStatus_t cusolverSpD##kind##SolveHost(cusolverSpHandle_t handle, int n, const double *b, \
		double *x, kind##InfoHost_t info, void *work) \
{ \
	(void)handle, (void)n; \
	return solve(&info->a, b, x, work); \
}

SQUARE(csrlu)
SQUARE(csrchol)

cusolverStatus_t cusolverSpDcsrluFactorHost(cusolverSpHandle_t handle, int n, int nnz,
					    const cusparseMatDescr_t d, const double *value,
					    const int *start, const int *col, csrluInfoHost_t info,
					    double threshold, void *work)
{
	(void)handle, (void)n, (void)nnz, (void)d, (void)start, (void)col, (void)threshold;
	return factor(&info->a, value, work);
}

cusolverStatus_t cusolverSpDcsrcholFactorHost(cusolverSpHandle_t handle, int n, int nnz,
					      const cusparseMatDescr_t d, const double *value,
					      const int *start, const int *col,
					      csrcholInfoHost_t info, void *work)
{
	(void)handle, (void)n, (void)nnz, (void)d, (void)start, (void)col;
	return factor(&info->a, value, work);
}

cusolverStatus_t cusolverSpXcsrluNnzHost(cusolverSpHandle_t handle, int *lower, int *upper,
					 csrluInfoHost_t info)
{
	(void)handle;
	*lower = info->a.nnz;
	*upper = info->a.nnz + 1;
	return OK;
}

/* L is the matrix itself, and U has one more element. */
cusolverStatus_t cusolverSpDcsrluExtractHost(cusolverSpHandle_t handle, int *p, int *q,
					     const cusparseMatDescr_t lower, double *value_l,
					     int *start_l, int *col_l,
					     const cusparseMatDescr_t upper, double *value_u,
					     int *start_u, int *col_u, csrluInfoHost_t info,
					     void *work)
{
	const struct matrix *a = &info->a;
	int i;

	(void)handle, (void)lower, (void)upper;
	memset(work, 0x11, ROOM(a->rows));
	for (i = 0; i < a->rows; i++) {
		p[i] = a->rows - 1 - i;
		q[i] = i;
	}
	memcpy(start_l, a->start, (a->rows + 1) * sizeof(int));
	memcpy(start_u, a->start, (a->rows + 1) * sizeof(int));
	memcpy(col_l, a->col, a->nnz * sizeof(int));
	memcpy(col_u, a->col, a->nnz * sizeof(int));
	memcpy(value_l, a->value, a->nnz * sizeof(double));
	memcpy(value_u, a->value, a->nnz * sizeof(double));
	start_u[a->rows]++;
	col_u[a->nnz] = a->rows;
	value_u[a->nnz] = 77;
	return OK;
}

cusolverStatus_t cusolverSpXcsrqrAnalysisHost(cusolverSpHandle_t handle, int m, int n, int nnz,
					      const cusparseMatDescr_t d, const int *start,
					      const int *col, csrqrInfoHost_t info)
{
	(void)n;
	fake_cusolver_on(&handle->c, "csrqr analysis");
	info->a = matrix(m, nnz, d, NULL, start, col);
	return OK;
}

cusolverStatus_t cusolverSpDcsrqrBufferInfoHost(cusolverSpHandle_t handle, int m, int n, int nnz,
						const cusparseMatDescr_t d, const double *value,
						const int *start, const int *col,
						csrqrInfoHost_t info, size_t *internal,
						size_t *work)
{
	(void)handle, (void)n, (void)d, (void)value, (void)start, (void)col, (void)info;
	*internal = nnz;
	*work = ROOM(m);
	return OK;
}

cusolverStatus_t cusolverSpDcsrqrSetupHost(cusolverSpHandle_t handle, int m, int n, int nnz,
					   const cusparseMatDescr_t d, const double *value,
					   const int *start, const int *col, double mu,
					   csrqrInfoHost_t info)
{
	(void)handle, (void)m, (void)n, (void)nnz, (void)d, (void)start, (void)col;
	note("setup mu=%g", mu);
	info->a.value = value;
	return OK;
}

cusolverStatus_t cusolverSpDcsrqrFactorHost(cusolverSpHandle_t handle, int m, int n, int nnz,
					    double *b, double *x, csrqrInfoHost_t info, void *work)
{
	(void)handle, (void)m, (void)n, (void)nnz;
	note("%s b, %s x", b ? "some" : "no", x ? "some" : "no");
	return factor(&info->a, NULL, work);
}

cusolverStatus_t cusolverSpDcsrqrSolveHost(cusolverSpHandle_t handle, int m, int n, double *b,
					   double *x, csrqrInfoHost_t info, void *work)
{
	cusolverStatus_t res = solve(&info->a, b, x, work);

	(void)handle, (void)n;
	memset(b, 0, m * sizeof(*b));
	return res;
}

/* --- Factors that come from elsewhere -------------------------------------------------------- */

cusolverStatus_t cusolverRfGetMatrixFormat(cusolverRfHandle_t handle,
					   cusolverRfMatrixFormat_t *format,
					   cusolverRfUnitDiagonal_t *diagonal)
{
	(void)handle;
	*format = CUSOLVERRF_MATRIX_FORMAT_CSR;
	*diagonal = CUSOLVERRF_UNIT_DIAGONAL_STORED_L;
	return OK;
}

cusolverStatus_t cusolverRfSetupHost(int n, int nnz, int *start, int *col, double *value,
				     int nnz_l, int *start_l, int *col_l, double *value_l,
				     int nnz_u, int *start_u, int *col_u, double *value_u, int *p,
				     int *q, cusolverRfHandle_t handle)
{
	fake_cusolver_on(&handle->c, "setup");
	note("n=%d A %d..%d %d %g L %d..%d %d %g U %d..%d %d %g p=%d q=%d", n, start[0], start[n],
	     col[nnz - 1], value[nnz - 1], start_l[0], start_l[n], col_l[nnz_l - 1],
	     value_l[nnz_l - 1], start_u[0], start_u[n], col_u[nnz_u - 1], value_u[nnz_u - 1],
	     p[n - 1], q[n - 1]);
	return OK;
}
