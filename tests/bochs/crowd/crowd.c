// SPDX-License-Identifier: Apache-2.0
/*
 * `crowd PROCESSES THREADS` starts as many processes, each with a worker of its own, and
 * as many threads in each, each with a stream. It says:
 *
 *   attached N of ALL	N threads have had a right result
 *   together ROUND N EARLIEST LATEST GAP	N calls, one of each process, slept in the server
 * 			until the same time; how late they went on there, and how long
 * 			after one another at most, in us. Once a line is typed,
 * 			each of ROUNDS rounds runs.
 *   all N		the same for all threads, once a line is typed.
 *
 * The backend is syscalls.c.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "client.h"

#define CROWD_S		600
#define MOST		64
#define SIZE		4096
#define ROUNDS	3
#define AHEAD_MS	6000	/* from the begin of the sleep to its end */

/* The backend's meanings of CUDA's limits. */
enum {
	SERVER_TIME = CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH,
	LATE = CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
};

struct crowd {
	pthread_barrier_t step;		/* of all threads; of the first process */
	unsigned int until;		/* ms of the server's clock */
	int right, together, all;	/* calls */
	size_t late_us[MOST];		/* of the first thread of each process */
};

static struct crowd *crowd;
static int processes, threads, me;	/* me: number of this process */
static CUcontext ctx;

static void step(void)
{
	pthread_barrier_wait(&crowd->step);
}

static CUresult round_trip(int thread, CUstream stream)
{
	unsigned char out[SIZE], in[SIZE];
	CUdeviceptr p;
	CUresult res = cuMemAlloc(&p, SIZE);

	memset(out, me * 4 + thread, sizeof(out));
	memset(in, 0, sizeof(in));
	if (res == CUDA_SUCCESS)
		res = cuMemcpyHtoDAsync(p, out, sizeof(out), stream);
	if (res == CUDA_SUCCESS)
		res = cuMemcpyDtoHAsync(in, p, sizeof(in), stream);
	if (res == CUDA_SUCCESS)
		res = cuStreamSynchronize(stream);
	if (res == CUDA_SUCCESS)
		res = cuMemFree(p);
	if (res == CUDA_SUCCESS && memcmp(in, out, sizeof(in)))
		res = CUDA_ERROR_UNKNOWN;
	return res;
}

/* Chooses the time until which the calls sleep. */
static void choose_time(void)
{
	size_t ms;

	CU(cuCtxGetLimit(&ms, (CUlimit)SERVER_TIME));
	crowd->until = (unsigned int)ms + AHEAD_MS;
}

static int sleeps_in_server(CUdeviceptr p, CUstream stream)
{
	return cuMemsetD32Async(p, crowd->until, 1, stream) == CUDA_SUCCESS;
}

static void count(int *n, int add)
{
	__atomic_fetch_add(n, add, __ATOMIC_SEQ_CST);
}

static void *thread_main(void *number)
{
	int t = (int)(intptr_t)number;
	bool first = !me && !t;
	int round;
	CUstream stream;
	CUdeviceptr p;

	CU(cuCtxSetCurrent(ctx));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&p, SIZE));
	count(&crowd->right, round_trip(t, stream) == CUDA_SUCCESS);
	step();		/* attached */
	for (round = 0; round < ROUNDS; round++) {
		step();		/* go */
		if (first)
			choose_time();
		step();
		if (!t) {
			count(&crowd->together, sleeps_in_server(p, stream));
			CU(cuCtxGetLimit(&crowd->late_us[me], (CUlimit)LATE));
		}
		step();		/* together */
	}
	step();		/* go */
	if (first)
		choose_time();
	step();
	count(&crowd->all, sleeps_in_server(p, stream));
	step();		/* all */
	return NULL;
}

static void child(void)
{
	pthread_t thread[MOST];
	int t;

	start();
	alarm(CROWD_S);
	CU(cuCtxGetCurrent(&ctx));
	for (t = 0; t < threads; t++)
		if (pthread_create(&thread[t], NULL, thread_main, (void *)(intptr_t)t))
			exit(4);
	for (t = 0; t < threads; t++)
		pthread_join(thread[t], NULL);
	exit(0);
}

static int by_size(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

/* Prints "together": how late the calls went on, and the longest time from one to the next. */
static void say_together(int round)
{
	size_t gap = 0, *late = crowd->late_us;
	int i;

	qsort(late, (size_t)processes, sizeof(*late), by_size);
	for (i = 1; i < processes; i++)
		if (late[i] - late[i - 1] > gap)
			gap = late[i] - late[i - 1];
	printf("together %d %d %zu %zu %zu\n", round, crowd->together, late[0],
	       late[processes - 1], gap);
	fflush(stdout);
	crowd->together = 0;
}

static void await_line(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		exit(4);
}

static void lead(void)
{
	int round;

	step();
	printf("attached %d of %d\n", crowd->right, processes * threads);
	fflush(stdout);
	for (round = 1; round <= ROUNDS; round++) {
		await_line();
		step();
		step();
		step();
		say_together(round);
	}
	await_line();
	step();
	step();
	step();
	printf("all %d\n", crowd->all);
	fflush(stdout);
}

/* Reaps the processes. One that ends early leaves the others at a step until their alarm. */
static int reap(void)
{
	int status, failed = 0;

	while (wait(&status) > 0)
		failed += status != 0;
	return failed;
}

static void create(void)
{
	pthread_barrierattr_t attr;

	crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (crowd == MAP_FAILED)
		exit(4);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&crowd->step, &attr, (unsigned int)(processes * threads) + 1);
}

int main(int argc, char **argv)
{
	processes = argc > 1 ? atoi(argv[1]) : 0;
	threads = argc > 2 ? atoi(argv[2]) : 0;
	if (processes < 1 || processes > MOST || threads < 1 || threads > MOST) {
		fprintf(stderr, "usage: crowd PROCESSES THREADS, 1 to %d each\n", MOST);
		return 2;
	}
	create();
	alarm(CROWD_S);
	for (me = 0; me < processes; me++)
		if (!fork())
			child();
	lead();
	return reap() ? 3 : 0;
}
