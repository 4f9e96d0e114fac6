// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what belongs to a tenant as a whole: processes that race for its
 * memory, die in the middle, or see the limit change; what its clients are told; and the
 * SMs that a spatial limit gives. It runs over the mock driver, where each client is a
 * process.
 */
#define _GNU_SOURCE
#include "tenancy.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

static struct shared {
	int got[8], error[8];
	uint64_t value[8];
	int go;
} *shared;

static char blind[512];		/* the mock driver in a folder without NVML */

static pid_t child(void (*f)(int), int arg)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		f(arg);
		_exit(0);
	}
	return pid;
}

static void await_all(void)
{
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

static void in_child(void (*f)(int), int arg)
{
	child(f, arg);
	await_all();
}

static void await_word(const int *word, int value)
{
	struct timespec nap = { 0, 100000 };

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		nanosleep(&nap, NULL);
}

static int take(uint64_t bytes, CUresult *res)
{
	CUdeviceptr p;
	int n = 0;

	while (!(*res = cuMemAlloc(&p, bytes)))
		n++;
	return n;
}

/* --- Races ------------------------------------------------------------------------------- */

static void race(int i)
{
	CUdeviceptr p[64];
	CUresult res;
	int round, k, n, tries;
	size_t size;

	start();
	__atomic_fetch_add(&shared->go, 1, __ATOMIC_SEQ_CST);
	await_word(&shared->go, 5);
	for (round = 0; round < 200; round++) {
		/*
		 * While the others are off the CPU they may have all of the memory, until they give
		 * it back.
		 */
		for (n = tries = 0; !n && tries < 10000; tries++) {
			size = (1 + (round + i) % 5) * 2 * MIB;
			for (; n < 64 && !(res = cuMemAlloc(&p[n], size)); n++)
				;
			if (!n)
				sched_yield();
		}
		shared->got[i] += n;
		shared->error[i] |= n < 64 && res != CUDA_ERROR_OUT_OF_MEMORY;
		for (k = 0; k < n; k++)
			shared->error[i] |= cuMemFree(p[k]);
	}
}

static void test_race(void)
{
	uint64_t quota = 4 * MOCK_CONTEXT + 100 * MIB;
	int i, bad = 0;

	fresh();
	set_memory(quota);
	for (i = 0; i < 4; i++)
		child(race, i);
	await_word(&shared->go, 4);
	gpu->peak = gpu->used;
	__atomic_store_n(&shared->go, 5, __ATOMIC_SEQ_CST);
	await_all();
	for (i = 0; i < 4; i++)
		bad |= shared->error[i] || shared->got[i] < 200;
	ok(!bad, "four_processes_at_the_limit_all_go_on");
	if (!ok(gpu->peak <= quota && gpu->peak > quota - 12 * MIB, "and_together_they_never_have_more"))
		diag("peak %.1f of %.1f MiB", (double)gpu->peak / MIB, (double)quota / MIB);
	wh_tenant_accounts_reap(usage);
	ok_eq(charged(), 0, "what_processes_had_is_given_back_at_their_end");
}

/* --- Deaths ------------------------------------------------------------------------------ */

static void hold_and_hang(int i)
{
	CUresult res;

	start();
	shared->got[i] = take(4 * MIB, &res);
	__atomic_store_n(&shared->go, 1, __ATOMIC_SEQ_CST);
	pause();
}

static void count(int i)
{
	CUresult res;

	shared->error[i] = !start();
	shared->got[i] = take(4 * MIB, &res);
}

static void die_in_the_lock(int i)
{
	(void)i;
	start();
	pthread_mutex_lock((pthread_mutex_t *)usage->lock);
	kill(getpid(), SIGKILL);
}

static void test_death(void)
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	fresh();
	set_memory(MOCK_CONTEXT + 100 * MIB);
	pid = child(hold_and_hang, 0);
	await_word(&shared->go, 1);
	kill(pid, SIGKILL);
	await_all();
	gpu->used = 0;		/* the driver has noticed the end as well */
	gpu->process[0].bytes = 0;
	in_child(count, 1);
	ok(shared->got[0] == 25 && shared->got[1] == 25 && !shared->error[1],
	   "a_killed_process_leaves_all_of_its_memory_to_the_next");
	fresh();
	set_memory(MOCK_CONTEXT + 100 * MIB);
	in_child(die_in_the_lock, 0);
	gpu->used = 0;
	gpu->process[0].bytes = 0;
	in_child(count, 2);
	ok_eq(shared->got[2], 25, "a_process_killed_inside_of_the_lock_stops_nobody");
}

/* --- Changes ----------------------------------------------------------------------------- */

static void change(int i)
{
	CUdeviceptr p, q;
	size_t free, total;

	(void)i;
	start();
	shared->error[0] = cuMemAlloc(&p, 40 * MIB);
	set_memory(MOCK_CONTEXT + 20 * MIB);
	shared->error[1] = cuMemAlloc(&q, 2 * MIB);
	cuMemGetInfo(&free, &total);
	shared->value[0] = free;
	shared->value[1] = total;
	set_memory(MOCK_CONTEXT + 60 * MIB);
	shared->error[3] = cuMemAlloc(&q, 20 * MIB);
	set_memory(MOCK_CONTEXT + 20 * MIB);
	shared->error[4] = cuMemFree(p);
	shared->error[5] = cuMemFree(q);
	shared->error[6] = cuMemAlloc(&q, 20 * MIB);
	shared->error[7] = cuMemAlloc(&p, 2 * MIB);
}

static void test_change(void)
{
	memset(shared, 0, sizeof(*shared));
	fresh();
	set_memory(MOCK_CONTEXT + 60 * MIB);
	in_child(change, 0);
	ok(!shared->error[0] && shared->error[1] == CUDA_ERROR_OUT_OF_MEMORY,
	   "a_limit_below_what_is_used_refuses_more");
	ok(shared->value[0] == 0 && shared->value[1] == MOCK_CONTEXT + 20 * MIB,
	   "and_is_what_the_program_sees");
	ok_eq(shared->error[3], 0, "a_higher_limit_gives_more_at_once");
	ok(!shared->error[4] && !shared->error[5] && !shared->error[6] &&
	   shared->error[7] == CUDA_ERROR_OUT_OF_MEMORY, "after_freeing_a_lower_limit_holds_exactly");
}

/* --- Graphs made ready to run ------------------------------------------------------------- */

/* value[0] counts the readings of the driver's figure for ten graphs, after the first. */
static void instantiate(int i)
{
	CUgraphExec exec;
	CUgraph graph;
	CUstream stream;
	uint64_t before;
	int k;

	(void)i;
	start();
	shared->error[0] = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) ||
			   cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) ||
			   cuStreamEndCapture(stream, &graph) ||
			   cuGraphInstantiateWithFlags(&exec, graph, 0);
	before = gpu->readings;
	for (k = 0; k < 10; k++)
		shared->error[0] |= cuGraphInstantiateWithFlags(&exec, graph, 0);
	shared->value[0] = gpu->readings - before;
}

static void test_instantiate(void)
{
	memset(shared, 0, sizeof(*shared));
	fresh();
	set_memory(MOCK_CONTEXT + 100 * MIB);
	in_child(instantiate, 0);
	ok_eq(shared->error[0] ? -1 : (int)shared->value[0], 10,
	      "with_a_quota_a_graph_made_ready_to_run_costs_one_reading");
	fresh();
	set_memory(0);
	in_child(instantiate, 0);
	ok(!shared->error[0] && shared->value[0] <= 2, "without_one_it_costs_none");
}

/* --- What clients see -------------------------------------------------------------------- */

static void look(int i)
{
	size_t free = 1, total = 1;
	CUdeviceptr p;
	int sms = 0;

	shared->error[0] = !start();
	cuMemGetInfo(&free, &total);
	shared->value[0] = free;
	shared->value[1] = total;
	cuDeviceTotalMem(&total, 0);
	shared->value[2] = total;
	cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
	shared->value[3] = sms;
	if (i) {
		cuMemAlloc(&p, 30 * MIB);
		cuMemAlloc(&p, 30 * MIB);
	}
}

static uint64_t counted(uint64_t (*of)(const struct wh_device_usage *))
{
	uint64_t sum = of(&usage->ended.device[0]);
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		sum += of(&usage->worker[i].device[0]);
	return sum;
}

static uint64_t refused(const struct wh_device_usage *u)
{
	return u->refused;
}

static uint64_t peak(const struct wh_device_usage *u)
{
	return u->memory_peak;
}

static void test_view(void)
{
	uint64_t before, calls;

	memset(shared, 0, sizeof(*shared));
	fresh();
	before = counted(refused);
	calls = usage->ended.calls;
	set_memory(MOCK_CONTEXT + 50 * MIB);
	in_child(look, 1);
	ok(shared->value[0] == 50 * MIB && shared->value[1] == MOCK_CONTEXT + 50 * MIB,
	   "a_program_sees_its_quota_and_what_is_free_of_it");
	ok_eq(shared->value[2], MOCK_CONTEXT + 50 * MIB, "the_device_has_the_size_of_the_quota");
	wh_tenant_accounts_reap(usage);
	ok_eq(counted(refused) - before, 1, "refusals_are_counted");
	ok(counted(peak) >= MOCK_CONTEXT + 30 * MIB, "the_most_that_was_held_is_kept");
	ok(usage->ended.calls - calls > 5 &&
	   usage->ended.waited + usage->ended.posted >= usage->ended.calls,
	   "calls_and_crossings_are_counted");
	fresh();
	set_memory(16 * MIB);
	in_child(look, 0);
	ok(shared->error[0] && charged() <= 16 * MIB, "a_quota_below_a_context_gives_no_context");
	fresh();
	in_child(look, 0);
	ok(shared->value[0] == gpu->total - MOCK_CONTEXT && shared->value[1] == gpu->total,
	   "without_a_quota_the_device_is_what_it_is");
}

/* --- Sizes that wrap --------------------------------------------------------------------- */

/* Makes a graph of two memory nodes whose sizes wrap to 0 when added. */
static void wrap(int unused)
{
	CUdeviceptr p;
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	(void)unused;
	set_memory(1000 * MIB);
	shared->error[0] = !start() || cuStreamCreate(&stream, 0) ||
			   cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) ||
			   cuMemAllocAsync(&p, 1ull << 63, stream) ||
			   cuMemAllocAsync(&p, 1ull << 63, stream) ||
			   cuStreamEndCapture(stream, &graph) ||
			   cuGraphInstantiate(&exec, graph, 0);
	shared->error[1] = shared->error[0] ? CUDA_SUCCESS : cuGraphLaunch(exec, NULL);
}

static void test_wrap(void)
{
	fresh();
	in_child(wrap, 0);
	ok(!shared->error[0] && shared->error[1] == CUDA_ERROR_OUT_OF_MEMORY,
	   "memory_nodes_whose_sizes_wrap_are_refused");
}

/* --- On the host ----------------------------------------------------------------------- */

/* The mock makes such a pool without an error, as a real driver does. */
static void on_the_host(int i)
{
	static const CUmemLocationType types[] = {
		CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA,
		CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
	};
	const CUmemAllocationType pinned = CU_MEM_ALLOCATION_TYPE_PINNED;
	CUmemAllocationProp prop = { .type = pinned, .location.type = types[i] };
	CUmemPoolProps props = { .allocType = pinned, .location.type = types[i] };
	CUmemGenericAllocationHandle h;
	CUmemoryPool pool;

	start();
	shared->error[0] = cuMemCreate(&h, 2 << 20, &prop, 0);
	shared->error[1] = cuMemPoolCreate(&pool, &props);
	props.location = (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 0 };
	props.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
	shared->error[2] = cuMemPoolCreate(&pool, &props);
	shared->error[3] = cuMemGetDefaultMemPool(&pool, &prop.location, pinned);
}

static void test_on_the_host(void)
{
	bool refused = true;
	int i, k;

	for (i = 0; i < 3; i++) {
		memset(shared, 0, sizeof(*shared));
		fresh();
		in_child(on_the_host, i);
		for (k = 0; k < 4; k++)
			if (shared->error[k] != CUDA_ERROR_NOT_SUPPORTED) {
				diag("location %d, call %d: error %d", i, k, shared->error[k]);
				refused = false;
			}
	}
	ok(refused, "memory_on_the_host_that_no_limit_knows_is_refused");
}

/* --- Spatial ----------------------------------------------------------------------------- */

static struct wh_device_limit half = { .sm_percent = 50, .sm_policy = WH_SM_SPATIAL };

static void spatial(int groups)
{
	struct wh_device_limit l = half;
	CUdevResource r = { 0 };
	CUcontext first, again;
	CUdevice dev = -1;
	unsigned int flags;
	int sms, active;

	l.sm_groups = (uint64_t)groups;
	wh_tenant_limits_set(limits, 0, &l);
	first = start();
	shared->error[0] = !first || cuCtxGetDevResource(first, &r, CU_DEV_RESOURCE_TYPE_SM);
	shared->value[0] = r.sm.smCount;
	cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
	shared->value[1] = sms;
	shared->error[1] = cuDevicePrimaryCtxRetain(&again, 0) || again != first ||
			   cuCtxGetDevice(&dev) || dev;
	shared->error[2] = cuCtxCreate(&again, NULL, 0, 0) || again == first ||
			   cuCtxGetDevResource(again, &r, CU_DEV_RESOURCE_TYPE_SM);
	shared->value[2] = r.sm.smCount;
	shared->error[3] = cuCtxDestroy(again);
	cuDevicePrimaryCtxRelease(0);
	cuDevicePrimaryCtxRelease(0);
	cuDevicePrimaryCtxGetState(0, &flags, &active);
	shared->error[4] = active;
	shared->value[3] = 0;
	for (sms = 0; sms < WH_TENANT_WORKERS; sms++)
		shared->value[3] |= usage->worker[sms].device[0].sms_granted;
}

/* The driver makes their memory and code belong to the primary context, which stays. */
static void contexts_with_memory(int unused)
{
	static const char code[] = ".version 7.0\n";
	struct wh_device_limit l = { .memory = 1024 * MIB, .sm_percent = 50,
				     .sm_policy = WH_SM_SPATIAL };
	CUresult res = CUDA_SUCCESS;
	CUdeviceptr p;
	CUcontext ctx;
	CUarray array;
	CUDA_ARRAY_DESCRIPTOR square = { 4096, 4096, CU_AD_FORMAT_FLOAT, 1 };
	CUmodule m;
	int i;

	(void)unused;
	wh_tenant_limits_set(limits, 0, &l);
	shared->error[0] = !start();
	shared->value[0] = gpu->used;
	for (i = 0; i < 20 && !res; i++) {
		res = cuCtxCreate(&ctx, NULL, 0, 0);
		res = res ? res : cuMemAlloc(&p, 100 * MIB);
		res = res ? res : cuArrayCreate(&array, &square);
		res = res ? res : cuModuleLoadData(&m, code);
		res = res ? res : cuCtxDestroy(ctx);
	}
	shared->error[1] = res;
	shared->value[1] = gpu->used;
}

/* The same for what takes the primary one's place, while another context keeps that one. */
static void primary_ones_with_memory(int unused)
{
	struct wh_device_limit l = { .memory = 1024 * MIB, .sm_percent = 50,
				     .sm_policy = WH_SM_SPATIAL };
	CUcontext primary, other;
	CUresult res = CUDA_SUCCESS;
	CUdeviceptr p;
	int i;

	(void)unused;
	wh_tenant_limits_set(limits, 0, &l);
	shared->error[0] = !start() || cuCtxCreate(&other, NULL, 0, 0) ||
			   cuDevicePrimaryCtxRelease(0);
	shared->value[0] = gpu->used;
	for (i = 0; i < 20 && !res; i++) {
		res = cuDevicePrimaryCtxRetain(&primary, 0);
		res = res ? res : cuCtxSetCurrent(primary);
		res = res ? res : cuMemAlloc(&p, 100 * MIB);
		res = res ? res : cuDevicePrimaryCtxRelease(0);
	}
	shared->error[1] = res;
	shared->value[1] = gpu->used;
}

static void ends(void (*f)(int), const char *name)
{
	memset(shared, 0, sizeof(*shared));
	fresh();
	in_child(f, 0);
	if (!ok(!shared->error[0] && !shared->error[1] && shared->value[1] == shared->value[0],
		name))
		diag("error %d, %llu MiB before and %llu MiB after 20 of them", shared->error[1],
		     (unsigned long long)(shared->value[0] / MIB),
		     (unsigned long long)(shared->value[1] / MIB));
}

static void test_what_ends_with_a_limited_one(void)
{
	ends(contexts_with_memory, "memory_and_code_of_a_limited_context_end_with_it");
	ends(primary_ones_with_memory, "and_with_the_primary_one_at_its_last_release");
}

/* --- Memory that is freed in the order of a stream ------------------------------------------ */

/*
 * The mock gives such memory back when somebody waits for the stream. `go` says whose turn it is:
 * this program frees, another one allocates, this one waits, and the other one tries again.
 */
static void free_in_order(int without_a_figure)
{
	CUdeviceptr p;

	if (without_a_figure)
		setenv("WORMHOLE_BACKEND", blind, 1);
	shared->error[0] = !start() || cuMemAlloc(&p, 300 * MIB) || cuMemFreeAsync(p, NULL);
	__atomic_store_n(&shared->go, 1, __ATOMIC_RELEASE);
	await_word(&shared->go, 2);
	shared->error[3] = cuCtxSynchronize();
	__atomic_store_n(&shared->go, 3, __ATOMIC_RELEASE);
}

static void allocate_beside(int without_a_figure)
{
	CUdeviceptr p;

	if (without_a_figure)
		setenv("WORMHOLE_BACKEND", blind, 1);
	await_word(&shared->go, 1);
	shared->error[4] = !start();
	shared->error[1] = cuMemAlloc(&p, 300 * MIB);
	__atomic_store_n(&shared->go, 2, __ATOMIC_RELEASE);
	await_word(&shared->go, 3);
	shared->error[2] = shared->error[1] ? cuMemAlloc(&p, 300 * MIB) : 0;
}

static void test_free_in_order(void)
{
	bool held, back;
	int i;

	for (i = 0; i < 2; i++) {
		memset(shared, 0, sizeof(*shared));
		fresh();
		set_memory(512 * MIB);
		child(free_in_order, i);
		child(allocate_beside, i);
		await_all();
		held = !shared->error[0] && !shared->error[3] && !shared->error[4] &&
		       gpu->peak <= 512 * MIB && (shared->error[1] != 0) == !i;
		back = !shared->error[2];
		ok(held, i ? "without_a_figure_too" : "plain_memory_freed_in_order_is_charged_until_it_is_back");
		ok(back, i ? "and_it_is_back_at_once" : "and_it_is_back_after_a_wait");
		diag("errors %d %d %d, at most %llu MiB", shared->error[0], shared->error[1],
		     shared->error[2], (unsigned long long)(gpu->peak / MIB));
	}
}

/* --- A driver without a figure for processes ---------------------------------------------- */

static void free_parts_of_destroyed_pools(int unused)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemoryPool pool;
	CUdeviceptr p;
	int i;

	(void)unused;
	setenv("WORMHOLE_BACKEND", blind, 1);
	shared->error[0] = !start();
	for (i = 0; i < 4 && !shared->error[1]; i++)
		shared->error[1] = cuMemPoolCreate(&pool, &props) ||
				   cuMemAllocFromPoolAsync(&p, 300 * MIB, pool, NULL) ||
				   cuMemPoolDestroy(pool) || cuMemFreeAsync(p, NULL);
}

static void test_without_a_figure(const char *argv0)
{
	char *slash;

	snprintf(blind, sizeof(blind), "%s", argv0);
	slash = strrchr(blind, '/');
	snprintf(slash ? slash : blind, 64, "%sbin/blind/libcuda.so.1", slash ? "/" : "");
	memset(shared, 0, sizeof(*shared));
	fresh();
	set_memory(512 * MIB);
	in_child(free_parts_of_destroyed_pools, 0);
	if (!ok(!shared->error[0] && !shared->error[1] && gpu->peak <= 512 * MIB + MOCK_CONTEXT,
		"what_is_freed_in_order_is_charged_until_the_driver_has_it"))
		diag("errors %d %d, at most %llu MiB", shared->error[0], shared->error[1],
		     (unsigned long long)(gpu->peak / MIB));
}

static void test_spatial(void)
{
	memset(shared, 0, sizeof(*shared));
	fresh();
	in_child(spatial, 0);
	ok(!shared->error[0] && shared->value[0] == 64, "half_of_132_SMs_are_the_nearest_groups_of_8");
	ok_eq(shared->value[1], 64, "the_device_has_as_many_SMs_as_were_granted");
	ok(!shared->error[1], "the_primary_context_is_always_the_same_one");
	ok(!shared->error[2] && shared->value[2] == 64 && !shared->error[3],
	   "contexts_that_a_program_makes_are_limited_too");
	ok(!shared->error[4], "the_primary_context_ends_with_its_last_user");
	ok_eq(shared->value[3], 64, "what_was_granted_is_reported");
	fresh();
	in_child(spatial, 1 << 3 | 1 << 5);
	ok(!shared->error[0] && shared->value[0] == 16, "the_servers_choice_of_groups_counts");
	fresh();
	in_child(spatial, 1 << 3 | 1 << 15);
	ok(!shared->error[0] && shared->value[0] == 20, "what_remains_beside_groups_is_the_last_one");
	half.sm_group_size = 4;
	half.sm_group_loose = 1;
	fresh();
	in_child(spatial, 1 << 3 | 1 << 5 | 1 << 30);
	ok(!shared->error[0] && shared->value[0] == 12, "the_servers_size_of_groups_counts");
	half.sm_percent = 10;
	fresh();
	in_child(spatial, 0);
	ok(!shared->error[0] && shared->value[0] == 12, "a_tenth_of_132_SMs_are_3_groups_of_4");
	half.sm_group_size = 12;
	half.sm_group_loose = 0;
	fresh();
	in_child(spatial, 1);
	ok(shared->error[0], "groups_that_the_driver_does_not_make_give_no_context");
}

int main(int argc, char **argv)
{
	(void)argc;
	make_tenant(argv[0], "tests/limits/bin/mock/libcuda.so.1");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	tap_plan(38);
	test_race();
	test_death();
	test_change();
	test_instantiate();
	test_view();
	test_wrap();
	test_on_the_host();
	test_spatial();
	test_what_ends_with_a_limited_one();
	test_without_a_figure(argv[0]);
	test_free_in_order();
	remove_tenant();
	return tap_exit();
}
