// SPDX-License-Identifier: Apache-2.0
/*
 * A cuDNN that writes down what it is told ($FAKE_LOG, one line for each call) and keeps
 * the attributes of descriptors that are asked for later. Addresses are written as they
 * came, values as what they point to.
 */
#include <cudnn.h>
#include <string.h>

#include "fake_cublas.h"
#include "fake_library.h"

#define OK	CUDNN_STATUS_SUCCESS

/* --- The library -------------------------------------------------------------- */

size_t cudnnGetVersion(void)
{
	note("version");
	return 91234;
}

size_t cudnnGetMaxDeviceVersion(void)
{
	return 1030;
}

size_t cudnnGetCudartVersion(void)
{
	return 13077;
}

void cudnnGetLastErrorString(char *message, size_t max_size)
{
	snprintf(message, max_size, "the fake's last error");
}

struct cudnnContext {
	int number;
	cudaStream_t stream;
};

static int created;

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
	*handle = calloc(1, sizeof(**handle));
	(*handle)->number = ++created;
	note("create %d", created);
	return OK;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
	note("destroy %d", handle->number);
	free(handle);
	return OK;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
	note("set_stream %d %s", handle->number, stream ? "own" : "0");
	handle->stream = stream;
	return OK;
}

/* --- Descriptors -------------------------------------------------------------- */

struct cudnnTensorStruct {
	cudnnDataType_t type;
	int n, dim[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
};

struct cudnnFilterStruct {
	struct cudnnTensorStruct t;
};

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *desc)
{
	*desc = calloc(1, sizeof(**desc));
	return OK;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t desc)
{
	note("destroy tensor %s", desc ? "own" : "NULL");
	free(desc);
	return OK;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t desc, cudnnTensorFormat_t format,
					 cudnnDataType_t type, int n, int c, int h, int w)
{
	note("set tensor format=%d type=%d %d %d %d %d", format, type, n, c, h, w);
	if (n < 1)
		return CUDNN_STATUS_BAD_PARAM;
	*desc = (struct cudnnTensorStruct){ type, 4, { n, c, h, w }, { c * h * w, h * w, w, 1 } };
	return OK;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t desc, cudnnDataType_t type, int n,
					 const int dim[], const int stride[])
{
	int i;

	note("set tensor nd type=%d n=%d last=%d/%d", type, n, dim[n - 1], stride[n - 1]);
	desc->type = type;
	desc->n = n;
	for (i = 0; i < n && i < CUDNN_DIM_MAX; i++) {
		desc->dim[i] = dim[i];
		desc->stride[i] = stride[i];
	}
	return OK;
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t desc, int want,
					 cudnnDataType_t *type, int *n, int dim[], int stride[])
{
	int i;

	note("get tensor nd want=%d", want);
	*type = desc->type;
	*n = desc->n;
	for (i = 0; i < want && i < desc->n; i++) {
		dim[i] = desc->dim[i];
		stride[i] = desc->stride[i];
	}
	return OK;
}

cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived,
					    const cudnnTensorDescriptor_t x,
					    cudnnBatchNormMode_t mode)
{
	note("derive bn mode=%d", mode);
	*derived = *x;
	return OK;
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
	const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t z,
	const cudnnTensorDescriptor_t y, const cudnnTensorDescriptor_t param,
	const cudnnActivationDescriptor_t activation, size_t *size)
{
	(void)handle, (void)ops, (void)z, (void)param, (void)activation;
	note("size of bn mode=%d", mode);
	if (mode == 99)
		return CUDNN_STATUS_BAD_PARAM;
	*size = (size_t)(1000 * x->dim[0] + y->dim[0]);
	return OK;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *desc)
{
	*desc = calloc(1, sizeof(**desc));
	return OK;
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t desc)
{
	free(desc);
	return OK;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t desc, cudnnDataType_t type,
					 cudnnTensorFormat_t format, int k, int c, int h, int w)
{
	(void)format;
	desc->t = (struct cudnnTensorStruct){ type, 4, { k, c, h, w }, { 0 } };
	return OK;
}

struct cudnnRNNDataStruct {
	cudnnDataType_t type;
	int time, batch, vector, length[64];
	unsigned char fill[16];
};

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t *desc)
{
	*desc = calloc(1, sizeof(**desc));
	return OK;
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t desc, cudnnDataType_t type,
					cudnnRNNDataLayout_t layout, int time, int batch,
					int vector, const int length[], void *fill)
{
	float f = 0;
	double d = 0;

	if (type == CUDNN_DATA_DOUBLE)
		memcpy(&d, fill, 8);
	else
		memcpy(&f, fill, 4);
	note("set rnn data type=%d layout=%d %d %d %d last=%d fill=%g", type, layout, time, batch,
	     vector, length[batch - 1], type == CUDNN_DATA_DOUBLE ? d : f);
	desc->type = type;
	desc->time = time;
	desc->batch = batch;
	desc->vector = vector;
	memcpy(desc->length, length, batch * sizeof(int));
	memcpy(desc->fill, fill, type == CUDNN_DATA_DOUBLE ? 8 : 4);
	return OK;
}

cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t desc, cudnnDataType_t *type,
					cudnnRNNDataLayout_t *layout, int *time, int *batch,
					int *vector, int want, int length[], void *fill)
{
	*type = desc->type;
	*layout = 0;
	*time = desc->time;
	*batch = desc->batch;
	*vector = desc->vector;
	memcpy(length, desc->length, (want < desc->batch ? want : desc->batch) * sizeof(int));
	memcpy(fill, desc->fill, desc->type == CUDNN_DATA_DOUBLE ? 8 : 4);
	return OK;
}

struct cudnnSeqDataStruct {
	int dim[CUDNN_SEQDATA_DIM_COUNT];
};

cudnnStatus_t cudnnCreateSeqDataDescriptor(cudnnSeqDataDescriptor_t *desc)
{
	*desc = calloc(1, sizeof(**desc));
	return OK;
}

cudnnStatus_t cudnnSetSeqDataDescriptor(cudnnSeqDataDescriptor_t desc, cudnnDataType_t type, int n,
					const int dim[], const cudnnSeqDataAxis_t axes[],
					size_t lengths, const int length[], void *fill)
{
	note("set seq data type=%d n=%d axis3=%d lengths=%zu last=%d fill=%s", type, n, axes[3],
	     lengths, length[lengths - 1], fill ? "some" : "NULL");
	memcpy(desc->dim, dim, sizeof(desc->dim));
	return OK;
}

cudnnStatus_t cudnnGetSeqDataDescriptor(const cudnnSeqDataDescriptor_t desc, cudnnDataType_t *type,
					int *n, int want, int dim[], cudnnSeqDataAxis_t axes[],
					size_t *lengths, size_t want_lengths, int length[],
					void *fill)
{
	(void)axes, (void)want_lengths, (void)length, (void)fill;
	*type = CUDNN_DATA_FLOAT;
	*n = CUDNN_SEQDATA_DIM_COUNT;
	*lengths = 0;
	memcpy(dim, desc->dim, want * sizeof(int));
	return OK;
}

struct cudnnAttnStruct {
	int unused;
};

cudnnStatus_t cudnnCreateAttnDescriptor(cudnnAttnDescriptor_t *desc)
{
	*desc = calloc(1, sizeof(**desc));
	return OK;
}

/* --- Work --------------------------------------------------------------------- */

/* Writes down a scaling factor of the descriptor's type, with the four bytes behind a float. */
static void note_scale(const char *what, const void *p, cudnnDataType_t type)
{
	unsigned int behind;
	double d;
	float f;

	if (!p) {
		note("%s NULL", what);
	} else if (type == CUDNN_DATA_DOUBLE) {
		memcpy(&d, p, 8);
		note("%s double %g", what, d);
	} else {
		memcpy(&f, p, 4);
		memcpy(&behind, (const char *)p + 4, 4);
		note("%s float %g behind=%u", what, f, behind);
	}
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
				  cudnnSoftmaxMode_t mode, const void *alpha,
				  const cudnnTensorDescriptor_t xd, const void *x, const void *beta,
				  const cudnnTensorDescriptor_t yd, void *y)
{
	note("softmax handle=%d stream=%s algo=%d mode=%d xtype=%d x=%p y=%p", handle->number,
	     handle->stream ? "own" : "0", algo, mode, xd->type, x, y);
	note_scale("alpha", alpha, yd->type);
	note_scale("beta", beta, yd->type);
	return OK;
}

cudnnStatus_t cudnnTransformFilter(cudnnHandle_t handle, const cudnnTensorTransformDescriptor_t t,
				   const void *alpha, const cudnnFilterDescriptor_t sd,
				   const void *s, const void *beta,
				   const cudnnFilterDescriptor_t dd, void *d)
{
	(void)handle, (void)t, (void)sd, (void)s, (void)d;
	note_scale("alpha", alpha, dd->t.type);
	note_scale("beta", beta, dd->t.type);
	return OK;
}

cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t yd, void *y,
			     const void *value)
{
	(void)handle, (void)y;
	note("set tensor value %02x behind=%02x", *(unsigned char *)value,
	     ((unsigned char *)value)[yd->type == CUDNN_DATA_INT8 ? 1 : 4]);
	return OK;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle,
		const cudnnTensorDescriptor_t src, const cudnnFilterDescriptor_t filter,
		const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t dest,
		const int want, int *count, cudnnConvolutionFwdAlgoPerf_t *perf)
{
	int i;

	(void)handle, (void)src, (void)filter, (void)conv, (void)dest;
	note("algorithms want=%d", want);
	*count = want < 3 ? want : 3;
	for (i = 0; i < *count; i++)
		perf[i] = (cudnnConvolutionFwdAlgoPerf_t){
			.algo = i, .memory = 1000 + i, .time = i,
		};
	return OK;
}

cudnnStatus_t cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t *status,
				     cudnnErrQueryMode_t mode, cudnnRuntimeTag_t *tag)
{
	(void)handle;
	note("query mode=%d tag=%s", mode, tag ? "some" : "NULL");
	*status = CUDNN_STATUS_RUNTIME_IN_PROGRESS;
	return OK;
}

cudnnStatus_t cudnnMultiHeadAttnForward(cudnnHandle_t handle, const cudnnAttnDescriptor_t attn,
		int index, const int lo[], const int hi[], const int devq[], const int devk[],
		const cudnnSeqDataDescriptor_t qd, const void *q, const void *residuals,
		const cudnnSeqDataDescriptor_t kd, const void *k, const cudnnSeqDataDescriptor_t vd,
		const void *v, const cudnnSeqDataDescriptor_t od, void *out, size_t weights_size,
		const void *weights, size_t work_size, void *work, size_t reserve_size,
		void *reserve)
{
	int last = qd->dim[CUDNN_SEQDATA_TIME_DIM] - 1;

	(void)handle, (void)attn, (void)devk, (void)q, (void)residuals, (void)kd, (void)k, (void)vd;
	(void)v, (void)od, (void)out, (void)weights, (void)work_size, (void)work, (void)reserve;
	note("attention index=%d lo=%d hi=%d devq=%p weights=%zu reserve=%zu", index, lo[last],
	     hi[last], (void *)devq, weights_size, reserve_size);
	return OK;
}

struct cudnnCTCLossStruct {
	int unused;
};

cudnnStatus_t cudnnCreateCTCLossDescriptor(cudnnCTCLossDescriptor_t *desc)
{
	*desc = calloc(1, sizeof(**desc));
	return OK;
}

cudnnStatus_t cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle,
					   const cudnnTensorDescriptor_t probs,
		const cudnnTensorDescriptor_t gradients, const int *labels, const int *lengths,
		const int *inputs, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctc,
		size_t *size)
{
	int i, n = 0;

	(void)handle, (void)gradients, (void)algo, (void)ctc;
	for (i = 0; i < probs->dim[1]; i++)
		n += lengths[i];
	note("ctc labels=%d last=%d input=%d", n, labels[n - 1], inputs[probs->dim[1] - 1]);
	*size = n;
	return OK;
}

/* --- The backend API ---------------------------------------------------------- */

#define ATTRIBUTES	8

struct descriptor {
	int number, type, finalized;
	struct {
		int name, type, set;
		int64_t count;
		unsigned char bytes[65536];
	} attribute[ATTRIBUTES];
};

static int descriptors;

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
					   cudnnBackendDescriptor_t *out)
{
	struct descriptor *d = type < 1000 ? calloc(1, sizeof(*d)) : NULL;

	if (!d)
		return CUDNN_STATUS_NOT_SUPPORTED;
	d->number = ++descriptors;
	d->type = type;
	*out = d;
	return OK;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t desc)
{
	note("destroy descriptor %d", ((struct descriptor *)desc)->number);
	free(desc);
	return OK;
}

static const void *attribute(const struct descriptor *d, int name)
{
	int i;

	for (i = 0; i < ATTRIBUTES; i++)
		if (d->attribute[i].set && d->attribute[i].name == name)
			return d->attribute[i].bytes;
	return NULL;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t desc)
{
	struct descriptor *d = desc;
	const int64_t *length = attribute(d, CUDNN_ATTR_TENSOR_VECTOR_COUNT);

	if (length && (*length == REFUSED || *length == REFUSED + 1)) {
		note("cannot finalize");
		return *length == REFUSED ? CUDNN_STATUS_NOT_SUPPORTED :
					    CUDNN_STATUS_INTERNAL_ERROR;
	}
	d->finalized = 1;
	if (d->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
		note("finalize %d", d->number);
	return OK;
}

static size_t size_of(cudnnBackendAttributeType_t type)
{
	return type == CUDNN_TYPE_BOOLEAN || type == CUDNN_TYPE_CHAR ? 1 :
	       type == CUDNN_TYPE_FRACTION ? 16 :
	       type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_DOUBLE ||
	       type == CUDNN_TYPE_VOID_PTR || type == CUDNN_TYPE_BACKEND_DESCRIPTOR ||
	       type == CUDNN_TYPE_HANDLE ? 8 : 4;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t desc,
				       cudnnBackendAttributeName_t name,
				       cudnnBackendAttributeType_t type, int64_t count,
				       const void *p)
{
	struct descriptor *d = desc;
	int i;

	note("set attribute %d type=%d count=%ld", name, type, (long)count);
	if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		note("descriptor %d", (*(struct descriptor *const *)p)->number);
	if (type == CUDNN_TYPE_HANDLE)
		note("handle %d", (*(struct cudnnContext *const *)p)->number);
	if (name == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT && *(const int64_t *)p == REFUSED)
		return CUDNN_STATUS_BAD_PARAM;
	for (i = 0; i < ATTRIBUTES - 1 && d->attribute[i].set &&
	     d->attribute[i].name != (int)name; i++)
		;
	d->attribute[i].set = 1;
	d->attribute[i].name = name;
	d->attribute[i].type = type;
	d->attribute[i].count = count;
	memcpy(d->attribute[i].bytes, p, count * size_of(type));
	return OK;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const desc,
				       cudnnBackendAttributeName_t name,
				       cudnnBackendAttributeType_t type, int64_t want,
				       int64_t *count, void *p)
{
	const struct descriptor *d = desc;
	struct descriptor **fill = p;
	int64_t n;
	int i;

	if (d->finalized && d->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
		note("get attribute %d", name);
	if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
		*count = 1;
		*(int64_t *)p = 1000 + d->number;
		return OK;
	}
	/* The caller made the descriptors for the results of a heuristic; here they are filled. */
	if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
		*count = 2;
		for (i = 0; fill && i < want && i < 2; i++)
			note("fill descriptor %d", fill[i]->number);
		return OK;
	}
	for (i = 0; i < ATTRIBUTES && d->attribute[i].name != (int)name; i++)
		;
	if (i == ATTRIBUTES || d->attribute[i].type != (int)type)
		return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
	n = d->attribute[i].count < want ? d->attribute[i].count : want;
	if (count)
		*count = p ? n : d->attribute[i].count;
	if (p)
		memcpy(p, d->attribute[i].bytes, n * size_of(type));
	return OK;
}

/*
 * The first pointer of a variant pack is to a float "by value"; with HOLD the execution
 * waits for the workspace.
 */
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
				  cudnnBackendDescriptor_t pack)
{
	float *const *pointer = attribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
	float *const *workspace = attribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
	const int64_t *id = attribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
	const struct descriptor *d = pack;

	if (**pointer == HOLD && workspace) {
		await_client(*workspace, -1);
		return OK;
	}
	note("execute handle=%d plan=%d pack=%d value=%g", handle->number,
	     ((struct descriptor *)plan)->number, d->number, **pointer);
	if (d->finalized && id)
		note("ids %ld %ld pointer %p workspace %p", (long)id[0], (long)id[1],
		     (void *)pointer[1], workspace ? (void *)*workspace : NULL);
	return **pointer == FAIL ? CUDNN_STATUS_EXECUTION_FAILED : OK;
}

/* --- Fused operations --------------------------------------------------------- */

struct cudnnFusedOpsConstParamStruct {
	int word;
};

cudnnStatus_t cudnnCreateFusedOpsConstParamPack(cudnnFusedOpsConstParamPack_t *pack,
						cudnnFusedOps_t ops)
{
	(void)ops;
	*pack = calloc(1, sizeof(**pack));
	return OK;
}

cudnnStatus_t cudnnSetFusedOpsConstParamPackAttribute(cudnnFusedOpsConstParamPack_t pack,
						      cudnnFusedOpsConstParamLabel_t label,
						      const void *param)
{
	if (label == CUDNN_PARAM_XDESC)
		note("fused tensor type=%d", ((const struct cudnnTensorStruct *)param)->type);
	else
		note("fused word %d", pack->word = *(const int *)param);
	return OK;
}

cudnnStatus_t cudnnGetFusedOpsConstParamPackAttribute(const cudnnFusedOpsConstParamPack_t pack,
						      cudnnFusedOpsConstParamLabel_t label,
						      void *param, int *is_null)
{
	(void)label;
	*is_null = 0;
	*(int *)param = pack->word;
	return OK;
}

struct cudnnFusedOpsVariantParamStruct {
	void *ptr;
	size_t size;
};

cudnnStatus_t cudnnCreateFusedOpsVariantParamPack(cudnnFusedOpsVariantParamPack_t *pack,
						  cudnnFusedOps_t ops)
{
	(void)ops;
	*pack = calloc(1, sizeof(**pack));
	return OK;
}

cudnnStatus_t cudnnSetFusedOpsVariantParamPackAttribute(cudnnFusedOpsVariantParamPack_t pack,
							cudnnFusedOpsVariantParamLabel_t label,
							void *ptr)
{
	if (label < CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES)
		pack->ptr = ptr;
	else
		pack->size = *(size_t *)ptr;
	return OK;
}

cudnnStatus_t cudnnGetFusedOpsVariantParamPackAttribute(const cudnnFusedOpsVariantParamPack_t pack,
							cudnnFusedOpsVariantParamLabel_t label,
							void *ptr)
{
	if (label < CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES)
		*(void **)ptr = pack->ptr;
	else
		*(size_t *)ptr = pack->size;
	return OK;
}
