// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a descriptor which is not listened to for a while
 * (server/daemon/loop.c) is heard again. An example is a tenant that has as many workers
 * starting as it may. Whatever has become short meanwhile must not matter: what the
 * kernel lets a user watch is for all the user's processes, also for those that mean
 * harm.
 */
#include "daemon/server.h"
#include "tap.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SOON_MS	50

#define LATE		40	/* after so many it never comes */

static bool full;		/* no more can be watched */
static bool added;
static int heard, early, looks, fd[2];

/* Replaces the C library's function. */
int epoll_ctl(int epoll, int op, int which, struct epoll_event *e)
{
	if (full && op == EPOLL_CTL_ADD) {
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, epoll, op, which, e);
}

static void hear(int which, void *arg)
{
	char byte;

	(void)arg;
	heard += read(which, &byte, 1) == 1;
	wh_loop_stop();
}

/* The pause ends at the first call. */
static void look(void)
{
	if (++looks == LATE)
		wh_loop_stop();
	if (looks > 1)
		return;
	early = heard;
	full = true;
	added = wh_loop_add(fd[1], hear, NULL);
	wh_loop_pause(fd[0], false);
}

int main(void)
{
	tap_plan(3);
	if (pipe(fd) || !wh_loop_add(fd[0], hear, NULL) || write(fd[1], "", 1) != 1)
		return 1;
	wh_loop_pause(fd[0], true);
	wh_loop_every(SOON_MS, look);
	wh_loop_run();
	ok_eq(early, 0, "who_is_paused_is_not_heard");
	ok(!added, "nobody_else_can_be_added");
	ok_eq(heard, 1, "but_who_was_paused_is_heard_again");
	return tap_exit();
}
