// SPDX-License-Identifier: Apache-2.0
/*
 * Bandwidth of cuMemcpyHtoD and cuMemcpyDtoH over sizes, with pageable and pinned memory,
 * and of the asynchronous forms with pinned memory. The program uses only the driver API,
 * so the same program measures the driver alone and through any transport: the libcuda.so.1
 * that the loader finds decides.
 *
 * usage: copy NAME [LARGEST]	prints NAME_KIND_BYTES value GB/s
 *
 * Each figure is the best of two batches, since disturbances only make a copy slower.
 * copy.sh takes the best of several turns.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

#include "bench.h"

#define BATCH_NS	20000000ULL
#define BATCHES		2
#define SMALLEST	4UL
#define LARGEST		(1UL << 30)

static struct {
	typeof(cuInit) *init;
	typeof(cuDevicePrimaryCtxRetain) *retain;
	typeof(cuCtxSetCurrent) *set_current;
	typeof(cuMemAlloc) *alloc;
	typeof(cuMemAllocHost) *alloc_host;
	typeof(cuMemFreeHost) *free_host;
	typeof(cuMemcpyHtoD) *to_device;
	typeof(cuMemcpyDtoH) *to_host;
	typeof(cuMemcpyHtoDAsync) *to_device_async;
	typeof(cuMemcpyDtoHAsync) *to_host_async;
	typeof(cuStreamCreate) *stream_create;
	typeof(cuStreamSynchronize) *stream_synchronize;
} cu;

static CUdeviceptr device;
static CUstream stream;
static char *host;
static size_t size;

static void must(const char *what, CUresult res)
{
	if (res == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, res);
	exit(1);
}

/* --- What is measured ------------------------------------------------------------ */

static void to_device(void)
{
	must("cuMemcpyHtoD", cu.to_device(device, host, size));
}

static void to_host(void)
{
	must("cuMemcpyDtoH", cu.to_host(host, device, size));
}

static void to_device_async(void)
{
	must("cuMemcpyHtoDAsync", cu.to_device_async(device, host, size, stream));
}

static void to_host_async(void)
{
	must("cuMemcpyDtoHAsync", cu.to_host_async(host, device, size, stream));
}

static const struct kind {
	const char *name;
	void (*copy)(void);
	int pinned;
	int async;
} kinds[] = {
	{ "h2d_pageable", to_device, 0, 0 },
	{ "d2h_pageable", to_host, 0, 0 },
	{ "h2d_pinned", to_device, 1, 0 },
	{ "d2h_pinned", to_host, 1, 0 },
	{ "h2d_pinned_async", to_device_async, 1, 1 },
	{ "d2h_pinned_async", to_host_async, 1, 1 },
};

/* --- How ------------------------------------------------------------------------- */

static uint64_t batch(const struct kind *k, unsigned int n)
{
	uint64_t t = bench_ns();
	unsigned int i;

	for (i = 0; i < n; i++)
		k->copy();
	if (k->async)
		must("cuStreamSynchronize", cu.stream_synchronize(stream));
	return bench_ns() - t;
}

static double measure(const struct kind *k)
{
	uint64_t best = UINT64_MAX, t;
	unsigned int n = 1, i;

	while ((t = batch(k, n)) < BATCH_NS / 4 && n < 1 << 16)
		n *= 2;
	n = t ? n * BATCH_NS / t : n;
	n = n ? n : 1;
	for (i = 0; i < BATCHES; i++) {
		t = batch(k, n);
		best = t < best ? t : best;
	}
	return (double)size * n / best;
}

/* Writes the memory: unwritten pageable memory would be the kernel's single page of zeros. */
static char *get_host(size_t bytes, int pinned)
{
	void *p = NULL;

	if (pinned && cu.alloc_host(&p, bytes) != CUDA_SUCCESS)
		return NULL;
	if (!pinned)
		p = aligned_alloc(4096, (bytes + 4095) & ~4095UL);
	if (p)
		memset(p, 0x5a, bytes);
	return p;
}

static void put_host(void *p, int pinned)
{
	if (!pinned)
		free(p);
	else if (p)
		must("cuMemFreeHost", cu.free_host(p));
}

/* The largest buffers come first, so that a full data area appears in one line. */
static void sweep(const char *name, const struct kind *k, size_t largest)
{
	size_t room = largest;

	while (room >= SMALLEST && !(host = get_host(room, k->pinned)))
		room /= 4;
	if (room < largest)
		printf("# %s_%s: no memory of more than %zu bytes\n", name, k->name, room);
	for (size = SMALLEST; size <= room; size *= 4) {
		printf("%s_%s_%zu %.6g GB/s\n", name, k->name, size, measure(k));
		fflush(stdout);
	}
	put_host(host, k->pinned);
}

#define LOAD(member, symbol) do {					\
	cu.member = (typeof(cu.member))dlsym(lib, symbol);		\
	if (!cu.member) {						\
		fprintf(stderr, "libcuda.so.1 has no %s\n", symbol);	\
		exit(1);						\
	}								\
} while (0)

static void load(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	LOAD(init, "cuInit");
	LOAD(retain, "cuDevicePrimaryCtxRetain");
	LOAD(set_current, "cuCtxSetCurrent");
	LOAD(alloc, "cuMemAlloc_v2");
	LOAD(alloc_host, "cuMemAllocHost_v2");
	LOAD(free_host, "cuMemFreeHost");
	LOAD(to_device, "cuMemcpyHtoD_v2");
	LOAD(to_host, "cuMemcpyDtoH_v2");
	LOAD(to_device_async, "cuMemcpyHtoDAsync_v2");
	LOAD(to_host_async, "cuMemcpyDtoHAsync_v2");
	LOAD(stream_create, "cuStreamCreate");
	LOAD(stream_synchronize, "cuStreamSynchronize");
}

int main(int argc, char **argv)
{
	size_t largest = argc > 2 ? strtoull(argv[2], NULL, 0) : LARGEST, i;
	CUcontext ctx;

	if (argc < 2 || largest < SMALLEST) {
		fprintf(stderr, "usage: copy NAME [LARGEST]\n");
		return 2;
	}
	load();
	must("cuInit", cu.init(0));
	must("cuDevicePrimaryCtxRetain", cu.retain(&ctx, 0));
	must("cuCtxSetCurrent", cu.set_current(ctx));
	must("cuMemAlloc", cu.alloc(&device, largest));
	must("cuStreamCreate", cu.stream_create(&stream, CU_STREAM_NON_BLOCKING));
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		sweep(argv[1], &kinds[i], largest);
	return 0;
}
