// SPDX-License-Identifier: Apache-2.0
/*
 * Worker of one shm client: maps the part, opens the session, and answers calls, on one thread for
 * each slot. The main thread serves slot 0; another slot gets its thread when the client says that
 * it uses the slot. One more thread watches the client: its socket, on which it says that, and, if
 * the kernel has them, its pidfd, because a child of the client may hold the socket open. When the
 * client is gone the process ends; nothing outlives it.
 */
#define _GNU_SOURCE
#include "daemon/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/ranks.h"
#include "limits/charge.h"
#include "limits/ipc_files.h"
#include "limits/paged.h"
#include "session/output.h"
#include "state/messages.h"
#include "protect/sandbox.h"
#include "session/session.h"
#include "tenant/send.h"
#include "shm.h"
#include "shm_wait.h"
#include "window.h"
#include "wire.h"

#define MAX_THREADS	4096	/* for all workers of a tenant */

/* --- Welcome ------------------------------------------------------------------------ */

/* files: as shm.h says; without any, w->status says why. */
static int send_welcome(int conn, struct wh_shm_welcome *w, const int *files, size_t n)
{
	struct iovec iov = { w, sizeof(*w) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	w->magic = WH_SHM_MAGIC;
	w->abi_version = WH_ABI_VERSION;
	w->shm_version = WH_SHM_VERSION;
	return wh_send_with(conn, m, files, n, 0) == sizeof(*w) ? 0 : -1;
}

/* Finds the size of the far area, behind the part. False: the file is too small. */
static bool far_size(int file, size_t part_size, uint64_t *far)
{
	struct stat st;

	if (fstat(file, &st) || (uint64_t)st.st_size < part_size)
		return false;
	*far = (uint64_t)st.st_size - part_size;
	return true;
}

static void *map_file(uint64_t va, int fd, size_t size, off_t offset)
{
	void *want = (void *)va;
	void *p = mmap(want, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd,
		       offset);

	if (p != want)
		return NULL;
	madvise(p, size, MADV_HUGEPAGE);	/* where the administrator allows it for memfds */
	return p;
}

/* --- A part of the client's own ------------------------------------------------------- */

#define OFFER_MS	10000	/* it is sent at once after the connection */

/* The name of the client's socket says that it brings a part (shm.h). */
static bool brings_part(int conn)
{
	struct sockaddr_un a;
	socklen_t n = sizeof(a);
	const size_t head = offsetof(struct sockaddr_un, sun_path);

	return !getpeername(conn, (struct sockaddr *)&a, &n) && n > head + sizeof(WH_SHM_BRINGS) &&
	       !memcmp(a.sun_path, "\0" WH_SHM_BRINGS, sizeof(WH_SHM_BRINGS));
}

/* A file that can shrink would end this process by SIGBUS at any time. */
static bool is_good_offer(const struct wh_shm_offer *o, int file)
{
	struct stat st;
	int seals = fcntl(file, F_GET_SEALS);

	return o->magic == WH_SHM_MAGIC && seals >= 0 && seals & F_SEAL_SHRINK &&
	       !fstat(file, &st) && !((o->offset | o->size) % WH_PAGE_SIZE) &&
	       o->size <= WH_MAX_PART_SIZE && o->size <= (uint64_t)st.st_size &&
	       o->offset <= (uint64_t)st.st_size - o->size;
}

/* Is it laid out as this worker's are? If not, w->error says that. */
static bool is_our_version(const struct wh_shm_offer *o, struct wh_shm_welcome *w)
{
	if (o->magic != WH_SHM_MAGIC || o->shm_version == WH_SHM_VERSION)
		return true;
	snprintf(w->error, sizeof(w->error), "the VM's relay has parts of version %u, the server of "
		 "version %u: install the same release of both", o->shm_version, WH_SHM_VERSION);
	return false;
}

/* Returns the file that the client offers as its part, or -1. */
static int take_offer(int conn, struct wh_shm_offer *o, struct wh_shm_welcome *w)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl;
	struct iovec iov = { o, sizeof(*o) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	struct pollfd p = { .fd = conn, .events = POLLIN };
	struct cmsghdr *c;
	int file = -1;

	if (poll(&p, 1, OFFER_MS) <= 0 || recvmsg(conn, &m, MSG_CMSG_CLOEXEC) != sizeof(*o))
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&file, CMSG_DATA(c), sizeof(int));
	if (file < 0 || (is_our_version(o, w) && is_good_offer(o, file)))
		return file;
	close(file);
	return -1;
}

/* --- The client's life -------------------------------------------------------------- */

static int client_pidfd(int conn)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);

	if (getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &cred, &n) || cred.pid <= 0)
		return -1;
	return syscall(SYS_pidfd_open, cred.pid, 0);
}

static struct {
	int conn, pidfd;	/* pidfd -1: the kernel has none */
	int own;		/* this process's pidfd, for the client */
	struct wh_session *session;
	uint8_t *part;
} life;

/* --- Calls ----------------------------------------------------------------------------- */

#define IDLE_NS		40000	/* so long without a call means that the client pauses */

/*
 * Under a share of time, the worker looks after its launches while the client makes no call: they
 * get their marker, and others get the device when all is done. False: no call came, and there is
 * nothing to look after any more.
 */
static bool await_idle(struct wh_session *s, uint32_t number, struct wh_shm_spin *spin,
		       const uint32_t *request, uint32_t last)
{
	uint64_t start = wh_shm_now(), before, now = start;
	bool shares = wh_shm_shares_cpu(spin);
	int looks = shares ? 1 : WH_SHM_ROUND;

	while (now - start < IDLE_NS) {
		if (wh_shm_look(request, last, false, looks))
			return true;
		looks = WH_SHM_ROUND;
		if (shares)
			sched_yield();
		now = wh_shm_now();
	}
	while (wh_dispatch_idle(s, number, false)) {
		if (wh_shm_look(request, last, false, WH_SHM_ROUND))
			return true;
		before = wh_shm_now();
		sched_yield();
		now = wh_shm_now();
		/* If a yield took long, other threads want this CPU. */
		if (now - before > WH_SHM_LATE_NS || now - start > WH_SHM_WORKER_NS) {
			wh_dispatch_idle(s, number, true);
			break;
		}
	}
	return wh_shm_look(request, last, false, 1);
}


/* The state of a thread for the slot that it serves. */
struct served {
	struct wh_session *s;
	struct wh_slot *slot;
	struct wh_shm_ring small, deep;	/* the latter without cells: there is none */
	struct wh_shm_ring ring;	/* where the client's posted calls lie now */
	uint32_t together;		/* so many calls are reported as done at a time */
	uint32_t number;
	bool asked;		/* whether the client is asked to wait for all answers, */
	bool asked_deep;	/* and to use its deep ring */
	uint32_t pause_us;	/* how long the last call was held back; 0: it was not */
	struct wh_shm_spin spin;
};

#define LOOK_NS		10000000	/* between looks at work under way while nobody calls */

/*
 * Sleeps until the client sends a request. While work is under way, one of the threads looks after
 * it, so that finished work is noticed and the device is passed on.
 */
static void sleep_until_request(struct served *v, uint32_t last)
{
	static const struct timespec look = { .tv_nsec = LOOK_NS };
	static uint32_t looker;
	struct wh_slot *slot = v->slot;
	uint32_t nobody;
	bool busy;

	if (wh_dispatch_unsettled(v->s))
		wh_dispatch_settle(v->s, v->number);
	__atomic_store_n(&slot->request_waiters, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&slot->request, __ATOMIC_SEQ_CST) == last) {
		nobody = 0;
		busy = wh_dispatch_busy(v->s) &&
		       __atomic_compare_exchange_n(&looker, &nobody, 1, false, __ATOMIC_ACQ_REL,
						   __ATOMIC_RELAXED);
		if (syscall(SYS_futex, &slot->request, FUTEX_WAIT, last, busy ? &look : NULL, NULL,
			    0) && busy && errno == ETIMEDOUT)
			wh_dispatch_idle(v->s, v->number, true);
		if (busy)
			__atomic_store_n(&looker, 0, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&slot->request_waiters, 0, __ATOMIC_RELAXED);
}

#define PAUSE_US	60	/* clients yield in shorter pauses (client-stubs/cuda/client.c) */

/*
 * Waits for a request. Returns the number of the last call that was sent, which differs from
 * `last`.
 */
static uint32_t await(struct served *v, uint32_t last)
{
	const uint32_t *request = &v->slot->request;

	/* A client that is held back sleeps, and so does its worker. */
	if (v->pause_us >= PAUSE_US && !wh_shm_look(request, last, false, 1))
		sleep_until_request(v, last);
	else if (!wh_shm_look(request, last, false, 1) &&
	    !(wh_dispatch_wants_idle(v->s) &&
	      await_idle(v->s, v->number, &v->spin, request, last)) &&
	    !wh_shm_spin(&v->spin, request, last, false, WH_SHM_WORKER_NS))
		sleep_until_request(v, last);
	return __atomic_load_n(request, __ATOMIC_ACQUIRE);
}

/* Tells the client that all calls up to this one are done. */
static void answer(struct wh_slot *slot, uint32_t call, int64_t status)
{
	slot->response_status = status;
	slot->calls += call - slot->response;
	__atomic_store_n(&slot->response, call, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&slot->response_waiters, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &slot->response, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The client looks at these words often, so they are written only when they change. */
static void ask_client(struct served *v)
{
	bool wants = wh_dispatch_wants_answers(v->s);
	bool deep = v->deep.cell && wh_dispatch_takes_turns(v->s);

	if (WH_UNLIKELY(wants != v->asked))
		v->slot->no_post = v->asked = wants;
	if (WH_UNLIKELY(deep != v->asked_deep))
		v->slot->wants_deep = v->asked_deep = deep;
}

#define HOLD_NS		20000000	/* a held-back call's longest stay in its slot */

/*
 * Handles a call that has to wait. A call that waits for another tenant's turn waits here, where
 * the end of that turn wakes it, so that nobody asks all the time. The client is told to come again
 * at once, and sleeps until it is answered. This must not last too long, since the client has other
 * threads and signals. In all other cases the client sleeps by itself.
 */
static int64_t hold_back(struct served *v, uint32_t handler, uint64_t arg, int64_t status)
{
	uint64_t begun = wh_shm_now();

	if (v->pause_us && wh_sm_held().word)
		while (status > 0 && wh_sm_held().word && wh_shm_now() - begun < HOLD_NS) {
			wh_sm_hold((uint64_t)status);
			status = wh_dispatch_slot(v->s, v->number, handler, arg);
		}
	v->pause_us = status > 0 ? (uint32_t)status : 0;
	return status > 0 && wh_sm_held().word ? 1 : status;
}

/* Handler and argument are read once; the number of the call is only echoed. */
static void answered_call(struct served *v, uint32_t call)
{
	struct wh_slot *slot = v->slot;
	uint32_t handler = __atomic_load_n(&slot->request_handler, __ATOMIC_RELAXED);
	uint64_t arg = __atomic_load_n(&slot->request_arg[0], __ATOMIC_RELAXED);
	int64_t status = wh_dispatch_slot(v->s, v->number, handler, arg);

	if (WH_UNLIKELY(status > 0))
		status = hold_back(v, handler, arg, status);
	else
		v->pause_us = 0;
	ask_client(v);
	answer(slot, call, status);
}

/*
 * No client of ours writes such a value: a client that does so has more errors than this call, or
 * is testing the worker. The session ends, and the log says why.
 */
static void impossible(const char *what, uint32_t value, uint32_t call)
{
	fprintf(wh_messages(), "error: worker %d: the client's ring says %s 0x%x at call %u, which "
		"cannot be; its session ends\n", getpid(), what, value, call);
}

#define HELD_US		1000	/* a client polls for shorter waits */

/*
 * A posted call has to wait. Other threads may wait for those before it, and the client sleeps
 * rather than look for this one.
 */
static void hold_posted(struct served *v, uint32_t call, uint64_t us)
{
	struct wh_slot *slot = v->slot;

	if (slot->response != call - 1)
		answer(slot, call - 1, 0);
	__atomic_store_n(&slot->held, wh_sm_held().word || us >= HELD_US, __ATOMIC_RELAXED);
	wh_sm_hold(us);
	__atomic_store_n(&slot->held, 0, __ATOMIC_RELAXED);
}

/*
 * Runs a call that nobody waits for, so this side tries again if it is held back. The first error
 * is reported, and only if the client has not been told of one yet. False: it is no call.
 */
static bool posted_call(struct served *v, const struct wh_shm_cell *c, uint32_t call)
{
	struct wh_slot *slot = v->slot;
	uint32_t handler = __atomic_load_n(&c->handler, __ATOMIC_RELAXED);
	uint32_t size = __atomic_load_n(&c->size, __ATOMIC_RELAXED);
	const uint8_t *request = c->request;
	int64_t status;
	int res = 0;

	if (WH_UNLIKELY(size > sizeof(c->request))) {
		uint32_t place = __atomic_load_n(&c->place, __ATOMIC_RELAXED);

		if (place >= v->ring.longs) {
			impossible("place", place, call);
			return false;
		}
		request = wh_shm_long(&v->ring, place);
	}
	if (WH_UNLIKELY(size < sizeof(struct wh_req) || size > WH_SHM_LONG)) {
		impossible("request size", size, call);
		return false;
	}
	if (WH_UNLIKELY(handler != WH_HANDLER_CUDA && handler != WH_HANDLER_LIBRARY)) {
		impossible("handler", handler, call);
		return false;
	}
	wh_self.alike = __atomic_load_n(&c->alike, __ATOMIC_RELAXED);
	while ((status = wh_dispatch_posted(v->s, v->number, handler, request, size,
					    &res)) > 0)
		hold_posted(v, call, (uint64_t)status);
	v->pause_us = 0;
	wh_self.alike = 0;
	/* A library's status is not a CUresult. */
	if (status < 0 || (res && handler != WH_HANDLER_CUDA))
		res = WH_SHM_UNKNOWN;
	if (WH_UNLIKELY(res) && !slot->deferred)
		slot->deferred = res;
	ask_client(v);
	return true;
}

/* To fetch a line of another CPU's cache takes as long as a small call. */
static void fetch_ahead(const struct wh_shm_cell *c)
{
	const char *p = (const char *)c;

	__builtin_prefetch(p);
	__builtin_prefetch(p + 64);
	__builtin_prefetch(p + 128);
}

/* The client changes its ring before it sends a call, when all before are done. */
static void use_ring(struct served *v)
{
	bool deep = __atomic_load_n(&v->slot->deep, __ATOMIC_RELAXED) && v->deep.cell;

	if (WH_LIKELY(deep == wh_self.deep))
		return;
	wh_self.deep = deep;
	v->ring = deep ? v->deep : v->small;
	v->together = deep ? WH_SHM_DEEP_TOGETHER : WH_SHM_TOGETHER;
}

/*
 * Serves the calls of a slot; returns when the client writes an impossible value. A client has at
 * most a ring of posted calls under way, and behind them one that it waits for. While there are
 * posted calls, the words that both sides use are left alone. The number of sent calls is read
 * again only when these are done, and progress is reported for several calls together. Of the calls
 * that are known to be sent, only the last one can be one that the client waits for.
 */
static void serve_calls(struct served *v)
{
	struct wh_slot *slot = v->slot;
	uint32_t call = 0, sent = 0;

	for (;;) {
		if (call == sent) {
			sent = await(v, call);
			use_ring(v);
			if (WH_UNLIKELY(sent - call - 1 > v->ring.cells)) {
				impossible("number", sent, call);
				return;
			}
		}
		call++;
		if (call != sent)
			fetch_ahead(wh_shm_cell(&v->ring, call + 1));
		else if (__atomic_load_n(&slot->request_arg[1], __ATOMIC_RELAXED) == call) {
			answered_call(v, call);
			continue;
		}
		if (!posted_call(v, wh_shm_cell(&v->ring, call), call))
			return;
		if (call == sent || call % v->together == 0)
			answer(slot, call, 0);
	}
}

/* --- Slots ------------------------------------------------------------------------------ */

/* The places of the slots. The control page names them, too, but the client can write there. */
static struct wh_session_place place;

/* Of all slots; NULL: there are none. They lie behind what the session has of the part. */
static uint8_t *deep_rings;

/* How much of a part of this size the session gets. */
static uint64_t session_size(uint64_t part_size)
{
	return part_size < WH_SHM_DEEP_LEAST ? part_size :
					       part_size - WH_MAX_SLOTS * WH_SHM_DEEP_RING;
}

static void serve_slot(uint32_t number)
{
	uint8_t *end = life.part + place.msg_offset + (number + 1) * place.msg_size;
	struct wh_slot *slot = (struct wh_slot *)(life.part + WH_PAGE_SIZE * (1 + number));
	struct served v = {
		.s = life.session, .number = number, .slot = slot,
		.spin = { .mine = &slot->worker_cpu, .theirs = &slot->client_cpu },
		.ring = wh_shm_ring(end), .small = wh_shm_ring(end),
		.together = WH_SHM_TOGETHER,
	};

	if (deep_rings)
		v.deep = wh_shm_deep_ring(deep_rings, number);

	serve_calls(&v);
}

static void *slot_thread(void *number)
{
	wh_session_new_thread(life.session);
	serve_slot((uintptr_t)number);
	_exit(1);
}

/*
 * The client uses a slot from now on. A number that is no slot, or is served already, is ignored. A
 * slot that cannot be served ends the process, since calls would wait there for ever.
 */
static void start_slot(uint32_t number)
{
	static bool started[WH_MAX_SLOTS] = { [0] = true };
	pthread_t t;

	if (number >= place.slots || started[number])
		return;
	started[number] = true;
	if (wh_session_slot(life.session, number) &&
	    !pthread_create(&t, NULL, slot_thread, (void *)(uintptr_t)number))
		return;
	fprintf(wh_messages(), "error: worker %d: no memory or thread for slot %u; its session ends\n",
		getpid(), number);
	_exit(1);
}

/* Reads what the client sent, or notices that it has ended. */
static void hear(void)
{
	struct wh_shm_use use;
	ssize_t n = recv(life.conn, &use, sizeof(use), MSG_DONTWAIT);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n != sizeof(use) || use.magic != WH_SHM_MAGIC)
		_exit(0);
	start_slot(use.slot);
}

/* This thread asks the driver while a call is stuck inside it, and may get stuck there, too. */
static struct {
	sem_t wanted;
	bool asks;
} asker;

static void *ask(void *arg)
{
	for (;;) {
		while (sem_wait(&asker.wanted))
			;
		wh_awaited_ask(life.session);
		__atomic_store_n(&asker.asks, false, __ATOMIC_RELEASE);
	}
	return arg;
}

static void ask_if_late(void)
{
	if (!wh_awaited_late(life.session) ||
	    __atomic_exchange_n(&asker.asks, true, __ATOMIC_ACQUIRE))
		return;
	sem_post(&asker.wanted);
}

/* This thread comes to rest with its tenant (daemon/suspend.c). */
static void *rest(void *arg)
{
	wh_session_new_thread(life.session);
	for (;;)
		wh_dispatch_rest(life.session, wh_dispatch_suspension(life.session));
	return arg;
}

/* And this one makes ready for what that may have to do. */
static void *prepare(void *arg)
{
	wh_paging_ahead(life.session);
	return arg;
}

static void *watch(void *arg)
{
	struct pollfd p[2] = {
		{ .fd = life.conn, .events = POLLIN | POLLRDHUP },
		{ .fd = life.pidfd, .events = POLLIN },
	};
	unsigned int again;
	int n;

	(void)arg;
	for (;;) {
		if (wh_sm_watch(life.session, &again))
			wh_session_out_of_time(life.session);
		ask_if_late();
		n = poll(p, life.pidfd < 0 ? 1 : 2, (int)again);
		if (n <= 0)
			continue;
		if ((p[0].revents & ~POLLIN) || p[1].revents)
			_exit(0);
		if (p[0].revents)
			hear();
	}
}

static int start_watch(void)
{
	pthread_t t;

	return sem_init(&asker.wanted, 0, 0) || pthread_create(&t, NULL, ask, NULL) ||
	       pthread_create(&t, NULL, rest, NULL) ||
	       (wh_paged_moves(life.session) && pthread_create(&t, NULL, prepare, NULL)) ||
	       pthread_create(&t, NULL, watch, NULL);
}

static int refuse(int conn, int status, const char *why)
{
	struct wh_shm_welcome w = { .status = status };

	snprintf(w.error, sizeof(w.error), "%s", why);
	fprintf(stderr, "error: worker %d: %s\n", getpid(), why);
	send_welcome(conn, &w, NULL, 0);
	return 1;
}

/* Closes all of the tenant's files after joining: the backend needs none of them. */
static int join_tenant(struct wh_session *s, const struct wh_tenant_files *t, char *err,
		       size_t size)
{
	if (t->limits < 0 && t->usage < 0)
		return 0;
	if (wh_session_set_tenant(s, t, err, size))
		return -1;
	if (!wh_paged_begin(s)) {
		snprintf(err, size, "out of memory");
		return -1;
	}
	close(t->limits);
	close(t->usage);
	close(t->seats);
	close(t->seat);
	close(t->trace);
	return 0;
}

int wh_shm_protect(enum wh_protect protect, const char *backend, int seats, bool loaded,
		   char *err, size_t err_size)
{
	struct wh_sandbox s = {
		.seccomp = loaded && protect & WH_WORKER_FILTER, .local = true,
		.tcp = protect & WH_WORKER_TCP,
		.landlock = !loaded && protect & WH_WORKER_LANDLOCK ? wh_landlock_enter : NULL,
		.backend = backend, .seats = seats,
		.processes = protect & WH_WORKER_OWN_USER ? MAX_THREADS : 0,
	};

	return wh_sandbox_enter(&s, err, err_size);
}

/* Makes what cannot be made any more under the filter of system calls. */
static void take_what_needs_calls(int conn)
{
	life.conn = conn;
	life.pidfd = client_pidfd(conn);
	life.own = (int)syscall(SYS_pidfd_open, getpid(), 0);
	wh_ipc_files_work();
}

/*
 * Maps the part and the far area, which a part that the client brings does not have. *file: what
 * the client gets. NULL: that failed; w->error may say why.
 */
static void *map_part(const struct wh_shm_worker *o, struct wh_shm_welcome *w, void **far,
		      int *file)
{
	struct wh_shm_offer offer;
	void *part;

	*far = NULL;
	*file = o->part;
	if (brings_part(o->conn)) {
		close(o->part);
		*file = take_offer(o->conn, &offer, w);
		w->part_size = *file < 0 ? 0 : offer.size;
		return *file < 0 ? NULL :
				   map_file(WH_SHM_PART_VA, *file, offer.size, offer.offset);
	}
	if (!far_size(o->part, o->part_size, &w->far_size))
		return NULL;
	part = map_file(WH_SHM_PART_VA, o->part, o->part_size, 0);
	if (part && w->far_size)
		*far = map_file(WH_SHM_FAR_VA, o->part, w->far_size, o->part_size);
	return w->far_size && !*far ? NULL : part;
}

int wh_shm_serve(const struct wh_shm_worker *o)
{
	struct wh_shm_welcome w = { .part_size = o->part_size };
	struct wh_session *s;
	void *part, *far;
	char err[240];
	int file;

	/* The worker ends with the server: its clients then connect to a new one. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Sleeps of a worker that is held back should end in time, and not 50 us later. */
	prctl(PR_SET_TIMERSLACK, 1000);
	if (o->parent && getppid() != o->parent)
		return 1;
	fcntl(o->conn, F_SETFD, FD_CLOEXEC);
	fcntl(o->part, F_SETFD, FD_CLOEXEC);
	if (o->lent >= 0)
		fcntl(o->lent, F_SETFD, FD_CLOEXEC);
	part = map_part(o, &w, &far, &file);
	if (!part)
		return w.error[0] ? refuse(o->conn, WH_EINVAL, w.error) :
				    refuse(o->conn, WH_ENOMEM, "cannot map the shared part");
	take_what_needs_calls(o->conn);
	wh_ranks_prepare(o->protect & WH_WORKER_TCP);
	wh_crashes_say();
	if (wh_shm_protect(o->protect, o->backend, o->tenant.seats, false, err, sizeof(err)))
		return refuse(o->conn, WH_EINVAL, err);
	s = wh_session_open(part, session_size(w.part_size), WH_MAX_SLOTS, o->backend, err,
			    sizeof(err));
	if (!s)
		return refuse(o->conn, WH_ENOENT, err);
	if (join_tenant(s, &o->tenant, err, sizeof(err)))
		return refuse(o->conn, WH_EINVAL, err);
	if (!wh_session_charge_part(s, w.part_size, err, sizeof(err)))
		return refuse(o->conn, WH_ENOMEM, err);
	wh_session_far(s, far, w.far_size, false);
	if (o->lent >= 0)
		wh_session_lent(s, o->lent);
	if (wh_shm_protect(o->protect, o->backend, -1, true, err, sizeof(err)))
		return refuse(o->conn, WH_EINVAL, err);
	if (!wh_output_capture())
		return refuse(o->conn, WH_ENOMEM, "out of memory");
	wh_session_ready(s);
	wh_session_may_end(s);
	life.session = s;
	life.part = part;
	if (session_size(w.part_size) < w.part_size)
		deep_rings = life.part + session_size(w.part_size);
	place = wh_session_place(s);
	if (send_welcome(o->conn, &w, (int[]) { file, life.own }, 1 + (life.own >= 0)) ||
	    start_watch())
		return 1;
	close(file);
	if (life.own >= 0)
		close(life.own);
	if (o->started >= 0)
		close(o->started);
	serve_slot(0);
	return 1;
}
