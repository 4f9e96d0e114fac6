// SPDX-License-Identifier: Apache-2.0
/* The test promises memory and copies: pageable, pinned, unified, two-dimensional; good and bad. */
#include "driver_test.h"

#define BIG	(9 * 1000 * 1000 + 7)	/* several staging buffers, no round number */

static void test_round_trips(void)
{
	static const size_t sizes[] = { 1, 4, 4095, 65536, 1 << 20, (1 << 20) + 1, BIG };
	char name[64];
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i];
		uint8_t *h = malloc(n);
		CUdeviceptr p;
		int good;

		pattern(h, n, i);
		good = cuMemAlloc(&p, n) == 0 && cuMemcpyHtoD(p, h, n) == 0;
		memset(h, 0, n);
		good = good && cuMemcpyDtoH(h, p, n) == 0 && same(h, n, i);
		snprintf(name, sizeof(name), "%zu_pageable_bytes_go_there_and_back", n);
		ok(good && cuMemFree(p) == 0, name);
		free(h);
	}
}

static void test_pinned(void)
{
	uint8_t *h = NULL, *g = NULL;
	unsigned int flags = 0;
	CUdeviceptr p, alias;
	int type = 0;

	cuMemAlloc(&p, BIG);
	ok(cuMemAllocHost((void **)&h, BIG) == 0 && h, "pinned_memory_is_allocated");
	ok(cuMemHostAlloc((void **)&g, BIG, CU_MEMHOSTALLOC_PORTABLE) == 0 && g, "flagged_pinned_memory_is_allocated");
	pattern(h, BIG, 9);
	memset(g, 0, BIG);
	ok(cuMemcpyHtoD(p, h, BIG) == 0 && cuMemcpyDtoH(g, p, BIG) == 0 && same(g, BIG, 9),
	   "pinned_memory_is_copied_from_and_to");
	ok(cuMemHostGetFlags(&flags, h) == 0 && flags & CU_MEMHOSTALLOC_DEVICEMAP, "pinned_memory_has_flags");
	ok(cuMemHostGetDevicePointer(&alias, h, 0) == 0 && alias, "pinned_memory_has_a_device_address");
	ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				 (CUdeviceptr)(h + 5)) == 0 &&
	   type == CU_MEMORYTYPE_HOST, "pinned_memory_is_host_memory");
	ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 5) == 0 &&
	   type == CU_MEMORYTYPE_DEVICE, "device_memory_is_device_memory");
	ok_eq(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&type),
	      CUDA_ERROR_INVALID_VALUE, "pageable_memory_is_unknown");
	ok_eq(cuMemFreeHost(h + 8), CUDA_ERROR_INVALID_VALUE, "inner_pinned_address_is_not_freed");
	ok(cuMemFreeHost(h) == 0 && cuMemFreeHost(h) == CUDA_ERROR_INVALID_VALUE, "pinned_memory_is_freed_once");
	cuMemFreeHost(g);
	ok_eq(cuMemAllocHost((void **)&h, 1ULL << 40), CUDA_ERROR_OUT_OF_MEMORY,
	      "more_pinned_memory_than_there_is_is_out_of_memory");
	cuMemFree(p);
}

static void test_unified(void)
{
	uint8_t a[1000], b[1000];
	CUdeviceptr p, q;

	cuMemAlloc(&p, 1000);
	cuMemAlloc(&q, 1000);
	pattern(a, 1000, 3);
	ok(cuMemcpy(p, (CUdeviceptr)a, 1000) == 0 && cuMemcpy(q, p, 1000) == 0 &&
	   cuMemcpy((CUdeviceptr)b, q, 1000) == 0 && same(b, 1000, 3), "unified_copy_finds_both_sides");
	memset(b, 0, 1000);
	ok(cuMemcpy((CUdeviceptr)b, (CUdeviceptr)a, 1000) == 0 && same(b, 1000, 3),
	   "unified_copy_between_host_buffers_works");
	cuMemFree(p);
	cuMemFree(q);
}

static void test_managed(void)
{
	CUdeviceptr m;
	uint8_t *h, b[256];
	int can[2];

	ok(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL) == 0, "managed_memory_is_allocated");
	h = (uint8_t *)m;
	cuMemsetD8(m, 0x5a, 256);
	cuCtxSynchronize();
	ok(h[0] == 0x5a && h[255] == 0x5a, "host_sees_what_the_device_wrote");
	h[7] = 1;
	ok(cuMemcpyDtoH(b, m, 256) == 0 && b[7] == 1 && b[8] == 0x5a, "device_sees_what_the_host_wrote");
	ok(cuMemFree(m) == 0, "managed_memory_is_freed");
	/*
	 * A program that wants both to change it at the same time is told no, although softgpu
	 * and an H200 could do it.
	 */
	ok(cuDeviceGetAttribute(&can[0], CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0) == 0 &&
	   cuDeviceGetAttribute(&can[1], CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0) == 0 &&
	   !can[0] && !can[1], "host_and_device_at_the_same_time_are_no_attribute");
}

static void test_boxes(void)
{
	enum { W = 100, H = 40, PITCH = 128 };
	uint8_t in[H][W], out[H][PITCH];
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = W,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.WidthInBytes = W, .Height = H,
	};
	size_t pitch;
	CUdeviceptr p;
	int i, bad = 0;

	pattern(in, sizeof(in), 5);
	memset(out, 0xee, sizeof(out));
	ok(cuMemAllocPitch(&p, &pitch, W, H, 4) == 0 && pitch >= W, "pitched_memory_is_allocated");
	c.dstDevice = p;
	c.dstPitch = pitch;
	ok_eq(cuMemcpy2D(&c), 0, "box_is_copied_to_the_device");
	c = (CUDA_MEMCPY2D) {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = p, .srcPitch = pitch,
		.srcXInBytes = 10, .srcY = 5,
		.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = out, .dstPitch = PITCH, .dstY = 2,
		.WidthInBytes = W - 10, .Height = H - 5,
	};
	ok_eq(cuMemcpy2D(&c), 0, "part_of_a_box_is_copied_back");
	for (i = 0; i < H - 5; i++)
		bad += memcmp(&out[i + 2][0], &in[i + 5][10], W - 10) != 0 ||
			out[i + 2][W - 10] != 0xee;
	ok_eq(bad, 0, "box_keeps_its_rows_and_its_margins");
	cuMemFree(p);
}

/* Makes two copies, one through an array and one with pitches, in one call. */
static void test_batch(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { 12, 6, 3, CU_AD_FORMAT_UNSIGNED_INT16, 2, 0 };
	uint8_t in[12 * 4 * 6 * 3], out[5 * 4 * 2], flat[7 * 16];
	CUDA_MEMCPY3D_BATCH_OP op[2] = {
		{ .src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER },
		  .dst = { .type = CU_MEMCPY_OPERAND_TYPE_ARRAY }, .extent = { 12, 6, 3 } },
		{ .src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER },
		  .dst = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER }, .extent = { 10, 7, 1 } },
	};
	CUDA_MEMCPY3D_PEER back = { .srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = out, .srcXInBytes = 3 * 4,
		.srcY = 2, .srcZ = 1, .WidthInBytes = 5 * 4, .Height = 2, .Depth = 1 };
	int i, good = 1;
	CUdeviceptr p;
	CUstream s;
	CUarray a;

	pattern(in, sizeof(in), 6);
	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuMemAlloc(&p, sizeof(flat));
	cuMemsetD8(p, 0xee, sizeof(flat));
	ok_eq(cuArray3DCreate(&a, &d), 0, "array_is_made");
	op[0].src.op.ptr.ptr = (CUdeviceptr)in;
	op[0].dst.op.array.array = a;
	op[1].src.op.ptr.ptr = (CUdeviceptr)in;
	op[1].dst.op.ptr.ptr = p;
	op[1].dst.op.ptr.rowLength = 16;
	ok(cuMemcpy3DBatchAsync(2, op, 0, s) == 0 && cuStreamSynchronize(s) == 0, "batch_of_boxes_is_copied");
	back.srcArray = a;
	back.srcContext = back.dstContext = ctx;
	ok_eq(cuMemcpy3DPeer(&back), 0, "peer_copy_takes_pageable_memory");
	for (i = 0; i < 2; i++)
		good &= !memcmp(out + i * 20, in + ((6 + 2 + i) * 12 + 3) * 4, 20);
	ok(good, "extent_and_offset_count_elements_of_the_array");
	cuMemcpyDtoH(flat, p, sizeof(flat));
	for (i = 0, good = 1; i < 7; i++)
		good &= !memcmp(flat + i * 16, in + i * 10, 10) && flat[i * 16 + 10] == 0xee;
	ok(good, "rows_of_memory_are_as_long_as_said");
	op[1].extent.depth = 0;
	ok_eq(cuMemcpy3DBatchAsync(2, op, 0, s), CUDA_ERROR_INVALID_VALUE, "empty_box_in_a_batch_is_an_error");
	cuArrayDestroy(a);
	cuMemFree(p);
	cuStreamDestroy(s);
}

/* Copies nothing, from and to anywhere: frameworks copy empty arrays like any others. */
static void test_nothing_one(CUdeviceptr p, uint8_t *h, CUstream s, const char *name)
{
	CUdeviceptr u = (CUdeviceptr)h;

	ok(cuMemcpyHtoD(p, h, 0) == 0 && cuMemcpyDtoH(h, p, 0) == 0 && cuMemcpy(p, u, 0) == 0 &&
	   cuMemcpy(u, p, 0) == 0 && cuMemcpy(u, u, 0) == 0 && cuMemcpyDtoD(p, p, 0) == 0 &&
	   cuMemcpyHtoDAsync(p, h, 0, s) == 0 && cuMemcpyDtoHAsync(h, p, 0, s) == 0 &&
	   cuMemcpyAsync(p, u, 0, s) == 0 && cuMemcpyAsync(u, p, 0, s) == 0 &&
	   cuMemcpyAsync(u, u, 0, s) == 0 && cuMemcpyDtoDAsync(p, p, 0, s) == 0 &&
	   cuMemsetD8(p, 1, 0) == 0 && cuMemsetD16(p, 1, 0) == 0 && cuMemsetD32(p, 1, 0) == 0 &&
	   cuMemsetD8Async(p, 1, 0, s) == 0 && cuMemsetD16Async(p, 1, 0, s) == 0 &&
	   cuMemsetD32Async(p, 1, 0, s) == 0, name);
}

static int flat_boxes(const CUDA_MEMCPY2D *c, CUstream s)
{
	return cuMemcpy2D(c) == 0 && cuMemcpy2DUnaligned(c) == 0 && cuMemcpy2DAsync(c, s) == 0;
}

static void test_nothing_in_boxes(CUdeviceptr p, uint8_t *h, CUstream s)
{
	CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = h, .srcPitch = 16,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = p,
			    .dstPitch = 16, .Height = 4 };
	CUDA_MEMCPY3D d = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = p,
			    .srcPitch = 16, .srcHeight = 4, .dstMemoryType = CU_MEMORYTYPE_HOST,
			    .dstHost = h, .dstPitch = 16, .dstHeight = 4, .WidthInBytes = 16,
			    .Height = 4 };
	int good = flat_boxes(&c, s);

	c.srcPitch = c.dstPitch = 0;
	good = good && flat_boxes(&c, s);
	c.WidthInBytes = c.srcPitch = c.dstPitch = 16;
	c.Height = 0;
	ok(good && flat_boxes(&c, s), "box_without_rows_or_columns_is_copied");
	good = cuMemcpy3D(&d) == 0 && cuMemcpy3DAsync(&d, s) == 0;
	d.srcPitch = d.srcHeight = d.dstPitch = d.dstHeight = d.WidthInBytes = 0;
	ok(good && cuMemcpy3D(&d) == 0 && cuMemcpy3DAsync(&d, s) == 0, "box_without_slices_is_copied");
	ok(cuMemsetD2D8(p, 16, 1, 0, 4) == 0 && cuMemsetD2D16(p, 16, 1, 4, 0) == 0 &&
	   cuMemsetD2D32(p, 16, 1, 0, 0) == 0 && cuMemsetD2D8Async(p, 16, 1, 4, 0, s) == 0 &&
	   cuMemsetD2D16Async(p, 16, 1, 0, 4, s) == 0 && cuMemsetD2D32Async(p, 16, 1, 0, 0, s) == 0,
	   "box_without_rows_or_columns_is_filled");
}

static void test_nothing(void)
{
	uint8_t there[16] = { 7 }, *pinned;
	CUdeviceptr p;
	CUstream s;

	cuStreamCreate(&s, 0);
	cuMemAlloc(&p, 64);
	cuMemAllocHost((void **)&pinned, 16);
	test_nothing_one(p, there, s, "no_bytes_of_pageable_memory_are_copied");
	test_nothing_one(p, pinned, s, "no_bytes_of_pinned_memory_are_copied");
	test_nothing_one(p, NULL, s, "no_bytes_of_nowhere_are_copied");
	test_nothing_one(0, there, s, "no_bytes_are_copied_to_an_empty_buffer");
	test_nothing_in_boxes(p, there, s);
	ok(cuStreamSynchronize(s) == 0 && there[0] == 7, "nothing_changes");
	cuMemFreeHost(pinned);
	cuMemFree(p);
	cuStreamDestroy(s);
}

/* Seen natively on an H100. */
static void test_odd_questions(void)
{
	CUpointer_attribute unknown = (CUpointer_attribute)999;
	void *p = &unknown, *data[] = { &p };

	ok(!cuMemHostAlloc(&p, 0, 0) && !p, "no_bytes_of_pinned_memory_are_allocated");
	ok_eq(cuPointerGetAttributes(1, &unknown, data, (CUdeviceptr)&p), CUDA_ERROR_INVALID_VALUE,
	      "an_unknown_attribute_is_refused_for_any_pointer");
}

static void test_bad(void)
{
	CUdeviceptr p;
	uint8_t b[16];

	cuMemAlloc(&p, 4096);
	ok_eq(cuMemcpyHtoD(p, NULL, 16), CUDA_ERROR_INVALID_VALUE, "copy_from_null_is_refused");
	ok(cuMemcpyHtoD(0, b, 16) != 0, "copy_to_null_is_refused");
	ok(cuMemFree(p + 8) != 0, "inner_device_address_is_not_freed");
	cuMemFree(p);
}

int main(void)
{
	tap_plan(48);
	begin();
	test_round_trips();
	test_pinned();
	test_unified();
	test_managed();
	test_boxes();
	test_batch();
	test_nothing();
	test_odd_questions();
	test_bad();
	return tap_exit();
}
