// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that two client processes at the same time, each with a worker of its
 * own, are separate. Both compute, neither can read what the other has on the device, and
 * a third process afterwards finds nothing that they left behind.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../../tap.h"
#include "client.h"

#define SIZE		(256 << 10)
#define SPIN_MS		30
#define WORD(who, i)	(0x5e62e70000000000ULL + ((uint64_t)(who) << 32) + (i))
#define OTHERS(who)	(0x5e62e700ULL + (uint64_t)(who))

enum { DATA_KEPT, DEVICE_CLEAN, PINNED_CLEAN, OTHER_CLOSED, COMPUTED, CHECKS };

static struct shared {
	pthread_barrier_t step;
	volatile uint64_t address[3];
	volatile CUresult read_other[2];
	int good[3][CHECKS];
} *sh;
static uint64_t mine[SIZE / 8], got[SIZE / 8];

/* Counts the words that anybody but `who` wrote. */
static size_t foreign(const uint64_t *p, int who)
{
	size_t i, n = 0;

	for (i = 0; i < SIZE / 8; i++)
		n += p[i] >> 40 == 0x5e62e7 && p[i] >> 32 != OTHERS(who);
	return n;
}

static void meet(int who)
{
	if (who < 2)
		pthread_barrier_wait(&sh->step);
}

/* Tries to copy from the other process's device address, which the driver must refuse. */
static void read_other(int who, int *good)
{
	memset(got, 0, SIZE);
	sh->read_other[who] = cuMemcpyDtoH(got, sh->address[!who], SIZE);
	good[OTHER_CLOSED] = sh->read_other[who] == CUDA_ERROR_INVALID_VALUE && !foreign(got, who);
}

static void client(int who)
{
	uint64_t *pinned, per_ms = clocks_per_ms();
	int *good = sh->good[who];
	struct spin s;
	CUdeviceptr p;
	size_t i;

	start();
	spin_load(&s);
	CU(cuMemAlloc(&p, SIZE));
	CU(cuMemAllocHost((void **)&pinned, SIZE));
	sh->address[who] = p;
	CU(cuMemcpyDtoH(got, p, SIZE));
	good[DEVICE_CLEAN] = !foreign(got, who);
	good[PINNED_CLEAN] = !foreign(pinned, who);
	meet(who);
	for (i = 0; i < SIZE / 8; i++)
		mine[i] = pinned[i] = WORD(who, i);
	CU(cuMemcpyHtoD(p, mine, SIZE));
	meet(who);
	if (who < 2)
		read_other(who, good);
	meet(who);
	good[COMPUTED] = !spin_run(&s, per_ms * SPIN_MS, 100 + who) && spin_is_right(&s);
	meet(who);
	CU(cuMemcpyDtoH(got, p, SIZE));
	good[DATA_KEPT] = !memcmp(got, mine, SIZE) && !memcmp(pinned, mine, SIZE);
	meet(who);
}

/* Forks a process that has not started CUDA; the parent never starts it. */
static pid_t launch(int who)
{
	pid_t pid = fork();

	if (!pid) {
		client(who);
		exit(0);
	}
	return pid;
}

static int ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && status == 0;
}

static int both(int what)
{
	return sh->good[0][what] && sh->good[1][what];
}

int main(void)
{
	pthread_barrierattr_t attr;
	pid_t a, b;
	int good;

	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&sh->step, &attr, 2);

	tap_plan(6);
	a = launch(0);
	b = launch(1);
	good = ended_well(a);
	good &= ended_well(b);
	ok(good, "two_processes_are_clients_at_the_same_time");
	diag("device memory at 0x%llx and 0x%llx; reading the other's: %d and %d",
	     (unsigned long long)sh->address[0], (unsigned long long)sh->address[1],
	     sh->read_other[0], sh->read_other[1]);
	ok(both(COMPUTED), "their_kernels_run_side_by_side");
	ok(both(DATA_KEPT), "each_keeps_its_own_data");
	ok(both(OTHER_CLOSED), "neither_can_read_the_device_memory_of_the_other");
	ok(ended_well(launch(2)) && sh->good[2][DEVICE_CLEAN] && sh->good[2][DATA_KEPT],
	   "the_next_client_finds_none_of_their_device_memory");
	ok(sh->good[2][PINNED_CLEAN], "nor_of_their_pinned_memory");
	return tap_exit();
}
