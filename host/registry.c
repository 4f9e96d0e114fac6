// SPDX-License-Identifier: Apache-2.0
/*
 * The VMs that this command started: one file each in /run/wormhole, named by id. It holds
 * role, pid, start time of the process and name of the VM, then the file of its console.
 * This is only a hint; the kernel decides. A reader removes the files of dead processes.
 * The start time reveals a pid that was used again. Files appear whole, and who makes or
 * removes one has a lock: a reader must not remove a file that is just made.
 *
 * And what client VMs are allowed: CLIENT-SERVER.allow has window, pairs and barrier.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wormhole.h"

#ifndef REGISTRY	/* a test has a folder of its own */
#define REGISTRY	"/run/wormhole"
#endif

static void path_of(uint64_t id, char path[64])
{
	snprintf(path, 64, REGISTRY "/%" PRIu64, id);
}

void wh_registry_channel(uint64_t id, char *path, size_t size)
{
	snprintf(path, size, REGISTRY "/%" PRIu64 ".control", id);
}

/* Removes the VM's file, and the socket that its VMM left. */
static void forget(uint64_t id)
{
	char path[64];

	path_of(id, path);
	unlink(path);
	wh_registry_channel(id, path, sizeof(path));
	unlink(path);
}

/* Returns the start of a process in clock ticks after boot, or 0 if there is no such process. */
static unsigned long long start_time(pid_t pid)
{
	unsigned long long ticks = 0;
	char path[64], line[1024], *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	/* The name in field 2 may contain anything, so count fields from its last ')'. */
	if (fgets(line, sizeof(line), f) && (p = strrchr(line, ')')))
		sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u"
		       " %*d %*d %*d %*d %*d %*d %llu", &ticks);
	fclose(f);
	return ticks;
}

/* Takes the lock for changes. Returns a descriptor whose end gives it back, or -1 with errno. */
static int lock_folder(void)
{
	int fd;

	if (mkdir(REGISTRY, 0755) && errno != EEXIST)
		return -1;
	fd = open(REGISTRY "/.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (fd >= 0 && flock(fd, LOCK_EX)) {
		if (errno == EINTR)
			continue;
		close(fd);
		return -1;
	}
	return fd;
}

/* Makes or replaces a file of the folder, which appears whole. */
static int note(const char *path, const char *text)
{
	static const char fresh[] = REGISTRY "/.new";
	int lock = lock_folder(), rc = 0;
	FILE *f;

	if (lock < 0)
		return -errno;
	f = fopen(fresh, "we");
	if (!f) {
		rc = -errno;
	} else {
		rc = fputs(text, f) < 0 ? -EIO : 0;
		if (fclose(f))
			rc = -EIO;
	}
	if (!rc && rename(fresh, path))
		rc = -errno;
	close(lock);
	return rc;
}

int wh_registry_add(const struct wh_vm *vm)
{
	char path[64], *text;
	int rc;

	path_of(vm->id, path);
	if (asprintf(&text, "%u %d %llu %s\n%s\n", vm->role, vm->pid, start_time(vm->pid),
		     vm->name, vm->console ? vm->console : "") < 0)
		return -ENOMEM;
	rc = note(path, text);
	free(text);
	return rc;
}

void wh_registry_remove(uint64_t id)
{
	forget(id);
}

enum what { NOTHING, DEAD, LIVING };

static enum what read_file(uint64_t id, struct wh_vm *vm)
{
	unsigned long long started = 0;
	char path[64];
	int fields = 0;
	FILE *f;

	path_of(id, path);
	f = fopen(path, "re");
	if (!f)
		return NOTHING;
	*vm = (struct wh_vm){ .id = id };
	fields = fscanf(f, "%u %d %llu %63[^\n]", &vm->role, &vm->pid, &started, vm->name);
	fclose(f);
	return fields >= 3 && started && start_time(vm->pid) == started ? LIVING : DEAD;
}

/*
 * Fills in *vm from its file. If the VM is dead, removes the file and returns false. Another VM of
 * that id may have come meanwhile, so it looks again with the lock.
 */
static bool read_living(uint64_t id, struct wh_vm *vm)
{
	enum what is = read_file(id, vm);
	int lock;

	if (is != DEAD)
		return is == LIVING;
	lock = lock_folder();
	is = read_file(id, vm);
	if (is == DEAD)
		forget(id);
	if (lock >= 0)
		close(lock);
	return is == LIVING;
}

static int by_id(const void *a, const void *b)
{
	const struct wh_vm *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

int wh_registry_list(struct wh_vm *vms, int max)
{
	DIR *d = opendir(REGISTRY);
	struct dirent *e;
	uint64_t id;
	int n = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (n < max && (e = readdir(d)))
		if (!wh_parse_u64(e->d_name, 1, UINT64_MAX, &id) && read_living(id, &vms[n]))
			n++;
	closedir(d);
	qsort(vms, n, sizeof(*vms), by_id);
	return n;
}

bool wh_registry_find(uint64_t id, struct wh_vm *vm)
{
	return read_living(id, vm);
}

/* The process may end, and its number be another's, before it is open: so look again then. */
int wh_registry_open(uint64_t id, struct wh_vm *vm)
{
	int fd, rc = -ESRCH;

	if (!read_living(id, vm))
		return rc;
	fd = (int)syscall(SYS_pidfd_open, vm->pid, 0);
	if (fd < 0)
		return -errno;
	if (read_living(id, vm))
		return fd;
	close(fd);
	return rc;
}

int wh_registry_console(uint64_t id, char *path, size_t size)
{
	char file[64], line[256];
	struct wh_vm vm;
	FILE *f;

	path[0] = 0;
	if (!read_living(id, &vm))
		return -ENOENT;
	path_of(id, file);
	f = fopen(file, "re");
	if (!f)
		return -errno;
	if (!fgets(line, sizeof(line), f) || !fgets(path, (int)size, f))
		path[0] = 0;
	fclose(f);
	path[strcspn(path, "\n")] = 0;
	return path[0] ? 0 : -ENODATA;
}

/* --- Permissions -------------------------------------------------------------- */

static void allow_path(uint64_t client, uint64_t server, char path[96])
{
	snprintf(path, 96, REGISTRY "/%" PRIu64 "-%" PRIu64 ".allow", client, server);
}

int wh_registry_allow(const struct wh_host_allow *a)
{
	char path[96], text[40];

	allow_path(a->client_id, a->server_id, path);
	snprintf(text, sizeof(text), "%u %u %u\n", a->window, a->max_pairs, a->flags);
	return note(path, text);
}

/* Is this the file of a permission? Fills in whose. */
static bool is_allow(const char *name, struct wh_host_allow *a)
{
	unsigned long long client, server;
	int end = 0;

	*a = (struct wh_host_allow){ 0 };
	if (sscanf(name, "%llu-%llu.allow%n", &client, &server, &end) != 2 || !end || name[end])
		return false;
	a->client_id = client;
	a->server_id = server;
	return true;
}

static bool read_allow(struct wh_host_allow *a)
{
	char path[96];
	int fields;
	FILE *f;

	allow_path(a->client_id, a->server_id, path);
	f = fopen(path, "re");
	if (!f)
		return false;
	fields = fscanf(f, "%u %u %u", &a->window, &a->max_pairs, &a->flags);
	fclose(f);
	return fields == 3;
}

static int by_client(const void *a, const void *b)
{
	const struct wh_host_allow *x = a, *y = b;

	return (x->client_id > y->client_id) - (x->client_id < y->client_id);
}

int wh_registry_allowed(uint64_t server, struct wh_host_allow *list)
{
	DIR *d = opendir(REGISTRY);
	struct dirent *e;
	int n = 0;

	while (d && n < WH_REGISTRY_ALLOWS && (e = readdir(d)))
		n += is_allow(e->d_name, &list[n]) && list[n].server_id == server &&
		     read_allow(&list[n]);
	if (d)
		closedir(d);
	qsort(list, n, sizeof(*list), by_client);
	return n;
}

void wh_registry_deny(uint64_t client, uint64_t server)
{
	DIR *d = opendir(REGISTRY);
	struct wh_host_allow a;
	struct dirent *e;
	char path[96];

	while (d && (e = readdir(d))) {
		if (!is_allow(e->d_name, &a) || (client && a.client_id != client) ||
		    (server && a.server_id != server))
			continue;
		allow_path(a.client_id, a.server_id, path);
		unlink(path);
	}
	if (d)
		closedir(d);
}
