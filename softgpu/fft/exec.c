// SPDX-License-Identifier: Apache-2.0
/* Executes transforms of the stand-in for cuFFT: load, passes, store. */
#include "fft.h"

#define THREADS	256

static struct standin_kernel load_kernel[2] = { { "load_f", NULL }, { "load_d", NULL } };
static struct standin_kernel pass_kernel[2] = { { "pass_f", NULL }, { "pass_d", NULL } };
static struct standin_kernel store_kernel[2] = { { "store_f", NULL }, { "store_d", NULL } };

static bool launch(struct fft_plan *p, struct standin_kernel k[2], void **args)
{
	long long blocks = (fft_total(&p->shape) + THREADS - 1) / THREADS;

	/* At most 4096 blocks are launched; the kernels loop over the remaining elements. */
	blocks = blocks > 4096 ? 4096 : blocks;
	return standin_launch(&k[p->shape.wide], (unsigned int[3]){ blocks, 1, 1 }, THREADS,
			      p->stream, args) == CUDA_SUCCESS;
}

/* Returns a factor of @n. Any factor is right, but factors of four need fewer passes than twos. */
static long long factor(long long n)
{
	long long r;

	if (n % 4 == 0)
		return 4;
	for (r = 2; r * r <= n; r++)
		if (n % r == 0)
			return r;
	return n;
}

/* Transforms one dimension. Afterwards *from is the copy that has the result. */
static bool passes(struct fft_plan *p, int d, bool inverse, CUdeviceptr *from, CUdeviceptr *to)
{
	long long n = p->shape.in.n[d], inner = 1, total = fft_total(&p->shape), l, r;
	int turn = inverse, i;
	CUdeviceptr swap;

	for (i = d + 1; i < FFT_RANK; i++)
		inner *= p->shape.in.n[i];
	for (l = 1; l < n; l *= r) {
		r = factor(n / l);
		if (!launch(p, pass_kernel, (void *[]){ &n, &l, &r, &inner, &total, &turn,
							&p->roots[d], from, to }))
			return false;
		swap = *from;
		*from = *to;
		*to = swap;
	}
	return true;
}

/* In a transform in its own place, lines of the real and the complex side begin at one address. */
static struct fft_layout padded(const struct fft_layout *real)
{
	struct fft_layout a = *real;

	a.stride[1] = 2 * (a.n[2] / 2 + 1);
	a.stride[0] = a.stride[1] * a.n[1];
	a.dist = a.stride[0] * a.n[0];
	return a;
}

cufftResult fft_run(struct fft_plan *p, CUdeviceptr in, CUdeviceptr out, bool inverse)
{
	struct fft_layout from_layout = p->shape.in, to_layout = p->shape.out;
	long long total = fft_total(&p->shape);
	CUdeviceptr from = p->area, to = p->area + fft_work_size(&p->shape) / 2;
	int kind = p->shape.kind, d;

	if (!p->area)
		return CUFFT_NO_WORKSPACE;
	if (in == out && p->shape.basic && kind == FFT_R2C)
		from_layout = padded(&from_layout);
	if (in == out && p->shape.basic && kind == FFT_C2R)
		to_layout = padded(&to_layout);
	if (!launch(p, load_kernel, (void *[]){ &from_layout, &kind, &total, &in, &from }))
		return CUFFT_EXEC_FAILED;
	for (d = 0; d < FFT_RANK; d++)
		if (!passes(p, d, inverse, &from, &to))
			return CUFFT_EXEC_FAILED;
	if (!launch(p, store_kernel, (void *[]){ &to_layout, &kind, &total, &from, &out }))
		return CUFFT_EXEC_FAILED;
	return CUFFT_SUCCESS;
}

/* --- The functions ----------------------------------------------------------------- */

static cufftResult run(cufftHandle plan, enum fft_kind kind, bool wide, void *in, void *out,
		       int direction)
{
	struct fft_plan *p = fft_plan(plan);

	if (!p || !p->made)
		return CUFFT_INVALID_PLAN;
	if (p->shape.kind != kind || p->shape.wide != wide)
		return CUFFT_INVALID_TYPE;
	if (!in || !out || (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE))
		return CUFFT_INVALID_VALUE;
	return fft_run(p, (CUdeviceptr)in, (CUdeviceptr)out, direction == CUFFT_INVERSE);
}

EXPORT cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out,
				int direction)
{
	return run(plan, FFT_C2C, false, in, out, direction);
}

EXPORT cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleComplex *out,
				int direction)
{
	return run(plan, FFT_C2C, true, in, out, direction);
}

EXPORT cufftResult cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out)
{
	return run(plan, FFT_R2C, false, in, out, CUFFT_FORWARD);
}

EXPORT cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out)
{
	return run(plan, FFT_R2C, true, in, out, CUFFT_FORWARD);
}

EXPORT cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *in, cufftReal *out)
{
	return run(plan, FFT_C2R, false, in, out, CUFFT_INVERSE);
}

EXPORT cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out)
{
	return run(plan, FFT_C2R, true, in, out, CUFFT_INVERSE);
}

/* For a transform of real numbers the plan's kind decides the direction. */
EXPORT cufftResult cufftXtExec(cufftHandle plan, void *in, void *out, int direction)
{
	struct fft_plan *p = fft_plan(plan);

	if (!p || !p->made)
		return CUFFT_INVALID_PLAN;
	if (p->shape.kind != FFT_C2C)
		direction = p->shape.kind == FFT_R2C ? CUFFT_FORWARD : CUFFT_INVERSE;
	return run(plan, p->shape.kind, p->shape.wide, in, out, direction);
}
