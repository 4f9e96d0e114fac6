// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a process for each input: none finds what another one left, and a call that never
 * returns costs no more than its process. The compiler's counters of executed code lie in
 * memory that the processes share, so that the fuzzer sees what the child did.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS	200

extern uint8_t __start___sancov_cntrs[], __stop___sancov_cntrs[];

static uint8_t *shared_from, *shared_to;	/* whole pages of them */
static uint8_t *edges;				/* data around them, from a child to us */

/* The first and the last page also hold other data, which stays each process's own. */
void fuzz_share_counters(void)
{
	uintptr_t page = sysconf(_SC_PAGESIZE);
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_ANONYMOUS;

	shared_from = (void *)(((uintptr_t)__start___sancov_cntrs + page - 1) & ~(page - 1));
	shared_to = (void *)((uintptr_t)__stop___sancov_cntrs & ~(page - 1));
	edges = mmap(NULL, 2 * page, prot, flags, -1, 0);
	if (shared_from < shared_to && edges != MAP_FAILED &&
	    mmap(shared_from, shared_to - shared_from, prot, flags | MAP_FIXED, -1, 0) !=
	    MAP_FAILED)
		return;
	fprintf(stderr, "error: no counters to share\n");
	exit(1);
}

static void copy_edges(bool to_parent)
{
	size_t before = shared_from - __start___sancov_cntrs;
	size_t behind = __stop___sancov_cntrs - shared_to;

	memcpy(to_parent ? edges : __start___sancov_cntrs,
	       to_parent ? __start___sancov_cntrs : edges, before);
	memcpy(to_parent ? edges + before : shared_to,
	       to_parent ? shared_to : edges + before, behind);
}

static void limit_time(void)
{
	struct itimerval t = { .it_value = { .tv_usec = WAIT_MS * 1000 } };
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

void fuzz_in_process(void (*fn)(struct fuzz_input *in), const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	int status = 0;
	/*
	 * _Fork() calls no handlers for a fork: by these softgpu would mark the child as one that
	 * may not use it.
	 */
	pid_t pid = _Fork();

	if (!pid) {
		limit_time();
		fn(&in);
		copy_edges(true);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && !status)
		copy_edges(false);
	if (pid > 0 && (!status || (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)))
		return;
	if (pid < 0)
		perror("fork");
	else
		fprintf(stderr, "the process of this input ended with wait status %#x\n", status);
	abort();
}

/* Leaks are not reported, because what was made once is never given back. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=512";
}
