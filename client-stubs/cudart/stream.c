// SPDX-License-Identifier: Apache-2.0
/*
 * Streams and events whose calls differ between runtime and driver. The other calls are
 * generated.
 */
#include <stdlib.h>

#include "cudart.h"

cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
						cudaGraphInstantiateParams *instantiateParams);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
	cudaError_t err = pStream ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuStreamCreate((CUstream *)pStream, flags)));
	return rt_ret(err);
}

cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
	return cudaStreamCreateWithFlags(pStream, cudaStreamDefault);
}

/* The three streams that are not objects cannot be destroyed. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	cudaError_t err = rt_enter();

	if (!err && (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread))
		err = cudaErrorInvalidResourceHandle;
	if (!err)
		err = rt_error(DRV(cuStreamDestroy((CUstream)stream)));
	return rt_ret(err);
}

cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
	CUdevice dev;
	cudaError_t err = device ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuStreamGetDevice((CUstream)hStream, &dev)));
	if (!err)
		err = rt_ordinal(dev, device);
	return rt_ret(err);
}

/* The runtime's callback takes a cudaError_t, the driver's a CUresult. */
struct callback {
	cudaStreamCallback_t func;
	void *data;
};

static void run_callback(CUstream stream, CUresult status, void *arg)
{
	struct callback cb = *(struct callback *)arg;

	free(arg);
	cb.func((cudaStream_t)stream, rt_error(status), cb.data);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
				  void *userData, unsigned int flags)
{
	cudaError_t err = callback ? rt_enter() : cudaErrorInvalidValue;
	struct callback *cb;

	if (err)
		return rt_ret(err);
	cb = malloc(sizeof(*cb));
	if (!cb)
		return rt_ret(cudaErrorMemoryAllocation);
	cb->func = callback;
	cb->data = userData;
	err = rt_error(DRV(cuStreamAddCallback((CUstream)stream, run_callback, cb, flags)));
	if (err)
		free(cb);
	return rt_ret(err);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	cudaError_t err = event ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuEventCreate((CUevent *)event, flags)));
	return rt_ret(err);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	cudaError_t err = ms ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuEventElapsedTime(ms, (CUevent)start, (CUevent)end)));
	return rt_ret(err);
}

cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
						cudaGraphInstantiateParams *instantiateParams)
{
	if (!instantiateParams)
		return rt_ret(cudaErrorInvalidValue);
	instantiateParams->uploadStream = rt_own_stream(instantiateParams->uploadStream);
	return cudaGraphInstantiateWithParams(pGraphExec, graph, instantiateParams);
}
