// SPDX-License-Identifier: Apache-2.0
/*
 * cuGetProcAddress(): from the base name of a function and a CUDA version to
 * the exported function, through the generated table of all exports.
 */
#include <string.h>

#include "driver.h"

#define STREAM_FLAGS	(CU_GET_PROC_ADDRESS_LEGACY_STREAM | \
			 CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

/* The first row of a name; the table is sorted by name. */
static unsigned int first_row(const char *name)
{
	unsigned int lo = 0, hi = sgpu_nprocs;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (strcmp(sgpu_procs[mid].base, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The newest one of a variant that a version has; NULL when there is none. */
static const struct sgpu_proc *newest(const char *name, int version,
				      int variant, bool *known)
{
	const struct sgpu_proc *best = NULL;

	for (unsigned int i = first_row(name); i < sgpu_nprocs; i++) {
		const struct sgpu_proc *p = &sgpu_procs[i];

		if (strcmp(p->base, name))
			break;
		*known = true;
		if (p->variant == variant && p->version <= version &&
		    (!best || p->version >= best->version))
			best = p;
	}
	return best;
}

CUresult cuGetProcAddress_v2(const char *name, void **fn, int version,
			     cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	const struct sgpu_proc *p = NULL;
	bool known = false;

	if (!name || !*name || !fn || flags & ~(cuuint64_t)STREAM_FLAGS ||
	    flags == STREAM_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		p = newest(name, version, SGPU_PROC_TWIN, &known);
	if (!p)
		p = newest(name, version, SGPU_PROC_PLAIN, &known);
	*fn = p ? p->addr : NULL;
	if (status)
		*status = p ? CU_GET_PROC_ADDRESS_SUCCESS :
			  known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT :
			  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **fn, int version,
			  cuuint64_t flags)
{
	CUresult rc = cuGetProcAddress_v2(name, fn, version, flags, NULL);

	return rc || *fn ? rc : CUDA_ERROR_NOT_FOUND;
}
