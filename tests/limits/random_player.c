// SPDX-License-Identifier: Apache-2.0
/*
 * A program of a tenant, for random_tenant.c. It has four threads that make random calls
 * when the stage says so, and shares memory with the tenant's other programs. It is an
 * ordinary client of the driver API, of which nothing is checked here.
 *
 * 	random_player STAGE NUMBER
 */
#define _GNU_SOURCE
#include "random_stage.h"
#include "random_calls.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <signal.h>
#include <string.h>

#define FILES	CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

static struct stage *stage;
static unsigned int number;
static CUdeviceptr opened[THINGS];
static int kept[BOARD];		/* descriptors of our own on the board */
static pthread_mutex_t board = PTHREAD_MUTEX_INITIALIZER;

/* --- Memory of the tenant's other programs ------------------------------------------- */

static CUresult give_memory(void)
{
	CUipcMemHandle h;
	CUresult res = cuIpcGetMemHandle(&h, t.plain[slot()]);

	/* Another program may write at the same time; the handle is then a wrong one. */
	if (!res)
		stage->board[any(BOARD)].memory = h;
	return res;
}

static CUresult open_memory(void)
{
	return cuIpcOpenMemHandle(&opened[free_slot(opened)], stage->board[any(BOARD)].memory,
				  CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static CUresult close_memory(void)
{
	return cuIpcCloseMemHandle(take(opened));
}

static CUresult give_file(void)
{
	unsigned int i = (unsigned int)any(BOARD);
	int fd = -1;
	CUresult res = cuMemExportToShareableHandle(&fd, t.physical[slot()], FILES, 0);

	if (res)
		return res;
	pthread_mutex_lock(&board);
	if (kept[i])
		close(kept[i]);
	kept[i] = fd;
	stage->board[i].pid = (uint32_t)getpid();
	stage->board[i].fd = fd;
	pthread_mutex_unlock(&board);
	return CUDA_SUCCESS;
}

static CUresult take_file(void)
{
	unsigned int i = (unsigned int)any(BOARD);
	char path[64];
	CUresult res;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", stage->board[i].pid, stage->board[i].fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return CUDA_SUCCESS;
	res = cuMemImportFromShareableHandle(&t.physical[free_slot(t.physical)],
					     (void *)(intptr_t)fd, FILES);
	close(fd);
	return res;
}

static const struct call shared_calls[] = {
	{ "cuIpcGetMemHandle", give_memory, false }, { "cuIpcOpenMemHandle", open_memory, false },
	{ "cuIpcCloseMemHandle", close_memory, false },
	{ "cuMemExportToShareableHandle", give_file, false },
	{ "cuMemImportFromShareableHandle", take_file, false },
};
#define SHARED_CALLS	(sizeof(shared_calls) / sizeof(*shared_calls))

/* --- Rounds --------------------------------------------------------------------------- */

/* Says a call before it is made, for it may be the last one. */
static void say_call(const char *name)
{
	char *said = stage->said[number * THREADS + thread];
	size_t n = strlen(said);

	snprintf(said + n, sizeof(*stage->said) - n, "%s%s", n ? ", " : "", name);
}

static void say_result(CUresult res)
{
	char *said = stage->said[number * THREADS + thread];
	size_t n = strlen(said);

	if (res)
		snprintf(said + n, sizeof(*stage->said) - n, " (%d)", (int)res);
}

static void step(void)
{
	uint64_t n = any(CALLS + SHARED_CALLS);
	const struct call *c = n < CALLS ? &calls[n] : &shared_calls[n - CALLS];
	CUresult res;

	say_call(c->name);
	res = c->fn();
	say_result(res);
	if (res == CUDA_SUCCESS)
		__atomic_fetch_add(&stage->taken, 1, __ATOMIC_RELAXED);
	else if (res == CUDA_ERROR_OUT_OF_MEMORY)
		__atomic_fetch_add(&stage->refused, 1, __ATOMIC_RELAXED);
	else if (res == CUDA_ERROR_DEVICE_UNAVAILABLE)
		__atomic_fetch_or(&stage->cut, 1u << number, __ATOMIC_SEQ_CST);
	else if (res == CUDA_ERROR_NOT_SUPPORTED || res == CUDA_ERROR_UNKNOWN)
		__atomic_fetch_add(&stage->unknown, 1, __ATOMIC_RELAXED);
}

static void done(void)
{
	__atomic_fetch_add(&stage->done, 1, __ATOMIC_SEQ_CST);
	stage_wake(&stage->done);
}

static void *play(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg, i;
	uint64_t bit = 1ull << (number * THREADS + me);
	uint32_t seen = __atomic_load_n(&stage->round, __ATOMIC_SEQ_CST), now;

	begin(me, stage->seed + seen * 64ull + number * THREADS + me);
	done();
	for (;;) {
		while ((now = __atomic_load_n(&stage->round, __ATOMIC_SEQ_CST)) == seen)
			stage_wait(&stage->round, seen, 1000);
		seen = now;
		if (stage->leaving & 1u << number)
			return NULL;
		if (stage->playing & bit)
			stage->said[number * THREADS + me][0] = '\0';
		for (i = 0; stage->playing & bit && i < stage->burst; i++)
			step();
		done();
	}
}

int main(int argc, char **argv)
{
	pthread_t p[THREADS];
	uintptr_t i;

	if (argc != 3) {
		fprintf(stderr, "usage: random_player STAGE NUMBER\n");
		return 2;
	}
	/* Without the process that gives the rounds there is nothing to do. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stage = stage_map(argv[1]);
	number = (unsigned int)atoi(argv[2]) % PLAYERS;
	sizes.most = stage->most;
	sizes.straddling = stage->straddling;
	if (cuInit(0)) {
		fprintf(stderr, "random_player: cuInit() failed\n");
		return 1;
	}
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&p[i], NULL, play, (void *)i))
			return 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(p[i], NULL);
	return 0;
}
