// SPDX-License-Identifier: Apache-2.0
/*
 * wormhole-supervisor on a machine that is no server VM. It has the same source, but role
 * and device answer as the tests want. There are FAKE_WINDOWS windows of 8 MiB.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#define WORMHOLE_HYPERCALL_H
#include "window.h"

static uint32_t wh_detect(uint32_t *version)
{
	*version = WH_ABI_VERSION;
	return WH_ROLE_SERVER;
}

static int fake_ioctl(int fd, unsigned long request, struct wh_srv_info *info)
{
	unsigned int i;

	(void)fd;
	if (request != WH_SRV_INFO)
		return -1;
	info->abi_version = WH_ABI_VERSION;
	info->windows = (uint32_t)atoi(getenv("FAKE_WINDOWS"));
	for (i = 0; i < info->windows; i++)
		info->window_size[i] = 8 << 20;
	return 0;
}

#include <sys/ioctl.h>
#define ioctl fake_ioctl
#include "vm/supervisor.c"
