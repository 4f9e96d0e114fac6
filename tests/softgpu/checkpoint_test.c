// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a process can lock, checkpoint, restore and unlock another one by its
 * number, as cuda.h documents it. A child computes; the parent acts on it.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../softgpu/driver/books.h"
#include "tap.h"

#define SIZE	(3u << 20)
#define VMM_SIZE	(2u << 20)

static int to_child[2], from_child[2];
static pid_t child;
static struct sgpu_books *books;
static long long victim_bytes;

/* ---- the child: does one thing for each letter, and answers with one ---- */

static CUdeviceptr plain, small, managed, mapped;
static unsigned char buf[SIZE];
static CUcontext ctx;
static int gate[2];

static bool make_mapped(void)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location.type = CU_MEM_LOCATION_TYPE_DEVICE };
	CUmemAccessDesc access = { .location.type = CU_MEM_LOCATION_TYPE_DEVICE,
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle h;

	return !cuMemCreate(&h, VMM_SIZE, &prop, 0) &&
	       !cuMemAddressReserve(&mapped, VMM_SIZE, 0, 0, 0) &&
	       !cuMemMap(mapped, VMM_SIZE, 0, h, 0) &&
	       !cuMemSetAccess(mapped, VMM_SIZE, &access, 1) && !cuMemRelease(h);
}

static bool begin(void)
{
	size_t i;

	for (i = 0; i < SIZE; i++)
		buf[i] = (unsigned char)(i * 31 + i / 256);
	return !cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx) &&
	       !cuMemAlloc(&plain, SIZE) && !cuMemAlloc(&small, 700) &&
	       !cuMemAllocManaged(&managed, 5000, CU_MEM_ATTACH_GLOBAL) && make_mapped() &&
	       !cuMemcpyHtoD(plain, buf, SIZE) && !cuMemcpyHtoD(small, buf + 11, 700) &&
	       !cuMemcpyHtoD(managed, buf + 22, 5000) && !cuMemcpyHtoD(mapped, buf + 33, VMM_SIZE);
}

static bool same(CUdeviceptr p, size_t from, size_t n)
{
	static unsigned char got[SIZE];

	return !cuMemcpyDtoH(got, p, n) && !memcmp(got, buf + from, n);
}

static bool all_same(void)
{
	return same(plain, 0, SIZE) && same(small, 11, 700) && same(managed, 22, 5000) &&
	       same(mapped, 33, VMM_SIZE);
}

static void CUDA_CB wait_at_the_gate(void *arg)
{
	char c;

	(void)arg;
	if (write(from_child[1], "h", 1) != 1 || read(gate[0], &c, 1) != 1)
		_exit(9);
}

static bool export_it(void)
{
	CUipcMemHandle h;

	return !cuIpcGetMemHandle(&h, plain);
}

static bool self_checkpoint(void)
{
	pid_t me = getpid();

	return !cuCheckpointProcessLock(me, NULL) && !cuCheckpointProcessCheckpoint(me, NULL) &&
	       !cuCheckpointProcessRestore(me, NULL) && !cuCheckpointProcessUnlock(me, NULL) &&
	       all_same();
}

static void run_child(void)
{
	bool good;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(to_child[0], &c, 1) == 1) {
		switch (c) {
		case 'b': good = begin(); break;
		case 'v': good = all_same(); break;
		case 'f':
			good = !cuLaunchHostFunc(NULL, wait_at_the_gate, NULL) &&
			       !cuCtxSynchronize();
			break;
		case 's': good = self_checkpoint(); break;
		case 'x': good = export_it(); break;
		default: good = false;
		}
		if (write(from_child[1], good ? "y" : "n", 1) != 1)
			break;
	}
	_exit(0);
}

/* ---- the parent ---- */

static void tell(char c)
{
	if (write(to_child[1], &c, 1) != 1)
		exit(1);
}

static char hear(void)
{
	char c = 0;

	return read(from_child[0], &c, 1) == 1 ? c : 0;
}

static bool silent(void)
{
	struct pollfd p = { .fd = from_child[0], .events = POLLIN };

	return !poll(&p, 1, 0);
}

/* Waits until the child's first thread sleeps in a futex, so in a call that waits for a lock. */
static void await_blocked(void)
{
	char path[64], text[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", child);
	do {
		sched_yield();
		f = fopen(path, "r");
		if (!f || !fgets(text, sizeof(text), f))
			*text = 0;
		if (f)
			fclose(f);
	} while (strncmp(text, "202 ", 4));
}

static int state(void)
{
	CUprocessState s = 77;
	CUresult rc = cuCheckpointProcessGetState(child, &s);

	return rc ? 1000 + (int)rc : (int)s;
}

static void test_wrong_states(void)
{
	ok_eq(state(), CU_PROCESS_STATE_RUNNING, "a_process_that_has_started_is_running");
	ok(cuCheckpointProcessCheckpoint(child, NULL) == CUDA_ERROR_ILLEGAL_STATE &&
	   cuCheckpointProcessRestore(child, NULL) == CUDA_ERROR_ILLEGAL_STATE &&
	   cuCheckpointProcessUnlock(child, NULL) == CUDA_ERROR_ILLEGAL_STATE,
	   "a_running_process_can_only_be_locked");
	ok_eq(cuCheckpointProcessGetState(child, NULL), CUDA_ERROR_INVALID_VALUE,
	      "a_state_needs_a_place");
	ok(cuCheckpointProcessLock(getppid(), NULL) == CUDA_ERROR_INVALID_VALUE &&
	   cuCheckpointProcessLock(-1, NULL) == CUDA_ERROR_INVALID_VALUE,
	   "a_process_without_cuda_is_no_valid_one");
}

static void test_arguments(void)
{
	CUcheckpointLockArgs l = { .reserved0 = 1 };
	CUcheckpointCheckpointArgs c = { .reserved[7] = 1 };
	CUcheckpointUnlockArgs u = { .reserved[0] = 1 };
	CUcheckpointRestoreArgs r = { .reserved1 = 1 };

	ok(cuCheckpointProcessLock(child, &l) == CUDA_ERROR_INVALID_VALUE &&
	   cuCheckpointProcessCheckpoint(child, &c) == CUDA_ERROR_INVALID_VALUE &&
	   cuCheckpointProcessRestore(child, &r) == CUDA_ERROR_INVALID_VALUE &&
	   cuCheckpointProcessUnlock(child, &u) == CUDA_ERROR_INVALID_VALUE,
	   "reserved_members_must_be_zero");
}

static void test_round(void)
{
	uint64_t before = books->used;

	ok(!cuCheckpointProcessLock(child, NULL) && state() == CU_PROCESS_STATE_LOCKED,
	   "a_running_process_is_locked");
	tell('v');
	await_blocked();
	ok_eq(cuCheckpointProcessLock(child, NULL), CUDA_ERROR_ILLEGAL_STATE,
	      "a_locked_process_is_not_locked_again");
	ok_eq(cuCheckpointProcessRestore(child, NULL), CUDA_ERROR_ILLEGAL_STATE,
	      "a_process_that_is_only_locked_has_nothing_to_restore");
	ok(before >= SIZE + VMM_SIZE && !cuCheckpointProcessCheckpoint(child, NULL) &&
	   state() == CU_PROCESS_STATE_CHECKPOINTED, "a_locked_process_is_checkpointed");
	ok_eq((long long)books->used, 0, "a_checkpointed_process_has_no_memory_of_the_device");
	ok(cuCheckpointProcessUnlock(child, NULL) == CUDA_ERROR_ILLEGAL_STATE &&
	   cuCheckpointProcessCheckpoint(child, NULL) == CUDA_ERROR_ILLEGAL_STATE,
	   "a_checkpointed_process_can_only_be_restored");
	ok(!cuCheckpointProcessRestore(child, NULL) && state() == CU_PROCESS_STATE_LOCKED,
	   "a_restored_process_is_locked");
	ok_eq((long long)books->used, (long long)before,
	      "a_restored_process_has_its_memory_again");
	ok(silent(), "a_call_waits_until_the_process_is_unlocked");
	ok(!cuCheckpointProcessUnlock(child, NULL) && hear() == 'y' &&
	   state() == CU_PROCESS_STATE_RUNNING,
	   "an_unlocked_process_finds_its_contents_at_the_same_addresses");
}

static void test_restore_pairs(void)
{
	CUcheckpointGpuPair pair;
	CUcheckpointRestoreArgs r = { .gpuPairs = &pair, .gpuPairsCount = 1 };

	cuDeviceGetUuid(&pair.oldUuid, 0);
	pair.newUuid = pair.oldUuid;
	pair.newUuid.bytes[3] ^= 1;
	cuCheckpointProcessLock(child, NULL);
	cuCheckpointProcessCheckpoint(child, NULL);
	ok(cuCheckpointProcessRestore(child, &r) == CUDA_ERROR_INVALID_VALUE &&
	   state() == CU_PROCESS_STATE_CHECKPOINTED, "a_restore_onto_an_unknown_device_fails");
	pair.newUuid = pair.oldUuid;
	ok(!cuCheckpointProcessRestore(child, &r), "a_restore_may_name_the_same_device");
	cuCheckpointProcessUnlock(child, NULL);
}

static void test_host_function(void)
{
	CUcheckpointLockArgs l = { .timeoutMs = 30 };

	tell('f');
	ok(hear() == 'h' && cuCheckpointProcessLock(child, &l) == CUDA_ERROR_NOT_READY &&
	   state() == CU_PROCESS_STATE_RUNNING,
	   "a_lock_that_a_host_function_keeps_waiting_gives_up_in_time");
	if (write(gate[1], "", 1) != 1)
		exit(1);
	ok(hear() == 'y' && !cuCheckpointProcessLock(child, &l) &&
	   !cuCheckpointProcessUnlock(child, NULL), "it_succeeds_when_the_function_has_returned");
}

static void test_others(void)
{
	tell('s');
	ok(hear() == 'y', "a_process_can_checkpoint_itself");
	tell('x');
	hear();
	cuCheckpointProcessLock(child, NULL);
	ok(cuCheckpointProcessCheckpoint(child, NULL) == CUDA_ERROR_NOT_SUPPORTED &&
	   state() == CU_PROCESS_STATE_LOCKED, "memory_that_others_may_open_is_refused");
	cuCheckpointProcessUnlock(child, NULL);
	tell('v');
	ok(hear() == 'y', "a_refused_process_goes_on");
}

/* Call this before cuInit(): a child of an initialised process has no driver. */
static pid_t start_child(void)
{
	pid_t pid = fork();

	if (!pid)
		run_child();
	tell('b');
	if (hear() != 'y')
		exit(1);
	return pid;
}

/* Starts a child that only has memory, and waits to be killed. */
static pid_t start_victim(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(from_child[1], begin() ? "y" : "n", 1) == 1)
			pause();
		_exit(1);
	}
	if (hear() != 'y')
		exit(1);
	return pid;
}

static void test_killed(pid_t victim)
{
	uint64_t before = books->used;

	cuCheckpointProcessLock(victim, NULL);
	cuCheckpointProcessCheckpoint(victim, NULL);
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	ok_eq(cuCheckpointProcessRestore(victim, NULL), CUDA_ERROR_INVALID_VALUE,
	      "a_process_that_was_killed_cannot_be_restored");
	sgpu_books_bury(books);
	ok_eq((long long)before - (long long)books->used, victim_bytes,
	      "a_process_killed_while_checkpointed_leaves_nothing");
}

static void run_tests(const char *path)
{
	pid_t victim;
	int tid = 0;

	books = sgpu_books_open(path);
	if (!books || pipe(to_child) || pipe(from_child) || pipe(gate))
		exit(1);
	victim = start_victim();
	victim_bytes = (long long)books->used;
	child = start_child();
	ok_eq(state(), 1000 + CUDA_ERROR_NOT_INITIALIZED, "who_asks_has_to_call_cuInit_first");
	cuInit(0);
	ok(!cuCheckpointProcessGetRestoreThreadId(child, &tid) && tid > 0 && tid != child,
	   "the_thread_that_restores_has_a_number");
	test_killed(victim);
	test_wrong_states();
	test_arguments();
	test_round();
	test_restore_pairs();
	test_host_function();
	test_others();
}

/* The library opens its books when it is loaded, so the test runs itself with the variable. */
int main(int argc, char **argv)
{
	char path[] = "/tmp/checkpoint_books.XXXXXX";
	int status;
	pid_t pid;

	if (argc > 1) {
		tap_plan(26);
		run_tests(argv[1]);
		return tap_exit();
	}
	close(mkstemp(path));
	unlink(path);
	setenv("WORMHOLE_SOFTGPU_BOOKS", path, 1);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", argv[0], path, (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	unlink(path);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}
