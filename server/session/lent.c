// SPDX-License-Identifier: Apache-2.0
/*
 * Files that the client has lent (daemon/lend.c): shared maps of the program's, which it registers.
 * The server has found each to be the kernel's own memory, so to close it waits for nobody. Their
 * owners may truncate them at any time. What the driver has pinned stays; this process ends if it
 * touches what is gone, as the program itself would.
 */
#define _GNU_SOURCE
#include "session/handler.h"
#include "session/session.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void wh_session_lent(struct wh_session *s, int from)
{
	s->lent = from;
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
static int take(int from, uint32_t wanted)
{
	uint32_t number;
	int fd;

	if (from <= 0)
		return -1;
	while ((fd = next(from, &number)) >= 0 && number != wanted)
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

/* Pages that there is no room for fail here, and not at a copy. An older kernel cannot ask. */
static bool fill(void *p, size_t size)
{
	return !madvise(p, size, MADV_POPULATE_WRITE) || errno == EINVAL;
}

bool wh_lent_map(struct wh_session *s, const struct wh_host_block *b, uint32_t number,
		 uint64_t offset)
{
	int fd = take(s->lent, number);
	void *at = (void *)b->at;
	bool good;

	if (fd < 0)
		return false;
	good = has(fd, offset, b->size) &&
	       mmap(at, b->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		    (off_t)offset) == at;
	close(fd);
	if (good && fill(at, b->size))
		return true;
	if (good)
		wh_host_nothing(b->at, b->size);
	return false;
}
