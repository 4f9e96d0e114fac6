// SPDX-License-Identifier: Apache-2.0
/*
 * Transport to a worker in another process of this machine. It consists of a sealed memfd
 * mapped at the same address on both sides, futex words in the slot pages, and a socket whose
 * end says that the worker is gone. The worker has a thread for each slot that it was told
 * about.
 */
#define _GNU_SOURCE
#include "lanes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shm.h"
#include "window.h"

#define WELCOME_TIMEOUT_MS	30000	/* a real driver takes its time to load */

static struct {
	int sock;
	int worker;		/* its pidfd, or -1 */
} shm = { .sock = -1, .worker = -1 };

static bool is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Others than root look for a server of their own before root's. */
static int socket_path(struct sockaddr_un *a)
{
	char room[sizeof(a->sun_path) + 1];
	const char *path = wh_transport_variable(WH_SOCKET_ENV, room, sizeof(room));
	const char *dir = getenv("XDG_RUNTIME_DIR");
	const bool named = path && *path;
	int n;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	if (named || !geteuid() || !dir || !*dir)
		n = snprintf(a->sun_path, sizeof(a->sun_path), "%s", named ? path : WH_SHM_RUN);
	else
		n = snprintf(a->sun_path, sizeof(a->sun_path), "%s/" WH_SHM_SOCKET, dir);
	if (n >= (int)sizeof(a->sun_path))
		return 0;
	if (!named && !is_socket(a->sun_path) && is_socket(WH_SHM_RUN))
		snprintf(a->sun_path, sizeof(a->sun_path), WH_SHM_RUN);
	return 1;
}

static int shm_probe(void)
{
	struct sockaddr_un a;

	return socket_path(&a) && is_socket(a.sun_path);
}

/*
 * The name says what the connection is for (shm.h). Names are the whole machine's, so it has random
 * numbers.
 */
static int bind_name(int fd, const char *kind)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	unsigned long long any[2];
	int n;

	if (getrandom(any, sizeof(any), 0) != sizeof(any))
		return -1;
	n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "%s%016llx%016llx", kind, any[0],
		     any[1]);
	return bind(fd, (struct sockaddr *)&a,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n));
}

/* kind: of the connection's name; NULL: a program's own connection has none. */
static int dial(const char *kind)
{
	struct sockaddr_un a;
	int fd;

	if (!socket_path(&a)) {
		wh_complain("shm: the socket's path is too long");
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && (!kind || !bind_name(fd, kind)) &&
	    connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	wh_note_reason("cannot connect to %s: %s; its server, or the tenant, has ended or is another user's",
		       a.sun_path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* What comes with the welcome; -1: it did not come. */
struct files {
	int part;
	int worker;	/* pidfd */
};

static void close_files(struct files *f)
{
	if (f->part >= 0)
		close(f->part);
	if (f->worker >= 0)
		close(f->worker);
	*f = (struct files) { -1, -1 };
}

static void take_files(struct files *f, const struct cmsghdr *c)
{
	size_t n = c->cmsg_len - CMSG_LEN(0);

	if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(f, CMSG_DATA(c), n < sizeof(*f) ? n : sizeof(*f));
}

/*
 * Receives the welcome message and what comes with it. *cut: the connection ended without a word.
 */
static int receive(int sock, struct wh_shm_welcome *w, struct files *f, bool *cut)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(struct files))];
	} ctl;
	struct iovec iov = { w, sizeof(*w) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct cmsghdr *c;
	ssize_t n;

	if (poll(&p, 1, WELCOME_TIMEOUT_MS) <= 0)
		return WH_EGONE;
	n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	*cut = !n || (n < 0 && errno == ECONNRESET);
	c = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c)
		take_files(f, c);
	if (n != sizeof(*w) || w->magic != WH_SHM_MAGIC)
		return WH_EGONE;
	if (w->abi_version != WH_ABI_VERSION || w->shm_version != WH_SHM_VERSION) {
		wh_complain("client library has ABI %u.%u, worker has ABI %u.%u: install the same "
			    "release on both sides", WH_ABI_VERSION, WH_SHM_VERSION,
			    w->abi_version, w->shm_version);
		return WH_EVERSION;
	}
	return w->status;
}

static void *map_at(uint64_t va, size_t size, int file, off_t offset)
{
	void *p = wh_link_map(va, size, file, offset);

	if (!p)
		wh_complain("shm: address %p is taken in this process; it must stay free for the "
			    "shared window", (void *)va);
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
	part = map_at(WH_SHM_PART_VA, w->part_size, file, 0);
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

static bool worker_gone(void)
{
	struct pollfd p = { .fd = shm.sock, .events = POLLIN };

	/*
	 * The worker sends nothing after the welcome, so a readable socket means the end. A signal
	 * that comes at this moment makes the call fail, which says nothing.
	 */
	return poll(&p, 1, 0) > 0;
}

/* Tells the worker to make a thread for the slot. */
static int use_slot(uint32_t number)
{
	const struct wh_shm_use use = { .magic = WH_SHM_MAGIC, .slot = number };

	if (send(shm.sock, &use, sizeof(use), MSG_NOSIGNAL) != sizeof(use))
		return WH_EGONE;
	return WH_OK;
}

/* Sleeps on the word; a wait that ends without a change is a look at the worker. */
static int sleep_on(uint32_t number, const uint32_t *word, uint32_t value)
{
	static const struct timespec nap = { .tv_nsec = 10000000 };

	(void)number;
	return syscall(SYS_futex, word, FUTEX_WAIT, value, &nap, NULL, 0) && errno == ETIMEDOUT &&
	       worker_gone() ? WH_EGONE : WH_OK;
}

static void wake(uint32_t number, const uint32_t *word)
{
	(void)number;
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static const struct wh_lane_ops lane_ops = {
	.one_machine = true, .sleep = sleep_on, .wake = wake, .use = use_slot, .gone = worker_gone,
};

#define REPEATS	2	/* where the connection ended without a word */

/*
 * Connects and receives the welcome. A server that is killed in between leaves a connection that
 * ends without a word; another one then listens at the same socket.
 */
static int meet(struct wh_shm_welcome *w, struct files *f, int *sock)
{
	bool cut = true;
	int i, rc = WH_EGONE;

	for (i = 0; cut && i <= REPEATS; i++) {
		if (i)
			close(*sock);
		*sock = dial(NULL);
		if (*sock < 0)
			return WH_ETRANSPORT;
		cut = false;
		rc = receive(*sock, w, f, &cut);
	}
	return rc;
}

static int shm_open_link(struct wh_link *l)
{
	struct wh_shm_welcome w = { .status = 0 };
	struct files f = { -1, -1 };
	int sock = -1, rc = meet(&w, &f, &sock);

	if (sock < 0)
		return rc;
	if (rc && rc != WH_EVERSION)
		wh_note_reason("no worker: %.*s", (int)sizeof(w.error), rc == w.status ? w.error :
			       "it has ended before it served; `wormhole logs' says why");
	if (!rc)
		rc = f.part < 0 ? WH_EFAULT : map_file(l, f.part, &w);
	if (rc) {
		close_files(&f);
		close(sock);
		return rc;
	}
	close(f.part);
	shm.sock = sock;
	shm.worker = f.worker;
	wh_lanes_open(l, &lane_ops);
	return 0;
}

/* --- Files that are lent ------------------------------------------------------------ */

#define LEND_TIMEOUT_MS	WELCOME_TIMEOUT_MS	/* it may wait behind programs that start */
#define LEND_TRIES	2000	/* of 1 ms each: one is lent at a time, and so many a second */

static bool hear(int sock, struct wh_shm_lend_answer *a)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	int n;

	/* A signal of the program's says nothing; the end of who should answer ends the wait. */
	do
		n = poll(&p, 1, LEND_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	return n > 0 && recv(sock, a, sizeof(*a), 0) == sizeof(*a) && a->magic == WH_SHM_MAGIC;
}

/* The server opens our descriptor by itself: it takes none that is sent. */
static int lend_once(struct wh_shm_lend *q)
{
	struct wh_shm_lend_answer a;
	int sock = dial(WH_SHM_LENDS), rc = WH_EGONE;

	if (sock < 0)
		return rc;
	if (hear(sock, &a)) {
		rc = (int)a.status;
		memcpy(q->secret, a.secret, sizeof(q->secret));
		if (!rc)
			rc = send(sock, q, sizeof(*q), MSG_NOSIGNAL) == sizeof(*q) &&
			     hear(sock, &a) ? (int)a.status : WH_EGONE;
	}
	close(sock);
	return rc;
}

static int lend_file(struct wh_link *l, int file, uint64_t inode, uint32_t number)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	struct wh_shm_lend q = { .magic = WH_SHM_MAGIC, .number = number, .inode = inode,
				 .file = file };
	int i, rc = WH_SHM_LENT_BUSY;

	(void)l;
	for (i = 0; i < LEND_TRIES && rc == WH_SHM_LENT_BUSY; i++) {
		if (i)
			nanosleep(&pause, NULL);
		rc = lend_once(&q);
	}
	return rc;
}

static void hang_up(void)
{
	close(shm.sock);
	shm.sock = -1;
	if (shm.worker >= 0)
		close(shm.worker);
	shm.worker = -1;
}

static void shm_close_link(struct wh_link *l)
{
	munmap(l->part, l->part_size);
	if (l->far)
		munmap(l->far, l->far_size);
	l->far = NULL;
	l->far_size = 0;
	hang_up();
}

/* The part stays the parent's. */
static void shm_forked(struct wh_link *l)
{
	(void)l;
	hang_up();
}

#define LONGEST_END_S	5	/* a worker whose driver hangs must not keep its program */

/*
 * The driver gives the worker's memory back while that ends. Natively a program has ended when
 * that is done, so the next one finds the memory free.
 */
static void shm_end(struct wh_link *l)
{
	static const struct timespec longest = { .tv_sec = LONGEST_END_S };
	struct pollfd p = { .fd = shm.worker, .events = POLLIN };
	sigset_t all;

	(void)l;
	if (shm.worker < 0)
		return;
	shutdown(shm.sock, SHUT_WR);
	/* A program's timer must not end the wait. */
	sigfillset(&all);
	ppoll(&p, 1, &longest, &all);
}

const struct wh_transport wh_transport_shm = {
	.name = "shm",
	.probe = shm_probe,
	.open = shm_open_link,
	.call = wh_lanes_call,
	.call_patiently = wh_lanes_call_patiently,
	.post = wh_lanes_post,
	.reached = wh_lanes_reached,
	.settle = wh_lanes_settle,
	.abandon = wh_lanes_abandon,
	.close = shm_close_link,
	.end = shm_end,
	.lend = lend_file,
	.forked = shm_forked,
};
