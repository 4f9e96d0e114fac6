// SPDX-License-Identifier: Apache-2.0
/*
 * Makes, writes and reads the files of a tenant. Only the server writes limits and the owners of
 * accounts, so its own side needs no lock. Readers repeat until `sequence` (limits) or
 * `ended.generation` (usage) was even and the same before and after.
 */
#define _GNU_SOURCE
#include "tenant/file.h"
#include "tenant/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_TRIES	1000

bool wh_tenant_name_ok(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._-";
	size_t n = strlen(name);

	return n && n < WH_TENANT_NAME && strchr(letters, *name) && strspn(name, more) == n;
}

static void path_of(char path[PATH_MAX], const char *dir, const char *name, const char *what)
{
	snprintf(path, PATH_MAX, "%s/%s.%s", dir, name, what);
}

/* --- Making and removing ---------------------------------------------------------- */

/*
 * Makes a new file of this size, for its owner only. Returns its descriptor, or a negative errno.
 * It gets its blocks: so a full disk is an error now, and no SIGBUS at a later store.
 */
static int make(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), rc;

	if (fd < 0)
		return -errno;
	rc = -posix_fallocate(fd, 0, (off_t)size);
	if (!rc)
		return fd;
	close(fd);
	unlink(path);
	return rc;
}

static void *map(int fd, size_t size, int prot)
{
	void *p = mmap(NULL, size, prot, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(struct wh_tenant_file *f)
{
	if (f->limits)
		munmap(f->limits, sizeof(*f->limits));
	if (f->usage)
		munmap(f->usage, sizeof(*f->usage));
	if (f->limits_fd >= 0)
		close(f->limits_fd);
	if (f->usage_fd >= 0)
		close(f->usage_fd);
	*f = (struct wh_tenant_file){ .limits_fd = -1, .usage_fd = -1 };
}

static int format(struct wh_tenant_file *f, const char *name, uint64_t id, unsigned int devices)
{
	if (wh_tenant_limits_init(f->limits, name, id) || wh_tenant_usage_init(f->usage, id))
		return -errno;
	f->limits->devices = devices;
	return 0;
}

static int make_limits(struct wh_tenant_file *f, const char *path)
{
	int fd = make(path, sizeof(*f->limits)), rc;

	if (fd < 0)
		return fd;
	f->limits = map(fd, sizeof(*f->limits), PROT_READ | PROT_WRITE);
	rc = f->limits ? 0 : -errno;
	close(fd);
	if (rc)
		unlink(path);
	else
		f->limits_fd = open(path, O_RDONLY | O_CLOEXEC);
	return rc || f->limits_fd >= 0 ? rc : -errno;
}

static int make_usage(struct wh_tenant_file *f, const char *path)
{
	f->usage_fd = make(path, sizeof(*f->usage));
	if (f->usage_fd < 0)
		return f->usage_fd;
	f->usage = map(f->usage_fd, sizeof(*f->usage), PROT_READ | PROT_WRITE);
	return f->usage ? 0 : -errno;
}

int wh_tenant_file_create(struct wh_tenant_file *f, const char *dir, const char *name,
			  uint64_t id, unsigned int devices)
{
	char limits[PATH_MAX], usage[PATH_MAX];
	int rc;

	path_of(limits, dir, name, "limits");
	path_of(usage, dir, name, "usage");
	*f = (struct wh_tenant_file){ .limits_fd = -1, .usage_fd = -1 };
	rc = make_limits(f, limits);
	if (!rc)
		rc = make_usage(f, usage);
	if (!rc)
		rc = format(f, name, id, devices);
	if (!rc)
		return 0;
	/* A file that existed before is not ours, so it stays. */
	if (f->limits)
		unlink(limits);
	if (f->usage_fd >= 0)
		unlink(usage);
	unmap(f);
	return rc;
}

int wh_tenant_file_take(struct wh_tenant_file *f, int limits_fd, int usage_fd)
{
	char path[40];
	int fd, rc;

	*f = (struct wh_tenant_file){ .limits_fd = limits_fd, .usage_fd = usage_fd };
	/* The descriptor of workers is for reading. Its name may be gone. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", limits_fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	f->limits = map(fd, sizeof(*f->limits), PROT_READ | PROT_WRITE);
	if (f->limits)
		f->usage = map(usage_fd, sizeof(*f->usage), PROT_READ | PROT_WRITE);
	rc = f->usage ? 0 : -errno;
	close(fd);
	return rc;
}

void wh_tenant_file_remove(struct wh_tenant_file *f, const char *dir, const char *name)
{
	char path[PATH_MAX];

	unmap(f);
	path_of(path, dir, name, "limits");
	unlink(path);
	path_of(path, dir, name, "usage");
	unlink(path);
}

int wh_tenant_file_restart(struct wh_tenant_file *f, uint64_t tenant_id)
{
	int rc = wh_tenant_map_again(f->usage, sizeof(*f->usage), f->usage_fd);

	if (!rc && wh_tenant_usage_restart(f->usage, tenant_id))
		rc = -errno;
	return rc;
}

/* --- Limits ----------------------------------------------------------------------- */

int wh_tenant_limits_read(const struct wh_tenant_limits *l, struct wh_tenant_limits *out)
{
	uint32_t before;
	int i;

	for (i = 0; i < READ_TRIES; i++) {
		before = __atomic_load_n(&l->sequence, __ATOMIC_ACQUIRE);
		memcpy(out, l, sizeof(*out));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) && before == __atomic_load_n(&l->sequence, __ATOMIC_RELAXED))
			return 0;
	}
	return -EAGAIN;
}

/* --- Accounts --------------------------------------------------------------------- */

void wh_tenant_account_open(struct wh_tenant_usage *u, int account)
{
	struct wh_worker_usage *w = &u->worker[account];
	uint64_t generation = w->generation;

	memset(w, 0, sizeof(*w));
	w->generation = generation + 1;
	w->started_ns = wh_wall_ns();
}

void wh_tenant_account_own(struct wh_tenant_usage *u, int account, pid_t pid, pid_t client)
{
	u->worker[account].client_pid = (uint32_t)client;
	__atomic_store_n(&u->worker[account].pid, (uint32_t)pid, __ATOMIC_RELEASE);
}

/* The process is waiting for us now, but may die: then another may have its number by now. */
void wh_tenant_account_client(struct wh_tenant_usage *u, int account, pid_t client, uid_t uid)
{
	struct wh_worker_usage *w = &u->worker[account];
	char path[40], text[WH_COMMAND + 1] = "";
	ssize_t n = -1;
	int fd;

	w->client_uid = uid;
	snprintf(path, sizeof(path), "/proc/%d/comm", client);
	fd = client > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	/* The last byte is the kernel's newline; another is the program's. */
	if (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = 0;
	memcpy(w->command, text, sizeof(w->command));
}

static bool lives(const struct wh_worker_usage *w)
{
	uint32_t pid = __atomic_load_n(&w->pid, __ATOMIC_ACQUIRE);

	/* a worker that is being cleared soon counts among the ended */
	return pid && pid != UINT32_MAX;
}

/*
 * Returns a tenant's peak, as far as it can be told without a lock: not less than any worker's own
 * peak, nor than what all hold now, and never more than was held.
 */
static uint64_t peak_of(const struct wh_tenant_usage *u, int device)
{
	uint64_t peak = u->ended.device[device].memory_peak, now = 0;
	const struct wh_worker_usage *w;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = &u->worker[i];
		if (!lives(w))
			continue;
		now += w->device[device].memory;
		if (w->device[device].memory_peak > peak)
			peak = w->device[device].memory_peak;
	}
	return now > peak ? now : peak;
}

/* --- Readers ---------------------------------------------------------------------- */

static void *map_existing(const char *dir, const char *name, const char *what, size_t size, int *rc)
{
	char path[PATH_MAX];
	struct stat st;
	void *p = NULL;
	int fd;

	path_of(path, dir, name, what);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	*rc = fd < 0 ? -errno : 0;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || (size_t)st.st_size != size)
		*rc = -EINVAL;
	else
		p = map(fd, size, PROT_READ);
	if (!p && !*rc)
		*rc = -ENOMEM;
	close(fd);
	return p;
}

/* Checks only the server's file, since a worker may have written the other one. */
static bool good_head(const struct wh_tenant_file *f)
{
	return __atomic_load_n(&f->limits->magic, __ATOMIC_ACQUIRE) == WH_TENANT_LIMITS_MAGIC &&
	       f->limits->version == WH_TENANT_VERSION;
}

int wh_tenant_file_open(struct wh_tenant_file *f, const char *dir, const char *name)
{
	int rc;

	*f = (struct wh_tenant_file){ .limits_fd = -1, .usage_fd = -1 };
	f->limits = map_existing(dir, name, "limits", sizeof(*f->limits), &rc);
	if (f->limits)
		f->usage = map_existing(dir, name, "usage", sizeof(*f->usage), &rc);
	if (!rc && !good_head(f))
		rc = -EINVAL;
	if (rc)
		unmap(f);
	return rc;
}

void wh_tenant_file_close(struct wh_tenant_file *f)
{
	unmap(f);
}

static void sum_up(const struct wh_tenant_usage *u, struct wh_tenant_sum *out)
{
	const struct wh_worker_usage *w;
	int i, d;

	*out = (struct wh_tenant_sum){ .total = u->ended };
	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = &u->worker[i];
		if (!lives(w))
			continue;
		out->workers++;
		wh_tenant_add_counters(&out->total, w);
		out->total.host_memory += w->host_memory;
		for (d = 0; d < WH_TENANT_DEVICES; d++) {
			out->total.device[d].memory += w->device[d].memory;
			out->total.device[d].memory_driver += w->device[d].memory_driver;
		}
	}
	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		out->total.device[d].memory += wh_tenant_orphans(u, d);
		out->total.device[d].memory_peak = peak_of(u, d);
	}
}

bool wh_tenant_usage_read(const struct wh_tenant_usage *u, struct wh_tenant_sum *out)
{
	uint64_t before;
	int i;

	for (i = 0; i < READ_TRIES; i++) {
		before = __atomic_load_n(&u->ended.generation, __ATOMIC_ACQUIRE);
		sum_up(u, out);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) &&
		    before == __atomic_load_n(&u->ended.generation, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

/*
 * Copies one account as its worker had it between two stores; false: it is free, or is changing
 * now.
 */
static bool copy_worker(struct wh_worker_usage *to, const struct wh_worker_usage *from)
{
	uint64_t before = __atomic_load_n(&from->generation, __ATOMIC_ACQUIRE);

	memcpy(to, from, sizeof(*to));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return to->pid && to->pid != UINT32_MAX && to->generation == before &&
	       __atomic_load_n(&from->generation, __ATOMIC_RELAXED) == before;
}

unsigned int wh_tenant_workers_read(const struct wh_tenant_usage *u,
				    struct wh_worker_usage out[WH_TENANT_WORKERS])
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		n += copy_worker(&out[n], &u->worker[i]);
	return n;
}
