// SPDX-License-Identifier: Apache-2.0
/*
 * Promise: what a plan of cuFFT takes of the device counts for its tenant, and a
 * plan that is too much is undone. Over the mock driver, whose NVML says what the
 * library has taken behind the handlers.
 */
#define _GNU_SOURCE
#include "tenancy.h"

#include <cufft.h>
#include <time.h>

static cufftResult plan(cufftHandle *p, int mib)
{
	return cufftPlan1d(p, mib, CUFFT_C2C, 1);
}

/* Not at each call, but while they go on. */
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
	tap_plan(9);
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
	remove_tenant();
	return tap_exit();
}
