/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Caffe 1.0 asks of CUDA and protobuf and what newer ones no longer have.
 *
 * The build passes this file to each source by -include, so that no line of Caffe changes.
 */
#ifndef WH_BENCH_CAFFE_COMPAT_H
#define WH_BENCH_CAFFE_COMPAT_H

#ifdef __cplusplus
#include <cuda_runtime_api.h>
#include <google/protobuf/io/coded_stream.h>

/* CUDA 13 took three members away from the properties. They are attributes of a device now. */
struct caffe_device_prop : cudaDeviceProp {
	int clockRate; /* kHz */
	int deviceOverlap;
	int kernelExecTimeoutEnabled;
};

/* Fills in CUDA's properties and the three. Returns the first error. */
static inline cudaError_t cudaGetDeviceProperties(struct caffe_device_prop *prop, int device)
{
	cudaError_t r = cudaGetDeviceProperties(static_cast<cudaDeviceProp *>(prop), device);

	if (r == cudaSuccess)
		r = cudaDeviceGetAttribute(&prop->clockRate, cudaDevAttrClockRate, device);
	if (r == cudaSuccess)
		r = cudaDeviceGetAttribute(&prop->deviceOverlap, cudaDevAttrGpuOverlap, device);
	if (r == cudaSuccess)
		r = cudaDeviceGetAttribute(&prop->kernelExecTimeoutEnabled,
					   cudaDevAttrKernelExecTimeout, device);
	return r;
}
#define cudaDeviceProp caffe_device_prop

/* protobuf 3.6 took away the second limit, at which it only warned. */
#define SetTotalBytesLimit(limit, warn_at) SetTotalBytesLimit(limit)
#endif

#endif
