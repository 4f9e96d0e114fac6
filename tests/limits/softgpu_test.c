// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the temporal share with kernels that really run, on the software GPU.
 * Its device is a CPU that others use as well, so the share is compared with the time
 * that the device says it worked. share_test.c compares with the true time.
 */
#define _GNU_SOURCE
#include "tenancy.h"

#include <stdbool.h>
#include <time.h>

static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry work(.param .u32 n)\n{\n"
	".reg .u32 %i, %n;\n.reg .f32 %f;\n.reg .pred %p;\n"
	"ld.param.u32 %n, [n];\nmov.u32 %i, 0;\nmov.f32 %f, 0f3F800000;\n"
	"L:\nfma.rn.f32 %f, %f, %f, %f;\nadd.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, %n;\n@%p bra L;\n"
	"ret;\n}\n";

static struct shared {
	double busy, seconds, waited;
	uint64_t launches;
	int error;
} *shared;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static CUfunction load(void)
{
	CUfunction f = NULL;
	CUmodule m;

	if (!start() || cuModuleLoadData(&m, ptx) || cuModuleGetFunction(&f, m, "work"))
		return NULL;
	return f;
}

enum how { PLAIN, EX, COOPERATIVE, GRAPH, HOWS };
static const char *const how_names[] = { "plain", "extended", "cooperative", "graph" };

static CUgraphExec record(CUfunction f, void **args)
{
	CUgraphExec exec = NULL;
	CUstream stream;
	CUgraph graph;

	if (!cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) &&
	    !cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) &&
	    !cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, args, NULL) &&
	    !cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, args, NULL) &&
	    !cuStreamEndCapture(stream, &graph))
		cuGraphInstantiate(&exec, graph, 0);
	return exec;
}

static CUresult launch(enum how how, CUfunction f, CUgraphExec exec, void **args)
{
	CUlaunchConfig config = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32,
				  .blockDimY = 1, .blockDimZ = 1 };

	switch (how) {
	case PLAIN:
		return cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL);
	case EX:
		return cuLaunchKernelEx(&config, f, args, NULL);
	case COOPERATIVE:
		return cuLaunchCooperativeKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args);
	default:
		return cuGraphLaunch(exec, NULL);
	}
}

static const struct wh_device_usage *own(void)
{
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (usage->worker[i].pid == (uint32_t)getpid())
			return &usage->worker[i].device[0];
	abort();
}

/* Works for some seconds, after what the bucket held at first. */
static void work(enum how how, unsigned int n)
{
	void *args[] = { &n };
	CUfunction f = load();
	CUgraphExec exec = how == GRAPH && f ? record(f, args) : NULL;
	uint64_t busy, waited, launches;
	double begin;

	shared->error = !f || (how == GRAPH && !exec);
	for (begin = now(); !shared->error && now() - begin < 0.5; )
		shared->error = launch(how, f, exec, args);
	cuCtxSynchronize();
	busy = own()->gpu_ns;
	waited = own()->throttled_ns;
	launches = own()->launches;
	for (begin = now(); !shared->error && now() - begin < 2.5; )
		shared->error = launch(how, f, exec, args);
	cuCtxSynchronize();
	shared->seconds = now() - begin;
	shared->busy = (own()->gpu_ns - busy) * 1e-9;
	shared->waited = (own()->throttled_ns - waited) * 1e-9;
	shared->launches = own()->launches - launches;
}

static bool has_share(enum how how, unsigned int percent, unsigned int n)
{
	struct wh_device_limit l = { .sm_percent = percent, .sm_policy = WH_SM_TEMPORAL };
	double got;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	wh_tenant_accounts_reap(usage);
	memset(usage->bucket, 0, sizeof(usage->bucket));
	wh_tenant_limits_set(limits, 0, &l);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		work(how, n);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	got = shared->seconds ? shared->busy / shared->seconds * 100 : 0;
	if (!shared->error && got > percent - 4 && got < percent + 4 && shared->waited > 0)
		return true;
	diag("error %d, %.2f of %.2f s, waited %.2f s, %llu launches", shared->error, shared->busy,
	     shared->seconds, shared->waited, (unsigned long long)shared->launches);
	return false;
}

/*
 * One of some tries counts: a machine that stands still in the middle of a kernel makes the kernel
 * longer, and one that is busy keeps a worker from its turns.
 */
static void test_share(enum how how, unsigned int percent, unsigned int n, const char *length)
{
	bool good = false;
	char name[96];
	int i;

	for (i = 0; i < 5 && !good; i++) {
		good = has_share(how, percent, n);
		if (shared->error)
			break;
	}
	snprintf(name, sizeof(name), "%s_launches_of_%s_kernels_get_%u_percent", how_names[how],
		 length, percent);
	ok(good, name);
}

/* Without other tenants there is not one event, but launches are counted. */
static void test_unlimited(void)
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	wh_tenant_accounts_reap(usage);
	set_memory(0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		work(PLAIN, 20000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	ok(!shared->error && shared->launches > 0 && !shared->busy && !shared->waited,
	   "without_a_share_launches_are_counted_and_nothing_is_measured");
}

int main(int argc, char **argv)
{
	(void)argc;
	make_tenant(argv[0], "softgpu/libcuda.so.1");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	tap_plan(6);
	test_share(PLAIN, 25, 2000, "short");
	test_share(PLAIN, 50, 100000, "long");
	test_share(EX, 50, 20000, "middling");
	test_share(COOPERATIVE, 50, 20000, "middling");
	test_share(GRAPH, 50, 20000, "middling");
	test_unlimited();
	remove_tenant();
	return tap_exit();
}
