// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises virtual memory management with memory of the host, as xgboost takes its pinned
 * memory: it grows by the next addresses, or moves its pieces to a larger range, and program and
 * kernels use the same address. With the argument "native" it asks for nothing that only a
 * forwarded program is refused.
 */
#include "driver_test.h"

#include <stdbool.h>

#define PIECES	4
#define WORDS	(page / sizeof(uint32_t))

static const char ptx[] =
".version 8.0\n.target sm_70\n.address_size 64\n"
".visible .entry more(.param .u64 x, .param .u32 n)\n{\n"
".reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n"
"ld.param.u64 %d1, [x];\nld.param.u32 %r1, [n];\n"
"mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.s32 %r5, %r2, %r3, %r4;\n"
"setp.ge.u32 %p1, %r5, %r1;\n@%p1 bra DONE;\n"
"mul.wide.u32 %d2, %r5, 4;\nadd.s64 %d3, %d1, %d2;\n"
"ld.global.u32 %r6, [%d3];\nadd.u32 %r7, %r6, 1;\nst.global.u32 [%d3], %r7;\nDONE:\nret;\n}\n";

static CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA } };
static CUmemAllocationProp of_device = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
static CUmemAccessDesc both[2] = {
	{ { .type = CU_MEM_LOCATION_TYPE_DEVICE }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
	{ { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
};
static size_t page;
static bool native;
static CUfunction more;

/* A vector as xgboost has it: pieces of one page here, in a row. */
static CUmemGenericAllocationHandle piece[PIECES];

static CUdeviceptr reserve(size_t pages, CUdeviceptr hint)
{
	CUdeviceptr p = 0;

	return cuMemAddressReserve(&p, pages * page, 0, hint, 0) ? 0 : p;
}

static CUresult map(CUdeviceptr p, CUmemGenericAllocationHandle h)
{
	CUresult res = cuMemMap(p, page, 0, h, 0);

	return res ? res : cuMemSetAccess(p, page, both, 2);
}

static void fill(CUdeviceptr p, size_t words, uint32_t from)
{
	size_t i;

	for (i = 0; i < words; i++)
		((uint32_t *)p)[i] = from + i;
}

static bool counts(CUdeviceptr p, size_t words, uint32_t from)
{
	size_t i;

	for (i = 0; i < words && ((uint32_t *)p)[i] == from + i; i++)
		;
	return i == words;
}

/* A kernel adds 1 to each word. */
static bool add_one(CUdeviceptr p, unsigned int words)
{
	void *args[] = { &p, &words };

	return !cuLaunchKernel(more, (words + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, args, NULL) &&
	       !cuCtxSynchronize();
}

static bool load(void)
{
	CUmodule m;

	return !cuModuleLoadData(&m, ptx) && !cuModuleGetFunction(&more, m, "more");
}

/* Finds addresses with free ones behind them, so that a hint can be honoured. */
static CUdeviceptr reserve_before_free_ones(size_t pages)
{
	CUdeviceptr all = reserve(4 * pages, 0);

	cuMemAddressFree(all, 4 * pages * page);
	return reserve(pages, all);
}

/* --- Growing ------------------------------------------------------------------------- */

static CUdeviceptr test_next(void)
{
	CUdeviceptr p, q, d;

	ok(cuMemGetAllocationGranularity(&page, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == 0 &&
	   page, "granularity_is_known");
	p = reserve_before_free_ones(1);
	ok(cuMemCreate(&piece[0], page, &prop, 0) == 0, "memory_of_the_host_is_made");
	ok(cuMemMap(p, page, 0, piece[0], 0) == 0 && cuMemSetAccess(p, page, both, 2) == 0,
	   "it_is_mapped_and_access_set");
	ok(counts(p, 1, 0) && ((uint32_t *)p)[WORDS - 1] == 0, "it_begins_as_zeros");
	q = reserve(1, p + page);
	ok(q == p + page && cuMemCreate(&piece[1], page, &prop, 0) == 0 && map(q, piece[1]) == 0,
	   "it_grows_at_the_next_addresses");
	fill(p, 2 * WORDS, 5);
	ok(add_one(p, 2 * WORDS) && counts(p, 2 * WORDS, 6),
	   "one_kernel_and_the_program_use_all_of_it_at_the_same_address");
	cuMemAlloc(&d, 2 * page);
	ok(cuMemcpy(d, p, 2 * page) == 0 && add_one(d, 2 * WORDS) &&
	   cuMemcpyAsync(p, d, 2 * page, NULL) == 0 && cuCtxSynchronize() == 0 &&
	   counts(p, 2 * WORDS, 7), "one_copy_goes_from_all_of_it_and_back");
	ok(cuMemsetD32(p, 9, WORDS) == 0 && cuMemcpyDtoD(q, p, page) == 0 &&
	   cuCtxSynchronize() == 0 && ((uint32_t *)q)[WORDS - 1] == 9,
	   "a_piece_is_set_and_copied_as_the_devices");
	cuMemFree(d);
	return p;
}

static void test_questions(CUdeviceptr p)
{
	CUmemGenericAllocationHandle h = 0;
	CUmemAllocationProp got = { 0 };
	unsigned long long on_device = 0, on_host = 0;
	CUdeviceptr at = 0, host = 0;
	int type = 0, vmm = 0, pools = 1;

	ok(cuMemGetAccess(&on_device, &both[0].location, p + 5) == 0 &&
	   cuMemGetAccess(&on_host, &both[1].location, p + page) == 0 &&
	   on_device == CU_MEM_ACCESS_FLAGS_PROT_READWRITE && on_host == on_device,
	   "access_is_known");
	ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + page + 5) == 0 &&
	   type == CU_MEMORYTYPE_HOST, "it_is_host_memory");
	ok(cuPointerGetAttribute(&at, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p + 5) == 0 &&
	   cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p + 5) == 0 &&
	   at == p + 5 && host == at, "its_address_is_the_same_on_both_sides");
	ok(cuMemRetainAllocationHandle(&h, (void *)(p + page + 9)) == 0 && h == piece[1] &&
	   cuMemRelease(h) == 0, "handle_is_found_by_address");
	ok(cuMemGetAllocationPropertiesFromHandle(&got, piece[0]) == 0 &&
	   got.type == prop.type && got.location.type == prop.location.type,
	   "its_properties_are_known");
	cuDeviceGetAttribute(&vmm,
			     CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0);
	cuDeviceGetAttribute(&pools, CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, 0);
	ok(vmm == 1 && pools == 0, "attributes_say_so");
}

/* The addresses behind are taken, so the pieces move to others. */
static void test_move(CUdeviceptr p)
{
	CUdeviceptr taken = reserve(1, p + 2 * page), other = reserve(1, p + 2 * page), all;
	int type, i;

	fill(p, 2 * WORDS, 100);
	ok(other && other != p + 2 * page, "hint_is_not_honoured_where_addresses_are_taken");
	cuMemAddressFree(other, page);
	all = reserve(PIECES, 0);
	ok(cuMemUnmap(p, 2 * page) == 0, "pieces_of_two_reservations_are_unmapped_at_once");
	ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) != 0,
	   "nothing_is_there_any_more");
	ok(map(all, piece[0]) == 0 && map(all + page, piece[1]) == 0 &&
	   counts(all, 2 * WORDS, 100), "its_bytes_are_at_the_new_addresses");
	for (i = 2; i < PIECES; i++)
		if (cuMemCreate(&piece[i], page, &prop, 0) || map(all + i * page, piece[i]))
			diag("piece %d is not mapped", i);
	fill(all, PIECES * WORDS, 7);
	ok(add_one(all, PIECES * WORDS) && counts(all, PIECES * WORDS, 8), "more_is_put_behind_them");
	ok(cuMemAddressFree(p, page) == 0 && cuMemAddressFree(p + page, page) == 0 &&
	   cuMemAddressFree(taken, page) == 0, "the_old_addresses_are_freed");
	ok(cuMemAddressFree(all, PIECES * page) == CUDA_ERROR_INVALID_VALUE,
	   "addresses_in_use_are_not_freed");
	for (i = 0; i < PIECES; i++)
		cuMemRelease(piece[i]);
	ok(add_one(all, PIECES * WORDS) && counts(all, PIECES * WORDS, 9),
	   "mappings_outlive_the_handles");
	ok(cuMemUnmap(all, PIECES * page) == 0 && cuMemRelease(piece[0]) != 0,
	   "unmapped_without_a_handle_it_is_gone");
	ok(cuMemAddressFree(all, PIECES * page) == 0, "and_its_addresses_are_freed");
}

/* --- Processes, threads, contexts ------------------------------------------------------ */

static void test_fork(CUdeviceptr p)
{
	int status = -1;
	pid_t pid;

	if (native) {
		skip("a_forks_child_has_a_copy", "CUDA promises a child nothing");
		return;
	}
	fill(p, WORDS, 3);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = counts(p, WORDS, 3);
		fill(p, WORDS, 50);
		_exit(!status);
	}
	waitpid(pid, &status, 0);
	ok(status == 0 && counts(p, WORDS, 3), "a_forks_child_has_a_copy");
}

static void test_reset(CUdeviceptr p)
{
	fill(p, WORDS, 20);
	cuDevicePrimaryCtxReset(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	ok(load() && add_one(p, WORDS) && counts(p, WORDS, 21), "it_outlives_its_context");
}

static void *make_and_end(void *arg)
{
	CUmemGenericAllocationHandle h;
	uint32_t seed = (uintptr_t)arg;
	bool good = true;
	CUdeviceptr p;
	int i;

	cuCtxSetCurrent(ctx);
	for (i = 0; i < 20 && good; i++) {
		p = reserve(1, 0);
		good = p && !cuMemCreate(&h, page, &prop, 0) && !map(p, h);
		if (!good)
			break;
		fill(p, 1000, seed);
		good = add_one(p, 1000) && counts(p, 1000, seed + 1) && !cuMemUnmap(p, page) &&
		       !cuMemRelease(h) && !cuMemAddressFree(p, page);
	}
	return good ? arg : NULL;
}

static void test_threads(void)
{
	pthread_t t[4];
	bool good = true;
	void *res;
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, make_and_end, (void *)(1000ul * (i + 1)));
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], &res);
		good &= res != NULL;
	}
	ok(good, "threads_make_and_end_it_at_the_same_time");
}

/* --- Wrong calls ------------------------------------------------------------------------- */

static void test_bad_memory(CUmemGenericAllocationHandle h)
{
	CUmemAllocationProp bad = prop;
	CUmemGenericAllocationHandle none;
	int fd;

	ok_eq(cuMemCreate(&none, page + 4096, &prop, 0), CUDA_ERROR_INVALID_VALUE, "size_is_round");
	bad.location.id = 100000;
	ok_eq(cuMemCreate(&none, page, &bad, 0), CUDA_ERROR_INVALID_VALUE, "the_node_exists");
	ok(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != 0,
	   "it_is_not_exported");
}

static void test_bad_mappings(CUdeviceptr p, CUmemGenericAllocationHandle h)
{
	CUmemAccessDesc foreign = both[0];

	ok_eq(cuMemMap(p + 4 * page, page, 0, h, 0), CUDA_ERROR_INVALID_VALUE,
	      "only_reserved_addresses_are_mapped");
	ok_eq(cuMemMap(p, page, 0, h, 0), CUDA_ERROR_INVALID_VALUE, "one_mapping_at_an_address");
	ok(cuMemUnmap(p, page / 2) == CUDA_ERROR_INVALID_VALUE &&
	   cuMemUnmap(p, 2 * page) == CUDA_ERROR_INVALID_VALUE && counts(p, 1, 20),
	   "whole_mappings_are_unmapped");
	foreign.location.id = 99;
	ok(cuMemSetAccess(p, page, &foreign, 1) == CUDA_ERROR_INVALID_VALUE &&
	   cuMemSetAccess(p, 2 * page, both, 2) == CUDA_ERROR_INVALID_VALUE &&
	   cuMemSetAccess(p, page, both, 0) == CUDA_ERROR_INVALID_VALUE,
	   "access_is_of_a_device_and_to_whole_mappings");
	ok(cuMemHostRegister((void *)p, page, 0) != 0 && cuMemHostUnregister((void *)p) != 0 &&
	   cuMemFreeHost((void *)p) != 0 && cuMemFree(p) != 0 && counts(p, 1, 20),
	   "no_other_function_ends_it");
}

/* What the driver may do and the forwarded program may not. */
static void test_refused(CUdeviceptr p, CUmemGenericAllocationHandle h)
{
	CUmemGenericAllocationHandle other;

	if (native) {
		skip("no_second_mapping_of_a_handle", "the driver has it");
		skip("no_access_only_to_read", "the driver has it");
		skip("no_device_memory_beside_it_in_a_reservation", "the driver has it");
		return;
	}
	ok_eq(cuMemMap(p + page, page, 0, h, 0), CUDA_ERROR_NOT_SUPPORTED,
	      "no_second_mapping_of_a_handle");
	both[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
	ok_eq(cuMemSetAccess(p, page, both, 1), CUDA_ERROR_NOT_SUPPORTED, "no_access_only_to_read");
	both[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	cuMemCreate(&other, page, &of_device, 0);
	ok_eq(cuMemMap(p + page, page, 0, other, 0), CUDA_ERROR_NOT_SUPPORTED,
	      "no_device_memory_beside_it_in_a_reservation");
	cuMemRelease(other);
}

int main(int argc, char **argv)
{
	CUmemGenericAllocationHandle h;
	CUdeviceptr p;

	native = argc > 1 && !strcmp(argv[1], "native");
	tap_plan(40);
	begin();
	ok(load(), "kernel_is_loaded");
	p = test_next();
	test_questions(p);
	test_move(p);
	p = reserve(2, 0);
	cuMemCreate(&h, page, &prop, 0);
	map(p, h);
	test_fork(p);
	test_reset(p);
	fill(p, WORDS, 20);
	test_threads();
	test_bad_memory(h);
	test_bad_mappings(p, h);
	test_refused(p, h);
	cuMemUnmap(p, page);
	cuMemRelease(h);
	ok_eq(cuMemAddressFree(p, 2 * page), 0, "all_of_it_ends");
	return tap_exit();
}
