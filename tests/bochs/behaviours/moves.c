// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a call goes on when the client's kernel moves the process to its
 * other CPU and back. Each CPU has an EPTP list of its own, and the call goes on where
 * the process is.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "../../tap.h"
#include "client.h"

#define CALL_MS		80
#define MOVE_US		8000
#define LOOK_US		3000
#define CALLS		200

static volatile sig_atomic_t in_call, seen_in_call, seen;

static void look(int sig)
{
	int here = 1 << sched_getcpu();

	(void)sig;
	seen |= here;
	if (in_call)
		seen_in_call |= here;
}

static void move_parent(pid_t parent)
{
	cpu_set_t one;
	int cpu = 0;

	alarm(LIFE_S);
	for (;;) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(parent, sizeof(one), &one);
		cpu = !cpu;
		usleep(MOVE_US);
	}
}

static void look_often(void)
{
	const struct itimerval v = { { 0, LOOK_US }, { 0, LOOK_US } };
	struct sigaction sa = { .sa_handler = look, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &v, NULL);
}

/* Makes short calls until they were made on both CPUs, and at least CALLS of them. */
static int short_calls(void)
{
	int64_t end = now_ns() + 2000000000LL;
	int n = 0;

	for (seen = 0; n < CALLS || seen != 3; n++)
		if (cuCtxSynchronize() != CUDA_SUCCESS || now_ns() > end)
			return 0;
	diag("%d calls", n);
	return 1;
}

int main(void)
{
	uint64_t clocks = clocks_per_ms() * CALL_MS;
	pid_t child, parent = getpid();
	struct spin s;
	CUresult res;

	tap_plan(3);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		diag("this machine has one CPU");
		return 1;
	}
	child = fork();
	if (!child)
		move_parent(parent);
	start();
	spin_load(&s);
	look_often();
	in_call = 1;
	res = spin_run(&s, clocks, 9);
	in_call = 0;
	diag("seen on CPUs 0x%x", seen_in_call);
	ok(seen_in_call == 3, "a_call_moves_between_cpus_while_it_runs");
	ok(res == CUDA_SUCCESS && spin_is_right(&s), "and_is_right");
	ok(short_calls(), "calls_work_on_both_cpus");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return tap_exit();
}
