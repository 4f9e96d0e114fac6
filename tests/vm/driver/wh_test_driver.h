/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface of /dev/wh-test-driver for tests. Page offset KIND of mmap() is one page
 * of a kind.
 */
#ifndef WH_TEST_DRIVER_H
#define WH_TEST_DRIVER_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum wh_test_kind {
	WH_TEST_PFN,		/* remap_pfn_range(), as for registers */
	WH_TEST_PAGE,		/* vm_insert_page(), as for memory that the device reads */
	WH_TEST_WATCHED,	/* pages whose first write the driver wants to know */
	WH_TEST_KINDS
};

/*
 * WH_TEST_PIN pins memory of the caller as for a device's DMA, writes `write` to its
 * first word, and lets it go. EFAULT means that some page of it cannot be pinned.
 */
struct wh_test_pin {
	__u64 va;
	__u64 pages;	/* WH_TEST_MAX_PINS at most */
	__u64 write;
	__u64 read;	/* out: the old word */
	__u64 pa;	/* out: of the first page; the others follow it */
};

#define WH_TEST_MAX_PINS	1024
#define WH_TEST_PIN		_IOWR('t', 1, struct wh_test_pin)

#endif
