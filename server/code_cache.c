// SPDX-License-Identifier: Apache-2.0
/*
 * The driver's cache of compiled code, one for each tenant. Natively all programs
 * of a user share one (~/.nv), which is out of a worker's reach: code that one
 * tenant has put there would run for the next. Without any, PTX is compiled at
 * each start. So a tenant has a folder of its own in memory, which its cgroup
 * pays for, as long as the tenant lives, where it has a user of its own: workers of
 * one user could change each other's. CUDA_CACHE_PATH is the driver's own
 * variable ("CUDA Environment Variables" in the programming guide).
 *
 * What lies in the folder is a hostile worker's to make: as deep, and as much, as
 * it likes. It is removed by a process of its own, without recursion and without
 * following links.
 */
#define _GNU_SOURCE
#include "isolation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARED_FILES	"/dev/shm"
#define PREFIX		"wormhole-code."
#define VARIABLE	"CUDA_CACHE_PATH"
#define SIZE_VARIABLE	"CUDA_CACHE_MAXSIZE"
#define SIZE		"268435456"	/* of host memory that is the tenant's */

/* --- Removing one ---------------------------------------------------------------- */

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Names that are not there: nobody could guess the first half of them. */
struct names {
	uint64_t secret;
	unsigned long serial;
};

/* Files go, folders move up to @top under a new name. */
static void flatten(int top, const char *name, struct names *names)
{
	int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	char up[48];

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		if (is_dots(e->d_name) || !unlinkat(dirfd(d), e->d_name, 0))
			continue;
		snprintf(up, sizeof(up), "%" PRIx64 ".%lu", names->secret, ++names->serial);
		renameat(dirfd(d), e->d_name, top, up);
	}
	if (d)
		closedir(d);
}

/* One pass over what is there now; was anything removed? */
static bool pass(int top, struct names *names)
{
	int fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	bool some = false;

	while (d && (e = readdir(d))) {
		if (is_dots(e->d_name))
			continue;
		if (!unlinkat(top, e->d_name, 0) || !unlinkat(top, e->d_name, AT_REMOVEDIR)) {
			some = true;
			continue;
		}
		flatten(top, e->d_name, names);
		some |= !unlinkat(top, e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
	return some;
}

static void remove_tree(const char *path)
{
	int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct names names = { 0 };

	if (top < 0)
		return;
	if (getrandom(&names.secret, sizeof(names.secret), 0) < 0)
		names.secret = (uint64_t)getpid();
	while (pass(top, &names))
		;
	close(top);
	rmdir(path);
}

/* Who made a million files there does not hold up the others. */
static void remove_aside(const char *path)
{
	pid_t pid = fork();

	if (pid > 0)
		return;
	if (pid < 0) {
		remove_tree(path);
		return;
	}
	close_range(3, ~0U, 0);
	remove_tree(path);
	_exit(0);
}

/* --- A tenant's --------------------------------------------------------------------- */

/* What a server that was killed left of this user, whom no process has now. */
static void remove_stale(uid_t owner)
{
	DIR *d = opendir(SHARED_FILES);
	struct dirent *e;
	char path[sizeof(SHARED_FILES) + sizeof(e->d_name)];
	struct stat st;
	int fd;

	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)))
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		snprintf(path, sizeof(path), SHARED_FILES "/%s", e->d_name);
		if (!fstat(fd, &st) && st.st_uid == owner)
			remove_tree(path);
		close(fd);
	}
	if (d)
		closedir(d);
}

bool wh_code_cache_open(struct wh_isolation *i, char *err, size_t err_size)
{
	char path[] = SHARED_FILES "/" PREFIX "XXXXXX";

	if (i->uid == WH_NO_UID || access(SHARED_FILES, W_OK))
		return true;
	remove_stale(i->uid);
	if (!mkdtemp(path)) {
		snprintf(err, err_size, "%s: %s", path, strerror(errno));
		return false;
	}
	if (lchown(path, i->uid, i->uid)) {
		snprintf(err, err_size, "%s: %s", path, strerror(errno));
		rmdir(path);
		return false;
	}
	snprintf(i->cache, sizeof(i->cache), "%s", path);
	return true;
}

void wh_code_cache_close(struct wh_isolation *i)
{
	if (i->cache[0])
		remove_aside(i->cache);
	i->cache[0] = 0;
}

bool wh_code_cache_enter(const struct wh_isolation *i)
{
	/* The path of who started the server, if any, is no worker's: Landlock goes by it. */
	if (!i->cache[0])
		return !unsetenv(VARIABLE) && !setenv("CUDA_CACHE_DISABLE", "1", 1);
	return !setenv(VARIABLE, i->cache, 1) && !setenv(SIZE_VARIABLE, SIZE, 0);
}
