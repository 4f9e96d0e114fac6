// SPDX-License-Identifier: Apache-2.0
/*
 * A preloaded library that holds a process up in a system call that can take long: while $HELD has
 * a FIFO with the call's name, the call says by a file NAME.waits that it is there, and goes on
 * when somebody writes into the FIFO.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void hold(const char *call)
{
	const char *folder = getenv("HELD");
	char fifo[PATH_MAX], waits[PATH_MAX + 8], byte;
	int fd;

	if (!folder)
		return;
	snprintf(fifo, sizeof(fifo), "%s/%s", folder, call);
	if (access(fifo, F_OK))
		return;
	snprintf(waits, sizeof(waits), "%s.waits", fifo);
	close(open(waits, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	/* If the FIFO is gone by now, nobody is to be held any more. */
	fd = open(fifo, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, &byte, 1) < 0)
		abort();
	close(fd);
}

int unshare(int flags)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "unshare");

	hold("unshare");
	return real(flags);
}

int setns(int fd, int type)
{
	int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "setns");

	hold("setns");
	return real(fd, type);
}

/* The signal by which a server says to its monitor that clients can connect. */
int kill(pid_t pid, int sig)
{
	int (*real)(pid_t, int) = (int (*)(pid_t, int))dlsym(RTLD_NEXT, "kill");

	if (sig == SIGUSR1)
		hold("kill");
	return real(pid, sig);
}
