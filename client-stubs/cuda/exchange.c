// SPDX-License-Identifier: Apache-2.0
/*
 * Puts a copy of pages in their place, while the program's threads use them. Writers are held off
 * if the kernel has userfaultfd.
 */
#define _GNU_SOURCE
#include "exchange.h"
#include "stack.h"
#include "window.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/*
 * Whoever writes to the pages waits until the descriptor is closed, and then finds what is
 * mapped there. -1: the kernel does not offer it.
 */
static int hold_writers(const struct wh_exchange *e)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register reg = { .range = { (uintptr_t)e->low, e->size },
				       .mode = UFFDIO_REGISTER_MODE_WP };
	struct uffdio_writeprotect wp = { .range = reg.range, .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	/* One for user mode alone makes others' system calls fail that write there. */
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (fd < 0)
		return -1;
	/* A page that does not exist yet cannot be protected. */
	madvise(e->low, e->size, MADV_POPULATE_READ);
	if (ioctl(fd, UFFDIO_API, &api) == 0 && ioctl(fd, UFFDIO_REGISTER, &reg) == 0 &&
	    ioctl(fd, UFFDIO_WRITEPROTECT, &wp) == 0)
		return fd;
	close(fd);
	return -1;
}

static void merge(uint8_t *to, const uint8_t *from, const uint8_t *was, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (from[i] != was[i])
			to[i] = from[i];
}

/*
 * Copies the pages. Those that may only be read may lie behind the end of their file, so the kernel
 * reads them: false, and this process does not end.
 */
static bool copy(const struct wh_exchange *e)
{
	size_t done = 0;
	ssize_t n = 1;
	int fd;

	if (e->was)
		merge(e->to, e->low, e->was, e->size);
	else if (!e->constant)
		memcpy(e->to, e->low, e->size);
	if (e->seen)
		memcpy(e->seen, e->to, e->size);
	if (!e->constant)
		return true;
	fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n > 0 && done < e->size) {
		n = pread(fd, e->to + done, e->size - done, (uintptr_t)e->low + done);
		done += n > 0 ? n : 0;
	}
	if (fd >= 0)
		close(fd);
	return done == e->size;
}

static bool exchange(void *arg)
{
	const struct wh_exchange *e = arg;
	int fd = e->constant ? -1 : hold_writers(e);
	bool done;

	done = copy(e) && (!e->constant || !mprotect(e->from, e->size, PROT_READ)) &&
	       mremap(e->from, e->old_size, e->size, MREMAP_MAYMOVE | MREMAP_FIXED, e->low) ==
	       e->low;
	if (done)
		madvise(e->low, e->size, MADV_DOFORK);
	if (fd >= 0)
		close(fd);
	return done;
}

bool wh_exchange_holds(uint8_t *low, size_t size)
{
	struct wh_exchange e = { .size = WH_PAGE_SIZE };
	int fd = -1;

	if (!wh_stack_is_a_threads(low, size))
		return true;
	/* This thread must not hold off itself, so another page is tried. */
	e.low = mmap(NULL, e.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (e.low == MAP_FAILED)
		return false;
	*e.low = 0;
	fd = hold_writers(&e);
	if (fd >= 0)
		close(fd);
	munmap(e.low, e.size);
	return fd >= 0;
}

bool wh_exchange(struct wh_exchange *e)
{
	return wh_stack_uses(e->low, e->size) ? wh_stack_aside(exchange, e) : exchange(e);
}
