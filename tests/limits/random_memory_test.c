// SPDX-License-Identifier: Apache-2.0
/*
 * An oracle that knows no call: sequences at random of calls that take device memory,
 * give it back and end what has it, right ones and wrong ones, in up to three contexts, the
 * primary one and in none. After each the driver's own books say what the tenant has: never
 * more than its quota, and where a call was asked for memory, no more than what it pays for;
 * and with the processes all of it goes.
 *
 * random_memory_test.t [SEED [STEPS]]; the seed is always the same if nobody says.
 */
#define _GNU_SOURCE
#include "modules.h"
#include "random.h"
#include "tenancy.h"

#include <stdbool.h>

/* Resets and old numbers of functions, as programs call them. */
extern CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev);

#define QUOTA		(1200 * MIB)
#define PROCESSES	3	/* one after the other */
#define THINGS		48
#define CONTEXTS	3
#define STREAMS		4
/* No call says what streams take; the server's looks at the driver's figure do, later. */
#define UNSAID		((STREAMS + 1) * MOCK_STREAM)
/* What is seen only once the driver has taken it, and undone then (docs/limits.md). */
#define LATE		(MOCK_CONTEXT + MOCK_CALLS + 66 * MIB)

struct shared {
	int taken, refused, over, uncharged, unknown;
	uint64_t most, beyond;
	char what[64];
};
static struct shared *shared;

/* Whatever a call has given; who has gone with a context is still there to be freed again. */
static struct things {
	CUdeviceptr plain[THINGS], stream_ordered[THINGS], mapping[THINGS];
	CUmemGenericAllocationHandle physical[THINGS];
	CUmemoryPool pool[THINGS];
	CUarray array[THINGS];
	CUmodule module[THINGS];
	CUstream stream[STREAMS];
	CUcontext context[CONTEXTS + 1];	/* the last is the primary one */
	CUgraphExec exec[THINGS];
	CUdeviceptr of_graph[THINGS];
} t;

static size_t any_size(void)
{
	static const uint64_t largest[] = { 4096, MIB, 4 * MIB, 64 * MIB, 700 * MIB };

	return 1 + any(largest[any(5)]);
}

static unsigned int slot(void)
{
	return (unsigned int)any(THINGS);
}

/* --- Calls -------------------------------------------------------------------------- */

static CUresult plain(void)
{
	return cuMemAlloc(&t.plain[slot()], any_size());
}

static CUresult free_plain(void)
{
	return any(8) ? cuMemFree(t.plain[slot()]) : cuMemFreeAsync(t.plain[slot()], NULL);
}

static CUresult stream_ordered(void)
{
	unsigned int i = slot();

	return any(2) ? cuMemAllocAsync(&t.stream_ordered[i], any_size(), NULL) :
	       cuMemAllocFromPoolAsync(&t.stream_ordered[i], any_size(), t.pool[any(4)], NULL);
}

static CUresult free_stream_ordered(void)
{
	CUdeviceptr p = t.stream_ordered[slot()];

	return any(3) ? cuMemFreeAsync(p, NULL) : cuMemFree(p);
}

static CUresult pool(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	unsigned int i = (unsigned int)any(4);

	switch (any(4)) {
	case 0:
		return cuMemPoolDestroy(t.pool[i]);
	case 1:
		return cuDeviceSetMemPool(0, t.pool[i]);
	case 2:
		return cuMemPoolTrimTo(t.pool[i], 0);
	default:
		return cuMemPoolCreate(&t.pool[i], &props);
	}
}

static CUresult physical(void)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };

	return cuMemCreate(&t.physical[slot()], (1 + any(16)) * 2 * MIB, &prop, 0);
}

/* By two names now and then, and the first one given up. */
static CUresult map(void)
{
	unsigned int i = slot(), j = slot();
	CUresult res = cuMemAddressReserve(&t.mapping[j], 2 * MIB, 0, 0, 0);

	if (!res)
		res = cuMemMap(t.mapping[j], 2 * MIB, 0, t.physical[i], 0);
	if (!res && !any(3))
		cuMemRetainAllocationHandle(&t.physical[slot()], (void *)t.mapping[j]);
	return res;
}

static CUresult unmap(void)
{
	return any(2) ? cuMemUnmap(t.mapping[slot()], 2 * MIB) : cuMemRelease(t.physical[slot()]);
}

static CUresult array(void)
{
	CUDA_ARRAY_DESCRIPTOR d = { 1 + any(4000), any(4000), CU_AD_FORMAT_FLOAT, 1 };

	return any(2) ? cuArrayCreate(&t.array[slot()], &d) : cuArrayDestroy(t.array[slot()]);
}

static CUresult module(void)
{
	return any(2) ? cuModuleLoadData(&t.module[slot()], image) :
			cuModuleUnload(t.module[slot()]);
}

static CUresult stream(void)
{
	CUstream *s = &t.stream[any(STREAMS)];
	CUresult res;

	if (!any(3))
		return cuStreamSynchronize(NULL);
	if (!*s)
		return cuStreamCreate(s, 0);
	res = cuStreamDestroy(*s);
	*s = NULL;
	return res;
}

static CUresult context(void)
{
	unsigned int i = (unsigned int)any(CONTEXTS);

	switch (any(6)) {
	case 0:
		return cuCtxCreate_v2(&t.context[i], 0, 0);
	case 1:
		return cuCtxDestroy(t.context[i]);
	case 2:
		return cuDevicePrimaryCtxRetain(&t.context[CONTEXTS], 0);
	case 3:
		return cuDevicePrimaryCtxRelease(0);
	case 4:
		return any(4) ? CUDA_SUCCESS : cuDevicePrimaryCtxReset(0);
	default:
		return cuCtxSetCurrent(any(5) ? t.context[any(CONTEXTS + 1)] : NULL);
	}
}

static CUresult limit(void)
{
	return any(2) ? cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024 + 16 * any(40)) :
			cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, MIB + any(64 * MIB));
}

static CUresult kernel(void)
{
	CUmodule m;
	CUfunction f;
	CUresult res = cuModuleLoadData(&m, image_of_malloc);

	if (!res)
		res = cuModuleGetFunction(&f, m, "run");
	if (!res)
		res = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	return res ? res : cuCtxSynchronize();
}

/* A graph whose allocation was captured: made, launched, its memory freed, ended. */
static CUresult graph(void)
{
	unsigned int i = slot();
	CUstream s;
	CUgraph g;
	CUresult res;

	switch (any(4)) {
	case 0:
		return cuGraphLaunch(t.exec[i], NULL);
	case 1:
		return cuMemFree(t.of_graph[i]);
	case 2:
		return any(2) ? cuGraphExecDestroy(t.exec[i]) : cuDeviceGraphMemTrim(0);
	}
	res = cuStreamCreate(&s, 0);
	if (res)
		return res;
	res = cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (!res)
		res = cuMemAllocAsync(&t.of_graph[i], any_size(), s);
	if (!res)
		res = cuStreamEndCapture(s, &g);
	if (!res)
		res = cuGraphInstantiate(&t.exec[i], g, 0);
	if (!res)
		cuGraphDestroy(g);
	cuStreamDestroy(s);
	return res;
}

static const struct call {
	const char *name;
	CUresult (*fn)(void);
	bool late;
} calls[] = {
	{ "cuMemAlloc", plain, false }, { "cuMemFree", free_plain, false },
	{ "cuMemAllocAsync", stream_ordered, false }, { "cuMemFreeAsync", free_stream_ordered, false },
	{ "a pool", pool, false }, { "cuMemCreate", physical, false }, { "cuMemMap", map, false },
	{ "cuMemUnmap", unmap, false }, { "an array", array, true }, { "a module", module, true },
	{ "a stream", stream, true }, { "a context", context, true }, { "a limit", limit, true },
	{ "a kernel", kernel, true }, { "a graph", graph, true },
};
#define CALLS	(sizeof(calls) / sizeof(*calls))

/* --- The driver's books -------------------------------------------------------------- */

static void note(int *counter, const struct call *c, uint64_t bytes)
{
	if (!*counter && !shared->over)
		snprintf(shared->what, sizeof(shared->what), "%s", c->name);
	++*counter;
	if (bytes > shared->beyond)
		shared->beyond = bytes;
}

static void look(const struct call *c, uint64_t before)
{
	uint64_t used = gpu->used, paid = charged(), most = QUOTA + (c->late ? LATE : 0);

	if (used > shared->most)
		shared->most = used;
	if (used > QUOTA + UNSAID)
		note(&shared->over, c, used - QUOTA);
	else if (gpu->peak > most + UNSAID)
		note(&shared->over, c, gpu->peak - most);
	/* What is seen late is paid for before the next call that is asked for memory. */
	if (!c->late && used > paid + UNSAID && used > before)
		note(&shared->uncharged, c, used - paid);
}

static void step(void)
{
	const struct call *c = &calls[any(CALLS)];
	uint64_t before = gpu->used;
	CUresult res;

	gpu->peak = before;
	res = c->fn();
	if (res == CUDA_SUCCESS)
		shared->taken++;
	else if (res == CUDA_ERROR_OUT_OF_MEMORY)
		shared->refused++;
	else if (res == CUDA_ERROR_NOT_SUPPORTED || res == CUDA_ERROR_UNKNOWN)
		shared->unknown++;
	look(c, before);
}

static void play(uint64_t seed, unsigned int steps)
{
	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
	cuInit(0);
	cuDevicePrimaryCtxRetain(&t.context[CONTEXTS], 0);
	cuCtxSetCurrent(t.context[CONTEXTS]);
	while (steps--)
		step();
}

static int run(uint64_t seed, unsigned int steps)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		alarm(100);
		play(seed, steps);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	wh_tenant_accounts_reap(usage);
	return status;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	unsigned int steps = argc > 2 ? (unsigned int)atoi(argv[2]) : 3000;
	int i, status = 0;

	make_tenant(argv[0], "tests/limits/bin/mock/libcuda.so.1");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	tap_plan(5);
	diag("seed %llu", (unsigned long long)seed);
	fresh();
	set_memory(QUOTA);
	for (i = 0; i < PROCESSES && !status; i++) {
		status = run(seed + (unsigned int)i, steps);
		fresh();
		set_memory(QUOTA);
	}
	diag("%d calls succeeded, %d for want of memory did not, %d are not there; at most %llu MiB",
	     shared->taken, shared->refused, shared->unknown,
	     (unsigned long long)(shared->most / MIB));
	ok_eq(status, 0, "processes_come_to_their_end");
	ok(shared->taken > (int)steps / 10 && shared->refused > 50, "calls_succeed_and_fail_for_want_of_memory");
	if (!ok(!shared->over, "no_call_has_more_than_the_quota"))
		diag("%d times, first by %s, by up to %.1f MiB", shared->over, shared->what,
		     (double)shared->beyond / MIB);
	if (!ok(!shared->uncharged, "nothing_is_taken_that_is_not_charged"))
		diag("%d times, first by %s, by up to %.1f MiB", shared->uncharged, shared->what,
		     (double)shared->beyond / MIB);
	ok_eq((long)(charged() / MIB), 0, "what_was_charged_goes_with_the_processes");
	remove_tenant();
	return tap_exit();
}
