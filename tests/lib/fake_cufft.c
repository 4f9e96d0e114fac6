// SPDX-License-Identifier: Apache-2.0
/* A cuFFT that writes down what it is told; a transform copies nothing. */
#include <cufftXt.h>
#include <time.h>

#include "fake_cufft.h"
#include "fake_library.h"

#define PLANS	8

static struct {
	int used, nx;
	/* Code that was given for a plan: it is read when the plan is made, as a linker would. */
	const unsigned char *code;
	size_t size;
} plan[PLANS + 1];

static int bad(cufftHandle p)
{
	return p < 1 || p > PLANS || !plan[p].used;
}

cufftResult cufftCreate(cufftHandle *handle)
{
	int i;

	if (!has_context())
		return CUFFT_SETUP_FAILED;
	for (i = 1; i <= PLANS && plan[i].used; i++)
		;
	if (i > PLANS)
		return CUFFT_ALLOC_FAILED;
	plan[i].used = 1;
	plan[i].nx = 0;
	plan[i].code = NULL;
	note("create");
	*handle = i;
	return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle p)
{
	if (bad(p))
		return CUFFT_INVALID_PLAN;
	plan[p].used = 0;
	note("destroy");
	return CUFFT_SUCCESS;
}

static unsigned int sum(const unsigned char *p, size_t n)
{
	unsigned int all = 0;

	while (n--)
		all = all * 31 + *p++;
	return all;
}

static cufftResult make(cufftHandle p, int nx, size_t *size)
{
	if (bad(p) || plan[p].nx)
		return CUFFT_INVALID_PLAN;
	if (!size)
		return CUFFT_INVALID_VALUE;
	if (nx < 1)
		return CUFFT_INVALID_SIZE;
	plan[p].nx = nx;
	if (plan[p].code)
		note("linked %x", sum(plan[p].code, plan[p].size));
	*size = FAKE_AREA(nx);
	return CUFFT_SUCCESS;
}

cufftResult cufftMakePlan1d(cufftHandle p, int nx, cufftType type, int batch, size_t *size)
{
	note("1d %d %x %d", nx, type, batch);
	return make(p, nx, size);
}

static const char *sizes(const long long *n, int rank)
{
	static char text[4][100];
	static int turn;
	char *to = text[turn = (turn + 1) % 4];
	int i, at = 0;

	if (!n)
		return "none";
	for (i = 0; i < rank; i++)
		at += snprintf(to + at, sizeof(text[0]) - at, "%s%lld", i ? "," : "", n[i]);
	return to;
}

cufftResult cufftMakePlanMany64(cufftHandle p, int rank, long long *n, long long *inembed,
				long long istride, long long idist, long long *onembed,
				long long ostride, long long odist, cufftType type,
				long long batch, size_t *size)
{
	note("many %s in=%s/%lld/%lld out=%s/%lld/%lld %x %lld", sizes(n, rank),
	     sizes(inembed, rank), istride, idist, sizes(onembed, rank), ostride, odist, type,
	     batch);
	return make(p, n[0], size);
}

cufftResult cufftXtMakePlanMany(cufftHandle p, int rank, long long *n, long long *inembed,
				long long istride, long long idist, cudaDataType in,
				long long *onembed, long long ostride, long long odist,
				cudaDataType out, long long batch, size_t *size,
				cudaDataType execution)
{
	(void)inembed; (void)istride; (void)idist; (void)onembed; (void)ostride; (void)odist;
	note("xt %s %d %d %d %lld", sizes(n, rank), in, out, execution, batch);
	return make(p, n[0], size);
}

cufftResult cufftGetSize(cufftHandle p, size_t *size)
{
	if (bad(p))
		return CUFFT_INVALID_PLAN;
	*size = FAKE_AREA(plan[p].nx);
	return CUFFT_SUCCESS;
}

cufftResult cufftEstimateMany(int rank, int *n, int *inembed, int istride, int idist, int *onembed,
			      int ostride, int odist, cufftType type, int batch, size_t *size)
{
	(void)inembed; (void)istride; (void)idist; (void)onembed; (void)ostride; (void)odist;
	note("estimate %d %d %x %d", rank, n[0], type, batch);
	*size = 4321;
	return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle p, cudaStream_t stream)
{
	note("set_stream %s", stream ? "own" : "0");
	return bad(p) ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle p, int on)
{
	note("allocate %d", on);
	return bad(p) ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle p, void *area)
{
	note("area %s", area ? "own" : "0");
	return bad(p) ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}

cufftResult cufftXtSetWorkAreaPolicy(cufftHandle p, cufftXtWorkAreaPolicy policy, size_t *size)
{
	note("policy %d %zu", policy, size ? *size : 0);
	if (size)
		*size += 1;
	return bad(p) ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}

cufftResult cufftSetPlanPropertyInt64(cufftHandle p, cufftProperty property,
				      const long long int value)
{
	note("property %d %lld", property, value);
	return bad(p) ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}

/* Writes the output only to say that the execution was waited for. */
static void hold(volatile float *out)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 4;

	while (*out == 0 && clock() < end)
		;
	if (*out == 0)
		*out = -1;
}

cufftResult cufftExecC2C(cufftHandle p, cufftComplex *in, cufftComplex *out, int direction)
{
	if (bad(p) || !plan[p].nx)
		return CUFFT_INVALID_PLAN;
	if (!in || !out)
		return CUFFT_INVALID_VALUE;
	if (direction == FAIL)
		return CUFFT_EXEC_FAILED;
	if (direction == HOLD)
		hold(&out->x);
	else
		note("c2c %d", direction);
	return CUFFT_SUCCESS;
}

cufftResult cufftXtExec(cufftHandle p, void *in, void *out, int direction)
{
	return cufftExecC2C(p, in, out, direction);
}

/* Says by `info` whether there is an array, and what its one element is. */
static const char *info_of(void **info)
{
	static char text[32];

	snprintf(text, sizeof(text), info ? "%lx" : "none", info ? (long)info[0] : 0);
	return text;
}

cufftResult cufftXtSetCallback(cufftHandle p, void **routine, cufftXtCallbackType type,
			       void **info)
{
	note("callback %d %lx %s", type, (long)routine[0], info_of(info));
	return bad(p) ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}

cufftResult cufftXtSetJITCallback(cufftHandle p, const char *name, const void *code, size_t size,
				  cufftXtCallbackType type, void **info)
{
	note("jit %d %s %zu %x %s", type, name, size, sum(code, size), info_of(info));
	if (bad(p) || plan[p].nx)
		return CUFFT_INVALID_PLAN;
	plan[p].code = code;
	plan[p].size = size;
	return CUFFT_SUCCESS;
}

cufftResult cufftXtClearCallback(cufftHandle p, cufftXtCallbackType type)
{
	note("clear %d", type);
	return bad(p) ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}

cufftResult cufftXtSetCallbackSharedSize(cufftHandle p, cufftXtCallbackType type, size_t size)
{
	note("shared %d %zu", type, size);
	return bad(p) ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}

cufftResult cufftGetVersion(int *version)
{
	note("version");
	*version = 12999;
	return CUFFT_SUCCESS;
}
