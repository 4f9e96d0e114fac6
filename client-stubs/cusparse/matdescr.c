// SPDX-License-Identifier: Apache-2.0
/*
 * Matrix descriptors: four numbers, which the client keeps and sends with each call. None of
 * these functions makes a call.
 */
#include "cusparse_stub.h"
#include "matdescr.h"

static struct wh_handles descriptors = WH_HANDLES(struct cusparseMatDescr);
WH_IN_CHILD(pthread_mutex_init(&descriptors.lock, NULL))

static bool alive(cusparseMatDescr_t d)
{
	return d && d->h.alive == WH_MATDESCR_ALIVE;
}

bool wh_pack_cusparseMatDescr_t(cusparseMatDescr_t d, struct wh_obj_cusparseMatDescr_t *out)
{
	return wh_matdescr_pack(d, out);
}

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *descrA)
{
	cusparseMatDescr_t d;

	if (!descrA)
		return CUSPARSE_STATUS_INVALID_VALUE;
	d = wh_handle_take(&descriptors);
	if (!d)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	/* All other members begin as 0: a general matrix, its base, lower part and diagonal. */
	d->o.there = 1;
	d->h.alive = WH_MATDESCR_ALIVE;
	*descrA = d;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descrA)
{
	if (!descrA)
		return CUSPARSE_STATUS_SUCCESS;
	if (!alive(descrA))
		return CUSPARSE_STATUS_INVALID_VALUE;
	wh_handle_put(&descriptors, &descrA->h);
	return CUSPARSE_STATUS_SUCCESS;
}

#define FIELD(name)	offsetof(struct wh_obj_cusparseMatDescr_t, name)

/* `field` is the offset in the struct that is sent. */
static cusparseStatus_t set(cusparseMatDescr_t d, size_t field, uint32_t value, uint32_t values)
{
	if (!alive(d))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (value >= values)
		return CUSPARSE_STATUS_INVALID_VALUE;
	memcpy((uint8_t *)&d->o + field, &value, sizeof(value));
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t descrA, cusparseMatrixType_t type)
{
	return set(descrA, FIELD(type), type, WH_CUSPARSE_TYPES);
}

cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t descrA, cusparseFillMode_t fillMode)
{
	return set(descrA, FIELD(fill), fillMode, WH_CUSPARSE_FILLS);
}

cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t descrA, cusparseDiagType_t diagType)
{
	return set(descrA, FIELD(diag), diagType, WH_CUSPARSE_DIAGS);
}

cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t descrA, cusparseIndexBase_t base)
{
	return set(descrA, FIELD(base), base, WH_CUSPARSE_BASES);
}

cusparseMatrixType_t cusparseGetMatType(const cusparseMatDescr_t descrA)
{
	return alive(descrA) ? (cusparseMatrixType_t)descrA->o.type : 0;
}

cusparseFillMode_t cusparseGetMatFillMode(const cusparseMatDescr_t descrA)
{
	return alive(descrA) ? (cusparseFillMode_t)descrA->o.fill : 0;
}

cusparseDiagType_t cusparseGetMatDiagType(const cusparseMatDescr_t descrA)
{
	return alive(descrA) ? (cusparseDiagType_t)descrA->o.diag : 0;
}

cusparseIndexBase_t cusparseGetMatIndexBase(const cusparseMatDescr_t descrA)
{
	return alive(descrA) ? (cusparseIndexBase_t)descrA->o.base : 0;
}
