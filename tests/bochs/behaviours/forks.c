// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a process which uses CUDA can fork. KVM knows the parent by its
 * page tables, which the child does not have, so the child can only attach to another
 * worker. The parent keeps its own worker.
 */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "../../tap.h"
#include "client.h"

#define SIZE	(64 << 10)
#define SPIN_MS	10

static CUdeviceptr kept;
static struct spin spin;
static uint64_t per_ms;
static uint8_t bytes[SIZE], got[SIZE];

static int computes(uint64_t seed)
{
	return !spin_run(&spin, per_ms * SPIN_MS, seed) && spin_is_right(&spin);
}

static int keeps(void)
{
	memset(got, 0, SIZE);
	return !cuMemcpyDtoH(got, kept, SIZE) && !memcmp(got, bytes, SIZE);
}

static pid_t launch(int (*body)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(LIFE_S);
		exit(body());
	}
	return pid;
}

static int ended(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ?
	       WEXITSTATUS(status) : -1;
}

static int nothing(void)
{
	return 0;
}

static int without_init(void)
{
	return cuMemcpyDtoH(got, kept, SIZE) != CUDA_ERROR_NOT_INITIALIZED;
}

static int works(void)
{
	CUdeviceptr theirs = kept;
	int i;

	start();
	if (cuMemcpyDtoH(got, theirs, SIZE) != CUDA_ERROR_INVALID_VALUE)
		return 1;
	spin_load(&spin);
	for (i = 0; i < 3; i++)
		if (!computes(100 + i))
			return 2;
	return 0;
}

int main(void)
{
	pid_t pid;
	int i, good = 1;

	tap_plan(6);
	per_ms = clocks_per_ms();
	start();
	spin_load(&spin);
	CU(cuMemAlloc(&kept, SIZE));
	for (i = 0; i < SIZE; i++)
		bytes[i] = i * 7 + (i >> 8);
	CU(cuMemcpyHtoD(kept, bytes, SIZE));
	ok(computes(1), "parent_computes");
	ok_eq(ended(launch(nothing)), 0, "child_that_makes_no_call_exits");
	ok(computes(2) && keeps(), "and_its_parent_keeps_its_pair");
	ok_eq(ended(launch(without_init)), 0, "child_is_not_initialised_until_it_says_so");
	pid = launch(works);
	for (i = 0; i < 3; i++)
		good &= computes(10 + i);
	ok_eq(ended(pid), 0, "child_computes_in_a_pair_of_its_own");
	ok(good && computes(3) && keeps(), "while_its_parent_goes_on_and_afterwards");
	return tap_exit();
}
