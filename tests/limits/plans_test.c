// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a plan of cuFFT counts for its tenant with all that it takes of
 * the device, and that a plan which is too large is undone. It runs over the mock driver,
 * whose NVML says what the library has taken without the handlers. It also promises that,
 * under a share of time, launched work is looked at while a call of the library waits for
 * the device.
 */
#define _GNU_SOURCE
#include "tenancy.h"
#include "modules.h"

#include <cufft.h>
#include <time.h>

static cufftResult plan(cufftHandle *p, int mib)
{
	return cufftPlan1d(p, mib, CUFFT_C2C, 1);
}

/* The memory is not charged at each call, but it is charged while calls go on. */
static bool charged_in_use(cufftHandle p, uint64_t more)
{
	uint64_t before = charged();
	time_t until = time(NULL) + 5;
	size_t size;

	while (charged() == before && time(NULL) < until)
		if (cufftGetSize(p, &size))
			return false;
	return charged() - before == more;
}

static CUresult launch(CUfunction f)
{
	return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

/* Launches without a marker, which is an event: only launches in a row go without one. */
static bool launch_without_marker(CUfunction f)
{
	uint64_t records;
	int i;

	for (i = 0; i < 10000; i++) {
		records = gpu->records;
		if (launch(f))
			return false;
		if (gpu->records == records)
			return true;
	}
	return false;
}

/* Returns how many markers the library's call has put behind the launch before it. */
static uint64_t markers_before_a_call(cufftHandle p, CUfunction f)
{
	uint64_t records;
	size_t size;

	if (!launch_without_marker(f))
		return ~0ull;
	records = gpu->records;
	return cufftGetSize(p, &size) ? ~0ull : gpu->records - records;
}

static void under_a_share(cufftHandle p)
{
	struct wh_device_limit half = { .memory = 1024 * MIB, .sm_percent = 50,
					.sm_policy = WH_SM_TEMPORAL };
	CUmodule m;
	CUfunction f;

	wh_tenant_limits_set(limits, 0, &half);
	if (cuModuleLoadData(&m, image) || cuModuleGetFunction(&f, m, "run"))
		return;
	ok_eq(markers_before_a_call(p, f), 1, "a_call_that_may_wait_puts_a_marker_behind_a_launch");
}

int main(int argc, char **argv)
{
	char here[512];
	cufftHandle p, q, r;
	uint64_t before, used;
	size_t size;
	int res;

	(void)argc;
	make_tenant(argv[0], "tests/limits/bin/mock/libcuda.so.1");
	snprintf(here, sizeof(here), "%s", argv[0]);
	strcpy(strrchr(here, '/'), "/bin/mock/libcufft.so.12");
	setenv("WORMHOLE_CUFFT", here, 1);
	fresh();
	tap_plan(10);
	set_memory(1024 * MIB);
	if (!start() || cufftCreate(&q)) {
		printf("Bail out! cannot start\n");
		return 1;
	}
	before = charged();
	ok_eq(plan(&p, 100), 0, "plan_within_the_limit_is_made");
	ok_eq(charged() - before, 100 * MIB, "what_it_takes_is_charged");
	used = gpu->used;
	res = plan(&r, 1000);
	ok_eq(res, CUFFT_ALLOC_FAILED, "plan_beyond_the_limit_is_refused");
	ok(charged() - before == 100 * MIB && gpu->used == used, "and_what_it_took_is_given_back");
	res = cufftMakePlan1d(q, 1000, CUFFT_C2C, 1, &size);
	ok(res == CUFFT_ALLOC_FAILED && gpu->used == used, "so_is_one_that_was_created_before");
	ok(!cufftMakePlan1d(q, 50, CUFFT_C2C, 1, &size) && gpu->used == used + 50 * MIB,
	   "which_can_be_made_smaller_then");
	ok(charged_in_use(p, 30 * MIB), "what_a_call_takes_unasked_is_charged_by_those_behind_it");
	ok(!cufftDestroy(p) && !cufftDestroy(q) && gpu->used == used - 100 * MIB,
	   "plans_that_end_give_back_what_they_had");
	ok(!plan(&p, 200) && charged() - before == 200 * MIB, "and_the_charge_follows");
	under_a_share(p);
	remove_tenant();
	return tap_exit();
}
