// SPDX-License-Identifier: Apache-2.0
/*
 * Hands the arena's file to other processes of the same user. The sockets for it are made
 * when the library is loaded, because a process may have lost the right to make sockets by
 * the time that it shares something. From the first export on a thread answers requests.
 * The kernel tells each side which process sent a packet. A handle names the exporter's
 * process, and a number that completes the address of its socket.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "driver.h"

#define PATIENCE_MS	3000
#define TRIES		16	/* packets of other processes that are ignored */

static struct {
	int answers, asks;	/* sockets; 0: none */
	pid_t pid;		/* the process that made the sockets: a child has none of its own */
	uint32_t number;
	int file;
	bool started;
	pthread_mutex_t asking;
} ipc = { .asking = PTHREAD_MUTEX_INITIALIZER };

static socklen_t address_of(struct sockaddr_un *a, pid_t pid, uint32_t number)
{
	int n;

	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "softgpu-%d-%08x", pid, number);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

static int open_socket(const struct sockaddr_un *a, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) &&
	    !bind(fd, (const struct sockaddr *)a, size))
		return fd;
	if (fd >= 0)
		close(fd);
	return 0;
}

__attribute__((constructor)) static void open_sockets(void)
{
	struct sockaddr_un a, any = { .sun_family = AF_UNIX };

	ipc.pid = getpid();
	if (getrandom(&ipc.number, sizeof(ipc.number), 0) != sizeof(ipc.number))
		return;
	ipc.answers = open_socket(&a, address_of(&a, ipc.pid, ipc.number));
	ipc.asks = open_socket(&any, sizeof(any.sun_family));
}

/* ---- packets: one byte, the sender's identity, and optionally a file ---- */

union control {
	struct cmsghdr hdr;
	char buf[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
};

struct packet {
	struct ucred from;
	int file;		/* -1: none */
	struct sockaddr_un a;
	socklen_t size;
};

static void take(struct packet *p, const struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int), i;
	int fd;

	if (c->cmsg_level != SOL_SOCKET)
		return;
	if (c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len == CMSG_LEN(sizeof(p->from)))
		memcpy(&p->from, CMSG_DATA(c), sizeof(p->from));
	for (i = 0; c->cmsg_type == SCM_RIGHTS && i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (p->file < 0)
			p->file = fd;
		else
			close(fd);
	}
}

static bool receive(int fd, struct packet *p, int flags)
{
	union control ctl = { 0 };
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_name = &p->a, .msg_namelen = sizeof(p->a), .msg_iov = &iov,
			    .msg_iovlen = 1, .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	struct cmsghdr *c;

	p->file = -1;
	p->from = (struct ucred){ .uid = (uid_t)-1 };
	if (recvmsg(fd, &m, MSG_CMSG_CLOEXEC | flags) < 0)
		return false;
	for (c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		take(p, c);
	p->size = m.msg_namelen;
	return true;
}

static bool send_file(int fd, const struct sockaddr_un *a, socklen_t size, int file)
{
	union control ctl = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_name = (void *)a, .msg_namelen = size, .msg_iov = &iov,
			    .msg_iovlen = 1 };

	if (file >= 0) {
		m.msg_control = &ctl;
		m.msg_controllen = CMSG_SPACE(sizeof(int));
		ctl.hdr.cmsg_level = SOL_SOCKET;
		ctl.hdr.cmsg_type = SCM_RIGHTS;
		ctl.hdr.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ctl.hdr), &file, sizeof(file));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/* ---- the process that has the file ---- */

static void *serve(void *arg)
{
	struct packet p;

	for (;;) {
		if (!receive(ipc.answers, &p, 0))
			continue;
		if (p.file >= 0)
			close(p.file);
		if (p.from.uid == geteuid())
			send_file(ipc.answers, &p.a, p.size, ipc.file);
	}
	return arg;
}

bool sgpu_ipc_offer(int file, uint32_t *number)
{
	sigset_t all, old;
	pthread_t t;

	if (!ipc.answers || ipc.pid != getpid())
		return false;
	if (!ipc.started) {
		ipc.file = file;
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		ipc.started = !pthread_create(&t, NULL, serve, NULL);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		if (ipc.started)
			pthread_detach(t);
	}
	*number = ipc.number;
	return ipc.started;
}

/* ---- the process that wants the file ---- */

static int ask(pid_t pid, uint32_t number)
{
	struct pollfd wait = { .fd = ipc.asks, .events = POLLIN };
	struct sockaddr_un a;
	socklen_t size = address_of(&a, pid, number);
	struct packet p;
	int i;

	/* Discard late answers to earlier requests. */
	while (receive(ipc.asks, &p, MSG_DONTWAIT))
		if (p.file >= 0)
			close(p.file);
	if (!send_file(ipc.asks, &a, size, -1))
		return -1;
	for (i = 0; i < TRIES && poll(&wait, 1, PATIENCE_MS) == 1; i++) {
		if (!receive(ipc.asks, &p, MSG_DONTWAIT))
			continue;
		if (p.from.pid == pid && p.from.uid == geteuid())
			return p.file;
		if (p.file >= 0)
			close(p.file);
	}
	return -1;
}

int sgpu_ipc_fetch(pid_t pid, uint32_t number)
{
	int fd;

	if (!ipc.asks || ipc.pid != getpid())
		return -1;
	pthread_mutex_lock(&ipc.asking);
	fd = ask(pid, number);
	pthread_mutex_unlock(&ipc.asking);
	return fd;
}
