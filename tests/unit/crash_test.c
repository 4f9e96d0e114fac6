// SPDX-License-Identifier: Apache-2.0
/* Tests that a worker that crashes says where it was (server/daemon/crash.c). */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/worker.h"
#include "tap.h"

static char said[4096];
static int ended_by;

static __attribute__((noinline)) void reads_nothing(void)
{
	*(volatile int *)(uintptr_t)8;
}

static __attribute__((noinline)) void calls_data(void)
{
	void (*volatile nowhere)(void) = (void (*)(void))malloc(64);

	nowhere();
	/* So that the call is none that another function returns from. */
	puts("came back");
}

/* Lets a child do what crashes, and reads what it says on its standard error. */
static void crash(void (*how)(void))
{
	int fd[2], status = 0;
	size_t n = 0;
	ssize_t got;

	if (pipe(fd))
		exit(1);
	fflush(stdout);
	if (!fork()) {
		dup2(fd[1], STDERR_FILENO);
		prctl(PR_SET_DUMPABLE, 0);
		wh_crashes_say();
		how();
		_exit(0);
	}
	close(fd[1]);
	while (n < sizeof(said) - 1 && (got = read(fd[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = '\0';
	close(fd[0]);
	wait(&status);
	ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	diag("%s", said);
}

/* Does the line name a place in this program, at or after the word `from`? */
static bool names_a_place(const char *from)
{
	const char *at = strstr(said, " at ");

	at = at ? strstr(at, from) : NULL;
	return at && strstr(at, "wormhole-server+0x");
}

int main(void)
{
	tap_plan(4);
	crash(reads_nothing);
	ok_eq(ended_by, SIGSEGV, "a_fault_ends_the_worker");
	ok(names_a_place(" at wormhole-server+0x"), "which_says_where_it_was");
	crash(calls_data);
	ok_eq(ended_by, SIGSEGV, "so_does_a_call_into_data");
	ok(names_a_place(" at 0x"), "of_which_it_says_who_called");
	return tap_exit();
}
