// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that transforms through the stub are the Fourier transforms of their
 * input, whatever their size, type, layout and place. Nothing but the output is written.
 * They run in the stream of their plan and in the work area that the program gives. It
 * runs over the stand-in of softgpu, and on a GPU over cuFFT itself.
 */
#include <complex.h>
#include <cufftXt.h>
#include <math.h>
#include <stdbool.h>

#include "lib_test.h"

#define RANK	3
#define ROOM	16384	/* numbers, at most, on either side */
#define GAP	123456.0

/* The places of the elements of one side; stride 0 means without gaps. */
struct side {
	int embed[RANK], stride, dist;
};

enum how { PLAN, MAKE, MAKE64, XT };

struct test {
	const char *name;
	int rank, n[RANK], batch;
	cufftType type;
	struct side in, out;
	int direction;
	bool in_place;
	enum how how;
};

static bool is_double(cufftType t) { return t == CUFFT_Z2Z || t == CUFFT_D2Z || t == CUFFT_Z2D; }
static bool from_real(cufftType t) { return t == CUFFT_R2C || t == CUFFT_D2Z; }
static bool to_real(cufftType t) { return t == CUFFT_C2R || t == CUFFT_Z2D; }

/* --- The transform, as its definition has it ---------------------------------------- */

static int total(const struct test *t)
{
	int i, n = 1;

	for (i = 0; i < t->rank; i++)
		n *= t->n[i];
	return n;
}

static void along(double complex *x, int n, int stride, int direction)
{
	double complex y[ROOM];
	double angle;
	int k, j;

	for (k = 0; k < n; k++)
		for (y[k] = 0, j = 0; j < n; j++) {
			angle = direction * 2 * M_PI * ((long)j * k % n) / n;
			y[k] += x[j * stride] * (cos(angle) + I * sin(angle));
		}
	for (k = 0; k < n; k++)
		x[k * stride] = y[k];
}

static void transform(const struct test *t, double complex *x, int direction)
{
	int d, i, all = total(t), stride = all;

	for (d = 0; d < t->rank; d++) {
		stride /= t->n[d];
		for (i = 0; i < all; i++)
			if (i / stride % t->n[d] == 0)
				along(x + i, t->n[d], stride, direction);
	}
}

/* --- Layouts ----------------------------------------------------------- */

/*
 * Returns the place of element `i` of a whole transform, or -1 if the half that is stored
 * lacks it.
 */
static int place(const struct test *t, const struct side *s, int i, int batch, bool half,
		 bool padded)
{
	int d, at = 0, dim, all = 1, x[RANK], last = t->n[t->rank - 1];

	for (d = t->rank - 1; d >= 0; d--) {
		x[d] = i % t->n[d];
		i /= t->n[d];
	}
	if (half && x[t->rank - 1] > last / 2)
		return -1;
	for (d = 0; d < t->rank; d++) {
		dim = t->n[d];
		if (d == t->rank - 1)
			dim = half ? last / 2 + 1 : padded ? 2 * (last / 2 + 1) : last;
		all *= dim;
		at = at * (s->stride ? s->embed[d] : dim) + x[d];
	}
	return s->stride ? at * s->stride + batch * s->dist : at + batch * all;
}

/* Writes numbers as the device has them: pairs for complex ones. */
static void put(const struct test *t, void *to, int at, bool real, double complex v)
{
	double part[2] = { creal(v), cimag(v) };
	int i, n = real ? 1 : 2;

	for (i = 0; i < n; i++)
		if (is_double(t->type))
			((double *)to)[at * n + i] = part[i];
		else
			((float *)to)[at * n + i] = part[i];
}

static double complex get(const struct test *t, const void *from, int at, bool real)
{
	const double *d = from;
	const float *f = from;

	if (is_double(t->type))
		return real ? d[at] : d[2 * at] + I * d[2 * at + 1];
	return real ? f[at] : f[2 * at] + I * f[2 * at + 1];
}

/* --- One transform ----------------------------------------------------------- */

static cudaDataType number(const struct test *t, bool real)
{
	return is_double(t->type) ? real ? CUDA_R_64F : CUDA_C_64F :
				    real ? CUDA_R_32F : CUDA_C_32F;
}

static cufftResult make(const struct test *t, cufftHandle *p)
{
	int n[RANK], in[RANK], out[RANK], *ie = t->in.stride ? in : NULL, i;
	long long n64[RANK], in64[RANK], out64[RANK], *ie64 = t->in.stride ? in64 : NULL;
	int *oe = ie ? out : NULL;
	long long *oe64 = ie64 ? out64 : NULL;
	cufftResult res;
	size_t size;

	for (i = 0; i < RANK; i++) {
		n64[i] = n[i] = t->n[i];
		in64[i] = in[i] = t->in.embed[i];
		out64[i] = out[i] = t->out.embed[i];
	}
	if (t->how == PLAN && !ie && t->rank == 1)
		return cufftPlan1d(p, n[0], t->type, t->batch);
	if (t->how == PLAN && !ie && t->batch == 1)
		return t->rank == 2 ? cufftPlan2d(p, n[0], n[1], t->type) :
				      cufftPlan3d(p, n[0], n[1], n[2], t->type);
	if (t->how == PLAN)
		return cufftPlanMany(p, t->rank, n, ie, t->in.stride, t->in.dist, oe, t->out.stride,
				     t->out.dist, t->type, t->batch);
	res = cufftCreate(p);
	if (res)
		return res;
	if (t->how == MAKE)
		return cufftMakePlanMany(*p, t->rank, n, ie, t->in.stride, t->in.dist, oe,
					 t->out.stride, t->out.dist, t->type, t->batch, &size);
	if (t->how == MAKE64)
		return cufftMakePlanMany64(*p, t->rank, n64, ie64, t->in.stride, t->in.dist, oe64,
					   t->out.stride, t->out.dist, t->type, t->batch, &size);
	return cufftXtMakePlanMany(*p, t->rank, n64, ie64, t->in.stride, t->in.dist,
				   number(t, from_real(t->type)), oe64, t->out.stride, t->out.dist,
				   number(t, to_real(t->type)), t->batch, &size, number(t, false));
}

static cufftResult execute(const struct test *t, cufftHandle p, void *in, void *out)
{
	if (t->how == XT)
		return cufftXtExec(p, in, out, t->direction);
	switch (t->type) {
	case CUFFT_C2C:
		return cufftExecC2C(p, in, out, t->direction);
	case CUFFT_Z2Z:
		return cufftExecZ2Z(p, in, out, t->direction);
	case CUFFT_R2C:
		return cufftExecR2C(p, in, out);
	case CUFFT_D2Z:
		return cufftExecD2Z(p, in, out);
	case CUFFT_C2R:
		return cufftExecC2R(p, in, out);
	default:
		return cufftExecZ2D(p, in, out);
	}
}

static double random_number(void)
{
	static unsigned long long x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (double)(x >> 11) / (1ULL << 52) - 1;
}

/*
 * Returns the largest error against the definition, relative to the largest number; gaps
 * count. If the transform is not executed, returns its status as a negative number.
 */
static double error_of(const struct test *t, cufftHandle p)
{
	static double host[2 * ROOM], want[2 * ROOM];
	static double complex x[ROOM];
	bool real_in = from_real(t->type), real_out = to_real(t->type);
	bool padded = t->in_place && !t->in.stride;
	int all = total(t), i, b, at;
	double most = 1, worst = 0;
	CUdeviceptr in, out;
	cufftResult res;

	for (i = 0; i < 2 * ROOM; i++)
		put(t, host, i, true, GAP), put(t, want, i, true, GAP);
	for (b = 0; b < t->batch; b++) {
		for (i = 0; i < all; i++)
			x[i] = random_number() + (real_in || real_out ? 0 : I * random_number());
		/*
		 * The input of a transform with real output is itself a transform of real numbers.
		 */
		if (real_out)
			transform(t, x, CUFFT_FORWARD);
		for (i = 0; i < all; i++) {
			at = place(t, &t->in, i, b, real_out, padded && real_in);
			if (at >= 0)
				put(t, host, at, real_in, x[i]);
		}
		transform(t, x, real_out ? CUFFT_INVERSE : t->direction);
		for (i = 0; i < all; i++) {
			at = place(t, &t->out, i, b, real_in, padded && real_out);
			if (at >= 0)
				put(t, want, at, real_out, x[i]);
			most = fmax(most, cabs(x[i]));
		}
	}
	in = device(host, sizeof(host));
	for (i = 0; i < 2 * ROOM; i++)
		put(t, host, i, true, GAP);
	out = t->in_place ? in : device(host, sizeof(host));
	res = execute(t, p, (void *)in, (void *)out);
	if (res)
		return -res;
	cuMemcpyDtoH(host, out, sizeof(host));
	/* A transform in place leaves what was between the lines. */
	for (i = 0; i < 2 * ROOM; i++) {
		double complex w = get(t, want, i, true), h = get(t, host, i, true);

		if (!t->in_place || w != GAP)
			worst = fmax(worst, cabs(h - w));
	}
	cuMemFree(in);
	if (out != in)
		cuMemFree(out);
	return worst / most;
}

static void test_transform(const struct test *t)
{
	double limit = is_double(t->type) ? 1e-13 : 2e-6, error = -1;
	cufftHandle p = CUFFT_PLAN_NULL;
	cufftResult res = make(t, &p);

	if (!res)
		error = error_of(t, p);
	if (!ok(!res && error >= 0 && error < limit, t->name))
		diag("result %d, error %g", res, error);
	cufftDestroy(p);
}

#define F	CUFFT_FORWARD
#define B	CUFFT_INVERSE

static const struct test tests[] = {
	{ "c2c_of_a_power_of_two", 1, { 64 }, 3, CUFFT_C2C, .direction = F },
	{ "c2c_of_a_composite_number", 1, { 90 }, 2, CUFFT_C2C, .direction = F },
	{ "c2c_of_a_prime", 1, { 127 }, 2, CUFFT_C2C, .direction = F },
	{ "c2c_of_one_element", 1, { 1 }, 5, CUFFT_C2C, .direction = F },
	{ "c2c_back_is_not_scaled", 1, { 60 }, 2, CUFFT_C2C, .direction = B },
	{ "c2c_in_its_own_place", 1, { 48 }, 2, CUFFT_C2C, .direction = F, .in_place = true },
	{ "c2c_in_two_dimensions", 2, { 12, 10 }, 1, CUFFT_C2C, .direction = F },
	{ "c2c_in_three_dimensions", 3, { 4, 6, 5 }, 1, CUFFT_C2C, .direction = B },
	{ "c2c_in_two_dimensions_several_times", 2, { 7, 8 }, 4, CUFFT_C2C, .direction = F,
	  .how = MAKE },
	{ "z2z_in_three_dimensions", 3, { 3, 8, 5 }, 1, CUFFT_Z2Z, .direction = F },
	{ "z2z_of_a_large_prime", 1, { 509 }, 1, CUFFT_Z2Z, .direction = F },
	{ "r2c_of_an_even_number", 1, { 100 }, 2, CUFFT_R2C, .direction = F },
	{ "r2c_of_an_odd_number", 1, { 45 }, 2, CUFFT_R2C, .direction = F },
	{ "r2c_in_two_dimensions", 2, { 9, 10 }, 1, CUFFT_R2C, .direction = F },
	{ "d2z_in_three_dimensions", 3, { 4, 3, 7 }, 1, CUFFT_D2Z, .direction = F },
	{ "r2c_in_its_own_place_has_padded_lines", 2, { 6, 8 }, 3, CUFFT_R2C, .direction = F,
	  .in_place = true, .how = MAKE },
	{ "c2r_of_an_even_number", 1, { 64 }, 2, CUFFT_C2R, .direction = B },
	{ "c2r_of_an_odd_number", 1, { 33 }, 2, CUFFT_C2R, .direction = B },
	{ "c2r_in_two_dimensions", 2, { 6, 10 }, 1, CUFFT_C2R, .direction = B },
	{ "z2d_in_three_dimensions", 3, { 5, 4, 6 }, 1, CUFFT_Z2D, .direction = B },
	{ "c2r_in_its_own_place_has_padded_lines", 1, { 30 }, 3, CUFFT_C2R, .direction = B,
	  .in_place = true },
	{ "columns_of_a_matrix", 1, { 16 }, 5, CUFFT_C2C, { { 16 }, 5, 1 }, { { 16 }, 1, 16 }, F,
	  .how = PLAN },
	{ "part_of_a_larger_array_and_nothing_else", 2, { 4, 6 }, 2, CUFFT_C2C,
	  { { 5, 8 }, 2, 100 }, { { 4, 7 }, 3, 111 }, F, .how = MAKE64 },
	{ "r2c_with_strides", 2, { 4, 9 }, 3, CUFFT_R2C, { { 4, 11 }, 2, 90 }, { { 4, 6 }, 1, 30 },
	  F, .how = MAKE },
	{ "z2d_with_strides", 2, { 3, 8 }, 2, CUFFT_Z2D, { { 3, 5 }, 2, 33 }, { { 3, 10 }, 1, 31 },
	  B, .how = XT },
	{ "by_types_of_numbers_r2c", 2, { 8, 6 }, 2, CUFFT_R2C, .direction = F, .how = XT },
	{ "by_types_of_numbers_z2z", 1, { 36 }, 4, CUFFT_Z2Z, .direction = B, .how = XT },
	{ "by_sizes_of_64_bits", 3, { 2, 3, 4 }, 5, CUFFT_C2C, .direction = F, .how = MAKE64 },
};
#define TESTS	((int)(sizeof(tests) / sizeof(*tests)))

/* --- Work areas, streams ----------------------------------------------------------- */

static void test_areas(void)
{
	static const struct test t = { "", 2, { 12, 10 }, 3, CUFFT_C2C, .direction = F };
	size_t size = 0, asked = 0;
	CUdeviceptr area[2];
	cufftHandle p;
	int n[2] = { 12, 10 };

	cufftCreate(&p);
	cufftSetAutoAllocation(p, 0);
	ok(!cufftMakePlanMany(p, 2, n, NULL, 1, 0, NULL, 1, 0, CUFFT_C2C, 3, &size) &&
	   !cufftGetSize(p, &asked) && asked == size, "size_is_that_of_the_plan");
	area[0] = device(NULL, size + 16);
	area[1] = device(NULL, size + 16);
	ok(!cufftSetWorkArea(p, (void *)area[0]) && error_of(&t, p) < 2e-6 &&
	   !cufftSetWorkArea(p, (void *)area[1]) && error_of(&t, p) < 2e-6,
	   "transforms_work_in_the_programs_own_area");
	cufftDestroy(p);
	cuMemFree(area[0]);
	cuMemFree(area[1]);
}

static void test_streams(void)
{
	const float wave[16] = { 1, 0, 0, 0, -1, 0, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0 };
	float *host, got[16] = { 0 };
	CUdeviceptr d = device(NULL, sizeof(got)), e = device(NULL, sizeof(got));
	cufftHandle p;
	CUstream s;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuMemHostAlloc((void **)&host, sizeof(wave), 0);
	memcpy(host, wave, sizeof(wave));
	cufftPlan1d(&p, 8, CUFFT_C2C, 1);
	cufftSetStream(p, (cudaStream_t)s);
	cuMemcpyHtoDAsync(d, host, sizeof(wave), s);
	cufftExecC2C(p, (void *)d, (void *)e, F);
	cuMemcpyDtoHAsync(host, e, sizeof(wave), s);
	cuStreamSynchronize(s);
	memcpy(got, host, sizeof(got));
	/* The whole has two waves, which are elements 2 and 6. */
	ok(fabs(got[4] - 4) < 1e-5 && fabs(got[12] - 4) < 1e-5 && fabs(got[0]) < 1e-5,
	   "transform_runs_between_its_streams_copies");
	cufftDestroy(p);
	ok(!cufftPlan1d(&p, 8, CUFFT_C2C, 1) && !cufftExecC2C(p, (void *)d, (void *)e, F) &&
	   !cuCtxSynchronize(), "next_plan_is_in_the_default_stream");
	cufftDestroy(p);
	cuStreamDestroy(s);
}

int main(void)
{
	CUcontext ctx;
	int i;

	tap_plan(TESTS + 4);
	/* cuFFT's own plan would not serve the second context, so the context is made first. */
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx))
		return 1;
	for (i = 0; i < TESTS; i++)
		test_transform(&tests[i]);
	test_areas();
	test_streams();
	return tap_exit();
}
