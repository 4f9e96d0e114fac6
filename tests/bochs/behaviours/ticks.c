// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a call of 50 ms on the only CPU delays nobody. The kernel's
 * timer interrupts come on time, and another process gets its turns, as beside a process
 * that computes by itself. The other process wakes every 5 ms and writes down how late it
 * was.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../../tap.h"
#include "client.h"

#define CALL_MS		50
#define PERIOD_NS	5000000
#define TURNS		(CALL_MS * 1000000 / PERIOD_NS)
#define TICKS		(CALL_MS * 250 / 1000)	/* HZ of the client's kernel */
/*
 * The limit allows for a tick at which the call is preempted, another tick, and the cost
 * of the emulation.
 */
#define LATE_NS		12000000

struct record {
	volatile int measuring, turns;
	volatile int64_t worst;
};

static struct record *rec;
static uint64_t per_ms;

static void sleep_until(int64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void other_process(void)
{
	int64_t due = now_ns(), late;

	alarm(LIFE_S);
	for (;;) {
		due += PERIOD_NS;
		sleep_until(due);
		late = now_ns() - due;
		if (rec->measuring) {
			rec->turns++;
			if (late > rec->worst)
				rec->worst = late;
		}
		if (late > 10 * PERIOD_NS)
			due = now_ns();
	}
}

/* Returns the number of local timer interrupts of CPU 0, where all of this runs. */
static long local_timer(void)
{
	char line[512];
	long n = -1;
	FILE *f = fopen("/proc/interrupts", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " LOC: %ld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

struct result {
	int turns;
	int64_t worst;
	long ticks;
	CUresult res;
};

static CUresult compute(struct spin *s)
{
	uint64_t end = __rdtsc() + per_ms * CALL_MS;

	if (s)
		return spin_run(s, per_ms * CALL_MS, 5);
	while (__rdtsc() < end)
		;
	return CUDA_SUCCESS;
}

/* Measures during a call, or without one when s is NULL. */
static struct result measure(struct spin *s)
{
	struct result r;
	long before = local_timer();

	rec->turns = 0;
	rec->worst = 0;
	rec->measuring = 1;
	r.res = compute(s);
	rec->measuring = 0;
	r.ticks = local_timer() - before;
	r.turns = rec->turns;
	r.worst = rec->worst;
	return r;
}

static void show(const char *what, const struct result *r)
{
	diag("%s: %d turns of %d, the worst %lld us late, %ld timer interrupts", what, r->turns,
	     TURNS, (long long)r->worst / 1000, r->ticks);
}

static bool on_time(const struct result *call, const struct result *alone)
{
	return call->turns && call->worst <= LATE_NS && call->worst <= alone->worst + LATE_NS / 2;
}

/*
 * The guest's scheduler now and then lets a computing process run for a slice more, so a
 * late turn is measured again. A turn that the call holds up is late each time.
 */
static struct result best_call(struct spin *s, const struct result *alone)
{
	struct result r = measure(s);
	int more;

	for (more = 2; more && !r.res && !on_time(&r, alone); more--) {
		show("in a call, once more", &r);
		r = measure(s);
	}
	return r;
}

static void stay_on_cpu_0(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int main(void)
{
	struct result alone, call;
	struct spin s;
	pid_t child;

	tap_plan(4);
	stay_on_cpu_0();
	rec = mmap(NULL, sizeof(*rec), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	per_ms = clocks_per_ms();
	child = fork();
	if (!child)
		other_process();
	start();
	spin_load(&s);
	CU(spin_run(&s, per_ms, 1));
	alone = measure(NULL);
	call = best_call(&s, &alone);
	show("computing alone", &alone);
	show("in a call", &call);
	ok(call.ticks >= TICKS / 2, "timer_interrupts_come_during_a_call");
	ok(call.turns >= TURNS / 2, "another_process_gets_its_turns_during_a_call");
	ok(on_time(&call, &alone), "and_gets_them_on_time");
	ok(call.res == CUDA_SUCCESS && spin_is_right(&s), "the_interrupted_call_is_right");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return tap_exit();
}
