// SPDX-License-Identifier: Apache-2.0
/*
 * Entry points by name and version. Of the versions of a function, it finds the newest that is
 * not newer than asked for. The table is in entry_points.c.
 */
#include "stubs.h"
#include "entry_points.h"

#include <limits.h>

#define ENTRY_POINTS wh_entry_point_count

/* Returns the index of the first entry of that name, or ENTRY_POINTS. */
static size_t first_of(const char *name)
{
	size_t lo = 0, hi = ENTRY_POINTS, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (strcmp(wh_entry_points[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < ENTRY_POINTS && !strcmp(wh_entry_points[lo].name, name) ? lo : ENTRY_POINTS;
}

/* *known: there is such an entry, of whatever version. */
static void *best(const char *name, int version, int per_thread, bool *known)
{
	size_t i = first_of(name);
	void *found = NULL;

	*known = false;
	for (; i < ENTRY_POINTS && !strcmp(wh_entry_points[i].name, name); i++) {
		if (wh_entry_points[i].per_thread != per_thread)
			continue;
		*known = true;
		if (wh_entry_points[i].version <= version)
			found = wh_entry_points[i].function;
	}
	return found;
}

/*
 * A program of a later CUDA than the driver gets the native answer (tests/softgpu/answers.ref),
 * and asks for less. Before there is a connection, the driver is asked only where that matters.
 */
static bool is_too_new(const char *symbol, int version)
{
	int driver = 0;

	if (version <= CUDA_VERSION || cuDriverGetVersion(&driver) != CUDA_SUCCESS ||
	    version <= driver)
		return false;
	wh_log("cuGetProcAddress: %s of CUDA %d.%d was asked for; the server's driver is of CUDA %d.%d",
	       symbol, version / 1000, version % 1000 / 10, driver / 1000, driver % 1000 / 10);
	return true;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *symbolStatus)
{
	const cuuint64_t all = CU_GET_PROC_ADDRESS_LEGACY_STREAM |
			       CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	void *found = NULL;
	bool known = false;

	if (!symbol || !pfn || (flags & ~all) || is_too_new(symbol, cudaVersion))
		return CUDA_ERROR_INVALID_VALUE;
	if (cudaVersion < 0)	/* negative: the newest that there is */
		cudaVersion = INT_MAX;
	if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		found = best(symbol, cudaVersion, 1, &known);
	/* A function that has a form for such streams is never served by the other one. */
	if (!known)
		found = best(symbol, cudaVersion, 0, &known);
	*pfn = found;
	if (symbolStatus)
		*symbolStatus = found ? CU_GET_PROC_ADDRESS_SUCCESS :
				known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT :
					CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	CUresult res = cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);

	return res != CUDA_SUCCESS || *pfn ? res : CUDA_ERROR_NOT_FOUND;
}
