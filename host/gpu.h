/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs of the host for a server VM (gpu.c). */
#ifndef WORMHOLE_HOST_GPU_H
#define WORMHOLE_HOST_GPU_H

#include <stdbool.h>

#define WH_GPU_ADDRESS	24
#define WH_GPUS		16	/* of one server VM */

/* The GPUs that a server VM gets, by their addresses in sysfs, each once. */
struct wh_gpus {
	char address[WH_GPUS][WH_GPU_ADDRESS];
	int n;
};

struct wh_gpu {
	char address[WH_GPU_ADDRESS];
	unsigned int device;	/* the model's PCI number */
};

/* Lists NVIDIA's display and 3D controllers of this machine by address, at most @max of them. */
int wh_gpu_list(struct wh_gpu *list, int max);

/* Converts "0000:65:00.0" or "65:00.0" to the form in sysfs. Returns -EINVAL for other texts. */
int wh_gpu_address(const char *text, char address[WH_GPU_ADDRESS]);

/*
 * Binds the GPUs to vfio-pci, or says what prevents it for any of them and binds none. With
 * @rebind it also takes them from drivers of the host. A dry run only says what would be done.
 * Returns -1 after a message.
 */
int wh_gpus_prepare(const struct wh_gpus *gpus, bool rebind, bool dry_run);

#endif
