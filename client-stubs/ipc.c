// SPDX-License-Identifier: Apache-2.0
/*
 * Memory and events of other processes. The worker does it all; here it is only
 * remembered which addresses are the device's, for copies and attributes.
 */
#include "client.h"

CUresult cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
	return cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

void wh_after_cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
	CUdeviceptr base;
	size_t size;

	(void)handle;
	(void)Flags;
	if (wh_raw_cuMemGetAddressRange_v2(&base, &size, *pdptr) == CUDA_SUCCESS)
		wh_range_add(*pdptr, size - (*pdptr - base));
}

/* Opened twice, it has to be closed twice: until then the address is still good. */
void wh_after_cuIpcCloseMemHandle(CUdeviceptr dptr)
{
	CUdeviceptr base;
	size_t size;

	if (wh_raw_cuMemGetAddressRange_v2(&base, &size, dptr) != CUDA_SUCCESS)
		wh_range_remove(dptr);
}
