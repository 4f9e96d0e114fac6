// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded: a /dev/kvm-wormhole for hosts without one, for the wormhole command up to
 * where it becomes the VMM. FAKE_CONTROL: `none' (it is not there), `old' (of another
 * ABI), `taken' (the id is another VM's). VMs of tests are not noted in /run/wormhole.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wormhole_abi.h"

static int control = -1;

static bool is(const char *how)
{
	const char *asked = getenv("FAKE_CONTROL");

	return asked && !strcmp(asked, how);
}

static int fail(int error)
{
	errno = error;
	return -1;
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	if (strcmp(path, "/dev/kvm-wormhole"))
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (is("none"))
		return fail(ENOENT);
	control = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
	return control;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd != control)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	switch (request) {
	case WH_HOST_VERSION:
		return WH_ABI_VERSION - is("old");
	case WH_HOST_SET_ROLE:
		return is("taken") ? fail(EEXIST) : 0;
	}
	return fail(ENOTTY);
}

int mkdir(const char *path, mode_t mode)
{
	return strcmp(path, "/run/wormhole") ? (int)syscall(SYS_mkdir, path, mode) : fail(EACCES);
}
