// SPDX-License-Identifier: Apache-2.0
// The test promises the runtime to programs that were built with the headers of CUDA 12: the
// functions and structs that have another shape in 13, and some that do not. It holds for any
// runtime of 12.8 or 12.9 and any CUDA device.
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <string.h>

#include "../tap.h"
#include "of_older.h"

#if CUDART_VERSION / 1000 != 12
#error "the headers of CUDA 12 come first"
#endif

#define N 256

/* The headers lead these names to later forms; programs of the first 12 have them so. */
cudaError_t capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
			 unsigned long long *id) __asm__("cudaStreamGetCaptureInfo");
cudaError_t properties_of_11(void *prop, int device) __asm__("cudaGetDeviceProperties");
#define SIZE_OF_11 728

void *of_12_kernel(void);
void of_12_launch(int *x, int n, int v);

/* --- Devices -------------------------------------------------------------------------------- */

static void test_device(void)
{
	GUARDED(struct cudaDeviceProp) p;
	struct cudaDeviceProp want = { 0 };
	unsigned char old[SIZE_OF_11 + GUARD];
	int device = -1, runtime = 0, driver = 0;

	FILL(p);
	ok_err(cudaRuntimeGetVersion(&runtime), cudaSuccess, "the_runtime_has_a_version");
	ok_eq(runtime, CUDART_VERSION, "it_is_that_of_the_headers");
	ok(!cudaDriverGetVersion(&driver) && driver >= 12000, "the_driver_has_its_own");
	ok_err(cudaGetDeviceProperties(&p.it, 0), cudaSuccess, "a_device_has_properties");
	ok(KEPT(p), "the_struct_ends_where_that_of_12_ends");
	ok_eq(wrong_fields(&p.it, sizeof(p.it)), 0, "each_field_shows_its_attribute");
	ok(p.it.name[0] && p.it.totalGlobalMem && p.it.clockRate, "name_memory_and_clock_are_there");
	memset(old, 0xa5, sizeof(old));
	ok_err(properties_of_11(old, 0), cudaSuccess, "the_old_name_has_properties_too");
	ok(untouched(old + SIZE_OF_11, GUARD) && !wrong_fields(old, SIZE_OF_11),
	   "its_struct_is_that_of_11");
	ok_err(cudaGetDeviceProperties(&p.it, 99), cudaErrorInvalidDevice,
	       "the_properties_of_a_device_that_is_not_there_are_refused");
	cudaGetLastError();
	want.multiProcessorCount = 1;
	ok(!cudaChooseDevice(&device, &want) && device == 0, "a_device_is_found_by_its_properties");
}

/* --- Memory --------------------------------------------------------------------------------- */

static void test_prefetch_by_place(void)
{
	struct cudaMemLocation device = { .type = cudaMemLocationTypeDevice };
	int *m;

	NEED(cudaMallocManaged((void **)&m, 4096, cudaMemAttachGlobal));
	ok_err(cudaMemPrefetchAsync_v2(m, 4096, device, 0, NULL), cudaSuccess,
	       "the_second_form_works");
	NEED(cudaFree(m));
}

static void test_batch(void)
{
	int from[2][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } }, to[2][4] = { { 0 } };
	size_t sizes[2] = { sizeof(from[0]), sizeof(from[1]) }, index = 0, which = 77;
	struct cudaMemcpyAttributes attr = { .srcAccessOrder = cudaMemcpySrcAccessOrderStream };
	void *dev[2], *src[2] = { from[0], from[1] }, *dst[2] = { to[0], to[1] };
	cudaStream_t s;
	cudaError_t err;

	NEED(cudaStreamCreate(&s));
	NEED(cudaMalloc(&dev[0], sizes[0]));
	NEED(cudaMalloc(&dev[1], sizes[1]));
	err = cudaMemcpyBatchAsync(dev, src, sizes, 2, &attr, &index, 1, &which, s);
	if (err == cudaErrorNotSupported) {
		skip("many_copies_go_in_one_call", "this driver has no such call");
		skip("they_bring_the_data", "this driver has no such call");
	} else {
		ok(!err && which == 77, "many_copies_go_in_one_call");
		NEED(cudaMemcpyBatchAsync(dst, dev, sizes, 2, &attr, &index, 1, &which, s));
		NEED(cudaStreamSynchronize(s));
		ok(!memcmp(from, to, sizeof(to)), "they_bring_the_data");
	}
	err = cudaMemcpyBatchAsync(dst, dev, sizes, 0, &attr, &index, 1, &which, s);
	ok(err && which == SIZE_MAX, "an_error_of_no_one_copy_is_told_so");
	cudaGetLastError();
	NEED(cudaFree(dev[0]));
	NEED(cudaFree(dev[1]));
	NEED(cudaStreamDestroy(s));
}

static void test_textures(void)
{
	struct cudaChannelFormatDesc format = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
	GUARDED(struct cudaResourceDesc) back;
	struct cudaResourceDesc res = { .resType = cudaResourceTypeArray };
	struct cudaTextureDesc tex = { .readMode = cudaReadModeElementType };
	cudaTextureObject_t object;
	cudaArray_t array;

	FILL(back);
	NEED(cudaMallocArray(&array, &format, 16, 16, 0));
	res.res.array.array = array;
	ok_err(cudaCreateTextureObject(&object, &res, &tex, NULL), cudaSuccess, "a_texture_is_made");
	ok_err(cudaGetTextureObjectResourceDesc(&back.it, object), cudaSuccess, "its_resource_is_told");
	ok(back.it.resType == cudaResourceTypeArray && back.it.res.array.array == array,
	   "it_is_the_one_that_was_given");
	ok(KEPT(back), "nothing_is_written_behind_the_resource");
	NEED(cudaDestroyTextureObject(object));
	NEED(cudaFreeArray(array));
}

/* --- Kernels -------------------------------------------------------------------------------- */

static void test_kernels(void)
{
	struct cudaFuncAttributes attr;
	int *dev, n = N, v = 5;
	void *args[] = { &dev, &n, &v };
	dim3 grid = { N / 64, 1, 1 }, block = { 64, 1, 1 };
	struct cudaLaunchParams params = {
		.func = of_12_kernel(), .gridDim = grid, .blockDim = block, .args = args };

	NEED(cudaMalloc((void **)&dev, N * sizeof(*dev)));
	NEED(cudaMemset(dev, 0, N * sizeof(*dev)));
	of_12_launch(dev, N, 3);
	ok_err(cudaGetLastError(), cudaSuccess, "a_kernel_is_launched_by_the_compilers_code");
	ok_eq(first_value(dev), 3, "it_runs");
	ok_err(cudaLaunchKernel(of_12_kernel(), grid, block, args, 0, NULL), cudaSuccess,
	       "a_kernel_is_launched_by_its_host_function");
	ok_eq(first_value(dev), 8, "it_runs_too");
	ok(!cudaFuncGetAttributes(&attr, of_12_kernel()) && attr.maxThreadsPerBlock >= 64,
	   "it_has_attributes");
	ok_err(cudaLaunchCooperativeKernelMultiDevice(&params, 1, 0), cudaErrorNotSupported,
	       "a_launch_on_many_devices_is_refused");
	ok_err(cudaGetLastError(), cudaErrorNotSupported, "the_refusal_is_the_last_error");
	NEED(cudaFree(dev));
}

static void test_events(void)
{
	cudaEvent_t a, b;
	float ms = -1, ms2 = -1;

	NEED(cudaEventCreate(&a));
	NEED(cudaEventCreate(&b));
	NEED(cudaEventRecord(a, NULL));
	NEED(cudaEventRecord(b, NULL));
	NEED(cudaEventSynchronize(b));
	ok_err(cudaEventElapsedTime(&ms, a, b), cudaSuccess, "the_time_between_events_is_told");
	ok_err(cudaEventElapsedTime_v2(&ms2, a, b), cudaSuccess, "by_the_second_form_too");
	ok(ms >= 0 && ms == ms2, "both_tell_the_same");
	NEED(cudaEventDestroy(a));
	NEED(cudaEventDestroy(b));
}

/* --- Graphs --------------------------------------------------------------------------------- */

static void test_graph(void)
{
	cudaGraphNode_t n[3], from[4], to[4];
	struct cudaGraphNodeParams params = { .type = cudaGraphNodeTypeEmpty };
	cudaGraphEdgeData data[4];
	size_t count = 4;
	cudaGraph_t g;

	NEED(cudaGraphCreate(&g, 0));
	NEED(cudaGraphAddEmptyNode(&n[0], g, NULL, 0));
	NEED(cudaGraphAddEmptyNode(&n[1], g, NULL, 0));
	ok_err(cudaGraphAddDependencies(g, &n[0], &n[1], 1), cudaSuccess, "an_edge_is_added");
	ok_err(cudaGraphAddNode(&n[2], g, &n[1], 1, &params), cudaSuccess,
	       "a_node_of_any_type_is_added");
	ok(!cudaGraphGetEdges(g, from, to, &count) && count == 2, "the_edges_are_told");
	count = 4;
	ok(!cudaGraphNodeGetDependencies(n[1], from, &count) && count == 1 && from[0] == n[0],
	   "a_node_tells_what_it_depends_on");
	count = 4;
	ok(!cudaGraphNodeGetDependentNodes(n[1], to, &count) && count == 1 && to[0] == n[2],
	   "a_node_tells_what_depends_on_it");
	ok_err(cudaGraphRemoveDependencies(g, &n[0], &n[1], 1), cudaSuccess, "an_edge_is_removed");
	count = 4;
	ok(!cudaGraphGetEdges_v2(g, from, to, data, &count) && count == 1 && from[0] == n[1],
	   "the_second_form_tells_what_is_left");
	memset(data, 0, sizeof(data));
	ok(!cudaGraphAddDependencies_v2(g, &n[0], &n[2], data, 1) &&
	   !cudaGraphRemoveDependencies_v2(g, &n[0], &n[2], data, 1),
	   "the_second_form_adds_and_removes");
	NEED(cudaGraphDestroy(g));
}

static void test_capture(void)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	unsigned long long id = 0, id2 = 0, id3 = 0;
	const cudaGraphNode_t *deps = NULL;
	const cudaGraphEdgeData *edges = NULL;
	cudaGraphNode_t node;
	size_t count = 9;
	cudaGraph_t g = NULL;
	cudaStream_t s;
	void *p;

	NEED(cudaMalloc(&p, 256));
	NEED(cudaStreamCreate(&s));
	NEED(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	NEED(cudaMemsetAsync(p, 1, 256, s));
	ok(!capture_info(s, &status, &id) && status == cudaStreamCaptureStatusActive && id,
	   "a_capture_is_told_in_the_first_form");
	ok(!cudaStreamGetCaptureInfo(s, &status, &id2, &g, &deps, &count) && id2 == id && g &&
	   count == 1 && deps, "the_headers_form_tells_the_graph_as_well");
	count = 9;
	ok(!cudaStreamGetCaptureInfo_v3(s, &status, &id3, &g, &deps, &edges, &count) &&
	   id3 == id && count == 1, "the_third_form_tells_the_same");
	NEED(cudaGraphAddEmptyNode(&node, g, NULL, 0));
	ok_err(cudaStreamUpdateCaptureDependencies(s, &node, 1, cudaStreamSetCaptureDependencies),
	       cudaSuccess, "the_dependencies_are_set");
	count = 9;
	ok(!cudaStreamGetCaptureInfo(s, &status, NULL, NULL, &deps, &count) && count == 1 &&
	   deps[0] == node, "they_are_those_that_were_given");
	NEED(cudaStreamEndCapture(s, &g));
	NEED(cudaGraphDestroy(g));
	NEED(cudaStreamDestroy(s));
	NEED(cudaFree(p));
}

/* --- The driver's functions ------------------------------------------------------------------ */

static void *entry(const char *name, unsigned int version)
{
	enum cudaDriverEntryPointQueryResult found;
	void *f = NULL;

	NEED(version ? cudaGetDriverEntryPointByVersion(name, &f, version, 0, &found) :
		       cudaGetDriverEntryPoint(name, &f, 0, &found));
	return f;
}

static void test_entry_points(void)
{
	void *of_12 = entry("cuMemcpyBatchAsync", 12080), *of_13 = entry("cuMemcpyBatchAsync", 13000);

	ok(of_12 && of_12 != of_13, "a_driver_function_differs_between_12_and_13");
	ok(entry("cuMemcpyBatchAsync", 0) == of_12, "the_runtime_gives_that_of_12");
}

int main(void)
{
	tap_plan(59);
	test_device();
	test_old_names();
	test_pointers();
	test_managed();
	test_prefetch_by_place();
	test_batch();
	test_textures();
	test_kernels();
	test_events();
	test_graph();
	test_capture();
	test_entry_points();
	ok_err(cudaThreadExit(), cudaSuccess, "a_thread_ends_what_it_had");
	return tap_exit();
}
