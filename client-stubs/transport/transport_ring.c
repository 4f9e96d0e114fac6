// SPDX-License-Identifier: Apache-2.0
/*
 * Transport of a client VM on a host without the series: the worker is a process of the host. The
 * part lies in the memory of an ivshmem device, and sleepers are woken by a port of virtio-serial
 * (hypercall-abi/ring.h). The host is trusted as a machine's owner is; what it says is checked
 * nevertheless, since it costs nothing here.
 *
 * One thread of this process reads the port; the others write to it.
 */
#define _GNU_SOURCE
#include "lanes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client_window.h"
#include "ring.h"
#include "shm.h"
#include "window.h"

#define PORTS			"/sys/class/virtio-ports"
#define WELCOME_TIMEOUT_MS	30000	/* a real driver takes its time to load */
#define LONGEST_END_S		5	/* a worker whose driver hangs must not keep its program */

static struct {
	int port;
	int stop;			/* eventfd: the reader ends */
	pthread_t reader;
	uint32_t gone;			/* the worker, or the relay, has ended; a futex */
	uint32_t woken[WH_MAX_SLOTS];	/* rises with each WH_RELAY_CHANGED; futexes */
} ring = { .port = -1, .stop = -1 };

/* --- The port ------------------------------------------------------------------------- */

static bool is_port(const char *entry)
{
	char path[300], name[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), PORTS "/%s/name", entry);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		*name = 0;
	fclose(f);
	return !strncmp(name, WH_RELAY_PORT, strlen(WH_RELAY_PORT));
}

/* A filter for scandir(). */
static int of_ours(const struct dirent *d)
{
	return d->d_name[0] != '.' && is_port(d->d_name);
}

static int ring_probe(void)
{
	struct dirent **ports;
	int i, n = scandir(PORTS, &ports, of_ours, versionsort);

	for (i = 0; i < n; i++)
		free(ports[i]);
	if (n >= 0)
		free(ports);
	return n > 0;
}

/*
 * Opens the first port that no other process has. Returns -1 with a reason noted, and in *rc why:
 * WH_ETRANSPORT, or WH_EBUSY where there are ports.
 */
static int open_port(int *rc)
{
	struct dirent **ports;
	char path[300];
	int i, n = scandir(PORTS, &ports, of_ours, versionsort), fd = -1, error = ENODEV;

	for (i = 0; i < n; i++) {
		if (fd < 0) {
			snprintf(path, sizeof(path), "/dev/%s", ports[i]->d_name);
			fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
			error = fd < 0 && error != EBUSY ? errno : error;
		}
		free(ports[i]);
	}
	if (n >= 0)
		free(ports);
	*rc = n > 0 ? WH_EBUSY : WH_ETRANSPORT;
	if (fd < 0 && n <= 0)
		wh_note_reason("ring: this VM has no port of Wormhole's in " PORTS "; start it by "
			       "`wormhole client start --ring'");
	else if (fd < 0)
		wh_note_reason("ring: none of %d ports is free: %s; each program takes one (--programs of "
			       "`wormhole client start')", n, strerror(error));
	return fd;
}

/*
 * One write is one buffer of the device's, so that writes of several threads do not mix. To a port
 * whose other end has gone a write would block for ever, but poll() says so.
 */
static int ask(enum wh_relay_ask_kind kind, uint32_t slot, uint32_t value)
{
	const struct wh_relay_ask a = { WH_RELAY_MAGIC, kind, slot, value };
	struct pollfd p = { .fd = ring.port, .events = POLLOUT };
	ssize_t n;

	for (;;) {
		n = write(ring.port, &a, sizeof(a));
		if (n >= 0 || (errno != EINTR && errno != EAGAIN))
			return n == sizeof(a) ? WH_OK : WH_EGONE;
		if (poll(&p, 1, -1) > 0 && p.revents & ~POLLOUT)
			return WH_EGONE;
	}
}

/* Reads so many bytes, or fails when the port has ended or no byte has come for that long. */
static bool take(int port, void *to, size_t size, int timeout_ms)
{
	struct pollfd p = { .fd = port, .events = POLLIN };
	size_t had = 0;
	ssize_t n;

	while (had < size) {
		n = poll(&p, 1, timeout_ms);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		n = read(port, (char *)to + had, size - had);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return false;
		had += n;
	}
	return true;
}

static bool take_message(int port, struct wh_relay_tell *m, int timeout_ms)
{
	if (!take(port, m, sizeof(*m), timeout_ms))
		return false;
	while (m->magic != WH_RELAY_MAGIC) {
		memmove(m, (char *)m + 1, sizeof(*m) - 1);
		if (!take(port, (char *)m + sizeof(*m) - 1, 1, timeout_ms))
			return false;
	}
	return true;
}

/* What was said to an earlier process may still come first. False: there is no answer. */
static bool await_welcome(int port, uint32_t number, int *status, struct wh_relay_welcome *w)
{
	struct wh_relay_tell m;

	do
		if (!take_message(port, &m, WELCOME_TIMEOUT_MS))
			return false;
	while (m.kind != WH_RELAY_WELCOME || m.value != number);
	*status = (int)m.slot;
	return take(port, w, sizeof(*w), WELCOME_TIMEOUT_MS);
}

/* --- Sleep and wake ----------------------------------------------------------------------- */

static void wake_all(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void worker_has_gone(void)
{
	uint32_t i;

	__atomic_store_n(&ring.gone, 1, __ATOMIC_SEQ_CST);
	wake_all(&ring.gone);
	for (i = 0; i < WH_MAX_SLOTS; i++) {
		__atomic_fetch_add(&ring.woken[i], 1, __ATOMIC_SEQ_CST);
		wake_all(&ring.woken[i]);
	}
}

static void hear(const struct wh_relay_tell *m)
{
	if (m->kind == WH_RELAY_CHANGED && m->slot < WH_MAX_SLOTS) {
		__atomic_fetch_add(&ring.woken[m->slot], 1, __ATOMIC_SEQ_CST);
		wake_all(&ring.woken[m->slot]);
	} else if (m->kind == WH_RELAY_GONE) {
		worker_has_gone();
	}
}

static void *read_port(void *arg)
{
	struct pollfd p[2] = { { .fd = ring.port, .events = POLLIN },
			       { .fd = ring.stop, .events = POLLIN } };
	struct wh_relay_tell m;

	for (;;) {
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents)
			return arg;
		if (!p[0].revents)
			continue;
		if (!take_message(ring.port, &m, -1)) {
			worker_has_gone();
			return arg;
		}
		hear(&m);
	}
}

static bool worker_gone(void)
{
	return __atomic_load_n(&ring.gone, __ATOMIC_ACQUIRE);
}

/* The relay watches the word meanwhile, so that a wait needs no look in between. */
static int sleep_on(uint32_t number, const uint32_t *word, uint32_t value)
{
	static const struct timespec longest = { .tv_sec = 1 };
	uint32_t seen = __atomic_load_n(&ring.woken[number], __ATOMIC_SEQ_CST);

	if (worker_gone())
		return WH_EGONE;
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
		return WH_OK;
	if (ask(WH_RELAY_SLEEP, number, value))
		return WH_EGONE;
	syscall(SYS_futex, &ring.woken[number], FUTEX_WAIT_PRIVATE, seen, &longest, NULL, 0);
	return worker_gone() ? WH_EGONE : WH_OK;
}

static void wake(uint32_t number, const uint32_t *word)
{
	(void)word;
	ask(WH_RELAY_WAKE, number, 0);
}

static int use_slot(uint32_t number)
{
	return ask(WH_RELAY_USE, number, 0);
}

static const struct wh_lane_ops lane_ops = {
	.sleep = sleep_on, .wake = wake, .use = use_slot, .gone = worker_gone,
};

/* --- The part ------------------------------------------------------------------------- */

/* Maps the part from that device. NULL: another device, or the address is taken. */
static void *map_part(const struct wh_window *window, const struct wh_relay_welcome *w)
{
	void *p;
	int fd = open(window->path, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		wh_note_reason("ring: %s: %s", window->path, strerror(errno));
		return NULL;
	}
	p = wh_link_map(WH_SHM_PART_VA, w->part_size, fd, (off_t)w->part_offset);
	close(fd);
	if (!p)
		wh_note_reason("ring: address %p is taken in this process; it must stay free for "
			       "the shared window", (void *)WH_SHM_PART_VA);
	return p;
}

/* A VM may have windows of other servers, too. The relay's has that size and a part there. */
static int find_part(struct wh_link *l, const struct wh_relay_welcome *w)
{
	struct wh_window window[WH_WINDOW_MAX];
	int i, n, rc = WH_EFAULT;
	void *part;

	if (!w->part_size || w->part_size > WH_MAX_PART_SIZE ||
	    (w->part_offset | w->part_size) % WH_PAGE_SIZE || w->part_size > w->window_size ||
	    w->part_offset > w->window_size - w->part_size)
		return WH_EFAULT;
	n = wh_window_list(WH_WINDOW_SYSFS, window);
	if (!n)
		wh_note_reason("ring: this VM has no window (an ivshmem device)");
	for (i = 0; i < n && rc; i++) {
		if (window[i].size != w->window_size)
			continue;
		part = map_part(&window[i], w);
		if (!part)
			continue;
		rc = wh_link_from_part(l, part, w->part_size);
		if (rc)
			munmap(part, w->part_size);
	}
	return rc;
}

/* --- The link ------------------------------------------------------------------------- */

static void hang_up(void)
{
	if (ring.port >= 0)
		close(ring.port);
	if (ring.stop >= 0)
		close(ring.stop);
	ring.port = ring.stop = -1;
}

/* A signal of the program must never run on this thread. */
static bool start_reader(void)
{
	sigset_t all, old;
	bool started;

	ring.stop = eventfd(0, EFD_CLOEXEC);
	if (ring.stop < 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	started = !pthread_create(&ring.reader, NULL, read_port, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return started;
}

static int ring_open(struct wh_link *l)
{
	struct wh_relay_welcome w;
	struct timespec now;
	uint32_t number;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &now);
	number = (uint32_t)getpid() * 2654435761u ^ (uint32_t)now.tv_nsec;
	ring.port = open_port(&rc);
	if (ring.port < 0)
		return rc;
	ring.gone = 0;
	if (ask(WH_RELAY_OPEN, WH_ABI_VERSION, number) ||
	    !await_welcome(ring.port, number, &rc, &w)) {
		wh_note_reason("ring: the VM's relay on the host does not answer; did it end?");
		rc = WH_EGONE;
	} else if (rc) {
		wh_note_reason("no worker: %.*s", (int)sizeof(w.error), w.error);
	}
	if (!rc)
		rc = find_part(l, &w);
	if (!rc && !start_reader()) {
		munmap(l->part, l->part_size);
		rc = WH_ENOMEM;
	}
	if (rc)
		hang_up();
	else
		wh_lanes_open(l, &lane_ops);
	return rc;
}

static void stop_reader(void)
{
	const uint64_t one = 1;

	if (write(ring.stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(ring.reader, NULL);
}

static void ring_close(struct wh_link *l)
{
	munmap(l->part, l->part_size);
	stop_reader();
	hang_up();
}

/* The part stays the parent's, and the child has no reader. */
static void ring_forked(struct wh_link *l)
{
	(void)l;
	hang_up();
}

/*
 * The driver gives the worker's memory back while that ends. Natively a program has ended when that
 * is done, so the next one finds the memory free.
 */
static void ring_end(struct wh_link *l)
{
	struct timespec now, left = { .tv_sec = LONGEST_END_S };
	time_t last;

	(void)l;
	clock_gettime(CLOCK_MONOTONIC, &now);
	last = now.tv_sec + LONGEST_END_S;
	if (ring.port < 0 || worker_gone() || ask(WH_RELAY_END, 0, 0))
		return;
	while (!worker_gone() && now.tv_sec < last) {
		syscall(SYS_futex, &ring.gone, FUTEX_WAIT_PRIVATE, 0, &left, NULL, 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
		left.tv_sec = last > now.tv_sec ? last - now.tv_sec : 0;
	}
}

const struct wh_transport wh_transport_ring = {
	.name = "ring",
	.probe = ring_probe,
	.open = ring_open,
	.call = wh_lanes_call,
	.call_patiently = wh_lanes_call_patiently,
	.post = wh_lanes_post,
	.reached = wh_lanes_reached,
	.settle = wh_lanes_settle,
	.abandon = wh_lanes_abandon,
	.close = ring_close,
	.end = ring_end,
	.forked = ring_forked,
};
