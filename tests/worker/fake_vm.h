/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker's source finds of a server VM on a machine that is none. The includer defines
 * take_call(), which runs in place of TAKE, and includes vm/worker.c behind this.
 */
#ifndef WORMHOLE_FAKE_VM_H
#define WORMHOLE_FAKE_VM_H

#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define WORMHOLE_HYPERCALL_H
#include "window.h"

struct wh_leaf {
	__u64 arg[5];
	__u64 rbx, rcx, rdx;
};

static uint32_t wh_detect(__u32 *version)
{
	*version = WH_ABI_VERSION;
	return WH_ROLE_SERVER;
}

static const char *wh_strerror(__s64 status)
{
	return status ? "fake error" : "no error";
}

static __s64 take_call(__u64 slot);

static __s64 wh_hypercall(__u32 leaf, struct wh_leaf *l)
{
	if (leaf == WH_LEAF_VERSION) {
		l->rdx = WH_MAX_SLOTS;
		return WH_OK;
	}
	return leaf == WH_LEAF_TAKE ? take_call(l->arg[0]) : WH_ENOSYS;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	struct wh_srv_info *info = arg;

	(void)fd;
	if (request != WH_SRV_INFO)
		return 0;
	info->abi_version = WH_ABI_VERSION;
	info->windows = 2;
	info->window_size[0] = info->window_size[1] = 4 << 20;
	return 0;
}

#define ioctl	fake_ioctl
/* REGISTER, SLOT and WAIT become a system call that answers 0. */
#undef SYS_ioctl
#define SYS_ioctl SYS_sched_yield

#endif
