/* SPDX-License-Identifier: Apache-2.0 */
/* The cuPointerGetAttributes() of a driver that knows one range: DEVICE_SIZE bytes at DEVICE. */
#ifndef WORMHOLE_TESTS_ONE_RANGE_H
#define WORMHOLE_TESTS_ONE_RANGE_H

static CUresult attributes(unsigned int n, CUpointer_attribute *which, void **to, CUdeviceptr p)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (p - DEVICE >= DEVICE_SIZE)
			*(uint32_t *)to[i] = 0;
		else if (which[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
			*(uint32_t *)to[i] = CU_MEMORYTYPE_DEVICE;
		else if (which[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
			*(uint64_t *)to[i] = DEVICE;
		else if (which[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
			*(uint64_t *)to[i] = DEVICE_SIZE;
	return CUDA_SUCCESS;
}

#endif
