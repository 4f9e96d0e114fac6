// SPDX-License-Identifier: Apache-2.0
/*
 * Owns sched_yield() and mmap() for the backend: libraries that the worker loads find these first,
 * because the worker exports them. Threads that are no slot's threads get what the C library does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "state/messages.h"
#include "vm/interpose.h"
#include "window.h"

static __thread int slot_thread;
static int server_device = -1;	/* /dev/wormhole-server, from wh_interpose_devices() on */

/* On a slot's thread a system call would be a handoff, and nobody waits for a slot's CPU. */
int sched_yield(void)
{
	if (!slot_thread)
		return (int)syscall(SYS_sched_yield);
	__builtin_ia32_pause();
	return 0;
}

static int is_device(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && S_ISCHR(st.st_mode);
}

/*
 * A driver has made a mapping. The call has left its view for that anyway. The next calls must not,
 * so the view gets the pages now.
 */
static void show_devices(void)
{
	int old = errno;

	if (ioctl(server_device, WH_SRV_DEVICES))
		fprintf(wh_messages(), "error: a driver's mapping is not in the client's view: %s\n",
			strerror(errno));
	errno = old;
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, offset);

	if (p != MAP_FAILED && server_device >= 0 && is_device(fd))
		show_devices();
	return p;
}

void *mmap64(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

void wh_interpose_devices(int fd)
{
	server_device = fd;
}

void wh_interpose_slot_thread(void)
{
	slot_thread = 1;
}

int wh_interpose_is_slot_thread(void)
{
	return slot_thread;
}
