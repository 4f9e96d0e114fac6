// SPDX-License-Identifier: Apache-2.0
/*
 * Joins a session to its tenant: checks and maps the files, and keeps a private copy of the limits,
 * which the server may change at any time. The policies are in memory.c and bucket.c.
 */
#define _GNU_SOURCE
#include "limits/limits.h"

#include "limits/ipc.h"
#include "limits/join.h"
#include "limits/trace.h"
#include "limits/turns.h"
#include "tenant/seats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The limits of sessions without a tenant: they always say "no limit". */
static const struct wh_tenant_limits no_limits;
/* Such sessions also have no memory that traces are written to. */
static const uint32_t nobody_traces;

static void close_turns(struct wh_turns *v)
{
	unsigned int i;

	if (!v)
		return;
	for (i = 0; i < WH_SEATS; i++) {
		if (v->peer[i].page)
			wh_turn_unmap(v->peer[i].page);
		if (v->peer[i].before)
			wh_turn_unmap(v->peer[i].before);
	}
	if (v->board)
		munmap((void *)v->board, sizeof(*v->board));
	if (v->own)
		munmap(v->own, sizeof(*v->own));
	if (v->dir >= 0)
		close(v->dir);
	free(v);
}

bool wh_limits_init(struct wh_session *s)
{
	struct wh_limits *l = &s->limits;

	*l = (struct wh_limits) { .page = &no_limits, .own_account = -1, .ctx = WH_CTX_UNKNOWN };
	l->account = calloc(1, sizeof(*l->account));
	s->trace.on = &nobody_traces;
	return l->account;
}

void wh_limits_free(struct wh_session *s)
{
	struct wh_limits *l = &s->limits;

	wh_mem_close(s);
	wh_sm_close(s);
	wh_sms_close(s);
	wh_ipc_close(s);
	wh_trace_close(s);
	if (!l->usage) {
		free(l->account);
		return;
	}
	if (l->own_account >= 0)
		wh_tenant_account_clear(l->usage, (unsigned int)l->own_account);
	munmap((void *)l->page, sizeof(*l->page));
	munmap(l->usage, sizeof(*l->usage));
	close_turns(l->turns);
}

/* --- A consistent copy of the limits ------------------------------------------- */

/*
 * Reads until nothing changed in between. A server that died in the middle of a change leaves an
 * odd sequence for ever: the old copy stays.
 */
static bool copy_limits(const struct wh_tenant_limits *page, struct wh_device_limit *out,
			uint32_t *sequence)
{
	uint32_t before;
	int i;

	for (i = 0; i < 1000; i++) {
		before = __atomic_load_n(&page->sequence, __ATOMIC_ACQUIRE);
		if (!(before & 1)) {
			memcpy(out, page->device, sizeof(page->device));
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			*sequence = before;
			if (__atomic_load_n(&page->sequence, __ATOMIC_RELAXED) == before)
				return true;
		}
		__builtin_ia32_pause();
	}
	return false;
}

void wh_limits_reread(struct wh_session *s)
{
	struct wh_device_limit fresh[WH_TENANT_DEVICES];
	struct wh_limits *l = &s->limits;
	uint32_t shares = l->temporal;
	int d;

	if (!copy_limits(l->page, fresh, &l->seen))
		return;
	memcpy(l->limit, fresh, sizeof(fresh));
	/* While the tenant is suspended, no call may take the short way (session/callers.h). */
	if (__atomic_load_n(&l->page->suspension, __ATOMIC_ACQUIRE))
		l->seen = UINT32_MAX;
	l->temporal = 0;
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		if (wh_has_share(&l->limit[d], WH_SM_TEMPORAL))
			l->temporal |= 1u << d;
	/* The next call sees a trace that begins just now. */
	__atomic_store_n(&l->watched, l->temporal | (l->watched & WH_WATCHED_TRACE),
			 __ATOMIC_RELAXED);
	wh_sm_share_gone(s, shares & ~l->temporal);
}

/* --- The files ------------------------------------------------------------------- */

static void *map(int fd, const char *what, size_t size, int prot, char *err, size_t err_size)
{
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) || st.st_size < (off_t)size) {
		snprintf(err, err_size, "tenant: the %s file is missing or too small", what);
		return NULL;
	}
	p = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		return p;
	snprintf(err, err_size, "tenant: cannot map the %s file: %s", what, strerror(errno));
	return NULL;
}

/* All of them begin with magic, version and size. */
static bool good_head(const void *head, uint64_t magic, size_t size)
{
	const struct wh_seat *h = head;

	return h->magic == magic && h->version == WH_TENANT_VERSION && h->size == size;
}

static int take_account(struct wh_limits *l, int account, char *err, size_t err_size)
{
	if (account < 0) {
		wh_tenant_accounts_reap(l->usage);
		account = l->own_account = wh_tenant_account_take(l->usage, getpid());
	}
	if (account < 0 || account >= WH_TENANT_WORKERS) {
		snprintf(err, err_size, "tenant: has %d workers, the most there may be",
			 WH_TENANT_WORKERS);
		return -1;
	}
	free(l->account);
	l->account = &l->usage->worker[account];
	l->turn_id = (uint64_t)account + 1;
	return 0;
}

/* --- Turns -------------------------------------------------------------------------- */

const struct wh_seat *wh_turn_map(struct wh_turns *v, uint64_t tenant_id)
{
	char name[WH_SEAT_NAME], err[160];
	const struct wh_seat *page;
	int fd;

	wh_seat_name(name, tenant_id);
	fd = openat(v->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	page = map(fd, "seat", sizeof(*page), PROT_READ, err, sizeof(err));
	if (fd >= 0)
		close(fd);
	if (!page || good_head(page, WH_SEAT_MAGIC, sizeof(*page)))
		return page;
	wh_turn_unmap(page);
	return NULL;
}

void wh_turn_unmap(const struct wh_seat *page)
{
	munmap((void *)page, sizeof(*page));
}

static const struct wh_board *map_board(int dir, char *err, size_t err_size)
{
	int fd = openat(dir, WH_BOARD_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	const struct wh_board *b = map(fd, "board", sizeof(*b), PROT_READ, err, err_size);

	if (fd >= 0)
		close(fd);
	return b;
}

/* Maps at once the seats of others that exist, so that no call has to do it later. */
static struct wh_turns *open_turns(const struct wh_tenant_limits *page,
				   const struct wh_tenant_files *f, char *err, size_t err_size)
{
	struct wh_turns *v = calloc(1, sizeof(*v));
	unsigned int i;

	if (!v) {
		snprintf(err, err_size, "out of memory");
		return NULL;
	}
	v->dir = fcntl(f->seats, F_DUPFD_CLOEXEC, 0);
	v->seat = page->seat;
	v->limits = page;
	v->board = map_board(v->dir, err, err_size);
	v->own = v->board ? map(f->seat, "seat", sizeof(*v->own), PROT_READ | PROT_WRITE, err,
				err_size) : NULL;
	if (!v->own) {
		close_turns(v);
		return NULL;
	}
	if (!good_head(v->board, WH_BOARD_MAGIC, sizeof(*v->board)) ||
	    !good_head(v->own, WH_SEAT_MAGIC, sizeof(*v->own)) || v->seat >= WH_SEATS) {
		snprintf(err, err_size, "tenant: the files of the turns are of another release");
		close_turns(v);
		return NULL;
	}
	for (i = 0; i < v->board->top && i < WH_SEATS; i++) {
		v->peer[i].tenant_id = v->board->seat[i].tenant_id;
		if (v->peer[i].tenant_id && i != v->seat)
			v->peer[i].page = wh_turn_map(v, v->peer[i].tenant_id);
	}
	return v;
}

static int map_files(struct wh_limits *l, const struct wh_tenant_files *f, char *err,
		     size_t err_size)
{
	const struct wh_tenant_limits *page;
	struct wh_tenant_usage *usage;

	page = map(f->limits, "limits", sizeof(*page), PROT_READ, err, err_size);
	usage = page ? map(f->usage, "usage", sizeof(*usage), PROT_READ | PROT_WRITE, err,
			   err_size) : NULL;
	if (!usage)
		return -1;
	/*
	 * Only the server's file is checked: another worker may have written the head of the usage
	 * file.
	 */
	if (!good_head(page, WH_TENANT_LIMITS_MAGIC, sizeof(*page))) {
		snprintf(err, err_size, "tenant: the files are of another release");
		return -1;
	}
	l->turns = f->seats < 0 ? NULL : open_turns(page, f, err, err_size);
	if (f->seats >= 0 && !l->turns)
		return -1;
	l->page = page;
	l->usage = usage;
	return 0;
}

int wh_session_set_tenant(struct wh_session *s, const struct wh_tenant_files *f, char *err,
			  size_t err_size)
{
	struct wh_limits l = s->limits;

	/* A worker that cannot join does not serve, and ends with the mappings. */
	if (map_files(&l, f, err, err_size) || take_account(&l, f->account, err, err_size))
		return -1;
	s->limits = l;
	wh_self_on(s, wh_self.device);
	wh_limits_reread(s);
	if (!wh_trace_open(s, f->trace, (unsigned int)(l.turn_id - 1), l.account->client_pid)) {
		snprintf(err, err_size, "tenant: the memory of its trace cannot be mapped");
		return -1;
	}
	if (wh_mem_open(s) && wh_ipc_open(s))
		return 0;
	snprintf(err, err_size, "out of memory, or another worker of the tenant keeps its locks");
	return -1;
}

static int open_file(const char *dir_and_name, const char *suffix, int flags)
{
	char path[512];

	if (snprintf(path, sizeof(path), "%s%s", dir_and_name, suffix) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(path, flags | O_CLOEXEC);
}

static int open_seats(const char *dir_and_name)
{
	const char *slash = strrchr(dir_and_name, '/');
	char path[512];

	snprintf(path, sizeof(path), "%.*s/" WH_TURNS_FOLDER,
		 slash ? (int)(slash - dir_and_name) : 1, slash ? dir_and_name : ".");
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The tenant's own seat. */
static int open_seat(int seats, int limits)
{
	struct wh_tenant_limits l;
	char name[WH_SEAT_NAME];

	if (seats < 0 || pread(limits, &l, sizeof(l), 0) != sizeof(l))
		return -1;
	wh_seat_name(name, l.tenant_id);
	return openat(seats, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

int wh_session_join_as(struct wh_session *s, const char *dir_and_name, int account, char *err,
		       size_t err_size)
{
	struct wh_tenant_files f = WH_NO_TENANT;
	int rc;

	f.account = account;
	f.limits = open_file(dir_and_name, ".limits", O_RDONLY);
	f.usage = open_file(dir_and_name, ".usage", O_RDWR);
	f.seats = open_seats(dir_and_name);
	f.seat = open_seat(f.seats, f.limits);
	rc = wh_session_set_tenant(s, &f, err, err_size);
	close(f.limits);
	close(f.usage);
	close(f.seats);
	close(f.seat);
	return rc;
}

int wh_session_join_tenant(struct wh_session *s, const char *dir_and_name, char *err,
			   size_t err_size)
{
	return wh_session_join_as(s, dir_and_name, -1, err, err_size);
}
