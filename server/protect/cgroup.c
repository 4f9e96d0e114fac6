// SPDX-License-Identifier: Apache-2.0
/*
 * A cgroup for each name: memory, number of threads, and the same CPU weight for all. It is below
 * our own cgroup if that can have children with controllers, or else below the nearest parent that
 * can, so that workers stay within our own bounds as far as possible. Version 2 has one tree for
 * all controllers, version 1 one for each. Both are supported, since a machine may have either or
 * both.
 */
#define _GNU_SOURCE
#include "protect/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BASE		"wormhole-"
#define MAX_THREADS	"4096"	/* threads of a tenant */
#define END_TRIES	200	/* 10 ms each */

enum { MEMORY, PIDS, CPU, KINDS = WH_CGROUP_KINDS };
static const char *const kind_name[KINDS] = { "memory", "pids", "cpu" };

static struct {
	bool v2;
	char dir[PATH_MAX];	/* our own folder, in which tenants have theirs; "": none */
	char why[120];
} tree[KINDS];

/* --- Files -------------------------------------------------------------------------- */

static int put(const char *dir, const char *file, const char *text)
{
	char path[PATH_MAX];
	int fd, saved;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	saved = errno;
	close(fd);
	errno = saved;
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

bool wh_cgroup_get(const char *dir, const char *file, char *out, size_t size)
{
	char path[PATH_MAX];
	ssize_t n = -1;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, out, size - 1);
		close(fd);
	}
	out[n > 0 ? n : 0] = 0;
	return n >= 0;
}

static bool has_word(const char *list, const char *word, const char *separators)
{
	size_t n = strlen(word);
	const char *p = list;

	while ((p = strstr(p, word))) {
		if ((p == list || strchr(separators, p[-1])) && (!p[n] || strchr(separators, p[n])))
			return true;
		p += n;
	}
	return false;
}

/* --- Our own place ------------------------------------------------------------------ */

/* Finds our path in a line "ID:CONTROLLERS:PATH"; version 2 has no controllers there. */
static bool own_path(const char *controller, char out[PATH_MAX])
{
	char line[PATH_MAX + 256], *list, *path;
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		list = strchr(line, ':');
		path = list ? strchr(list + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = 0;
		found = controller ? has_word(list + 1, controller, ",") : !list[1];
		if (found)
			snprintf(out, PATH_MAX, "%s", path);
	}
	if (f)
		fclose(f);
	return found;
}

/* Finds where that tree is mounted, and which of its folders the mount shows. */
static bool mount_of(const char *controller, char point[PATH_MAX], char root[PATH_MAX])
{
	char line[3 * PATH_MAX], type[64], options[512], *rest;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		rest = strstr(line, " - ");
		if (!rest || sscanf(rest, " - %63s %*s %511s", type, options) != 2 ||
		    sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2)
			continue;
		found = controller ? !strcmp(type, "cgroup") && has_word(options, controller, ",") :
				     !strcmp(type, "cgroup2");
	}
	if (f)
		fclose(f);
	return found;
}

/* Finds our own folder in the tree; *top is the length of the mount point in it. */
static bool own_dir(const char *controller, char dir[PATH_MAX], size_t *top)
{
	char path[PATH_MAX], root[PATH_MAX], point[PATH_MAX];
	size_t n;

	if (!own_path(controller, path) || !mount_of(controller, point, root))
		return false;
	n = strcmp(root, "/") ? strlen(root) : 0;
	/* The mount shows another part of the tree than ours; "/.." in the path means the same. */
	if (strncmp(path, root, n) || strstr(path, "/.."))
		return false;
	*top = strlen(point);
	snprintf(dir, PATH_MAX, "%.2000s%.2000s", point, path + n);
	n = strlen(dir);
	if (n > *top && dir[n - 1] == '/')
		dir[n - 1] = 0;
	return true;
}

/* --- A folder of ours ----------------------------------------------------------------- */

static void remove_tenants(const char *dir)
{
	char path[PATH_MAX];
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_type == DT_DIR && *e->d_name != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) < (int)sizeof(path))
			rmdir(path);
	if (d)
		closedir(d);
	rmdir(dir);
}

/* Removes folders of servers that were killed; a folder that still has processes stays. */
static void remove_stale(const char *parent)
{
	char path[PATH_MAX];
	DIR *d = opendir(parent);
	struct dirent *e;
	int pid;

	while (d && (e = readdir(d)))
		if (sscanf(e->d_name, BASE "%d", &pid) == 1 && kill(pid, 0) && errno == ESRCH &&
		    snprintf(path, sizeof(path), "%s/%s", parent, e->d_name) < (int)sizeof(path))
			remove_tenants(path);
	if (d)
		closedir(d);
}

static bool make_dir(const char *parent, char out[PATH_MAX])
{
	remove_stale(parent);
	if (snprintf(out, PATH_MAX, "%s/" BASE "%d", parent, getpid()) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return false;
	}
	return !mkdir(out, 0755);
}

/* Version 2: gives a controller to the folder's children. False: it cannot. */
static bool give_on(const char *dir, const char *kind)
{
	char list[512], word[32];

	if (!wh_cgroup_get(dir, "cgroup.controllers", list, sizeof(list)) || !has_word(list, kind, " \n"))
		return false;
	if (wh_cgroup_get(dir, "cgroup.subtree_control", list, sizeof(list)) && has_word(list, kind, " \n"))
		return true;
	snprintf(word, sizeof(word), "+%s", kind);
	return !put(dir, "cgroup.subtree_control", word);
}

/* Makes a child with at least the memory controller; other controllers are taken if possible. */
static bool try_v2(const char *parent, char dir[PATH_MAX])
{
	int k;

	if (!give_on(parent, kind_name[MEMORY]))
		return false;
	for (k = PIDS; k < KINDS; k++)
		give_on(parent, kind_name[k]);
	if (!make_dir(parent, dir))
		return false;
	if (give_on(dir, kind_name[MEMORY])) {
		for (k = PIDS; k < KINDS; k++)
			give_on(dir, kind_name[k]);
		return true;
	}
	rmdir(dir);
	return false;
}

static bool only_we(const char *dir)
{
	char list[64], own[16];

	snprintf(own, sizeof(own), "%d\n", getpid());
	return wh_cgroup_get(dir, "cgroup.procs", list, sizeof(list)) && !strcmp(list, own);
}

/*
 * A cgroup with processes gives its children no controllers. If we are alone in the cgroup of a
 * service or a container, we move to a folder below it.
 */
static bool make_way(const char *own)
{
	char below[PATH_MAX];

	if (!only_we(own) || snprintf(below, sizeof(below), "%s/" BASE "server", own) >=
	    (int)sizeof(below))
		return false;
	return (!mkdir(below, 0755) || errno == EEXIST) && !put(below, "cgroup.procs", "0");
}

static bool start_v2(void)
{
	char dir[PATH_MAX], list[512], mine[PATH_MAX];
	size_t top;
	int k;

	if (!own_dir(NULL, dir, &top) || !wh_cgroup_get(dir, "cgroup.controllers", list, sizeof(list)) ||
	    !has_word(list, kind_name[MEMORY], " \n"))
		return false;
	if (!try_v2(dir, mine) && !(make_way(dir) && try_v2(dir, mine))) {
		do {
			if (strlen(dir) <= top)
				return false;
			*strrchr(dir, '/') = 0;
		} while (!try_v2(dir, mine));
	}
	wh_cgroup_get(mine, "cgroup.subtree_control", list, sizeof(list));
	for (k = 0; k < KINDS; k++)
		if (has_word(list, kind_name[k], " \n")) {
			tree[k].v2 = true;
			snprintf(tree[k].dir, PATH_MAX, "%s", mine);
		}
	return true;
}

static void start_v1(int kind)
{
	char dir[PATH_MAX];
	size_t top;

	if (!own_dir(kind_name[kind], dir, &top))
		snprintf(tree[kind].why, sizeof(tree[kind].why), "no cgroup with %s that we may divide is mounted",
			 kind_name[kind]);
	else if (!make_dir(dir, tree[kind].dir)) {
		tree[kind].dir[0] = 0;
		snprintf(tree[kind].why, sizeof(tree[kind].why), "%.90s: %s", dir, strerror(errno));
	}
}

static void say(struct wh_protection *p, int kind)
{
	p->on = tree[kind].dir[0];
	if (p->on)
		snprintf(p->detail, sizeof(p->detail), "%.118s", tree[kind].dir);
	else
		snprintf(p->detail, sizeof(p->detail), "%s", tree[kind].why);
}

void wh_cgroup_start(struct wh_protection *memory, struct wh_protection *processes,
		     struct wh_protection *cpu)
{
	int k;

	start_v2();
	for (k = 0; k < KINDS; k++)
		if (!tree[k].dir[0])
			start_v1(k);
	say(memory, MEMORY);
	say(processes, PIDS);
	say(cpu, CPU);
}

void wh_cgroup_leave(struct wh_cgroup_place out[WH_CGROUP_KINDS])
{
	int k;

	for (k = 0; k < KINDS; k++)
		out[k] = (struct wh_cgroup_place){ tree[k].v2, tree[k].dir };
}

void wh_cgroup_take(const struct wh_cgroup_place place[WH_CGROUP_KINDS],
		    struct wh_protection *memory, struct wh_protection *processes,
		    struct wh_protection *cpu)
{
	int k;

	for (k = 0; k < KINDS; k++) {
		tree[k].v2 = place[k].v2;
		snprintf(tree[k].dir, PATH_MAX, "%s", place[k].dir);
		if (!tree[k].dir[0])
			snprintf(tree[k].why, sizeof(tree[k].why), "the program before had none");
	}
	say(memory, MEMORY);
	say(processes, PIDS);
	say(cpu, CPU);
}

/* Also removes what a killed server left: when we started, its workers may not have ended yet. */
void wh_cgroup_stop(void)
{
	int k;

	for (k = 0; k < KINDS; k++) {
		if (!tree[k].dir[0])
			continue;
		remove_tenants(tree[k].dir);
		*strrchr(tree[k].dir, '/') = 0;
		remove_stale(tree[k].dir);
		tree[k].dir[0] = 0;
	}
}

/* --- The cgroup of a name ------------------------------------------------------------ */

/* The folder is "t-NAME", since a name may equal one of the kernel's files. */
static bool dir_of(int kind, const char *name, char out[PATH_MAX])
{
	return tree[kind].dir[0] &&
	       snprintf(out, PATH_MAX, "%s/t-%s", tree[kind].dir, name) < PATH_MAX;
}

/*
 * In version 1, systemd removes empty cgroups of a service when its units are read again. The
 * folders above may be gone, too, up to the hierarchy's mount.
 */
static int make_again(char *dir)
{
	char *slash = strrchr(dir, '/');
	int rc;

	if (!mkdir(dir, 0755) || errno == EEXIST)
		return 0;
	if (errno != ENOENT || !slash || slash == dir)
		return -1;
	*slash = 0;
	rc = make_again(dir);
	*slash = '/';
	return rc || (mkdir(dir, 0755) && errno != EEXIST) ? -1 : 0;
}

bool wh_cgroup_renew(const char *name, char *err, size_t err_size)
{
	char dir[PATH_MAX];
	int k;

	for (k = 0; k < KINDS; k++) {
		if (!dir_of(k, name, dir))
			continue;
		if (make_again(dir) || (k == PIDS && put(dir, "pids.max", MAX_THREADS))) {
			snprintf(err, err_size, "%s: %s", dir, strerror(errno));
			return false;
		}
	}
	return true;
}

bool wh_cgroup_open(const char *name, char *err, size_t err_size)
{
	if (wh_cgroup_renew(name, err, err_size))
		return true;
	wh_cgroup_close(name);
	return false;
}

int wh_cgroup_folder(const char *name)
{
	char dir[PATH_MAX];
	int k;

	for (k = 0; k < KINDS; k++)
		if (tree[k].dir[0] && !tree[k].v2)
			return -1;
	return dir_of(MEMORY, name, dir) ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

int wh_cgroup_enter(const char *name)
{
	char dir[PATH_MAX];
	int k;

	for (k = 0; k < KINDS; k++)
		if (dir_of(k, name, dir) && put(dir, "cgroup.procs", "0"))
			return -1;
	return 0;
}

bool wh_cgroup_memory(const char *name, uint64_t bytes, bool *waits, char *err, size_t err_size)
{
	char dir[PATH_MAX], text[32], now[32];
	bool unused;

	waits = waits ? waits : &unused;
	*waits = false;
	if (!dir_of(MEMORY, name, dir))
		return true;
	snprintf(text, sizeof(text), "%" PRIu64, bytes);
	if (!bytes)
		snprintf(text, sizeof(text), "%s", tree[MEMORY].v2 ? "max" : "-1");
	/*
	 * A limit below the current use has to wait, as all limits do here: version 1 refuses if it
	 * cannot reclaim enough, and version 2 would kill.
	 */
	*waits = bytes && tree[MEMORY].v2 &&
		 wh_cgroup_get(dir, "memory.current", now, sizeof(now)) &&
		 strtoull(now, NULL, 10) > bytes;
	if (*waits || !put(dir, tree[MEMORY].v2 ? "memory.max" : "memory.limit_in_bytes", text))
		return true;
	*waits = errno == EBUSY;
	if (*waits)
		return true;
	snprintf(err, err_size, "%s: a limit of %s bytes: %s", dir, text, strerror(errno));
	return false;
}

uint64_t wh_cgroup_loose(const char *name)
{
	char dir[PATH_MAX];

	return dir_of(MEMORY, name, dir) ? wh_cgroup_loose_in(dir, tree[MEMORY].v2) : 0;
}

static void kill_members(const char *dir)
{
	char list[4096], *p, *end;
	long pid;

	if (!put(dir, "cgroup.kill", "1") || !wh_cgroup_get(dir, "cgroup.procs", list, sizeof(list)))
		return;
	for (p = list; (pid = strtol(p, &end, 10)) > 0 && end != p; p = end)
		kill((pid_t)pid, SIGKILL);
}

void wh_cgroup_close(const char *name)
{
	struct timespec pause = { .tv_nsec = 10000000 };
	char dir[PATH_MAX];
	int k, i;

	for (k = 0; k < KINDS; k++) {
		if (!dir_of(k, name, dir))
			continue;
		for (i = 0; rmdir(dir) && errno == EBUSY && i < END_TRIES; i++) {
			kill_members(dir);
			nanosleep(&pause, NULL);
		}
	}
}
