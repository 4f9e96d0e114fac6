// SPDX-License-Identifier: Apache-2.0
/*
 * The relay of a client VM: connects each program of the guest to a worker of the VM's tenant,
 * whose part is in the VM's window, and passes on wake-ups. All that comes from the guest is
 * hostile, its kernel included. The guest has its own window and its own ports, and can disturb
 * nobody but itself: a message leads to at most one wake-up, one answer, or one connection to the
 * tenant's socket, which the server limits as those of other programs.
 *
 * A part's session: none -> starting (the server has the offer) -> served -> ending (the worker was
 * told, and its memory is not free yet) -> none. A process that comes while a session ends waits.
 */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shm.h"
#include "tenant/send.h"
#include "window.h"
#include "wormhole.h"

enum state { NONE, STARTING, SERVED, ENDING };

/* A thread that waits for a slot's `response`, once the guest has asked for that. */
struct sleeper {
	pthread_t thread;
	bool started;
	uint32_t asked;		/* rises with each WH_RELAY_SLEEP; a futex */
	uint32_t value;
	struct part *part;
	unsigned int slot;
};

struct part {
	unsigned int number;
	int port;
	enum state state;
	int conn;		/* to the worker, or to the server before there is one; -1 */
	int worker;		/* pidfd; -1: there is none, or the kernel has none */
	uint64_t opened;	/* wh_relay_monitor_now() when the process came */
	bool left;		/* while it was STARTING, its process has gone */
	bool waits;		/* a process has come meanwhile: number `next` */
	uint32_t next;
	uint32_t process;	/* the number of the process that has the session */
	struct sleeper sleeper[WH_MAX_SLOTS];
};

static struct {
	const struct wh_relay *r;
	uint8_t *window;
	struct part part[WH_RELAY_PARTS];
} relay;

/* --- To the guest ------------------------------------------------------------------------- */

/* A guest that reads nothing loses its messages, and only then: the socket takes hundreds. */
static void tell(struct part *p, enum wh_relay_tell_kind kind, uint32_t slot, uint32_t value,
		 const struct wh_relay_welcome *w)
{
	struct wh_relay_tell t = { WH_RELAY_MAGIC, kind, slot, value };
	struct iovec iov[2] = { { &t, sizeof(t) }, { (void *)w, sizeof(*w) } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = w ? 2 : 1 };

	sendmsg(p->port, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void welcome(struct part *p, int status, const char *why)
{
	struct wh_relay_welcome w = {
		.window_size = relay.r->window_size,
		.part_offset = p->number * relay.r->part_size,
		.part_size = relay.r->part_size,
	};

	snprintf(w.error, sizeof(w.error), "%s", why);
	tell(p, WH_RELAY_WELCOME, (uint32_t)status, p->process, &w);
}

/* --- Wake-ups ----------------------------------------------------------------------------- */

static struct wh_slot *slot_of(const struct part *p, unsigned int slot)
{
	return (struct wh_slot *)(relay.window + p->number * relay.r->part_size +
				  WH_PAGE_SIZE * (1 + slot));
}

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *longest)
{
	return syscall(SYS_futex, word, op, value, longest, NULL, 0);
}

/*
 * A wait is for the value that was asked for last. It also ends without a change after a second:
 * the guest then sleeps again, or has learnt that the worker has gone.
 */
static void *watch_response(void *arg)
{
	static const struct timespec longest = { .tv_sec = 1 };
	struct sleeper *s = arg;
	uint32_t *word = &slot_of(s->part, s->slot)->response, seen = 0, now, value;

	for (;;) {
		while ((now = __atomic_load_n(&s->asked, __ATOMIC_ACQUIRE)) == seen)
			futex(&s->asked, FUTEX_WAIT_PRIVATE, seen, NULL);
		seen = now;
		value = __atomic_load_n(&s->value, __ATOMIC_RELAXED);
		if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value)
			futex(word, FUTEX_WAIT, value, &longest);
		tell(s->part, WH_RELAY_CHANGED, s->slot, 0, NULL);
	}
	return NULL;
}

static void sleep_for(struct part *p, uint32_t slot, uint32_t value)
{
	struct sleeper *s = &p->sleeper[slot];

	s->part = p;
	s->slot = slot;
	if (!s->started && pthread_create(&s->thread, NULL, watch_response, s)) {
		/* The guest looks again at once: slow, and right. */
		tell(p, WH_RELAY_CHANGED, slot, 0, NULL);
		return;
	}
	s->started = true;
	__atomic_store_n(&s->value, value, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->asked, 1, __ATOMIC_RELEASE);
	futex(&s->asked, FUTEX_WAKE_PRIVATE, 1, NULL);
}

/* --- Sessions ------------------------------------------------------------------------------- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void begin(struct part *p);

/* The next process of the guest must not see what this one has left in the part. */
static void end_session(struct part *p)
{
	close_fd(&p->conn);
	close_fd(&p->worker);
	p->state = NONE;
	fallocate(relay.r->window, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  (off_t)(p->number * relay.r->part_size), (off_t)relay.r->part_size);
	tell(p, WH_RELAY_GONE, 0, 0, NULL);
	if (p->waits)
		begin(p);
}

/*
 * The worker ends by itself when its client has ended; its memory is free after that. Of one that
 * starts, only its welcome will say which process it is. Until then it writes into the part.
 */
static void end_worker(struct part *p)
{
	p->left = p->state == STARTING;
	if (p->state == NONE || p->left)
		return;
	if (p->worker < 0) {
		end_session(p);
		return;
	}
	shutdown(p->conn, SHUT_WR);
	p->state = ENDING;
}

/*
 * The name says that a part is brought (shm.h); nobody connects to it. Names are the whole
 * machine's: one that others can guess they could have taken before.
 */
static int bind_name(int fd, unsigned int number)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	unsigned long long secret;
	int n;

	if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret))
		return -1;
	n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, WH_SHM_BRINGS "%d/%u/%016llx",
		     getpid(), number, secret);
	return bind(fd, (struct sockaddr *)&a, offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

static int dial(unsigned int number)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", relay.r->socket);
	if (fd >= 0 && !bind_name(fd, number) && !connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return fd;
	error = errno;
	close_fd(&fd);
	errno = error;
	return -1;
}

static bool offer(const struct part *p)
{
	struct wh_shm_offer o = {
		.magic = WH_SHM_MAGIC, .shm_version = WH_SHM_VERSION,
		.offset = p->number * relay.r->part_size, .size = relay.r->part_size,
	};
	struct iovec iov = { &o, sizeof(o) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return wh_send_with(p->conn, m, &relay.r->window, 1, 0) == sizeof(o);
}

/* A process of the guest has come, and no worker has the part any more. */
static void begin(struct part *p)
{
	char why[200];

	p->waits = false;
	p->process = p->next;
	p->conn = dial(p->number);
	if (p->conn >= 0 && offer(p)) {
		p->left = false;
		p->state = STARTING;
		return;
	}
	snprintf(why, sizeof(why), "the VM's relay cannot connect to %.100s: %s; the server, or the tenant, has "
		 "ended", relay.r->socket, strerror(errno));
	close_fd(&p->conn);
	welcome(p, WH_EGONE, why);
}

static void take_files(struct part *p, struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int file[2] = { -1, -1 };
	size_t n = c ? c->cmsg_len - CMSG_LEN(0) : 0;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(file, CMSG_DATA(c), n < sizeof(file) ? n : sizeof(file));
	close_fd(&file[0]);
	p->worker = file[1];
}

/* The server's or the worker's answer. A process that has gone meanwhile does not hear of it. */
static void take_welcome(struct part *p)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(2 * sizeof(int))];
	} ctl;
	struct wh_shm_welcome w;
	struct iovec iov = { &w, sizeof(w) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	ssize_t n = recvmsg(p->conn, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	bool whole = n == sizeof(w) && w.magic == WH_SHM_MAGIC, left = p->left;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (whole)
		take_files(p, &m);
	p->state = SERVED;
	w.error[sizeof(w.error) - 1] = 0;
	if (!left && whole)
		welcome(p, w.status, w.error);
	else if (!left)
		welcome(p, WH_EGONE, "it has ended before it served; `wormhole logs' on the host says why");
	if (left || !whole || w.status)
		end_worker(p);
}

/* --- From the guest ------------------------------------------------------------------------- */

static void open_session(struct part *p, const struct wh_relay_ask *a)
{
	p->opened = wh_relay_monitor_now();
	p->next = a->value;
	if (a->slot != WH_ABI_VERSION) {
		p->process = a->value;
		welcome(p, WH_EVERSION, "the guest's client library is of another release than the host's: install the "
			"same on both sides");
		return;
	}
	p->waits = true;
	/* The process before this one has ended without a word, or its worker is about to end. */
	if (p->state != NONE)
		end_worker(p);
	else
		begin(p);
}

static void use_slot(struct part *p, uint32_t slot)
{
	const struct wh_shm_use use = { .magic = WH_SHM_MAGIC, .slot = slot };

	if (p->state == SERVED)
		send(p->conn, &use, sizeof(use), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void take_message(struct part *p, const struct wh_relay_ask *a)
{
	if (a->magic != WH_RELAY_MAGIC || (a->kind != WH_RELAY_OPEN && a->slot >= WH_MAX_SLOTS))
		return;
	switch (a->kind) {
	case WH_RELAY_OPEN:
		open_session(p, a);
		break;
	case WH_RELAY_USE:
		use_slot(p, a->slot);
		break;
	case WH_RELAY_WAKE:
		futex(&slot_of(p, a->slot)->request, FUTEX_WAKE, 1, NULL);
		break;
	case WH_RELAY_SLEEP:
		sleep_for(p, a->slot, a->value);
		break;
	case WH_RELAY_END:
		if (p->state == NONE)
			tell(p, WH_RELAY_GONE, 0, 0, NULL);
		end_worker(p);
		break;
	}
}

/*
 * Our library writes whole messages, one a buffer of the device's, and QEMU passes each on at once.
 * A guest that does otherwise is not understood. False: QEMU has ended.
 */
static bool hear_port(struct part *p)
{
	struct wh_relay_ask a[16];
	ssize_t n = recv(p->port, a, sizeof(a), MSG_DONTWAIT), i;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	for (i = 0; i < n / (ssize_t)sizeof(*a); i++)
		take_message(p, &a[i]);
	return n > 0;
}

/* --- Events --------------------------------------------------------------------------------- */

static void closed(unsigned int number, uint64_t asked)
{
	struct part *p = relay.part;

	if (number >= relay.r->parts)
		return;
	p += number;
	/* A process that came after QEMU was asked is another one. */
	if (p->opened < asked) {
		p->waits = false;
		end_worker(p);
	}
}

/* A worker sends nothing after its welcome, so a readable connection is its end. */
static void hear_conn(struct part *p)
{
	if (p->state == STARTING)
		take_welcome(p);
	else if (p->worker < 0)
		end_session(p);
	else
		end_worker(p);
}

/* A connection that has been shut down stays readable: then only the worker's end counts. */
static unsigned int watched(const struct part *p, struct pollfd *f)
{
	bool conn = p->state == STARTING || p->state == SERVED;

	f[0] = (struct pollfd) { .fd = p->port, .events = POLLIN };
	f[1] = (struct pollfd) { .fd = conn ? p->conn : -1, .events = POLLIN };
	f[2] = (struct pollfd) { .fd = p->worker, .events = POLLIN };
	return 3;
}

static bool serve_part(struct part *p, const struct pollfd *f)
{
	enum state before = p->state;

	if (f[2].revents && p->worker >= 0)
		end_session(p);
	else if (f[1].revents && p->state == before)
		hear_conn(p);
	return !f[0].revents || hear_port(p);
}

static bool serve(void)
{
	struct pollfd f[3 * WH_RELAY_PARTS + 1];
	unsigned int i, n = 0;

	for (i = 0; i < relay.r->parts; i++)
		n += watched(&relay.part[i], &f[n]);
	f[n] = (struct pollfd) { .fd = relay.r->monitor, .events = POLLIN };
	if (poll(f, n + 1, -1) < 0)
		return errno == EINTR;
	/* The monitor's answers come before the ports' words, which they are older than. */
	if (f[n].revents && !wh_relay_monitor_hear(closed))
		return false;
	for (i = 0; i < relay.r->parts; i++)
		if (!serve_part(&relay.part[i], &f[3 * i]))
			return false;
	return true;
}

int wh_relay_run(const struct wh_relay *r)
{
	unsigned int i;

	relay.r = r;
	relay.window = mmap(NULL, r->window_size, PROT_READ | PROT_WRITE, MAP_SHARED, r->window, 0);
	if (relay.window == MAP_FAILED) {
		wh_error("the relay cannot map the window: %s", strerror(errno));
		return EXIT_FAILED;
	}
	for (i = 0; i < r->parts; i++)
		relay.part[i] = (struct part) { .number = i, .port = r->port[i], .conn = -1,
						.worker = -1 };
	if (!wh_relay_monitor_start(r->monitor))
		return EXIT_FAILED;
	while (serve())
		;
	return EXIT_DONE;
}
