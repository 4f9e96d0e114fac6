// SPDX-License-Identifier: Apache-2.0
/*
 * An nvJPEG that writes down what it is told. A stream refers to the bytes that it has parsed, and
 * reads them when it is asked for its size: what a worker has not kept is gone by then.
 */
#include <nvjpeg.h>
#include <string.h>

#include "fake_library.h"

struct nvjpegHandle {
	nvjpegBackend_t backend;
};

struct nvjpegJpegState {
	int batch;
};

struct nvjpegJpegStream {
	const unsigned char *data, *tables;
	size_t length;
};

struct nvjpegDecodeParams {
	nvjpegOutputFormat_t format;
};

struct nvjpegJpegDecoder {
	nvjpegBackend_t backend;
};

struct nvjpegEncoderState {
	int width, height;
};

struct nvjpegEncoderParams {
	int quality;
};

struct nvjpegBufferPinned {
	size_t size;
};

nvjpegStatus_t nvjpegGetProperty(libraryPropertyType type, int *value)
{
	static const int version[] = { 13, 0, 1 };

	note("property %d", type);
	*value = version[type];
	return NVJPEG_STATUS_SUCCESS;
}

static nvjpegStatus_t create(nvjpegBackend_t backend, unsigned int flags, nvjpegHandle_t *handle)
{
	if (!has_context())
		return NVJPEG_STATUS_EXECUTION_FAILED;
	note("create backend=%d flags=%u", backend, flags);
	*handle = calloc(1, sizeof(**handle));
	(*handle)->backend = backend;
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegCreateSimple(nvjpegHandle_t *handle)
{
	return create(NVJPEG_BACKEND_DEFAULT, 0, handle);
}

nvjpegStatus_t nvjpegCreateEx(nvjpegBackend_t backend, nvjpegDevAllocator_t *device,
			      nvjpegPinnedAllocator_t *pinned, unsigned int flags,
			      nvjpegHandle_t *handle)
{
	return device || pinned ? NVJPEG_STATUS_INTERNAL_ERROR : create(backend, flags, handle);
}

nvjpegStatus_t nvjpegDestroy(nvjpegHandle_t handle)
{
	note("destroy");
	free(handle);
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegJpegStateCreate(nvjpegHandle_t handle, nvjpegJpegState_t *state)
{
	(void)handle;
	*state = calloc(1, sizeof(**state));
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegJpegStateDestroy(nvjpegJpegState_t state)
{
	note("end of state");
	free(state);
	return NVJPEG_STATUS_SUCCESS;
}

/* --- Whole images ---------------------------------------------------------------------- */

/* All bytes count, so the first and the last are told. */
static const char *image(char text[64], const unsigned char *data, size_t length)
{
	snprintf(text, 64, "%zu:%02x..%02x", length, length ? data[0] : 0,
		 length ? data[length - 1] : 0);
	return text;
}

nvjpegStatus_t nvjpegGetImageInfo(nvjpegHandle_t handle, const unsigned char *data, size_t length,
				  int *components, nvjpegChromaSubsampling_t *subsampling,
				  int *widths, int *heights)
{
	char text[64];
	int i;

	(void)handle;
	if (!length || data[0] != 0xff)
		return NVJPEG_STATUS_BAD_JPEG;
	note("info %s", image(text, data, length));
	*components = 3;
	*subsampling = NVJPEG_CSS_420;
	for (i = 0; i < 4; i++) {
		widths[i] = i < 3 ? 640 >> !!i : 0;
		heights[i] = i < 3 ? 480 >> !!i : 0;
	}
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegDecode(nvjpegHandle_t handle, nvjpegJpegState_t state,
			    const unsigned char *data, size_t length, nvjpegOutputFormat_t format,
			    nvjpegImage_t *to, cudaStream_t stream)
{
	char text[64];

	(void)handle; (void)state;
	note("decode %s as %d to %p,%zu %p,%zu stream=%s", image(text, data, length), format,
	     (void *)to->channel[0], to->pitch[0], (void *)to->channel[1], to->pitch[1],
	     stream ? "own" : "0");
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegDecodeBatchedInitialize(nvjpegHandle_t handle, nvjpegJpegState_t state,
					     int batch, int threads, nvjpegOutputFormat_t format)
{
	(void)handle;
	note("batch of %d by %d as %d", batch, threads, format);
	state->batch = batch;
	return batch > 0 ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_INVALID_PARAMETER;
}

nvjpegStatus_t nvjpegDecodeBatched(nvjpegHandle_t handle, nvjpegJpegState_t state,
				   const unsigned char *const *data, const size_t *lengths,
				   nvjpegImage_t *to, cudaStream_t stream)
{
	char text[64];
	int i;

	(void)handle; (void)stream;
	for (i = 0; i < state->batch; i++)
		note("of batch %s to %p", image(text, data[i], lengths[i]),
		     (void *)to[i].channel[0]);
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegDecodeBatchedEx(nvjpegHandle_t handle, nvjpegJpegState_t state,
				     const unsigned char *const *data, const size_t *lengths,
				     nvjpegImage_t *to, nvjpegDecodeParams_t *params,
				     cudaStream_t stream)
{
	char text[64];
	int i;

	(void)handle; (void)stream;
	for (i = 0; i < state->batch; i++)
		note("of batch %s to %p as %d", image(text, data[i], lengths[i]),
		     (void *)to[i].channel[0], params[i]->format);
	return NVJPEG_STATUS_SUCCESS;
}

/* --- In phases -------------------------------------------------------------------------- */

nvjpegStatus_t nvjpegJpegStreamCreate(nvjpegHandle_t handle, nvjpegJpegStream_t *stream)
{
	(void)handle;
	*stream = calloc(1, sizeof(**stream));
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegJpegStreamDestroy(nvjpegJpegStream_t stream)
{
	note("end of stream");
	free(stream);
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegJpegStreamParse(nvjpegHandle_t handle, const unsigned char *data,
				     size_t length, int metadata, int save,
				     nvjpegJpegStream_t stream)
{
	(void)handle;
	note("parse %zu metadata=%d save=%d", length, metadata, save);
	if (!length || data[0] != 0xff)
		return NVJPEG_STATUS_BAD_JPEG;
	stream->data = data;
	stream->length = length;
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegJpegStreamParseTables(nvjpegHandle_t handle, const unsigned char *data,
					   size_t length, nvjpegJpegStream_t stream)
{
	(void)handle;
	note("tables %zu", length);
	stream->tables = data;
	return NVJPEG_STATUS_SUCCESS;
}

/* The height is the last byte that was parsed, and the first one of the tables. */
nvjpegStatus_t nvjpegJpegStreamGetFrameDimensions(nvjpegJpegStream_t stream, unsigned int *width,
						  unsigned int *height)
{
	if (!stream->data)
		return NVJPEG_STATUS_BAD_JPEG;
	*width = stream->length;
	*height = stream->data[stream->length - 1] + (stream->tables ? stream->tables[0] << 8 : 0);
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegDecodeParamsCreate(nvjpegHandle_t handle, nvjpegDecodeParams_t *params)
{
	(void)handle;
	*params = calloc(1, sizeof(**params));
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegDecodeParamsSetOutputFormat(nvjpegDecodeParams_t params,
						 nvjpegOutputFormat_t format)
{
	params->format = format;
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegDecoderCreate(nvjpegHandle_t handle, nvjpegBackend_t backend,
				   nvjpegJpegDecoder_t *decoder)
{
	(void)handle;
	note("decoder %d", backend);
	*decoder = calloc(1, sizeof(**decoder));
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegBufferPinnedCreate(nvjpegHandle_t handle, nvjpegPinnedAllocator_t *by,
					nvjpegBufferPinned_t *buffer)
{
	(void)handle;
	note("pinned by %s", by ? "the program" : "the library");
	*buffer = calloc(1, sizeof(**buffer));
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegStateAttachPinnedBuffer(nvjpegJpegState_t state, nvjpegBufferPinned_t buffer)
{
	note("attached %s", state && buffer ? "both" : "none");
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegDecodeJpegHost(nvjpegHandle_t handle, nvjpegJpegDecoder_t decoder,
				    nvjpegJpegState_t state, nvjpegDecodeParams_t params,
				    nvjpegJpegStream_t stream)
{
	(void)handle; (void)decoder; (void)state;
	note("host phase as %d of %02x", params->format, stream->data[0]);
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegDecodeJpegDevice(nvjpegHandle_t handle, nvjpegJpegDecoder_t decoder,
				      nvjpegJpegState_t state, nvjpegImage_t *to,
				      cudaStream_t stream)
{
	(void)handle; (void)decoder; (void)state;
	note("device phase to %p stream=%s", (void *)to->channel[0], stream ? "own" : "0");
	return NVJPEG_STATUS_SUCCESS;
}

/* --- Encoding ---------------------------------------------------------------------------- */

nvjpegStatus_t nvjpegEncoderStateCreate(nvjpegHandle_t handle, nvjpegEncoderState_t *state,
					cudaStream_t stream)
{
	(void)handle; (void)stream;
	*state = calloc(1, sizeof(**state));
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegEncoderParamsCreate(nvjpegHandle_t handle, nvjpegEncoderParams_t *params,
					 cudaStream_t stream)
{
	(void)handle; (void)stream;
	*params = calloc(1, sizeof(**params));
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegEncoderParamsSetQuality(nvjpegEncoderParams_t params, const int quality,
					     cudaStream_t stream)
{
	(void)stream;
	params->quality = quality;
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegEncodeImage(nvjpegHandle_t handle, nvjpegEncoderState_t state,
				 const nvjpegEncoderParams_t params, const nvjpegImage_t *from,
				 nvjpegInputFormat_t format, int width, int height,
				 cudaStream_t stream)
{
	(void)handle; (void)stream;
	note("encode %dx%d as %d quality=%d from %p", width, height, format, params->quality,
	     (void *)from->channel[0]);
	state->width = width;
	state->height = height;
	return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t nvjpegEncodeRetrieveBitstream(nvjpegHandle_t handle, nvjpegEncoderState_t state,
					     unsigned char *data, size_t *length,
					     cudaStream_t stream)
{
	size_t size = state->width * state->height, i;

	(void)handle; (void)stream;
	if (data && *length < size)
		return NVJPEG_STATUS_INVALID_PARAMETER;
	*length = size;
	for (i = 0; data && i < size; i++)
		data[i] = i * 7;
	return NVJPEG_STATUS_SUCCESS;
}
