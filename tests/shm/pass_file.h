/* SPDX-License-Identifier: Apache-2.0 */
/* A test's other process, and descriptors between the two. */
#ifndef WORMHOLE_TESTS_SHM_PASS_FILE_H
#define WORMHOLE_TESTS_SHM_PASS_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Executes this program anew with the words "--peer" and its end of the connection. */
static inline pid_t start_peer(int *conn)
{
	char number[16];
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		exit(1);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(pair[0]);
		snprintf(number, sizeof(number), "%d", pair[1]);
		execl("/proc/self/exe", "peer", "--peer", number, (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	*conn = pair[0];
	return pid;
}

#endif
