// SPDX-License-Identifier: Apache-2.0
/*
 * See ipc_files.h. One thread of the worker answers: it looks who asks, reads a
 * number and sends the descriptor that was offered under it. Who asks has to be
 * a worker of the same tenant, as the kernel names its process; and who answers
 * has to be the owner. The thread touches nothing of the session's.
 */
#define _GNU_SOURCE
#include "ipc_files.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_S	3

struct offer {
	uint64_t id[2];
	int fd;
};

static struct {
	pthread_mutex_t lock;	/* of the offers */
	pthread_t thread;
	int listener;		/* 0: not started */
	const struct wh_tenant_usage *usage;
	char name[WH_IPC_NAME];
	struct offer *offer;
	size_t offers;
} files = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool wh_ipc_files_work(void)
{
	static enum { UNKNOWN, YES, NO } works;
	int fd;

	if (works == UNKNOWN) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		works = fd < 0 ? NO : YES;
		if (fd >= 0)
			close(fd);
	}
	return works == YES;
}

/* A name without a file: it is gone with the process. */
static socklen_t address_of(struct sockaddr_un *a, const char name[WH_IPC_NAME])
{
	size_t n = strnlen(name, WH_IPC_NAME - 1);

	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(a->sun_path + 1, name, n);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

static uint32_t peer_of(int conn)
{
	struct ucred cred = { 0 };
	socklen_t n = sizeof(cred);

	return getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &cred, &n) ? 0 : (uint32_t)cred.pid;
}

static void limit_time(int conn)
{
	struct timeval t = { .tv_sec = PATIENCE_S };

	setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(conn, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

/* --- The owner --------------------------------------------------------------------- */

static bool is_ours(uint32_t pid)
{
	int i;

	for (i = 0; pid && i < WH_TENANT_WORKERS; i++)
		if (__atomic_load_n(&files.usage->worker[i].pid, __ATOMIC_ACQUIRE) == pid)
			return true;
	return false;
}

/* With the lock held. */
static struct offer *offer_of(const uint64_t id[2])
{
	size_t i;

	for (i = 0; i < files.offers; i++)
		if (files.offer[i].id[0] == id[0] && files.offer[i].id[1] == id[1])
			return &files.offer[i];
	return NULL;
}

static void send_file(int conn, int fd)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl,
			    .msg_controllen = sizeof(ctl) };

	ctl.hdr.cmsg_level = SOL_SOCKET;
	ctl.hdr.cmsg_type = SCM_RIGHTS;
	ctl.hdr.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&ctl.hdr), &fd, sizeof(fd));
	sendmsg(conn, &m, MSG_NOSIGNAL);
}

static void answer(int conn)
{
	struct offer *o;
	uint64_t id[2];

	limit_time(conn);
	if (!is_ours(peer_of(conn)) || recv(conn, id, sizeof(id), 0) != sizeof(id))
		return;
	pthread_mutex_lock(&files.lock);
	o = offer_of(id);
	if (o)
		send_file(conn, o->fd);
	pthread_mutex_unlock(&files.lock);
}

static void *serve(void *arg)
{
	int listener = (int)(intptr_t)arg, conn;

	/* One that hung up in the queue is no reason to stop; shutdown() is. */
	do {
		conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (conn < 0)
			continue;
		answer(conn);
		close(conn);
	} while (conn >= 0 || errno == EINTR || errno == ECONNABORTED);
	return NULL;
}

static bool start_thread(int listener)
{
	sigset_t all, old;
	int rc;

	/* Signals are for the threads that were here before. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&files.thread, NULL, serve, (void *)(intptr_t)listener);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return !rc;
}

bool wh_ipc_files_start(const struct wh_tenant_usage *u, char name[WH_IPC_NAME])
{
	struct sockaddr_un a;
	uint64_t r[2];
	int fd;

	if (!files.listener) {
		if (getrandom(r, sizeof(r), 0) != sizeof(r))
			return false;
		snprintf(files.name, sizeof(files.name), "wormhole-%016llx%016llx",
			 (unsigned long long)r[0], (unsigned long long)r[1]);
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return false;
		files.usage = u;
		if (bind(fd, (struct sockaddr *)&a, address_of(&a, files.name)) || listen(fd, 16) ||
		    !start_thread(fd)) {
			close(fd);
			return false;
		}
		files.listener = fd;
	}
	memset(name, 0, WH_IPC_NAME);
	memcpy(name, files.name, sizeof(files.name));
	return true;
}

bool wh_ipc_files_offer(const uint64_t id[2], int fd)
{
	struct offer *p;
	bool good = true;

	pthread_mutex_lock(&files.lock);
	if (offer_of(id)) {
		close(fd);
	} else {
		p = realloc(files.offer, (files.offers + 1) * sizeof(*p));
		good = p;
		if (p) {
			files.offer = p;
			p[files.offers++] = (struct offer){ .id = { id[0], id[1] }, .fd = fd };
		}
	}
	pthread_mutex_unlock(&files.lock);
	if (!good)
		close(fd);
	return good;
}

void wh_ipc_files_withdraw(const uint64_t id[2])
{
	struct offer *o;

	pthread_mutex_lock(&files.lock);
	o = offer_of(id);
	if (o) {
		close(o->fd);
		*o = files.offer[--files.offers];
	}
	pthread_mutex_unlock(&files.lock);
}

void wh_ipc_files_stop(void)
{
	if (!files.listener)
		return;
	shutdown(files.listener, SHUT_RDWR);
	pthread_join(files.thread, NULL);
	close(files.listener);
	files.listener = 0;
	while (files.offers)
		close(files.offer[--files.offers].fd);
	free(files.offer);
	files.offer = NULL;
}

/* --- Who asks ---------------------------------------------------------------------- */

static int receive_file(int conn)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl = { 0 };
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl,
			    .msg_controllen = sizeof(ctl) };
	struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(conn, &m, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

int wh_ipc_files_fetch(const char name[WH_IPC_NAME], uint32_t pid, const uint64_t id[2])
{
	int conn = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), fd = -1;
	struct sockaddr_un a;

	if (conn < 0)
		return -1;
	limit_time(conn);
	if (!connect(conn, (struct sockaddr *)&a, address_of(&a, name)) && peer_of(conn) == pid &&
	    send(conn, id, 2 * sizeof(*id), MSG_NOSIGNAL) == 2 * sizeof(*id))
		fd = receive_file(conn);
	close(conn);
	return fd;
}
