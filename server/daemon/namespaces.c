// SPDX-License-Identifier: Apache-2.0
/*
 * Network and IPC namespaces of a tenant: a loopback device and nothing else.
 * Made by a child that ends again, kept by descriptors. Root makes them as they
 * are; who may not gets a user namespace for them, in which nobody is anybody
 * else than outside.
 */
#define _GNU_SOURCE
#include "daemon/isolation.h"
#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int raise_loopback(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return errno == EAFNOSUPPORT ? 0 : -1;	/* a kernel without IPv4 */
	rc = ioctl(fd, SIOCSIFFLAGS, &r);
	close(fd);
	return rc;
}

static int put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -1;
	rc = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	close(fd);
	return rc;
}

/* Everybody in it is who he is outside. */
static int map_self(uid_t uid, gid_t gid)
{
	char text[64];

	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	if (put("/proc/self/setgroups", "deny") || put("/proc/self/uid_map", text))
		return -1;
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return put("/proc/self/gid_map", text);
}

/* 0: as they are; 1: in a user namespace; -1: not at all, errno says why. */
static int make(uid_t uid)
{
	gid_t gid;

	if (!unshare(CLONE_NEWNET | CLONE_NEWIPC))
		return raise_loopback();
	if (uid != WH_NO_UID && !wh_uid_become(uid))
		return -1;
	/* A change of user closed /proc/self to ourselves. */
	prctl(PR_SET_DUMPABLE, 1);
	/* In the new namespace nobody has a number yet. */
	uid = geteuid();
	gid = getegid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) || map_self(uid, gid) ||
	    raise_loopback())
		return -1;
	return 1;
}

/* In the child: say how it went, wait until they are held. */
__attribute__((noreturn)) static void hold(int conn, uid_t uid)
{
	int how = make(uid), word = how < 0 ? -errno : how;
	char byte;

	if (send(conn, &word, sizeof(word), MSG_NOSIGNAL) == sizeof(word))
		how = (int)read(conn, &byte, 1);
	_exit(0);
}

static int open_of(pid_t pid, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, what);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool collect(int conn, pid_t pid, int *user, int *net, int *ipc)
{
	int word = -EPROTO;

	if (recv(conn, &word, sizeof(word), 0) != sizeof(word) || word < 0) {
		errno = -word;
		return false;
	}
	*net = open_of(pid, "net");
	*ipc = open_of(pid, "ipc");
	*user = word ? open_of(pid, "user") : -1;
	return *net >= 0 && *ipc >= 0 && (!word || *user >= 0);
}

bool wh_namespaces_open(uid_t uid, int *user, int *net, int *ipc, char *err, size_t err_size)
{
	int pair[2] = { -1, -1 };
	bool good = false;
	pid_t pid = -1;

	*user = *net = *ipc = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		snprintf(err, err_size, "%s", strerror(errno));
		return false;
	}
	pid = fork();
	if (pid < 0)
		snprintf(err, err_size, "fork: %s", strerror(errno));
	if (!pid) {
		close(pair[0]);
		hold(pair[1], uid);
	}
	close(pair[1]);
	if (pid > 0) {
		good = collect(pair[0], pid, user, net, ipc);
		if (!good)
			snprintf(err, err_size, "%s", strerror(errno));
	}
	close(pair[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return good;
}
