// SPDX-License-Identifier: Apache-2.0
/*
 * Lends a worker the file of a shared map of its client's (shm.h). A process of its own does that,
 * for what it asks of a client's process may wait. It has nothing but the two sockets. There is one
 * at most for each worker, and it ends by itself.
 *
 * It opens no file of a file system that a program serves: to close one may wait for that program,
 * and cannot be killed. One that a client sends it is closed by the kernel, which holds up this
 * process alone. It opens the client's descriptor by its name in /proc, as a path
 * alone (O_PATH), which asks no file system anything. The kernel's list of mounts says what the
 * file is on. Only memory of the kernel's own is opened then.
 *
 * It looks with the rights of the client's user, so that it reaches nothing that the client does
 * not: the kernel lets a user see the descriptors of processes of that user alone, and open again
 * what that user may open. The client's process must be the one that says the secret, after its
 * folder of /proc was opened. So no other process that has its number can be meant.
 */
#define _GNU_SOURCE
#include "daemon/lend.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/tenant.h"
#include "tenant/send.h"
#include "shm.h"

#define LONGEST_S	10	/* a process that lends */
#define MAX_GROUPS	4096

enum { CLIENT = 0, WORKER = 1 };	/* its descriptors */

static bool tell(int conn, const uint64_t secret[2], enum wh_shm_lent status)
{
	struct wh_shm_lend_answer a = { .magic = WH_SHM_MAGIC, .status = status };

	if (secret)
		memcpy(a.secret, secret, sizeof(a.secret));
	return send(conn, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(a);
}

/* --- The client ------------------------------------------------------------------------ */

/* Receives what the client lends, from that very process. It may send no descriptors. */
static bool hear(const struct ucred *who, const uint64_t secret[2], struct wh_shm_lend *q)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(struct ucred))];
	} ctl = { 0 };
	struct iovec iov = { q, sizeof(*q) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	const struct cmsghdr *c;
	struct ucred from;

	if (recvmsg(CLIENT, &m, MSG_CMSG_CLOEXEC) != sizeof(*q) || q->magic != WH_SHM_MAGIC ||
	    memcmp(q->secret, secret, sizeof(q->secret)))
		return false;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS ||
	    c->cmsg_len != CMSG_LEN(sizeof(from)))
		return false;
	memcpy(&from, CMSG_DATA(c), sizeof(from));
	return from.pid == who->pid && from.uid == who->uid;
}

/* Takes the user and the groups that the client had when it connected, and no right besides. */
static bool become(const struct ucred *who)
{
	static gid_t group[MAX_GROUPS];
	socklen_t n = sizeof(group);

	if (geteuid())
		return who->uid == geteuid();
	if (!who->uid)
		return true;
	return !getsockopt(CLIENT, SOL_SOCKET, SO_PEERGROUPS, group, &n) &&
	       !setgroups(n / sizeof(*group), group) &&
	       !setresgid((gid_t)-1, who->gid, (gid_t)-1) &&
	       !setresuid((uid_t)-1, who->uid, (uid_t)-1);
}

/* Root's own programs are seen with root's rights. Their files are opened with none. */
static bool drop_capabilities(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return !syscall(SYS_capset, &h, d);
}

/* --- The file --------------------------------------------------------------------------- */

/* The number of the mount that a descriptor is on; it stays while the descriptor is open. */
static long mount_of(int fd)
{
	char line[64], path[48];
	long id = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "mnt_id: %ld", &id) == 1)
			break;
	if (f)
		fclose(f);
	return id;
}

/* All memfds and unnamed shared maps are on one mount, which no list has. */
static bool is_memfd(long mount)
{
	int own = memfd_create("wormhole-own", MFD_CLOEXEC);
	bool same = own >= 0 && mount >= 0 && mount_of(own) == mount;

	if (own >= 0)
		close(own);
	return same;
}

/* Is this mount of the client's process a tmpfs? Numbers of mounts are the whole machine's. */
static bool is_tmpfs(int process, long mount)
{
	int fd = openat(process, "mountinfo", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	bool found = false, is = false;
	const char *type;
	char *line = NULL;
	size_t room = 0;
	long id;

	while (f && !found && getline(&line, &room, f) > 0) {
		found = sscanf(line, "%ld", &id) == 1 && id == mount;
		type = found ? strstr(line, " - ") : NULL;
		is = type && !strncmp(type + 3, "tmpfs ", 6);
	}
	free(line);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return is;
}

/* Opens the file behind a path's descriptor once it is known to be memory. */
static enum wh_shm_lent open_memory(int process, int path, uint64_t inode, int *file)
{
	long mount = mount_of(path);
	char again[40];
	struct stat st;

	if (!is_memfd(mount) && !is_tmpfs(process, mount))
		return WH_SHM_LENT_NO_MEMORY;
	if (fstat(path, &st) || !S_ISREG(st.st_mode))
		return WH_SHM_LENT_NO_MEMORY;
	/* Another thread of the client may have closed it, and the number is another file's. */
	if (st.st_ino != inode)
		return WH_SHM_LENT_NOBODY;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", path);
	/* The owner of a lease could hold up an open that waits. */
	*file = drop_capabilities() ? open(again, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
	return *file < 0 ? WH_SHM_LENT_NO_RIGHT : WH_SHM_LENT;
}

static enum wh_shm_lent open_lent(int process, const struct wh_shm_lend *q, int *file)
{
	char name[32];
	int path;

	snprintf(name, sizeof(name), "fd/%d", q->file);
	path = openat(process, name, O_PATH | O_CLOEXEC);
	if (path >= 0)
		return open_memory(process, path, q->inode, file);
	return errno == EACCES || errno == EPERM ? WH_SHM_LENT_NO_RIGHT : WH_SHM_LENT_NOBODY;
}

/* --- The process ------------------------------------------------------------------------- */

static enum wh_shm_lent hand_on(uint32_t number, int file)
{
	struct iovec iov = { &number, sizeof(number) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	/* The worker looks only when its client asks; what a client never asks for fills this. */
	return wh_send_with(WORKER, m, &file, 1, MSG_DONTWAIT) == sizeof(number) ?
	       WH_SHM_LENT : WH_SHM_LENT_NOBODY;
}

static enum wh_shm_lent lend(const struct ucred *who)
{
	enum wh_shm_lent status;
	struct wh_shm_lend q;
	uint64_t secret[2];
	char name[32];
	int process, on = 1, file = -1;

	snprintf(name, sizeof(name), "/proc/%d", who->pid);
	process = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process < 0 || getrandom(secret, sizeof(secret), 0) != sizeof(secret) ||
	    setsockopt(CLIENT, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    !tell(CLIENT, secret, WH_SHM_LENT) || !hear(who, secret, &q))
		return WH_SHM_LENT_NOBODY;
	if (!become(who))
		return WH_SHM_LENT_NO_RIGHT;
	status = open_lent(process, &q, &file);
	return status == WH_SHM_LENT ? hand_on(q.number, file) : status;
}

__attribute__((noreturn)) static void run(int conn, int worker, const struct ucred *who)
{
	wh_child_signals();
	alarm(LONGEST_S);
	if (dup2(conn, CLIENT) >= 0 && dup2(worker, WORKER) >= 0) {
		wh_close_others(-1);
		tell(CLIENT, NULL, lend(who));
	}
	_exit(0);
}

/* --- In the server ----------------------------------------------------------------------- */

int wh_lend_open(struct wh_tenant *t, int account)
{
	const int least = 1;	/* the kernel makes it its own least: a few files */
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	/*
	 * The worker sends nothing: the server would close such descriptors, and wait for them.
	 * Files under way count for root, and with those of all tenants.
	 */
	shutdown(pair[0], SHUT_RD);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
	t->worker[account].lends = pair[0];
	return pair[1];
}

void wh_lend_close(struct tenant_worker *w)
{
	if (w->lends)
		close(w->lends);
	w->lends = 0;
}

static bool refuse(int conn, enum wh_shm_lent why)
{
	tell(conn, NULL, why);
	return true;
}

/* The name of the client's socket says so (shm.h). */
static bool lends(int conn)
{
	struct sockaddr_un a;
	socklen_t n = sizeof(a);
	const size_t head = offsetof(struct sockaddr_un, sun_path);

	return !getpeername(conn, (struct sockaddr *)&a, &n) && n > head + sizeof(WH_SHM_LENDS) &&
	       !memcmp(a.sun_path, "\0" WH_SHM_LENDS, sizeof(WH_SHM_LENDS));
}

/* The worker that a process has; of several, as after its exec, no one knows which is meant. */
static struct tenant_worker *worker_of(struct wh_tenant *t, pid_t client, enum wh_shm_lent *why)
{
	struct tenant_worker *w, *found = NULL;

	*why = WH_SHM_LENT_NOBODY;
	for (w = t->worker; client > 0 && w < t->worker + WH_TENANT_WORKERS; w++) {
		if (!w->pid || !w->lends || w->client != client)
			continue;
		if (found || w->lender)
			*why = WH_SHM_LENT_BUSY;
		if (found)
			return NULL;
		found = w;
	}
	return found && !found->lender ? found : NULL;
}

bool wh_lend_on_client(struct wh_tenant *t, int conn, bool *has)
{
	struct ucred who = wh_peer(conn);
	enum wh_shm_lent why;
	struct tenant_worker *w;
	pid_t pid;

	*has = false;
	if (!lends(conn))
		return false;
	w = worker_of(t, who.pid, &why);
	if (!w || !wh_admit(&t->loans))
		return refuse(conn, w ? WH_SHM_LENT_BUSY : why);
	/* The server's own: no next one waits for its end, as for the monitor's children. */
	pid = fork();
	if (!pid)
		run(conn, w->lends, &who);
	if (pid < 0) {
		wh_say_of(t->name, "warn", "tenant %s: a process that lends a worker a file: %s", t->name,
			  strerror(errno));
		return refuse(conn, WH_SHM_LENT_NOBODY);
	}
	w->lender = pid;
	*has = true;
	return true;
}

bool wh_lend_reap(pid_t pid)
{
	struct wh_tenant *t = NULL;
	int i;

	while ((t = wh_tenant_next(t)))
		for (i = 0; i < WH_TENANT_WORKERS; i++)
			if (t->worker[i].lender == pid) {
				t->worker[i].lender = 0;
				return true;
			}
	return false;
}
