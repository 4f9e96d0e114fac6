// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises which worker is stopped for what the driver counts. It makes up the
 * readings of one tenant with two workers.
 */
#include "tap.h"
#include "figures/figures.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB		(1ull << 20)
#define LIMIT		(1000 * MIB)
#define SLACK		(300 * MIB)
#define UNSEEN		(64 * MIB)
#define READINGS	3

static const struct wh_device device = { .uuid = "GPU-1" };
static struct wh_device_limit limit[WH_TENANT_DEVICES];
static struct wh_tenant_usage *usage;
static const struct wh_tenant_limits file;
static struct wh_held held;
static pid_t pid[2];

static bool next(unsigned int *at, struct wh_judged *t)
{
	if ((*at)++)
		return false;
	*t = (struct wh_judged) {
		.name = "t", .limit = limit, .file = &file, .usage = usage, .held = &held,
		.pid = { pid[0], pid[1] },
	};
	return true;
}

static void say(const char *level, const char *format, ...)
{
	(void)level;
	(void)format;
}

static void kill_worker(pid_t pid)
{
	kill(pid, SIGKILL);
}

static struct wh_judge judge = {
	.device = &device, .devices = 1, .slack = SLACK, .unseen = UNSEEN, .next = next, .say = say,
	.kill = kill_worker,
};

/* Starts a worker that does nothing, with so much in its account. */
static void worker(int i, uint64_t counted)
{
	if (!pid[i]) {
		pid[i] = fork();
		if (!pid[i])
			for (;;)
				pause();
	}
	usage->worker[i] = (struct wh_worker_usage) { .pid = (uint32_t)pid[i] };
	usage->worker[i].device[0].memory = counted;
}

static bool has_ended(int i)
{
	if (waitpid(pid[i], NULL, WNOHANG) != pid[i])
		return false;
	pid[i] = 0;
	usage->worker[i] = (struct wh_worker_usage) { 0 };
	return true;
}

/* The kill was sent; this waits for the process. */
static bool ends(int i)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid[i], &info, WEXITED | WNOWAIT | WNOHANG) || !info.si_pid) {
		if (held.driver[i][0])
			return false;
		waitid(P_PID, (id_t)pid[i], &info, WEXITED | WNOWAIT);
	}
	return has_ended(i);
}

/* Makes so many readings in a row, of what each worker holds. */
static void read_again(unsigned int times, uint64_t first, uint64_t second)
{
	static struct wh_figures f = { .uuid = "GPU-1" };

	f.count = 2;
	f.figure[0] = (struct wh_figure_of) { .pid = (uint32_t)pid[0], .bytes = first };
	f.figure[1] = (struct wh_figure_of) { .pid = (uint32_t)pid[1], .bytes = second };
	while (times--)
		wh_judge_use(&judge, &f);
}

static void begin(uint64_t first, uint64_t second)
{
	memset(&held, 0, sizeof(held));
	limit[0].memory = LIMIT;
	worker(0, first);
	worker(1, second);
}

static bool both_live(void)
{
	return !ends(0) && !ends(1);
}

static void test_unseen(void)
{
	begin(600 * MIB, 400 * MIB);
	read_again(10, 600 * MIB, 400 * MIB + UNSEEN);
	ok(both_live(), "figures_of_another_moment_may_differ_by_64_mib");
	read_again(READINGS - 1, 600 * MIB, 400 * MIB + UNSEEN + 1);
	ok(both_live(), "a_peak_between_readings_is_no_reason");
	read_again(1, 600 * MIB, 400 * MIB + UNSEEN + 1);
	ok(ends(1) && !ends(0), "who_holds_more_that_nobody_has_counted_is_stopped");
}

static void test_known(void)
{
	begin(600 * MIB, 400 * MIB + SLACK);
	read_again(10, 600 * MIB, 400 * MIB + SLACK);
	ok(both_live(), "what_handlers_have_seen_and_cannot_undo_stays");
	read_again(READINGS, 600 * MIB, 400 * MIB + SLACK + 1);
	ok(ends(1) && !ends(0), "up_to_the_slack_whatever_they_say");
	begin(600 * MIB, 400 * MIB);
	usage->worker[0].taking = 1;
	read_again(10, 600 * MIB + SLACK, 400 * MIB);
	ok(both_live(), "what_a_call_takes_is_seen_behind_it");
	usage->worker[0].taking = 0;
	read_again(READINGS, 600 * MIB + SLACK, 400 * MIB);
	ok(ends(0) && !ends(1), "and_not_later");
}

/* Each worker would stay within a slack of its own. */
static void test_together(void)
{
	begin(500 * MIB + SLACK, 500 * MIB + SLACK);
	read_again(READINGS, 500 * MIB + SLACK, 500 * MIB + SLACK);
	ok(ends(0) != ends(1), "workers_of_a_tenant_have_one_slack_together");
}

static void test_lowered(void)
{
	begin(600 * MIB, 400 * MIB);
	read_again(1, 600 * MIB, 400 * MIB);
	limit[0].memory = 100 * MIB;
	read_again(10, 600 * MIB, 400 * MIB);
	ok(both_live(), "lower_limit_ends_nobody_for_what_was_there");
	read_again(1, 300 * MIB, 400 * MIB);
	usage->worker[0].device[0].memory = 300 * MIB;
	read_again(READINGS, 300 * MIB + UNSEEN + 1, 400 * MIB);
	ok(ends(0) && !ends(1), "but_for_what_comes_back_after_it_has_gone");
	begin(600 * MIB, 400 * MIB);
	limit[0].memory = 0;
	read_again(10, 6000 * MIB, 4000 * MIB);
	ok(both_live(), "without_a_limit_nobody_is_stopped");
	limit[0].memory = LIMIT;
	read_again(10, 6000 * MIB, 4000 * MIB);
	ok(both_live(), "nor_by_the_first_limit_for_what_was_there");
}

int main(void)
{
	int i;

	tap_plan(12);
	usage = calloc(1, sizeof(*usage));
	if (!usage)
		return 1;
	test_unseen();
	test_known();
	test_together();
	test_lowered();
	for (i = 0; i < 2; i++)
		if (pid[i])
			kill(pid[i], SIGKILL);
	free(usage);
	return tap_exit();
}
