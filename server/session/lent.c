// SPDX-License-Identifier: Apache-2.0
/*
 * Files that the client has lent (daemon/lend.c): shared maps of the program's, which it registers.
 * The server has found each to be the kernel's own memory, so to close it waits for nobody. Their
 * owners may truncate them at any time. What the driver has pinned stays; this process ends if it
 * touches what is gone, as the program itself would.
 *
 * It never makes a page of such a file, also not where the client takes one out: the kernel would
 * charge it to the worker, and the client would keep it when nobody is charged for it any more. A
 * page that the file lacks is for this process as if it were behind the file's end (userfaultfd).
 * The client makes all pages before it lends the file.
 */
#define _GNU_SOURCE
#include "session/handler.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "populate.h"

#ifndef UFFD_USER_MODE_ONLY	/* since Linux 5.11; any user may ask for it */
#define UFFD_USER_MODE_ONLY 1
#endif

/* Nobody answers for missing pages: they are SIGBUS, and an error for the driver. -1: not here. */
static int open_holes(void)
{
	struct uffdio_api api = {
		.api = UFFD_API, .features = UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_SIGBUS,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd < 0 || !ioctl(fd, UFFDIO_API, &api))
		return fd;
	close(fd);
	return -1;
}

/* Called before the filter of system calls. Without the kernel's help no file can be lent. */
void wh_session_lent(struct wh_session *s, int from)
{
	int holes = from > 0 ? open_holes() : -1;

	if (s->lent > 0)
		close(s->holes);
	s->lent = holes < 0 ? 0 : from;
	s->holes = holes;
}

static bool leave_holes(const struct wh_session *s, const struct wh_host_block *b)
{
	struct uffdio_register r = {
		.range = { .start = b->at, .len = b->size }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	return !ioctl(s->holes, UFFDIO_REGISTER, &r);
}

/* Receives the next file, without waiting. -1: there is none. */
static int next(int from, uint32_t *number)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl = { 0 };
	struct iovec iov = { number, sizeof(*number) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	const struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof(*number))
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* Others that come before were lent to no end: their client did not ask for them. */
int wh_lent_take(struct wh_session *s, uint32_t wanted)
{
	uint32_t number;
	int fd;

	if (s->lent <= 0)
		return -1;
	while ((fd = next(s->lent, &number)) >= 0 && number != wanted)
		close(fd);
	return fd;
}

/* Are these pages of the file, but for the rest of its last page? */
static bool has(int fd, uint64_t offset, uint64_t size)
{
	struct stat st;
	uint64_t end;

	return !fstat(fd, &st) && !__builtin_add_overflow(offset, size, &end) &&
	       end <= (((uint64_t)st.st_size + WH_PAGE_SIZE - 1) & -(uint64_t)WH_PAGE_SIZE);
}

/* Pages that are missing fail here, and not at a copy. An older kernel cannot ask. */
static bool are_there(void *p, size_t size)
{
	return !madvise(p, size, MADV_POPULATE_WRITE) || errno == EINVAL;
}

bool wh_lent_map(struct wh_session *s, const struct wh_host_block *b, int fd, uint64_t offset)
{
	void *at = (void *)b->at;
	/* Nothing can touch it before missing pages stay missing. */
	bool good = has(fd, offset, b->size) &&
		    mmap(at, b->size, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) == at &&
		    leave_holes(s, b) && !mprotect(at, b->size, PROT_READ | PROT_WRITE);

	if (good && are_there(at, b->size))
		return true;
	/* A map that fails, as of a sealed file, may leave nothing where the claim was. */
	wh_host_nothing(b->at, b->size);
	return false;
}
