// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises how a device's SMs are divided into groups
 * (server/limits/sm_split.h). It runs over drivers that divide as NVIDIA's documentation
 * says for each kind of GPU, and over an H100's driver as measured.
 */
#include "limits/sm_split.h"
#include "tap.h"

#include <string.h>

/*
 * A device: its SMs, the step and the least size of its driver's groups, both ways, and
 * the SMs that are kept apart.
 */
static struct {
	unsigned int sms, step, least, loose, apart;
} gpu;

static CUresult divide(CUdevResource *result, unsigned int *n, const CUdevResource *in,
		       CUdevResource *rest, unsigned int flags, unsigned int least)
{
	const bool loose = flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
	const unsigned int step = loose ? gpu.loose : gpu.step;
	unsigned int i, most, size = (least + step - 1) / step * step;

	if (!loose && size < gpu.least)
		size = gpu.least;
	if (!least || size > in->sm.smCount)
		return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
	most = (in->sm.smCount - (loose ? 0 : gpu.apart)) / size;
	*n = *n < most ? *n : most;
	memset(rest, 0, sizeof(*rest));
	for (i = 0; i < *n; i++)
		result[i] = (CUdevResource) { .type = CU_DEV_RESOURCE_TYPE_SM, .sm.smCount = size };
	if (in->sm.smCount > *n * size)
		*rest = (CUdevResource) { .type = CU_DEV_RESOURCE_TYPE_SM,
					  .sm.smCount = in->sm.smCount - *n * size };
	return CUDA_SUCCESS;
}

static struct wh_sm_parts parts;

static CUdevResource all(void)
{
	return (CUdevResource) { .type = CU_DEV_RESOURCE_TYPE_SM, .sm.smCount = gpu.sms };
}

static bool least(bool loose, uint32_t groups, uint32_t size, uint32_t rest)
{
	const CUdevResource whole = all();
	CUresult res = wh_sm_split_least(divide, &whole, loose, &parts);

	if (!res && parts.is.groups == groups && parts.is.size == size && parts.is.rest == rest &&
	    parts.is.loose == loose)
		return true;
	diag("error %d: %u groups of %u, rest %u", (int)res, parts.is.groups, parts.is.size,
	     parts.is.rest);
	return false;
}

static CUresult by(uint32_t size, bool loose)
{
	const CUdevResource whole = all();

	return wh_sm_split_by(divide, &whole, size, loose, &parts);
}

int main(void)
{
	const CUresult none = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;

	tap_plan(9);
	/* An H100 has sm_90. */
	gpu.sms = 132, gpu.step = gpu.least = 8, gpu.loose = 2, gpu.apart = 12;
	ok(least(false, 16, 8, 12) && parts.group[15].sm.smCount == 12,
	   "the_drivers_own_size_is_what_it_makes_of_one_SM");
	ok(least(true, 33, 4, 0), "the_size_is_doubled_until_64_groups_are_enough");
	ok(!by(6, true) && parts.is.groups == 22, "any_size_that_the_driver_makes_can_be_had");
	ok(by(2, true) == none, "more_than_64_groups_cannot");
	ok(by(12, false) == none && by(4, false) == none, "what_the_driver_rounds_up_cannot");
	ok(by(200, true) == none, "more_SMs_than_there_are_cannot");
	/* An A100 has sm_80. */
	gpu.sms = 108, gpu.step = 2, gpu.least = 4, gpu.apart = 0;
	ok(least(false, 27, 4, 0), "a_device_of_sm_80_has_groups_of_4");
	/* A V100 has sm_70. */
	gpu.sms = 80, gpu.step = gpu.least = 2;
	ok(least(false, 40, 2, 0), "one_of_sm_70_has_groups_of_2");
	gpu.sms = 130;
	ok(least(false, 33, 4, 2) && !parts.is.loose, "unless_that_were_more_than_64");
	return tap_exit();
}
