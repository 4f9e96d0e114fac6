// SPDX-License-Identifier: Apache-2.0
/*
 * Tests the quota of a whole tenant without knowing any call. Programs of the tenant
 * (random_player.c), each with threads and contexts, make random calls, one at a time or
 * all at once, share memory, end and are killed. After each round nobody calls anything,
 * and the driver's own books say what the tenant has: no more than its quota and what the
 * documentation adds.
 *
 * 	random_tenant OPTION... -- COMMAND...	COMMAND begins a program of the tenant
 *
 * 	--quota BYTES --usage FILE	of the tenant; the file is the server's
 * 	--books FILE | --nvml LIBRARY	whose figure: softgpu's (its books.h), as workers name
 * 				the file, or a GPU's
 * 	--unsaid BYTES		what the driver may have taken and no call says (docs/limits.md)
 * 	--log FILE		what the server says
 * 	--seconds S --seed N --stage FILE
 * 	--alone			never two calls at the same time
 * 	--gaps			on a GPU, say what was called when a worker came to have
 * 				more than it is charged for
 *
 * softgpu knows everything, so over it there are more promises. No memory lives that is
 * not charged, and the most that there was between two rounds counts as well. One in some
 * questions of the worker about memory gets an error.
 *
 * NVIDIA's driver crashes with programs that use what has ended, natively within seconds.
 * On a GPU a worker may crash there, and only there: its log says where it was.
 */
#define _GNU_SOURCE
#include "random_stage.h"

#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "driver/books.h"
#include "nvml.h"
#include "random.h"
#include "tap.h"
#include "tenant/tenant.h"

#define PATIENCE_MS	60000	/* for a round, or for a program's beginning and end */
#define MODULE		(4 * MIB)	/* the largest thing that is seen late over softgpu */
#define BLOCK		(2 * MIB)
#define FAILING		13	/* one in so many questions about memory gets no answer */
#define SMALL		4096	/* this may cross the border of two blocks */

static struct {
	uint64_t quota, unsaid, seed;
	const char *usage, *books, *nvml, *stage, *log;
	unsigned int seconds;
	bool alone, gaps;
	char **command;
} o = { .quota = 192 * MIB, .seed = 1, .seconds = 10 };

static struct stage *stage;
static const struct wh_tenant_usage *usage;
static struct sgpu_books *books;
static pid_t player[PLAYERS];	/* 0: is not there */

static struct {
	unsigned int rounds, ends, over, peaks, uncharged, dead, stuck, crashed, astray;
	uint64_t most, beyond;
	bool found;
} seen;

/* On a GPU: what NVML says of each worker now, and said at the last look. */
static uint64_t has[WH_TENANT_WORKERS], had[WH_TENANT_WORKERS];

/* --- Finds ------------------------------------------------------------------------------- */

/* Returns what line `l` of the books has, with what it has given away and not freed. */
static uint64_t owned(unsigned int l)
{
	uint64_t sum = books->line[l].bytes;
	unsigned int i;

	for (i = 0; i < books->taken; i++)
		if (books->shared[i].owner == books->line[l].pid)
			sum += books->shared[i].bytes;
	return sum;
}

/* On a GPU: what each worker has and is charged for, and what had changed in the round. */
static void say_figures(void)
{
	unsigned int i;

	for (i = 0; !books && i < WH_TENANT_WORKERS; i++)
		if (usage->worker[i].pid)
			diag("account %u, worker %u: charged for %.1f MiB, has %.1f, had %.1f", i,
			     usage->worker[i].pid, (double)usage->worker[i].device[0].memory / MIB,
			     (double)has[i] / MIB, (double)had[i] / MIB);
}

/* Prints what each worker has and is charged for, so that a find says whose it is. */
static void say_accounts(void)
{
	const struct wh_shared *e;
	unsigned int i, l;
	uint32_t pid;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		pid = usage->worker[i].pid;
		for (l = 0; pid && books && l < SGPU_BOOKS_LINES; l++)
			if (books->line[l].pid == pid)
				diag("account %u, worker %u: charged for %.1f MiB, has %.1f", i, pid,
				     (double)usage->worker[i].device[0].memory / MIB,
				     (double)owned(l) / MIB);
	}
	for (i = 0; books && i < books->taken; i++)
		for (l = 0; l < SGPU_BOOKS_LINES; l++)
			if (books->shared[i].holders[l])
				diag("%llx.%llu: %.1f MiB, worker %u has it",
				     (unsigned long long)books->shared[i].file,
				     (unsigned long long)books->shared[i].id,
				     (double)books->shared[i].bytes / MIB, books->line[l].pid);
	for (i = 0; i < usage->shared.top && i < WH_TENANT_SHARED; i++) {
		e = &usage->shared.entry[i];
		if (e->id[0])
			diag("known as shared: %.1f MiB of account %u%s, open in accounts %llx",
			     (double)e->bytes / MIB, e->owner,
			     wh_shared_alive(usage, e) ? "" : ", left behind",
			     (unsigned long long)e->openers);
	}
	say_figures();
	diag("left behind is charged: %.1f MiB", (double)wh_tenant_orphans(usage, 0) / MIB);
}

/* Prints what each thread that played called in the round. */
static void say_calls(void)
{
	unsigned int i;

	for (i = 0; i < PLAYERS * THREADS; i++)
		if (stage->playing >> i & 1)
			diag("    %u.%u: %s", i / THREADS, i % THREADS, stage->said[i]);
}

static void find(unsigned int *counter, uint64_t bytes)
{
	++*counter;
	if (bytes > seen.beyond)
		seen.beyond = bytes;
	if (!seen.found) {
		diag("first find after:");
		say_calls();
	}
	seen.found = true;
	say_accounts();
}

static void *map_file(const char *path, size_t size, int prot)
{
	int fd = open(path, prot & PROT_WRITE ? O_RDWR : O_RDONLY);
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, size, prot, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		printf("Bail out! %s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
	return p;
}

/* --- The books ---------------------------------------------------------------------------- */

static uint64_t driver_bytes(void)
{
	uint64_t bytes = 0;
	int i;

	if (books) {
		sgpu_books_bury(books);
		return __atomic_load_n(&books->used, __ATOMIC_SEQ_CST);
	}
	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		had[i] = has[i];
		has[i] = 0;
		if (usage->worker[i].pid && !nvml_bytes(usage->worker[i].pid, &has[i])) {
			printf("Bail out! NVML does not say what processes have\n");
			exit(1);
		}
		bytes += has[i];
	}
	return bytes;
}

/* A small allocation across the border of two blocks is charged in one of them. */
static uint64_t across(void)
{
	return books ? o.quota / BLOCK * SMALL : 0;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Returns what a worker has beyond what it is charged for. */
static uint64_t uncharged_of(const struct wh_worker_usage *w)
{
	uint64_t charged = __atomic_load_n(&w->device[0].memory, __ATOMIC_SEQ_CST) + across();
	unsigned int l;

	for (l = 0; l < SGPU_BOOKS_LINES; l++)
		if (w->pid && books->line[l].pid == w->pid)
			return less(owned(l), charged);
	return 0;
}

/*
 * Returns memory whose owner has freed it or is gone, and which others still have, beyond
 * what is charged for it.
 */
static uint64_t uncharged_orphans(void)
{
	uint64_t charged = wh_tenant_orphans(usage, 0), used, owners = 0;
	unsigned int l;

	used = driver_bytes();
	for (l = 0; l < SGPU_BOOKS_LINES; l++)
		owners += books->line[l].pid ? owned(l) : 0;
	return less(less(used, owners), charged);
}

static uint64_t uncharged_now(void)
{
	uint64_t most = uncharged_orphans(), one;
	unsigned int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		one = uncharged_of(&usage->worker[i]);
		most = one > most ? one : most;
	}
	return most;
}

/*
 * Is there more than is charged, of one worker or of what has no owner? A request that
 * nobody waits for may still be under way, so only an excess that stays counts.
 */
static uint64_t uncharged(void)
{
	const struct timespec ms = { 0, 1000000 };
	uint64_t most = uncharged_now();
	int tries;

	for (tries = 0; tries < 500 && most; tries++) {
		nanosleep(&ms, NULL);
		most = uncharged_now();
	}
	return most;
}

/* Says what was called when a worker came to have more than it is charged for. */
static void say_gaps(void)
{
	static uint64_t gap[WH_TENANT_WORKERS];
	const struct wh_device_usage *d;
	unsigned int i;
	uint64_t now;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		d = &usage->worker[i].device[0];
		now = usage->worker[i].pid ? less(has[i], d->memory) : 0;
		if (now > gap[i] + PLAYERS * THREADS * BLOCK) {
			diag("round %u: account %u has %.1f MiB, had %.1f, is charged for %.1f; when it looked last it had %.1f; left behind %.1f",
			     seen.rounds, i, (double)has[i] / MIB, (double)had[i] / MIB,
			     (double)d->memory / MIB, (double)d->memory_driver / MIB,
			     (double)wh_tenant_orphans(usage, 0) / MIB);
			say_calls();
		}
		gap[i] = now;
	}
}

static void look(bool peak)
{
	uint64_t used = driver_bytes(), most = o.quota + o.unsaid + across(), more;

	if (o.gaps && !books)
		say_gaps();
	if (used > seen.most)
		seen.most = used;
	if (used > most)
		find(&seen.over, used - most);
	if (!books)
		return;
	/* One thread of a program at a time loads code. */
	most += PLAYERS * MODULE;
	if (peak && books->peak > most)
		find(&seen.peaks, books->peak - most);
	more = uncharged();
	if (more)
		find(&seen.uncharged, more);
	sgpu_books_lock(books);
	books->peak = books->used;
	pthread_mutex_unlock(&books->lock);
}

/* --- Programs ---------------------------------------------------------------------------- */

static unsigned int players(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < PLAYERS; i++)
		n += player[i] != 0;
	return n;
}

/* Has a program ended although nobody told it to? */
static bool anybody_died(void)
{
	unsigned int i;
	bool died = false;

	for (i = 0; i < PLAYERS; i++)
		if (player[i] && waitpid(player[i], NULL, WNOHANG) == player[i]) {
			player[i] = 0;
			died = true;
		}
	return died;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Waits until so many threads are done. */
static bool await_done(uint32_t threads)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	uint32_t done;

	while ((done = __atomic_load_n(&stage->done, __ATOMIC_SEQ_CST)) < threads) {
		stage_wait(&stage->done, done, 100);
		if (anybody_died()) {
			find(&seen.dead, 0);
			return false;
		}
		if (now_ms() > end) {
			find(&seen.stuck, 0);
			return false;
		}
	}
	return true;
}

/* On a GPU another worker may crash meanwhile, so that there are fewer than programs. */
static bool any_worker_stays(void)
{
	unsigned int living = (unsigned int)__builtin_popcountll(wh_tenant_living(usage));
	unsigned int n = players();

	return books ? living != n || sgpu_books_bury(books) != n : living > n;
}

/* Waits until the server has seen the end of each worker whose program has ended. */
static bool await_workers(void)
{
	const struct timespec ms = { 0, 1000000 };
	uint64_t end = now_ms() + PATIENCE_MS;

	while (any_worker_stays()) {
		nanosleep(&ms, NULL);
		if (now_ms() > end) {
			find(&seen.stuck, 0);
			return false;
		}
	}
	return true;
}

static bool begin_player(unsigned int i)
{
	char number[16], *argv[64];
	int n = 0;

	while (o.command[n] && n < 60) {
		argv[n] = o.command[n];
		n++;
	}
	snprintf(number, sizeof(number), "%u", i);
	argv[n++] = (char *)o.stage;
	argv[n++] = number;
	argv[n] = NULL;
	stage->done = 0;
	__atomic_and_fetch(&stage->cut, ~(1u << i), __ATOMIC_SEQ_CST);
	player[i] = fork();
	if (!player[i]) {
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	return await_done(THREADS);
}

/* --- Rounds -------------------------------------------------------------------------------- */

static void call(uint32_t leaving)
{
	stage->leaving = leaving;
	stage->done = 0;
	__atomic_add_fetch(&stage->round, 1, __ATOMIC_SEQ_CST);
	stage_wake(&stage->round);
}

static uint64_t bits_of(unsigned int i)
{
	return player[i] ? ((1ull << THREADS) - 1) << i * THREADS : 0;
}

/* Chooses one call of one thread, or several calls of each thread at the same time. */
static void choose(void)
{
	unsigned int i;

	stage->playing = 0;
	stage->burst = 1;
	if (o.alone || any(2)) {
		stage->playing = 1ull << any(PLAYERS * THREADS);
		return;
	}
	stage->burst = 1 + (uint32_t)any(4);
	for (i = 0; i < PLAYERS; i++)
		stage->playing |= bits_of(i);
}

static bool play_round(void)
{
	choose();
	call(0);
	seen.rounds++;
	if (!await_done(players() * THREADS))
		return false;
	look(true);
	return true;
}

/* Ends a program in order, or kills it between calls or in the middle of some. */
static bool end_player(unsigned int i)
{
	bool kill_it = any(2), amid = kill_it && any(2);
	uint32_t others = (players() - 1) * THREADS;
	pid_t pid = player[i];

	if (!pid)
		return true;
	seen.ends++;
	stage->playing = 0;
	if (amid) {
		choose();
		stage->playing |= bits_of(i);
	}
	if (!kill_it || amid)
		call(kill_it ? 0 : 1u << i);
	if (kill_it)
		kill(pid, SIGKILL);
	player[i] = 0;
	waitpid(pid, NULL, 0);
	if (!amid && kill_it)
		return await_workers();
	/* The program's own threads may have been done before it was killed. */
	if (!await_done(others))
		return false;
	return await_workers();
}

/*
 * Memory that the dead gave back and others took meanwhile may have belonged to both for
 * a moment.
 */
static bool change_player(void)
{
	unsigned int i = (unsigned int)any(PLAYERS);

	if (!end_player(i))
		return false;
	look(false);
	return begin_player(i);
}

/* Programs whose worker has ended have no more calls to make: others take their places. */
static bool replace_cut(void)
{
	unsigned int i;

	for (i = 0; i < PLAYERS; i++) {
		if (!(stage->cut >> i & 1) || !player[i])
			continue;
		kill(player[i], SIGKILL);
		waitpid(player[i], NULL, 0);
		player[i] = 0;
		if (!await_workers() || !begin_player(i))
			return false;
	}
	return true;
}

/* Opens the books that the first worker has made, in a place that may be its tenant's own. */
static bool open_books(void)
{
	char path[512];
	int i;

	for (i = 0; i < WH_TENANT_WORKERS && !books; i++) {
		if (!usage->worker[i].pid)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/root%s", usage->worker[i].pid, o.books);
		books = map_file(path, sizeof(*books), PROT_READ | PROT_WRITE);
		books->failing = FAILING;
	}
	return books;
}

static void play(void)
{
	uint64_t end = now_ms() + o.seconds * 1000ull;
	unsigned int i;
	bool good = true;

	for (i = 0; i < PLAYERS && good; i++)
		good = begin_player(i) && (!o.books || books || open_books());
	/* A find shows again in each later round, so the first one ends the loop. */
	while (good && !seen.found && now_ms() < end)
		good = (any(150) ? play_round() : change_player()) && replace_cut();
	for (i = 0; i < PLAYERS; i++)
		if (player[i]) {
			kill(player[i], SIGKILL);
			waitpid(player[i], NULL, 0);
			player[i] = 0;
		}
	if (good)
		await_workers();
}

/* Was the innermost frame in the driver that is in a file and not of the C library? */
static bool in_driver(const char *frames)
{
	const char *at = strstr(frames, " at ");

	for (at = at ? at + 4 : ""; !strncmp(at, "libc.so", 7) || !strncmp(at, "0x", 2);
	     at += *at == ' ')
		at += strcspn(at, " ");
	return !strncmp(at, "libcuda.so", 10);
}

/* Counts the workers that have crashed, and those of them that did not in the driver. */
static void read_log(void)
{
	char line[2048], *at;
	FILE *f = o.log ? fopen(o.log, "r") : NULL;

	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, ": signal ");
		if (at && !books && in_driver(at))
			seen.astray--;
		if (strstr(line, "killed by signal")) {
			seen.crashed++;
			seen.astray++;
		}
	}
	if (f)
		fclose(f);
}

/* --- Beginning ------------------------------------------------------------------------------ */

static bool parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quota", 1, NULL, 'q' }, { "usage", 1, NULL, 'u' }, { "books", 1, NULL, 'b' },
		{ "nvml", 1, NULL, 'n' }, { "unsaid", 1, NULL, 'x' }, { "seconds", 1, NULL, 't' },
		{ "seed", 1, NULL, 's' }, { "stage", 1, NULL, 'g' }, { "log", 1, NULL, 'l' },
		{ "alone", 0, NULL, 'a' }, { "gaps", 0, NULL, 'G' }, { 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1)
		switch (c) {
		case 'q': o.quota = strtoull(optarg, NULL, 0); break;
		case 'u': o.usage = optarg; break;
		case 'b': o.books = optarg; break;
		case 'n': o.nvml = optarg; break;
		case 'x': o.unsaid = strtoull(optarg, NULL, 0); break;
		case 't': o.seconds = (unsigned int)strtoul(optarg, NULL, 0); break;
		case 's': o.seed = strtoull(optarg, NULL, 0); break;
		case 'l': o.log = optarg; break;
		case 'g': o.stage = optarg; break;
		case 'a': o.alone = true; break;
		case 'G': o.gaps = true; break;
		default: return false;
		}
	o.command = argv + optind;
	return o.usage && o.stage && !o.books != !o.nvml && *o.command;
}

static void prepare(void)
{
	usage = map_file(o.usage, sizeof(*usage), PROT_READ);
	if (o.nvml && !nvml_open(o.nvml)) {
		printf("Bail out! %s is not to be had\n", o.nvml);
		exit(1);
	}
	stage = stage_map(o.stage);
	stage->seed = o.seed;
	stage->most = o.quota * 7 / 12;
	stage->straddling = o.books != NULL;
	random_state = o.seed * 0x9e3779b97f4a7c15ull + 1;
}

static void say(void)
{
	diag("%u calls succeeded, %u for want of memory did not, %u are not there; %u rounds, %u ends",
	     stage->taken, stage->refused, stage->unknown, seen.rounds, seen.ends);
	if (seen.crashed)
		diag("%u workers crashed", seen.crashed);
	diag("at most %.1f MiB of %.1f", (double)seen.most / MIB, (double)o.quota / MIB);
	if (seen.found)
		diag("the finds are of up to %.1f MiB", (double)seen.beyond / MIB);
}

int main(int argc, char **argv)
{
	if (!parse(argc, argv)) {
		fprintf(stderr, "usage: random_tenant --quota BYTES --usage FILE --stage FILE "
			"(--books FILE | --nvml LIBRARY) [--unsaid BYTES] [--log FILE] [--seconds S] [--seed N] "
			"[--alone] [--gaps] -- COMMAND...\n");
		return 2;
	}
	prepare();
	tap_plan(10);
	diag("seed %llu", (unsigned long long)o.seed);
	play();
	read_log();
	ok_eq(seen.dead, 0, "no_program_ends_of_itself");
	ok_eq(seen.stuck, 0, "no_call_hangs_and_no_worker_stays");
	ok(stage->taken > seen.rounds / 2 && stage->refused > 20, "calls_succeed_and_fail_for_want_of_memory");
	ok(seen.most > o.quota / 2, "the_books_have_what_they_took");
	ok_eq(seen.over, 0, "the_tenant_never_has_more_than_its_quota");
	ok_eq(seen.peaks, 0, "nor_has_it_for_the_length_of_a_call");
	ok_eq(seen.uncharged, 0, "nothing_lives_that_is_not_charged");
	ok(!books || (!books->used && !books->lost), "with_the_programs_goes_all_that_they_had");
	ok_eq((long long)(wh_tenant_memory(usage, 0) / MIB), 0, "what_was_charged_goes_with_them");
	ok_eq((int)seen.astray, 0, "no_worker_crashes_but_in_the_driver_of_a_gpu");
	say();
	return tap_exit();
}
