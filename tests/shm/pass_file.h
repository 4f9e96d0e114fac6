/* SPDX-License-Identifier: Apache-2.0 */
/* Passes descriptors between the processes of a test. */
#ifndef WORMHOLE_TESTS_SHM_PASS_FILE_H
#define WORMHOLE_TESTS_SHM_PASS_FILE_H

#include <string.h>
#include <sys/socket.h>

static inline void send_file(int conn, int fd)
{
	char buf[CMSG_SPACE(sizeof(fd))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = buf,
			    .msg_controllen = sizeof(buf) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	sendmsg(conn, &m, 0);
}

/* Returns -1 where none comes. */
static inline int receive_file(int conn)
{
	char buf[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = buf,
			    .msg_controllen = sizeof(buf) };
	int fd = -1;

	if (recvmsg(conn, &m, 0) == 1 && m.msg_controllen)
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

#endif
