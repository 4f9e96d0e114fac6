// SPDX-License-Identifier: Apache-2.0
/*
 * See sm_split.h. The driver decides how small groups can be. It rounds up what it is asked for, so
 * it is asked for one SM (drivers before CUDA 13 have no minSmPartitionSize). On an H100 it answers
 * 8; with IGNORE_SM_COSCHEDULING, which knows no hierarchy of SMs, it answers 2. More SMs remain
 * beside whole groups than a division says: of an H100's 132 SMs, 12 remain beside 15 groups of 8.
 */
#include "limits/sm_split.h"

static unsigned int flags_of(bool loose)
{
	return loose ? CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING : 0;
}

CUresult wh_sm_split_by(wh_sm_splitter split, const CUdevResource *all, uint32_t size, bool loose,
			struct wh_sm_parts *p)
{
	unsigned int n = WH_SM_GROUPS, left;
	CUdevResource rest = { 0 };
	CUresult res;

	*p = (struct wh_sm_parts) { .is.groups = 0 };
	res = split(p->group, &n, all, &rest, flags_of(loose), size);
	if (res != CUDA_SUCCESS)
		return res;
	if (!n || n > WH_SM_GROUPS || p->group[0].sm.smCount != size)
		return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
	left = rest.type == CU_DEV_RESOURCE_TYPE_SM ? rest.sm.smCount : 0;
	p->is = wh_sm_split_of(n, size, left, loose);
	if (p->is.rest)
		p->group[n] = rest;
	return p->is.groups ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

CUresult wh_sm_split_least(wh_sm_splitter split, const CUdevResource *all, bool loose,
			   struct wh_sm_parts *p)
{
	CUdevResource first, rest;
	unsigned int n = 1;
	CUresult res = split(&first, &n, all, &rest, flags_of(loose), 1);
	uint32_t size;

	if (res != CUDA_SUCCESS)
		return res;
	if (!n || !first.sm.smCount)
		return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
	for (size = first.sm.smCount; size <= all->sm.smCount; size *= 2) {
		res = wh_sm_split_by(split, all, size, loose, p);
		if (res != CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION)
			break;
	}
	return res;
}
