// SPDX-License-Identifier: Apache-2.0
/* Handles, parameters and versions of the stand-in for cuSOLVER. */
#include "solver.h"

#include <stdlib.h>

#define OK	CUSOLVER_STATUS_SUCCESS

EXPORT cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *out)
{
	cusolverDnHandle_t h;

	if (!out)
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (!standin_start())
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUSOLVER_STATUS_ALLOC_FAILED;
	h->order = CUSOLVER_DETERMINISTIC_RESULTS;
	h->math = CUSOLVER_DEFAULT_MATH;
	*out = h;
	return OK;
}

EXPORT cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t h)
{
	if (!h)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	free(h);
	return OK;
}

#define MODE(Name, type, member, good) \
EXPORT cusolverStatus_t cusolverDnSet##Name(cusolverDnHandle_t h, type v) \
{ \
	if (!h) \
		return CUSOLVER_STATUS_NOT_INITIALIZED; \
	if (!(good)) \
		return CUSOLVER_STATUS_INVALID_VALUE; \
	h->member = (__typeof__(h->member))v; \
	return OK; \
} \
EXPORT cusolverStatus_t cusolverDnGet##Name(cusolverDnHandle_t h, type *v) \
{ \
	if (!h) \
		return CUSOLVER_STATUS_NOT_INITIALIZED; \
	if (!v) \
		return CUSOLVER_STATUS_INVALID_VALUE; \
	*v = (type)h->member; \
	return OK; \
}

MODE(Stream, cudaStream_t, stream, true)
/* Results are the same each time, which either mode allows, and have the type's precision. */
MODE(DeterministicMode, cusolverDeterministicMode_t, order,
     v == CUSOLVER_DETERMINISTIC_RESULTS || v == CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS)
MODE(MathMode, cusolverMathMode_t, math,
     v == CUSOLVER_DEFAULT_MATH || v == CUSOLVER_FP32_EMULATED_BF16X9_MATH)

/* --- Parameters: the only algorithm is right for each of them ------------------------- */

struct cusolverDnParams {
	int unused;
};

#define JACOBI_INFO { double tolerance; int sweeps, sort; }
struct syevjInfo JACOBI_INFO;
struct gesvdjInfo JACOBI_INFO;

#define OBJECT(Name, type) \
EXPORT cusolverStatus_t cusolverDnCreate##Name(type *p) \
{ \
	if (!p) \
		return CUSOLVER_STATUS_INVALID_VALUE; \
	*p = calloc(1, sizeof(**p)); \
	return *p ? OK : CUSOLVER_STATUS_ALLOC_FAILED; \
} \
EXPORT cusolverStatus_t cusolverDnDestroy##Name(type p) \
{ \
	if (!p) \
		return CUSOLVER_STATUS_INVALID_VALUE; \
	free(p); \
	return OK; \
}

OBJECT(Params, cusolverDnParams_t)
OBJECT(SyevjInfo, syevjInfo_t)
OBJECT(GesvdjInfo, gesvdjInfo_t)

EXPORT cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t p, cusolverDnFunction_t function,
						cusolverAlgMode_t algorithm)
{
	(void)function;
	return p && (unsigned int)algorithm <= CUSOLVER_ALG_2 ? OK : CUSOLVER_STATUS_INVALID_VALUE;
}

/* The rotations end at the type's own precision, whatever the tolerance and the sweeps are. */
#define JACOBI(name, type) \
EXPORT cusolverStatus_t cusolverDnX##name##SetTolerance(type p, double v) \
{ \
	if (!p) \
		return CUSOLVER_STATUS_INVALID_VALUE; \
	p->tolerance = v; \
	return OK; \
} \
EXPORT cusolverStatus_t cusolverDnX##name##SetMaxSweeps(type p, int v) \
{ \
	if (!p || v < 0) \
		return CUSOLVER_STATUS_INVALID_VALUE; \
	p->sweeps = v; \
	return OK; \
} \
EXPORT cusolverStatus_t cusolverDnX##name##SetSortEig(type p, int v) \
{ \
	if (!p) \
		return CUSOLVER_STATUS_INVALID_VALUE; \
	p->sort = v; \
	return OK; \
}

JACOBI(syevj, syevjInfo_t)
JACOBI(gesvdj, gesvdjInfo_t)

/* --- Versions ------------------------------------------------------------------------- */

EXPORT cusolverStatus_t cusolverGetVersion(int *version)
{
	if (!version)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*version = CUSOLVER_VERSION;
	return OK;
}

EXPORT cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value)
{
	static const int version[] = { CUSOLVER_VER_MAJOR, CUSOLVER_VER_MINOR, CUSOLVER_VER_PATCH };

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*value = version[type];
	return OK;
}
