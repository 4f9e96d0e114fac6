// SPDX-License-Identifier: Apache-2.0
/*
 * Plans of the stand-in for cuFFT: their numbers and their device memory. That memory holds
 * the roots of unity of each dimension, and a work area unless the program provides its
 * own.
 */
#include "fft.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define PLANS	4096

static struct fft_plan plans[PLANS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct fft_plan *fft_plan(cufftHandle number)
{
	struct fft_plan *p = number > 0 && number < PLANS ? &plans[number] : NULL;

	return p && p->used && standin_start() ? p : NULL;
}

EXPORT cufftResult cufftCreate(cufftHandle *handle)
{
	int i;

	if (!handle)
		return CUFFT_INVALID_VALUE;
	if (!standin_start())
		return CUFFT_SETUP_FAILED;
	pthread_mutex_lock(&lock);
	for (i = 1; i < PLANS && plans[i].used; i++)
		;
	if (i < PLANS)
		plans[i] = (struct fft_plan) { .used = true, .allocate = true };
	pthread_mutex_unlock(&lock);
	*handle = i < PLANS ? i : CUFFT_PLAN_NULL;
	return i < PLANS ? CUFFT_SUCCESS : CUFFT_ALLOC_FAILED;
}

static void release(CUdeviceptr *p)
{
	if (*p)
		standin_drv.cuMemFree_v2(*p);
	*p = 0;
}

static void release_all(struct fft_plan *p)
{
	int d;

	for (d = 0; d < FFT_RANK; d++)
		release(&p->roots[d]);
	release(&p->own_area);
}

EXPORT cufftResult cufftDestroy(cufftHandle plan)
{
	struct fft_plan *p = fft_plan(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	/* Freeing memory waits for running kernels. */
	release_all(p);
	pthread_mutex_lock(&lock);
	p->used = false;
	pthread_mutex_unlock(&lock);
	return CUFFT_SUCCESS;
}

/* --- Making -------------------------------------------------------------------------- */

static bool make_roots(CUdeviceptr *to, long long n)
{
	double (*root)[2] = malloc(n * sizeof(*root));
	bool good;
	long long i;

	if (!root)
		return false;
	for (i = 0; i < n; i++) {
		root[i][0] = cos(2 * M_PI * i / n);
		root[i][1] = -sin(2 * M_PI * i / n);
	}
	good = !standin_drv.cuMemAlloc_v2(to, n * sizeof(*root)) &&
	       !standin_drv.cuMemcpyHtoDAsync_v2(*to, root, n * sizeof(*root), NULL) &&
	       !standin_drv.cuStreamSynchronize(NULL);
	free(root);
	return good;
}

static cufftResult make(cufftHandle plan, cufftResult res, const struct fft_shape *h, size_t *size)
{
	struct fft_plan *p = fft_plan(plan);
	bool good = true;
	int d;

	if (!p || p->made)
		return CUFFT_INVALID_PLAN;
	if (!size)
		return CUFFT_INVALID_VALUE;
	if (res != CUFFT_SUCCESS)
		return res;
	p->shape = *h;
	for (d = 0; d < FFT_RANK && good; d++)
		good = h->in.n[d] == 1 || make_roots(&p->roots[d], h->in.n[d]);
	if (good && p->allocate)
		good = !standin_drv.cuMemAlloc_v2(&p->own_area, fft_work_size(h));
	if (!good) {
		release_all(p);
		return CUFFT_ALLOC_FAILED;
	}
	if (p->own_area)
		p->area = p->own_area;
	p->made = true;
	*size = fft_work_size(h);
	return CUFFT_SUCCESS;
}

/* Makes a plan in one call. The program gets the number only if that succeeds. */
static cufftResult plan_of(cufftHandle *plan, cufftResult shaped, const struct fft_shape *h)
{
	cufftHandle made;
	cufftResult res = plan ? cufftCreate(&made) : CUFFT_INVALID_VALUE;
	size_t size;

	if (res != CUFFT_SUCCESS)
		return res;
	res = make(made, shaped, h, &size);
	if (res == CUFFT_SUCCESS)
		*plan = made;
	else
		cufftDestroy(made);
	return res;
}

/* Answers a question about a size, without making a plan. */
static cufftResult size_of(cufftResult res, const struct fft_shape *h, size_t *size)
{
	if (!size)
		return CUFFT_INVALID_VALUE;
	if (res == CUFFT_SUCCESS)
		*size = fft_work_size(h);
	return res;
}

static cufftResult size_for(cufftHandle plan, cufftResult res, const struct fft_shape *h,
			    size_t *size)
{
	return fft_plan(plan) ? size_of(res, h, size) : CUFFT_INVALID_PLAN;
}

#define SIZES(...)	((int[]){ __VA_ARGS__ })
#define BASIC(h, rank, sizes, type, batch) \
	fft_shape_int(h, rank, sizes, NULL, 1, 0, NULL, 1, 0, type, batch)

/*
 * Defines functions with the same parameters: make a plan, and ask for its size with or
 * without a plan.
 */
#define FUNCTIONS(name, parameters, shaped) \
EXPORT cufftResult cufftMakePlan##name(cufftHandle plan, UNPACK parameters, size_t *size) \
{ \
	struct fft_shape h; \
	return make(plan, shaped, &h, size); \
} \
EXPORT cufftResult cufftGetSize##name(cufftHandle plan, UNPACK parameters, size_t *size) \
{ \
	struct fft_shape h; \
	return size_for(plan, shaped, &h, size); \
}
#define MORE_FUNCTIONS(name, parameters, shaped) \
FUNCTIONS(name, parameters, shaped) \
EXPORT cufftResult cufftPlan##name(cufftHandle *plan, UNPACK parameters) \
{ \
	struct fft_shape h; \
	return plan_of(plan, shaped, &h); \
} \
EXPORT cufftResult cufftEstimate##name(UNPACK parameters, size_t *size) \
{ \
	struct fft_shape h; \
	return size_of(shaped, &h, size); \
}
#define UNPACK(...)	__VA_ARGS__

MORE_FUNCTIONS(1d, (int nx, cufftType type, int batch), BASIC(&h, 1, SIZES(nx), type, batch))
MORE_FUNCTIONS(2d, (int nx, int ny, cufftType type), BASIC(&h, 2, SIZES(nx, ny), type, 1))
MORE_FUNCTIONS(3d, (int nx, int ny, int nz, cufftType type),
	       BASIC(&h, 3, SIZES(nx, ny, nz), type, 1))
MORE_FUNCTIONS(Many, (int rank, int *n, int *in, int is, int id, int *out, int os, int od,
		      cufftType type, int batch),
	       fft_shape_int(&h, rank, n, in, is, id, out, os, od, type, batch))
FUNCTIONS(Many64, (int rank, long long *n, long long *in, long long is, long long id,
		   long long *out, long long os, long long od, cufftType type, long long batch),
	  fft_shape(&h, rank, n, in, is, id, out, os, od, type, batch))

static cufftResult xt_shape(struct fft_shape *h, int rank, const long long *n, const long long *in,
			    long long is, long long id, cudaDataType it, const long long *out,
			    long long os, long long od, cudaDataType ot, long long batch,
			    cudaDataType et)
{
	cufftType type;
	cufftResult res = fft_type(it, ot, et, &type);

	return res != CUFFT_SUCCESS ? res :
	       fft_shape(h, rank, n, in, is, id, out, os, od, type, batch);
}

EXPORT cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long *n, long long *in,
				       long long is, long long id, cudaDataType it, long long *out,
				       long long os, long long od, cudaDataType ot,
				       long long batch, size_t *size, cudaDataType et)
{
	struct fft_shape h;

	return make(plan, xt_shape(&h, rank, n, in, is, id, it, out, os, od, ot, batch, et), &h,
		    size);
}

EXPORT cufftResult cufftXtGetSizeMany(cufftHandle plan, int rank, long long *n, long long *in,
				      long long is, long long id, cudaDataType it, long long *out,
				      long long os, long long od, cudaDataType ot, long long batch,
				      size_t *size, cudaDataType et)
{
	struct fft_shape h;

	return size_for(plan, xt_shape(&h, rank, n, in, is, id, it, out, os, od, ot, batch, et),
			&h, size);
}

/* --- State --------------------------------------------------------------------------- */

EXPORT cufftResult cufftGetSize(cufftHandle plan, size_t *size)
{
	struct fft_plan *p = fft_plan(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	if (!size)
		return CUFFT_INVALID_VALUE;
	*size = p->made ? fft_work_size(&p->shape) : 0;
	return CUFFT_SUCCESS;
}

EXPORT cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream)
{
	struct fft_plan *p = fft_plan(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	p->stream = (CUstream)stream;
	return CUFFT_SUCCESS;
}

EXPORT cufftResult cufftSetAutoAllocation(cufftHandle plan, int on)
{
	struct fft_plan *p = fft_plan(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	p->allocate = on;
	return CUFFT_SUCCESS;
}

EXPORT cufftResult cufftSetWorkArea(cufftHandle plan, void *area)
{
	struct fft_plan *p = fft_plan(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	release(&p->own_area);
	p->area = (CUdeviceptr)area;
	return CUFFT_SUCCESS;
}

EXPORT cufftResult cufftGetVersion(int *version)
{
	if (!version)
		return CUFFT_INVALID_VALUE;
	*version = CUFFT_VERSION;
	return CUFFT_SUCCESS;
}

EXPORT cufftResult cufftGetProperty(libraryPropertyType type, int *value)
{
	static const int version[] = { CUFFT_VER_MAJOR, CUFFT_VER_MINOR, CUFFT_VER_PATCH };

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUFFT_INVALID_VALUE;
	*value = version[type];
	return CUFFT_SUCCESS;
}
