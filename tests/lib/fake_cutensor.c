// SPDX-License-Identifier: Apache-2.0
/*
 * A cuTENSOR that writes down what it is told: modes as far as a tensor has some, scaling
 * factors as its plan has them. It lacks what no function here is.
 */
#include <cutensor.h>
#include <string.h>

#include "fake_library.h"

struct cutensorHandle {
	uint32_t entries;
};

struct cutensorTensorDescriptor {
	uint32_t modes;
	cudaDataType_t type;
};

struct cutensorOperationDescriptor {
	cudaDataType_t scalar;
	int32_t tag;
};

struct cutensorPlan {
	cudaDataType_t scalar;
};

struct cutensorPlanPreference {
	int32_t algo, jit;
};

struct cutensorComputeDescriptor {
	const char *name;
	cudaDataType_t scalar;
};

static struct cutensorComputeDescriptor single = { "32F", CUDA_R_32F }, twice = { "64F", CUDA_R_64F };
const cutensorComputeDescriptor_t CUTENSOR_COMPUTE_DESC_32F = &single;
const cutensorComputeDescriptor_t CUTENSOR_COMPUTE_DESC_64F = &twice;

size_t cutensorGetVersion(void)
{
	note("version");
	return 20801;
}

size_t cutensorGetCudartVersion(void)
{
	return 13002;
}

cutensorStatus_t cutensorCreate(cutensorHandle_t *handle)
{
	if (!has_context())
		return CUTENSOR_STATUS_CUDA_ERROR;
	*handle = calloc(1, sizeof(**handle));
	note("create");
	return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t cutensorDestroy(cutensorHandle_t handle)
{
	note("destroy");
	free(handle);
	return CUTENSOR_STATUS_SUCCESS;
}

/* --- Descriptors -------------------------------------------------------------------- */

static const char *numbers(char text[256], const void *p, uint32_t n, size_t size)
{
	int used = 0;
	uint32_t i;

	if (!p)
		return "none";
	text[0] = 0;
	for (i = 0; i < n && used < 240; i++)
		used += snprintf(text + used, 256 - used, "%s%lld", i ? "," : "",
				 size == 8 ? (long long)((const int64_t *)p)[i] :
					     (long long)((const int32_t *)p)[i]);
	return text;
}

cutensorStatus_t cutensorCreateTensorDescriptor(const cutensorHandle_t handle,
						cutensorTensorDescriptor_t *desc, const uint32_t n,
						const int64_t extent[], const int64_t stride[],
						cudaDataType_t type, uint32_t alignment)
{
	char e[256], s[256];

	if (!handle)
		return CUTENSOR_STATUS_NOT_INITIALIZED;
	note("tensor %s stride=%s type=%d align=%u", numbers(e, extent, n, 8),
	     numbers(s, stride, n, 8), type, alignment);
	*desc = calloc(1, sizeof(**desc));
	**desc = (struct cutensorTensorDescriptor){ n, type };
	return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t cutensorDestroyTensorDescriptor(cutensorTensorDescriptor_t desc)
{
	note("end of tensor");
	free(desc);
	return CUTENSOR_STATUS_SUCCESS;
}

static cutensorStatus_t operation(cutensorOperationDescriptor_t *desc,
				  const cutensorComputeDescriptor_t compute)
{
	*desc = calloc(1, sizeof(**desc));
	(*desc)->scalar = compute->scalar;
	note("by %s", compute->name);
	return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t cutensorCreateContraction(
	const cutensorHandle_t handle, cutensorOperationDescriptor_t *desc,
	const cutensorTensorDescriptor_t a, const int32_t ma[], cutensorOperator_t oa,
	const cutensorTensorDescriptor_t b, const int32_t mb[], cutensorOperator_t ob,
	const cutensorTensorDescriptor_t c, const int32_t mc[], cutensorOperator_t oc,
	const cutensorTensorDescriptor_t d, const int32_t md[],
	const cutensorComputeDescriptor_t compute)
{
	char text[4][256];

	(void)handle;
	note("contraction %s by %s to %s in %s ops=%d,%d,%d", numbers(text[0], ma, a->modes, 4),
	     numbers(text[1], mb, b->modes, 4), numbers(text[2], mc, c->modes, 4),
	     numbers(text[3], md, d->modes, 4), oa, ob, oc);
	return operation(desc, compute);
}

cutensorStatus_t cutensorCreatePermutation(
	const cutensorHandle_t handle, cutensorOperationDescriptor_t *desc,
	const cutensorTensorDescriptor_t a, const int32_t ma[], cutensorOperator_t oa,
	const cutensorTensorDescriptor_t b, const int32_t mb[],
	const cutensorComputeDescriptor_t compute)
{
	char text[2][256];

	(void)handle;
	note("permutation %s to %s op=%d", numbers(text[0], ma, a->modes, 4),
	     numbers(text[1], mb, b->modes, 4), oa);
	return operation(desc, compute);
}

cutensorStatus_t cutensorDestroyOperationDescriptor(cutensorOperationDescriptor_t desc)
{
	free(desc);
	return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t cutensorOperationDescriptorSetAttribute(const cutensorHandle_t handle,
		cutensorOperationDescriptor_t desc, cutensorOperationDescriptorAttribute_t attr,
		const void *buf, size_t size)
{
	const uint32_t *modes = buf;

	(void)handle;
	if (attr == CUTENSOR_OPERATION_DESCRIPTOR_PADDING_RIGHT) {
		note("right %u..%u", modes[0], modes[size / sizeof(*modes) - 1]);
		return CUTENSOR_STATUS_SUCCESS;
	}
	if (attr == CUTENSOR_OPERATION_DESCRIPTOR_PADDING_VALUE) {
		note("value %g", *(const double *)buf);
		return CUTENSOR_STATUS_SUCCESS;
	}
	note("set %d of %zu", attr, size);
	memcpy(&desc->tag, buf, sizeof(desc->tag));
	return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t cutensorOperationDescriptorGetAttribute(const cutensorHandle_t handle,
		cutensorOperationDescriptor_t desc, cutensorOperationDescriptorAttribute_t attr,
		void *buf, size_t size)
{
	(void)handle;
	memcpy(buf, attr == CUTENSOR_OPERATION_DESCRIPTOR_TAG ? (void *)&desc->tag :
	       (void *)&desc->scalar, size);
	return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t cutensorCreatePlanPreference(const cutensorHandle_t handle,
					      cutensorPlanPreference_t *pref, cutensorAlgo_t algo,
					      cutensorJitMode_t jit)
{
	(void)handle;
	*pref = calloc(1, sizeof(**pref));
	**pref = (struct cutensorPlanPreference){ algo, jit };
	return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t cutensorEstimateWorkspaceSize(const cutensorHandle_t handle,
		const cutensorOperationDescriptor_t desc, const cutensorPlanPreference_t pref,
		const cutensorWorksizePreference_t preference, uint64_t *size)
{
	(void)handle; (void)desc;
	note("estimate algo=%d %d", pref ? pref->algo : 0, preference);
	*size = 4711;
	return CUTENSOR_STATUS_SUCCESS;
}

/* --- Plans --------------------------------------------------------------------------- */

cutensorStatus_t cutensorCreatePlan(const cutensorHandle_t handle, cutensorPlan_t *plan,
				    const cutensorOperationDescriptor_t desc,
				    const cutensorPlanPreference_t pref, uint64_t limit)
{
	(void)handle;
	note("plan tag=%d algo=%d limit=%llu", desc->tag, pref ? pref->algo : 0,
	     (unsigned long long)limit);
	*plan = calloc(1, sizeof(**plan));
	(*plan)->scalar = desc->scalar;
	return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t cutensorDestroyPlan(cutensorPlan_t plan)
{
	note("end of plan");
	free(plan);
	return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t cutensorPlanGetAttribute(const cutensorHandle_t handle, const cutensorPlan_t plan,
					  cutensorPlanAttribute_t attr, void *buf, size_t size)
{
	static const uint64_t work = 4096;

	(void)handle; (void)plan; (void)attr;
	memcpy(buf, &work, size);
	return CUTENSOR_STATUS_SUCCESS;
}

static double factor(const cutensorPlan_t plan, const void *p)
{
	if (!p)
		return -1;
	return plan->scalar == CUDA_R_64F ? *(const double *)p : *(const float *)p;
}

cutensorStatus_t cutensorContract(const cutensorHandle_t handle, const cutensorPlan_t plan,
				  const void *alpha, const void *A, const void *B, const void *beta,
				  const void *C, void *D, void *work, uint64_t size,
				  cudaStream_t stream)
{
	(void)handle;
	note("contract %g %g %p %p %p %p work=%p,%llu stream=%s", factor(plan, alpha),
	     factor(plan, beta), A, B, C, D, work, (unsigned long long)size, stream ? "own" : "0");
	return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t cutensorPermute(const cutensorHandle_t handle, const cutensorPlan_t plan,
				 const void *alpha, const void *A, void *B,
				 const cudaStream_t stream)
{
	(void)handle;
	note("permute %g %p %p stream=%s", factor(plan, alpha), A, B, stream ? "own" : "0");
	return CUTENSOR_STATUS_SUCCESS;
}
