/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * A device for tests, which a driver drives as NVIDIA's drives a GPU. It has registers,
 * memory of its own and a ring of commands in system memory, all of them mapped into the
 * process. An engine on another CPU takes commands when the doorbell is written. This
 * file defines what the driver (driver/), the library over it (backend.c) and the engine
 * (engine.c) say to each other.
 */
#ifndef WH_TEST_DEVICE_H
#define WH_TEST_DEVICE_H

#include <linux/types.h>

#define WH_DEV_NODE		"/dev/wh-test-gpu"
#define WH_DEV_SLOT		24		/* of PCI; windows come before it */
#define WH_DEV_BAR_SIZE		0x1000000
#define WH_DEV_MAGIC		0x5550476574736574ULL

/* Offsets in the BAR. */
#define WH_DEV_REGISTERS	0		/* page 0 is read, page 1 has the doorbell */
#define WH_DEV_REGISTERS_SIZE	0x10000
#define WH_DEV_DOORBELL		0x1090		/* u64: number of the last command */
#define WH_DEV_TABLE		0x100000	/* addresses of system memory's pages */
#define WH_DEV_MEMORY		0x200000	/* the device's: u64 for each entry of the ring */
#define WH_DEV_MEMORY_SIZE	0x200000

/* Offsets of mmap(): first the BAR, then the system memory. */
#define WH_DEV_SYSTEM		0x1000000
#define WH_DEV_SYSTEM_SIZE	0x800000
#define WH_DEV_PAGES		(WH_DEV_SYSTEM_SIZE / 4096)

struct wh_dev_table {
	__u64 magic;			/* written last */
	__u64 page[WH_DEV_PAGES];	/* guest-physical */
};

/* Page 0 of the system memory, which the engine writes. */
struct wh_dev_status {
	__u64 completed;		/* number of the last command done, from 1 */
	__u64 result;			/* the sum after it */
	__u64 errors;			/* commands that were not what the doorbell said */
};

/* Each page has few commands, so that the ring walks through all of the memory. */
#define WH_DEV_STRIDE		1024
#define WH_DEV_PER_PAGE		(4096 / WH_DEV_STRIDE)
#define WH_DEV_ENTRIES		((WH_DEV_PAGES - 1) * WH_DEV_PER_PAGE)

/*
 * A command adds to a sum. It is entry number % WH_DEV_ENTRIES; the device's memory has
 * the number as well.
 */
struct wh_dev_command {
	__u64 number;
	__u64 start;		/* where `first`: the sum before it */
	__u64 add;
	__u64 first;
};

#endif
