// SPDX-License-Identifier: Apache-2.0
/*
 * Transport to a worker in another process of this machine. It consists of a sealed memfd
 * mapped at the same address on both sides, futex words in the slot pages, and a socket whose
 * end says that the worker is gone. The worker has a thread for each slot that it was told
 * about.
 */
#define _GNU_SOURCE
#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
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

/* This side's state of a slot; one thread at a time uses it. */
struct lane {
	struct wh_slot *slot;
	uint32_t calls;
	uint32_t done;		/* how many of these were done at the last look */
	struct wh_shm_cell *cell;
	uint32_t longs;		/* number of calls that were too long for a cell */
	uint32_t long_call[WH_SHM_LONGS];	/* the last call in each place */
	struct wh_shm_spin spin;
	bool used;		/* the worker knows the slot */
} __attribute__((aligned(64)));

static struct {
	int sock;
	int worker;		/* its pidfd, or -1 */
	struct lane lane[WH_MAX_SLOTS];
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

static void open_lanes(struct wh_link *l)
{
	uint8_t *first = l->part + ((struct wh_ctl *)l->part)->slot_offset;
	bool cells = l->msg_size >= 2 * WH_SHM_RING;
	uint32_t i;

	if (cells)
		l->room = l->msg_size - WH_SHM_RING;
	for (i = 0; i < l->slots; i++) {
		struct wh_slot *slot = (struct wh_slot *)(first + i * WH_PAGE_SIZE);

		shm.lane[i] = (struct lane) {
			.slot = slot,
			.cell = cells ? (struct wh_shm_cell *)(l->slot[i].msg + l->msg_size) -
					WH_SHM_CELLS : NULL,
			.spin = { .mine = &slot->client_cpu, .theirs = &slot->worker_cpu },
			.used = i == 0,
		};
	}
}

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
		*sock = dial();
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
	open_lanes(l);
	return 0;
}

static int worker_gone(void)
{
	struct pollfd p = { .fd = shm.sock, .events = POLLIN };

	/* The worker sends nothing after the welcome, so a readable socket means the end. */
	return poll(&p, 1, 0) != 0;
}

/* Tells the worker to make a thread for the slot. */
static int use_slot(uint32_t number)
{
	const struct wh_shm_use use = { .magic = WH_SHM_MAGIC, .slot = number };

	if (send(shm.sock, &use, sizeof(use), MSG_NOSIGNAL) != sizeof(use))
		return WH_EGONE;
	shm.lane[number].used = true;
	return WH_OK;
}

/* Is this call done? The worker runs a slot's calls in order. */
static bool reached(struct lane *n, uint32_t call)
{
	n->done = __atomic_load_n(&n->slot->response, __ATOMIC_SEQ_CST);
	return (int32_t)(n->done - call) >= 0;
}

/* patient: the answer is known to take long. */
static int await_so(struct lane *n, uint32_t call, bool patient)
{
	static const struct timespec nap = { .tv_nsec = 10000000 };
	struct wh_slot *s = n->slot;

	while (!reached(n, call))
		if (patient ||
		    !wh_shm_spin(&n->spin, &s->response, n->done, false, WH_SHM_CLIENT_NS))
			goto sleep;
	return 0;
sleep:
	__atomic_store_n(&s->response_waiters, 1, __ATOMIC_SEQ_CST);
	while (!reached(n, call)) {
		if (syscall(SYS_futex, &s->response, FUTEX_WAIT, n->done, &nap, NULL, 0) &&
		    errno == ETIMEDOUT && worker_gone() && !reached(n, call))
			return WH_EGONE;
	}
	__atomic_store_n(&s->response_waiters, 0, __ATOMIC_RELAXED);
	return 0;
}

static int await(struct lane *n, uint32_t call)
{
	return await_so(n, call, false);
}

#define OTHERS_LOOKS	1000
#define OTHERS_NAP_NS	20000

/*
 * Waits for a call of a slot that other threads use. It changes nothing of the slot, so the
 * waiter polls and is not woken. The response may be that of a later call.
 */
static int shm_reached(struct wh_link *l, uint32_t slot, uint64_t number)
{
	static const struct timespec nap = { .tv_nsec = OTHERS_NAP_NS };
	const uint32_t *response = &shm.lane[slot].slot->response;
	unsigned int n;

	for (n = 1; ; n++) {
		uint64_t last = __atomic_load_n(&l->slot[slot].posted, __ATOMIC_ACQUIRE);
		uint32_t done = __atomic_load_n(response, __ATOMIC_ACQUIRE);

		if ((int64_t)(last + (int32_t)(done - (uint32_t)last) - number) >= 0)
			return WH_OK;
		__builtin_ia32_pause();
		if (n % OTHERS_LOOKS)
			continue;
		if (n / OTHERS_LOOKS % OTHERS_LOOKS == 0 && worker_gone())
			return WH_EGONE;
		sched_yield();
		if (n > 20 * OTHERS_LOOKS)
			nanosleep(&nap, NULL);
	}
}

static void send_call(struct wh_slot *s, uint32_t call)
{
	__atomic_store_n(&s->request, call, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->request_waiters, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &s->request, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Takes what posted calls left behind: all of them are done now. */
static void look_back(struct wh_link_slot *l, struct wh_slot *s)
{
	uint64_t deferred = __atomic_load_n(&s->deferred, __ATOMIC_RELAXED);

	l->no_post = __atomic_load_n(&s->no_post, __ATOMIC_RELAXED);
	if (WH_LIKELY(!deferred))
		return;
	__atomic_store_n(&s->deferred, 0, __ATOMIC_RELAXED);
	if (!l->deferred)
		l->deferred = (int)deferred;
}

/*
 * Returns the full number of which `call` is the lower half, near `last`. Answered calls count,
 * too.
 */
static uint64_t long_number(uint64_t last, uint32_t call)
{
	return last + (uint32_t)(call - (uint32_t)last);
}

/* Other threads compare the lower halves, so the number that they see must not get too old. */
static void keep_up(struct wh_link_slot *o, uint32_t call)
{
	if (WH_UNLIKELY(call - (uint32_t)o->posted > 1u << 30))
		__atomic_store_n(&o->posted, long_number(o->posted, call), __ATOMIC_RELEASE);
}

static int call_and_wait(struct wh_link *l, uint32_t slot, uint32_t handler, uint64_t arg,
			 bool patient)
{
	struct lane *n = &shm.lane[slot];
	struct wh_slot *s = n->slot;
	uint32_t call;
	int rc;

	if (WH_UNLIKELY(!n->used) && use_slot(slot))
		return WH_EGONE;
	call = ++n->calls;
	s->request_handler = handler;
	s->request_arg[0] = arg;
	s->request_arg[1] = call;
	send_call(s, call);
	rc = await_so(n, call, patient);
	if (rc)
		return rc;
	keep_up(&l->slot[slot], call);
	look_back(&l->slot[slot], s);
	return (int)s->response_status;
}

static int shm_call(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot)
{
	return call_and_wait(l, slot, handler, arg, false);
}

static int shm_call_patiently(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot)
{
	return call_and_wait(l, slot, handler, arg, true);
}

/*
 * Finds the place for the request. A place for a long request is used again only when the call
 * that it held is done.
 */
static int request_of(struct lane *n, struct wh_shm_cell *c, uint32_t call, size_t size,
		      uint8_t **to)
{
	uint32_t *held;
	int rc = 0;

	*to = c->request;
	if (WH_LIKELY(size <= sizeof(c->request)))
		return 0;
	c->place = n->longs++ % WH_SHM_LONGS;
	held = &n->long_call[c->place];
	if (call - *held <= WH_SHM_CELLS)
		rc = await(n, *held);
	*held = call;
	*to = wh_shm_long(n->cell, c->place);
	return rc;
}

static int shm_post(struct wh_link *l, uint32_t slot, uint32_t handler, size_t size)
{
	struct wh_link_slot *o = &l->slot[slot];
	struct lane *n = &shm.lane[slot];
	struct wh_slot *s = n->slot;
	uint32_t call = n->calls + 1;
	struct wh_shm_cell *c = &n->cell[call % WH_SHM_CELLS];
	uint8_t *to;
	int rc;

	if (!n->cell || !n->used || size > WH_SHM_LONG)
		return WH_ENOSYS;
	/*
	 * It waits for half of the cells at a time, so that not each call waits for the other
	 * side's word.
	 */
	if ((int32_t)(call - n->done) > WH_SHM_CELLS) {
		rc = await(n, call - WH_SHM_CELLS / 2);
		if (rc)
			return rc;
		/* This word lies beside the response's number, which was just read. */
		o->no_post = __atomic_load_n(&s->no_post, __ATOMIC_RELAXED);
	}
	rc = request_of(n, c, call, size, &to);
	if (rc)
		return rc;
	c->size = size;
	c->handler = handler;
	memcpy(to, o->msg, size);
	n->calls = call;
	send_call(s, call);
	__atomic_store_n(&o->posted, long_number(o->posted, call), __ATOMIC_RELEASE);
	return 0;
}

static int shm_settle(struct wh_link *l, uint32_t slot)
{
	(void)l;
	return await(&shm.lane[slot], shm.lane[slot].calls);
}

/* The worker finishes what it has begun; nobody reads the response. */
static int shm_abandon(struct wh_link *l, uint32_t slot)
{
	struct lane *n = &shm.lane[slot];
	uint32_t sent = __atomic_load_n(&n->slot->request, __ATOMIC_ACQUIRE);

	(void)l;
	if (sent != n->calls) {	/* left before it was sent */
		n->calls = sent;
		return 0;
	}
	return await(n, sent);
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
	.call = shm_call,
	.call_patiently = shm_call_patiently,
	.post = shm_post,
	.reached = shm_reached,
	.settle = shm_settle,
	.abandon = shm_abandon,
	.close = shm_close_link,
	.end = shm_end,
	.forked = shm_forked,
};
