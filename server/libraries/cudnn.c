// SPDX-License-Identifier: Apache-2.0
/*
 * cuDNN in the worker: versions, parameters of fused operations, and the bounds of host arrays
 * whose length a descriptor gives.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "gen_cudnn_server.h"

/* --- The library -------------------------------------------------------------- */

/*
 * cuDNN compiles some of its kernels by the NVRTC of its CUDA version, which it opens by its name
 * alone. Wheels for CUDA 12 have it in a folder where cuDNN does not look: the frameworks that they
 * are made for have opened it before. So the worker opens it.
 */
void wh_loaded_cudnn(struct wh_session *s, void *table)
{
	const struct wh_cudnn_functions *l = table;
	char name[32], room[4096];
	const char *file;

	(void)s;
	if (!l->cudnnGetCudartVersion)
		return;
	snprintf(name, sizeof(name), "libnvrtc.so.%zu", l->cudnnGetCudartVersion() / 1000);
	file = wh_library_in_folders(name, room, sizeof(room));
	if (file)
		dlopen(file, RTLD_LAZY | RTLD_LOCAL);
}

int32_t wh_do_whCudnnInfo(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	struct wh_rsp_whCudnnInfo *r = wh_reply(f, sizeof(*r));

	if (!l->cudnnGetVersion)
		return wh_library_missing(s, "cudnnGetVersion", CUDNN_STATUS_NOT_SUPPORTED);
	r->version = l->cudnnGetVersion();
	r->max_device_version = l->cudnnGetMaxDeviceVersion ? l->cudnnGetMaxDeviceVersion() : 0;
	r->cudart_version = l->cudnnGetCudartVersion ? l->cudnnGetCudartVersion() : 0;
	return CUDNN_STATUS_SUCCESS;
}

int32_t wh_do_cudnnGetLastErrorString(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	struct wh_rsp_cudnnGetLastErrorString *r = wh_reply(f, sizeof(*r));

	if (!l->cudnnGetLastErrorString)
		return wh_library_missing(s, "cudnnGetLastErrorString", CUDNN_STATUS_NOT_SUPPORTED);
	l->cudnnGetLastErrorString(r->text, sizeof(r->text));
	r->text[sizeof(r->text) - 1] = '\0';
	return CUDNN_STATUS_SUCCESS;
}

/* --- Parameters of fused operations ------------------------------------------- */

static unsigned int descriptor_type(enum wh_cudnn_param kind)
{
	switch (kind) {
	case WH_CUDNN_PARAM_TENSOR:
		return WH_H_cudnnTensorDescriptor_t;
	case WH_CUDNN_PARAM_FILTER:
		return WH_H_cudnnFilterDescriptor_t;
	case WH_CUDNN_PARAM_ACTIVATION:
		return WH_H_cudnnActivationDescriptor_t;
	case WH_CUDNN_PARAM_CONVOLUTION:
		return WH_H_cudnnConvolutionDescriptor_t;
	default:
		return 0;
	}
}

/* Finds the pointer for the library: a descriptor, an address, or the place of the bytes. */
static cudnnStatus_t fused_param(struct wh_session *s, enum wh_cudnn_param kind,
				 struct wh_req_cudnnFusedParam *q, void **param)
{
	unsigned int type = descriptor_type(kind);

	*param = NULL;
	if (q->hdr.null & 1)
		return CUDNN_STATUS_SUCCESS;
	if (type)
		return wh_get(s, type, q->value, param) ? CUDNN_STATUS_SUCCESS :
							  CUDNN_STATUS_BAD_PARAM;
	if (kind == WH_CUDNN_PARAM_DEVICE && q->value && wh_reach(s, q->value, 1) != CUDA_SUCCESS)
		return CUDNN_STATUS_BAD_PARAM;
	*param = kind == WH_CUDNN_PARAM_DEVICE ? (void *)q->value : &q->value;
	return kind == WH_CUDNN_PARAM_NONE ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

int32_t wh_do_cudnnSetFusedOpsConstParamPackAttribute(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	struct wh_req_cudnnFusedParam *q = f->req;
	cudnnStatus_t res;
	void *pack, *param;

	if (f->req_size < sizeof(*q) ||
	    !wh_get(s, WH_H_cudnnFusedOpsConstParamPack_t, q->pack, &pack))
		return CUDNN_STATUS_BAD_PARAM;
	if (!l->cudnnSetFusedOpsConstParamPackAttribute)
		return wh_library_missing(s, "cudnnSetFusedOpsConstParamPackAttribute",
					  CUDNN_STATUS_NOT_SUPPORTED);
	res = fused_param(s, wh_cudnn_const_param(q->label), q, &param);
	return res ? res : l->cudnnSetFusedOpsConstParamPackAttribute(pack, q->label, param);
}

int32_t wh_do_cudnnGetFusedOpsConstParamPackAttribute(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	struct wh_rsp_cudnnFusedParam *r = wh_reply(f, sizeof(*r));
	struct wh_req_cudnnFusedParam *q = f->req;
	cudnnStatus_t res;
	void *pack, *param;

	if (f->req_size < sizeof(*q) ||
	    !wh_get(s, WH_H_cudnnFusedOpsConstParamPack_t, q->pack, &pack))
		return CUDNN_STATUS_BAD_PARAM;
	if (!l->cudnnGetFusedOpsConstParamPackAttribute)
		return wh_library_missing(s, "cudnnGetFusedOpsConstParamPackAttribute",
					  CUDNN_STATUS_NOT_SUPPORTED);
	res = fused_param(s, wh_cudnn_const_param(q->label), q, &param);
	if (res == CUDNN_STATUS_SUCCESS)
		res = l->cudnnGetFusedOpsConstParamPackAttribute(pack, q->label, param,
			q->hdr.null & 2 ? NULL : &r->is_null);
	/* A descriptor was filled in its place; bytes came back here. */
	r->value = q->value;
	return res;
}

int32_t wh_do_cudnnSetFusedOpsVariantParamPackAttribute(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	struct wh_req_cudnnFusedParam *q = f->req;
	cudnnStatus_t res;
	void *pack, *param;

	if (f->req_size < sizeof(*q) ||
	    !wh_get(s, WH_H_cudnnFusedOpsVariantParamPack_t, q->pack, &pack))
		return CUDNN_STATUS_BAD_PARAM;
	if (!l->cudnnSetFusedOpsVariantParamPackAttribute)
		return wh_library_missing(s, "cudnnSetFusedOpsVariantParamPackAttribute",
					  CUDNN_STATUS_NOT_SUPPORTED);
	res = fused_param(s, wh_cudnn_variant_param(q->label), q, &param);
	return res ? res : l->cudnnSetFusedOpsVariantParamPackAttribute(pack, q->label, param);
}

int32_t wh_do_cudnnGetFusedOpsVariantParamPackAttribute(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	struct wh_rsp_cudnnFusedParam *r = wh_reply(f, sizeof(*r));
	const struct wh_req_cudnnFusedParam *q = f->req;
	void *pack;

	if (f->req_size < sizeof(*q) || wh_cudnn_variant_param(q->label) == WH_CUDNN_PARAM_NONE ||
	    !wh_get(s, WH_H_cudnnFusedOpsVariantParamPack_t, q->pack, &pack))
		return CUDNN_STATUS_BAD_PARAM;
	if (!l->cudnnGetFusedOpsVariantParamPackAttribute)
		return wh_library_missing(s, "cudnnGetFusedOpsVariantParamPackAttribute",
					  CUDNN_STATUS_NOT_SUPPORTED);
	return l->cudnnGetFusedOpsVariantParamPackAttribute(pack, q->label,
		q->hdr.null & 1 ? NULL : &r->value);
}

/* --- Host arrays as long as a descriptor says: the library must not read beyond them --- */

/* Returns the number of time steps of a sequence, or -1. */
static int64_t steps(const struct wh_cudnn_functions *l, cudnnSeqDataDescriptor_t desc)
{
	cudnnSeqDataAxis_t axes[CUDNN_SEQDATA_DIM_COUNT];
	int dim[CUDNN_SEQDATA_DIM_COUNT], dims;
	cudnnDataType_t type;
	size_t lengths;

	if (!desc || !l->cudnnGetSeqDataDescriptor ||
	    l->cudnnGetSeqDataDescriptor(desc, &type, &dims, CUDNN_SEQDATA_DIM_COUNT, dim, axes,
					 &lengths, 0, NULL, NULL) != CUDNN_STATUS_SUCCESS)
		return -1;
	return dim[CUDNN_SEQDATA_TIME_DIM];
}

static cudnnStatus_t bound_windows(const struct wh_cudnn_functions *l,
				   cudnnSeqDataDescriptor_t desc, const void *lo, uint64_t lo_count,
				   const void *hi, uint64_t hi_count)
{
	int64_t n = steps(l, desc);

	if (n < 0 || (lo && lo_count < (uint64_t)n) || (hi && hi_count < (uint64_t)n))
		return CUDNN_STATUS_BAD_PARAM;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t wh_bound_cudnnMultiHeadAttnForward(struct wh_session *s, struct wh_frame *f,
						 const int *lo, const int *hi)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	const struct wh_req_cudnnMultiHeadAttnForward *q = f->req;
	void *desc;

	if (!wh_get(s, WH_H_cudnnSeqDataDescriptor_t, q->qDesc, &desc))
		return CUDNN_STATUS_BAD_PARAM;
	return bound_windows(l, desc, lo, q->loWinIdx_count, hi, q->hiWinIdx_count);
}

cudnnStatus_t wh_bound_cudnnMultiHeadAttnBackwardData(struct wh_session *s, struct wh_frame *f,
						      const int *lo, const int *hi)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	const struct wh_req_cudnnMultiHeadAttnBackwardData *q = f->req;
	void *desc;

	if (!wh_get(s, WH_H_cudnnSeqDataDescriptor_t, q->dqDesc, &desc))
		return CUDNN_STATUS_BAD_PARAM;
	return bound_windows(l, desc, lo, q->loWinIdx_count, hi, q->hiWinIdx_count);
}

/*
 * Probabilities are T x N x A. There are N lengths of labels and N of inputs, and as many labels as
 * the lengths of labels add up to.
 */
static cudnnStatus_t bound_labels(struct wh_session *s, uint64_t probs, const int *labels,
				  uint64_t label_count, const int *lengths, uint64_t length_count,
				  const int *inputs, uint64_t input_count)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	int dim[CUDNN_DIM_MAX] = { 0 }, stride[CUDNN_DIM_MAX], dims = 0, i;
	cudnnDataType_t type;
	uint64_t sum = 0;
	void *desc;

	if (!wh_get(s, WH_H_cudnnTensorDescriptor_t, probs, &desc) || !desc || !labels ||
	    !lengths || !inputs || !l->cudnnGetTensorNdDescriptor ||
	    l->cudnnGetTensorNdDescriptor(desc, CUDNN_DIM_MAX, &type, &dims, dim, stride) !=
		    CUDNN_STATUS_SUCCESS ||
	    dims < 2 || dim[1] < 0 || length_count < (uint64_t)dim[1] ||
	    input_count < (uint64_t)dim[1])
		return CUDNN_STATUS_BAD_PARAM;
	for (i = 0; i < dim[1]; i++) {
		if (lengths[i] < 0)
			return CUDNN_STATUS_BAD_PARAM;
		sum += lengths[i];
	}
	return sum <= label_count ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t wh_bound_cudnnCTCLoss(struct wh_session *s, struct wh_frame *f, const int *labels,
				    const int *lengths, const int *inputs)
{
	const struct wh_req_cudnnCTCLoss *q = f->req;

	return bound_labels(s, q->probsDesc, labels, q->hostLabels_count, lengths,
			    q->hostLabelLengths_count, inputs, q->hostInputLengths_count);
}

cudnnStatus_t wh_bound_cudnnGetCTCLossWorkspaceSize(struct wh_session *s, struct wh_frame *f,
						    const int *labels, const int *lengths,
						    const int *inputs)
{
	const struct wh_req_cudnnGetCTCLossWorkspaceSize *q = f->req;

	return bound_labels(s, q->probsDesc, labels, q->labels_count, lengths,
			    q->labelLengths_count, inputs, q->inputLengths_count);
}
