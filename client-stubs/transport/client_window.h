/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the windows of this client VM: ivshmem devices whose shared memory is the file
 * resource2 in sysfs. This file knows nothing about attaching.
 */
#ifndef WORMHOLE_CLIENT_WINDOW_H
#define WORMHOLE_CLIENT_WINDOW_H

#include <stdint.h>

#define WH_WINDOW_MAX	16
#define WH_WINDOW_SYSFS	"/sys/bus/pci/devices"

struct wh_window {
	char path[320];
	uint64_t size;
};

/*
 * Lists the windows below the PCI device folder `sysfs`, in the order of their PCI addresses,
 * at most WH_WINDOW_MAX. Returns their number.
 */
int wh_window_list(const char *sysfs, struct wh_window *w);

/*
 * Returns the size of a part, by which the open window file is divided, from the control page
 * of part 0. Errors: WH_ENOENT (no worker has written the page yet), WH_EVERSION, WH_EFAULT (it
 * makes no sense).
 */
int64_t wh_window_part_size(int fd, uint64_t window_size);

#endif
