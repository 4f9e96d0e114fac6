// SPDX-License-Identifier: Apache-2.0
/*
 * Transport to a worker in another process of this machine: a sealed memfd
 * mapped at the same address on both sides, futex words in the slot page, and
 * a socket whose end says that the worker is gone.
 */
#define _GNU_SOURCE
#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shm.h"
#include "shm_wait.h"
#include "window.h"

#define WELCOME_TIMEOUT_MS	30000	/* a real driver takes its time to load */

static struct {
	int sock;
	struct wh_slot *slot;
	uint32_t calls;
	uint32_t done;		/* of these, as far as was looked */
	struct wh_shm_cell *cell;
	struct wh_shm_spin spin;
} shm = { .sock = -1 };

static int socket_path(struct sockaddr_un *a)
{
	const char *path = getenv("WORMHOLE_SOCKET"), *dir = getenv("XDG_RUNTIME_DIR");
	int n;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	if (path && *path)
		n = snprintf(a->sun_path, sizeof(a->sun_path), "%s", path);
	else if (dir && *dir)
		n = snprintf(a->sun_path, sizeof(a->sun_path), "%s/" WH_SHM_SOCKET, dir);
	else
		n = snprintf(a->sun_path, sizeof(a->sun_path), WH_SHM_RUN);
	return n < (int)sizeof(a->sun_path);
}

static int shm_probe(void)
{
	struct sockaddr_un a;
	struct stat st;

	return socket_path(&a) && stat(a.sun_path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int dial(void)
{
	struct sockaddr_un a;
	int fd;

	if (!socket_path(&a)) {
		wh_complain("shm: the socket's path is too long");
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	wh_log("shm: cannot connect to %s: %s", a.sun_path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The welcome message and the part's file, which stays -1 if none came. */
static int receive(int sock, struct wh_shm_welcome *w, int *file)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl;
	struct iovec iov = { w, sizeof(*w) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct cmsghdr *c;
	ssize_t n;

	*file = -1;
	if (poll(&p, 1, WELCOME_TIMEOUT_MS) <= 0)
		return WH_EGONE;
	n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	c = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(file, CMSG_DATA(c), sizeof(*file));
	if (n != sizeof(*w) || w->magic != WH_SHM_MAGIC)
		return WH_EGONE;
	if (w->abi_version != WH_ABI_VERSION) {
		wh_complain("client library has ABI %u, worker has ABI %u: install the same release "
			    "on both sides", WH_ABI_VERSION, w->abi_version);
		return WH_EVERSION;
	}
	return w->status;
}

static void *map_at(uint64_t va, size_t size, int file, off_t offset)
{
	void *want = (void *)va;
	void *p = mmap(want, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file,
		       offset);

	if (p != want) {
		if (p != MAP_FAILED)
			munmap(p, size);
		wh_complain("shm: address %p is taken in this process; it must stay free for the "
			    "shared window", want);
		return NULL;
	}
	/* Like pinned memory of the real driver, it does not follow a fork. */
	madvise(p, size, MADV_DONTFORK);
	return p;
}

static int map_file(struct wh_link *l, int file, const struct wh_shm_welcome *w)
{
	struct stat st;
	void *part;
	int rc;

	if (w->far_size > WH_SHM_FAR_MAX || w->part_size > WH_MAX_PART_SIZE || fstat(file, &st) ||
	    (uint64_t)st.st_size != w->part_size + w->far_size)
		return WH_EFAULT;
	part = map_at(WH_WINDOW_VA, w->part_size, file, 0);
	if (!part)
		return WH_EFAULT;
	rc = wh_link_from_part(l, part, w->part_size);
	if (!rc && w->far_size) {
		l->far = map_at(WH_SHM_FAR_VA, w->far_size, file, w->part_size);
		l->far_size = l->far ? w->far_size : 0;
		rc = l->far ? 0 : WH_EFAULT;
	}
	if (rc)
		munmap(part, w->part_size);
	return rc;
}

static int shm_open_link(struct wh_link *l)
{
	struct wh_shm_welcome w;
	int file, rc, sock = dial();

	if (sock < 0)
		return WH_ETRANSPORT;
	rc = receive(sock, &w, &file);
	if (rc && rc != WH_EVERSION)
		wh_log("shm: no worker: %.*s", (int)sizeof(w.error), rc == w.status ? w.error : "it ended");
	if (!rc)
		rc = file < 0 ? WH_EFAULT : map_file(l, file, &w);
	if (file >= 0)
		close(file);
	if (rc) {
		close(sock);
		return rc;
	}
	shm.sock = sock;
	shm.calls = shm.done = 0;
	shm.cell = NULL;
	if (l->msg_size > 2 * WH_SHM_CELLS * WH_SHM_CELL) {
		l->room = l->msg_size - WH_SHM_CELLS * WH_SHM_CELL;
		shm.cell = (struct wh_shm_cell *)(l->msg + l->room);
	}
	shm.slot = (struct wh_slot *)(l->part + ((struct wh_ctl *)l->part)->slot_offset);
	return 0;
}

static int worker_gone(void)
{
	struct pollfd p = { .fd = shm.sock, .events = POLLIN };

	/* Nothing is ever sent after the welcome: readable means the end. */
	return poll(&p, 1, 0) != 0;
}

/* Is this call done? The worker runs them in order. */
static bool reached(struct wh_slot *s, uint32_t call)
{
	shm.done = __atomic_load_n(&s->response, __ATOMIC_SEQ_CST);
	return (int32_t)(shm.done - call) >= 0;
}

static int await(struct wh_slot *s, uint32_t call)
{
	static const struct timespec nap = { .tv_nsec = 10000000 };

	while (!reached(s, call))
		if (!wh_shm_spin(&shm.spin, &s->response, shm.done, false, WH_SHM_CLIENT_NS))
			goto sleep;
	return 0;
sleep:
	__atomic_store_n(&s->response_waiters, 1, __ATOMIC_SEQ_CST);
	while (!reached(s, call)) {
		if (syscall(SYS_futex, &s->response, FUTEX_WAIT, shm.done, &nap, NULL, 0) &&
		    errno == ETIMEDOUT && worker_gone() && !reached(s, call))
			return WH_EGONE;
	}
	__atomic_store_n(&s->response_waiters, 0, __ATOMIC_RELAXED);
	return 0;
}

static void send_call(struct wh_slot *s, uint32_t call)
{
	__atomic_store_n(&s->request, call, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->request_waiters, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &s->request, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* What posted calls left behind: all of them are done now. */
static void look_back(struct wh_link *l, struct wh_slot *s)
{
	uint64_t deferred = __atomic_load_n(&s->deferred, __ATOMIC_RELAXED);

	l->no_post = __atomic_load_n(&s->no_post, __ATOMIC_RELAXED);
	if (__builtin_expect(!deferred, 1))
		return;
	__atomic_store_n(&s->deferred, 0, __ATOMIC_RELAXED);
	if (!l->deferred)
		l->deferred = (int)deferred;
}

static int shm_call(struct wh_link *l, uint32_t handler, uint64_t arg)
{
	struct wh_slot *s = shm.slot;
	uint32_t call = ++shm.calls;
	int rc;

	s->request_handler = handler;
	s->request_arg[0] = arg;
	s->request_arg[1] = call;
	send_call(s, call);
	rc = await(s, call);
	if (rc)
		return rc;
	look_back(l, s);
	return (int)s->response_status;
}

static int shm_post(struct wh_link *l, uint32_t handler, size_t size)
{
	struct wh_slot *s = shm.slot;
	uint32_t call = shm.calls + 1;
	struct wh_shm_cell *c = &shm.cell[call % WH_SHM_CELLS];
	int rc;

	if (!shm.cell || size > sizeof(c->request))
		return WH_ENOSYS;
	/* Half of the cells at a time, so that not each call waits for the other side's word. */
	if ((int32_t)(call - shm.done) > WH_SHM_CELLS) {
		rc = await(s, call - WH_SHM_CELLS / 2);
		if (rc)
			return rc;
		/* Beside the response's number, which was just read. */
		l->no_post = __atomic_load_n(&s->no_post, __ATOMIC_RELAXED);
	}
	c->size = size;
	c->handler = handler;
	memcpy(c->request, l->msg, size);
	shm.calls = call;
	send_call(s, call);
	return 0;
}

static int shm_settle(struct wh_link *l)
{
	(void)l;
	return await(shm.slot, shm.calls);
}

/* The worker finishes what it has begun; nobody reads the response. */
static int shm_abandon(struct wh_link *l)
{
	uint32_t sent = __atomic_load_n(&shm.slot->request, __ATOMIC_ACQUIRE);

	(void)l;
	if (sent != shm.calls) {	/* left before it was sent */
		shm.calls = sent;
		return 0;
	}
	return await(shm.slot, sent);
}

static void shm_close_link(struct wh_link *l)
{
	munmap(l->part, l->part_size);
	if (l->far)
		munmap(l->far, l->far_size);
	l->far = NULL;
	l->far_size = 0;
	close(shm.sock);
	shm.sock = -1;
}

const struct wh_transport wh_transport_shm = {
	.name = "shm",
	.probe = shm_probe,
	.open = shm_open_link,
	.call = shm_call,
	.post = shm_post,
	.settle = shm_settle,
	.abandon = shm_abandon,
	.close = shm_close_link,
};
