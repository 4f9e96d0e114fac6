// SPDX-License-Identifier: Apache-2.0
/*
 * Network and IPC namespaces of a tenant: each has a loopback device and nothing else. A child that
 * ends again makes them, and descriptors keep them. Root makes them directly. A server that may not
 * do so makes them in a user namespace, in which every number means the same as outside.
 *
 * If the tenant has a user of its own, and root may mount, it also gets a mount namespace with a
 * /dev/shm of its own. What the driver and libraries leave there, and the cache of compiled code,
 * then ends with the tenant, and nobody has to look for it.
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
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

/* Maps the user and group to the same numbers as outside. */
static int map_self(uid_t uid, gid_t gid)
{
	char text[64];

	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	if (put("/proc/self/setgroups", "deny") || put("/proc/self/uid_map", text))
		return -1;
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return put("/proc/self/gid_map", text);
}

/* What make() has made besides the two namespaces. */
#define IN_USER_NS	1
#define HAS_FILES	2

/* Makes the mount namespace. Mounts and unmounts of the machine still reach it. */
static bool own_files(uid_t uid)
{
	return uid != WH_NO_UID && !unshare(CLONE_NEWNS) &&
	       !mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) &&
	       !mount("wormhole", SHARED_FILES, "tmpfs", MS_NOSUID | MS_NODEV,
		      "mode=1777,nr_inodes=65536") &&
	       !mkdir(WH_CODE_CACHE, 0700) && !chown(WH_CODE_CACHE, uid, uid);
}

/* Returns -1 if no namespace was made; errno says why. */
static int make(uid_t uid)
{
	gid_t gid;

	if (!unshare(CLONE_NEWNET | CLONE_NEWIPC))
		return raise_loopback() ? -1 : own_files(uid) ? HAS_FILES : 0;
	if (uid != WH_NO_UID && !wh_uid_become(uid))
		return -1;
	/* A change of user closed our own /proc/self to us. */
	prctl(PR_SET_DUMPABLE, 1);
	/* After unshare() no number is mapped yet, so read them before. */
	uid = geteuid();
	gid = getegid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) || map_self(uid, gid) ||
	    raise_loopback())
		return -1;
	return IN_USER_NS;
}

/* Runs in the child: reports the result, and waits until the namespaces are held. */
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

static int open_root(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool collect(int conn, pid_t pid, struct wh_isolation *i)
{
	int word = -EPROTO;

	if (recv(conn, &word, sizeof(word), 0) != sizeof(word) || word < 0) {
		errno = -word;
		return false;
	}
	i->net_ns = open_of(pid, "net");
	i->ipc_ns = open_of(pid, "ipc");
	if (word & IN_USER_NS)
		i->user_ns = open_of(pid, "user");
	if (word & HAS_FILES) {
		i->files_ns = open_of(pid, "mnt");
		i->files_root = open_root(pid);
	}
	return i->net_ns >= 0 && i->ipc_ns >= 0 && (!(word & IN_USER_NS) || i->user_ns >= 0) &&
	       (!(word & HAS_FILES) || (i->files_ns >= 0 && i->files_root >= 0));
}

bool wh_namespaces_open(struct wh_isolation *i, char *err, size_t err_size)
{
	int pair[2] = { -1, -1 };
	bool good = false;
	pid_t pid = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		snprintf(err, err_size, "%s", strerror(errno));
		return false;
	}
	pid = wh_fork(pair[1]);
	if (pid < 0)
		snprintf(err, err_size, "fork: %s", strerror(errno));
	if (!pid)
		hold(pair[1], i->uid);
	close(pair[1]);
	if (pid > 0) {
		good = collect(pair[0], pid, i);
		if (!good)
			snprintf(err, err_size, "%s", strerror(errno));
	}
	close(pair[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return good;
}

/* --- In a worker, and at the end -------------------------------------------------------- */

/* The worker gets the server's root, which may differ from the machine's. */
static bool join_files(const struct wh_isolation *i)
{
	return i->files_ns < 0 || (!setns(i->files_ns, CLONE_NEWNS) && !fchdir(i->files_root) &&
				   !chroot(".") && !chdir("/"));
}

bool wh_namespaces_join(const struct wh_isolation *i)
{
	return (i->net_ns < 0 || !setns(i->net_ns, CLONE_NEWNET)) &&
	       (i->ipc_ns < 0 || !setns(i->ipc_ns, CLONE_NEWIPC)) && join_files(i);
}

/*
 * Closes a mount namespace. Whoever closes it last frees everything that the tenant has made in its
 * /dev/shm: a process of its own does so, after this one has closed it.
 */
static void close_aside(int ns)
{
	int fd[2];
	char byte;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC)) {
		close(ns);
		return;
	}
	pid = fork();
	if (!pid) {
		dup2(fd[0], 0);
		dup2(ns, 1);
		closefrom(2);
		_exit(read(0, &byte, 1) != 0);
	}
	close(ns);
	close(fd[0]);
	close(fd[1]);
}

void wh_namespaces_close(struct wh_isolation *i)
{
	int *const fd[] = { &i->user_ns, &i->net_ns, &i->ipc_ns, &i->files_root };
	size_t n;

	for (n = 0; n < sizeof(fd) / sizeof(*fd); n++) {
		if (*fd[n] >= 0)
			close(*fd[n]);
		*fd[n] = -1;
	}
	if (i->files_ns >= 0)
		close_aside(i->files_ns);
	i->files_ns = -1;
}
