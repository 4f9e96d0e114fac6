// SPDX-License-Identifier: Apache-2.0
/*
 * Calls read arrays and numbers of the program's memory, and an object of the worker says their
 * size: a tensor descriptor the number of modes, a plan the bytes of a scaling factor. Both are
 * known when the object is made, and are kept here until it ends.
 */
#include "cutensor_stub.h"

#include "../numbers.h"

/* --- Tensors ------------------------------------------------------------------------- */

wh_cutensor_modes_t wh_cutensor_modes(const int32_t *modes, cutensorTensorDescriptor_t desc)
{
	wh_cutensor_modes_t v = { { 0 } };

	if (modes)
		memcpy(v.mode, modes, wh_number_of(desc) * sizeof(*modes));
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
	if (res != CUTENSOR_STATUS_SUCCESS || wh_number_keep(*desc, numModes))
		return res;
	wh_raw_cutensorDestroyTensorDescriptor(*desc);
	return CUTENSOR_STATUS_ALLOC_FAILED;
}

cutensorStatus_t cutensorDestroyTensorDescriptor(cutensorTensorDescriptor_t desc)
{
	cutensorStatus_t res = CUTENSOR_STATUS_SUCCESS;

	if (!desc)
		return res;
	res = wh_raw_cutensorDestroyTensorDescriptor(desc);
	if (res == CUTENSOR_STATUS_SUCCESS)
		wh_number_forget(desc);
	return res;
}

/* --- Plans --------------------------------------------------------------------------- */

wh_cutensor_scale_t wh_cutensor_scale(const void *factor, cutensorPlan_t plan)
{
	wh_cutensor_scale_t v = { { 0 } };

	if (factor)
		memcpy(&v, factor, wh_number_of(plan));
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
	if (res != CUTENSOR_STATUS_SUCCESS || wh_number_keep(*plan, wh_type_size(type)))
		return res;
	wh_raw_cutensorDestroyPlan(*plan);
	return CUTENSOR_STATUS_ALLOC_FAILED;
}

cutensorStatus_t cutensorDestroyPlan(cutensorPlan_t plan)
{
	cutensorStatus_t res = CUTENSOR_STATUS_SUCCESS;

	if (!plan)
		return res;
	res = wh_raw_cutensorDestroyPlan(plan);
	if (res == CUTENSOR_STATUS_SUCCESS)
		wh_number_forget(plan);
	return res;
}
