// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that plans of several GPUs work on the program's own memory of two devices,
 * that a program reads addresses, sizes and devices of its own in a descriptor, and that nothing in
 * that descriptor is believed. Over loopback it has a tenant: what a descriptor holds is charged on
 * each device until it ends. It runs over a library that writes down what it is told, and whose
 * transforms make numbers three times as large. Where there is one device, it is both.
 */
#include <cufftXt.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_cufft.h"
#include "lib_test.h"
#include "tenant/tenant.h"

#define N	64
#define MIB	(1ULL << 20)

static int two[2];
static CUcontext ctx[2];
static cufftHandle p;
static cudaLibXtDesc *d;
static float numbers[2 * N], back[2 * N];

/* Is each number of the program as many times as large as it was? */
static int times(float factor)
{
	int i;

	for (i = 0; i < 2 * N; i++)
		if (back[i] != factor * numbers[i])
			return 0;
	return 1;
}

static void test_plan(void)
{
	size_t size[3] = { 0, 0, 77 }, again[3] = { 0, 0, 77 };
	int wrong[2] = { two[0], 99 };
	char want[64];

	cufftCreate(&p);
	news();
	ok_eq(cufftXtSetGPUs(p, 2, wrong), CUFFT_INVALID_DEVICE, "device_that_is_none_is_refused");
	ok_eq(cufftXtSetGPUs(p, 0, two), CUFFT_INVALID_VALUE, "so_are_no_devices");
	ok_eq(cufftXtSetGPUs(p, 17, two), CUFFT_INVALID_VALUE, "and_more_than_there_can_be");
	told("", "without_a_word_to_the_library");
	ok_eq(cufftXtSetGPUs(p, 2, two), 0, "a_plan_gets_its_gpus");
	snprintf(want, sizeof(want), "gpus 2 %d %d", two[0], two[1]);
	told(want, "by_the_workers_numbers");
	ok(!cufftMakePlan1d(p, N, CUFFT_C2C, 1, size) && size[0] == FAKE_AREA(N) &&
	   size[1] == size[0] + 1 && size[2] == 77, "making_tells_the_size_of_each_gpus_area");
	ok(!cufftGetSize(p, again) && again[0] == size[0] && again[1] == size[1] && again[2] == 77,
	   "as_asking_does");
	ok_eq(cufftXtSetGPUs(p, 2, two), CUFFT_INVALID_PLAN, "a_made_plan_gets_no_others");
	news();
}

static void test_areas(void)
{
	CUdeviceptr room = device(NULL, 2 * FAKE_AREA(N));
	void *area[2] = { (void *)room, (void *)(room + FAKE_AREA(N) - 1) };
	size_t size = 5, sizes[2];

	ok_eq(cufftXtSetWorkArea(p, area), 0, "each_gpu_gets_a_work_area");
	told("areas 1 1", "from_the_array");
	area[1] = (void *)(room + FAKE_AREA(N));
	ok_eq(cufftXtSetWorkArea(p, area), CUFFT_INVALID_VALUE,
	      "the_last_one_must_be_as_long_as_its_gpu_needs");
	area[1] = (void *)told;
	ok_eq(cufftXtSetWorkArea(p, area), CUFFT_INVALID_VALUE, "and_be_no_memory_of_a_process");
	told("", "or_the_library_does_not_hear_of_them");
	ok(cufftSetWorkArea(p, (void *)room) == CUFFT_NOT_SUPPORTED && !cufftGetSize(p, sizes) &&
	   !*news(), "one_area_for_all_gpus_is_not_supported");
	ok_eq(cufftXtSetWorkAreaPolicy(p, CUFFT_WORKAREA_USER, &size), CUFFT_NOT_SUPPORTED,
	      "limits_of_areas_are_not_supported");
	cuMemFree(room);
}

static void test_descriptor(void)
{
	const cudaXtDesc *x;
	float first[2];

	ok_eq(cufftXtMalloc(p, &d, CUFFT_XT_FORMAT_INPLACE), 0, "memory_on_the_gpus_is_taken");
	told("malloc 2", "in_the_programs_format");
	x = d->descriptor;
	ok(x->nGPUs == 2 && x->GPUs[0] == two[0] && x->GPUs[1] == two[1],
	   "the_descriptor_says_the_programs_devices");
	ok(x->size[0] == N * 4 && x->size[1] == N * 4 && d->subFormat == CUFFT_XT_FORMAT_INPLACE,
	   "their_sizes_and_the_format");
	ok_eq(cufftXtMemcpy(p, d, numbers, CUFFT_COPY_HOST_TO_DEVICE), 0, "numbers_go_there");
	told("memcpy 0", "in_one_call");
	cuMemcpyDtoH(first, (CUdeviceptr)x->data[1], sizeof(first));
	ok(first[0] == numbers[N] && first[1] == numbers[N + 1],
	   "the_programs_own_copies_find_them_at_its_addresses");
	ok(!cufftXtMemcpy(p, back, d, CUFFT_COPY_DEVICE_TO_HOST) && times(1), "numbers_come_back");
	news();
}

static void test_execution(void)
{
	cudaLibXtDesc *other = NULL;

	cufftXtMalloc(p, &other, CUFFT_XT_FORMAT_INPLACE);
	news();
	ok_eq(cufftXtExecDescriptorC2C(p, d, d, CUFFT_FORWARD), 0, "a_transform_runs");
	told("xt_c2c -1", "with_its_direction");
	ok_eq(d->subFormat, CUFFT_XT_FORMAT_INPLACE_SHUFFLED, "the_program_reads_the_new_order");
	ok_eq(cufftXtMemcpy(p, other, d, CUFFT_COPY_DEVICE_TO_DEVICE), 0,
	      "a_copy_between_descriptors_runs");
	told("memcpy 2", "in_the_library");
	ok(!cufftXtMemcpy(p, back, other, CUFFT_COPY_DEVICE_TO_HOST) && times(3),
	   "with_the_transforms_numbers");
	news();
	ok(!cufftXtExecDescriptor(p, d, other, CUFFT_INVERSE) &&
	   !cufftXtExecDescriptorZ2Z(p, d, d, CUFFT_INVERSE) &&
	   !cufftXtExecDescriptorR2C(p, d, d) && !cufftXtExecDescriptorC2R(p, d, d) &&
	   !cufftXtExecDescriptorD2Z(p, d, d) && !cufftXtExecDescriptorZ2D(p, d, d),
	   "so_does_each_kind_of_transform");
	told("xt 1|xt_z2z 1|xt_r2c 0|xt_c2r 0|xt_d2z 0|xt_z2d 0", "by_its_own_function");
	ok_eq(cufftXtExecDescriptorC2C(p, d, d, FAIL), CUFFT_EXEC_FAILED,
	      "a_failure_is_the_programs_to_see");
	cufftXtFree(other);
	news();
}

static void test_changes(void)
{
	cudaLibXtDesc mine = *d;
	void *was = d->descriptor->data[1];

	ok_eq(cufftXtExecDescriptorC2C(p, &mine, d, 1), CUFFT_INVALID_VALUE,
	      "a_descriptor_of_the_programs_own_is_none");
	d->descriptor->data[1] = (void *)told;
	ok_eq(cufftXtExecDescriptorC2C(p, d, d, 1), CUFFT_INVALID_VALUE,
	      "one_that_it_has_changed_runs_nothing");
	ok_eq(cufftXtMemcpy(p, back, d, CUFFT_COPY_DEVICE_TO_HOST), CUFFT_INVALID_VALUE,
	      "and_copies_nothing");
	d->descriptor->data[1] = was;
	told("", "and_the_library_hears_of_none");
	ok(!cufftXtMemcpy(p, back, d, CUFFT_COPY_DEVICE_TO_HOST),
	   "as_it_was_it_is_good_again");
	ok_eq(cufftXtMemcpy(p, d, NULL, CUFFT_COPY_HOST_TO_DEVICE), CUFFT_INVALID_VALUE,
	      "host_memory_has_to_be_there");
	ok_eq(cufftXtMemcpy(p, d, back, CUFFT_COPY_UNDEFINED), CUFFT_INVALID_VALUE,
	      "a_copy_of_no_kind_is_refused");
	news();
}

static void test_refusals(void)
{
	void *routine = (void *)0x1230, *info = NULL;
	long long n[] = { 8 }, embed[] = { 16 };
	cudaLibXtDesc *gaps = NULL;
	size_t size[2];
	cufftHandle q;

	cufftCreate(&q);
	cufftXtSetGPUs(q, 2, two);
	news();
	ok_eq(cufftXtSetCallback(q, &routine, CUFFT_CB_LD_COMPLEX, &info), CUFFT_NOT_SUPPORTED,
	      "callbacks_are_not_supported");
	told("", "on_several_gpus");
	ok_eq(cufftXtMalloc(q, &gaps, CUFFT_XT_FORMAT_INPLACE), CUFFT_INVALID_PLAN,
	      "a_plan_that_is_not_made_has_no_memory");
	cufftMakePlanMany64(q, 1, n, embed, 2, 16, embed, 2, 16, CUFFT_C2C, 2, size);
	ok(!cufftXtMalloc(q, &gaps, CUFFT_XT_FORMAT_INPLACE) &&
	   cufftXtMemcpy(q, back, gaps, CUFFT_COPY_DEVICE_TO_HOST) == CUFFT_NOT_SUPPORTED,
	   "a_layout_with_gaps_is_not_copied_to_host_memory");
	cufftXtFree(gaps);
	cufftDestroy(q);
	cufftCreate(&q);
	cufftSetWorkArea(q, (void *)0x1000);
	cufftXtSetGPUs(q, 2, two);
	cufftMakePlan1d(q, N, CUFFT_C2C, 1, size);
	news();
	ok_eq(cufftXtMalloc(q, &gaps, CUFFT_XT_FORMAT_INPLACE), CUFFT_NOT_SUPPORTED,
	      "an_area_that_a_plan_had_before_its_gpus_is_not_theirs");
	told("", "and_the_library_does_not_hear_of_it");
	cufftDestroy(q);
	cufftCreate(&q);
	cufftXtSetCallback(q, &routine, CUFFT_CB_LD_COMPLEX, &info);
	ok_eq(cufftXtSetGPUs(q, 2, two), CUFFT_INVALID_PLAN, "a_plan_with_callbacks_gets_no_gpus");
	cufftDestroy(q);
	news();
}

static void test_end(void)
{
	ok(!cufftDestroy(p) && !*news(), "a_plan_stays_for_its_descriptors");
	ok_eq(cufftXtExecDescriptorC2C(p, d, d, 1), CUFFT_INVALID_PLAN,
	      "though_the_program_has_it_no_more");
	ok_eq(cufftXtFree(d), 0, "the_memory_ends");
	told("free own|destroy", "and_the_plan_with_it");
	ok_eq(cufftXtFree(d), CUFFT_INVALID_VALUE, "memory_ends_once");
	ok_eq(cufftXtFree(NULL), 0, "nothing_is_nothing_to_free");
}

/* --- A tenant -------------------------------------------------------------- */

static struct wh_tenant_limits *limits;
static struct wh_tenant_usage *usage;

static void *map_new(const char *what, size_t size)
{
	char path[512];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s.%s", getenv("WORMHOLE_TENANT"), what);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, size))
		return NULL;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static void limit(int device, uint64_t memory, uint32_t percent, uint32_t policy)
{
	struct wh_device_limit l = { .memory = memory, .sm_percent = percent, .sm_policy = policy };

	wh_tenant_limits_set(limits, device, &l);
}

static int make_tenant(void)
{
	limits = map_new("limits", sizeof(*limits));
	usage = map_new("usage", sizeof(*usage));
	if (!limits || !usage || wh_tenant_limits_init(limits, "tenant", 7) ||
	    wh_tenant_usage_init(usage, 7))
		return 0;
	limit(0, 48 * MIB, 0, 0);
	limit(1, 48 * MIB, 0, 0);
	return 1;
}

static uint64_t held(int device)
{
	return wh_tenant_memory(usage, device);
}

static void test_charges(void)
{
	uint64_t before[2] = { held(0), held(1) };
	size_t size[2];
	cudaLibXtDesc *x, *more;

	cufftCreate(&p);
	cufftXtSetGPUs(p, 2, two);
	cufftMakePlan1d(p, 4 << 20, CUFFT_C2C, 1, size);
	ok(!cufftXtMalloc(p, &x, CUFFT_XT_FORMAT_INPLACE) && held(0) == before[0] + 16 * MIB &&
	   held(1) == before[1] + 16 * MIB, "memory_is_charged_on_each_device");
	limit(1, 24 * MIB, 0, 0);
	news();
	ok_eq(cufftXtMalloc(p, &more, CUFFT_XT_FORMAT_INPLACE), CUFFT_ALLOC_FAILED,
	      "beyond_the_quota_of_one_device_there_is_none");
	told("malloc 2|free own", "and_the_library_has_it_back");
	ok(held(0) == before[0] + 16 * MIB && held(1) == before[1] + 16 * MIB,
	   "so_nothing_of_it_is_charged");
	ok(!cufftXtFree(x) && held(0) == before[0] && held(1) == before[1],
	   "what_is_freed_is_charged_no_more");
	limit(1, 48 * MIB, 0, 0);
}

static void test_shares(void)
{
	cudaLibXtDesc *x;

	cufftXtMalloc(p, &x, CUFFT_XT_FORMAT_INPLACE);
	limit(1, 48 * MIB, 30, WH_SM_TEMPORAL);
	news();
	ok_eq(cufftXtExecDescriptorC2C(p, x, x, 1), CUFFT_NOT_SUPPORTED,
	      "nothing_runs_on_another_device_with_a_share_of_time");
	limit(1, 48 * MIB, 30, WH_SM_SPATIAL);
	ok_eq(cufftXtExecDescriptorC2C(p, x, x, 1), CUFFT_NOT_SUPPORTED,
	      "nor_where_there_is_a_share_of_sms");
	told("", "and_the_library_hears_nothing");
	limit(1, 48 * MIB, 0, 0);
	limit(0, 48 * MIB, 60, WH_SM_TEMPORAL);
	ok_eq(cufftXtExecDescriptorC2C(p, x, x, 1), 0,
	      "a_share_of_time_of_the_current_device_is_kept");
	limit(0, 48 * MIB, 0, 0);
	cufftXtFree(x);
	cufftDestroy(p);
}

int main(void)
{
	int i, devices = 0, tenant = getenv("WORMHOLE_TENANT") && make_tenant();

	for (i = 0; i < 2 * N; i++)
		numbers[i] = 1 + i;
	cuInit(0);
	cuDeviceGetCount(&devices);
	two[1] = devices > 1;
	for (i = 1; i >= 0; i--) {
		cuDevicePrimaryCtxRetain(&ctx[i], two[i]);
		cuCtxSetCurrent(ctx[i]);
	}
	test_plan();
	test_areas();
	test_descriptor();
	test_execution();
	test_changes();
	test_refusals();
	test_end();
	if (tenant) {
		test_charges();
		test_shares();
	}
	return tap_exit();
}
