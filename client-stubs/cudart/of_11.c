// SPDX-License-Identifier: Apache-2.0
/*
 * What libcudart.so.11.0 has in another shape than libcudart.so.12. of_11_NAME is exported as
 * NAME, and what 13 calls NAME gets another name then (cuda-api/runtime_11.txt). So a call of NAME
 * here is one of 13's function.
 */
#include <string.h>

#include "of_11.h"
#include "of_12.h"

/* The sizes in 11. What is before has the same layout in 13. */
#define ATTRIBUTES_SIZE	52	/* struct cudaFuncAttributes, without the padding at its end */
#define TEXTURE_SIZE	68	/* struct cudaTextureDesc */

_Static_assert(offsetof(struct cudaFuncAttributes, clusterDimMustBeSet) == ATTRIBUTES_SIZE,
	       "attributes");
_Static_assert(offsetof(struct cudaTextureDesc, seamlessCubemap) == TEXTURE_SIZE, "texture");

/* --- The driver's functions: one that is not there is an error ------------------------------- */

static cudaError_t found(cudaError_t err, enum cudaDriverEntryPointQueryResult status)
{
	if (!err && status != cudaDriverEntryPointSuccess)
		err = cudaErrorSymbolNotFound;
	return rt_ret(err);
}

cudaError_t of_11_cudaGetDriverEntryPoint(const char *symbol, void **func,
					  unsigned long long flags)
{
	enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
	cudaError_t err = cudaGetDriverEntryPoint(symbol, func, flags, &status);

	return found(err, status);
}

cudaError_t of_11_cudaGetDriverEntryPoint_ptsz(const char *symbol, void **func,
					       unsigned long long flags)
{
	enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
	cudaError_t err = cudaGetDriverEntryPoint_ptsz(symbol, func, flags, &status);

	return found(err, status);
}

/* --- Graphs ---------------------------------------------------------------------------------- */

/* The driver has no text about an error any more, only the node: the text is empty. */
cudaError_t of_11_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
				       cudaGraphNode_t *error_node, char *log, size_t size)
{
	cudaGraphInstantiateParams params = { 0 };
	cudaError_t err = cudaGraphInstantiateWithParams(exec, graph, &params);

	if (log && size)
		*log = 0;
	if (err && error_node && params.errNode_out)
		*error_node = params.errNode_out;
	return err;
}

cudaError_t of_11_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
				      cudaGraphNode_t *error_node,
				      enum cudaGraphExecUpdateResult *result)
{
	cudaGraphExecUpdateResultInfo info = { .result = cudaGraphExecUpdateError };
	cudaError_t err;

	if (!error_node || !result)
		return rt_ret(cudaErrorInvalidValue);
	err = cudaGraphExecUpdate(exec, graph, &info);
	*error_node = info.errorNode;
	*result = info.result;
	return err;
}

/* --- Structs that became longer at their end -------------------------------------------------- */

cudaError_t of_11_cudaChooseDevice(int *device, const void *prop)
{
	char of_12[PROP_SIZE_12] = { 0 };

	if (prop)
		memcpy(of_12, prop, PROP_SIZE_11);
	return of_12_cudaChooseDevice(device, prop ? of_12 : NULL);
}

cudaError_t of_11_cudaFuncGetAttributes(void *attributes, const void *func)
{
	struct cudaFuncAttributes a;
	cudaError_t err;

	if (!attributes)
		return rt_ret(cudaErrorInvalidValue);
	err = cudaFuncGetAttributes(&a, func);
	if (!err)
		memcpy(attributes, &a, ATTRIBUTES_SIZE);
	return err;
}

cudaError_t of_11_cudaCreateTextureObject(cudaTextureObject_t *object,
					  const struct cudaResourceDesc *res, const void *tex,
					  const struct cudaResourceViewDesc *view)
{
	struct cudaTextureDesc of_13 = { 0 };

	if (tex)
		memcpy(&of_13, tex, TEXTURE_SIZE);
	return cudaCreateTextureObject(object, res, tex ? &of_13 : NULL, view);
}

/* 13 reads only those fields of a resource that 11 has. */
cudaError_t of_11_cudaCreateTextureObject_v2(cudaTextureObject_t *object,
					     const struct cudaResourceDesc *res,
					     const struct cudaTextureDesc *tex,
					     const struct cudaResourceViewDesc *view)
{
	return cudaCreateTextureObject(object, res, tex, view);
}

cudaError_t of_11_cudaGetTextureObjectTextureDesc(void *desc, cudaTextureObject_t object)
{
	struct cudaTextureDesc d;
	cudaError_t err;

	if (!desc)
		return rt_ret(cudaErrorInvalidValue);
	err = cudaGetTextureObjectTextureDesc(&d, object);
	if (!err)
		memcpy(desc, &d, TEXTURE_SIZE);
	return err;
}
