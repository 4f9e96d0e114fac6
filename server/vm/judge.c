// SPDX-License-Identifier: Apache-2.0
/*
 * When the driver is asked for its figures. Every LOOK_MS the workers' CPU times are read, which
 * costs a microsecond each and happens with the timer that a frozen VM has anyway. If they have
 * moved, or a tenant holds too much, readings follow every PERIOD_MS until AFTER of them in a row
 * have found nothing new.
 */
#define _GNU_SOURCE
#include "vm/judge.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenant/clock.h"
#include "vm/windows.h"

#define LOOK_MS		1000
#define PERIOD_MS	250
#define AFTER		4
#define AGAIN_MS	1000	/* pause after a reader that crashed */

/* A child that has ended keeps its pid until this process has reaped it. */
static void kill_worker(pid_t pid)
{
	kill(pid, SIGKILL);
}

static struct wh_judge judge = { .next = wh_windows_next, .kill = kill_worker };
static struct wh_judge_options opt;
static struct {
	pid_t pid;
	int fd;
	int64_t start_at;	/* 0: no reader is started any more */
	int64_t due;
	unsigned int left;	/* number of readings to come */
	uint64_t cpu_ns;	/* CPU time of all workers at the last look */
} reader = { .fd = -1 };

/* --- Processes that ask a vendor's library ------------------------------------------ */

/* Starts the worker's program, which writes to its end of a pair instead of serving. */
static pid_t start(const char *worker, const char *backend, const char *what, const char *nvml,
		   int pair[2])
{
	pid_t parent = getpid(), pid;
	char fd[16];
	char *argv[] = { (char *)worker, "--backend", (char *)backend, (char *)what, fd,
			 nvml ? "--nvml" : NULL, (char *)nvml, NULL };
	sigset_t none;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	pid = fork();
	if (!pid) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		snprintf(fd, sizeof(fd), "%d", dup(pair[1]));
		if (getppid() == parent)
			execv(worker, argv);
		_exit(127);
	}
	close(pair[1]);
	if (pid > 0)
		return pid;
	close(pair[0]);
	return -1;
}

bool wh_judge_devices(const char *worker, const char *backend, struct wh_devices_report *r)
{
	int pair[2];
	pid_t pid = start(worker, backend, "--devices", NULL, pair);
	bool good;

	if (pid < 0) {
		snprintf(r->error, sizeof(r->error), "no process can ask %.150s for its devices", backend);
		return false;
	}
	good = wh_devices_receive(pair[0], backend, r);
	close(pair[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return good;
}

/* --- The reader --------------------------------------------------------------------- */

static void start_reader(void)
{
	int pair[2];

	reader.start_at = wh_now_ms() + AGAIN_MS;
	reader.pid = start(opt.worker, opt.backend, "--figures", opt.nvml, pair);
	if (reader.pid > 0)
		reader.fd = pair[0];
}

void wh_judge_start(const struct wh_judge_options *o)
{
	opt = *o;
	judge.device = o->device;
	judge.devices = o->devices;
	judge.slack = o->slack;
	/* Between the calls of its client, nobody updates a worker's account. */
	judge.unseen = o->slack;
	judge.say = o->say;
	if (!opt.nvml || strcmp(opt.nvml, "none"))
		start_reader();
}

static void close_reader(void)
{
	if (reader.fd >= 0)
		close(reader.fd);
	reader.fd = -1;
}

void wh_judge_stop(void)
{
	close_reader();
	if (reader.pid > 0)
		kill(reader.pid, SIGKILL);
}

bool wh_judge_reap(pid_t pid, int status)
{
	if (pid != reader.pid)
		return false;
	reader.pid = 0;
	close_reader();
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		reader.start_at = 0;
	else
		opt.say("warn", "the process that reads NVML ended with status %#x; starting another",
			status);
	return true;
}

int wh_judge_fd(void)
{
	return reader.fd;
}

void wh_judge_read(void)
{
	static struct wh_figures f;
	int n = wh_figures_receive(reader.fd, &f);

	if (n < 0)
		close_reader();
	else if (n && wh_judge_use(&judge, &f))
		reader.left = AFTER;
}

/* --- When --------------------------------------------------------------------------- */

static bool workers_ran(void)
{
	uint64_t now = wh_windows_cpu_ns();
	bool ran = now != reader.cpu_ns;

	reader.cpu_ns = now;
	return ran;
}

void wh_judge_wanted(void)
{
	if (!reader.left)
		reader.due = 0;
	reader.left = AFTER;
}

static void ask(void)
{
	if (send(reader.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		close_reader();
}

int64_t wh_judge_due(void)
{
	int64_t now = wh_now_ms();

	if (reader.fd < 0 && reader.start_at && !reader.pid && now >= reader.start_at)
		start_reader();
	if (reader.fd < 0)
		return reader.start_at && !reader.pid ? reader.start_at - now : -1;
	if (now < reader.due)
		return reader.due - now;
	if (workers_ran())
		reader.left = AFTER;
	if (reader.left) {
		reader.left--;
		ask();
	}
	reader.due = now + (reader.left ? PERIOD_MS : LOOK_MS);
	return reader.due - now;
}
