// SPDX-License-Identifier: Apache-2.0
/*
 * Ends connections of clients that no process has. A message that nobody has read may bring
 * descriptors, and the last one to close a connection closes them, too. That may wait for the
 * client: for a socket that lingers, or a lock on a file system that it serves. So a process of its
 * own is the last one. It waits for no socket as it ends.
 *
 * It takes no descriptor to make one, since there may be none. While there can be no process, the
 * connection stays open, and no other is accepted.
 */
#define _GNU_SOURCE
#include "daemon/server.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int kept = -1;	/* a connection for whose end there was no process */

/* Is a message of the client's unread, also an empty one? Each comes with who has sent it. */
static bool is_unread(int conn)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(struct ucred))];
	} ctl;
	struct msghdr m = { .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	const int on = 1;

	return setsockopt(conn, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	       (recvmsg(conn, &m, MSG_PEEK | MSG_DONTWAIT) >= 0 && m.msg_controllen);
}

/* Stays until it is killed, which it is as soon as the server has closed the connection. */
__attribute__((noreturn)) static void stay(int conn, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	dup2(conn, 0);
	wh_close_others(-1);
	while (getppid() == parent)
		pause();
	_exit(0);
}

/* False: there can be no process now. */
static bool leave(int conn)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid)
		stay(conn, parent);
	if (pid < 0)
		return false;
	close(conn);
	kill(pid, SIGKILL);
	return true;
}

bool wh_hang_up_is_free(void)
{
	if (kept >= 0 && leave(kept))
		kept = -1;
	return kept < 0;
}

/* At the end of a tenant there may be one already. */
static void keep(int conn)
{
	if (kept >= 0)
		close(conn);
	else
		kept = conn;
}

void wh_hang_up(int conn)
{
	shutdown(conn, SHUT_RD);	/* nothing comes any more */
	if (!is_unread(conn))
		close(conn);
	else if (!leave(conn))
		keep(conn);
}

/* Those that nobody has accepted end with the listener, and what came by them. */
void wh_hang_up_all(int listener)
{
	int conn;

	shutdown(listener, SHUT_RD);	/* nobody else comes, and this does not wait */
	conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (conn >= 0)
		wh_hang_up(conn);
	if (conn < 0 && (errno == EINVAL || errno == EAGAIN))
		close(listener);
	else if (!leave(listener))
		keep(listener);
}
