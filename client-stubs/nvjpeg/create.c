// SPDX-License-Identifier: Apache-2.0
/*
 * What is made with functions of the program's own, and refused by its name: the worker is another
 * process, so it cannot call them. Also nvJPEG's answers about itself.
 */
#include "nvjpeg_stub.h"
#include "../property.h"

WH_GET_PROPERTY(nvjpegStatus_t, nvjpegGetProperty, NVJPEG_STATUS_INVALID_PARAMETER)
WH_GET_PROPERTY(nvjpegStatus_t, nvjpegGetCudartProperty, NVJPEG_STATUS_INVALID_PARAMETER)

/* Returns the refusal, or success. `name` begins a line of the log. */
static nvjpegStatus_t allowed(const void *allocator, const char *name)
{
	return allocator ? wh_nvjpeg_refuse(name) : NVJPEG_STATUS_SUCCESS;
}

static nvjpegStatus_t of_host(nvjpegBackend_t backend)
{
	if (backend == NVJPEG_BACKEND_GPU_HYBRID_DEVICE)
		return wh_nvjpeg_refuse("NVJPEG_BACKEND_GPU_HYBRID_DEVICE");
	if (backend == NVJPEG_BACKEND_HARDWARE_DEVICE)
		return wh_nvjpeg_refuse("NVJPEG_BACKEND_HARDWARE_DEVICE");
	return NVJPEG_STATUS_SUCCESS;
}

/* --- Handles ------------------------------------------------------------------------- */

nvjpegStatus_t nvjpegCreate(nvjpegBackend_t backend, nvjpegDevAllocator_t *dev_allocator,
			    nvjpegHandle_t *handle)
{
	nvjpegStatus_t res = of_host(backend);

	if (!res)
		res = allowed(dev_allocator, "nvjpegCreate with an allocator");
	return res ? res : wh_raw_nvjpegCreate(backend, NULL, handle);
}

nvjpegStatus_t nvjpegCreateEx(nvjpegBackend_t backend, nvjpegDevAllocator_t *dev_allocator,
			      nvjpegPinnedAllocator_t *pinned_allocator, unsigned int flags,
			      nvjpegHandle_t *handle)
{
	nvjpegStatus_t res = of_host(backend);

	if (!res)
		res = allowed(dev_allocator, "nvjpegCreateEx with an allocator");
	if (!res)
		res = allowed(pinned_allocator, "nvjpegCreateEx with an allocator");
	return res ? res : wh_raw_nvjpegCreateEx(backend, NULL, NULL, flags, handle);
}

nvjpegStatus_t nvjpegCreateExV2(nvjpegBackend_t backend, nvjpegDevAllocatorV2_t *dev_allocator,
				nvjpegPinnedAllocatorV2_t *pinned_allocator, unsigned int flags,
				nvjpegHandle_t *handle)
{
	nvjpegStatus_t res = of_host(backend);

	if (!res)
		res = allowed(dev_allocator, "nvjpegCreateExV2 with an allocator");
	if (!res)
		res = allowed(pinned_allocator, "nvjpegCreateExV2 with an allocator");
	return res ? res : wh_raw_nvjpegCreateExV2(backend, NULL, NULL, flags, handle);
}

nvjpegStatus_t nvjpegDecoderCreate(nvjpegHandle_t nvjpeg_handle, nvjpegBackend_t implementation,
				   nvjpegJpegDecoder_t *decoder_handle)
{
	nvjpegStatus_t res = of_host(implementation);

	return res ? res : wh_raw_nvjpegDecoderCreate(nvjpeg_handle, implementation,
						      decoder_handle);
}

/* --- Buffers ------------------------------------------------------------------------- */

nvjpegStatus_t nvjpegBufferPinnedCreate(nvjpegHandle_t handle,
					nvjpegPinnedAllocator_t *pinned_allocator,
					nvjpegBufferPinned_t *buffer)
{
	nvjpegStatus_t res = allowed(pinned_allocator, "nvjpegBufferPinnedCreate with an allocator");

	return res ? res : wh_raw_nvjpegBufferPinnedCreate(handle, NULL, buffer);
}

nvjpegStatus_t nvjpegBufferPinnedCreateV2(nvjpegHandle_t handle,
					  nvjpegPinnedAllocatorV2_t *pinned_allocator,
					  nvjpegBufferPinned_t *buffer)
{
	nvjpegStatus_t res = allowed(pinned_allocator,
				     "nvjpegBufferPinnedCreateV2 with an allocator");

	return res ? res : wh_raw_nvjpegBufferPinnedCreateV2(handle, NULL, buffer);
}

nvjpegStatus_t nvjpegBufferDeviceCreate(nvjpegHandle_t handle,
					nvjpegDevAllocator_t *device_allocator,
					nvjpegBufferDevice_t *buffer)
{
	nvjpegStatus_t res = allowed(device_allocator, "nvjpegBufferDeviceCreate with an allocator");

	return res ? res : wh_raw_nvjpegBufferDeviceCreate(handle, NULL, buffer);
}

nvjpegStatus_t nvjpegBufferDeviceCreateV2(nvjpegHandle_t handle,
					  nvjpegDevAllocatorV2_t *device_allocator,
					  nvjpegBufferDevice_t *buffer)
{
	nvjpegStatus_t res = allowed(device_allocator,
				     "nvjpegBufferDeviceCreateV2 with an allocator");

	return res ? res : wh_raw_nvjpegBufferDeviceCreateV2(handle, NULL, buffer);
}
