// SPDX-License-Identifier: Apache-2.0
/*
 * Measures how calls scale: client processes with several threads each copy 4 KB to the
 * device and wait for it, during WH_BENCH_MS (200). They use the libcuda.so.1 that the
 * loader finds. Prints on stdout:
 *
 *	scale PROCESSES THREADS CALLS/S START-MS CLIENT-KIB SERVER-KIB
 *
 * START-MS is the time from the first fork until every process has made its first call.
 * Memory is what a process holds then (Pss: shared memory counts once), as the mean of all
 * processes. SERVER-KIB counts the processes below WH_SERVER_PID, per client; it is 0
 * without one.
 *
 * usage: scale PROCESSES THREADS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "launch.h"

#define MAX_PROCESSES	64
#define MAX_THREADS	64
#define BYTES		4096

/* Shared by all processes. */
static struct {
	uint64_t end;		/* in time of CLOCK_MONOTONIC */
	uint64_t calls;
} *shared;

static CUcontext context;
static CUdeviceptr device;
static unsigned int nthreads;
static int ready[2], go[2];

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

/* --- A client ---------------------------------------------------------------------- */

static void *copies(void *unused)
{
	char host[BYTES];
	uint64_t n = 0;

	memset(host, 42, sizeof(host));
	cuda_must("cuCtxSetCurrent", cuda.set_current(context));
	do {
		cuda_must("cuMemcpyHtoD", cuda.to_device(device, host, BYTES));
		n++;
	} while (bench_ns() < __atomic_load_n(&shared->end, __ATOMIC_RELAXED));
	__atomic_fetch_add(&shared->calls, n, __ATOMIC_RELAXED);
	return unused;
}

static void client(void)
{
	char host[BYTES] = "", word = 1;
	pthread_t thread[MAX_THREADS];
	unsigned int i;

	cuda_start();
	cuda_must("cuDevicePrimaryCtxRetain", cuda.retain(&context, 0));
	cuda_must("cuMemAlloc", cuda.alloc(&device, BYTES));
	cuda_must("cuMemcpyHtoD", cuda.to_device(device, host, BYTES));
	must(write(ready[1], &word, 1) == 1 && read(go[0], &word, 1) == 1, "the parent");
	for (i = 0; i < nthreads; i++)
		must(!pthread_create(&thread[i], NULL, copies, NULL), "pthread_create");
	for (i = 0; i < nthreads; i++)
		pthread_join(thread[i], NULL);
	exit(0);
}

/* --- Memory -------------------------------------------------------------------------- */

static unsigned long pss_kib(pid_t pid)
{
	char path[64], line[256];
	unsigned long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Pss: %lu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* Returns the memory of all processes below one process. */
static unsigned long children_kib(pid_t pid)
{
	char path[64];
	unsigned long kib = 0;
	pid_t child;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "r");
	while (f && fscanf(f, "%d", &child) == 1)
		kib += pss_kib(child) + children_kib(child);
	if (f)
		fclose(f);
	return kib;
}

/* --- All of them ----------------------------------------------------------------------- */

static void start(pid_t *pid)
{
	*pid = fork();
	must(*pid >= 0, "fork");
	if (*pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(ready[0]);
	close(go[1]);
	client();
}

static void all_ready(unsigned int n)
{
	char word;

	close(ready[1]);	/* so that the end of a failed process is noticed */
	while (n--)
		must(read(ready[0], &word, 1) == 1, "a client");
}

static int ended(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && !status;
}

static int run(unsigned int n)
{
	const char *server = getenv("WH_SERVER_PID"), *ms = getenv("WH_BENCH_MS");
	uint64_t length = (ms ? strtoull(ms, NULL, 10) : 200) * 1000000, t = bench_ns();
	unsigned long client_kib = 0, server_kib = 0;
	pid_t pid[MAX_PROCESSES];
	char words[MAX_PROCESSES];
	unsigned int i;
	int good = 1;

	for (i = 0; i < n; i++)
		start(&pid[i]);
	all_ready(n);
	t = bench_ns() - t;
	for (i = 0; i < n; i++)
		client_kib += pss_kib(pid[i]);
	if (server)
		server_kib = children_kib(atoi(server));
	shared->end = bench_ns() + length;
	memset(words, 1, sizeof(words));
	must(write(go[1], words, n) == (ssize_t)n, "go");
	for (i = 0; i < n; i++)
		good &= ended(pid[i]);
	printf("scale %u %u %.0f %.3f %lu %lu\n", n, nthreads, (double)shared->calls * 1e9 / length,
	       t / 1e6, client_kib / n, server_kib / n);
	return !good;
}

int main(int argc, char **argv)
{
	unsigned int n = argc == 3 ? (unsigned int)atoi(argv[1]) : 0;

	nthreads = argc == 3 ? (unsigned int)atoi(argv[2]) : 0;
	if (n < 1 || n > MAX_PROCESSES || nthreads < 1 || nthreads > MAX_THREADS) {
		fprintf(stderr, "usage: scale PROCESSES THREADS, 1 to 64 of each\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_SHARED,
		      -1, 0);
	must(shared != MAP_FAILED && !pipe(ready) && !pipe(go), "pipe");
	return run(n);
}
