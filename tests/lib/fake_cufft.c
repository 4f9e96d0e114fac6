// SPDX-License-Identifier: Apache-2.0
/* A cuFFT that writes down what it is told; a transform copies nothing. */
#include <cufftXt.h>
#include <string.h>
#include <time.h>

#include "fake_cufft.h"
#include "fake_library.h"

#define PLANS	8

static struct {
	int used, nx;
	/* Code that was given for a plan: it is read when the plan is made, as a linker would. */
	const unsigned char *code;
	const char *name;
	void **info;
	size_t size;
	int broken;	/* nothing may be done with it but to end it */
	int gpus, gpu[16];
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
	plan[i].broken = 0;
	plan[i].gpus = 0;
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

/* One for each GPU, each larger than the last one by a byte. */
static void areas(cufftHandle p, size_t *size)
{
	int i;

	size[0] = FAKE_AREA(plan[p].nx);
	for (i = 1; i < plan[p].gpus; i++)
		size[i] = size[0] + i;
}

static const char *info_of(void **info)
{
	static char text[32];

	snprintf(text, sizeof(text), info ? "%lx" : "none", info ? (long)info[0] : 0);
	return text;
}

static cufftResult make(cufftHandle p, int nx, size_t *size)
{
	if (bad(p) || plan[p].nx)
		return CUFFT_INVALID_PLAN;
	if (!size)
		return CUFFT_INVALID_VALUE;
	if (nx < 1)
		return CUFFT_INVALID_SIZE;
	if (plan[p].code && !plan[p].name) {
		plan[p].broken = 1;
		return CUFFT_INTERNAL_ERROR;
	}
	plan[p].nx = nx;
	if (plan[p].code)
		note("linked %s %x %s", plan[p].name, sum(plan[p].code, plan[p].size),
		     info_of(plan[p].info));
	areas(p, size);
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
	areas(p, size);
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
	if (!bad(p) && plan[p].broken)
		note("crash");
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
cufftResult cufftXtSetCallback(cufftHandle p, void **routine, cufftXtCallbackType type,
			       void **info)
{
	note("callback %d %lx %s", type, (long)routine[0], info_of(info));
	return bad(p) ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}

cufftResult cufftXtSetJITCallback(cufftHandle p, const char *name, const void *code, size_t size,
				  cufftXtCallbackType type, void **info)
{
	note("jit %d %s %zu %x %s", type, name ? name : "unnamed", size, sum(code, size),
	     info_of(info));
	if (bad(p) || plan[p].nx)
		return CUFFT_INVALID_PLAN;
	plan[p].code = code;
	plan[p].name = name;
	plan[p].size = size;
	plan[p].info = info;
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

/* --- Several GPUs ------------------------------------------------------------------- */

/*
 * A descriptor has as many numbers on each GPU, the first ones on the first. A transform makes
 * each number of one descriptor three times as large in the other, and says that they are in
 * another order.
 */
static struct {
	CUresult (*alloc)(CUdeviceptr *, size_t);
	CUresult (*free)(CUdeviceptr);
	CUresult (*down)(void *, CUdeviceptr, size_t);
	CUresult (*up)(CUdeviceptr, const void *, size_t);
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*current)(CUcontext);
} driver;

static void find_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*get)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

	*(void **)&get = dlsym(lib, "cuGetProcAddress_v2");
	get("cuMemAlloc", (void **)&driver.alloc, 13000, 0, NULL);
	get("cuMemFree", (void **)&driver.free, 13000, 0, NULL);
	get("cuMemcpyDtoH", (void **)&driver.down, 13000, 0, NULL);
	get("cuMemcpyHtoD", (void **)&driver.up, 13000, 0, NULL);
	get("cuDevicePrimaryCtxRetain", (void **)&driver.retain, 13000, 0, NULL);
	get("cuCtxSetCurrent", (void **)&driver.current, 13000, 0, NULL);
}

/* As the genuine library does, it leaves the GPU's context current. */
static void on(int gpu)
{
	CUcontext ctx;

	driver.retain(&ctx, gpu);
	driver.current(ctx);
}

cufftResult cufftXtSetGPUs(cufftHandle p, int n, int *gpu)
{
	find_driver();
	note("gpus %d %d %d", n, gpu[0], gpu[n - 1]);
	if (bad(p) || plan[p].nx)
		return CUFFT_INVALID_PLAN;
	plan[p].gpus = n;
	memcpy(plan[p].gpu, gpu, n * sizeof(*gpu));
	return CUFFT_SUCCESS;
}

cufftResult cufftXtSetWorkArea(cufftHandle p, void **area)
{
	note("areas %d %d", area[0] != NULL, area[plan[p].gpus - 1] != NULL);
	return bad(p) ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}

cufftResult cufftXtMalloc(cufftHandle p, cudaLibXtDesc **out, cufftXtSubFormat format)
{
	cudaLibXtDesc *d;
	cudaXtDesc *x;
	int i;

	note("malloc %d", format);
	if (bad(p) || !plan[p].gpus)
		return CUFFT_INVALID_PLAN;
	d = calloc(1, sizeof(*d));
	x = d->descriptor = calloc(1, sizeof(*x));
	d->version = x->version = CUDA_XT_DESCRIPTOR_VERSION + CUDART_VERSION;
	d->subFormat = format;
	d->libDescriptor = &plan[p];
	x->nGPUs = plan[p].gpus;
	for (i = 0; i < x->nGPUs; i++) {
		CUdeviceptr at = 0;

		x->GPUs[i] = plan[p].gpu[i];
		x->size[i] = plan[p].nx / x->nGPUs * sizeof(cufftComplex);
		on(x->GPUs[i]);
		driver.alloc(&at, x->size[i]);
		x->data[i] = (void *)at;
	}
	*out = d;
	return CUFFT_SUCCESS;
}

cufftResult cufftXtFree(cudaLibXtDesc *d)
{
	int i;

	note("free %s", d->libDescriptor ? "own" : "0");
	for (i = 0; i < d->descriptor->nGPUs; i++)
		driver.free((CUdeviceptr)d->descriptor->data[i]);
	free(d->descriptor);
	free(d);
	return CUFFT_SUCCESS;
}

static size_t held(const cudaXtDesc *x)
{
	size_t all = 0;
	int i;

	for (i = 0; i < x->nGPUs; i++)
		all += x->size[i];
	return all;
}

static void move(const cudaXtDesc *x, char *host, int up)
{
	int i;

	for (i = 0; i < x->nGPUs; host += x->size[i++]) {
		on(x->GPUs[i]);
		if (up)
			driver.up((CUdeviceptr)x->data[i], host, x->size[i]);
		else
			driver.down(host, (CUdeviceptr)x->data[i], x->size[i]);
	}
}

cufftResult cufftXtMemcpy(cufftHandle p, void *to, void *from, cufftXtCopyType type)
{
	cudaLibXtDesc *a = to, *b = from;
	char *room;

	note("memcpy %d", type);
	if (bad(p))
		return CUFFT_INVALID_PLAN;
	if (type == CUFFT_COPY_HOST_TO_DEVICE) {
		move(a->descriptor, from, 1);
	} else if (type == CUFFT_COPY_DEVICE_TO_HOST) {
		move(b->descriptor, to, 0);
	} else {
		room = calloc(1, held(b->descriptor));
		move(b->descriptor, room, 0);
		move(a->descriptor, room, 1);
		free(room);
		a->subFormat = CUFFT_XT_FORMAT_INPLACE;
	}
	return CUFFT_SUCCESS;
}

static cufftResult threefold(const char *name, cufftHandle p, cudaLibXtDesc *in,
			     cudaLibXtDesc *out, int direction)
{
	size_t i, n;
	float *x;

	note("%s %d", name, direction);
	if (bad(p))
		return CUFFT_INVALID_PLAN;
	if (direction == FAIL)
		return CUFFT_EXEC_FAILED;
	n = held(in->descriptor);
	x = calloc(1, n);
	move(in->descriptor, (char *)x, 0);
	for (i = 0; i < n / sizeof(*x); i++)
		x[i] *= 3;
	move(out->descriptor, (char *)x, 1);
	free(x);
	out->subFormat = CUFFT_XT_FORMAT_INPLACE_SHUFFLED;
	return CUFFT_SUCCESS;
}

cufftResult cufftXtExecDescriptorC2C(cufftHandle p, cudaLibXtDesc *in, cudaLibXtDesc *out,
				     int direction)
{
	return threefold("xt_c2c", p, in, out, direction);
}

cufftResult cufftXtExecDescriptorZ2Z(cufftHandle p, cudaLibXtDesc *in, cudaLibXtDesc *out,
				     int direction)
{
	return threefold("xt_z2z", p, in, out, direction);
}

cufftResult cufftXtExecDescriptor(cufftHandle p, cudaLibXtDesc *in, cudaLibXtDesc *out,
				  int direction)
{
	return threefold("xt", p, in, out, direction);
}

cufftResult cufftXtExecDescriptorR2C(cufftHandle p, cudaLibXtDesc *in, cudaLibXtDesc *out)
{
	return threefold("xt_r2c", p, in, out, 0);
}

cufftResult cufftXtExecDescriptorC2R(cufftHandle p, cudaLibXtDesc *in, cudaLibXtDesc *out)
{
	return threefold("xt_c2r", p, in, out, 0);
}

cufftResult cufftXtExecDescriptorD2Z(cufftHandle p, cudaLibXtDesc *in, cudaLibXtDesc *out)
{
	return threefold("xt_d2z", p, in, out, 0);
}

cufftResult cufftXtExecDescriptorZ2D(cufftHandle p, cudaLibXtDesc *in, cudaLibXtDesc *out)
{
	return threefold("xt_z2d", p, in, out, 0);
}
