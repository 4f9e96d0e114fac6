// SPDX-License-Identifier: Apache-2.0
/*
 * cuSOLVER's functions on matrices in host memory at work: orders, solvers, the steps of
 * the low level, and a refactorization by their results. It prints a line for each with
 * its status and a sum of its results, which must be the same with the genuine library
 * and with the stub over it. The matrix is a grid's, and not symmetric. It needs a GPU.
 */
#include <cusolverRf.h>
#include <cusolverSp.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cusolverSpHandle_t sparse;
static cusparseMatDescr_t descr;

/* The matrix of a grid with this side. */
static int n, nnz, *start, *col, *p;
static double *value, *b, *x;

static uint64_t sum(const void *at, size_t bytes)
{
	uint64_t h = 14695981039346656037ULL;

	while (bytes--)
		h = (h ^ ((const uint8_t *)at)[bytes]) * 1099511628211ULL;
	return h;
}

static void say(const char *what, int status, const void *at, size_t bytes)
{
	printf("%s: %d %016llx\n", what, status, (unsigned long long)(status ? 0 : sum(at, bytes)));
}

static void element(int row, int c, double v)
{
	if (c < 0 || c >= n)
		return;
	col[nnz] = c;
	value[nnz++] = v;
	start[row + 1] = nnz;
}

static void make(int side)
{
	int i;

	n = side * side;
	nnz = 0;
	start = calloc(n + 1, sizeof(*start));
	col = malloc(5UL * n * sizeof(*col));
	value = malloc(5UL * n * sizeof(*value));
	p = calloc(n, sizeof(*p));
	b = calloc(n, sizeof(*b));
	x = calloc(n, sizeof(*x));
	for (i = 0; i < n; i++) {
		b[i] = 1 + i % 7;
		element(i, i - side, -1);
		if (i % side)
			element(i, i - 1, -1.25);
		element(i, i, 5 + i % 3);
		if ((i + 1) % side)
			element(i, i + 1, -0.75);
		element(i, i + side, -1);
	}
}

static void unmake(void)
{
	free(start);
	free(col);
	free(value);
	free(p);
	free(b);
	free(x);
}

/* Prints how far x is from a solution, as a power of ten at most. */
static void residual(const char *what)
{
	double most = 0, r;
	int i, k;

	for (i = 0; i < n; i++) {
		r = b[i];
		for (k = start[i]; k < start[i + 1]; k++)
			r -= value[k] * x[col[k]];
		most = fmax(most, fabs(r));
	}
	printf("%s: residual is%s small\n", what, most < 1e-9 ? "" : " not");
}

/* --- In one call ------------------------------------------------------------------------- */

static void orders(void)
{
	int found = 9, status;

	status = cusolverSpXcsrissymHost(sparse, n, nnz, descr, start, start + 1, col, &found);
	say("issym", status, &found, sizeof(found));
	say("symrcm", cusolverSpXcsrsymrcmHost(sparse, n, nnz, descr, start, col, p), p, n * 4UL);
	say("symmdq", cusolverSpXcsrsymmdqHost(sparse, n, nnz, descr, start, col, p), p, n * 4UL);
	say("symamd", cusolverSpXcsrsymamdHost(sparse, n, nnz, descr, start, col, p), p, n * 4UL);
	say("metisnd", cusolverSpXcsrmetisndHost(sparse, n, nnz, descr, start, col, NULL, p), p,
	    n * 4UL);
	status = cusolverSpDcsrzfdHost(sparse, n, nnz, descr, value, start, col, p, &found);
	say("zfd", status, p, n * 4UL);
	printf("zfd: %d\n", found);
}

static void permute(void)
{
	int *s = malloc((n + 1) * sizeof(*s)), *c = malloc(nnz * sizeof(*c));
	int *map = malloc(nnz * sizeof(*map)), i, status;
	size_t size = 0;
	void *work;

	memcpy(s, start, (n + 1) * sizeof(*s));
	memcpy(c, col, nnz * sizeof(*c));
	for (i = 0; i < nnz; i++)
		map[i] = i;
	cusolverSpXcsrsymrcmHost(sparse, n, nnz, descr, start, col, p);
	status = cusolverSpXcsrperm_bufferSizeHost(sparse, n, n, nnz, descr, s, c, p, p, &size);
	say("perm size", status, &size, sizeof(size));
	work = malloc(size);
	status = cusolverSpXcsrpermHost(sparse, n, n, nnz, descr, s, c, p, p, map, work);
	say("perm rows", status, s, (n + 1) * sizeof(*s));
	say("perm columns", status, c, nnz * sizeof(*c));
	say("perm map", status, map, nnz * sizeof(*map));
	free(s);
	free(c);
	free(map);
	free(work);
}

static void solvers(void)
{
	cuDoubleComplex low = { -100, -100 }, high = { 100, 100 };
	double mu = 0, norm = 0;
	int at = 9, status, i;

	for (i = 0; i < 4; i++) {
		status = cusolverSpDcsrlsvluHost(sparse, n, nnz, descr, value, start, col, b,
						 1e-12, i, x, &at);
		say("lsvlu", status, x, n * sizeof(*x));
		residual("lsvlu");
	}
	status = cusolverSpDcsrlsvqrHost(sparse, n, nnz, descr, value, start, col, b, 1e-12, 1, x,
					 &at);
	say("lsvqr", status, x, n * sizeof(*x));
	residual("lsvqr");
	/* The function takes the lower half of the matrix for both halves. */
	status = cusolverSpDcsrlsvcholHost(sparse, n, nnz, descr, value, start, col, b, 1e-12, 1, x,
					   &at);
	say("lsvchol", status, x, n * sizeof(*x));
	status = cusolverSpDcsrlsqvqrHost(sparse, n, n, nnz, descr, value, start, col, b, 1e-12,
					  &at, x, p, &norm);
	say("lsqvqr", status, x, n * sizeof(*x));
	say("lsqvqr columns", status, p, n * sizeof(*p));
	status = cusolverSpDcsreigvsiHost(sparse, n, nnz, descr, value, start, col, 5, b, 100, 1e-9,
					  &mu, x);
	say("eigvsi", status, &mu, sizeof(mu));
	status = cusolverSpDcsreigsHost(sparse, n, nnz, descr, value, start, col, low, high, &at);
	say("eigs", status, &at, sizeof(at));
}

/* --- In steps ------------------------------------------------------------------------------ */

struct factor {
	int nnz, *start, *col;
	double *value;
};

static void make_factor(struct factor *f)
{
	f->start = malloc((n + 1) * sizeof(int));
	f->col = malloc(f->nnz * sizeof(int));
	f->value = malloc(f->nnz * sizeof(double));
}

static void say_factor(const char *what, int status, const struct factor *f)
{
	say(what, status, f->start, (n + 1) * sizeof(int));
	say(what, status, f->col, f->nnz * sizeof(int));
	say(what, status, f->value, f->nnz * sizeof(double));
}

static void refactor(const struct factor *l, const struct factor *u, int *rows, int *columns)
{
	cusolverRfHandle_t handle;
	int status;

	cusolverRfCreate(&handle);
	cusolverRfSetMatrixFormat(handle, CUSOLVERRF_MATRIX_FORMAT_CSR,
				  CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_L);
	status = cusolverRfSetupHost(n, nnz, start, col, value, l->nnz, l->start, l->col, l->value,
				     u->nnz, u->start, u->col, u->value, rows, columns, handle);
	printf("rf setup: %d\n", status);
	printf("rf analyze: %d\n", cusolverRfAnalyze(handle));
	printf("rf refactor: %d\n", cusolverRfRefactor(handle));
	cusolverRfDestroy(handle);
}

static void extract(csrluInfoHost_t info, void *work)
{
	int *rows = malloc(n * sizeof(int)), *columns = malloc(n * sizeof(int)), status;
	struct factor l, u;

	printf("lu nnz: %d", cusolverSpXcsrluNnzHost(sparse, &l.nnz, &u.nnz, info));
	printf(" %d %d\n", l.nnz, u.nnz);
	make_factor(&l);
	make_factor(&u);
	status = cusolverSpDcsrluExtractHost(sparse, rows, columns, descr, l.value, l.start, l.col,
					     descr, u.value, u.start, u.col, info, work);
	say("lu P", status, rows, n * sizeof(int));
	say("lu Q", status, columns, n * sizeof(int));
	say_factor("lu L", status, &l);
	say_factor("lu U", status, &u);
	refactor(&l, &u, rows, columns);
}

static void lu(void)
{
	size_t internal = 0, size = 0;
	csrluInfoHost_t info;
	int at = 9, status;
	void *work;

	printf("lu create: %d\n", cusolverSpCreateCsrluInfoHost(&info));
	status = cusolverSpXcsrluAnalysisHost(sparse, n, nnz, descr, start, col, info);
	printf("lu analysis: %d\n", status);
	status = cusolverSpDcsrluBufferInfoHost(sparse, n, nnz, descr, value, start, col, info,
						&internal, &size);
	printf("lu sizes: %d %zu %zu\n", status, internal, size);
	work = malloc(size);
	status = cusolverSpDcsrluFactorHost(sparse, n, nnz, descr, value, start, col, info, 1,
					    work);
	printf("lu factor: %d\n", status);
	status = cusolverSpDcsrluZeroPivotHost(sparse, info, 1e-12, &at);
	say("lu pivot", status, &at, sizeof(at));
	status = cusolverSpDcsrluSolveHost(sparse, n, b, x, info, work);
	say("lu solve", status, x, n * sizeof(*x));
	residual("lu");
	extract(info, work);
	printf("lu destroy: %d\n", cusolverSpDestroyCsrluInfoHost(info));
	free(work);
}

static void qr(void)
{
	double *right = malloc(n * sizeof(*right));
	size_t internal = 0, size = 0;
	csrqrInfoHost_t info;
	int at = 9, status;
	void *work;

	memcpy(right, b, n * sizeof(*right));
	cusolverSpCreateCsrqrInfoHost(&info);
	status = cusolverSpXcsrqrAnalysisHost(sparse, n, n, nnz, descr, start, col, info);
	printf("qr analysis: %d\n", status);
	status = cusolverSpDcsrqrBufferInfoHost(sparse, n, n, nnz, descr, value, start, col, info,
						&internal, &size);
	printf("qr sizes: %d %zu %zu\n", status, internal, size);
	work = malloc(size);
	status = cusolverSpDcsrqrSetupHost(sparse, n, n, nnz, descr, value, start, col, 0, info);
	printf("qr setup: %d\n", status);
	status = cusolverSpDcsrqrFactorHost(sparse, n, n, nnz, NULL, NULL, info, work);
	printf("qr factor: %d\n", status);
	status = cusolverSpDcsrqrZeroPivotHost(sparse, info, 1e-12, &at);
	say("qr pivot", status, &at, sizeof(at));
	status = cusolverSpDcsrqrSolveHost(sparse, n, n, right, x, info, work);
	say("qr solve", status, x, n * sizeof(*x));
	say("qr right side", status, right, n * sizeof(*right));
	residual("qr");
	cusolverSpDestroyCsrqrInfoHost(info);
	free(work);
	free(right);
}

static void cholesky(void)
{
	size_t internal = 0, size = 0;
	csrcholInfoHost_t info;
	int at = 9, status;
	void *work;

	cusolverSpCreateCsrcholInfoHost(&info);
	status = cusolverSpXcsrcholAnalysisHost(sparse, n, nnz, descr, start, col, info);
	printf("chol analysis: %d\n", status);
	status = cusolverSpDcsrcholBufferInfoHost(sparse, n, nnz, descr, value, start, col, info,
						  &internal, &size);
	printf("chol sizes: %d %zu %zu\n", status, internal, size);
	work = malloc(size);
	status = cusolverSpDcsrcholFactorHost(sparse, n, nnz, descr, value, start, col, info, work);
	printf("chol factor: %d\n", status);
	status = cusolverSpDcsrcholZeroPivotHost(sparse, info, 1e-12, &at);
	say("chol pivot", status, &at, sizeof(at));
	status = cusolverSpDcsrcholSolveHost(sparse, n, b, x, info, work);
	say("chol solve", status, x, n * sizeof(*x));
	cusolverSpDestroyCsrcholInfoHost(info);
	free(work);
}

int main(void)
{
	if (cusolverSpCreate(&sparse) || cusparseCreateMatDescr(&descr)) {
		fprintf(stderr, "no handle\n");
		return 1;
	}
	make(40);
	orders();
	permute();
	solvers();
	lu();
	qr();
	cholesky();
	unmake();
	/* This matrix has half a million elements. */
	make(316);
	orders();
	permute();
	unmake();
	return 0;
}
