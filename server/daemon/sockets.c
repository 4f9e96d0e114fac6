// SPDX-License-Identifier: Apache-2.0
/* Listening sockets as files, and the lock that says which server owns a folder. */
#define _GNU_SOURCE
#include "daemon/handover.h"
#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRIES	50	/* 10 ms each */

/* --- Whose folders these are -------------------------------------------------------- */

/*
 * Owners without a number in this user namespace all look like this one; usually it is the host's
 * root.
 */
static bool is_outer(uid_t uid)
{
	unsigned long inside, outside, count = 0, overflow = 65534;
	FILE *f = fopen("/proc/self/uid_map", "re");

	if (f && fscanf(f, "%lu %lu %lu", &inside, &outside, &count) != 3)
		count = 0;
	if (f)
		fclose(f);
	f = fopen("/proc/sys/kernel/overflowuid", "re");
	if (f && fscanf(f, "%lu", &overflow) != 1)
		overflow = 65534;
	if (f)
		fclose(f);
	return count && count < UINT32_MAX && uid == overflow;
}

/*
 * Can only we and root change what is in the folder? If it is sticky, others change only their own
 * files.
 */
static bool is_safe(const struct stat *st)
{
	return (st->st_uid == geteuid() || !st->st_uid || is_outer(st->st_uid)) &&
	       (!(st->st_mode & S_IWOTH) || st->st_mode & S_ISVTX);
}

/*
 * Goes to the folder above; takes the descriptor. -1 at the root, and above folders that we may not
 * search.
 */
static int go_up(int fd, const struct stat *st, struct stat *above)
{
	int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	close(fd);
	if (up >= 0 && !fstat(up, above) &&
	    (above->st_ino != st->st_ino || above->st_dev != st->st_dev))
		return up;
	if (up >= 0)
		close(up);
	return -1;
}

/* A user who may rename a folder on the way could replace it. */
static bool way_is_safe(int dir, const char *option, const char *path, char *err, size_t err_size)
{
	int fd = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	struct stat st = { 0 }, above;

	while (fd >= 0 && (fd = go_up(fd, &st, &above)) >= 0) {
		st = above;
		if (is_safe(&st))
			continue;
		close(fd);
		snprintf(err, err_size, "%s: user %u may change what it stands in; give a folder below "
			 "folders of yours or root's by %s", path, st.st_uid, option);
		return false;
	}
	return true;
}

int wh_open_dir(const char *path, char *err, size_t err_size)
{
	return wh_open_dir_of("--dir", path, err, err_size);
}

int wh_open_dir_of(const char *option, const char *path, char *err, size_t err_size)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		snprintf(err, err_size, "%s: %s; give a folder of yours by %s", path, strerror(errno), option);
	} else if (st.st_uid != geteuid()) {
		snprintf(err, err_size, "%s: belongs to user %u and not to the server's, %u; give a folder of "
			 "yours by %s", path, st.st_uid, geteuid(), option);
	} else if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		snprintf(err, err_size, "%s: mode %04o lets others write there; chmod go-w, or give another "
			 "folder by %s", path, st.st_mode & 07777, option);
	} else if (way_is_safe(fd, option, path, err, err_size)) {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --- Sockets ------------------------------------------------------------------------- */

/* Opens the folder of a path as a descriptor, and sets the name in it. */
static int open_parent(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];

	*name = slash ? slash + 1 : path;
	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	return open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * Binds by the folder's descriptor, which needs a path, since a socket's address has no other form.
 */
static int bind_in(int dir, const char *name, int fd, mode_t mode)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	mode_t old;
	int rc;

	if (snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", dir, name) >=
	    (int)sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	/* bind() obeys the umask, so the mode is right from the first moment on. */
	old = umask(0777 & ~mode);
	rc = bind(fd, (const struct sockaddr *)&a, sizeof(a));
	umask(old);
	return rc;
}

/* Follows no link: by now the name may belong to somebody who wants us to chown() another file. */
static int give_to(int dir, const char *name, uid_t uid)
{
	struct stat st;

	if (uid == geteuid())
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return -1;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid()) {
		errno = EPERM;
		return -1;
	}
	return fchownat(dir, name, uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW);
}

static int listen_in(int dir, const char *name, mode_t mode, uid_t uid)
{
	struct stat st;
	int fd, saved;

	if (fstat(dir, &st))
		return -1;
	if (!is_safe(&st)) {
		errno = EPERM;
		return -1;
	}
	unlinkat(dir, name, 0);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !bind_in(dir, name, fd, mode) && !give_to(dir, name, uid) && !listen(fd, 64))
		return fd;
	saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

int wh_listen(const char *path, mode_t mode, uid_t uid)
{
	const char *name;
	int dir, fd, saved;

	/* Clients connect by the path, so it must be short enough. */
	if (strlen(path) >= WH_SOCKET_PATH) {
		errno = ENAMETOOLONG;
		return -1;
	}
	dir = open_parent(path, &name);
	if (dir < 0)
		return -1;
	fd = listen_in(dir, name, mode, uid);
	saved = errno;
	close(dir);
	errno = saved;
	return fd;
}

int wh_dial(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd;

	if (snprintf(a.sun_path, sizeof(a.sun_path), "%s", path) >= (int)sizeof(a.sun_path))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || !connect(fd, (const struct sockaddr *)&a, sizeof(a)))
		return fd;
	close(fd);
	return -1;
}

static bool make_dir(const char *dir)
{
	char parent[WH_SOCKET_PATH], *slash;

	if (!mkdir(dir, 0755) || errno == EEXIST)
		return true;
	if (errno != ENOENT)
		return false;
	snprintf(parent, sizeof(parent), "%s", dir);
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		return false;
	*slash = 0;
	return !mkdir(parent, 0755) && !mkdir(dir, 0755);
}

/* --- The lock ------------------------------------------------------------------------ */

static int lock_fd = -1;

/* When a server is killed, the kernel drops its lock a moment after its death. */
int wh_take_lock(int fd)
{
	struct timespec pause = { .tv_nsec = 10000000 };
	int i;

	for (i = 0; i < LOCK_TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK)
			return -1;
		nanosleep(&pause, NULL);
	}
	return -1;
}

/* The file is never empty once it has a number, since others read it at any time. */
static void say_pid(const char *dir)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", getpid());

	if (pwrite(lock_fd, text, n, 0) != n || ftruncate(lock_fd, n))
		wh_say("warn", "%s/server.lock: %s", dir, strerror(errno));
}

/*
 * The lock ends with the last descriptor of the file, which no worker inherits past its exec: a
 * server that was killed leaves no lock.
 */
bool wh_lock_dir(const char *dir, char *err, size_t err_size)
{
	int fd, folder;

	if (wh_handed("lock")) {
		lock_fd = wh_taken_fd(wh_handed("lock"), "file");
		say_pid(dir);
		return true;
	}
	if (!make_dir(dir)) {
		snprintf(err, err_size, "%s: %s; give a folder by --dir", dir, strerror(errno));
		return false;
	}
	folder = wh_open_dir(dir, err, err_size);
	if (folder < 0)
		return false;
	fd = openat(folder, "server.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	close(folder);
	if (fd < 0) {
		snprintf(err, err_size, "%s/server.lock: %s; give a folder of yours by --dir", dir,
			 strerror(errno));
		return false;
	}
	if (wh_take_lock(fd)) {
		snprintf(err, err_size, "%s: %s", dir, errno == EWOULDBLOCK ?
			 "another server answers there" : strerror(errno));
		close(fd);
		return false;
	}
	lock_fd = fd;
	say_pid(dir);
	return true;
}

void wh_lock_leave(cJSON *o)
{
	wh_leave_fd(o, "file", lock_fd);
}

void wh_unlock_dir(void)
{
	if (lock_fd >= 0)
		close(lock_fd);
	lock_fd = -1;
}
