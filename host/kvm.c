// SPDX-License-Identifier: Apache-2.0
/*
 * Every ioctl on /dev/kvm and /dev/kvm-wormhole that the command makes. The file holds no
 * state. Each function makes one call and returns its value or -errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "wormhole.h"

static int call(int fd, unsigned long request, void *arg)
{
	int rc = ioctl(fd, request, arg);

	return rc < 0 ? -errno : rc;
}

int wh_kvm_extension(int cap)
{
	int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = ioctl(fd, KVM_CHECK_EXTENSION, cap);
	if (rc < 0)
		rc = -errno;
	close(fd);
	return rc;
}

int wh_control_open(void)
{
	int fd = open(WH_CONTROL_DEVICE, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int wh_control_version(int fd)
{
	return call(fd, WH_HOST_VERSION, NULL);
}

int wh_control_create_role(int fd, uint64_t id, uint32_t role)
{
	struct wh_host_role r = { .vm_id = id, .role = role, .flags = WH_ROLE_NEXT_VM };
	int given = call(fd, WH_HOST_CREATE_ROLE, &r);

	/* The role lasts as long as its descriptor, so the VMM must inherit the descriptor. */
	if (given >= 0 && fcntl(given, F_SETFD, 0)) {
		close(given);
		return -EINVAL;
	}
	return given;
}

int wh_control_allow(int fd, const struct wh_host_allow *allow)
{
	struct wh_host_allow a = *allow;

	return call(fd, WH_HOST_ALLOW, &a);
}

int wh_control_deny(int fd, uint64_t client)
{
	struct wh_host_vm vm = { .vm_id = client };

	return call(fd, WH_HOST_DENY, &vm);
}

int wh_control_kill(int fd, uint64_t id)
{
	struct wh_host_vm vm = { .vm_id = id };

	return call(fd, WH_HOST_KILL, &vm);
}

int wh_control_stat(int fd, uint64_t id, struct wh_host_stat *stat)
{
	memset(stat, 0, sizeof(*stat));
	stat->vm_id = id;
	return call(fd, WH_HOST_STAT, stat);
}

static int explain_open(int err)
{
	switch (-err) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		wh_error("%s is missing; boot a kernel with the series of kvm-patches/ and load kvm_intel",
			 WH_CONTROL_DEVICE);
		break;
	case EACCES:
	case EPERM:
		wh_error("%s: permission denied; run as root with CAP_SYS_ADMIN",
			 WH_CONTROL_DEVICE);
		break;
	default:
		wh_error("%s: %s; see the kernel log", WH_CONTROL_DEVICE, strerror(-err));
	}
	return err;
}

int wh_control_open_checked(void)
{
	int fd = wh_control_open();
	int version;

	if (fd < 0)
		return explain_open(fd);
	version = wh_control_version(fd);
	if (version == WH_ABI_VERSION)
		return fd;
	close(fd);
	if (version == -EPERM)
		return explain_open(version);
	if (version < 0)
		wh_error("%s: %s; is it another driver's device?",
			 WH_CONTROL_DEVICE, strerror(-version));
	else
		wh_error("this kernel speaks ABI %d, this command ABI %d; use both from one release",
			 version, WH_ABI_VERSION);
	return -EPROTO;
}
