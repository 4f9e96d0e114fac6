// SPDX-License-Identifier: Apache-2.0
/*
 * A program for the test of memory that overcommit moves. It does what its words say, in order.
 *   look         allocates, asks and frees in all ways, and prints each answer: no address is in it
 *   fill=MIB     allocates so much in parts of 3 MiB and a bit, and gives each word a value
 *   check        prints "good" if all of it has these values, and adds one to each
 *   small=MIB    allocates so much in parts of 1 MiB
 *   capture      begins to capture a stream; `captured' ends that, and runs what was captured
 *   exports=N    allocates, exports and frees 16 MiB, N times
 *   export=FILE  writes the handle of the first part; open=FILE opens one and prints a word of it,
 *                twice, writes it and closes it
 *   context      makes a context with 8 MiB of memory, and ends it
 *   ready, line, wait  as tests/tenant/client.c does
 */
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "start.h"

#define M		(1ull << 20)
#define PART		(3 * M + 5 * 4096 + 4)
#define PARTS		64

static CUdeviceptr part[PARTS];
static unsigned int parts, rounds;
static CUstream stream;
static CUgraph graph;
static uint32_t words[PART / 4];

static void say(const char *what, CUresult res)
{
	const char *name = "ok";

	if (res != CUDA_SUCCESS)
		cuGetErrorName(res, &name);
	printf("%s %s\n", what, name);
	fflush(stdout);
}

static void must(const char *what, CUresult res)
{
	if (res == CUDA_SUCCESS)
		return;
	say(what, res);
	exit(1);
}
#define MUST(call) must(#call, call)

/* --- What is seen of an allocation ------------------------------------------------------ */

static void look_at_range(CUdeviceptr p, CUdeviceptr at)
{
	CUdeviceptr base = 0;
	size_t size = 0;
	CUresult res = cuMemGetAddressRange(&base, &size, at);

	printf("range %d %lld %zu\n", res, (long long)(p - base), size);
}

static void look_at_attributes(CUdeviceptr p, CUcontext ctx)
{
	CUdeviceptr start = 0, device = 0;
	CUcontext of = NULL;
	unsigned int type = 0, legacy = 0, managed = 0, mapped = 0;
	unsigned long long handles = 0;
	int ordinal = -1;
	size_t size = 0;
	void *host;

	MUST(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, p + 8));
	MUST(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 8));
	MUST(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p + 8));
	MUST(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 8));
	MUST(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p + 8));
	MUST(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p + 8));
	MUST(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p + 8));
	MUST(cuPointerGetAttribute(&legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
				   p + 8));
	MUST(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, p + 8));
	MUST(cuPointerGetAttribute(&handles, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, p + 8));
	printf("attributes %d %u %d %d %zu %u %d %u %u %llu %d\n", of == ctx, type, device == p + 8,
	       start == p, size, managed & 1, ordinal, legacy & 1, mapped & 1, handles,
	       cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p));
}

/* Buffers have numbers of their own. */
static void look_at_numbers(CUdeviceptr p, CUdeviceptr q)
{
	unsigned long long a = 0, again = 0, b = 0;

	MUST(cuPointerGetAttribute(&a, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
	MUST(cuPointerGetAttribute(&again, CU_POINTER_ATTRIBUTE_BUFFER_ID, p + 16));
	MUST(cuPointerGetAttribute(&b, CU_POINTER_ATTRIBUTE_BUFFER_ID, q));
	printf("numbers %d %d\n", a == again, a != b);
}

/* Nobody manages such memory as if it were a mapping of the program's own. */
static void look_at_mapping(CUdeviceptr p)
{
	CUmemAccessDesc none = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemGenericAllocationHandle handle;
	unsigned long long flags;

	printf("unmap %d\n", cuMemUnmap(p, 4 * M));
	printf("access %d\n", cuMemSetAccess(p, 4 * M, &none, 1));
	printf("ask %d\n", cuMemGetAccess(&flags, &none.location, p));
	printf("retain %d\n", cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)p));
	printf("reservation %d\n", cuMemAddressFree(p, 4 * M));
}

static void look(void)
{
	CUdeviceptr p, q, pitched, gone;
	size_t pitch = 0;
	uint32_t word = 0;
	CUcontext ctx;

	MUST(cuCtxGetCurrent(&ctx));
	MUST(cuMemAlloc(&p, PART));
	MUST(cuMemAlloc(&q, 2 * M));
	MUST(cuMemAllocPitch(&pitched, &pitch, 1000, 4096, 16));
	printf("aligned %d pitch %zu\n", !(p % 512) && !(q % 512) && !(pitched % 512), pitch);
	look_at_range(p, p);
	look_at_range(p, p + PART - 1);
	look_at_range(pitched, pitched + 5);
	look_at_attributes(p, ctx);
	look_at_numbers(p, q);
	look_at_mapping(p);
	MUST(cuMemsetD2D32(pitched, pitch, 7, 250, 4096));
	MUST(cuMemcpyDtoH(&word, pitched + 4095 * pitch + 996, 4));
	printf("word %u\n", word);
	printf("beyond %d\n", cuMemsetD8(p + PART - 4, 0, 8));
	printf("inside %d\n", cuMemFree(p + 512));
	printf("none %d\n", cuMemAlloc(&gone, 0));
	printf("all %d\n", cuMemAlloc(&gone, 1ull << 50));
	printf("free %d\n", cuMemFree(p));
	printf("twice %d\n", cuMemFree(p));
	printf("pitched %d\n", cuMemFree(pitched));
	printf("copy %d\n", cuMemcpyDtoH(&word, p, 4));
	MUST(cuMemAlloc(&p, PART));
	printf("again %d\n", cuMemFree(p));
	printf("second %d\n", cuMemFree(q));
}

/* --- Values ------------------------------------------------------------------------------- */

static uint32_t value(unsigned int n, size_t i)
{
	return (n * 0x9e3779b9u) ^ (uint32_t)i * 2654435761u;
}

static void fill(unsigned long long mib)
{
	size_t i;

	for (parts = 0; (parts + 1) * PART <= mib * M && parts < PARTS; parts++) {
		for (i = 0; i < PART / 4; i++)
			words[i] = value(parts, i);
		MUST(cuMemAlloc(&part[parts], PART));
		MUST(cuMemcpyHtoD(part[parts], words, PART));
	}
	say("fill", CUDA_SUCCESS);
}

static void check(void)
{
	bool good = parts;
	unsigned int n;
	size_t i;

	for (n = 0; n < parts; n++) {
		MUST(cuMemcpyDtoH(words, part[n], PART));
		for (i = 0; i < PART / 4; i++)
			good &= words[i]++ == value(n, i) + rounds;
		MUST(cuMemcpyHtoD(part[n], words, PART));
	}
	rounds++;
	puts(good ? "good" : "bad");
	fflush(stdout);
}

static void take_small(unsigned long long mib)
{
	CUdeviceptr p;

	while (mib--)
		MUST(cuMemAlloc(&p, M));
	say("small", CUDA_SUCCESS);
}

static void capture(bool begins)
{
	CUgraphExec exec;

	if (begins) {
		MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		MUST(cuMemsetD32Async(part[0], value(0, 0) + rounds, 1, stream));
		say("capture", CUDA_SUCCESS);
		return;
	}
	MUST(cuStreamEndCapture(stream, &graph));
	MUST(cuGraphInstantiate(&exec, graph, 0));
	MUST(cuGraphLaunch(exec, stream));
	say("captured", cuStreamSynchronize(stream));
}

/* --- Other processes ---------------------------------------------------------------------- */

static void export(const char *file)
{
	CUipcMemHandle h, again;
	CUresult res = cuIpcGetMemHandle(&h, part[0] + 64);
	FILE *f = fopen(file, "w");

	if (res == CUDA_SUCCESS)
		res = cuIpcGetMemHandle(&again, part[0]);
	if (res == CUDA_SUCCESS && memcmp(&h, &again, sizeof(h)))
		res = CUDA_ERROR_INVALID_HANDLE;
	if (!f || fwrite(&h, sizeof(h), 1, f) != 1 || fclose(f))
		exit(1);
	say("export", res);
}

/* Each allocation is gone before the next one is made. */
static void exports(int n)
{
	CUresult res = CUDA_SUCCESS;
	CUipcMemHandle h;
	CUdeviceptr p;

	while (n-- && res == CUDA_SUCCESS) {
		res = cuMemAlloc(&p, 16u << 20);
		if (res == CUDA_SUCCESS)
			res = cuIpcGetMemHandle(&h, p);
		if (res == CUDA_SUCCESS)
			res = cuMemFree(p);
	}
	say("exports", res);
}

static void open_handle(const char *file)
{
	CUdeviceptr p, second;
	CUipcMemHandle h;
	uint32_t word = 0, one = 1;
	CUresult res;
	FILE *f = fopen(file, "r");

	if (!f || fread(&h, sizeof(h), 1, f) != 1 || fclose(f))
		exit(1);
	res = cuIpcOpenMemHandle(&p, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	if (res != CUDA_SUCCESS) {
		say("open", res);
		return;
	}
	MUST(cuMemcpyDtoH(&word, p + 4, 4));
	MUST(cuIpcOpenMemHandle(&second, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	MUST(cuIpcCloseMemHandle(second));
	/* It is still open. */
	MUST(cuMemcpyHtoD(p + 4, &one, 4));
	printf("open %d %d %d", word == value(0, 1), p == second, cuMemFree(p));
	printf(" %d", cuIpcCloseMemHandle(p));
	printf(" %d\n", cuIpcCloseMemHandle(p));
	fflush(stdout);
}

static void context(void)
{
	CUcontext own, other;
	CUdeviceptr p;

	MUST(cuCtxGetCurrent(&own));
	MUST(cuCtxCreate(&other, NULL, 0, 0));
	MUST(cuMemAlloc(&p, 8 * M));
	MUST(cuCtxDestroy(other));
	MUST(cuCtxSetCurrent(own));
	printf("context %d\n", cuMemFree(p));
	fflush(stdout);
}

/* --- Words ----------------------------------------------------------------------------------- */

static void await(bool line)
{
	char c;

	while (read(0, &c, 1) > 0 && !(line && c == '\n'))
		;
}

static void act(const char *word)
{
	const char *text = strchr(word, '=');
	unsigned long long n = text ? strtoull(text + 1, NULL, 0) : 0;

	if (!strcmp(word, "look"))
		look();
	else if (!strncmp(word, "fill=", 5))
		fill(n);
	else if (!strcmp(word, "check"))
		check();
	else if (!strncmp(word, "small=", 6))
		take_small(n);
	else if (!strcmp(word, "capture") || !strcmp(word, "captured"))
		capture(!strcmp(word, "capture"));
	else if (!strncmp(word, "export=", 7))
		export(text + 1);
	else if (!strncmp(word, "exports=", 8))
		exports((int)n);
	else if (!strncmp(word, "open=", 5))
		open_handle(text + 1);
	else if (!strcmp(word, "context"))
		context();
	else if (!strcmp(word, "line") || !strcmp(word, "wait"))
		await(!strcmp(word, "line"));
	else if (!strcmp(word, "ready"))
		puts("ready");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int i;

	alarm(300);
	must("cuInit", start_context());
	for (i = 1; i < argc; i++)
		act(argv[i]);
	return 0;
}
