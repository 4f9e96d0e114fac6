// SPDX-License-Identifier: Apache-2.0
/*
 * Decides which users this server may give out. Servers that share a /run share a range, and a lock
 * for each number (uids.c). A server that sees another /run, in a container, sees none of these
 * locks. What all servers of one user namespace share is the kernel's count of each user's
 * processes. So the number behind a range is the user of a process of each server that gives out of
 * the range. The first server of a /run takes the range only if no other process has that user.
 *
 * The count is read by the limit that fork() is checked against, so no list of processes, however
 * many there are, has to be read.
 */
#define _GNU_SOURCE
#include "daemon/handover.h"
#include "daemon/isolation.h"
#include "daemon/monitor.h"
#include "daemon/server.h"
#include "tenant/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS		10000	/* for other servers that start, each of which takes a moment */
/*
 * For the one range that was named. A killed server's process has its user until the init of its
 * PID namespace has waited for it, and there are inits that look once in two seconds.
 */
#define PATIENCE_MS	5000
#define TRIES		3	/* where there are several ranges */

enum { FREE, HAD, UNKNOWN };

static struct {
	uid_t user;
	pid_t pid;		/* 0: there is none */
} holder;

/* --- Whether a process has a number ---------------------------------------------------- */

/*
 * Runs as that user, with a limit of two processes: fork() fails if another process has the user.
 */
static int count(void)
{
	const struct rlimit two = { 2, 2 };
	int status;
	pid_t pid;

	if (setrlimit(RLIMIT_NPROC, &two))
		return UNKNOWN;
	pid = fork();
	if (!pid)
		_exit(0);
	if (pid < 0)
		return errno == EAGAIN ? HAD : UNKNOWN;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return FREE;
}

int wh_uid_had(uid_t uid)
{
	int status = UNKNOWN << 8;
	pid_t pid = wh_fork(-1);

	if (!pid)
		_exit(wh_uid_become(uid) ? count() : UNKNOWN);
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	errno = EAGAIN;
	return !WIFEXITED(status) || WEXITSTATUS(status) == UNKNOWN ? -1 :
	       WEXITSTATUS(status) == HAD;
}

/* --- The range --------------------------------------------------------------------------- */

/* Holds the user until the server ends. Its first word says whether it is alone. */
__attribute__((noreturn)) static void hold(uid_t user, pid_t parent, int said)
{
	char word = UNKNOWN;

	if (wh_uid_become(user))
		word = (char)count();
	/* The change of user has cleared this, so set it again. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || write(said, &word, 1) != 1)
		_exit(0);
	prctl(PR_SET_NAME, "wormhole-users");
	closefrom(0);
	for (;;)
		pause();
}

static int start_holder(uid_t user)
{
	char word = UNKNOWN;
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		return UNKNOWN;
	holder.user = user;
	holder.pid = wh_fork_lasting(fd[1]);
	if (!holder.pid)
		hold(user, wh_monitor_pid(), fd[1]);
	close(fd[1]);
	if (holder.pid < 0 || read(fd[0], &word, 1) != 1)
		word = UNKNOWN;
	close(fd[0]);
	holder.pid = holder.pid < 0 ? 0 : holder.pid;
	wh_monitor_changed();
	return word;
}

void wh_uid_range_give(void)
{
	if (!holder.pid)
		return;
	wh_monitor_kill(holder.pid);
	wh_monitor_wait(holder.pid);
	holder.pid = 0;
}

/* The process that marks the range is a child of the monitor's, and lives on with it. */
void wh_uid_range_leave(cJSON *o)
{
	cJSON_AddNumberToObject(o, "mark", holder.user);
	cJSON_AddNumberToObject(o, "marker", holder.pid);
}

void wh_uid_range_take_over(const cJSON *o)
{
	holder.user = (uid_t)wh_taken_number(o, "mark");
	holder.pid = (pid_t)wh_taken_number(o, "marker");
	wh_monitor_missing(holder.pid);
}

bool wh_uid_range_has(pid_t pid)
{
	return pid && pid == holder.pid;
}

bool wh_uid_range_reap(pid_t pid)
{
	if (!wh_uid_range_has(pid))
		return false;
	/* If somebody killed the holder, a new one is needed, since the range is still in use. */
	if (start_holder(holder.user) == UNKNOWN)
		wh_say("warn", "no process says that users up to %u are this server's: servers that see another "
		       "/run may give them out, too", holder.user);
	return true;
}

static bool lock(int file, uid_t byte, short type, int how)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return !fcntl(file, how, &l);
}

static bool take(int file, uid_t first)
{
	uid_t mark = first + WH_MAX_TENANTS;
	bool alone = file < 0 || lock(file, mark, F_WRLCK, F_OFD_SETLK);
	int who = start_holder(mark);

	/* A server that shares this /run has checked the range before us. */
	if (who == FREE || (who == HAD && !alone)) {
		if (file < 0 || lock(file, mark, F_RDLCK, F_OFD_SETLK))
			return true;
	}
	wh_uid_range_give();
	if (file >= 0)
		lock(file, mark, F_UNLCK, F_OFD_SETLK);
	return false;
}

/*
 * Two servers that start at once see each other, so they wait for different times before the next
 * try. Also, the process of a server that was just killed may not have ended yet.
 */
static void pause_a_while(void)
{
	struct timespec t = { 0 };
	unsigned char ms = 7;

	if (getrandom(&ms, 1, GRND_NONBLOCK) != 1)
		ms ^= (unsigned char)getpid();
	t.tv_nsec = ms % 32 * 1000000;
	nanosleep(&t, NULL);
}

/*
 * Servers with this file take ranges one at a time. One that hangs meanwhile must not make all
 * others wait for ever. False: errno.
 */
static bool lock_in_time(int file)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int ms;

	for (ms = 0; !lock(file, 0, F_WRLCK, F_OFD_SETLK); ms += 10) {
		if (errno != EAGAIN && errno != EACCES)
			return false;
		if (ms >= WAIT_MS) {
			errno = ETIMEDOUT;
			return false;
		}
		nanosleep(&pause, NULL);
	}
	return true;
}

uid_t wh_uid_range_take(int file, uid_t first, unsigned int ranges)
{
	int64_t end = wh_now_ms() + PATIENCE_MS;
	unsigned int i, tries;
	uid_t got = 0;

	if (file >= 0 && !lock_in_time(file))
		return 0;
	for (tries = 0; !got && (ranges > 1 ? tries < TRIES : wh_now_ms() < end); tries++) {
		for (i = 0; !got && i < ranges; i++)
			if (take(file, first + i * WH_UID_RANGE))
				got = first + i * WH_UID_RANGE;
		if (!got)
			pause_a_while();
	}
	if (file >= 0)
		lock(file, 0, F_UNLCK, F_OFD_SETLK);
	errno = 0;
	return got;
}
