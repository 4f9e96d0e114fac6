// SPDX-License-Identifier: Apache-2.0
/* Vector operations of the stand-in for cuBLAS. */
#include "blas.h"

#include <string.h>

BLAS_KERNELS(axpy);
BLAS_KERNELS(scal);
BLAS_KERNELS(copy);
BLAS_KERNELS(swap);
BLAS_KERNELS(rot);
BLAS_KERNELS(rotm);
BLAS_KERNELS(dot);
BLAS_KERNELS(asum);
BLAS_KERNELS(nrm2);
BLAS_KERNELS(extreme);
BLAS_KERNELS(rotg);
BLAS_KERNELS(rotmg);

#define ENTER(good) do { \
	cublasStatus_t st_ = blas_enter(h); \
	if (st_) \
		return st_; \
	if (!(good)) \
		return CUBLAS_STATUS_INVALID_VALUE; \
} while (0)

static cublasStatus_t axpy(cublasHandle_t h, int d, int64_t n, const void *alpha, const void *x,
			   int64_t incx, void *y, int64_t incy)
{
	struct scalar a;

	ENTER(alpha);
	a = blas_scalar(h, d, alpha);
	if (n <= 0 || blas_is_zero(a, d))
		return CUBLAS_STATUS_SUCCESS;
	return blas_launch(h, axpy_kernel, d, n, (void *[]){ &n, &a.value, &a.at, &x, &incx, &y,
							     &incy });
}

static cublasStatus_t scal(cublasHandle_t h, int d, int64_t n, const void *alpha, void *x,
			   int64_t incx)
{
	struct scalar a;

	ENTER(alpha);
	if (n <= 0 || incx <= 0)
		return CUBLAS_STATUS_SUCCESS;
	a = blas_scalar(h, d, alpha);
	return blas_launch(h, scal_kernel, d, n, (void *[]){ &n, &a.value, &a.at, &x, &incx });
}

static cublasStatus_t copy(cublasHandle_t h, int d, int64_t n, const void *x, int64_t incx,
			   void *y, int64_t incy)
{
	ENTER(true);
	if (n <= 0)
		return CUBLAS_STATUS_SUCCESS;
	return blas_launch(h, copy_kernel, d, n, (void *[]){ &n, &x, &incx, &y, &incy });
}

static cublasStatus_t swap(cublasHandle_t h, int d, int64_t n, void *x, int64_t incx, void *y,
			   int64_t incy)
{
	ENTER(true);
	if (n <= 0)
		return CUBLAS_STATUS_SUCCESS;
	return blas_launch(h, swap_kernel, d, n, (void *[]){ &n, &x, &incx, &y, &incy });
}

static cublasStatus_t rot(cublasHandle_t h, int d, int64_t n, void *x, int64_t incx, void *y,
			  int64_t incy, const void *c, const void *s)
{
	struct scalar cc, ss;

	ENTER(c && s);
	if (n <= 0)
		return CUBLAS_STATUS_SUCCESS;
	cc = blas_scalar(h, d, c);
	ss = blas_scalar(h, d, s);
	return blas_launch(h, rot_kernel, d, n, (void *[]){ &n, &x, &incx, &y, &incy, &cc.value,
							    &cc.at, &ss.value, &ss.at });
}

static cublasStatus_t rotm(cublasHandle_t h, int d, int64_t n, void *x, int64_t incx, void *y,
			   int64_t incy, const void *param)
{
	cublasStatus_t st = CUBLAS_STATUS_SUCCESS;

	ENTER(param);
	if (n <= 0)
		return CUBLAS_STATUS_SUCCESS;
	if (h->pointers == CUBLAS_POINTER_MODE_HOST) {
		st = blas_store(h, 0, param, d ? 40 : 20);
		param = (void *)(uintptr_t)h->room;
	}
	return st ? st : blas_launch(h, rotm_kernel, d, n, (void *[]){ &n, &x, &incx, &y, &incy,
								       &param });
}

/* Returns where a kernel writes a result: to the caller's address, or to our room in host mode. */
static void *result_at(cublasHandle_t h, void *result)
{
	return h->pointers == CUBLAS_POINTER_MODE_HOST ? (void *)(uintptr_t)h->room : result;
}

static cublasStatus_t give(cublasHandle_t h, cublasStatus_t st, void *result, size_t bytes)
{
	if (st || h->pointers == CUBLAS_POINTER_MODE_DEVICE)
		return st;
	return blas_fetch(h, result, 0, bytes);
}

static cublasStatus_t dot(cublasHandle_t h, int d, int64_t n, const void *x, int64_t incx,
			  const void *y, int64_t incy, void *result)
{
	void *out;

	ENTER(result);
	out = result_at(h, result);
	return give(h, blas_launch(h, dot_kernel, d, 1, (void *[]){ &n, &x, &incx, &y, &incy,
								     &out }),
		    result, d ? 8 : 4);
}

static cublasStatus_t reduce(cublasHandle_t h, struct standin_kernel k[2], int d, int64_t n,
			     const void *x, int64_t incx, void *result)
{
	void *out;

	ENTER(result);
	if (incx <= 0)
		n = 0;
	out = result_at(h, result);
	return give(h, blas_launch(h, k, d, 1, (void *[]){ &n, &x, &incx, &out }), result,
		    d ? 8 : 4);
}

static cublasStatus_t asum(cublasHandle_t h, int d, int64_t n, const void *x, int64_t incx,
			   void *result)
{
	return reduce(h, asum_kernel, d, n, x, incx, result);
}

static cublasStatus_t nrm2(cublasHandle_t h, int d, int64_t n, const void *x, int64_t incx,
			   void *result)
{
	return reduce(h, nrm2_kernel, d, n, x, incx, result);
}

static cublasStatus_t extreme(cublasHandle_t h, int d, int largest, size_t size, int64_t n,
			      const void *x, int64_t incx, void *result)
{
	void *out, *out64 = NULL, *out32 = NULL;

	ENTER(result);
	if (incx <= 0)
		n = 0;
	out = result_at(h, result);
	*(size == 8 ? &out64 : &out32) = out;
	return give(h, blas_launch(h, extreme_kernel, d, 1, (void *[]){ &n, &x, &incx, &out64,
								       &out32, &largest }),
		    result, size);
}

/* Runs a kernel that reads and writes scalars. In host mode they travel through our room. */
static cublasStatus_t scalars(cublasHandle_t h, struct standin_kernel k[2], int d, int count,
			      void *const p[], const uint8_t elements[])
{
	size_t size = d ? 8 : 4, at[5], end = 0;
	bool host = h->pointers == CUBLAS_POINTER_MODE_HOST;
	uint8_t copy[ROOM];
	void *args[5], *place[5];
	cublasStatus_t st;

	for (int i = 0; i < count; i++) {
		at[i] = end;
		if (host)
			memcpy(copy + end, p[i], elements[i] * size);
		end += elements[i] * size;
		place[i] = host ? (void *)(uintptr_t)(h->room + at[i]) : p[i];
		args[i] = &place[i];
	}
	st = host ? blas_store(h, 0, copy, end) : CUBLAS_STATUS_SUCCESS;
	if (!st)
		st = blas_launch_grid(h, &k[d], (unsigned int[3]){ 1, 1, 1 }, args);
	if (!st && host)
		st = blas_fetch(h, copy, 0, end);
	for (int i = 0; !st && host && i < count; i++)
		memcpy(p[i], copy + at[i], elements[i] * size);
	return st;
}

static cublasStatus_t rotg(cublasHandle_t h, int d, void *a, void *b, void *c, void *s)
{
	ENTER(a && b && c && s);
	return scalars(h, rotg_kernel, d, 4, (void *[]){ a, b, c, s }, (uint8_t[]){ 1, 1, 1, 1 });
}

static cublasStatus_t rotmg(cublasHandle_t h, int d, void *d1, void *d2, void *x1,
			    const void *y1, void *param)
{
	uint8_t copy[8];

	ENTER(d1 && d2 && x1 && y1 && param);
	if (h->pointers == CUBLAS_POINTER_MODE_DEVICE)
		return scalars(h, rotmg_kernel, d, 5,
			       (void *[]){ d1, d2, x1, (void *)y1, param },
			       (uint8_t[]){ 1, 1, 1, 1, 5 });
	memcpy(copy, y1, d ? 8 : 4);
	return scalars(h, rotmg_kernel, d, 5, (void *[]){ d1, d2, x1, copy, param },
		       (uint8_t[]){ 1, 1, 1, 1, 5 });
}

#define LEVEL 1
#include "typed.h"
