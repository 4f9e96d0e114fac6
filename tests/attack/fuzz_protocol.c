// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that no request which is wrong in one field makes the session or
 * softgpu fail. The client speaks the protocol and sends living handles, existing memory
 * and right sizes, and one field that is something else. The session and softgpu behind
 * it are built with sanitizers, which find the faults. For some seconds processes run one
 * after the other, each with a seed of its own.
 *
 * 	fuzz_protocol [SECONDS [SEED]]	WH_SEED=N: that one process alone
 */
#define _GNU_SOURCE
#include "protocol.h"
#include "random.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS	4000
#define WAIT_S		2	/* a call may wait for ever: no fault */

static uint64_t pick(uint64_t below)
{
	return below ? any(below) : random_next();
}

/* --- Processes -------------------------------------------------------------------------------- */

static struct wh_session *open_over(const char *backend)
{
	void *part = mmap(NULL, PART_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	struct wh_session *made;
	char err[256];

	made = wh_session_open(part, PART_SIZE, WH_MAX_SLOTS, backend, err, sizeof(err));
	if (!made || !protocol_prepare(made)) {
		fprintf(stderr, "%s\n", err);
		_exit(3);
	}
	wh_session_ready(made);
	return made;
}

/*
 * Ends with 0, or with 3 if it could not begin. report[] receives the number of requests,
 * and how many succeeded.
 */
static void run(const char *backend, uint64_t seed, uint32_t *report)
{
	struct wh_session *s;
	uint32_t i;

	alarm(WAIT_S);
	random_state = seed * 0x9e3779b97f4a7c15ULL | 1;
	s = open_over(backend);
	say_hello(s);
	protocol_pick = pick;
	protocol_send = protocol_dispatch;
	if (!protocol_begin(s))
		_exit(3);
	for (i = 0; i < REQUESTS; i++) {
		protocol_step();
		/* A fault of a kernel ends the context for good, so the next process goes on. */
		if (i % 256 == 255 && !protocol_begin(s))
			break;
		report[0] = protocol_sent;
		report[1] = protocol_succeeded;
	}
	_exit(0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:allocator_may_return_null=1:handle_abort=1:max_allocation_size_mb=512";
}

/* Prints the output of the sanitizers after a fault. */
static void tell(int words)
{
	char text[4096];
	ssize_t n;

	lseek(words, 0, SEEK_SET);
	fflush(stdout);
	while ((n = read(words, text, sizeof(text))) > 0 && fwrite(text, 1, n, stderr) == (size_t)n)
		;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 15, end;
	const char *one = getenv("WH_SEED");
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 1000;
	uint64_t bad = 0, all = 0, good = 0, processes = 0, waits = 0;
	char backend[4096], *slash;
	uint32_t *report = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				-1, 0);
	int status, words = memfd_create("words", MFD_CLOEXEC);
	pid_t pid;

	tap_plan(2);
	if (one)
		seed = strtoull(one, NULL, 0);
	snprintf(backend, sizeof(backend) - 32, "%s", argv[0]);
	slash = strrchr(backend, '/');
	strcpy(slash ? slash + 1 : backend, "../../softgpu-san/libcuda.so.1");
	setenv("WORMHOLE_SOFTGPU_MEM", "32M", 1);
	setenv("WORMHOLE_SOFTGPU_THREADS", "1", 1);
	diag("WH_SEED=%llu and on", (unsigned long long)seed);
	for (end = now() + seconds; !bad && (processes == 0 || (!one && now() < end)); seed++) {
		report[0] = report[1] = 0;
		fflush(stdout);
		if (ftruncate(words, 0))
			break;
		pid = fork();
		if (!pid && dup2(words, 2) == 2)
			run(backend, seed, report);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			break;
		processes++;
		all += report[0];
		good += report[1];
		waits += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
		if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)) {
			bad = seed;
			tell(words);
			diag("WH_SEED=%llu: wait status 0x%x after %u requests",
			     (unsigned long long)seed, status, report[0]);
		}
	}
	diag("%llu processes, %llu of them ended waiting; %llu requests, %llu of them succeeded",
	     (unsigned long long)processes, (unsigned long long)waits, (unsigned long long)all,
	     (unsigned long long)good);
	ok(processes && !bad, "requests_with_one_wrong_field_do_no_harm");
	ok(good > all / 5, "and_many_succeed");
	return tap_exit();
}
