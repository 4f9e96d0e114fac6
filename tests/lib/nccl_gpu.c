// SPDX-License-Identifier: Apache-2.0
/*
 * NCCL on the devices that exist, two at most: one rank, all ranks in one thread, a
 * thread for each, a process for each. It prints one line of values for each way, which
 * must be the same natively and forwarded.
 */
#include <cuda.h>
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT	1000
#define MOST	2

static int devices;
static const char *way;

#define MUST(call) must((int)(call), #call)

static void must(int res, const char *what)
{
	if (!res)
		return;
	printf("%s: %s: %d\n", way, what, res);
	fflush(stdout);
	_exit(1);
}

/* --- A rank's memory --------------------------------------------------------------------- */

struct rank {
	CUcontext ctx;
	CUstream stream;
	CUdeviceptr in, out;
	ncclComm_t comm;
	ncclUniqueId id;
	int number, ranks;
	pthread_t thread;
};

static void enter(const struct rank *r)
{
	MUST(cuCtxSetCurrent(r->ctx));
}

static void prepare(struct rank *r, int number, int ranks)
{
	float values[COUNT];
	CUdevice dev;
	int i;

	r->number = number;
	r->ranks = ranks;
	MUST(cuDeviceGet(&dev, number % devices));
	MUST(cuDevicePrimaryCtxRetain(&r->ctx, dev));
	enter(r);
	MUST(cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING));
	MUST(cuMemAlloc(&r->in, sizeof(values)));
	MUST(cuMemAlloc(&r->out, MOST * sizeof(values)));
	for (i = 0; i < COUNT; i++)
		values[i] = (float)(i % 13 + 100 * number);
	MUST(cuMemcpyHtoD(r->in, values, sizeof(values)));
	MUST(cuMemsetD8(r->out, 0, MOST * sizeof(values)));
}

static double sum(const struct rank *r)
{
	float values[MOST * COUNT];
	double s = 0;
	int i;

	enter(r);
	MUST(cuStreamSynchronize(r->stream));
	MUST(cuMemcpyDtoH(values, r->out, sizeof(values)));
	for (i = 0; i < MOST * COUNT; i++)
		s += values[i] * (i + 1);
	return s;
}

static void all_reduce(struct rank *r)
{
	MUST(ncclAllReduce((void *)r->in, (void *)r->out, COUNT, ncclFloat32, ncclSum, r->comm,
			   r->stream));
}

static void all_gather(struct rank *r)
{
	MUST(ncclAllGather((void *)r->in, (void *)r->out, COUNT, ncclFloat32, r->comm, r->stream));
}

static void ring(struct rank *r)
{
	int next = (r->number + 1) % r->ranks, last = (r->number + r->ranks - 1) % r->ranks;

	MUST(ncclSend((void *)r->in, COUNT, ncclFloat32, next, r->comm, r->stream));
	MUST(ncclRecv((void *)r->out, COUNT, ncclFloat32, last, r->comm, r->stream));
}

/* --- The four ways ------------------------------------------------------------------------- */

static void one_rank(void)
{
	struct rank r;
	int count, rank;

	way = "one_rank";
	prepare(&r, 0, 1);
	MUST(ncclGetUniqueId(&r.id));
	MUST(ncclCommInitRank(&r.comm, 1, r.id, 0));
	MUST(ncclCommCount(r.comm, &count));
	MUST(ncclCommUserRank(r.comm, &rank));
	all_reduce(&r);
	printf("%s %d %d %.0f\n", way, count, rank, sum(&r));
	MUST(ncclCommDestroy(r.comm));
}

static void together(struct rank *r, void (*what)(struct rank *r), const char *name)
{
	int i;

	MUST(ncclGroupStart());
	for (i = 0; i < devices; i++)
		what(&r[i]);
	MUST(ncclGroupEnd());
	printf("%s %s", way, name);
	for (i = 0; i < devices; i++)
		printf(" %.0f", sum(&r[i]));
	putchar('\n');
}

static void one_thread(void)
{
	struct rank r[MOST];
	ncclComm_t comm[MOST], half[MOST];
	int i, n;

	way = "one_thread";
	for (i = 0; i < devices; i++)
		prepare(&r[i], i, devices);
	MUST(ncclCommInitAll(comm, devices, NULL));
	for (i = 0; i < devices; i++)
		r[i].comm = comm[i];
	together(r, all_reduce, "all_reduce");
	together(r, all_gather, "all_gather");
	together(r, ring, "ring");
	MUST(ncclGroupStart());
	for (i = 0; i < devices; i++)
		MUST(ncclCommSplit(comm[i], i, 0, &half[i], NULL));
	MUST(ncclGroupEnd());
	for (i = 0; i < devices; i++) {
		MUST(ncclCommCount(half[i], &n));
		printf("%s split %d %d\n", way, i, n);
		MUST(ncclCommDestroy(half[i]));
		MUST(ncclCommDestroy(comm[i]));
	}
}

static void *thread(void *arg)
{
	struct rank *r = arg;

	enter(r);
	MUST(ncclCommInitRank(&r->comm, r->ranks, r->id, r->number));
	all_reduce(r);
	MUST(cuStreamSynchronize(r->stream));
	MUST(ncclCommDestroy(r->comm));
	return NULL;
}

static void threads(void)
{
	struct rank r[MOST];
	ncclUniqueId id;
	int i;

	way = "threads";
	MUST(ncclGetUniqueId(&id));
	for (i = 0; i < devices; i++) {
		prepare(&r[i], i, devices);
		r[i].id = id;
		MUST(pthread_create(&r[i].thread, NULL, thread, &r[i]));
	}
	for (i = 0; i < devices; i++)
		MUST(pthread_join(r[i].thread, NULL));
	printf("%s", way);
	for (i = 0; i < devices; i++)
		printf(" %.0f", sum(&r[i]));
	putchar('\n');
}

/* Runs a rank in a process of its own, which had no CUDA before. */
static double of_process(int number, int ranks, const ncclUniqueId *id)
{
	struct rank r;
	double s;

	prepare(&r, number, ranks);
	MUST(ncclCommInitRank(&r.comm, ranks, *id, number));
	all_reduce(&r);
	s = sum(&r);
	MUST(ncclCommDestroy(r.comm));
	return s;
}

/*
 * Runs a process for each rank. The first one makes the id, and tells the others its
 * number of devices.
 */
static int processes(void)
{
	int words[2], status = 0;
	ncclUniqueId id;
	double s;
	pid_t pid;

	way = "processes";
	if (pipe(words))
		return 1;
	pid = fork();
	MUST(cuInit(0));
	MUST(cuDeviceGetCount(&devices));
	if (devices < MOST)
		return pid ? (printf("%s one device\n", way), waitpid(pid, NULL, 0), 0) : 0;
	devices = MOST;
	if (!pid) {
		if (read(words[0], &id, sizeof(id)) != sizeof(id))
			return 1;
		s = of_process(1, MOST, &id);
		return printf("%s 1 %.0f\n", way, s) < 0;
	}
	MUST(ncclGetUniqueId(&id));
	if (write(words[1], &id, sizeof(id)) != sizeof(id))
		return 1;
	s = of_process(0, MOST, &id);
	waitpid(pid, &status, 0);
	printf("%s 0 %.0f\n", way, s);
	return status != 0;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return processes();
	way = "start";
	MUST(cuInit(0));
	MUST(cuDeviceGetCount(&devices));
	devices = devices < MOST ? devices : MOST;
	one_rank();
	one_thread();
	threads();
	return 0;
}
