// SPDX-License-Identifier: Apache-2.0
/*
 * cuGetProcAddress(): finds an exported function by the base name of a function and a CUDA
 * version, in the generated table of all exports.
 */
#include <string.h>

#include "driver.h"

#define STREAM_FLAGS	(CU_GET_PROC_ADDRESS_LEGACY_STREAM | \
			 CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

/* Returns the first row of a name. The table is sorted by name. */
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

struct answer {
	const struct sgpu_proc *best;
	bool known;
};

/* Finds the newest function of a variant that the CUDA version @version has. */
static struct answer newest(const char *name, int version, int variant)
{
	struct answer a = { 0 };

	for (unsigned int i = first_row(name); i < sgpu_nprocs; i++) {
		const struct sgpu_proc *p = &sgpu_procs[i];

		if (strcmp(p->base, name))
			break;
		if (p->variant != variant)
			continue;
		a.known = true;
		if (p->version <= version &&
		    (!a.best || p->version >= a.best->version))
			a.best = p;
	}
	return a;
}

CUresult cuGetProcAddress_v2(const char *name, void **fn, int version,
			     cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	struct answer a = { 0 };

	if (version < 0)	/* a negative version means the newest one */
		version = SGPU_CUDA_VERSION;
	if (!name || !fn || version > SGPU_CUDA_VERSION ||
	    flags & ~(cuuint64_t)STREAM_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	/* If a function has a twin, only the twin is looked up. */
	if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		a = newest(name, version, SGPU_PROC_TWIN);
	if (!a.known)
		a = newest(name, version, SGPU_PROC_PLAIN);
	*fn = a.best ? a.best->addr : NULL;
	if (status)
		*status = a.best ? CU_GET_PROC_ADDRESS_SUCCESS :
			  a.known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT :
			  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **fn, int version,
			  cuuint64_t flags)
{
	CUresult rc = cuGetProcAddress_v2(name, fn, version, flags, NULL);

	return rc || *fn ? rc : CUDA_ERROR_NOT_FOUND;
}
