// SPDX-License-Identifier: Apache-2.0
/*
 * `placed SERVER` makes calls over shm on the CPUs that it was given, in turns with two processes
 * that hand a word to each other on the same CPUs, each asleep until the other has written. This is
 * what the machine can do with two threads that have to wait for each other. Then it makes no call
 * for a second. It prints
 *
 *	calls=N words=N	how many of each there were in a second, in the best turn of each
 *	middle=N	the calls of the middle turn
 *	ratio=N		calls for 1,000 words, both as above
 *	switches=N	changes of threads for 1,000 calls, of both sides, in their best turn
 *	sleeps=N	sleeps for 1,000 calls, in the turn with the fewest
 *	idle_us=N	the CPU time of program and server in the second without a call
 *	idle_switches=N	how often one of their threads stopped in it
 *
 * SERVER is the number of the server's process; its workers are its children.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "start.h"

#define TURNS	25
#define TURN_NS	20000000ull
#define BYTES	4096

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void must(int good, const char *what)
{
	if (good)
		return;
	printf("failed: %s\n", what);
	exit(1);
}

/* --- Two processes with a word ------------------------------------------------------------ */

static struct {
	uint32_t there __attribute__((aligned(64)));
	uint32_t back __attribute__((aligned(64)));
} *word;

static void await_word(const uint32_t *w, uint32_t value)
{
	uint32_t is;

	while ((is = __atomic_load_n(w, __ATOMIC_SEQ_CST)) != value)
		syscall(SYS_futex, w, FUTEX_WAIT, is, NULL, NULL, 0);
}

static void say(uint32_t *w, uint32_t value)
{
	__atomic_store_n(w, value, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, w, FUTEX_WAKE, 1, NULL, NULL, 0);
}

__attribute__((noreturn))
static void other_process(void)
{
	uint32_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (n = 1; ; n++) {
		await_word(&word->there, n);
		say(&word->back, n);
	}
}

static double words_for(uint64_t ns)
{
	uint64_t begin = now(), t;
	uint32_t first = word->back, n = first;

	do {
		say(&word->there, ++n);
		await_word(&word->back, n);
		t = now() - begin;
	} while (t < ns);
	return (n - first) * 1e9 / (double)t;
}

/* --- What processes had ------------------------------------------------------------------- */

struct had {
	uint64_t cpu_ns, sleeps, yields;
};

static void add_thread(struct had *h, int pid, const char *thread)
{
	unsigned long long n;
	char path[80], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat", pid, thread);
	f = fopen(path, "re");
	if (f && fscanf(f, "%llu", &n) == 1)
		h->cpu_ns += n;
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", pid, thread);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1)
			h->sleeps += n;
		if (sscanf(line, "nonvoluntary_ctxt_switches: %llu", &n) == 1)
			h->yields += n;
	}
	if (f)
		fclose(f);
}

static void add_process(struct had *h, int pid)
{
	struct dirent *e;
	char path[40];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (*e->d_name != '.')
			add_thread(h, pid, e->d_name);
	if (d)
		closedir(d);
}

/* This program, the server and its workers. */
static struct had look(int server)
{
	struct had h = { 0 };
	char path[60];
	int child;
	FILE *f;

	add_process(&h, getpid());
	add_process(&h, server);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", server, server);
	f = fopen(path, "re");
	must(f != NULL, path);
	while (fscanf(f, "%d", &child) == 1)
		add_process(&h, child);
	fclose(f);
	return h;
}

/* --- Calls ---------------------------------------------------------------------------------- */

static CUdeviceptr device;

struct turn {
	double calls, words, switches, sleeps;
};

static void take_turn(struct turn *out, int server)
{
	static char host[BYTES];
	struct had before = look(server), after;
	uint64_t begin = now(), t, n = 0;

	do {
		must(!cuMemcpyHtoD(device, host, BYTES), "cuMemcpyHtoD");
		n++;
		t = now() - begin;
	} while (t < TURN_NS);
	after = look(server);
	out->calls = (double)n * 1e9 / (double)t;
	out->sleeps = (double)(after.sleeps - before.sleeps) * 1000 / (double)n;
	out->switches = out->sleeps + (double)(after.yields - before.yields) * 1000 / (double)n;
	out->words = words_for(TURN_NS);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const struct turn *turn)
{
	struct turn best = turn[0];
	double calls[TURNS];
	unsigned int i;

	for (i = 0; i < TURNS; i++) {
		calls[i] = turn[i].calls;
		best.calls = turn[i].calls > best.calls ? turn[i].calls : best.calls;
		best.words = turn[i].words > best.words ? turn[i].words : best.words;
		best.switches = turn[i].switches < best.switches ? turn[i].switches : best.switches;
		best.sleeps = turn[i].sleeps < best.sleeps ? turn[i].sleeps : best.sleeps;
	}
	qsort(calls, TURNS, sizeof(*calls), ascending);
	printf("calls=%.0f words=%.0f middle=%.0f ratio=%.0f switches=%.0f sleeps=%.0f ", best.calls,
	       best.words, calls[TURNS / 2], 1000 * best.calls / best.words, best.switches,
	       best.sleeps);
}

int main(int argc, char **argv)
{
	const struct timespec second = { .tv_sec = 1 }, rest = { .tv_nsec = 50000000 };
	int server = argc == 2 ? atoi(argv[1]) : 0;
	struct turn turn[TURNS];
	struct had before, after;
	unsigned int i;
	pid_t pid;

	if (server <= 0) {
		fprintf(stderr, "usage: placed SERVER, the number of its process\n");
		return 2;
	}
	alarm(60);
	word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(word != MAP_FAILED, "mmap");
	pid = fork();
	if (!pid)
		other_process();
	must(pid > 0 && !start_context() && !cuMemAlloc(&device, BYTES), "CUDA");
	for (i = 0; i < TURNS; i++)
		take_turn(&turn[i], server);
	report(turn);
	/* A side that waits looks for a while before it sleeps, which is no idling. */
	nanosleep(&rest, NULL);
	before = look(server);
	nanosleep(&second, NULL);
	after = look(server);
	printf("idle_us=%.0f idle_switches=%llu\n", (double)(after.cpu_ns - before.cpu_ns) / 1000,
	       (unsigned long long)(after.sleeps + after.yields - before.sleeps - before.yields));
	kill(pid, SIGKILL);
	return 0;
}
