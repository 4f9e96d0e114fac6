// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that the server forks: this program in another role, and helpers for one job that may
 * take long. A child that lives on after a killed server must keep nothing of it open. Its lock
 * would keep the next server from starting, its sockets would answer in its place, and a client
 * would wait for an answer from a connection that has not ended.
 */
#define _GNU_SOURCE
#include "daemon/isolation.h"
#include "daemon/keep.h"
#include "daemon/monitor.h"
#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void wh_child_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGIO, SIG_DFL);
}

/* Closes these descriptors, if any: now, or with CLOSE_RANGE_CLOEXEC at the next exec. */
static void close_from_to(unsigned int first, unsigned int last, unsigned int flags)
{
	unsigned int fd;

	if (first > last || !close_range(first, last, flags))
		return;
	/* The kernel is older than 5.9, or than 5.11 for the flag. */
	for (fd = first; fd <= last && fd < WH_MAX_FILES; fd++)
		flags ? fcntl((int)fd, F_SETFD, FD_CLOEXEC) : close((int)fd);
}

void wh_close_others(int keep)
{
	unsigned int kept = keep < 3 ? 2 : (unsigned int)keep;

	close_from_to(3, kept - 1, 0);
	close_from_to(kept + 1, ~0U, 0);
}

static pid_t forked(pid_t pid, int keep)
{
	if (!pid)
		wh_close_others(keep);
	return pid;
}

pid_t wh_fork(int keep)
{
	return forked(fork(), keep);
}

pid_t wh_fork_lasting(int keep)
{
	return forked(wh_monitor_fork(-1), keep);
}

void wh_close_in_child(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* What follows may take a while, and the server may be killed meanwhile. */
	wh_loop_leave();
	wh_unlock_dir();
	wh_keep_leave();
	setsid();
	dup2(null, 0);
	dup2(null, 1);
	close_from_to(3, ~0U, CLOSE_RANGE_CLOEXEC);
}

pid_t wh_start(char *const argv[], int keep)
{
	return wh_start_as(argv, keep, NULL);
}

pid_t wh_start_as(char *const argv[], int keep, const struct wh_isolation *as)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	wh_close_in_child();
	if (as) {
		wh_isolation_enter(as);
		wh_environment_in_child();
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	wh_child_signals();
	if (keep == 3)
		fcntl(3, F_SETFD, 0);
	else if (dup2(keep, 3) < 0)
		_exit(1);
	execv(wh_server.self, argv);
	_exit(127);
}

bool wh_asked_start(struct wh_asked *a, char *const argv[], const char *tenant, const char *what,
		    char *err, size_t err_size)
{
	int pair[2];

	if (!wh_isolation_open(&a->as, tenant, err, err_size))
		return false;
	if (!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		a->fd = pair[0];
		a->pid = wh_start_as(argv, pair[1], &a->as);
		close(pair[1]);
		if (a->pid > 0)
			return true;
		close(a->fd);
	}
	snprintf(err, err_size, "cannot ask %s: %s", what, strerror(errno));
	wh_isolation_close(&a->as);
	return false;
}

void wh_asked_end(struct wh_asked *a)
{
	close(a->fd);
	/*
	 * The process's user is free for the next one when no process has it, not even one that
	 * waits to be reaped.
	 */
	kill(a->pid, SIGKILL);
	waitpid(a->pid, NULL, 0);
	wh_isolation_close(&a->as);
}
