// SPDX-License-Identifier: Apache-2.0
/*
 * See ipc_files.h. There are two datagram sockets, made before the process loses the right to make
 * any: a thread answers on the one, and we ask on the other. The thread checks the sender, reads a
 * number and sends the descriptor that was offered under it. The sender must be a worker of the
 * same tenant, by the process that the kernel names, and the answer must come from the owner. The
 * thread touches nothing of the session.
 */
#define _GNU_SOURCE
#include "limits/ipc_files.h"
#include "tenant/clock.h"
#include "tenant/send.h"

#include <poll.h>
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
	pthread_mutex_t lock;	/* protects the offers */
	pthread_mutex_t asking;
	pthread_t thread;
	bool started, stop;
	int answers, asks;	/* sockets; 0: not made */
	const struct wh_tenant_usage *usage;
	char name[WH_IPC_NAME];
	struct offer *offer;
	size_t offers;
} files = { .lock = PTHREAD_MUTEX_INITIALIZER, .asking = PTHREAD_MUTEX_INITIALIZER };

/* Makes the address from a name without a file, which is gone with the process. */
static socklen_t address_of(struct sockaddr_un *a, const char name[WH_IPC_NAME])
{
	size_t n = strnlen(name, WH_IPC_NAME - 1);

	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(a->sun_path + 1, name, n);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

/* Makes the kernel name the sender of each packet, and limits how long a send may wait. */
static bool tune(int fd)
{
	struct timeval t = { .tv_sec = PATIENCE_S };
	int on = 1;

	return !setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) &&
	       !setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

static int open_socket(const char *name)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	/* Without a name the kernel chooses one. */
	socklen_t n = name ? address_of(&a, name) : sizeof(a.sun_family);

	if (fd >= 0 && tune(fd) && !bind(fd, (struct sockaddr *)&a, n))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool open_sockets(void)
{
	uint64_t r[2];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		return false;
	snprintf(files.name, sizeof(files.name), "wormhole-%016llx%016llx",
		 (unsigned long long)r[0], (unsigned long long)r[1]);
	files.answers = open_socket(files.name);
	files.asks = files.answers < 0 ? -1 : open_socket(NULL);
	if (files.asks >= 0)
		return true;
	if (files.answers >= 0)
		close(files.answers);
	files.answers = files.asks = 0;
	return false;
}

bool wh_ipc_files_work(void)
{
	static enum { UNKNOWN, YES, NO } works;

	if (works == UNKNOWN || (works == YES && !files.answers))
		works = open_sockets() ? YES : NO;
	return works == YES;
}

/* --- Packets ----------------------------------------------------------------------- */

struct packet {
	uint64_t id[2];
	uint32_t pid;		/* who sent it; 0: nobody knows */
	int fd;			/* -1: none */
	struct sockaddr_un from;
	socklen_t from_size;
};

/* Takes the first descriptor of a packet. There should be no more; others are closed. */
static void take_files(struct packet *p, const struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int), i;
	int fd;

	for (i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (p->fd < 0)
			p->fd = fd;
		else
			close(fd);
	}
}

static void take_sender(struct packet *p, const struct cmsghdr *c)
{
	struct ucred cred;

	if (c->cmsg_len != CMSG_LEN(sizeof(cred)))
		return;
	memcpy(&cred, CMSG_DATA(c), sizeof(cred));
	p->pid = (uint32_t)cred.pid;
}

/* False: the packet is not one of ours; descriptors that came with it are closed. */
static bool receive(int fd, struct packet *p, int flags)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
	} ctl = { 0 };
	struct iovec iov = { p->id, sizeof(p->id) };
	struct msghdr m = { .msg_name = &p->from, .msg_namelen = sizeof(p->from), .msg_iov = &iov,
			    .msg_iovlen = 1, .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	struct cmsghdr *c;
	ssize_t n;

	p->fd = -1;
	p->pid = 0;
	n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | flags);
	if (n < 0)
		return false;
	for (c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			take_files(p, c);
		else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
			take_sender(p, c);
	}
	p->from_size = m.msg_namelen;
	if (n == sizeof(p->id))
		return true;
	if (p->fd >= 0)
		close(p->fd);
	return false;
}

/* `file` < 0: there is no descriptor to send. */
static bool send_to(int fd, const struct sockaddr_un *to, socklen_t size, const uint64_t id[2],
		    int file, int flags)
{
	uint64_t copy[2] = { id[0], id[1] };
	struct iovec iov = { copy, sizeof(copy) };
	struct msghdr m = { .msg_name = (void *)to, .msg_namelen = size, .msg_iov = &iov,
			    .msg_iovlen = 1 };

	return wh_send_with(fd, m, &file, file >= 0, flags) == sizeof(copy);
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

/* Call this with the lock held. */
static struct offer *offer_of(const uint64_t id[2])
{
	size_t i;

	for (i = 0; i < files.offers; i++)
		if (files.offer[i].id[0] == id[0] && files.offer[i].id[1] == id[1])
			return &files.offer[i];
	return NULL;
}

/* Answers without waiting, so that a sender that does not take the answer cannot hold us up. */
static void answer(const struct packet *p)
{
	struct offer *o;

	if (!is_ours(p->pid))
		return;
	pthread_mutex_lock(&files.lock);
	o = offer_of(p->id);
	send_to(files.answers, &p->from, p->from_size, p->id, o ? o->fd : -1, MSG_DONTWAIT);
	pthread_mutex_unlock(&files.lock);
}

static void *serve(void *arg)
{
	struct packet p;

	while (!__atomic_load_n(&files.stop, __ATOMIC_ACQUIRE)) {
		if (!receive(files.answers, &p, 0))
			continue;
		answer(&p);
		if (p.fd >= 0)
			close(p.fd);
	}
	return arg;
}

static bool start_thread(void)
{
	sigset_t all, old;
	int rc;

	/* Signals are for the older threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&files.thread, NULL, serve, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return !rc;
}

bool wh_ipc_files_start(const struct wh_tenant_usage *u, char name[WH_IPC_NAME])
{
	if (!wh_ipc_files_work())
		return false;
	if (!files.started) {
		files.usage = u;
		files.started = start_thread();
		if (!files.started)
			return false;
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
	if (files.started) {
		__atomic_store_n(&files.stop, true, __ATOMIC_RELEASE);
		shutdown(files.answers, SHUT_RDWR);
		pthread_join(files.thread, NULL);
	}
	if (files.answers) {
		close(files.answers);
		close(files.asks);
	}
	files.answers = files.asks = 0;
	files.started = files.stop = false;
	while (files.offers)
		close(files.offer[--files.offers].fd);
	free(files.offer);
	files.offer = NULL;
}

/* --- The worker that asks ---------------------------------------------------------- */

/*
 * Waits for the owner's answer to this question. Packets of others, and answers to earlier
 * questions, are dropped.
 */
static int await_answer(uint32_t pid, const uint64_t id[2])
{
	struct pollfd wait = { .fd = files.asks, .events = POLLIN };
	int64_t end = wh_now_ms() + PATIENCE_S * 1000, left;
	struct packet p;

	while ((left = end - wh_now_ms()) > 0) {
		if (poll(&wait, 1, (int)left) <= 0 || !receive(files.asks, &p, MSG_DONTWAIT))
			continue;
		if (p.pid == pid && p.id[0] == id[0] && p.id[1] == id[1])
			return p.fd;
		if (p.fd >= 0)
			close(p.fd);
	}
	return -1;
}

int wh_ipc_files_fetch(const char name[WH_IPC_NAME], uint32_t pid, const uint64_t id[2])
{
	struct sockaddr_un a;
	socklen_t size = address_of(&a, name);
	int fd = -1;

	if (!wh_ipc_files_work())
		return -1;
	pthread_mutex_lock(&files.asking);
	if (send_to(files.asks, &a, size, id, -1, 0))
		fd = await_answer(pid, id);
	pthread_mutex_unlock(&files.asking);
	return fd;
}
