// SPDX-License-Identifier: Apache-2.0
/*
 * A cuSOLVERMg that writes down what it is told, and computes on the CPU: it gathers the columns
 * from the devices, works on doubles, and puts them back. Of the parts of a matrix it takes the
 * lower one. As the genuine library it changes the current context, and reads through any pointer
 * that it holds.
 */
#include <cusolverMg.h>
#include <math.h>
#include <string.h>

#include "fake_library.h"

#define DEVICES	16
#define WORK	5	/* elements for each row */

struct cusolverMgContext {
	int n, device[DEVICES];
};

struct grid {
	int n, device[DEVICES];
};

struct desc {
	int64_t rows, columns, block;
	const struct grid *grid;
};

static struct {
	CUresult (*down)(void *, CUdeviceptr, size_t);
	CUresult (*up)(CUdeviceptr, const void *, size_t);
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*release)(CUdevice);
	CUresult (*current)(CUcontext);
} driver;

static void find_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*get)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

	if (!lib || driver.current)
		return;
	*(void **)&get = dlsym(lib, "cuGetProcAddress_v2");
	get("cuMemcpyDtoH", (void **)&driver.down, 13000, 0, NULL);
	get("cuMemcpyHtoD", (void **)&driver.up, 13000, 0, NULL);
	get("cuDevicePrimaryCtxRetain", (void **)&driver.retain, 13000, 0, NULL);
	get("cuDevicePrimaryCtxRelease", (void **)&driver.release, 13000, 0, NULL);
	get("cuCtxSetCurrent", (void **)&driver.current, 13000, 0, NULL);
}

static const char *list(const int *device, int n)
{
	static char text[DEVICES * 4];
	int i, at = 0;

	for (i = 0; i < n; i++)
		at += snprintf(text + at, sizeof(text) - at, "%s%d", i ? "," : "", device[i]);
	return text;
}

/* --- Handles, grids, descriptors ------------------------------------------- */

cusolverStatus_t cusolverMgCreate(cusolverMgHandle_t *handle)
{
	find_driver();
	*handle = calloc(1, sizeof(**handle));
	note("create");
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgDestroy(cusolverMgHandle_t handle)
{
	free(handle);
	note("destroy");
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgDeviceSelect(cusolverMgHandle_t handle, int n, int device[])
{
	handle->n = n;
	memcpy(handle->device, device, n * sizeof(*device));
	note("select %s", list(device, n));
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgCreateDeviceGrid(cudaLibMgGrid_t *grid, int32_t rows, int32_t columns,
					    const int32_t device[], cusolverMgGridMapping_t mapping)
{
	struct grid *g = calloc(1, sizeof(*g));

	g->n = columns;
	memcpy(g->device, device, columns * sizeof(*device));
	note("grid %dx%d %s %d", rows, columns, list(device, columns), mapping);
	*grid = g;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgDestroyGrid(cudaLibMgGrid_t grid)
{
	note("grid ends");
	memset(grid, 0xff, sizeof(struct grid));
	free(grid);
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgCreateMatrixDesc(cudaLibMgMatrixDesc_t *desc, int64_t rows,
					    int64_t columns, int64_t row_block,
					    int64_t column_block, cudaDataType type,
					    const cudaLibMgGrid_t grid)
{
	struct desc *d;

	note("desc %ldx%ld in %ldx%ld type %d", (long)rows, (long)columns, (long)row_block,
	     (long)column_block, type);
	if (type != CUDA_R_64F || row_block != rows)
		return CUSOLVER_STATUS_INVALID_VALUE;
	d = calloc(1, sizeof(*d));
	*d = (struct desc) { rows, columns, column_block, grid };
	*desc = d;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgDestroyMatrixDesc(cudaLibMgMatrixDesc_t desc)
{
	note("desc of %d devices ends", ((struct desc *)desc)->grid->n);
	free(desc);
	return CUSOLVER_STATUS_SUCCESS;
}

/* --- Columns on devices ---------------------------------------------------- */

/*
 * Copies a matrix of `rows` bytes a column to `host`, or from it. Leaves the last device's context
 * current.
 */
static void columns(const struct desc *d, void *array[], char *host, size_t rows, int up)
{
	const struct grid *g = d->grid;
	CUcontext ctx;
	CUdeviceptr at;
	int64_t c, block;

	for (c = 0; c < d->columns; c++) {
		block = c / d->block;
		at = (CUdeviceptr)array[block % g->n] +
		     (block / g->n * d->block + c % d->block) * rows;
		driver.retain(&ctx, g->device[block % g->n]);
		driver.current(ctx);
		if (up)
			driver.up(at, host + c * rows, rows);
		else
			driver.down(host + c * rows, at, rows);
		driver.release(g->device[block % g->n]);
	}
}

static double *gather(const struct desc *d, void *array[])
{
	double *m = calloc(d->rows * d->columns, sizeof(*m));

	columns(d, array, (char *)m, d->rows * sizeof(*m), 0);
	return m;
}

static void scatter(const struct desc *d, void *array[], double *m)
{
	columns(d, array, (char *)m, d->rows * sizeof(*m), 1);
	free(m);
}

/* Writes the last element of the workspace of each device of the handle. */
static void use_work(cusolverMgHandle_t h, void *array[], int64_t n)
{
	const double last = 1;
	CUcontext ctx;
	int i;

	for (i = 0; i < h->n && n; i++) {
		driver.retain(&ctx, h->device[i]);
		driver.current(ctx);
		driver.up((CUdeviceptr)array[i] + (n - 1) * sizeof(last), &last, sizeof(last));
		driver.release(h->device[i]);
	}
}

/* --- Cholesky -------------------------------------------------------------- */

/* Solves L x = b, and L^T x = b, in place. */
static void solve_lower(const double *l, int64_t rows, int n, double *b)
{
	int i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < i; k++)
			b[i] -= l[i + k * rows] * b[k];
		b[i] /= l[i + i * rows];
	}
	for (i = n - 1; i >= 0; i--) {
		for (k = i + 1; k < n; k++)
			b[i] -= l[k + i * rows] * b[k];
		b[i] /= l[i + i * rows];
	}
}

cusolverStatus_t cusolverMgPotrf_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n,
					    void *a[], int ia, int ja, cudaLibMgMatrixDesc_t da,
					    cudaDataType type, int64_t *work)
{
	(void)handle, (void)a, (void)ia, (void)ja, (void)da, (void)type;
	note("potrf size %d %d", uplo, n);
	*work = WORK * n;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgPotrf(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, void *a[],
				 int ia, int ja, cudaLibMgMatrixDesc_t da, cudaDataType type,
				 void *work[], int64_t lwork, int *info)
{
	const int64_t rows = ((struct desc *)da)->rows;
	double *m;
	int i, j, k;

	note("potrf %d %d at %d,%d type %d work %ld", uplo, n, ia, ja, type, (long)lwork);
	/* The genuine library's info is the number of the argument. */
	if (ia < 1) {
		*info = -5;
		return CUSOLVER_STATUS_INVALID_VALUE;
	}
	m = gather(da, a);
	use_work(handle, work, lwork);
	*info = 0;
	for (j = 0; j < n && !*info; j++) {
		for (k = 0; k < j; k++)
			for (i = j; i < n; i++)
				m[i + j * rows] -= m[i + k * rows] * m[j + k * rows];
		if (m[j + j * rows] <= 0) {
			*info = j + 1;
			break;
		}
		m[j + j * rows] = sqrt(m[j + j * rows]);
		for (i = j + 1; i < n; i++)
			m[i + j * rows] /= m[j + j * rows];
	}
	scatter(da, a, m);
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgPotrs_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n,
					    int nrhs, void *a[], int ia, int ja,
					    cudaLibMgMatrixDesc_t da, void *b[], int ib, int jb,
					    cudaLibMgMatrixDesc_t db, cudaDataType type,
					    int64_t *work)
{
	(void)handle, (void)a, (void)ia, (void)ja, (void)da, (void)b, (void)ib, (void)jb, (void)db,
	(void)type;
	note("potrs size %d %d %d", uplo, n, nrhs);
	*work = WORK * n;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgPotrs(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, int nrhs,
				 void *a[], int ia, int ja, cudaLibMgMatrixDesc_t da, void *b[],
				 int ib, int jb, cudaLibMgMatrixDesc_t db, cudaDataType type,
				 void *work[], int64_t lwork, int *info)
{
	double *l = gather(da, a), *x = gather(db, b);
	int i;

	note("potrs %d %d %d at %d,%d and %d,%d type %d work %ld", uplo, n, nrhs, ia, ja, ib, jb,
	     type, (long)lwork);
	use_work(handle, work, lwork);
	for (i = 0; i < nrhs; i++)
		solve_lower(l, ((struct desc *)da)->rows, n, x + i * ((struct desc *)db)->rows);
	free(l);
	scatter(db, b, x);
	*info = 0;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgPotri_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n,
					    void *a[], int ia, int ja, cudaLibMgMatrixDesc_t da,
					    cudaDataType type, int64_t *work)
{
	(void)handle, (void)a, (void)ia, (void)ja, (void)da, (void)type;
	note("potri size %d %d", uplo, n);
	*work = WORK * n;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgPotri(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, void *a[],
				 int ia, int ja, cudaLibMgMatrixDesc_t da, cudaDataType type,
				 void *work[], int64_t lwork, int *info)
{
	const int64_t rows = ((struct desc *)da)->rows;
	double *l = gather(da, a), *x = calloc(rows * n, sizeof(*x));
	int i;

	(void)ia, (void)ja, (void)type;
	note("potri %d %d", uplo, n);
	use_work(handle, work, lwork);
	for (i = 0; i < n; i++) {
		x[i + i * rows] = 1;
		solve_lower(l, rows, n, x + i * rows);
	}
	memcpy(l, x, rows * n * sizeof(*x));
	free(x);
	scatter(da, a, l);
	*info = 0;
	return CUSOLVER_STATUS_SUCCESS;
}

/* --- LU -------------------------------------------------------------------- */

cusolverStatus_t cusolverMgGetrf_bufferSize(cusolverMgHandle_t handle, int m, int n, void *a[],
					    int ia, int ja, cudaLibMgMatrixDesc_t da, int *pivots[],
					    cudaDataType type, int64_t *work)
{
	(void)handle, (void)a, (void)ia, (void)ja, (void)da, (void)type;
	note("getrf size %d %d first=%d pivots=%d", m, n, a && a[0], pivots != NULL);
	*work = WORK * n;
	return CUSOLVER_STATUS_SUCCESS;
}

static void swap_rows(double *m, int64_t rows, int n, int a, int b)
{
	double t;
	int i;

	for (i = 0; i < n; i++) {
		t = m[a + i * rows];
		m[a + i * rows] = m[b + i * rows];
		m[b + i * rows] = t;
	}
}

/* Pivots lie on the devices as the columns do, one for each. */
cusolverStatus_t cusolverMgGetrf(cusolverMgHandle_t handle, int rows, int n, void *a[], int ia,
				 int ja, cudaLibMgMatrixDesc_t da, int *pivots[], cudaDataType type,
				 void *work[], int64_t lwork, int *info)
{
	double *m = gather(da, a);
	int *p = calloc(n, sizeof(*p)), i, j, k;

	(void)ia, (void)ja, (void)type;
	note("getrf %d %d pivots=%d", rows, n, pivots != NULL);
	use_work(handle, work, lwork);
	for (j = 0; j < n; j++) {
		for (p[j] = i = j; pivots && i < n; i++)
			if (fabs(m[i + j * rows]) > fabs(m[p[j] + j * rows]))
				p[j] = i;
		swap_rows(m, rows, n, j, p[j]);
		for (i = j + 1; i < n; i++) {
			m[i + j * rows] /= m[j + j * rows];
			for (k = j + 1; k < n; k++)
				m[i + k * rows] -= m[i + j * rows] * m[j + k * rows];
		}
		p[j]++;
	}
	if (pivots)
		columns(da, (void **)pivots, (char *)p, sizeof(*p), 1);
	free(p);
	scatter(da, a, m);
	*info = 0;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgGetrs_bufferSize(cusolverMgHandle_t handle, cublasOperation_t op, int n,
					    int nrhs, void *a[], int ia, int ja,
					    cudaLibMgMatrixDesc_t da, int *pivots[], void *b[],
					    int ib, int jb, cudaLibMgMatrixDesc_t db,
					    cudaDataType type, int64_t *work)
{
	(void)handle, (void)a, (void)ia, (void)ja, (void)da, (void)b, (void)ib, (void)jb, (void)db,
	(void)type, (void)pivots;
	note("getrs size %d %d %d", op, n, nrhs);
	*work = WORK * n;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverMgGetrs(cusolverMgHandle_t handle, cublasOperation_t op, int n, int nrhs,
				 void *a[], int ia, int ja, cudaLibMgMatrixDesc_t da, int *pivots[],
				 void *b[], int ib, int jb, cudaLibMgMatrixDesc_t db,
				 cudaDataType type, void *work[], int64_t lwork, int *info)
{
	const int64_t rows = ((struct desc *)da)->rows, ldb = ((struct desc *)db)->rows;
	double *m = gather(da, a), *x = gather(db, b), *c;
	int *p = calloc(n, sizeof(*p)), i, k;

	(void)ia, (void)ja, (void)ib, (void)jb, (void)type;
	note("getrs %d %d %d", op, n, nrhs);
	use_work(handle, work, lwork);
	columns(da, (void **)pivots, (char *)p, sizeof(*p), 0);
	for (c = x; c < x + nrhs * ldb; c += ldb) {
		for (i = 0; i < n; i++)
			swap_rows(c, ldb, 1, i, p[i] - 1);
		for (i = 0; i < n; i++)
			for (k = 0; k < i; k++)
				c[i] -= m[i + k * rows] * c[k];
		for (i = n - 1; i >= 0; i--) {
			for (k = i + 1; k < n; k++)
				c[i] -= m[i + k * rows] * c[k];
			c[i] /= m[i + i * rows];
		}
	}
	free(p);
	free(m);
	scatter(db, b, x);
	*info = 0;
	return CUSOLVER_STATUS_SUCCESS;
}

/* --- Eigenvalues ----------------------------------------------------------- */

cusolverStatus_t cusolverMgSyevd_bufferSize(cusolverMgHandle_t handle, cusolverEigMode_t jobz,
					    cublasFillMode_t uplo, int n, void *a[], int ia, int ja,
					    cudaLibMgMatrixDesc_t da, void *w, cudaDataType wtype,
					    cudaDataType type, int64_t *work)
{
	(void)handle, (void)a, (void)ia, (void)ja, (void)da, (void)w, (void)type;
	note("syevd size %d %d %d type %d", jobz, uplo, n, wtype);
	*work = WORK * n;
	return CUSOLVER_STATUS_SUCCESS;
}

/* Of a diagonal matrix, and no other: the values in rising order. */
cusolverStatus_t cusolverMgSyevd(cusolverMgHandle_t handle, cusolverEigMode_t jobz,
				 cublasFillMode_t uplo, int n, void *a[], int ia, int ja,
				 cudaLibMgMatrixDesc_t da, void *w, cudaDataType wtype,
				 cudaDataType type, void *work[], int64_t lwork, int *info)
{
	const int64_t rows = ((struct desc *)da)->rows;
	double *m = gather(da, a), *to = w, v;
	int i, k;

	(void)ia, (void)ja, (void)wtype, (void)type;
	note("syevd %d %d %d", jobz, uplo, n);
	use_work(handle, work, lwork);
	for (i = 0; i < n; i++) {
		v = m[i + i * rows];
		for (k = i; k > 0 && to[k - 1] > v; k--)
			to[k] = to[k - 1];
		to[k] = v;
	}
	free(m);
	*info = 0;
	return CUSOLVER_STATUS_SUCCESS;
}
