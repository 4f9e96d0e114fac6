// SPDX-License-Identifier: Apache-2.0
/*
 * cuTENSOR in the worker: the sizes of attributes, the kinds of computation, which are data of the
 * genuine library, and its versions.
 */
#define _GNU_SOURCE
#include "gen_cutensor_server.h"

#include <dlfcn.h>

int32_t wh_do_whCutensorInfo(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cutensor_functions *l = wh_library_functions(s, WH_LIB_cutensor);
	struct wh_rsp_whCutensorInfo *r = wh_reply(f, sizeof(*r));

	if (!l->cutensorGetVersion)
		return wh_library_missing(s, "cutensorGetVersion", CUTENSOR_STATUS_NOT_SUPPORTED);
	r->version = l->cutensorGetVersion();
	r->cudart_version = l->cutensorGetCudartVersion ? l->cutensorGetCudartVersion() : 0;
	return CUTENSOR_STATUS_SUCCESS;
}

/*
 * The library's table has only functions, so its data are looked up in the file of its first
 * function.
 */
bool wh_enter_cutensorComputeDescriptor_t(struct wh_session *s,
					  const struct wh_obj_cutensorComputeDescriptor_t *o,
					  cutensorComputeDescriptor_t *real)
{
#define NAME(name)	"CUTENSOR_COMPUTE_DESC_" #name,
	static const char *const names[] = { WH_EACH_CUTENSOR_COMPUTE(NAME) };
	const struct wh_cutensor_functions *l = wh_library_functions(s, WH_LIB_cutensor);
	cutensorComputeDescriptor_t *data;
	void *library;
	Dl_info at;

	if (o->number >= WH_CUTENSOR_COMPUTES || !dladdr((void *)l->cutensorGetVersion, &at))
		return false;
	library = dlopen(at.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	if (!library)
		return false;
	data = dlsym(library, names[o->number]);
	*real = data ? *data : NULL;
	dlclose(library);
	return data;
}

/* The library reads as many modes as a descriptor has, and a request has room for this many. */
cutensorStatus_t wh_check_cutensorCreateTensorDescriptor(struct wh_session *s,
		const struct wh_req_cutensorCreateTensorDescriptor *q)
{
	(void)s;
	return q->numModes <= WH_CUTENSOR_MODES ? CUTENSOR_STATUS_SUCCESS :
						  CUTENSOR_STATUS_NOT_SUPPORTED;
}

/* --- Attributes --------------------------------------------------------------------- */

static cutensorStatus_t is_size(size_t size, size_t given)
{
	if (!size)
		return CUTENSOR_STATUS_NOT_SUPPORTED;
	return size == given ? CUTENSOR_STATUS_SUCCESS : CUTENSOR_STATUS_INVALID_VALUE;
}

static size_t operation_size(cutensorOperationDescriptorAttribute_t attribute)
{
	switch (attribute) {
	case CUTENSOR_OPERATION_DESCRIPTOR_TAG:
	case CUTENSOR_OPERATION_DESCRIPTOR_SCALAR_TYPE:
	case CUTENSOR_OPERATION_DESCRIPTOR_FLOPS:
	case CUTENSOR_OPERATION_DESCRIPTOR_MOVED_BYTES:
	case CUTENSOR_OPERATION_DESCRIPTOR_BLOCKSPARSE_REPRODUCIBLE:
		return sizeof(int32_t);
	default:
		return 0;
	}
}

/*
 * Padding has a number for each mode of the output, and its value the output's type. The library
 * refuses any size but theirs, so it is enough that the message has room for the largest.
 */
static cutensorStatus_t is_operation_size(cutensorOperationDescriptorAttribute_t attribute,
					  uint64_t size)
{
	size_t most;

	switch (attribute) {
	case CUTENSOR_OPERATION_DESCRIPTOR_PADDING_LEFT:
	case CUTENSOR_OPERATION_DESCRIPTOR_PADDING_RIGHT:
		most = WH_CUTENSOR_MODES * sizeof(uint32_t);
		break;
	case CUTENSOR_OPERATION_DESCRIPTOR_PADDING_VALUE:
		most = sizeof(wh_cutensor_scale_t);
		break;
	default:
		return is_size(operation_size(attribute), size);
	}
	return size <= most ? CUTENSOR_STATUS_SUCCESS : CUTENSOR_STATUS_INVALID_VALUE;
}

cutensorStatus_t wh_check_cutensorOperationDescriptorSetAttribute(struct wh_session *s,
		const struct wh_req_cutensorOperationDescriptorSetAttribute *q)
{
	(void)s;
	return is_operation_size(q->attr, q->sizeInBytes);
}

cutensorStatus_t wh_check_cutensorOperationDescriptorGetAttribute(struct wh_session *s,
		const struct wh_req_cutensorOperationDescriptorGetAttribute *q)
{
	(void)s;
	return is_operation_size(q->attr, q->sizeInBytes);
}

static size_t preference_size(cutensorPlanPreferenceAttribute_t attribute)
{
	switch (attribute) {
	case CUTENSOR_PLAN_PREFERENCE_AUTOTUNE_MODE:
	case CUTENSOR_PLAN_PREFERENCE_CACHE_MODE:
	case CUTENSOR_PLAN_PREFERENCE_INCREMENTAL_COUNT:
	case CUTENSOR_PLAN_PREFERENCE_ALGO:
	case CUTENSOR_PLAN_PREFERENCE_KERNEL_RANK:
	case CUTENSOR_PLAN_PREFERENCE_JIT:
	case CUTENSOR_PLAN_PREFERENCE_GPU_ARCH:
		return sizeof(int32_t);
	}
	return 0;
}

cutensorStatus_t wh_check_cutensorPlanPreferenceSetAttribute(struct wh_session *s,
		const struct wh_req_cutensorPlanPreferenceSetAttribute *q)
{
	(void)s;
	return is_size(preference_size(q->attr), q->sizeInBytes);
}

cutensorStatus_t wh_check_cutensorPlanPreferenceGetAttribute(struct wh_session *s,
		const struct wh_req_cutensorPlanPreferenceGetAttribute *q)
{
	(void)s;
	return is_size(preference_size(q->attr), q->sizeInBytes);
}

cutensorStatus_t wh_check_cutensorPlanGetAttribute(struct wh_session *s,
		const struct wh_req_cutensorPlanGetAttribute *q)
{
	(void)s;
	return is_size(q->attr == CUTENSOR_PLAN_REQUIRED_WORKSPACE ? sizeof(uint64_t) : 0,
		       q->sizeInBytes);
}
