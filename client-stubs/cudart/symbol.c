// SPDX-License-Identifier: Apache-2.0
/*
 * Variables of the device code by their host-side symbols: address, size, and copies to and
 * from them. This file checks the bounds; copy.c makes the copies.
 */
#include "cudart.h"

cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *src, size_t count,
				    size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromSymbol_ptds(void *dst, const void *symbol, size_t count, size_t offset,
				      enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy_ptds(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind);

/* Finds the bytes [offset, offset + count) of a variable. */
static cudaError_t part(const void *symbol, size_t offset, size_t count, void **addr)
{
	CUdeviceptr base;
	size_t size;
	cudaError_t err = rt_symbol(symbol, &base, &size);

	if (err)
		return err;
	if (offset > size || count > size - offset)
		return cudaErrorInvalidValue;
	*addr = (void *)(uintptr_t)(base + offset);
	return cudaSuccess;
}

static bool to_device(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
	       kind == cudaMemcpyDefault;
}

static bool from_device(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
	       kind == cudaMemcpyDefault;
}

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
	return rt_ret(devPtr ? part(symbol, 0, 0, devPtr) : cudaErrorInvalidValue);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
	CUdeviceptr base;

	return rt_ret(size ? rt_symbol(symbol, &base, size) : cudaErrorInvalidValue);
}

cudaError_t rt_to_symbol(const void *symbol, size_t count, size_t offset,
			 enum cudaMemcpyKind kind, void **addr)
{
	if (!to_device(kind))
		return rt_ret(cudaErrorInvalidMemcpyDirection);
	return rt_ret(part(symbol, offset, count, addr));
}

cudaError_t rt_from_symbol(const void *symbol, size_t count, size_t offset,
			   enum cudaMemcpyKind kind, void **addr)
{
	if (!from_device(kind))
		return rt_ret(cudaErrorInvalidMemcpyDirection);
	return rt_ret(part(symbol, offset, count, addr));
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
			       enum cudaMemcpyKind kind)
{
	void *addr;
	cudaError_t err = rt_to_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaMemcpy(addr, src, count, kind);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
				    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *addr;
	cudaError_t err = rt_to_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaMemcpyAsync(addr, src, count, kind, stream);
}

cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *src, size_t count,
				    size_t offset, enum cudaMemcpyKind kind)
{
	void *addr;
	cudaError_t err = rt_to_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaMemcpy_ptds(addr, src, count, kind);
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
				 enum cudaMemcpyKind kind)
{
	void *addr;
	cudaError_t err = rt_from_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaMemcpy(dst, addr, count, kind);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
				      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *addr;
	cudaError_t err = rt_from_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaMemcpyAsync(dst, addr, count, kind, stream);
}

cudaError_t cudaMemcpyFromSymbol_ptds(void *dst, const void *symbol, size_t count, size_t offset,
				      enum cudaMemcpyKind kind)
{
	void *addr;
	cudaError_t err = rt_from_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaMemcpy_ptds(dst, addr, count, kind);
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
						   enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc) { .x = x, .y = y, .z = z, .w = w, .f = f };
}
