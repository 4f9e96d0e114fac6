// SPDX-License-Identifier: Apache-2.0
/*
 * Calls read arrays and numbers of the program's memory, and an object of the worker says their
 * size: a tensor descriptor the number of modes, a plan the bytes of a scaling factor. Both are
 * known when the object is made, and are kept here until it ends.
 */
#include "cutensor_stub.h"

#include <pthread.h>
#include <stdlib.h>

#define CHAINS	256

struct size {
	struct size *next;
	uint64_t id;
	uint32_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
WH_IN_CHILD(pthread_mutex_init(&lock, NULL))
static struct size *chain[CHAINS];

static struct size **place(uint64_t id)
{
	struct size **p = &chain[(id ^ id >> 8) % CHAINS];

	while (*p && (*p)->id != id)
		p = &(*p)->next;
	return p;
}

static bool remember(const void *object, uint32_t size)
{
	struct size *new = malloc(sizeof(*new)), **p;

	if (!new)
		return false;
	pthread_mutex_lock(&lock);
	p = place((uintptr_t)object);
	*new = (struct size){ .next = *p, .id = (uintptr_t)object, .size = size };
	*p = new;
	pthread_mutex_unlock(&lock);
	return true;
}

/* Returns 0 for an object that is not ours: the worker refuses it. */
static uint32_t size_of(const void *object)
{
	struct size *found;
	uint32_t size;

	pthread_mutex_lock(&lock);
	found = *place((uintptr_t)object);
	size = found ? found->size : 0;
	pthread_mutex_unlock(&lock);
	return size;
}

static void forget(const void *object)
{
	struct size **p, *old;

	pthread_mutex_lock(&lock);
	p = place((uintptr_t)object);
	old = *p;
	if (old)
		*p = old->next;
	pthread_mutex_unlock(&lock);
	free(old);
}

/* --- Tensors ------------------------------------------------------------------------- */

wh_cutensor_modes_t wh_cutensor_modes(const int32_t *modes, cutensorTensorDescriptor_t desc)
{
	wh_cutensor_modes_t v = { { 0 } };

	if (modes)
		memcpy(v.mode, modes, size_of(desc) * sizeof(*modes));
	return v;
}

cutensorStatus_t cutensorCreateTensorDescriptor(const cutensorHandle_t handle,
						cutensorTensorDescriptor_t *desc,
						const uint32_t numModes, const int64_t extent[],
						const int64_t stride[], cudaDataType_t dataType,
						uint32_t alignmentRequirement)
{
	cutensorStatus_t res;

	if (numModes > WH_CUTENSOR_MODES)
		return CUTENSOR_STATUS_NOT_SUPPORTED;
	if (!desc || (numModes && !extent))
		return CUTENSOR_STATUS_INVALID_VALUE;
	res = wh_raw_cutensorCreateTensorDescriptor(handle, desc, numModes, extent, stride,
						    dataType, alignmentRequirement);
	if (res != CUTENSOR_STATUS_SUCCESS || remember(*desc, numModes))
		return res;
	wh_raw_cutensorDestroyTensorDescriptor(*desc);
	return CUTENSOR_STATUS_ALLOC_FAILED;
}

cutensorStatus_t cutensorDestroyTensorDescriptor(cutensorTensorDescriptor_t desc)
{
	cutensorStatus_t res = wh_raw_cutensorDestroyTensorDescriptor(desc);

	if (res == CUTENSOR_STATUS_SUCCESS)
		forget(desc);
	return res;
}

/* --- Plans --------------------------------------------------------------------------- */

wh_cutensor_scale_t wh_cutensor_scale(const void *factor, cutensorPlan_t plan)
{
	wh_cutensor_scale_t v = { { 0 } };

	if (factor)
		memcpy(&v, factor, size_of(plan));
	return v;
}

cutensorStatus_t cutensorCreatePlan(const cutensorHandle_t handle, cutensorPlan_t *plan,
				    const cutensorOperationDescriptor_t desc,
				    const cutensorPlanPreference_t pref,
				    uint64_t workspaceSizeLimit)
{
	cudaDataType_t type = CUDA_R_32F;
	cutensorStatus_t res;

	if (!plan)
		return CUTENSOR_STATUS_INVALID_VALUE;
	res = cutensorOperationDescriptorGetAttribute(handle, desc,
						      CUTENSOR_OPERATION_DESCRIPTOR_SCALAR_TYPE,
						      &type, sizeof(type));
	if (res != CUTENSOR_STATUS_SUCCESS)
		return res;
	if (!wh_type_size(type))
		return CUTENSOR_STATUS_NOT_SUPPORTED;
	res = wh_raw_cutensorCreatePlan(handle, plan, desc, pref, workspaceSizeLimit);
	if (res != CUTENSOR_STATUS_SUCCESS || remember(*plan, wh_type_size(type)))
		return res;
	wh_raw_cutensorDestroyPlan(*plan);
	return CUTENSOR_STATUS_ALLOC_FAILED;
}

cutensorStatus_t cutensorDestroyPlan(cutensorPlan_t plan)
{
	cutensorStatus_t res = wh_raw_cutensorDestroyPlan(plan);

	if (res == CUTENSOR_STATUS_SUCCESS)
		forget(plan);
	return res;
}
