// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises several devices, by a list in WORMHOLE_SOFTGPU_MEM: each has its own memory,
 * contexts and names, and a checkpointed process can be restored on another one of the same kind.
 * The driver reads its variables when it is loaded, so the test runs itself with them.
 */
#include <cuda.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../softgpu/driver/books.h"
#include "tap.h"

#define MIB	(1ull << 20)
#define SIZE	(3 * MIB)
#define SECOND	"GPU-776f726d-686f-6c65-2d73-6f6674677076"	/* the UUID of device 1 */

static int to_child[2], from_child[2];
static struct sgpu_books *books;

/* ---- a process with memory of device 0, which is moved ---- */

static CUdeviceptr mine;
static unsigned char buf[SIZE];

static bool begin(void)
{
	CUcontext ctx;
	size_t i;

	for (i = 0; i < SIZE; i++)
		buf[i] = (unsigned char)(i * 31 + i / 256);
	return !cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx) &&
	       !cuMemAlloc(&mine, SIZE) && !cuMemcpyHtoD(mine, buf, SIZE);
}

/* Has it the same contents at the same address and device, which has that number on the machine? */
static bool is_on(unsigned int place)
{
	static unsigned char got[SIZE];
	unsigned char want[16];
	CUdevice dev;
	CUuuid uuid;
	size_t room;
	int ordinal;

	sgpu_uuid(place, want);
	return !cuMemcpyDtoH(got, mine, SIZE) && !memcmp(got, buf, SIZE) && !cuCtxGetDevice(&dev) &&
	       !dev && !cuDeviceGetUuid(&uuid, dev) && !memcmp(uuid.bytes, want, 16) &&
	       !cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, mine) &&
	       !ordinal && !cuMemGetInfo(&room, NULL) && room == 8 * MIB - SIZE;
}

static void run_child(void)
{
	bool good = begin();
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (write(from_child[1], good ? "y" : "n", 1) == 1 && read(to_child[0], &c, 1) == 1)
		good = is_on((unsigned int)(c - '0'));
	_exit(0);
}

static bool child_is_on(char place)
{
	char c = 0;

	return write(to_child[1], &place, 1) == 1 && read(from_child[0], &c, 1) == 1 && c == 'y';
}

/* ---- restores ---- */

static CUresult restore(pid_t child, const char *to, unsigned int pairs)
{
	CUcheckpointGpuPair pair[3];
	CUcheckpointRestoreArgs r = { .gpuPairs = pair, .gpuPairsCount = pairs };
	unsigned int i;

	for (i = 0; i < pairs; i++) {
		sgpu_uuid(i, (unsigned char *)pair[i].oldUuid.bytes);
		sgpu_uuid((unsigned int)(to[i] - '0'), (unsigned char *)pair[i].newUuid.bytes);
	}
	return cuCheckpointProcessRestore(child, &r);
}

static void test_moves(pid_t child)
{
	CUprocessState state;
	CUdeviceptr p = 0;
	CUcontext ctx;

	cuCheckpointProcessLock(child, NULL);
	cuCheckpointProcessCheckpoint(child, NULL);
	ok_eq(restore(child, "1", 1), CUDA_ERROR_INVALID_DEVICE, "pairs_name_all_devices_or_none");
	ok_eq(restore(child, "112", 3), CUDA_ERROR_INVALID_DEVICE, "no_two_devices_become_one");
	ok_eq(restore(child, "210", 3), CUDA_ERROR_INVALID_DEVICE, "a_device_of_another_kind_is_refused");
	ok_eq(restore(child, "192", 3), CUDA_ERROR_INVALID_VALUE, "a_device_that_is_not_there_is_refused");
	cuCtxCreate(&ctx, NULL, 0, 1);
	cuMemAlloc(&p, 6 * MIB);
	ok(restore(child, "102", 3) == CUDA_ERROR_OUT_OF_MEMORY &&
	   !cuCheckpointProcessGetState(child, &state) && state == CU_PROCESS_STATE_CHECKPOINTED,
	   "a_full_device_is_refused_and_nothing_is_lost");
	cuMemFree(p);
	ok_eq(restore(child, "102", 3), 0, "a_process_is_restored_on_another_device");
	ok(books->of[0] == 0 && books->of[1] == SIZE, "the_memory_is_that_devices");
	cuCheckpointProcessUnlock(child, NULL);
	ok(child_is_on('1'), "the_process_finds_all_at_the_same_address_ordinal_and_context");
	cuCheckpointProcessLock(child, NULL);
	cuCheckpointProcessCheckpoint(child, NULL);
	ok(!restore(child, "102", 3) && !cuCheckpointProcessUnlock(child, NULL) && child_is_on('0'),
	   "it_comes_back");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* ---- devices ---- */

static void test_devices(void)
{
	CUdeviceptr p = 0, q = 0;
	CUdevice dev = -1;
	CUstream stream;
	size_t bytes = 0;
	CUcontext ctx;
	int n = 0, at = -1;

	ok(!cuDeviceGetCount(&n) && n == 3, "a_list_of_sizes_is_a_list_of_devices");
	ok(!cuDeviceTotalMem(&bytes, 2) && bytes == 4 * MIB &&
	   cuDeviceTotalMem(&bytes, 3) == CUDA_ERROR_INVALID_DEVICE, "each_has_its_size");
	cuCtxCreate(&ctx, NULL, 0, 2);
	ok(!cuCtxGetDevice(&dev) && dev == 2, "a_context_has_its_device");
	ok(cuMemAlloc(&p, 5 * MIB) == CUDA_ERROR_OUT_OF_MEMORY && !cuMemAlloc(&p, 3 * MIB),
	   "memory_of_others_is_not_its_own");
	ok(!cuPointerGetAttribute(&at, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p) && at == 2,
	   "a_pointer_names_its_device");
	cuStreamCreate(&stream, 0);
	ok(!cuStreamGetDevice(stream, &dev) && dev == 2, "a_stream_has_its_device");
	ok(!cuMemAllocAsync(&q, MIB, NULL) && !cuMemGetInfo(&bytes, NULL) && !bytes,
	   "a_pool_is_of_its_device");
	cuMemFree(p);
	cuMemFreeAsync(q, NULL);
	ok(!cuDeviceGetByPCIBusId(&dev, "0000:01:00.0") && dev == 1 &&
	   cuDeviceGetByPCIBusId(&dev, "0000:07:00.0") == CUDA_ERROR_INVALID_DEVICE,
	   "a_device_is_found_by_its_address");
	cuCtxDestroy(ctx);
}

static void run_tests(const char *path)
{
	pid_t child;
	char c = 0;

	books = sgpu_books_open(path);
	if (!books || pipe(to_child) || pipe(from_child))
		exit(1);
	child = fork();
	if (!child)
		run_child();
	if (read(from_child[0], &c, 1) != 1 || c != 'y')
		exit(1);
	cuInit(0);
	test_devices();
	test_moves(child);
}

/* Returns the exit status of this program with a word. */
static int run_self(char **argv, const char *word)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", argv[0], word, (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* The number of devices, and the number on the machine of the first. */
static int look(void)
{
	CUresult rc = cuInit(0);
	CUuuid uuid;
	int n;

	if (rc || cuDeviceGetCount(&n) || cuDeviceGetUuid(&uuid, 0))
		return 100 + (int)rc;
	return 10 * n + uuid.bytes[15] - 'u';
}

static int visible(char **argv, const char *list)
{
	setenv("CUDA_VISIBLE_DEVICES", list, 1);
	return run_self(argv, "look");
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/devices_books.XXXXXX";
	int status;

	if (argc > 1 && !strcmp(argv[1], "look"))
		return look();
	if (argc > 1) {
		tap_plan(22);
		run_tests(argv[1]);
		unsetenv("WORMHOLE_SOFTGPU_BOOKS");
		ok_eq(visible(argv, SECOND ",0"), 21, "visible_devices_are_chosen_and_ordered");
		ok_eq(visible(argv, "2"), 12, "by_numbers_too");
		ok_eq(visible(argv, "1,7,0"), 11, "the_list_ends_at_one_that_is_not_there");
		ok_eq(visible(argv, ""), 100 + CUDA_ERROR_NO_DEVICE, "an_empty_list_leaves_none");
		unsetenv("CUDA_VISIBLE_DEVICES");
		setenv("WORMHOLE_SOFTGPU_MEM", "8M,,4M", 1);
		ok_eq(run_self(argv, "look"), 100 + CUDA_ERROR_INVALID_VALUE, "a_list_with_a_gap_is_refused");
		return tap_exit();
	}
	unsetenv("CUDA_VISIBLE_DEVICES");
	close(mkstemp(path));
	unlink(path);
	setenv("WORMHOLE_SOFTGPU_BOOKS", path, 1);
	setenv("WORMHOLE_SOFTGPU_BIND", "1", 1);
	setenv("WORMHOLE_SOFTGPU_MEM", "8M,8M,4M", 1);
	status = run_self(argv, path);
	unlink(path);
	return status;
}
