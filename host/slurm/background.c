// SPDX-License-Identifier: Apache-2.0
/*
 * Starts a background process for jobs. An epilog or a node's daemon starts it and
 * continues at once.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "slurm.h"

#define BACKGROUND_S	3600	/* maximum of its life */

/*
 * Releases files of the daemon: whoever started it may wait for the end of its output, and
 * the next daemon needs its ports.
 */
static void let_go(void)
{
	long fd, end = sysconf(_SC_OPEN_MAX) < 65536 ? sysconf(_SC_OPEN_MAX) : 65536;
	struct stat st;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, (int)fd);
	closelog();
	for (fd = 3; fd < end; fd++)
		if (!fstat((int)fd, &st) && S_ISSOCK(st.st_mode))
			close((int)fd);
}

/*
 * Slurm kills an epilog's process group as soon as the epilog has ended. So the child in
 * between, for which the epilog waits, leaves the group.
 */
void ws_in_background(void (*work)(void))
{
	pid_t pid = fork();
	sigset_t none;

	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (pid)
		return;
	setsid();
	if (fork())
		_exit(0);
	let_go();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(BACKGROUND_S);
	work();
	_exit(0);
}
