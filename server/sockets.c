// SPDX-License-Identifier: Apache-2.0
/* Listening sockets as files, and the lock that says whose a folder is. */
#define _GNU_SOURCE
#include "server.h"

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

/* The mode is right from the first moment on: bind() obeys the umask. */
static int bind_as(int fd, const struct sockaddr_un *a, mode_t mode, uid_t uid)
{
	mode_t old = umask(0777 & ~mode);
	int rc = bind(fd, (const struct sockaddr *)a, sizeof(*a));

	umask(old);
	if (!rc && uid != geteuid())
		rc = chown(a->sun_path, uid, (gid_t)-1);
	return rc;
}

int wh_listen(const char *path, mode_t mode, uid_t uid)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd, saved;

	if (strlen(path) >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(a.sun_path, path, strlen(path) + 1);
	unlink(path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !bind_as(fd, &a, mode, uid) && !listen(fd, 64))
		return fd;
	saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
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

static int lock_fd = -1;

/* The kernel drops the lock of a server that was just killed a moment after its death. */
static int take_lock(int fd)
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

/*
 * The lock goes with the last descriptor of the file, which no worker inherits
 * past its exec: a server that was killed leaves no lock.
 */
bool wh_lock_dir(const char *dir, char *err, size_t err_size)
{
	char path[PATH_MAX], text[16];
	int fd, n;

	if (!make_dir(dir)) {
		snprintf(err, err_size, "%s: %s; give a folder by --dir", dir, strerror(errno));
		return false;
	}
	snprintf(path, sizeof(path), "%s/server.lock", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		snprintf(err, err_size, "%s: %s; give a folder of yours by --dir", path,
			 strerror(errno));
		return false;
	}
	if (take_lock(fd)) {
		snprintf(err, err_size, "%s: %s", dir, errno == EWOULDBLOCK ?
			 "another server answers there" : strerror(errno));
		close(fd);
		return false;
	}
	n = snprintf(text, sizeof(text), "%d\n", getpid());
	if (ftruncate(fd, 0) || pwrite(fd, text, n, 0) != n)
		wh_say("warn", "%s: %s", path, strerror(errno));
	lock_fd = fd;
	return true;
}

void wh_unlock_dir(void)
{
	if (lock_fd >= 0)
		close(lock_fd);
	lock_fd = -1;
}
