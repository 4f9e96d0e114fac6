// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that hints on managed memory are read back as cuda.h documents it: page by
 * page, with one answer for a range only if it holds for all of it, and no longer than the memory.
 */
#include <cuda.h>
#include <string.h>

#include "tap.h"

#define PAGE	4096UL
#define SIZE	(8 * PAGE)

static CUdeviceptr m;
static const CUmemLocation gpu = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
static const CUmemLocation cpu = { .type = CU_MEM_LOCATION_TYPE_HOST };
static const CUmemLocation node = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 0 };

/* Returns the answer about a range, or 1000 and the error. */
static int ask(CUmem_range_attribute a, CUdeviceptr p, size_t n)
{
	int answer = 77;
	CUresult res = cuMemRangeGetAttribute(&answer, sizeof(answer), a, p, n);

	return res ? 1000 + (int)res : answer;
}

static int advise(CUmem_advise advice, CUdeviceptr p, size_t n, CUmemLocation place)
{
	return cuMemAdvise(p, n, advice, place);
}

static void test_fresh(void)
{
	ok_eq(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, SIZE), 0, "fresh_memory_is_not_mostly_read");
	ok(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, SIZE) == CU_DEVICE_INVALID &&
	   ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, m, SIZE) ==
	   CU_MEM_LOCATION_TYPE_INVALID, "fresh_memory_prefers_no_place");
	ok(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m, SIZE) == CU_DEVICE_INVALID &&
	   ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, m, SIZE) ==
	   CU_MEM_LOCATION_TYPE_INVALID, "fresh_memory_was_brought_nowhere");
	ok_eq(ask(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, SIZE), CU_DEVICE_INVALID,
	      "fresh_memory_has_no_users");
}

static void test_pages(void)
{
	const CUmem_range_attribute mostly = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;

	advise(CU_MEM_ADVISE_SET_READ_MOSTLY, m + PAGE + 5, PAGE, gpu);
	ok(ask(mostly, m + PAGE, 2 * PAGE) == 1, "advice_is_about_whole_pages");
	ok(ask(mostly, m + PAGE - 1, 2) == 0 && ask(mostly, m + 3 * PAGE - 1, 2) == 0,
	   "a_range_with_a_byte_beside_them_is_not_mostly_read");
	advise(CU_MEM_ADVISE_SET_READ_MOSTLY, m + 4 * PAGE, PAGE, gpu);
	ok_eq(ask(mostly, m + PAGE, 4 * PAGE), 0, "a_range_with_a_gap_is_not_mostly_read");
	advise(CU_MEM_ADVISE_SET_READ_MOSTLY, m + 3 * PAGE, PAGE, gpu);
	ok_eq(ask(mostly, m + PAGE, 4 * PAGE), 1, "a_range_advised_in_parts_is_mostly_read");
	advise(CU_MEM_ADVISE_UNSET_READ_MOSTLY, m + 2 * PAGE, 1, gpu);
	ok(ask(mostly, m + 2 * PAGE, PAGE) == 0 && ask(mostly, m + PAGE, PAGE) == 1 &&
	   ask(mostly, m + 3 * PAGE, 2 * PAGE) == 1, "advice_is_taken_back_in_the_middle");
	advise(CU_MEM_ADVISE_UNSET_READ_MOSTLY, m, SIZE, gpu);
}

static void test_places(void)
{
	const CUmem_range_attribute at = CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;

	advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, m, SIZE, gpu);
	ok(ask(at, m, SIZE) == 0 && ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, m, SIZE) ==
	   CU_MEM_LOCATION_TYPE_DEVICE &&
	   ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, m, SIZE) == 0,
	   "a_device_is_preferred");
	advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, m, 1, cpu);
	ok(ask(at, m, PAGE) == CU_DEVICE_CPU &&
	   ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, m, PAGE) ==
	   CU_MEM_LOCATION_TYPE_HOST, "the_host_is_preferred");
	ok_eq(ask(at, m, SIZE), CU_DEVICE_INVALID, "two_places_are_none");
	advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, m, SIZE, node);
	ok(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, m, SIZE) ==
	   CU_MEM_LOCATION_TYPE_HOST_NUMA &&
	   ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, m, SIZE) == 0,
	   "a_node_of_the_host_is_preferred");
	advise(CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, m, SIZE, gpu);
	ok_eq(ask(at, m, SIZE), CU_DEVICE_INVALID, "no_place_is_preferred_again");
}

static void test_prefetch(void)
{
	const CUmem_range_attribute to = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;

	cuMemPrefetchAsync(m, SIZE, gpu, 0, NULL);
	ok(ask(to, m, SIZE) == 0 && ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID, m,
					SIZE) == 0, "memory_was_brought_to_the_device");
	cuMemPrefetchAsync(m + PAGE, 1, cpu, 0, NULL);
	ok(ask(to, m + PAGE, PAGE) == CU_DEVICE_CPU && ask(to, m, PAGE) == 0 &&
	   ask(to, m, SIZE) == CU_DEVICE_INVALID, "a_page_of_it_was_brought_to_the_host");
}

static void test_users(void)
{
	int list[3] = { 7, 7, 7 };

	advise(CU_MEM_ADVISE_SET_ACCESSED_BY, m, SIZE, gpu);
	ok(cuMemRangeGetAttribute(list, sizeof(list), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m,
				  SIZE) == 0 && list[0] == 0 && list[1] == CU_DEVICE_INVALID &&
	   list[2] == CU_DEVICE_INVALID, "users_are_listed_and_the_rest_is_no_device");
	advise(CU_MEM_ADVISE_UNSET_ACCESSED_BY, m + PAGE, 1, gpu);
	ok_eq(ask(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, SIZE), CU_DEVICE_INVALID,
	      "a_user_of_a_part_is_not_listed");
	advise(CU_MEM_ADVISE_SET_READ_MOSTLY, m, 1, gpu);
	ok_eq(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, SIZE), 0,
	      "a_page_with_another_hint_is_not_mostly_read");
	ok(cuMemRangeGetAttribute(list, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, SIZE) ==
	   CUDA_ERROR_INVALID_VALUE &&
	   cuMemRangeGetAttribute(list, 0, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, SIZE) ==
	   CUDA_ERROR_INVALID_VALUE, "a_list_of_no_whole_numbers_is_refused");
	ok_eq(advise(CU_MEM_ADVISE_SET_ACCESSED_BY, m, SIZE, node), CUDA_ERROR_INVALID_VALUE,
	      "a_node_of_the_host_is_no_user");
}

static void test_several(void)
{
	CUmem_range_attribute which[2] = { CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
					   CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION };
	int mostly = 7, where[2] = { 7, 7 };
	void *data[2] = { &mostly, where };
	size_t sizes[2] = { 4, 4 };

	advise(CU_MEM_ADVISE_SET_READ_MOSTLY, m, SIZE, cpu);
	advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, m, SIZE, cpu);
	ok(cuMemRangeGetAttributes(data, sizes, which, 2, m, SIZE) == 0 && mostly == 1 &&
	   where[0] == CU_DEVICE_CPU && where[1] == 7, "several_questions_have_their_answers");
	sizes[1] = 8;
	ok_eq(cuMemRangeGetAttributes(data, sizes, which, 2, m, SIZE), CUDA_ERROR_INVALID_VALUE,
	      "an_answer_of_a_wrong_size_is_refused");
}

static void test_bad(void)
{
	const CUmem_range_attribute mostly = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
	CUmemLocation no_place = { .type = (CUmemLocationType)77 };
	CUdeviceptr p;

	cuMemAlloc(&p, SIZE);
	ok_eq(ask(mostly, p, SIZE), 1000 + CUDA_ERROR_INVALID_VALUE,
	      "memory_that_is_not_managed_has_no_hints");
	cuMemFree(p);
	ok(ask(mostly, m, SIZE + 1) == 1000 + CUDA_ERROR_INVALID_VALUE &&
	   ask(mostly, m, 0) == 1000 + CUDA_ERROR_INVALID_VALUE,
	   "no_bytes_and_bytes_beyond_it_are_refused");
	ok(ask((CUmem_range_attribute)77, m, SIZE) == 1000 + CUDA_ERROR_INVALID_VALUE,
	   "an_unknown_question_is_refused");
	ok(advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, m, SIZE, no_place) ==
	   CUDA_ERROR_INVALID_VALUE, "an_unknown_kind_of_place_is_refused");
}

/* Memory is allocated again where it was, with no hints. */
static void test_end(void)
{
	CUdeviceptr old = m;

	cuMemFree(m);
	ok(cuMemAllocManaged(&m, SIZE, CU_MEM_ATTACH_GLOBAL) == 0 && m == old &&
	   ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, SIZE) == 0 &&
	   ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m, SIZE) == CU_DEVICE_INVALID,
	   "hints_end_with_the_memory");
}

int main(void)
{
	CUcontext ctx;

	tap_plan(28);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cuMemAllocManaged(&m, SIZE, CU_MEM_ATTACH_GLOBAL))
		return 1;
	test_fresh();
	test_pages();
	test_places();
	test_prefetch();
	test_users();
	test_several();
	test_bad();
	test_end();
	return tap_exit();
}
