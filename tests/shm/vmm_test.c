// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises virtual memory management as an allocator that grows in place uses
 * it: addresses first, memory later, one copy over several pieces.
 */
#include "driver_test.h"

static CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
static CUmemAccessDesc both = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
				.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
static size_t page;

static size_t free_now(void)
{
	size_t free, total;

	return cuMemGetInfo(&free, &total) ? 0 : free;
}

static void test_use(void)
{
	CUmemGenericAllocationHandle a, b, again;
	size_t before, size;
	uint8_t *h;
	CUdeviceptr p = 0;
	unsigned long long flags = 0;
	int type = 0;

	ok(cuMemGetAllocationGranularity(&page, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == 0 &&
	   page, "granularity_is_known");
	size = 2 * page;
	h = malloc(size);
	pattern(h, size, 1);
	ok(cuMemAddressReserve(&p, 8 * page, 0, 0, 0) == 0 && p % page == 0, "addresses_are_reserved");
	ok(cuMemcpyHtoD(p, h, 16) != 0, "nothing_is_there_yet");
	before = free_now();
	ok(cuMemCreate(&a, page, &prop, 0) == 0 && cuMemCreate(&b, page, &prop, 0) == 0,
	   "memory_is_made");
	ok(before - free_now() >= size, "it_counts_as_used");
	ok(cuMemMap(p, page, 0, a, 0) == 0 && cuMemMap(p + page, page, 0, b, 0) == 0, "it_is_mapped");
	ok(cuMemcpyHtoD(p, h, 16) != 0, "without_access_no_copy_reaches_it");
	ok_eq(cuMemSetAccess(p, size, &both, 1), 0, "access_is_set");
	ok(cuMemGetAccess(&flags, &both.location, p + page) == 0 &&
	   flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "access_is_known");
	ok_eq(cuMemcpyHtoD(p, h, size), 0, "one_copy_goes_to_both_pieces");
	memset(h, 0, size);
	ok(cuMemcpyDtoH(h, p, size) == 0 && same(h, size, 1), "and_back");
	ok(cuMemcpyHtoD(p + size - 8, h, 16) != 0, "not_beyond_them");
	ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 5) == 0 &&
	   type == CU_MEMORYTYPE_DEVICE, "it_is_device_memory");
	ok(cuMemRetainAllocationHandle(&again, (void *)p) == 0 && cuMemRelease(again) == 0,
	   "handle_is_found_by_address");
	ok(cuMemRelease(a) == 0 && cuMemcpyDtoH(h, p, 16) == 0, "mapping_outlives_the_handle");
	ok(cuMemAddressFree(p, 8 * page) != 0, "addresses_in_use_are_not_freed");
	ok(cuMemUnmap(p, size) == 0 && cuMemcpyDtoH(h, p, 16) != 0, "unmapped_memory_is_gone");
	pattern(h, size, 1);
	ok(cuMemMap(p + 4 * page, page, 0, b, 0) == 0 &&
	   cuMemSetAccess(p + 4 * page, page, &both, 1) == 0 &&
	   cuMemcpyDtoH(h, p + 4 * page, page) == 0 && !memcmp(h, h + page, page),
	   "memory_keeps_its_bytes_at_other_addresses");
	ok(cuMemUnmap(p + 4 * page, page) == 0 && cuMemRelease(b) == 0 && free_now() == before,
	   "all_of_it_comes_back");
	ok_eq(cuMemAddressFree(p, 8 * page), 0, "addresses_are_freed");
	free(h);
}

static void test_bad(void)
{
	CUmemGenericAllocationHandle a;
	CUdeviceptr p;

	ok_eq(cuMemCreate(&a, page + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE, "size_is_round");
	ok_eq(cuMemRelease(0x1234), CUDA_ERROR_INVALID_HANDLE, "foreign_handle_is_refused");
	cuMemAddressReserve(&p, 2 * page, 0, 0, 0);
	cuMemCreate(&a, page, &prop, 0);
	ok(cuMemMap(p + 2 * page, page, 0, a, 0) != 0, "memory_is_mapped_at_reserved_addresses_only");
	ok(cuMemMap(p, page, 0, a, 0) == 0 && cuMemMap(p, page, 0, a, 0) != 0, "one_mapping_at_an_address");
	cuMemUnmap(p, page);
	cuMemRelease(a);
	cuMemAddressFree(p, 2 * page);
}

int main(void)
{
	tap_plan(24);
	begin();
	test_use();
	test_bad();
	return tap_exit();
}
