// SPDX-License-Identifier: Apache-2.0
/*
 * Starts the driver and uses it once, before a client is there. A client's first calls would
 * otherwise do much for the first time: start the driver, link functions, grow the heap, touch
 * pages. All this is done when the worker parks, so that a client's calls stay in plain user mode
 * and do not miss in the view. It leaves nothing behind but a started driver.
 */
#include "session/output.h"
#include "session/handler.h"

#include <stdio.h>

#define BYTES	(256u << 10)

/* The smallest kernel that loads, computes and stores. */
static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry wh_warm(.param .u64 p)\n{\n"
	".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\n"
	"mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd2, %rd2, %rd3;\n"
	"ld.global.u32 %r2, [%rd2];\nadd.s32 %r2, %r2, 1;\nst.global.u32 [%rd2], %r2;\n"
	"ret;\n}\n";

/* A failure is the driver's own: the client will meet it, too. */
static bool good(CUresult res, const char *what)
{
	if (res == CUDA_SUCCESS)
		return true;
	fprintf(wh_messages(), "warn: worker: warming up: %s: CUDA error %d\n", what, (int)res);
	return false;
}

static void launch(struct wh_session *s, CUdeviceptr dev)
{
	const CUlaunchConfig config = { 2, 1, 1, 64, 1, 1, 0, NULL, NULL, 0 };
	void *params[] = { &dev };
	CUfunction fn;
	CUmodule mod;

	if (!good(s->drv.cuModuleLoadData(&mod, ptx), "cuModuleLoadData"))
		return;
	if (good(s->drv.cuModuleGetFunction(&fn, mod, "wh_warm"), "cuModuleGetFunction") &&
	    good(s->drv.cuLaunchKernelEx(&config, fn, params, NULL), "cuLaunchKernelEx"))
		good(s->drv.cuCtxSynchronize(), "cuCtxSynchronize");
	good(s->drv.cuModuleUnload(mod), "cuModuleUnload");
}

static void streams_and_events(struct wh_session *s)
{
	CUstream stream;
	CUevent event[2];
	float ms;

	if (!good(s->drv.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"))
		return;
	good(s->drv.cuEventCreate(&event[0], 0), "cuEventCreate");
	good(s->drv.cuEventCreate(&event[1], 0), "cuEventCreate");
	good(s->drv.cuEventRecord(event[0], stream), "cuEventRecord");
	good(s->drv.cuStreamWaitEvent(stream, event[0], 0), "cuStreamWaitEvent");
	good(s->drv.cuEventRecord(event[1], stream), "cuEventRecord");
	good(s->drv.cuEventSynchronize(event[1]), "cuEventSynchronize");
	good(s->drv.cuEventElapsedTime(&ms, event[0], event[1]), "cuEventElapsedTime");
	good(s->drv.cuEventDestroy_v2(event[0]), "cuEventDestroy");
	good(s->drv.cuEventDestroy_v2(event[1]), "cuEventDestroy");
	good(s->drv.cuStreamSynchronize(stream), "cuStreamSynchronize");
	good(s->drv.cuStreamDestroy_v2(stream), "cuStreamDestroy");
}

/* Copies through the part's data area, where a client's copies are staged, too. */
static void memory(struct wh_session *s)
{
	CUdeviceptr dev, more;

	if (!good(s->drv.cuMemAlloc_v2(&dev, BYTES), "cuMemAlloc"))
		return;
	good(s->drv.cuMemAlloc_v2(&more, BYTES), "cuMemAlloc");
	good(s->drv.cuMemcpyHtoD_v2(dev, s->data, BYTES), "cuMemcpyHtoD");
	good(s->drv.cuMemcpyHtoDAsync_v2(dev, s->data, BYTES, NULL), "cuMemcpyHtoDAsync");
	good(s->drv.cuMemcpyDtoD_v2(more, dev, BYTES), "cuMemcpyDtoD");
	good(s->drv.cuMemsetD8_v2(dev, 0, BYTES), "cuMemsetD8");
	good(s->drv.cuMemsetD32_v2(dev, 0, BYTES / 4), "cuMemsetD32");
	launch(s, dev);
	good(s->drv.cuMemcpyDtoH_v2(s->data, more, BYTES), "cuMemcpyDtoH");
	good(s->drv.cuMemcpyDtoHAsync_v2(s->data, more, BYTES, NULL), "cuMemcpyDtoHAsync");
	good(s->drv.cuCtxSynchronize(), "cuCtxSynchronize");
	good(s->drv.cuMemFree_v2(more), "cuMemFree");
	good(s->drv.cuMemFree_v2(dev), "cuMemFree");
	memset(s->data, 0, BYTES);
}

void wh_session_warm(struct wh_session *s)
{
	CUdevice dev;
	CUcontext ctx;

	if (!good(s->drv.cuInit(0), "cuInit") || !good(s->drv.cuDeviceGet(&dev, 0), "cuDeviceGet"))
		return;
	if (!good(s->drv.cuDevicePrimaryCtxRetain(&ctx, dev), "cuDevicePrimaryCtxRetain"))
		return;
	if (good(s->drv.cuCtxSetCurrent(ctx), "cuCtxSetCurrent")) {
		memory(s);
		streams_and_events(s);
		good(s->drv.cuCtxSetCurrent(NULL), "cuCtxSetCurrent");
	}
	good(s->drv.cuDevicePrimaryCtxRelease_v2(dev), "cuDevicePrimaryCtxRelease");
	wh_mem_prepare(s);
}
