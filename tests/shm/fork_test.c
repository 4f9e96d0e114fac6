// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises forks of a process that uses CUDA. The child has nothing of its
 * parent's pair, and a pair of its own from its first cuInit on. The parent notices
 * neither the child's calls nor its end. It needs softgpu behind it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "driver_test.h"

#define SIZE	(3u << 20)
#define WORDS	256

static const char ptx[] =
".version 8.0\n.target sm_70\n.address_size 64\n"
".visible .global .attribute(.managed) .align 4 .u32 shared = 40;\n"
".visible .entry inc(.param .u64 p)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n"
"ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\n"
"add.s64 %d1, %d1, %d2;\nld.global.u32 %r2, [%d1];\nadd.u32 %r2, %r2, 1;\n"
"st.global.u32 [%d1], %r2;\nret;\n}\n";

static CUfunction inc;
static CUmodule module;
static CUdeviceptr mem;
static uint8_t *registered;
static atomic_int called;

/* --- What both do ------------------------------------------------------------------- */

static void CUDA_CB call(void *add)
{
	called += (int)(intptr_t)add;
}

static bool start(void)
{
	return !cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx) &&
	       !cuModuleLoadData(&module, ptx) && !cuModuleGetFunction(&inc, module, "inc") &&
	       !cuMemAlloc(&mem, SIZE);
}

/* Makes launches, most of which are posted over shm, and copies of both kinds. */
static bool computes(uint32_t first)
{
	static uint8_t out[SIZE], in[SIZE];
	void *args[] = { &mem };
	uint32_t *words = (uint32_t *)in, i;
	bool good = true;

	pattern(out, SIZE, first);
	for (i = 0; i < WORDS; i++)
		memcpy(out + 4 * i, &(uint32_t) { first + i }, 4);
	good &= !cuMemcpyHtoD(mem, out, SIZE);
	for (i = 0; i < 50; i++)
		good &= !cuLaunchKernel(inc, 1, 1, 1, WORDS, 1, 1, 0, NULL, args, NULL);
	good &= !cuMemcpyDtoH(in, mem, SIZE);
	for (i = 0; i < WORDS; i++)
		good &= words[i] == first + i + 50;
	return good && !memcmp(in + 4 * WORDS, out + 4 * WORDS, SIZE - 4 * WORDS);
}

static bool calls_back(void)
{
	called = 0;
	return !cuLaunchHostFunc(NULL, call, (void *)3) && !cuCtxSynchronize() && called == 3;
}

/* --- Children --------------------------------------------------------------------------- */

/* Returns the child's exit code, or -1 when it died. */
static int in_child(int (*body)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(20);
		exit(body());
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ?
	       WEXITSTATUS(status) : -1;
}

static int nothing(void)
{
	return 0;
}

static int leaves(void)
{
	_exit(0);
}

/*
 * The descriptor of the worker's socket does not come along; over loopback the worker is
 * this process.
 */
static int has_no_socket(void)
{
	char path[32], to[64];
	int fd, n, found = 0;

	if (!strcmp(getenv("WORMHOLE_TRANSPORT"), "loopback"))
		return 0;
	for (fd = 3; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to));
		found += n > 7 && !memcmp(to, "socket:", 7);
	}
	return found;
}

static int execs(void)
{
	execl("/bin/true", "true", NULL);
	return 1;
}

static int without_init(void)
{
	CUdeviceptr p;
	CUcontext c;

	return cuMemAlloc(&p, 64) != CUDA_ERROR_NOT_INITIALIZED ||
	       cuCtxGetCurrent(&c) != CUDA_ERROR_NOT_INITIALIZED ||
	       cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED;
}

static int begins_anew(void)
{
	CUcontext c = (CUcontext)1;

	return cuInit(0) || cuCtxGetCurrent(&c) || c;
}

static int works(void)
{
	if (!start())
		return 1;
	return !computes(7000) || !calls_back();
}

static int has_none_of_the_parents(void)
{
	CUdeviceptr theirs = mem;
	uint32_t word = 0;
	size_t n;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx))
		return 1;
	return cuMemcpyDtoH(&word, theirs, 4) != CUDA_ERROR_INVALID_VALUE ||
	       cuMemGetAddressRange(NULL, &n, theirs) == CUDA_SUCCESS;
}

static int writes_to_registered(void)
{
	int good = same(registered, 65536, 1);

	memset(registered, 0xee, 65536);
	return !good;
}

static int is_a_parent_itself(void)
{
	return !start() || !computes(9) || in_child(works) || !computes(11);
}

/* --- Managed variables ---------------------------------------------------------------- */

static volatile uint32_t *variable(void)
{
	CUdeviceptr p = 0;
	size_t n;

	return cuModuleGetGlobal(&p, &n, module, "shared") ? NULL : (volatile uint32_t *)p;
}

static int has_its_own_variable(void)
{
	volatile uint32_t *v = start() ? variable() : NULL;

	if (!v || *v != 40)
		return 1;
	*v = 77;
	return !computes(5) || *v != 77;
}

/* --- Threads of the parent --------------------------------------------------------------- */

static atomic_bool over;

static void *copies(void *arg)
{
	static uint8_t bytes[4][600000];
	uint8_t *b = bytes[(intptr_t)arg];
	CUresult res = CUDA_SUCCESS;
	CUdeviceptr p;

	cuCtxSetCurrent(ctx);
	while (!over && !res) {
		res = cuMemAlloc(&p, sizeof(bytes[0]));
		res = res ? res : cuMemcpyHtoD(p, b, sizeof(bytes[0]));
		res = res ? res : cuMemcpyDtoH(b, p, sizeof(bytes[0]));
		res = res ? res : cuMemFree(p);
		cuGetErrorName(12345, NULL);
	}
	return (void *)(uintptr_t)res;
}

static void among_threads(void)
{
	int bad = 0, i;
	pthread_t t[4];
	bool good = true;
	void *res;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, copies, (void *)(intptr_t)i);
	for (i = 0; i < 8; i++)
		bad += in_child(works) != 0;
	over = true;
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], &res);
		good &= !res;
	}
	ok_eq(bad, 0, "children_forked_among_calls_of_threads_work");
	ok(good && computes(4), "and_the_threads_notice_nothing");
}

/* --- A signal handler ---------------------------------------------------------------------- */

static volatile sig_atomic_t from_handler = -1, forked;
static pthread_t waits;		/* the thread that waits for the stream */
static sem_t forked_and_back;

/* Forks on top of a call, where it is unknown what the rest of the call would find. */
static void forks(int sig)
{
	pid_t pid;
	int status;

	(void)sig;
	if (forked++)
		return;
	pid = fork();
	if (!pid)
		_exit(cuInit(0));
	from_handler = waitpid(pid, &status, 0) == pid && WIFEXITED(status) ?
		       WEXITSTATUS(status) : 99;
	sem_post(&forked_and_back);
}

/* Runs while that thread waits, and makes it fork meanwhile. */
static void CUDA_CB interrupts(void *arg)
{
	(void)arg;
	pthread_kill(waits, SIGUSR1);
	while (sem_wait(&forked_and_back) && errno == EINTR)
		;
}

static void in_a_handler(void)
{
	bool good;

	waits = pthread_self();
	sem_init(&forked_and_back, 0, 0);
	signal(SIGUSR1, forks);
	good = !cuLaunchHostFunc(NULL, interrupts, NULL) && !cuCtxSynchronize();
	ok(good && computes(6), "call_goes_on_after_a_handler_forked");
	ok_eq(from_handler, CUDA_ERROR_NOT_INITIALIZED, "and_the_child_cannot_use_cuda");
}

int main(void)
{
	volatile uint32_t *v;

	tap_plan(22);
	ok_eq(in_child(works), 0, "child_of_a_parent_without_cuda_works");
	if (!start()) {
		printf("Bail out! no CUDA: is the server there?\n");
		return 1;
	}
	ok(computes(1), "parent_computes");
	ok_eq(in_child(nothing), 0, "child_that_makes_no_call_exits");
	ok_eq(in_child(leaves), 0, "or_leaves_by__exit");
	ok_eq(in_child(execs), 0, "or_executes_another_program");
	ok_eq(in_child(has_no_socket), 0, "child_has_no_way_to_its_parents_worker");
	ok(computes(2), "parent_does_not_notice");
	ok_eq(in_child(without_init), 0, "child_is_not_initialised_until_it_says_so");
	ok_eq(in_child(begins_anew), 0, "and_begins_without_a_context");
	ok_eq(in_child(works), 0, "child_computes");
	ok_eq(in_child(has_none_of_the_parents), 0, "memory_of_the_parent_is_not_its");
	ok_eq(in_child(is_a_parent_itself), 0, "child_of_a_child_computes");
	ok(computes(3) && calls_back(), "parent_computes_after_its_children");
	ok_eq(in_child(works), 0, "child_computes_after_its_parent_had_callbacks");
	registered = aligned_alloc(4096, 65536);
	pattern(registered, 65536, 1);
	ok(!cuMemHostRegister(registered, 65536, 0), "memory_is_registered");
	ok_eq(in_child(writes_to_registered), 0, "child_has_what_is_registered");
	ok(same(registered, 65536, 1) && !cuMemHostUnregister(registered),
	   "and_writes_to_a_copy");
	among_threads();
	in_a_handler();
	v = variable();
	*v = 50;
	ok(in_child(has_its_own_variable) == 0 && computes(8) && *v == 50,
	   "child_has_a_managed_variable_of_its_own");
	return tap_exit();
}
