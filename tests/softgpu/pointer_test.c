// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that an attribute of a pointer is written in the width that cuda.h gives it,
 * whatever memory the pointer is to, so that nothing beside the answer changes.
 */
#include <cuda.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

#define BESIDE	0xa5

/* The width of an attribute in bytes. */
static size_t width(int a)
{
	switch (a) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return 4;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		return 1;
	}
	return 8;
}

/* Counts the attributes whose answer does not end where it should. */
static int wrong_widths(const void *p)
{
	CUpointer_attribute a;
	uint8_t answer[32];
	void *out = answer;
	int wrong = 0;
	size_t i;

	for (a = 1; a <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE; a++) {
		if (a == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
			continue;
		memset(answer, BESIDE, sizeof(answer));
		if (cuPointerGetAttributes(1, &a, &out, (CUdeviceptr)p)) {
			printf("# attribute %d is refused\n", a);
			wrong++;
			continue;
		}
		for (i = sizeof(answer); i && answer[i - 1] == BESIDE; i--)
			;
		if (i == width(a))
			continue;
		printf("# attribute %d has %zu bytes\n", a, i);
		wrong++;
	}
	return wrong;
}

int main(void)
{
	CUpointer_attribute tokens = CU_POINTER_ATTRIBUTE_P2P_TOKENS;
	CUdeviceptr device, managed;
	void *host, *out;
	CUcontext ctx;
	int local;

	tap_plan(5);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cuMemAlloc(&device, 100) || cuMemAllocHost(&host, 100) ||
	    cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL))
		return 1;
	ok_eq(wrong_widths(&local), 0, "answers_about_unknown_memory_have_their_width");
	ok_eq(wrong_widths((void *)device), 0, "answers_about_device_memory_have_their_width");
	ok_eq(wrong_widths(host), 0, "answers_about_pinned_memory_have_their_width");
	ok_eq(wrong_widths((void *)managed), 0, "answers_about_managed_memory_have_their_width");
	out = host;
	ok_eq(cuPointerGetAttributes(1, &tokens, &out, (CUdeviceptr)&local),
	      CUDA_ERROR_NOT_SUPPORTED, "tokens_of_peers_are_refused_for_any_pointer");
	return tap_exit();
}
