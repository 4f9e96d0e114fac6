// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that every way to take device memory stops at the limit. It goes
 * through the client's library and the worker's handlers, over a driver that keeps
 * NVIDIA's books. Each way stops with the right error, having taken all of the quota and
 * not a byte more. What is freed is given back, once; what is left goes with the process.
 *
 *	ways_test.t --list
 *	ways_test.t [--gpu LIBCUDA] [WAY]	with a driver library, on a real device, whose
 *						NVML then says what was taken
 */
#define _GNU_SOURCE
#include "modules.h"
#include "nvml.h"
#include "tenancy.h"

#include <stdbool.h>

#define MAX_GOT	20000

/* A compiler must not know where in this memory the kernel reads and writes. */
static const char image_of_stack[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .global .align 4 .b32 kept;\n"
	".visible .entry run() {\n"
	".local .align 8 .b8 own[%d];\n.reg .b32 %%r<4>;\n.reg .b64 %%rd<4>;\n"
	"mov.u32 %%r1, %%clock;\nand.b32 %%r1, %%r1, 60;\ncvt.u64.u32 %%rd1, %%r1;\n"
	"mov.u64 %%rd2, own;\nadd.u64 %%rd3, %%rd2, %%rd1;\n"
	"st.local.b32 [%%rd3], %%r1;\nld.local.b32 %%r2, [%%rd2+8];\n"
	"st.global.b32 [kept], %%r2;\nret;\n}\n";

static union {
	CUdeviceptr p;
	CUmemGenericAllocationHandle h;
	CUarray a;
	CUmipmappedArray m;
	CUmodule mod;
	CUlibrary lib;
	CUcontext ctx;
	CUstream stream;
	CUgraphExec exec;
} got[MAX_GOT];
static CUdeviceptr mapped[MAX_GOT];
static CUmemoryPool pool;
static uint64_t way_size;
static bool real;		/* a real device */

/* --- The ways ------------------------------------------------------------------------- */

static CUresult get_plain(int i)
{
	return cuMemAlloc(&got[i].p, way_size);
}

static CUresult put_plain(int i)
{
	return cuMemFree(got[i].p);
}

static CUresult get_pitched(int i)
{
	size_t pitch;

	return cuMemAllocPitch(&got[i].p, &pitch, 100, way_size / 512, 4);
}

extern CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev);

static CUresult get_async(int i)
{
	return cuMemAllocAsync(&got[i].p, way_size, NULL);
}

static CUresult put_async(int i)
{
	return cuMemFreeAsync(got[i].p, NULL);
}

static CUresult make_pool(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };

	return pool ? CUDA_SUCCESS : cuMemPoolCreate(&pool, &props);
}

static CUresult get_from_pool(int i)
{
	CUresult res = make_pool();

	return res ? res : cuMemAllocFromPoolAsync(&got[i].p, way_size, pool, NULL);
}

static CUresult get_from_default(int i)
{
	CUmemoryPool p;
	CUresult res = cuDeviceGetDefaultMemPool(&p, 0);

	return res ? res : cuMemAllocFromPoolAsync(&got[i].p, way_size, p, NULL);
}

static CUresult get_from_chosen(int i)
{
	CUresult res = make_pool();

	if (!res)
		res = cuDeviceSetMemPool(0, pool);
	return res ? res : cuMemAllocAsync(&got[i].p, way_size, NULL);
}

static CUresult get_physical(int i)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };

	return cuMemCreate(&got[i].h, way_size, &prop, 0);
}

static CUresult put_physical(int i)
{
	return cuMemRelease(got[i].h);
}

/* Releases the memory at once, so that only the mapping keeps it. */
static CUresult get_mapped(int i)
{
	CUresult res = get_physical(i);

	if (!res)
		res = cuMemAddressReserve(&mapped[i], way_size, 0, 0, 0);
	if (!res)
		res = cuMemMap(mapped[i], way_size, 0, got[i].h, 0);
	return res ? res : cuMemRelease(got[i].h);
}

static CUresult put_mapped(int i)
{
	return cuMemUnmap(mapped[i], way_size);
}

/* Unmaps and releases the memory, so that only a second handle keeps it. */
static CUresult get_retained(int i)
{
	CUresult res = get_mapped(i);

	if (!res)
		res = cuMemRetainAllocationHandle(&got[i].h, (void *)mapped[i]);
	return res ? res : cuMemUnmap(mapped[i], way_size);
}

static CUresult get_row(int i)
{
	CUDA_ARRAY_DESCRIPTOR d = { way_size, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1 };

	return cuArrayCreate(&got[i].a, &d);
}

static CUresult get_plane(int i)
{
	CUDA_ARRAY_DESCRIPTOR d = { 1000, way_size / 16000, CU_AD_FORMAT_FLOAT, 4 };

	return cuArrayCreate(&got[i].a, &d);
}

/* Makes arrays of 786,432 bytes, of which two fit into a block. */
static CUresult get_odd(int i)
{
	CUDA_ARRAY_DESCRIPTOR d = { 1500, 400, CU_AD_FORMAT_UNSIGNED_INT8, 1 };

	return cuArrayCreate(&got[i].a, &d);
}

static CUresult get_3d(unsigned int depth, unsigned int flags, int i)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { 256, 256, depth, CU_AD_FORMAT_FLOAT, 4, flags };

	return cuArray3DCreate(&got[i].a, &d);
}

static CUresult get_box(int i)
{
	return get_3d(16, 0, i);
}

static CUresult get_layers(int i)
{
	return get_3d(6, CUDA_ARRAY3D_LAYERED, i);
}

static CUresult get_cube(int i)
{
	return get_3d(6, CUDA_ARRAY3D_CUBEMAP, i);
}

static CUresult get_surface(int i)
{
	return get_3d(0, CUDA_ARRAY3D_SURFACE_LDST, i);
}

static CUresult put_array(int i)
{
	return cuArrayDestroy(got[i].a);
}

static CUresult get_mipmap(int i)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { 1024, 1024, 0, CU_AD_FORMAT_FLOAT, 4, 0 };

	return cuMipmappedArrayCreate(&got[i].m, &d, 11);
}

static CUresult get_mipmap_row(int i)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { 4096, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0 };

	return cuMipmappedArrayCreate(&got[i].m, &d, 5);
}

static CUresult put_mipmap(int i)
{
	return cuMipmappedArrayDestroy(got[i].m);
}

static CUresult get_module(int i)
{
	return cuModuleLoadData(&got[i].mod, image);
}

static CUresult put_module(int i)
{
	return cuModuleUnload(got[i].mod);
}

static CUresult get_library(int i)
{
	return cuLibraryLoadData(&got[i].lib, image, NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult put_library(int i)
{
	return cuLibraryUnload(got[i].lib);
}

static CUresult get_stream(int i)
{
	return i % 2 ? cuStreamCreate(&got[i].stream, 0) :
		       cuStreamCreateWithPriority(&got[i].stream, CU_STREAM_NON_BLOCKING, 0);
}

static CUresult put_stream(int i)
{
	return cuStreamDestroy(got[i].stream);
}

static CUresult get_context(int i)
{
	CUcontext before, same;
	CUresult res;

	cuCtxGetCurrent(&before);
	res = cuCtxCreate_v2(&got[i].ctx, 0, 0);
	if (!res)
		cuCtxPopCurrent(&same);
	cuCtxSetCurrent(before);
	return res;
}

static CUresult put_context(int i)
{
	return cuCtxDestroy(got[i].ctx);
}

static CUresult more(CUlimit limit, uint64_t step)
{
	size_t now = 0;

	cuCtxGetLimit(&now, limit);
	return cuCtxSetLimit(limit, now + step);
}

static CUresult less(CUlimit limit, uint64_t step)
{
	size_t now = 0;

	cuCtxGetLimit(&now, limit);
	return cuCtxSetLimit(limit, now - step);
}

static CUresult get_stack(int i)
{
	(void)i;
	return more(CU_LIMIT_STACK_SIZE, 64);
}

static CUresult put_stack(int i)
{
	(void)i;
	return less(CU_LIMIT_STACK_SIZE, 64);
}

static CUresult launch(CUmodule m)
{
	CUfunction f;
	CUresult res = cuModuleGetFunction(&f, m, "run");

	if (!res)
		res = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	return res ? res : cuCtxSynchronize();
}

/* The first kernel of a context that uses a heap takes it; the heap ends with the context. */
static CUresult get_heap(int i)
{
	CUcontext before, same;
	CUmodule m;
	CUresult res;

	cuCtxGetCurrent(&before);
	res = cuCtxCreate_v2(&got[i].ctx, 0, 0);
	if (res)
		return res;
	res = cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, way_size);
	if (!res)
		res = cuModuleLoadData(&m, image_of_malloc);
	if (!res)
		res = launch(m);
	cuCtxPopCurrent(&same);
	cuCtxSetCurrent(before);
	if (res)
		cuCtxDestroy(got[i].ctx);
	return res;
}

/* Runs kernels whose threads have ever more memory of their own; it stays without the code. */
static CUresult get_local(int i)
{
	char text[sizeof(image_of_stack) + 16];
	CUmodule m;
	CUresult res;

	snprintf(text, sizeof(text), image_of_stack, 1024 + 64 * (i + 1));
	res = cuModuleLoadData(&m, text);
	if (res)
		return res;
	res = launch(m);
	cuModuleUnload(m);
	return res;
}

static CUresult put_local(int i)
{
	return i ? CUDA_SUCCESS : cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024);
}

/* Makes a graph whose allocation was captured; the launch takes the memory. */
static CUresult get_graph(int i)
{
	static CUstream stream;
	CUgraph graph;
	CUresult res = stream ? CUDA_SUCCESS : cuStreamCreate(&stream, 0);

	if (!res)
		res = cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (!res)
		res = cuMemAllocAsync(&mapped[i], way_size, stream);
	if (!res)
		res = cuStreamEndCapture(stream, &graph);
	if (!res)
		res = cuGraphInstantiate(&got[i].exec, graph, 0);
	if (res)
		return res;
	cuGraphDestroy(graph);
	res = cuGraphLaunch(got[i].exec, NULL);
	if (res)
		cuGraphExecDestroy(got[i].exec);
	return res;
}

/* Memory that a graph did not free lives on without the graph. */
static CUresult put_graph(int i)
{
	CUresult res = cuMemFree(mapped[i]);

	return res ? res : cuGraphExecDestroy(got[i].exec);
}

static const struct way {
	const char *name;
	uint64_t size;
	uint64_t step;		/* what the driver takes at a time */
	CUresult (*get)(int i);
	CUresult (*put)(int i);
	uint64_t room;		/* of the quota; 0: the usual room */
	bool late;		/* seen only after it was taken, and then undone */
} ways[] = {
	{ "plain_memory_of_a_byte", 1, 2 * MIB, get_plain, put_plain, 8 * MIB, false },
	{ "plain_memory_of_4_KiB", 4096, 2 * MIB, get_plain, put_plain, 40 * MIB, false },
	{ "plain_memory_of_1_MiB", MIB, 2 * MIB, get_plain, put_plain, 0, false },
	{ "plain_memory_of_a_byte_more", MIB + 1, 2 * MIB, get_plain, put_plain, 0, false },
	{ "plain_memory_that_leaves_gaps", 600000, 2 * MIB, get_plain, put_plain, 20 * MIB, false },
	{ "plain_memory_of_5_MiB", 5 * MIB, 6 * MIB, get_plain, put_plain, 0, false },
	{ "plain_memory_of_32_MiB", 32 * MIB, 32 * MIB, get_plain, put_plain, 0, false },
	{ "plain_memory_freed_in_a_stream", 4 * MIB, 4 * MIB, get_plain, put_async, 0, false },
	{ "pitched_memory_in_few_rows", 65536, 2 * MIB, get_pitched, put_plain, 0, false },
	{ "pitched_memory_in_many_rows", 8 * MIB, 8 * MIB, get_pitched, put_plain, 0, false },
	{ "stream_ordered_memory_of_16_KiB", 16384, 32 * MIB, get_async, put_async, 0, false },
	{ "stream_ordered_memory_of_3_MiB", 3 * MIB, 32 * MIB, get_async, put_async, 0, false },
	{ "stream_ordered_memory_of_40_MiB", 40 * MIB, 64 * MIB, get_async, put_async, 0, false },
	{ "stream_ordered_memory_freed_plainly", 8 * MIB, 32 * MIB, get_async, put_plain, 0, false },
	{ "memory_of_a_pool_of_its_own", 2 * MIB, 32 * MIB, get_from_pool, put_async, 0, false },
	{ "memory_of_the_default_pool", 16 * MIB, 32 * MIB, get_from_default, put_async, 0, false },
	{ "memory_of_the_chosen_pool", 16 * MIB, 32 * MIB, get_from_chosen, put_async, 0, false },
	{ "physical_memory", 2 * MIB, 2 * MIB, get_physical, put_physical, 0, false },
	{ "physical_memory_that_is_only_mapped", 4 * MIB, 4 * MIB, get_mapped, put_mapped, 0, false },
	{ "physical_memory_that_is_only_retained", 4 * MIB, 4 * MIB, get_retained, put_physical, 0, false },
	{ "array_of_one_row", 65536, 2 * MIB, get_row, put_array, 0, false },
	{ "array_of_two_dimensions", 16000000, 16 * MIB, get_plane, put_array, 0, false },
	{ "array_that_leaves_gaps", 0, 2 * MIB, get_odd, put_array, 20 * MIB, true },
	{ "array_of_three_dimensions", 0, 16 * MIB, get_box, put_array, 0, false },
	{ "array_of_layers", 0, 6 * MIB, get_layers, put_array, 0, false },
	{ "array_of_a_cube", 0, 6 * MIB, get_cube, put_array, 0, false },
	{ "array_for_surfaces", 0, 2 * MIB, get_surface, put_array, 0, false },
	{ "mipmap_of_eleven_levels", 0, 22 * MIB, get_mipmap, put_mipmap, 0, false },
	{ "mipmap_of_rows", 0, 2 * MIB, get_mipmap_row, put_mipmap, 0, false },
	{ "code_and_globals_of_modules", 0, MOCK_MODULE, get_module, put_module, 0, true },
	{ "code_and_globals_of_libraries", 0, MOCK_MODULE, get_library, put_library, 0, true },
	{ "streams", 0, MOCK_STREAM, get_stream, put_stream, 0, true },
	{ "contexts", 0, MOCK_CONTEXT, get_context, put_context, 0, false },
	{ "stacks", 0, 18 * MIB, get_stack, put_stack, 0, false },
	{ "stacks_of_kernels", 0, 22 * MIB, get_local, put_local, 0, true },
	{ "heaps_of_kernels", 64 * MIB, MOCK_CONTEXT + MOCK_CALLS + 66 * MIB, get_heap, put_context, 800 * MIB, true },
	{ "memory_of_graphs", 10 * MIB, 32 * MIB, get_graph, put_graph, 150 * MIB, false },
};
#define WAYS	(sizeof(ways) / sizeof(*ways))

/* --- One way, in a process of its own ------------------------------------------------------- */

static struct result {
	int started;
	int first, again, error, put_failed;
	uint64_t peak, left, driver, charge, smaller;
	uint64_t back_driver, back_charge, back_free, twice, context;
} *result;

static bool makes_contexts(const struct way *w)
{
	return w->get == get_context || w->get == get_heap;
}

/* Contexts, and code with calls, are larger on a real device. */
static uint64_t room_of(const struct way *w)
{
	if (real && makes_contexts(w))
		return 2048 * MIB;
	return w->room ? w->room : 160 * MIB;
}

static uint64_t step_of(const struct way *w)
{
	return real && makes_contexts(w) ? w->step + result->context - MOCK_CONTEXT + 128 * MIB :
					   w->step;
}

/* Opens the NVML beside the driver, because the client's own would say what the session says. */
static void open_nvml(void)
{
	const char *driver = getenv("WORMHOLE_BACKEND"), *slash = strrchr(driver, '/');
	char path[512];

	snprintf(path, sizeof(path), "%.*slibnvidia-ml.so.1", slash ? (int)(slash - driver) + 1 : 0,
		 driver);
	if (!nvml_open(path))
		abort();
}

/* Returns what the driver has taken. On a real device the highest figure that was seen is kept. */
static uint64_t driver_bytes(void)
{
	const uint32_t pid = (uint32_t)getpid();
	uint64_t bytes;

	if (!real)
		return gpu->used;
	if (!nvml_bytes(pid, &bytes) || !bytes)
		return 0;
	if (bytes > gpu->peak)
		gpu->peak = bytes;
	gpu->used = bytes;
	return bytes;
}

static int take_all(const struct way *w, CUresult *res)
{
	int n = 0;

	while (n < MAX_GOT && !(*res = w->get(n))) {
		n++;
		if (real && (n < 500 || n % 100 == 0))
			driver_bytes();
	}
	return n;
}

static void put_all(const struct way *w, int n)
{
	int i;

	for (i = n - 1; i >= 0; i--)
		if (w->put(i))
			result->put_failed++;
	cuStreamSynchronize(NULL);
	/* The driver keeps graphs' memory for the next graph, so it is trimmed. */
	if (w->get == get_graph)
		cuDeviceGraphMemTrim(0);
}

static void try_way(const struct way *w)
{
	struct result *r = result;
	CUstream stream;
	CUresult res;
	size_t free, total;
	CUdeviceptr p;

	way_size = w->size;
	if (real)
		open_nvml();
	r->started = start() != NULL && !make_pool();
	r->context = driver_bytes();
	/*
	 * The memory that comes with the first use of anything must be there before the
	 * measurement.
	 */
	if (w->get == get_graph && !w->get(0))
		put_all(w, 1);
	cuStreamCreate(&stream, 0);
	set_memory(driver_bytes() + room_of(w));
	gpu->peak = driver_bytes();
	r->first = take_all(w, &res);
	r->error = res;
	r->peak = gpu->peak - limits->device[0].memory + room_of(w);
	r->driver = driver_bytes();
	r->left = limits->device[0].memory - r->driver;
	r->charge = charged();
	/* The next smaller allocation still works. */
	r->smaller = r->left / (2 * MIB) * 2 * MIB;
	if (r->smaller && !cuMemAlloc(&p, r->smaller)) {
		r->smaller = 0;
		cuMemFree(p);
	}
	put_all(w, r->first);
	cuMemGetInfo(&free, &total);
	r->back_free = free;
	r->back_driver = driver_bytes();
	r->back_charge = charged();
	r->again = take_all(w, &res);
	put_all(w, r->again);
	/* Frees once more what is freed already. */
	if (w->put == put_plain || w->put == put_array || w->put == put_physical)
		w->put(0);
	cuMemGetInfo(&free, &total);
	r->twice = charged();
}

static void report(const struct way *w)
{
	uint64_t room = room_of(w), step = step_of(w), most = room + (w->late ? step : 0);
	const struct result *r = result;
	char name[160];

	snprintf(name, sizeof(name), "%s_stops_at_the_limit", w->name);
	if (!ok(r->started && r->first > 0 && r->first < MAX_GOT &&
		r->error == CUDA_ERROR_OUT_OF_MEMORY && r->peak <= most &&
		r->left < step + 2 * MIB && r->charge >= r->driver &&
		r->charge <= r->driver + r->left && !r->smaller, name))
		diag("got %d, error %d, peak %.1f of %llu MiB, left %.1f, driver %.1f, charged %.1f MiB, smaller %.1f",
		     r->first, r->error, (double)r->peak / MIB, room / MIB, (double)r->left / MIB,
		     (double)r->driver / MIB, (double)r->charge / MIB, (double)r->smaller / MIB);
	snprintf(name, sizeof(name), "%s_is_given_back_once", w->name);
	if (!ok(r->again == r->first && r->back_free == room && !r->put_failed &&
		r->back_charge == r->back_driver && r->twice == r->back_charge, name))
		diag("got %d then %d, free %.1f MiB, driver %.1f, charged %.1f, then %.1f, %d not freed",
		     r->first, r->again, (double)r->back_free / MIB, (double)r->back_driver / MIB,
		     (double)r->back_charge / MIB, (double)r->twice / MIB, r->put_failed);
}

/*
 * A GPU's driver takes a block for some streams, and keeps it when they have ended, for others. So
 * the one stream too many has left its block.
 */
static void report_streams(const struct way *w)
{
	const struct result *r = result;

	if (!ok(r->started && r->first > 0 && r->first < MAX_GOT &&
		r->error == CUDA_ERROR_OUT_OF_MEMORY && r->peak <= room_of(w) + 2 * MIB &&
		r->charge >= r->driver, "streams_stops_at_the_limit") |
	    !ok(r->again >= r->first && !r->put_failed && r->back_charge == r->back_driver,
		"streams_is_given_back_once"))
		diag("got %d then %d, error %d, peak %.1f, charged %.1f, driver %.1f MiB", r->first,
		     r->again, r->error, (double)r->peak / MIB, (double)r->charge / MIB,
		     (double)r->driver / MIB);
}

static void in_child(void (*f)(const struct way *), const struct way *w)
{
	pid_t pid;

	memset(result, 0, sizeof(*result));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		f(w);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc > 1 && !strcmp(argv[1], "--list")) {
		for (i = 0; i < WAYS; i++)
			puts(ways[i].name);
		return 0;
	}
	if (argc > 2 && !strcmp(argv[1], "--gpu")) {
		setenv("WORMHOLE_BACKEND", argv[2], 1);
		real = true;
		argc -= 2;
		argv[2] = argv[0];
		argv += 2;
	}
	make_tenant(argv[0], "tests/limits/bin/mock/libcuda.so.1");
	result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	tap_plan(argc > 1 ? 2 : 2 * WAYS);
	for (i = 0; i < WAYS; i++) {
		if (argc > 1 && strcmp(argv[1], ways[i].name))
			continue;
		fresh();
		in_child(try_way, &ways[i]);
		if (real && ways[i].get == get_stream)
			report_streams(&ways[i]);
		else
			report(&ways[i]);
	}
	remove_tenant();
	return tap_exit();
}
