/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU of the host that a server VM is to have (gpu.c). */
#ifndef WORMHOLE_HOST_GPU_H
#define WORMHOLE_HOST_GPU_H

#include <stdbool.h>

#define WH_GPU_ADDRESS	24

struct wh_gpu {
	char address[WH_GPU_ADDRESS];
	unsigned int device;	/* PCI's number of the model */
};

/* NVIDIA's display and 3D controllers here, in order of address; at most max of them. */
int wh_gpu_list(struct wh_gpu *list, int max);

/* "0000:65:00.0" or "65:00.0" as sysfs writes it; or -EINVAL. */
int wh_gpu_address(const char *text, char address[WH_GPU_ADDRESS]);

/*
 * Says what is in the way, or binds the GPU to vfio-pci; rebind: also where a driver
 * of the host has it. A dry run only says what would be done. -1 after a message.
 */
int wh_gpu_prepare(const char *address, bool rebind, bool dry_run);

#endif
