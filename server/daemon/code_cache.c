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
 * following links. Whose a folder is, and whether he lives, is said by its owner and
 * by who holds that number (uids.c): a lock on the folder itself a worker could take.
 */
#define _GNU_SOURCE
#include "daemon/isolation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
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

/*
 * In a child: none of the server's descriptors from this one on, locks among them,
 * and nothing of who started the server, who may wait for their end.
 */
static void let_go(int from)
{
	int null;

	closefrom(from);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, 1);
	dup2(null, 2);
	if (null > 2)
		close(null);
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
	close(0);
	let_go(3);
	remove_tree(path);
	_exit(0);
}

/* --- What was left ------------------------------------------------------------------ */

/*
 * Whose a folder is: its owner's, or where that is root the user's in its name, from
 * whom it was taken away, or who has not got it yet. WH_NO_UID: it is none of these.
 */
static uid_t user_of(int dir, const char *name)
{
	const char *number = name + strlen(PREFIX);
	struct stat st;
	char *end;
	unsigned long uid;

	if (strncmp(name, PREFIX, strlen(PREFIX)) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode))
		return WH_NO_UID;
	if (st.st_uid)
		return st.st_uid;
	uid = strtoul(number, &end, 10);
	return end != number && *end == '.' && uid < WH_NO_UID ? (uid_t)uid : WH_NO_UID;
}

/*
 * From here on the folder is root's: nobody else comes to what is in it, though its
 * user may be the next tenant's before all of it is gone. Only while nobody else has
 * the user, or gets it.
 */
static bool take_away(const char *path, uid_t user)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool good;

	if (fd < 0)
		return false;
	good = !fstat(fd, &st) && (st.st_uid == user || !st.st_uid) && !fchown(fd, 0, 0) &&
	       !fchmod(fd, 0700);
	close(fd);
	return good;
}

/* Each folder that is of a user; true where @fn says so of any. */
static bool each_folder(bool (*fn)(const char *path, uid_t user, unsigned int arg),
			unsigned int arg)
{
	DIR *d = opendir(SHARED_FILES);
	struct dirent *e;
	char path[sizeof(SHARED_FILES) + sizeof(e->d_name)];
	bool any = false;
	uid_t user;

	while (d && (e = readdir(d))) {
		user = user_of(dirfd(d), e->d_name);
		if (user == WH_NO_UID)
			continue;
		snprintf(path, sizeof(path), SHARED_FILES "/%s", e->d_name);
		any |= fn(path, user, arg);
	}
	if (d)
		closedir(d);
	return any;
}

/* What is there still of a user who is just given out, so that nobody has it. */
static bool remove_stale(const char *path, uid_t user, unsigned int given)
{
	if (user == given && take_away(path, user))
		remove_aside(path);
	return false;
}

/* --- At the start -------------------------------------------------------------------- */

#define FIRST_PAUSE	100	/* ms */
#define LONGEST_PAUSE	10000
#define LINGERING	5	/* sweeps */

static int cleaner = -1;	/* a pipe, whose end is the server's */

/* true: it is to go later. */
static bool sweep(const char *path, uid_t user, unsigned int n)
{
	enum wh_uid_state state = wh_uid_claim(user);
	bool taken;

	if (state == WH_UID_CLAIMED) {
		taken = take_away(path, user);
		wh_uid_unclaim(user);
		if (taken)
			remove_tree(path);
	}
	/* The lock of a killed server may be that of a child for a moment still. */
	return state == WH_UID_BUSY || (state == WH_UID_TAKEN && n < LINGERING);
}

/* Workers of a server that was killed may take a while to end, and to be reaped. */
static void clean(void)
{
	struct pollfd end = { .fd = 0 };
	int pause = FIRST_PAUSE;
	unsigned int n = 0;
	bool last = false;

	while (each_folder(sweep, n++) && !last) {
		last = poll(&end, 1, pause) > 0;
		pause = pause * 2 < LONGEST_PAUSE ? pause * 2 : LONGEST_PAUSE;
	}
}

void wh_code_caches_start(void)
{
	int fd[2];
	pid_t pid;

	if (!wh_protection[WH_PROTECT_USER].on || pipe2(fd, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid) {
		if (dup2(fd[0], 0) < 0 || !wh_uids_beside(3))
			_exit(0);
		let_go(4);
		clean();
		_exit(0);
	}
	close(fd[0]);
	cleaner = fd[1];
}

void wh_code_caches_stop(void)
{
	if (cleaner >= 0)
		close(cleaner);
	cleaner = -1;
}

/* --- A tenant's --------------------------------------------------------------------- */

bool wh_code_cache_open(struct wh_isolation *i, char *err, size_t err_size)
{
	char path[sizeof(i->cache)];

	if (i->uid == WH_NO_UID || access(SHARED_FILES, W_OK))
		return true;
	each_folder(remove_stale, i->uid);
	snprintf(path, sizeof(path), SHARED_FILES "/" PREFIX "%u.XXXXXX", i->uid);
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
