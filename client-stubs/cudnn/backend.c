// SPDX-License-Identifier: Apache-2.0
/*
 * Attributes of backend descriptors on their way to the worker, and parameters of fused
 * operations. The type of an element depends on a type or label beside it. Long attributes
 * (texts of plans) go through the data area.
 */
#include "cudnn_stub.h"

#include <stdlib.h>

/* --- Setting ------------------------------------------------------------------ */

static cudnnStatus_t send_set(struct wh_req_cudnnAttribute *head, const void *elements,
			      size_t bytes)
{
	const size_t fixed = WH_WIRE_FIXED(*head), behind = head->area ? 0 : bytes;
	struct wh_req_cudnnAttribute *q;
	cudnnStatus_t res;
	struct wh_call c;

	q = wh_cudnn_begin(&c, WH_CALL_cudnnBackendSetAttribute,
			   fixed + (behind ? wh_wire_bytes(behind, 1) : 0));
	if (!q)
		return wh_cudnn_lost(c.result);
	memcpy((uint8_t *)q + sizeof(q->hdr), (uint8_t *)head + sizeof(q->hdr),
	       sizeof(*q) - sizeof(q->hdr));
	if (!elements)
		q->hdr.null |= 1;
	c.pos = fixed;
	if (elements && behind)
		wh_request_put(&c, elements, behind, 1);
	res = wh_cudnn_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

/* Sends a long attribute through a buffer in the data area. */
static cudnnStatus_t set_long(struct wh_req_cudnnAttribute *head, const void *elements,
			      size_t bytes)
{
	cudnnStatus_t res;
	CUresult cu;
	uint8_t *buf;
	size_t size;

	cu = wh_staging_get(&buf, &size);
	if (cu != CUDA_SUCCESS)
		return wh_cudnn_lost(cu);
	res = CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
	if (bytes <= size) {
		memcpy(buf, elements, bytes);
		head->area = (uintptr_t)buf;
		res = send_set(head, elements, bytes);
	}
	wh_staging_put();
	return res;
}

/* Translates handles and addresses into the worker's. `out` has room for n. */
static cudnnStatus_t translate(uint64_t descriptor, int32_t type, int32_t name,
			       const void *const *in, size_t n, uint64_t *out)
{
	struct wh_obj_cudnnHandle_t o;
	size_t i;

	if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)
		wh_cudnn_forget_values(descriptor);
	for (i = 0; i < n; i++) {
		out[i] = (uintptr_t)in[i];
		if (type == CUDNN_TYPE_HANDLE && in[i]) {
			if (!wh_pack_cudnnHandle_t((cudnnHandle_t)in[i], &o))
				return CUDNN_STATUS_BAD_PARAM;
			out[i] = o.id;
		} else if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS &&
			   !wh_cudnn_by_value(descriptor, in[i], &out[i])) {
			return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
		}
	}
	return CUDNN_STATUS_SUCCESS;
}

#define FEW	64

/* Finds the bytes of what is to be set, or returns what is wrong with it. */
static cudnnStatus_t length(int32_t type, int64_t count, size_t *bytes)
{
	const size_t size = wh_cudnn_attribute_size((cudnnBackendAttributeType_t)type);

	if (!size || count < 0)
		return size ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
	return __builtin_mul_overflow((size_t)count, size, bytes) ? CUDNN_STATUS_BAD_PARAM :
								   CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t wh_cudnn_send_set(uint64_t descriptor, int32_t name, int32_t type, int64_t count,
				const void *elements)
{
	struct wh_req_cudnnAttribute head = {
		.descriptor = descriptor, .name = name, .type = type, .count = count,
	};
	size_t bytes = 0;
	cudnnStatus_t res = length(type, count, &bytes);

	if (res != CUDNN_STATUS_SUCCESS)
		return res;
	return elements && bytes > WH_CUDNN_INLINE ? set_long(&head, elements, bytes) :
	       send_set(&head, elements, elements ? bytes : 0);
}

cudnnStatus_t wh_cudnn_set(uint64_t descriptor, int32_t name, int32_t type, int64_t count,
			   const void *elements)
{
	uint64_t few[FEW], *many = few;
	size_t bytes = 0;
	cudnnStatus_t res = length(type, count, &bytes);

	if (res || !elements || (type != CUDNN_TYPE_HANDLE && type != CUDNN_TYPE_VOID_PTR))
		return res ? res : wh_cudnn_send_set(descriptor, name, type, count, elements);
	if (bytes > WH_CUDNN_INLINE)
		return CUDNN_STATUS_BAD_PARAM;
	if (count > FEW)
		many = malloc(bytes);
	if (!many)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	res = translate(descriptor, type, name, elements, count, many);
	if (res == CUDNN_STATUS_SUCCESS)
		res = wh_cudnn_send_set(descriptor, name, type, count, many);
	if (many != few)
		free(many);
	return res;
}

/* --- Getting ------------------------------------------------------------------ */

/*
 * Stores only the elements that came, and returns their number. The rest of the program's array
 * stays as it is.
 */
static uint64_t receive(struct wh_call *c, const struct wh_question *q, const uint8_t *area,
			void *out, size_t size)
{
	const struct wh_rsp_cudnnAttribute *r = c->rsp;
	size_t n = r->elements <= (uint64_t)q->n ? r->elements : 0, i;
	void **handles = out;

	if (area) {
		memcpy(out, area, n * size);
		return n;
	}
	c->pos = WH_WIRE_FIXED(*r);
	wh_reply_take(c, out, n, size);
	for (i = 0; q->type == CUDNN_TYPE_HANDLE && i < n; i++)
		handles[i] = wh_find_cudnnHandle_t((uintptr_t)handles[i]);
	return n;
}

static cudnnStatus_t send_get(uint64_t descriptor, const struct wh_question *about, uint8_t *area,
			      int64_t *count, uint64_t *came, void *out)
{
	const size_t size = wh_cudnn_attribute_size((cudnnBackendAttributeType_t)about->type);
	const bool fill = out && about->type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
	struct wh_req_cudnnAttribute *q;
	const size_t fixed = WH_WIRE_FIXED(*q);
	cudnnStatus_t res;
	struct wh_call c;

	q = wh_cudnn_begin(&c, WH_CALL_cudnnBackendGetAttribute,
			   fixed + (fill ? wh_wire_bytes(about->n, size) : 0));
	if (!q)
		return wh_cudnn_lost(c.result);
	q->descriptor = descriptor;
	q->name = about->name;
	q->type = about->type;
	q->count = about->n;
	q->area = (uintptr_t)area;
	if (!out)
		q->hdr.null |= 1;
	c.pos = fixed;
	if (fill)
		wh_request_put(&c, out, about->n, size);
	res = wh_cudnn_run(&c, sizeof(struct wh_rsp_cudnnAttribute));
	if (res == CUDNN_STATUS_SUCCESS) {
		*count = ((struct wh_rsp_cudnnAttribute *)c.rsp)->count;
		*came = out ? receive(&c, about, area, out, size) : 0;
	}
	wh_end(&c);
	return res;
}

cudnnStatus_t wh_cudnn_send_get(uint64_t descriptor, const struct wh_question *q, int64_t *count,
				uint64_t *came, void *out)
{
	const size_t bytes = q->n * wh_cudnn_attribute_size((cudnnBackendAttributeType_t)q->type);
	cudnnStatus_t res;
	CUresult cu;
	uint8_t *buf;
	size_t room;

	if (!out || bytes <= WH_CUDNN_INLINE || q->type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		return send_get(descriptor, q, NULL, count, came, out);
	cu = wh_staging_get(&buf, &room);
	if (cu != CUDA_SUCCESS)
		return wh_cudnn_lost(cu);
	res = bytes <= room ? send_get(descriptor, q, buf, count, came, out) :
			      CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
	wh_staging_put();
	return res;
}

/* --- In graphs -------------------------------------------------------------------- */

/*
 * Replaces a plan by the worker's, and a variant pack by one of the worker with the program's
 * current values.
 */
static cudnnStatus_t ready(cudnnBackendDescriptor_t *plan, cudnnBackendDescriptor_t *pack)
{
	uint64_t real, real_plan;
	cudnnStatus_t res;

	res = wh_cudnn_real(*plan, &real_plan);
	if (res == CUDNN_STATUS_SUCCESS)
		res = wh_cudnn_real(*pack, &real);
	if (res != CUDNN_STATUS_SUCCESS)
		return res;
	wh_cudnn_refresh(real);
	*plan = (cudnnBackendDescriptor_t)real_plan;
	*pack = (cudnnBackendDescriptor_t)real;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle,
					    cudnnBackendDescriptor_t executionPlan,
					    cudnnBackendDescriptor_t variantPack, cudaGraph_t graph)
{
	cudnnStatus_t res = ready(&executionPlan, &variantPack);

	return res ? res : wh_raw_cudnnBackendPopulateCudaGraph(handle, executionPlan, variantPack,
								graph);
}

cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t handle,
					  cudnnBackendDescriptor_t executionPlan,
					  cudnnBackendDescriptor_t variantPack, cudaGraph_t graph)
{
	cudnnStatus_t res = ready(&executionPlan, &variantPack);

	return res ? res : wh_raw_cudnnBackendUpdateCudaGraph(handle, executionPlan, variantPack,
							      graph);
}

/* --- Fused operations --------------------------------------------------------- */

/*
 * Returns what the worker needs of the program's memory: the handle, the address, or the bytes.
 * The library keeps a descriptor in the pack, or fills it, so the worker's descriptor belongs
 * to the program's alone.
 */
static uint64_t param_value(enum wh_cudnn_param kind, const void *param)
{
	uint64_t v = 0;

	if (!param)
		return 0;
	switch (kind) {
	case WH_CUDNN_PARAM_WORD:
		memcpy(&v, param, 4);
		return v;
	case WH_CUDNN_PARAM_LONG:
		memcpy(&v, param, 8);
		return v;
	default:
		return wh_kept_own((uintptr_t)param);
	}
}

/* Takes the slot and fills in the request. NULL: c->result says why. */
static void *begin_param(struct wh_call *c, uint32_t call, const void *pack, uint32_t label,
			 const void *param, uint64_t value)
{
	struct wh_req_cudnnFusedParam *q = wh_cudnn_begin(c, call, sizeof(*q));

	if (!q)
		return NULL;
	q->hdr.null = !param;
	q->pack = (uintptr_t)pack;
	q->value = value;
	q->label = label;
	q->resv = 0;
	return q;
}

static cudnnStatus_t set_param(uint32_t call, const void *pack, uint32_t label, const void *param,
			       enum wh_cudnn_param kind)
{
	cudnnStatus_t res;
	struct wh_call c;

	if (kind == WH_CUDNN_PARAM_NONE)
		return CUDNN_STATUS_BAD_PARAM;
	if (!begin_param(&c, call, pack, label, param, param_value(kind, param)))
		return wh_cudnn_lost(c.result);
	res = wh_cudnn_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

cudnnStatus_t cudnnSetFusedOpsConstParamPackAttribute(cudnnFusedOpsConstParamPack_t constPack,
						      cudnnFusedOpsConstParamLabel_t paramLabel,
						      const void *param)
{
	return set_param(WH_CALL_cudnnSetFusedOpsConstParamPackAttribute, constPack, paramLabel,
			 param, wh_cudnn_const_param(paramLabel));
}

cudnnStatus_t cudnnSetFusedOpsVariantParamPackAttribute(cudnnFusedOpsVariantParamPack_t varPack,
							cudnnFusedOpsVariantParamLabel_t paramLabel,
							void *ptr)
{
	return set_param(WH_CALL_cudnnSetFusedOpsVariantParamPackAttribute, varPack, paramLabel,
			 ptr, wh_cudnn_variant_param(paramLabel));
}

static cudnnStatus_t get_param(uint32_t call, const void *pack, uint32_t label, void *param,
			       enum wh_cudnn_param kind, int *is_null)
{
	const bool bytes = kind == WH_CUDNN_PARAM_WORD || kind == WH_CUDNN_PARAM_LONG ||
			   kind == WH_CUDNN_PARAM_DEVICE;
	const struct wh_rsp_cudnnFusedParam *r;
	struct wh_req_cudnnFusedParam *q;
	cudnnStatus_t res;
	struct wh_call c;

	if (kind == WH_CUDNN_PARAM_NONE)
		return CUDNN_STATUS_BAD_PARAM;
	q = begin_param(&c, call, pack, label, param,
			bytes ? 0 : wh_kept_own((uintptr_t)param));
	if (!q)
		return wh_cudnn_lost(c.result);
	if (!is_null)
		q->hdr.null |= 2;
	res = wh_cudnn_run(&c, sizeof(*r));
	if (res == CUDNN_STATUS_SUCCESS) {
		r = c.rsp;
		if (is_null)
			*is_null = r->is_null;
		if (param && bytes)
			memcpy(param, &r->value, kind == WH_CUDNN_PARAM_WORD ? 4 : 8);
	}
	wh_end(&c);
	return res;
}

cudnnStatus_t cudnnGetFusedOpsConstParamPackAttribute(const cudnnFusedOpsConstParamPack_t constPack,
						      cudnnFusedOpsConstParamLabel_t paramLabel,
						      void *param, int *isNULL)
{
	return get_param(WH_CALL_cudnnGetFusedOpsConstParamPackAttribute, constPack, paramLabel,
			 param, wh_cudnn_const_param(paramLabel), isNULL);
}

cudnnStatus_t cudnnGetFusedOpsVariantParamPackAttribute(
		const cudnnFusedOpsVariantParamPack_t varPack,
		cudnnFusedOpsVariantParamLabel_t paramLabel, void *ptr)
{
	return get_param(WH_CALL_cudnnGetFusedOpsVariantParamPackAttribute, varPack, paramLabel,
			 ptr, wh_cudnn_variant_param(paramLabel), NULL);
}
