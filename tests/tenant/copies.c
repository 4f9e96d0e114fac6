// SPDX-License-Identifier: Apache-2.0
/*
 * A client that copies in the ways that its words name. Each way copies a known number of
 * bytes up to the device and down from it; bytes_test.sh knows them. Then it acts on
 * `ready` and `wait` as client.c does. It prints an error of CUDA's.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROOM	65536

static char pageable[ROOM], *pinned;
static CUdeviceptr device;
static CUarray row, array;
static CUstream stream;

#define TRY(call) do { \
	CUresult res_ = (call); \
	const char *name_ = "?"; \
	if (res_ != CUDA_SUCCESS) { \
		cuGetErrorName(res_, &name_); \
		printf("%s: %s\n", #call, name_); \
	} \
} while (0)

/* Copies up by way of the message itself: 100 and 28 bytes. */
static void tiny(void)
{
	TRY(cuMemcpyHtoD(device, pageable, 100));
	TRY(cuMemcpyHtoDAsync(device, pageable, 28, stream));
}

/* The driver finds out which side is the host's: 4096 bytes up, 1000 down. */
static void unified(void)
{
	TRY(cuMemcpy(device, (CUdeviceptr)pinned, 4096));
	TRY(cuMemcpyAsync((CUdeviceptr)pinned, device, 1000, stream));
}

static CUDA_MEMCPY2D up_2d(const void *from, size_t width, size_t height)
{
	return (CUDA_MEMCPY2D) {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = from, .srcPitch = 64,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device, .dstPitch = 128,
		.WidthInBytes = width, .Height = height,
	};
}

/* Copies 32 * 5 pageable and 16 * 3 pinned bytes up, and 24 * 7 bytes of unified addresses down. */
static void flat(void)
{
	CUDA_MEMCPY2D a = up_2d(pageable, 32, 5), b = up_2d(pinned, 16, 3), c = {
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = device, .srcPitch = 128,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = (CUdeviceptr)pinned,
		.dstPitch = 64, .WidthInBytes = 24, .Height = 7,
	};

	TRY(cuMemcpy2D(&a));
	TRY(cuMemcpy2DAsync(&b, stream));
	TRY(cuMemcpy2DUnaligned(&c));
}

/* Copies 8 * 4 * 3 bytes up, 8 * 2 * 5 down, and 8 * 2 * 2 down between peers. */
static void box(void)
{
	CUDA_MEMCPY3D a = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pageable, .srcPitch = 16,
		.srcHeight = 4, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device,
		.dstPitch = 32, .dstHeight = 8, .WidthInBytes = 8, .Height = 4, .Depth = 3,
	}, b = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = device, .srcPitch = 32,
		.srcHeight = 8, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = pinned,
		.dstPitch = 16, .dstHeight = 4, .WidthInBytes = 8, .Height = 2, .Depth = 5,
	};
	CUDA_MEMCPY3D_PEER c = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = device, .srcPitch = 32,
		.srcHeight = 8, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = pinned,
		.dstPitch = 16, .dstHeight = 4, .WidthInBytes = 8, .Height = 2, .Depth = 2,
	};

	cuCtxGetCurrent(&c.srcContext);
	c.dstContext = c.srcContext;
	TRY(cuMemcpy3D(&a));
	TRY(cuMemcpy3DAsync(&b, stream));
	TRY(cuMemcpy3DPeer(&c));
}

/* Copies with arrays: 64 bytes up, 16 * 4 up, 16 * 2 down. */
static void arrays(void)
{
	CUDA_MEMCPY2D a = up_2d(pinned, 16, 4), b = {
		.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array,
		.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = pageable, .dstPitch = 16,
		.WidthInBytes = 16, .Height = 2,
	};

	a.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	a.dstArray = array;
	TRY(cuMemcpyHtoA(row, 0, pageable, 64));
	TRY(cuMemcpy2D(&a));
	TRY(cuMemcpy2D(&b));
}

/* Copies 3000 and 2000 bytes up, and one box of 8 * 2 * 2 down. */
static void batch(void)
{
	CUdeviceptr to[] = { device, device + 4096 };
	CUdeviceptr from[] = { (CUdeviceptr)pageable, (CUdeviceptr)pinned };
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	size_t sizes[] = { 3000, 2000 }, first = 0;
	CUDA_MEMCPY3D_BATCH_OP op = {
		.src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = { .ptr = device } },
		.dst = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER,
			 .op.ptr = { .ptr = (CUdeviceptr)pinned } },
		.extent = { 8, 2, 2 }, .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
	};

	TRY(cuMemcpyBatchAsync(to, from, sizes, 2, &how, &first, 1, stream));
	TRY(cuMemcpy3DBatchAsync(1, &op, 0, stream));
}

/* Copies nothing that crosses: within the device, a fill, between host memories. */
static void none(void)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = device, .srcPitch = 64,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device + 4096, .dstPitch = 64,
		.WidthInBytes = 64, .Height = 4,
	};

	TRY(cuMemcpyDtoD(device, device + 4096, 512));
	TRY(cuMemcpy(device, device + 4096, 512));
	TRY(cuMemcpy((CUdeviceptr)pinned, (CUdeviceptr)pinned + 4096, 512));
	TRY(cuMemcpy2D(&c));
	TRY(cuMemsetD8(device, 1, 4096));
	TRY(cuMemsetD2D32(device, 64, 1, 16, 4));
}

static const struct {
	const char *name;
	void (*copy)(void);
} ways[] = {
	{ "tiny", tiny }, { "unified", unified }, { "flat", flat }, { "box", box },
	{ "arrays", arrays }, { "batch", batch }, { "none", none },
};

static void act(const char *word)
{
	size_t i;
	char c;

	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(word, ways[i].name))
			ways[i].copy();
	TRY(cuCtxSynchronize());
	if (!strcmp(word, "ready")) {
		puts("ready");
		fflush(stdout);
	}
	while (!strcmp(word, "wait") && read(0, &c, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	CUDA_ARRAY_DESCRIPTOR d = { 64, 8, CU_AD_FORMAT_UNSIGNED_INT8, 1 };
	CUDA_ARRAY_DESCRIPTOR d1 = { 64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1 };
	CUcontext ctx;
	int i;

	alarm(120);
	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&ctx, 0));
	TRY(cuCtxSetCurrent(ctx));
	TRY(cuMemAlloc(&device, ROOM));
	TRY(cuMemAllocHost((void **)&pinned, ROOM));
	TRY(cuArrayCreate(&array, &d));
	TRY(cuArrayCreate(&row, &d1));
	TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (i = 1; i < argc; i++)
		act(argv[i]);
	return 0;
}
