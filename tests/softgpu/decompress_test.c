// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that batches of LZ4 and Snappy are decompressed in device memory, and that an
 * operation outside of the program's memory, or of corrupt bytes, is refused. A GPU that cannot
 * do it skips.
 */
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

/* "abcdabcdabcd": four bytes, and eight that repeat them. */
static const unsigned char snappy[] = { 12, 3 << 2, 'a', 'b', 'c', 'd', 7 << 2 | 2, 4, 0 };
/* The same, and "vwxyz", since an LZ4 block ends with five bytes at least. */
static const unsigned char lz4[] = {
	0x44, 'a', 'b', 'c', 'd', 4, 0, 0x50, 'v', 'w', 'x', 'y', 'z',
};

static CUdeviceptr mem;

static CUmemDecompressParams op(CUmemDecompressAlgorithm algo, size_t bytes, unsigned int from,
				unsigned int to)
{
	return (CUmemDecompressParams){
		.srcNumBytes = bytes, .dstNumBytes = 64, .algo = algo,
		.src = (void *)(uintptr_t)(mem + from), .dst = (void *)(uintptr_t)(mem + to),
		.dstActBytes = (void *)(uintptr_t)(mem + to + 64),
	};
}

static bool has(unsigned int at, const char *text)
{
	char got[68] = "";
	uint32_t n;

	cuMemcpyDtoH(got, mem + at, sizeof(got));
	memcpy(&n, got + 64, sizeof(n));
	return n == strlen(text) && !memcmp(got, text, n);
}

static CUresult run(CUmemDecompressParams *p, size_t n)
{
	size_t bad = 0;
	CUresult res = cuMemBatchDecompressAsync(p, n, 0, &bad, NULL);

	return res ? res : cuStreamSynchronize(NULL);
}

static void good(void)
{
	CUmemDecompressParams p[2];

	p[0] = op(CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY, sizeof(snappy), 0, 1024);
	p[1] = op(CU_MEM_DECOMPRESS_ALGORITHM_LZ4, sizeof(lz4), 128, 2048);
	ok_eq(run(p, 2), 0, "a_batch_is_decompressed");
	ok(has(1024, "abcdabcdabcd"), "snappy_has_its_bytes_and_their_number");
	ok(has(2048, "abcdabcdabcdvwxyz"), "lz4_has_its_bytes_and_their_number");
}

static void wrong(void)
{
	CUmemDecompressParams p, q;
	size_t bad = 0;
	int local = 0;

	p = op(CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY, sizeof(snappy), 0, 1024);
	q = p;
	q.src = &local;
	ok(run(&q, 1) == CUDA_ERROR_INVALID_VALUE, "a_source_that_is_no_device_memory_is_refused");
	q = p;
	q.dst = &local;
	ok(run(&q, 1) == CUDA_ERROR_INVALID_VALUE, "so_is_a_destination");
	q = p;
	q.dstActBytes = (void *)&local;
	ok(run(&q, 1) == CUDA_ERROR_INVALID_VALUE, "and_where_the_number_goes");
	q = p;
	q.srcNumBytes = 1u << 20;
	ok(run(&q, 1) == CUDA_ERROR_INVALID_VALUE, "a_source_beyond_its_memory_is_refused");
	ok(cuMemBatchDecompressAsync(&p, 1, 1, &bad, NULL) == CUDA_ERROR_INVALID_VALUE,
	   "unknown_flags_are_refused");
	cuMemsetD8(mem + 6, 0x01, 1);
	cuMemsetD8(mem + 7, 0xff, 1);
	ok(run(&p, 1) == CUDA_ERROR_INVALID_VALUE, "a_copy_from_before_the_beginning_is_refused");
}

int main(void)
{
	int can = 0, both = CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY | CU_MEM_DECOMPRESS_ALGORITHM_LZ4;
	CUcontext ctx;

	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK, 0);
	if ((can & both) != both) {
		printf("TAP version 13\n1..0 # SKIP the device does not decompress\n");
		return 0;
	}
	tap_plan(9);
	cuMemAlloc(&mem, 4096);
	cuMemcpyHtoD(mem, snappy, sizeof(snappy));
	cuMemcpyHtoD(mem + 128, lz4, sizeof(lz4));
	good();
	wrong();
	return tap_exit();
}
