/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits a device's SMs into groups. The owner of the tenants and the workers both split by this
 * code.
 */
#ifndef WORMHOLE_SM_SPLIT_H
#define WORMHOLE_SM_SPLIT_H

#include <cuda.h>
#include <stdbool.h>

#include "tenant/sm_groups.h"

/* The driver's cuDevSmResourceSplitByCount(). */
typedef CUresult (*wh_sm_splitter)(CUdevResource *result, unsigned int *n,
				   const CUdevResource *in, CUdevResource *rest,
				   unsigned int flags, unsigned int least);

struct wh_sm_parts {
	struct wh_sm_split is;
	CUdevResource group[WH_SM_GROUPS];
};

/*
 * Splits into groups of so many SMs. CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION: the driver makes
 * groups of another size, or more groups than there may be.
 */
CUresult wh_sm_split_by(wh_sm_splitter split, const CUdevResource *all, uint32_t size, bool loose,
			struct wh_sm_parts *p);
/* Splits into the smallest groups that the driver makes, doubled until there are not too many. */
CUresult wh_sm_split_least(wh_sm_splitter split, const CUdevResource *all, bool loose,
			   struct wh_sm_parts *p);

#endif
