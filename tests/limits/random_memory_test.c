// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the quota without knowing any call. It makes random sequences of
 * calls that take device memory, give it back and end what has it, right ones and wrong
 * ones, in up to three contexts, the primary one and in none. After each call the
 * driver's own books say what the tenant has: never more than its quota, and, where a
 * call was asked for memory, no more than what it pays for. All of it goes with the
 * processes.
 *
 * random_memory_test.t [SEED [STEPS]]; by default the seed is always the same.
 */
#define _GNU_SOURCE
#include "tenancy.h"
#include "random_calls.h"

#define QUOTA		(1200 * MIB)
#define PROCESSES	3	/* one after the other */
/* No call says what streams take; the server's looks at the driver's figure find it later. */
#define UNSAID		((STREAMS + 1) * MOCK_STREAM)
/*
 * The worker sees these only after the driver has taken the memory, and undoes them then
 * (docs/limits.md).
 */
#define LATE		(MOCK_CONTEXT + MOCK_CALLS + 66 * MIB)

struct shared {
	int taken, refused, over, uncharged, unknown;
	uint64_t most, beyond;
	char what[64];
};
static struct shared *shared;

/* --- The driver's books -------------------------------------------------------------- */

static void note(int *counter, const struct call *c, uint64_t bytes)
{
	if (!*counter && !shared->over)
		snprintf(shared->what, sizeof(shared->what), "%s", c->name);
	++*counter;
	if (bytes > shared->beyond)
		shared->beyond = bytes;
}

static void look(const struct call *c, uint64_t before)
{
	uint64_t used = gpu->used, paid = charged(), most = QUOTA + (c->late ? LATE : 0);

	if (used > shared->most)
		shared->most = used;
	if (used > QUOTA + UNSAID)
		note(&shared->over, c, used - QUOTA);
	else if (gpu->peak > most + UNSAID)
		note(&shared->over, c, gpu->peak - most);
	/* Memory that is seen late is paid for before the next call that is asked for memory. */
	if (!c->late && used > paid + UNSAID && used > before)
		note(&shared->uncharged, c, used - paid);
}

static void step(void)
{
	const struct call *c = &calls[any(CALLS)];
	uint64_t before = gpu->used;
	CUresult res;

	gpu->peak = before;
	res = c->fn();
	if (res == CUDA_SUCCESS)
		shared->taken++;
	else if (res == CUDA_ERROR_OUT_OF_MEMORY)
		shared->refused++;
	else if (res == CUDA_ERROR_NOT_SUPPORTED || res == CUDA_ERROR_UNKNOWN)
		shared->unknown++;
	look(c, before);
}

static void play(uint64_t seed, unsigned int steps)
{
	cuInit(0);
	begin(0, seed);
	while (steps--)
		step();
}

static int run(uint64_t seed, unsigned int steps)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		alarm(100);
		play(seed, steps);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	wh_tenant_accounts_reap(usage);
	return status;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 6;
	unsigned int steps = argc > 2 ? (unsigned int)atoi(argv[2]) : 20000;
	int i, status = 0;

	make_tenant(argv[0], "tests/limits/bin/mock/libcuda.so.1");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	tap_plan(5);
	diag("seed %llu", (unsigned long long)seed);
	fresh();
	set_memory(QUOTA);
	for (i = 0; i < PROCESSES && !status; i++) {
		status = run(seed + (unsigned int)i, steps);
		fresh();
		set_memory(QUOTA);
	}
	diag("%d calls succeeded, %d for want of memory did not, %d are not there; at most %llu MiB",
	     shared->taken, shared->refused, shared->unknown,
	     (unsigned long long)(shared->most / MIB));
	ok_eq(status, 0, "processes_come_to_their_end");
	ok(shared->taken > (int)steps / 10 && shared->refused > 50, "calls_succeed_and_fail_for_want_of_memory");
	if (!ok(!shared->over, "no_call_has_more_than_the_quota"))
		diag("%d times, first by %s, by up to %.1f MiB", shared->over, shared->what,
		     (double)shared->beyond / MIB);
	if (!ok(!shared->uncharged, "nothing_is_taken_that_is_not_charged"))
		diag("%d times, first by %s, by up to %.1f MiB", shared->uncharged, shared->what,
		     (double)shared->beyond / MIB);
	ok_eq((long)(charged() / MIB), 0, "what_was_charged_goes_with_the_processes");
	remove_tenant();
	return tap_exit();
}
