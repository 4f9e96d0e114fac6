// SPDX-License-Identifier: Apache-2.0
/*
 * cuSOLVERMg at work: factors with pivots, those of positive definite matrices, an inverse, and
 * eigenvalues with their vectors, of doubles and of complex floats. Matrices lie in blocks of
 * columns on one device, and then on two where there are two. Each is a step (steps_gpu.h), and
 * right by its residual. It needs a GPU.
 */
#include <complex.h>
#include <cusolverMg.h>
#include <stdbool.h>

#include "steps_gpu.h"

typedef complex double number;

#define N	256
#define BLOCK	32
#define RIGHT	40	/* right sides: the last block is cut */
#define MOST	2	/* devices */

static int devices[MOST] = { 0, 1 };
static CUcontext ctx[MOST];
static int count;
static cusolverMgHandle_t handle;
static cudaLibMgGrid_t grid;

/* A matrix of N rows, its columns' blocks by turns on the devices. */
struct matrix {
	cudaLibMgMatrixDesc_t desc;
	cudaDataType_t type;
	int columns;
	CUdeviceptr at[MOST];
	number *value;
};

/* --- Matrices ------------------------------------------------------------------------------ */

static size_t size_of(cudaDataType_t type)
{
	return type == CUDA_R_32F ? 4 : type == CUDA_C_64F ? 16 : 8;
}

static bool is_complex(cudaDataType_t type)
{
	return type == CUDA_C_32F || type == CUDA_C_64F;
}

static double exactness(cudaDataType_t type)
{
	return type == CUDA_R_64F || type == CUDA_C_64F ? 1e-9 : 1e-2;
}

static void put(void *array, cudaDataType_t type, size_t i, number v)
{
	if (type == CUDA_R_32F)
		((float *)array)[i] = (float)creal(v);
	else if (type == CUDA_R_64F)
		((double *)array)[i] = creal(v);
	else if (type == CUDA_C_32F)
		((complex float *)array)[i] = (complex float)v;
	else
		((number *)array)[i] = v;
}

static number get(const void *array, cudaDataType_t type, size_t i)
{
	if (type == CUDA_R_32F)
		return ((const float *)array)[i];
	if (type == CUDA_R_64F)
		return ((const double *)array)[i];
	if (type == CUDA_C_32F)
		return ((const complex float *)array)[i];
	return ((const number *)array)[i];
}

static CUdeviceptr room_on(int device, size_t size)
{
	CUdeviceptr p;

	cuCtxSetCurrent(ctx[device]);
	p = room(size);
	cuCtxSetCurrent(ctx[0]);
	return p;
}

static void end_rooms(CUdeviceptr *at)
{
	int i;

	for (i = count; i--; ) {
		cuCtxSetCurrent(ctx[i]);
		cuMemFree(at[i]);
	}
	cuCtxSetCurrent(ctx[0]);
}

static void wait_for_all(void)
{
	int i;

	for (i = count; i--; ) {
		cuCtxSetCurrent(ctx[i]);
		cuCtxSynchronize();
	}
	cuCtxSetCurrent(ctx[0]);
}

static size_t column_size(const struct matrix *m)
{
	return N * size_of(m->type);
}

static CUdeviceptr column(const struct matrix *m, int c)
{
	int block = c / BLOCK;

	return m->at[block % count] + (block / count * BLOCK + c % BLOCK) * column_size(m);
}

/* Each device has room for as many whole blocks as any has. */
static struct matrix matrix(const char *what, cudaDataType_t type, int columns)
{
	struct matrix m = { .type = type, .columns = columns };
	int blocks = (columns + BLOCK - 1) / BLOCK, i, res;

	for (i = 0; i < count; i++)
		m.at[i] = room_on(i, (blocks + count - 1) / count * BLOCK * column_size(&m));
	m.value = calloc((size_t)N * columns, sizeof(*m.value));
	res = cusolverMgCreateMatrixDesc(&m.desc, N, columns, N, BLOCK, type, grid);
	if (res)
		printf("%s on %d, descriptor of %d columns: %d |\n", what, count, columns, res);
	return m;
}

static void end(struct matrix *m)
{
	if (m->desc)
		cusolverMgDestroyMatrixDesc(m->desc);
	end_rooms(m->at);
	free(m->value);
}

static void send(const struct matrix *m)
{
	void *array = calloc(1, column_size(m));
	int c, i;

	for (c = 0; c < m->columns; c++) {
		for (i = 0; i < N; i++)
			put(array, m->type, i, m->value[i + (size_t)c * N]);
		cuMemcpyHtoD(column(m, c), array, column_size(m));
	}
	wait_for_all();
	free(array);
}

/* Returns the raw bytes too. */
static void *receive(const char *name, const struct matrix *m, number *to)
{
	char *array = calloc(m->columns, column_size(m));
	size_t c, i;

	wait_for_all();
	for (c = 0; c < (size_t)m->columns; c++) {
		take(name, array + c * column_size(m), column(m, c), column_size(m));
		for (i = 0; i < N; i++)
			to[i + c * N] = get(array + c * column_size(m), m->type, i);
	}
	return array;
}

/* --- Problems ------------------------------------------------------------------------------ */

/* Hermitian and positive definite, or neither of them, and not large on its diagonal. */
static void fill(struct matrix *m, bool definite)
{
	int i, k;
	double v;

	for (k = 0; k < m->columns; k++) {
		for (i = 0; i < N; i++) {
			v = ((i * 7919u + k * 104729u) * 2654435761u >> 8) % 1009 / 1009.0 - 0.5;
			if (definite)
				v = 1.0 / (1 + abs(i - k)) + (i == k) * 2;
			m->value[i + (size_t)k * N] = v;
			if (is_complex(m->type) && i != k)
				m->value[i + (size_t)k * N] += I * (!definite ? v / 3 :
								    i < k ? 0.01 : -0.01);
		}
	}
	send(m);
}

static void fill_right(struct matrix *m)
{
	int i, k;

	for (k = 0; k < m->columns; k++)
		for (i = 0; i < N; i++)
			m->value[i + (size_t)k * N] = 1 + (i + k) % 5;
	send(m);
}

/* Returns the largest element of A * X - B. */
static double residual(const struct matrix *a, const number *x, const struct matrix *b)
{
	double off = 0, d;
	number all;
	int i, k, c;

	for (c = 0; c < b->columns; c++) {
		for (i = 0; i < N; i++) {
			all = -b->value[i + (size_t)c * N];
			for (k = 0; k < N; k++)
				all += a->value[i + (size_t)k * N] * x[k + (size_t)c * N];
			d = cabs(all);
			off = d <= off ? off : d;
		}
	}
	return off;
}

static void **addresses(CUdeviceptr *at)
{
	return (void **)at;
}

/* A workspace of as many elements on each device. */
static CUdeviceptr *workspace(cudaDataType_t type, int64_t elements)
{
	static CUdeviceptr at[MOST];
	int i;

	for (i = 0; i < count; i++)
		at[i] = room_on(i, elements * size_of(type));
	return at;
}

static const char *named(const char *what, const char *step)
{
	static char names[4][96];
	static int last;
	char *name = names[last++ % 4];

	snprintf(name, sizeof(*names), "%s on %d, %s", what, count, step);
	return name;
}

static void sized(const char *name, int status, int64_t elements)
{
	printf("%s: %d elements=%lld |\n", name, status, (long long)elements);
}

static void ran(const char *name, int status, int info)
{
	printf("%s: %d info=%d |\n", name, status, info);
}

/* Prints whether X solves A X = B. */
static void solved(const char *name, int status, const struct matrix *a, const struct matrix *b)
{
	number *x = calloc((size_t)N * b->columns, sizeof(*x));
	void *raw = receive(name, b, x);

	step(name, status, status ? 0 : residual(a, x, b), exactness(a->type), raw,
	     b->columns * column_size(b));
	free(raw);
	free(x);
}

#define A_OF(m)		addresses((m).at), 1, 1, (m).desc
#define WORK		addresses(work), elements, &info
#define LOWER		CUBLAS_FILL_MODE_LOWER

/* --- Operations ---------------------------------------------------------------------------- */

static void with_pivots(const char *what, cudaDataType_t type)
{
	struct matrix a = matrix(what, type, N), b = matrix(what, type, RIGHT);
	CUdeviceptr pivots[MOST], *work;
	int64_t elements = 0, more = 0;
	int info = -99, i, res;

	fill(&a, false);
	fill_right(&b);
	for (i = 0; i < count; i++)
		pivots[i] = room_on(i, (size_t)N * sizeof(int));
	if (!a.desc || !b.desc)
		return;
	res = cusolverMgGetrf_bufferSize(handle, N, N, A_OF(a), (int **)addresses(pivots), type,
					 &elements);
	sized(named(what, "getrf's size"), res, elements);
	if (!res)
		res = cusolverMgGetrs_bufferSize(handle, CUBLAS_OP_N, N, RIGHT, A_OF(a),
						 (int **)addresses(pivots), A_OF(b), type, &more);
	sized(named(what, "getrs's size"), res, more);
	elements = elements > more ? elements : more;
	work = workspace(type, elements);
	if (!res) {
		res = cusolverMgGetrf(handle, N, N, A_OF(a), (int **)addresses(pivots), type, WORK);
		ran(named(what, "getrf"), res, info);
	}
	if (!res) {
		info = -99;
		res = cusolverMgGetrs(handle, CUBLAS_OP_N, N, RIGHT, A_OF(a),
				      (int **)addresses(pivots), A_OF(b), type, WORK);
		ran(named(what, "getrs"), res, info);
		solved(named(what, "getrs's solution"), res, &a, &b);
	}
	end_rooms(pivots);
	end_rooms(work);
	end(&a);
	end(&b);
}

/* The lower part of the inverse is what comes: the upper one is its mirror. */
static void inverse(const char *what, const struct matrix *a)
{
	struct matrix one = { .type = a->type, .columns = N };
	number *x = calloc((size_t)N * N, sizeof(*x));
	void *raw;
	int i, k;

	one.value = calloc((size_t)N * N, sizeof(*one.value));
	raw = receive(what, a, x);
	for (k = 0; k < N; k++) {
		one.value[k + (size_t)k * N] = 1;
		for (i = 0; i < k; i++)
			x[i + (size_t)k * N] = conj(x[k + (size_t)i * N]);
	}
	step(named(what, "potri's inverse"), 0, residual(a, x, &one), exactness(a->type), raw,
	     N * column_size(a));
	free(one.value);
	free(raw);
	free(x);
}

static void definite(const char *what, cudaDataType_t type)
{
	struct matrix a = matrix(what, type, N), b = matrix(what, type, RIGHT);
	int64_t elements = 0, of_solver = 0, of_inverse = 0;
	CUdeviceptr *work;
	int info = -99, res;

	fill(&a, true);
	fill_right(&b);
	if (!a.desc || !b.desc)
		return;
	res = cusolverMgPotrf_bufferSize(handle, LOWER, N, A_OF(a), type, &elements);
	sized(named(what, "potrf's size"), res, elements);
	res = cusolverMgPotrs_bufferSize(handle, LOWER, N, RIGHT, A_OF(a), A_OF(b), type,
					 &of_solver);
	sized(named(what, "potrs's size"), res, of_solver);
	res = cusolverMgPotri_bufferSize(handle, LOWER, N, A_OF(a), type, &of_inverse);
	sized(named(what, "potri's size"), res, of_inverse);
	elements = elements > of_solver ? elements : of_solver;
	elements = elements > of_inverse ? elements : of_inverse;
	work = workspace(type, elements);
	res = cusolverMgPotrf(handle, LOWER, N, A_OF(a), type, WORK);
	ran(named(what, "potrf"), res, info);
	if (!res) {
		info = -99;
		res = cusolverMgPotrs(handle, LOWER, N, RIGHT, A_OF(a), A_OF(b), type, WORK);
		ran(named(what, "potrs"), res, info);
		solved(named(what, "potrs's solution"), res, &a, &b);
		info = -99;
		res = cusolverMgPotri(handle, LOWER, N, A_OF(a), type, WORK);
		ran(named(what, "potri"), res, info);
		if (!res)
			inverse(what, &a);
	}
	/* A minor that is not positive is said by its number. */
	a.value[100 + 100UL * N] = -5;
	send(&a);
	info = -99;
	res = cusolverMgPotrf(handle, LOWER, N, A_OF(a), type, WORK);
	ran(named(what, "potrf of no definite matrix"), res, info);
	end_rooms(work);
	end(&a);
	end(&b);
}

/* Prints how far A v is from its eigenvalue times v. */
static void vectors(const char *name, const struct matrix *a, const void *values,
		    cudaDataType_t of_values)
{
	number *v = calloc((size_t)N * N, sizeof(*v)), all;
	void *raw = receive(name, a, v);
	double off = 0, d;
	int i, k, c;

	for (c = 0; c < N; c++) {
		for (i = 0; i < N; i++) {
			all = -get(values, of_values, c) * v[i + (size_t)c * N];
			for (k = 0; k < N; k++)
				all += a->value[i + (size_t)k * N] * v[k + (size_t)c * N];
			d = cabs(all);
			off = d <= off ? off : d;
		}
	}
	step(name, 0, off, exactness(a->type), raw, N * column_size(a));
	free(raw);
	free(v);
}

static void eigen(const char *what, cudaDataType_t type, cusolverEigMode_t how)
{
	cudaDataType_t of_values = type == CUDA_C_32F || type == CUDA_R_32F ? CUDA_R_32F :
									      CUDA_R_64F;
	struct matrix a = matrix(what, type, N);
	double values[N] = { 0 }, trace = 0, off;
	int64_t elements = 0;
	CUdeviceptr *work;
	int info = -99, i, res;

	fill(&a, true);
	if (!a.desc)
		return;
	res = cusolverMgSyevd_bufferSize(handle, how, LOWER, N, A_OF(a), values, of_values, type,
					 &elements);
	sized(named(what, "syevd's size"), res, elements);
	work = workspace(type, elements);
	if (!res) {
		res = cusolverMgSyevd(handle, how, LOWER, N, A_OF(a), values, of_values, type,
				      WORK);
		ran(named(what, "syevd"), res, info);
		for (i = 0; i < N; i++)
			trace += creal(get(values, of_values, i) - a.value[i + (size_t)i * N]);
		off = fabs(trace);
		step(named(what, "syevd's values"), res, off, exactness(type), values,
		     N * size_of(of_values));
		if (!res && how == CUSOLVER_EIG_MODE_VECTOR)
			vectors(named(what, "syevd's vectors"), &a, values, of_values);
	}
	end_rooms(work);
	end(&a);
}

/* --- Devices ------------------------------------------------------------------------------- */

static void on_devices(int n)
{
	char name[32];
	int res;

	count = n;
	snprintf(name, sizeof(name), "handle on %d", n);
	res = cusolverMgCreate(&handle);
	said(name, res);
	if (res)
		return;
	snprintf(name, sizeof(name), "selection of %d", n);
	res = cusolverMgDeviceSelect(handle, n, devices);
	said(name, res);
	if (!res) {
		snprintf(name, sizeof(name), "grid of %d", n);
		res = cusolverMgCreateDeviceGrid(&grid, 1, n, devices,
						 CUDALIBMG_GRID_MAPPING_COL_MAJOR);
		said(name, res);
	}
	if (!res) {
		with_pivots("doubles with pivots", CUDA_R_64F);
		with_pivots("complex floats with pivots", CUDA_C_32F);
		definite("definite doubles", CUDA_R_64F);
		definite("definite complex floats", CUDA_C_32F);
		eigen("eigenvectors of doubles", CUDA_R_64F, CUSOLVER_EIG_MODE_VECTOR);
		eigen("eigenvalues of doubles", CUDA_R_64F, CUSOLVER_EIG_MODE_NOVECTOR);
		cusolverMgDestroyGrid(grid);
	}
	snprintf(name, sizeof(name), "end on %d", n);
	said(name, cusolverMgDestroy(handle));
}

int main(void)
{
	int n = 0, i;

	use_device(0);
	cuDeviceGetCount(&n);
	n = n < MOST ? n : MOST;
	printf("devices: 0 %d |\n", n);
	for (i = n; i--; ) {
		use_device(i);
		cuCtxGetCurrent(&ctx[i]);
	}
	on_devices(1);
	if (n > 1)
		on_devices(2);
	return 0;
}
