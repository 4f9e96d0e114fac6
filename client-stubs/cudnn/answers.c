// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that need no crossing, or only one for a process: versions, texts, the logging callback
 * that is not supported. Also host arrays and values whose size the program cannot say.
 */
#include "cudnn_stub.h"

#include <pthread.h>

/* --- Versions: the worker's library is the one that computes ------------------ */

static struct {
	pthread_mutex_t lock;
	bool asked;
	struct wh_rsp_whCudnnInfo r;
} info = { .lock = PTHREAD_MUTEX_INITIALIZER };
WH_IN_CHILD(pthread_mutex_init(&info.lock, NULL))

static cudnnStatus_t ask(struct wh_rsp_whCudnnInfo *out)
{
	struct wh_call c;
	cudnnStatus_t res;

	if (!wh_cudnn_begin(&c, WH_CALL_whCudnnInfo, sizeof(struct wh_req_whCudnnInfo)))
		return wh_cudnn_lost(c.result);
	res = wh_cudnn_run(&c, sizeof(*out));
	if (res == CUDNN_STATUS_SUCCESS)
		*out = *(struct wh_rsp_whCudnnInfo *)c.rsp;
	wh_end(&c);
	return res;
}

/* Without a worker, the answers are those of the header that the library was built from. */
static struct wh_rsp_whCudnnInfo get_info(void)
{
	static const struct wh_rsp_whCudnnInfo header = {
		.version = CUDNN_VERSION,
		.max_device_version = CUDNN_MAX_DEVICE_VERSION,
		.cudart_version = CUDART_VERSION,
	};
	struct wh_rsp_whCudnnInfo r = header;

	pthread_mutex_lock(&info.lock);
	if (!info.asked && ask(&info.r) == CUDNN_STATUS_SUCCESS)
		info.asked = true;
	if (info.asked)
		r = info.r;
	pthread_mutex_unlock(&info.lock);
	return r;
}

size_t cudnnGetVersion(void)
{
	return get_info().version;
}

size_t cudnnGetMaxDeviceVersion(void)
{
	return get_info().max_device_version;
}

size_t cudnnGetCudartVersion(void)
{
	return get_info().cudart_version;
}

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value)
{
	size_t v;

	if (!value || type > PATCH_LEVEL)
		return CUDNN_STATUS_BAD_PARAM;
	v = get_info().version;
	*value = type == MAJOR_VERSION ? v / 10000 :
		 type == MINOR_VERSION ? v / 100 % 100 : v % 100;
	return CUDNN_STATUS_SUCCESS;
}

/* --- Texts -------------------------------------------------------------------- */

const char *cudnnGetErrorString(cudnnStatus_t status)
{
#define NAME(x)	case CUDNN_STATUS_##x: return "CUDNN_STATUS_" #x
	switch (status) {
	NAME(SUCCESS);
	NAME(NOT_INITIALIZED);
	NAME(SUBLIBRARY_VERSION_MISMATCH);
	NAME(SERIALIZATION_VERSION_MISMATCH);
	NAME(DEPRECATED);
	NAME(LICENSE_ERROR);
	NAME(RUNTIME_IN_PROGRESS);
	NAME(RUNTIME_FP_OVERFLOW);
	NAME(SUBLIBRARY_LOADING_FAILED);
	NAME(BAD_PARAM);
	NAME(INVALID_VALUE);
	NAME(BAD_PARAM_NULL_POINTER);
	NAME(BAD_PARAM_MISALIGNED_POINTER);
	NAME(BAD_PARAM_NOT_FINALIZED);
	NAME(BAD_PARAM_OUT_OF_BOUND);
	NAME(BAD_PARAM_SIZE_INSUFFICIENT);
	NAME(BAD_PARAM_STREAM_MISMATCH);
	NAME(BAD_PARAM_SHAPE_MISMATCH);
	NAME(BAD_PARAM_DUPLICATED_ENTRIES);
	NAME(BAD_PARAM_ATTRIBUTE_TYPE);
	NAME(BAD_PARAM_CUDA_GRAPH_MISMATCH);
	NAME(BAD_PARAM_DESCRIPTOR_TYPE);
	NAME(NOT_SUPPORTED);
	NAME(NOT_SUPPORTED_GRAPH_PATTERN);
	NAME(NOT_SUPPORTED_SHAPE);
	NAME(NOT_SUPPORTED_DATA_TYPE);
	NAME(NOT_SUPPORTED_LAYOUT);
	NAME(NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER);
	NAME(NOT_SUPPORTED_INCOMPATIBLE_CUDART);
	NAME(NOT_SUPPORTED_ARCH_MISMATCH);
	NAME(NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING);
	NAME(NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE);
	NAME(NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT);
	NAME(NOT_SUPPORTED_PADDING);
	NAME(NOT_SUPPORTED_BAD_LAUNCH_PARAM);
	NAME(NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API);
	NAME(NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE);
	NAME(INTERNAL_ERROR);
	NAME(INTERNAL_ERROR_COMPILATION_FAILED);
	NAME(INTERNAL_ERROR_UNEXPECTED_VALUE);
	NAME(INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
	NAME(INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
	NAME(INTERNAL_ERROR_BAD_LAUNCH_PARAM);
	NAME(INTERNAL_ERROR_TEXTURE_CREATION_FAILED);
	NAME(EXECUTION_FAILED);
	NAME(EXECUTION_FAILED_CUDA_DRIVER);
	NAME(EXECUTION_FAILED_CUBLAS);
	NAME(EXECUTION_FAILED_CUDART);
	NAME(EXECUTION_FAILED_CURAND);
	default:
		return "CUDNN_UNKNOWN_STATUS";
	}
#undef NAME
}

/*
 * Returns the text of the library's last failed call in the worker: of this process, on any
 * thread.
 */
void cudnnGetLastErrorString(char *message, size_t max_size)
{
	const struct wh_rsp_cudnnGetLastErrorString *r;
	struct wh_call c;

	if (!message || !max_size)
		return;
	message[0] = '\0';
	if (!wh_cudnn_begin(&c, WH_CALL_cudnnGetLastErrorString,
			    sizeof(struct wh_req_cudnnGetLastErrorString)))
		return;
	if (wh_cudnn_run(&c, sizeof(*r)) == CUDNN_STATUS_SUCCESS) {
		r = c.rsp;
		if (max_size > sizeof(r->text))
			max_size = sizeof(r->text);
		memcpy(message, r->text, max_size);
		message[max_size - 1] = '\0';
	}
	wh_end(&c);
}

/* --- The library's log is the worker's ---------------------------------------- */

static unsigned int callback_mask;

/* Accepts only the default, which calls no function. */
cudnnStatus_t cudnnSetCallback(unsigned mask, void *udata, cudnnCallback_t fptr)
{
	(void)udata;
	if (fptr)
		return wh_cudnn_refuse("cudnnSetCallback with a function");
	callback_mask = mask & (CUDNN_SEV_ERROR_EN | CUDNN_SEV_WARNING_EN | CUDNN_SEV_INFO_EN);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetCallback(unsigned *mask, void **udata, cudnnCallback_t *fptr)
{
	if (mask)
		*mask = callback_mask;
	if (udata)
		*udata = NULL;
	if (fptr)
		*fptr = NULL;
	return CUDNN_STATUS_SUCCESS;
}

/* --- A fill value as long as the type that comes back ------------------------- */

cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc,
					cudnnDataType_t *dataType, cudnnRNNDataLayout_t *layout,
					int *maxSeqLength, int *batchSize, int *vectorSize,
					int arrayLengthRequested, int seqLengthArray[],
					void *paddingFill)
{
	uint8_t fill[WH_CUDNN_ELEMENT];
	cudnnDataType_t type;
	cudnnStatus_t res;

	res = wh_raw_cudnnGetRNNDataDescriptor(rnnDataDesc, &type, layout, maxSeqLength, batchSize,
					       vectorSize, arrayLengthRequested, seqLengthArray,
					       paddingFill ? fill : NULL);
	if (res != CUDNN_STATUS_SUCCESS)
		return res;
	if (dataType)
		*dataType = type;
	if (paddingFill)
		memcpy(paddingFill, fill, wh_cudnn_size(type));
	return res;
}

cudnnStatus_t cudnnGetSeqDataDescriptor(const cudnnSeqDataDescriptor_t seqDataDesc,
					cudnnDataType_t *dataType, int *nbDims, int nbDimsRequested,
					int dimA[], cudnnSeqDataAxis_t axes[],
					size_t *seqLengthArraySize, size_t seqLengthSizeRequested,
					int seqLengthArray[], void *paddingFill)
{
	uint8_t fill[WH_CUDNN_ELEMENT];
	cudnnDataType_t type;
	cudnnStatus_t res;

	res = wh_raw_cudnnGetSeqDataDescriptor(seqDataDesc, &type, nbDims, nbDimsRequested, dimA,
					       axes, seqLengthArraySize, seqLengthSizeRequested,
					       seqLengthArray, paddingFill ? fill : NULL);
	if (res != CUDNN_STATUS_SUCCESS)
		return res;
	if (dataType)
		*dataType = type;
	if (paddingFill)
		memcpy(paddingFill, fill, wh_cudnn_size(type));
	return res;
}

/* --- Lengths of host arrays, which descriptors say ------------------------------ */

/* Returns the time steps of a sequence. 0: the descriptor is bad, which the call then reports. */
static size_t steps(cudnnSeqDataDescriptor_t desc)
{
	cudnnSeqDataAxis_t axes[CUDNN_SEQDATA_DIM_COUNT];
	int dim[CUDNN_SEQDATA_DIM_COUNT], dims;
	cudnnDataType_t type;
	size_t lengths;

	if (wh_raw_cudnnGetSeqDataDescriptor(desc, &type, &dims, CUDNN_SEQDATA_DIM_COUNT, dim,
					     axes, &lengths, 0, NULL, NULL) != CUDNN_STATUS_SUCCESS)
		return 0;
	return dim[CUDNN_SEQDATA_TIME_DIM] < 0 ? 0 : dim[CUDNN_SEQDATA_TIME_DIM];
}

size_t wh_count_windows(const int *window, cudnnSeqDataDescriptor_t desc)
{
	return window ? steps(desc) : 0;
}

/* Returns the number of sequences of a batch: probabilities are T x N x A. */
size_t wh_count_sequences(cudnnTensorDescriptor_t probs)
{
	int dim[CUDNN_DIM_MAX] = { 0 }, stride[CUDNN_DIM_MAX], dims = 0;
	cudnnDataType_t type;

	if (cudnnGetTensorNdDescriptor(probs, CUDNN_DIM_MAX, &type, &dims, dim, stride) !=
		    CUDNN_STATUS_SUCCESS || dims < 2 || dim[1] < 0)
		return 0;
	return dim[1];
}

size_t wh_count_labels(cudnnTensorDescriptor_t probs, const int *lengths)
{
	size_t n = lengths ? wh_count_sequences(probs) : 0, sum = 0, i;

	for (i = 0; i < n; i++)
		sum += lengths[i] < 0 ? 0 : lengths[i];
	return sum;
}
