// SPDX-License-Identifier: Apache-2.0
/*
 * Copies and fills of linear memory; arrays are in array_copy.c. The _ptds forms
 * are the asynchronous ones on the thread's own stream, followed by its
 * synchronisation.
 */
#include <string.h>

#include "cudart.h"

cudaError_t cudaMemcpy_ptds(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2D_ptds(void *dst, size_t dpitch, const void *src, size_t spitch,
			      size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemset_ptds(void *devPtr, int value, size_t count);
cudaError_t cudaMemset2D_ptds(void *devPtr, size_t pitch, int value, size_t width,
			      size_t height);
cudaError_t cudaMemset3D_ptds(struct cudaPitchedPtr pitchedDevPtr, int value,
			      struct cudaExtent extent);

static bool bad_kind(enum cudaMemcpyKind kind)
{
	return (unsigned int)kind > cudaMemcpyDefault;
}

static cudaError_t copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return rt_error(DRV(cuMemcpyHtoD(rt_ptr(dst), src, count)));
	case cudaMemcpyDeviceToHost:
		return rt_error(DRV(cuMemcpyDtoH(dst, rt_ptr(src), count)));
	case cudaMemcpyDeviceToDevice:
		return rt_error(DRV(cuMemcpyDtoD(rt_ptr(dst), rt_ptr(src), count)));
	default:
		return rt_error(DRV(cuMemcpy(rt_ptr(dst), rt_ptr(src), count)));
	}
}

static cudaError_t copy_async(void *dst, const void *src, size_t count,
			      enum cudaMemcpyKind kind, CUstream stream)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return rt_error(DRV(cuMemcpyHtoDAsync(rt_ptr(dst), src, count, stream)));
	case cudaMemcpyDeviceToHost:
		return rt_error(DRV(cuMemcpyDtoHAsync(dst, rt_ptr(src), count, stream)));
	case cudaMemcpyDeviceToDevice:
		return rt_error(DRV(cuMemcpyDtoDAsync(rt_ptr(dst), rt_ptr(src), count, stream)));
	default:
		return rt_error(DRV(cuMemcpyAsync(rt_ptr(dst), rt_ptr(src), count, stream)));
	}
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	cudaError_t err = rt_enter();

	if (!err && count && bad_kind(kind))
		err = cudaErrorInvalidMemcpyDirection;
	if (!err && count)
		err = copy(dst, src, count, kind);
	return rt_ret(err);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	cudaError_t err = rt_enter();

	if (!err && count && bad_kind(kind))
		err = cudaErrorInvalidMemcpyDirection;
	if (!err && count)
		err = copy_async(dst, src, count, kind, (CUstream)stream);
	return rt_ret(err);
}

cudaError_t rt_finish_own_stream(cudaError_t err)
{
	if (!err)
		err = rt_error(DRV(cuStreamSynchronize(CU_STREAM_PER_THREAD)));
	return rt_ret(err);
}

cudaError_t cudaMemcpy_ptds(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	return rt_finish_own_stream(cudaMemcpyAsync(dst, src, count, kind, cudaStreamPerThread));
}

CUmemorytype rt_side(enum cudaMemcpyKind kind, bool source)
{
	if (kind == cudaMemcpyDefault)
		return CU_MEMORYTYPE_UNIFIED;
	if (kind == cudaMemcpyHostToHost)
		return CU_MEMORYTYPE_HOST;
	return kind == (source ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost) ?
		       CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

/* A unified address is given in the device field. */
static CUDA_MEMCPY2D copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch,
			     size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return (CUDA_MEMCPY2D) {
		.srcMemoryType = rt_side(kind, true),
		.srcHost = src,
		.srcDevice = rt_ptr(src),
		.srcPitch = spitch,
		.dstMemoryType = rt_side(kind, false),
		.dstHost = dst,
		.dstDevice = rt_ptr(dst),
		.dstPitch = dpitch,
		.WidthInBytes = width,
		.Height = height,
	};
}

static cudaError_t check_2d(size_t dpitch, size_t spitch, size_t width, enum cudaMemcpyKind kind)
{
	if (bad_kind(kind))
		return cudaErrorInvalidMemcpyDirection;
	return width > dpitch || width > spitch ? cudaErrorInvalidPitchValue : cudaSuccess;
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D c = copy_2d(dst, dpitch, src, spitch, width, height, kind);
	cudaError_t err = rt_enter();

	if (!err)
		err = check_2d(dpitch, spitch, width, kind);
	if (!err && width && height)
		err = rt_error(DRV(cuMemcpy2DUnaligned(&c)));
	return rt_ret(err);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
			      size_t width, size_t height, enum cudaMemcpyKind kind,
			      cudaStream_t stream)
{
	CUDA_MEMCPY2D c = copy_2d(dst, dpitch, src, spitch, width, height, kind);
	cudaError_t err = rt_enter();

	if (!err)
		err = check_2d(dpitch, spitch, width, kind);
	if (!err && width && height)
		err = rt_error(DRV(cuMemcpy2DAsync(&c, (CUstream)stream)));
	return rt_ret(err);
}

cudaError_t cudaMemcpy2D_ptds(void *dst, size_t dpitch, const void *src, size_t spitch,
			      size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return rt_finish_own_stream(cudaMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind,
						   cudaStreamPerThread));
}

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
	CUcontext to, from;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_primary(dstDevice, &to);
	if (!err)
		err = rt_primary(srcDevice, &from);
	if (!err && count)
		err = rt_error(DRV(cuMemcpyPeer(rt_ptr(dst), to, rt_ptr(src), from, count)));
	return rt_ret(err);
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
				size_t count, cudaStream_t stream)
{
	CUcontext to, from;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_primary(dstDevice, &to);
	if (!err)
		err = rt_primary(srcDevice, &from);
	if (!err && count)
		err = rt_error(DRV(cuMemcpyPeerAsync(rt_ptr(dst), to, rt_ptr(src), from, count,
						     (CUstream)stream)));
	return rt_ret(err);
}

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
	cudaError_t err = rt_enter();

	if (!err && count)
		err = rt_error(DRV(cuMemsetD8(rt_ptr(devPtr), (unsigned char)value, count)));
	return rt_ret(err);
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
	cudaError_t err = rt_enter();

	if (!err && count)
		err = rt_error(DRV(cuMemsetD8Async(rt_ptr(devPtr), (unsigned char)value, count,
						   (CUstream)stream)));
	return rt_ret(err);
}

cudaError_t cudaMemset_ptds(void *devPtr, int value, size_t count)
{
	return rt_finish_own_stream(cudaMemsetAsync(devPtr, value, count, cudaStreamPerThread));
}

cudaError_t cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
	cudaError_t err = rt_enter();

	if (!err && width && height)
		err = rt_error(DRV(cuMemsetD2D8(rt_ptr(devPtr), pitch, (unsigned char)value,
						width, height)));
	return rt_ret(err);
}

cudaError_t cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
			      size_t height, cudaStream_t stream)
{
	cudaError_t err = rt_enter();

	if (!err && width && height)
		err = rt_error(DRV(cuMemsetD2D8Async(rt_ptr(devPtr), pitch, (unsigned char)value,
						     width, height, (CUstream)stream)));
	return rt_ret(err);
}

cudaError_t cudaMemset2D_ptds(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
	return rt_finish_own_stream(cudaMemset2DAsync(devPtr, pitch, value, width, height,
						   cudaStreamPerThread));
}

/* Fills one rectangle if the slices follow each other without a gap, else one per slice. */
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
			      struct cudaExtent extent, cudaStream_t stream)
{
	char *base = pitchedDevPtr.ptr;
	cudaError_t err = cudaSuccess;
	size_t z;

	if (extent.depth == 1 || extent.height == pitchedDevPtr.ysize)
		return cudaMemset2DAsync(base, pitchedDevPtr.pitch, value, extent.width,
					 extent.height * extent.depth, stream);
	for (z = 0; z < extent.depth && !err; z++)
		err = cudaMemset2DAsync(base + z * pitchedDevPtr.pitch * pitchedDevPtr.ysize,
					pitchedDevPtr.pitch, value, extent.width, extent.height,
					stream);
	return err;
}

/* Fills of device memory are asynchronous in the plain form as well. */
cudaError_t cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
{
	return cudaMemset3DAsync(pitchedDevPtr, value, extent, NULL);
}

cudaError_t cudaMemset3D_ptds(struct cudaPitchedPtr pitchedDevPtr, int value,
			      struct cudaExtent extent)
{
	return rt_finish_own_stream(cudaMemset3DAsync(pitchedDevPtr, value, extent,
						   cudaStreamPerThread));
}
