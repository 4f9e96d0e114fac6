// SPDX-License-Identifier: Apache-2.0
/*
 * Parts: the files of memory that a client and its worker share. The kernel charges their pages to
 * the worker, and a client that keeps the file keeps the pages after the worker has ended. So a
 * part counts, and its account is not free, as long as anybody has the file.
 *
 * The file is open twice here: once to be handed out, and once for the server to ask the kernel.
 * The kernel gives a lease for writing only to the holder of the only open file, in whatever way
 * others may hold it (descriptors, mappings, messages under way). A client can open the file again,
 * which counts too, or keep its name alone (O_PATH). So the pages are taken out of the file at the
 * end. A process of its own does that, since there may be many pages.
 */
#define _GNU_SOURCE
#include "daemon/monitor.h"
#include "daemon/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm.h"
#include "wormhole_abi.h"

#define LOOK_MS		250		/* a user who ends a program must not wait for long */
#define SOON_MS		2		/* a program has its part until its worker has ended */
#define WORKER_MEMORY	(4ULL << 30)	/* a worker's own host memory: driver, code, libraries */
#define SOFTGPU		"Wormhole softgpu"
#define LITTLE		(8u << 20)	/* most bytes that are given back here, in about 1 ms */

/* --- The file ------------------------------------------------------------------------- */

/*
 * Size of the far area: what a client may pin besides its part, which is a hole until then. It is
 * as much as the tenant may have now, since each page can be touched without asking. If that has no
 * limit, it is as much as the machine has.
 */
static size_t far_size(const struct wh_tenant *t)
{
	uint64_t n = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

	n = t->host_memory && t->host_memory < n ? t->host_memory : n;
	return (n < WH_SHM_FAR_MAX ? n : WH_SHM_FAR_MAX) & ~(uint64_t)(WH_PAGE_SIZE - 1);
}

static int open_again(int file)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return open(path, O_RDWR | O_CLOEXEC);
}

/*
 * Makes a file whose size nobody can change any more, so that the other side cannot cause SIGBUS.
 */
static int make_file(size_t size)
{
	int fd = memfd_create("wormhole-part", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;

	if (fd >= 0 && ftruncate(fd, size) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

/* The kernel does not count the first open file of a memfd for leases, so both are opened again. */
int wh_parts_make(struct wh_tenant *t, int account)
{
	int file = make_file(wh_server.part_size + far_size(t)), given, kept, error;

	if (file < 0)
		return -1;
	given = open_again(file);
	kept = given < 0 ? -1 : open_again(file);
	error = errno;
	close(file);
	if (kept >= 0) {
		t->worker[account].part = kept;
		return given;
	}
	if (given >= 0)
		close(given);
	errno = error;
	return -1;
}

/* Has nobody else the file open? If so, nobody can until it is closed here. */
static bool is_alone(int file)
{
	return !fcntl(file, F_SETLEASE, F_WRLCK);
}

static uint64_t bytes_of(int file)
{
	struct stat st;

	return fstat(file, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

static bool give_back(int file)
{
	struct stat st;

	return !fstat(file, &st) &&
	       !fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, st.st_size);
}

/* --- Parts of workers that have ended ------------------------------------------------- */

static void forget(struct tenant_worker *w)
{
	close(w->part);
	*w = (struct tenant_worker){ .lender = w->lender };
}

/* Nobody has the pages any more: the account is free when they are gone. */
static void end_part(struct tenant_worker *w)
{
	pid_t pid;

	if (bytes_of(w->part) > LITTLE) {
		pid = wh_fork_lasting(w->part);
		if (!pid)
			_exit(!give_back(w->part));
		if (pid > 0) {
			w->emptier = pid;
			wh_monitor_changed();
			return;
		}
	}
	give_back(w->part);
	forget(w);
}

static bool is_kept(const struct tenant_worker *w)
{
	return w->part && !w->pid;
}

unsigned int wh_parts_kept(const struct wh_tenant *t)
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		n += is_kept(&t->worker[i]);
	return n;
}

static void count(struct wh_tenant *t)
{
	uint64_t sum = t->loose = t->host_memory ? wh_isolation_loose(&t->isolation) : 0;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (is_kept(&t->worker[i]))
			sum += bytes_of(t->worker[i].part);
	wh_tenant_host_kept(t->file.limits, sum);
}

/* --- Looks ---------------------------------------------------------------------------- */

static int timer;	/* 0: it does not exist yet */
static bool runs;

/* A timer that runs is left alone, so that nobody can put off the next look. */
static void look_again(const struct wh_tenant *t)
{
	if (!runs && (wh_parts_kept(t) || t->loose || (t->host_memory && t->workers)))
		runs = wh_timer_set(timer, LOOK_MS, false);
}

static void on_time(void)
{
	struct wh_tenant *t = NULL;

	runs = false;
	while ((t = wh_tenant_next(t)))
		wh_parts_look(t);
}

/*
 * Looks that come soon after the end of a worker, at the tenants of such ones alone: at first after
 * SOON_MS, then after twice as long each time, until the other looks are as soon.
 */
static int soon_timer;
static unsigned int soon_ms;

static void look_soon(unsigned int ms)
{
	soon_ms = ms;
	wh_timer_set(soon_timer, ms, false);
}

static void on_soon(void)
{
	struct wh_tenant *t = NULL;
	bool more = false;

	while ((t = wh_tenant_next(t))) {
		if (!t->look_soon)
			continue;
		wh_parts_look(t);
		t->look_soon = wh_parts_kept(t) && soon_ms * 2 < LOOK_MS;
		more |= t->look_soon;
	}
	if (more)
		look_soon(soon_ms * 2);
}

void wh_parts_worker_ended(struct wh_tenant *t)
{
	wh_parts_look(t);
	if (!wh_parts_kept(t))
		return;
	t->look_soon = true;
	look_soon(SOON_MS);
}

void wh_parts_look(struct wh_tenant *t)
{
	struct tenant_worker *w;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = &t->worker[i];
		if (is_kept(w) && !w->emptier && is_alone(w->part))
			end_part(w);
	}
	count(t);
	look_again(t);
}

/* The most that a tenant can have of one of the server's devices. */
static uint64_t most_of(const struct wh_tenant *t, unsigned int device)
{
	uint64_t all = wh_server.device[device].memory;

	if (wh_is_hidden(wh_hidden_places(t->file.limits), (int)device))
		return 0;
	return t->had[device] && t->had[device] < all ? t->had[device] : all;
}

/*
 * While a tenant is suspended, its workers hold in memory of the host what they hold of devices at
 * other times. What they have charged is their own word, so its quota is the most. The memory that
 * they move it to themselves stays theirs (limits/paging.c), whatever they have charged since.
 */
static uint64_t from_devices(const struct wh_tenant *t)
{
	uint64_t sum = 0, charged, most;
	bool has_place = t->workers && (t->room.parkings || t->room.placed);
	unsigned int d, place;

	for (d = 0; (t->suspend.state != WH_RUNS || has_place) && d < WH_TENANT_DEVICES; d++) {
		place = wh_device_place(t->file.limits, d);
		if (place >= wh_server.devices)
			continue;
		charged = wh_tenant_memory(t->file.usage, d);
		most = most_of(t, place);
		sum += charged < most && !has_place ? charged : most;
	}
	return sum;
}

/*
 * Sets the cgroup's memory, which secures the limit of host memory that workers keep by themselves.
 * A worker needs memory of its own besides, and so do softgpu's devices. It is never the whole
 * machine's memory, so that the tenant that uses too much is the one that dies.
 */
void wh_parts_bound(struct wh_tenant *t)
{
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	uint64_t most = machine / 4 * 3, bytes = t->host_memory, own = WORKER_MEMORY;
	uint64_t parked = from_devices(t);
	unsigned int d;

	for (d = 0; d < wh_server.devices; d++)
		if (!strcmp(wh_server.device[d].name, SOFTGPU))
			own += wh_server.device[d].memory;
	if (most < bytes)
		most = bytes;
	bytes += own * (t->workers ? t->workers : 1) + parked;
	wh_isolation_memory(&t->isolation, !t->host_memory || bytes > most ? most : bytes);
	look_again(t);
}

bool wh_parts_reap(pid_t pid)
{
	struct wh_tenant *t = NULL;
	int i;

	while ((t = wh_tenant_next(t)))
		for (i = 0; i < WH_TENANT_WORKERS; i++)
			if (t->worker[i].emptier == pid) {
				forget(&t->worker[i]);
				count(t);
				return true;
			}
	return false;
}

/* Programs keep what they still have; a part that nobody has any more goes at once. */
void wh_parts_close(struct wh_tenant *t)
{
	unsigned int kept;
	int i;

	wh_parts_look(t);
	kept = wh_parts_kept(t);
	if (kept)
		wh_say_of(t->name, "warn", "tenant %s has ended, and its programs still have %u parts of "
			  "workers, of %llu bytes: that memory is free when they end", t->name, kept,
			  (unsigned long long)t->file.limits->host_kept);
	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (t->worker[i].part)
			forget(&t->worker[i]);
}

/* Can the kernel be asked for a lease? Without that, nobody could see when a part ends. */
static bool can_ask(void)
{
	int file = make_file(WH_PAGE_SIZE), again = file < 0 ? -1 : open_again(file);
	bool can;

	if (file >= 0)
		close(file);
	can = again >= 0 && is_alone(again);
	if (again >= 0)
		close(again);
	return can;
}

bool wh_parts_start(char *err, size_t err_size)
{
	timer = wh_timer_new(on_time);
	soon_timer = wh_timer_new(on_soon);
	if (timer < 0 || soon_timer < 0) {
		snprintf(err, err_size, "a timer: %s", strerror(errno));
		return false;
	}
	if (can_ask())
		return true;
	snprintf(err, err_size, "a lease of a memfd: %s; without it a program could keep its workers' memory "
		 "for ever: set fs.leases-enable = 1 by sysctl, and mount /proc", strerror(errno));
	return false;
}
