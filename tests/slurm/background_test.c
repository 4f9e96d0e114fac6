// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what a process behind jobs does, which an epilog begins and whose
 * process group Slurm kills when the epilog has ended.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "tap.h"

static int killed[2], done[2], out[2];

/*
 * Replaces the C library's function. A process for which the epilog does not wait comes
 * here when the group is gone.
 */
pid_t setsid(void)
{
	char c;

	if (getppid() != getpgrp())
		while (read(killed[0], &c, 1) < 0)
			;
	return (pid_t)syscall(SYS_setsid);
}

static void work(void)
{
	char c;

	close(killed[1]);
	if (!read(killed[0], &c, 1) && write(done[1], "x", 1) != 1)
		_exit(1);
}

static pid_t epilog(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setpgid(0, 0);
	dup2(out[1], 1);
	close(out[1]);
	ws_in_background(work);
	_exit(0);
}

int main(void)
{
	pid_t pid;
	char c;

	tap_plan(2);
	if (pipe(killed) || pipe(done) || pipe(out))
		return 1;
	pid = epilog();
	close(out[1]);
	close(done[1]);
	waitpid(pid, NULL, 0);
	kill(-pid, SIGKILL);
	ok_eq(read(out[0], &c, 1), 0, "it_leaves_the_epilogs_output_while_it_works");
	close(killed[1]);
	ok_eq(read(done[0], &c, 1), 1, "and_does_its_work_when_the_epilogs_group_is_killed");
	return tap_exit();
}
