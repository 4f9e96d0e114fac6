// SPDX-License-Identifier: Apache-2.0
/*
 * A program that wants more SMs than its spatial share. It asks every function of the
 * driver API that answers a context for one, launches kernels in that context, and counts
 * on how many SMs they run. It prints a line for each way: the name of the way, the
 * result of the first call that failed or 0, and whether the kernels stayed on the SMs
 * that were granted.
 *
 * 	contexts list	the functions that it asks, to be compared with cuda.h
 * 	contexts	asks them
 * 	contexts count	how many SMs the device has, and on how many its kernels run
 * 	contexts green	the same of a green context on all that the device is said to have
 * 	contexts late	takes the device's SMs, says `ready`, and waits for a line: the results of
 * 			green contexts of these SMs, and on how many SMs kernels run in one of
 * 			those that the device is said to have then
 * 	contexts clusters N	the result of a launch in clusters of N thread blocks
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cuCtxAttach() is deprecated. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "start.h"

#define BLOCKS	512u

static const char code[] =
	".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
	".reg .u64 %rd<6>;\n.reg .u32 %r<4>;\n.reg .pred %p1;\nld.param.u64 %rd1,[p];\n"
	"cvta.to.global.u64 %rd1,%rd1;\nmov.u32 %r1,%smid;\nmov.u32 %r2,%ctaid.x;\n"
	"mul.wide.u32 %rd2,%r2,4;\nadd.u64 %rd1,%rd1,%rd2;\nmov.u64 %rd3,%clock64;\n"
	"L:\nmov.u64 %rd4,%clock64;\nsub.u64 %rd4,%rd4,%rd3;\nsetp.lt.u64 %p1,%rd4,50000;\n"
	"@%p1 bra L;\nst.global.u32 [%rd1],%r1;\nret;\n}\n";

static CUcontext own;
static CUdeviceptr memory, pooled;
static CUstream stream;
static int granted;

/* --- Counting --------------------------------------------------------------------- */

static int different(const unsigned int *sm)
{
	static bool seen[4096];
	int n = 0;
	unsigned int i;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < BLOCKS; i++)
		if (sm[i] < 4096 && !seen[sm[i]]) {
			seen[sm[i]] = true;
			n++;
		}
	return n;
}

static CUresult launch_clusters(CUfunction f, unsigned int blocks)
{
	CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				.value.clusterDim = { blocks, 1, 1 } };
	CUlaunchConfig c = { .gridDimX = BLOCKS, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32,
			     .blockDimY = 1, .blockDimZ = 1, .attrs = &a, .numAttrs = 1 };
	void *args[] = { &memory };

	return cuLaunchKernelEx(&c, f, args, NULL);
}

static CUresult launch(CUfunction f, CUcontext ctx, bool node)
{
	void *args[] = { &memory };
	CUDA_KERNEL_NODE_PARAMS p = { .func = f, .gridDimX = BLOCKS, .gridDimY = 1, .gridDimZ = 1,
				      .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
				      .kernelParams = args, .ctx = ctx };
	CUgraphExec exec;
	CUgraphNode n;
	CUgraph g;
	CUresult res;

	if (!node)
		return cuLaunchKernel(f, BLOCKS, 1, 1, 32, 1, 1, 0, 0, args, NULL);
	res = cuGraphCreate(&g, 0);
	if (!res)
		res = cuGraphAddKernelNode(&n, g, NULL, 0, &p);
	if (!res)
		res = cuGraphInstantiate(&exec, g, 0);
	return res ? res : cuGraphLaunch(exec, 0);
}

/* Returns on how many SMs kernels run in this context; a negative number is an error. */
static int count(CUcontext ctx, bool node)
{
	static unsigned int sm[BLOCKS];
	CUfunction f;
	CUmodule m;
	CUresult res = cuCtxSetCurrent(ctx);

	if (!res)
		res = cuModuleLoadData(&m, code);
	if (!res)
		res = cuModuleGetFunction(&f, m, "k");
	if (!res)
		res = cuMemsetD32(memory, 0, BLOCKS);
	if (!res)
		res = launch(f, ctx, node);
	if (!res)
		res = cuCtxSynchronize();
	if (!res)
		res = cuMemcpyDtoH(sm, memory, sizeof(sm));
	return res ? -(int)res : different(sm);
}

/* --- Ways to a context ------------------------------------------------------------- */

static CUresult by_pointer(CUcontext *ctx)
{
	return cuPointerGetAttribute(ctx, CU_POINTER_ATTRIBUTE_CONTEXT, memory);
}

static CUresult by_pooled(CUcontext *ctx)
{
	return cuPointerGetAttribute(ctx, CU_POINTER_ATTRIBUTE_CONTEXT, pooled);
}

static CUresult by_pointers(CUcontext *ctx)
{
	CUpointer_attribute a = CU_POINTER_ATTRIBUTE_CONTEXT;
	void *out[] = { ctx };

	return cuPointerGetAttributes(1, &a, out, memory);
}

static CUresult by_stream(CUcontext *ctx)
{
	return cuStreamGetCtx(stream, ctx);
}

static CUresult by_default_stream(CUcontext *ctx)
{
	return cuStreamGetCtx(0, ctx);
}

static CUresult by_stream_v2(CUcontext *ctx)
{
	CUgreenCtx green = NULL;

	return cuStreamGetCtx_v2(stream, ctx, &green);
}

static CUresult by_streams_green(CUcontext *ctx)
{
	CUgreenCtx green = NULL;
	CUresult res = cuStreamGetCtx_v2(stream, ctx, &green);

	*ctx = NULL;
	return res || !green ? res : cuCtxFromGreenCtx(ctx, green);
}

static CUresult by_green_of_stream(CUcontext *ctx)
{
	CUgreenCtx green = NULL;
	CUresult res = cuStreamGetGreenCtx(stream, &green);

	*ctx = NULL;
	return res || !green ? res : cuCtxFromGreenCtx(ctx, green);
}

static CUresult by_current(CUcontext *ctx)
{
	return cuCtxGetCurrent(ctx);
}

static CUresult by_pop(CUcontext *ctx)
{
	return cuCtxPopCurrent(ctx);
}

static CUresult by_create(CUcontext *ctx)
{
	return cuCtxCreate(ctx, NULL, 0, 0);
}

static CUresult by_retain(CUcontext *ctx)
{
	return cuDevicePrimaryCtxRetain(ctx, 0);
}

/* Releases the primary context as often as the driver allows, then retains a new one. */
static CUresult by_retain_anew(CUcontext *ctx)
{
	CUresult res = cuDevicePrimaryCtxReset(0);

	while (!cuDevicePrimaryCtxRelease(0))
		;
	if (!res)
		res = cuDevicePrimaryCtxRetain(ctx, 0);
	own = *ctx;
	if (!res)
		res = cuCtxSetCurrent(own);
	return res ? res : cuMemAlloc(&memory, 4 * BLOCKS);
}

static CUresult by_pointer_anew(CUcontext *ctx)
{
	return cuPointerGetAttribute(ctx, CU_POINTER_ATTRIBUTE_CONTEXT, memory);
}

static CUresult by_node(CUcontext *ctx)
{
	CUDA_KERNEL_NODE_PARAMS p = { .gridDimX = BLOCKS, .gridDimY = 1, .gridDimZ = 1,
				      .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1 };
	void *args[] = { &memory };
	CUgraphNode n;
	CUmodule m;
	CUgraph g;
	CUresult res = cuModuleLoadData(&m, code);

	p.kernelParams = args;
	if (!res)
		res = cuModuleGetFunction(&p.func, m, "k");
	if (!res)
		res = cuGraphCreate(&g, 0);
	if (!res)
		res = cuGraphAddKernelNode(&n, g, NULL, 0, &p);
	if (!res)
		res = cuGraphKernelNodeGetParams(n, &p);
	*ctx = p.ctx;
	return res;
}

/* Makes a green context on these SMs. */
static CUresult on(CUdevResource *sms, CUgreenCtx *green)
{
	CUdevResourceDesc desc;
	CUresult res = cuDevResourceGenerateDesc(&desc, sms, 1);

	return res ? res : cuGreenCtxCreate(green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM);
}

/* Makes a green context with SMs of the program's own choice: all of them. */
static CUresult by_green(CUcontext *ctx)
{
	CUdevResource all;
	CUgreenCtx green;
	CUresult res = cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM);

	if (!res)
		res = on(&all, &green);
	return res ? res : cuCtxFromGreenCtx(ctx, green);
}

/* Makes one with the first of the parts that it splits them into. */
static CUresult by_green_part(CUcontext *ctx)
{
	CUdevResource all, part;
	unsigned int n = 1;
	CUgreenCtx green;
	CUresult res = cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM);

	if (!res)
		res = cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, 2);
	if (!res)
		res = on(&part, &green);
	return res ? res : cuCtxFromGreenCtx(ctx, green);
}

/* Makes one with the SMs that another one has. */
static CUresult by_green_again(CUcontext *ctx)
{
	CUdevResource all;
	CUgreenCtx green;
	CUresult res = cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM);

	if (!res)
		res = on(&all, &green);
	if (!res)
		res = cuGreenCtxGetDevResource(green, &all, CU_DEV_RESOURCE_TYPE_SM);
	if (!res)
		res = on(&all, &green);
	return res ? res : cuCtxFromGreenCtx(ctx, green);
}

/* Makes one with the SMs that the program's context has. */
static CUresult by_green_of_context(CUcontext *ctx)
{
	CUdevResource all;
	CUgreenCtx green;
	CUresult res = cuCtxGetDevResource(own, &all, CU_DEV_RESOURCE_TYPE_SM);

	if (!res)
		res = on(&all, &green);
	return res ? res : cuCtxFromGreenCtx(ctx, green);
}

static CUresult by_attach(CUcontext *ctx)
{
	return cuCtxAttach(ctx, 0);
}

/* Makes a descriptor from the driver's own bytes, which the program has overwritten. */
static CUresult by_forged_resource(CUcontext *ctx)
{
	CUdevResourceDesc desc;
	CUdevResource all;
	CUresult res = cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM);

	*ctx = NULL;
	if (res)
		return res;
	memset(all._internal_padding, 0x55, sizeof(all._internal_padding));
	return cuDevResourceGenerateDesc(&desc, &all, 1);
}

static const struct {
	const char *name;	/* of the way; up to a '+', of the function */
	CUresult (*get)(CUcontext *ctx);
} ways[] = {
	{ "cuCtxGetCurrent", by_current },
	{ "cuPointerGetAttribute", by_pointer },
	{ "cuPointerGetAttribute+pool", by_pooled },
	{ "cuPointerGetAttributes", by_pointers },
	{ "cuStreamGetCtx", by_stream },
	{ "cuStreamGetCtx+default", by_default_stream },
	{ "cuStreamGetCtx_v2", by_stream_v2 },
	{ "cuStreamGetCtx_v2+green", by_streams_green },
	{ "cuStreamGetGreenCtx", by_green_of_stream },
	{ "cuGraphKernelNodeGetParams_v2", by_node },
	{ "cuDevicePrimaryCtxRetain", by_retain },
	{ "cuGreenCtxCreate", by_green },
	{ "cuGreenCtxCreate+part", by_green_part },
	{ "cuGreenCtxCreate+again", by_green_again },
	{ "cuGreenCtxCreate+context", by_green_of_context },
	{ "cuCtxAttach", by_attach },
	{ "cuCtxFromGreenCtx", by_forged_resource },
	{ "cuCtxPopCurrent_v2", by_pop },
	{ "cuCtxCreate_v4", by_create },
	{ "cuDevicePrimaryCtxRetain+anew", by_retain_anew },
	{ "cuPointerGetAttribute+anew", by_pointer_anew },
};
#define WAYS	(sizeof(ways) / sizeof(*ways))

static void list(void)
{
	size_t i;

	for (i = 0; i < WAYS; i++)
		if (!strchr(ways[i].name, '+'))
			printf("%s\n", ways[i].name);
}

static void ask(size_t i, bool node)
{
	CUcontext ctx = NULL;
	CUresult res;
	int n = 0;

	cuCtxSetCurrent(own);
	res = ways[i].get(&ctx);
	if (!res && ctx)
		n = count(ctx, node);
	if (n < 0)
		res = (CUresult)-n;
	printf("%s%s %d %s\n", ways[i].name, node ? "+node" : "", (int)res,
	       n > granted ? "all" : n > 0 ? "granted" : "none");
}

static int clusters(unsigned int blocks)
{
	CUfunction f;
	CUresult res = start_kernel(code, "k", &f);

	if (!res)
		res = cuMemAlloc(&memory, 4 * BLOCKS);
	if (!res)
		res = launch_clusters(f, blocks);
	if (!res)
		res = cuCtxSynchronize();
	printf("%d\n", (int)res);
	return 0;
}

static int green(void)
{
	CUcontext ctx;
	CUresult res = by_green(&ctx);

	printf("%d %d\n", granted, res ? -(int)res : count(ctx, false));
	return 0;
}

static int late(void)
{
	CUdevResourceDesc desc;
	CUdevResource all;
	CUgreenCtx made;
	CUcontext ctx;
	CUresult res;

	if (cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM) ||
	    cuDevResourceGenerateDesc(&desc, &all, 1))
		return 1;
	printf("ready\n");
	fflush(stdout);
	getchar();
	res = cuGreenCtxCreate(&made, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM);
	printf("%d %d", (int)res, (int)on(&all, &made));
	res = by_green(&ctx);
	printf(" %d\n", res ? -(int)res : count(ctx, false));
	return 0;
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc > 1 && !strcmp(argv[1], "list")) {
		list();
		return 0;
	}
	if (argc > 2 && !strcmp(argv[1], "clusters"))
		return clusters((unsigned int)strtoul(argv[2], NULL, 10));
	if (start_context() || cuCtxGetCurrent(&own) || cuMemAlloc(&memory, 4 * BLOCKS) ||
	    cuStreamCreate(&stream, 0) || cuMemAllocAsync(&pooled, 4096, stream) ||
	    cuStreamSynchronize(stream) ||
	    cuDeviceGetAttribute(&granted, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0))
		return 1;
	if (argc > 1 && !strcmp(argv[1], "count")) {
		printf("%d %d\n", granted, count(own, false));
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "green"))
		return green();
	if (argc > 1 && !strcmp(argv[1], "late"))
		return late();
	printf("granted %d\n", granted);
	for (i = 0; i < WAYS; i++) {
		ask(i, false);
		ask(i, true);
	}
	return 0;
}
