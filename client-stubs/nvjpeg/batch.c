// SPDX-License-Identifier: Apache-2.0
/*
 * A batch of images: the program gives addresses of bytes, and the state knows how many. The number
 * is kept here from the call that sets it until the state ends.
 */
#include "nvjpeg_stub.h"

#include "../numbers.h"

nvjpegStatus_t nvjpegDecodeBatchedInitialize(nvjpegHandle_t handle, nvjpegJpegState_t jpeg_handle,
					     int batch_size, int max_cpu_threads,
					     nvjpegOutputFormat_t output_format)
{
	nvjpegStatus_t res;

	if (!wh_number_keep(jpeg_handle, 0))
		return NVJPEG_STATUS_ALLOCATOR_FAILURE;
	res = wh_raw_nvjpegDecodeBatchedInitialize(handle, jpeg_handle, batch_size,
						   max_cpu_threads, output_format);
	if (res == NVJPEG_STATUS_SUCCESS && batch_size > 0)
		wh_number_keep(jpeg_handle, batch_size);
	return res;
}

nvjpegStatus_t nvjpegJpegStateDestroy(nvjpegJpegState_t jpeg_handle)
{
	nvjpegStatus_t res = wh_raw_nvjpegJpegStateDestroy(jpeg_handle);

	if (res == NVJPEG_STATUS_SUCCESS)
		wh_number_forget(jpeg_handle);
	return res;
}

/* --- Decoding ------------------------------------------------------------------------- */

/* Returns the bytes of the request; WH_WIRE_NEVER or more: there can be no such request. */
static size_t bytes_of(uint32_t count, const size_t *lengths, bool ex)
{
	size_t size = WH_WIRE_FIXED(struct wh_req_whNvjpegBatch);
	uint32_t i;

	size = wh_wire_more(size, wh_wire_bytes(count, sizeof(size_t)));
	size = wh_wire_more(size, wh_wire_bytes(count, sizeof(nvjpegImage_t)));
	if (ex)
		size = wh_wire_more(size, wh_wire_bytes(count, sizeof(uint64_t)));
	for (i = 0; i < count; i++)
		size = wh_wire_more(size, wh_wire_bytes(lengths[i], 1));
	return size;
}

/* `copied` are the lengths for which there is room: the program may change its own meanwhile. */
static nvjpegStatus_t send(nvjpegHandle_t handle, nvjpegJpegState_t state,
			   const unsigned char *const *data, const size_t *copied, uint32_t count,
			   const nvjpegImage_t *images, nvjpegDecodeParams_t *params,
			   cudaStream_t stream)
{
	const uint64_t stream_id = wh_library_stream(stream);
	struct wh_req_whNvjpegBatch *q;
	nvjpegStatus_t res;
	struct wh_call c;
	uint32_t i;

	q = wh_nvjpeg_begin_long(&c, WH_CALL_whNvjpegBatch, bytes_of(count, copied, params),
				 WH_WIRE_FIXED(struct wh_rsp_whNvjpegBatch));
	if (!q)
		return wh_nvjpeg_lost(c.result);
	q->handle = (uint64_t)handle;
	q->state = (uint64_t)state;
	q->stream = stream_id;
	q->count = count;
	q->ex = !!params;
	c.pos = WH_WIRE_FIXED(struct wh_req_whNvjpegBatch);
	wh_request_put(&c, copied, count, sizeof(*copied));
	wh_request_put(&c, images, count, sizeof(*images));
	if (params)
		wh_request_put(&c, params, count, sizeof(*params));
	for (i = 0; i < count; i++)
		wh_request_put(&c, data[i], copied[i], 1);
	res = wh_nvjpeg_run(&c, sizeof(struct wh_rsp_whNvjpegBatch));
	wh_end(&c);
	return res;
}

static nvjpegStatus_t decode(nvjpegHandle_t handle, nvjpegJpegState_t state,
			     const unsigned char *const *data, const size_t *lengths,
			     const nvjpegImage_t *images, nvjpegDecodeParams_t *params,
			     cudaStream_t stream)
{
	const uint32_t count = wh_number_of(state);
	nvjpegStatus_t res;
	size_t *copied;
	uint32_t i;

	if (!count || !data || !lengths || !images)
		return NVJPEG_STATUS_INVALID_PARAMETER;
	copied = malloc(count * sizeof(*copied));
	if (!copied)
		return NVJPEG_STATUS_ALLOCATOR_FAILURE;
	memcpy(copied, lengths, count * sizeof(*copied));
	for (i = 0; i < count && data[i]; i++)
		;
	res = i < count ? NVJPEG_STATUS_INVALID_PARAMETER :
	      send(handle, state, data, copied, count, images, params, stream);
	free(copied);
	return res;
}

nvjpegStatus_t nvjpegDecodeBatched(nvjpegHandle_t handle, nvjpegJpegState_t jpeg_handle,
				   const unsigned char *const *data, const size_t *lengths,
				   nvjpegImage_t *destinations, cudaStream_t stream)
{
	return decode(handle, jpeg_handle, data, lengths, destinations, NULL, stream);
}

nvjpegStatus_t nvjpegDecodeBatchedEx(nvjpegHandle_t handle, nvjpegJpegState_t jpeg_handle,
				     const unsigned char *const *data, const size_t *lengths,
				     nvjpegImage_t *destinations,
				     nvjpegDecodeParams_t *decode_params, cudaStream_t stream)
{
	if (!decode_params)
		return NVJPEG_STATUS_INVALID_PARAMETER;
	return decode(handle, jpeg_handle, data, lengths, destinations, decode_params, stream);
}
