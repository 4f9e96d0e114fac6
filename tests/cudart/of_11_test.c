// SPDX-License-Identifier: Apache-2.0
// The test promises the runtime to programs that were built with the headers of CUDA 11: the
// functions and structs that have another shape in 12 or 13, and some that do not. It holds for a
// runtime of 11.8 and any CUDA device, but for what is refused.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "../tap.h"
#include "of_older.h"

#if CUDART_VERSION / 1000 != 11
#error "the headers of CUDA 11 come first"
#endif

_Static_assert(sizeof(struct cudaDeviceProp) == 728, "the struct is that of 11.8");

#define N 256
#define PAGE 4096

/* A header of its own declares it, which is not in the package of the runtime. */
cudaError_t cudaProfilerInitialize(const char *config, const char *output, int mode);

extern struct textureReference of_11_row, of_11_plane;
extern struct surfaceReference of_11_surface;
void of_11_draw(void);
void of_11_fetch_row(void), of_11_fetch_plane(void);
void *of_11_kernel(void);
void of_11_launch(int *x, int n, int v);

/* --- Devices -------------------------------------------------------------------------------- */

/* Returns memory of that size behind which nothing can be read. */
static void *at_the_end(size_t size)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE)) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	return pages + PAGE - size;
}

static void test_device(void)
{
	GUARDED(struct cudaDeviceProp) p;
	struct cudaDeviceProp *want = at_the_end(sizeof(*want));
	int device = -1, runtime = 0, driver = 0;

	FILL(p);
	ok_err(cudaRuntimeGetVersion(&runtime), cudaSuccess, "the_runtime_has_a_version");
	ok_eq(runtime, CUDART_VERSION, "it_is_that_of_the_headers");
	ok(!cudaDriverGetVersion(&driver) && driver >= 11080, "the_driver_has_its_own");
	ok_err(cudaGetDeviceProperties(&p.it, 0), cudaSuccess, "a_device_has_properties");
	ok(KEPT(p), "the_struct_ends_where_that_of_11_ends");
	ok_eq(wrong_fields(&p.it, sizeof(p.it)), 0, "each_field_shows_its_attribute");
	ok(p.it.name[0] && p.it.totalGlobalMem && p.it.clockRate, "name_memory_and_clock_are_there");
	ok_err(cudaGetDeviceProperties(&p.it, 99), cudaErrorInvalidDevice,
	       "the_properties_of_a_device_that_is_not_there_are_refused");
	cudaGetLastError();
	want->multiProcessorCount = 1;
	ok(!cudaChooseDevice(&device, want) && device == 0,
	   "a_device_is_found_by_the_fields_of_11_alone");
}

static void test_profiler(void)
{
	ok_err(cudaProfilerInitialize("", "", 1), cudaErrorNotSupported,
	       "the_profilers_settings_are_refused");
	cudaGetLastError();
}

/* --- Textures -------------------------------------------------------------------------------- */

/* Only a cube's faces have seams, so the driver wants a cubemap. */
static void test_seamless(const struct cudaResourceDesc *plane)
{
	struct cudaChannelFormatDesc format = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
	struct cudaResourceDesc cube = { .resType = cudaResourceTypeArray };
	struct cudaTextureDesc_v2 tex = { .seamlessCubemap = 1 };
	struct cudaExtent faces = { 16, 16, 6 };
	GUARDED(struct cudaTextureDesc_v2) back;
	cudaTextureObject_t object;

	FILL(back);
	NEED(cudaMalloc3DArray(&cube.res.array.array, &format, faces, cudaArrayCubemap));
	ok(!cudaCreateTextureObject_v2(&object, &cube, &tex, NULL) &&
	   !cudaGetTextureObjectTextureDesc_v2(&back.it, object) && back.it.seamlessCubemap == 1 &&
	   KEPT(back), "the_second_form_makes_a_seamless_one_of_a_cubemap");
	NEED(cudaDestroyTextureObject(object));
	ok_err(cudaCreateTextureObject_v2(&object, plane, &tex, NULL), cudaErrorInvalidValue,
	       "and_none_of_an_array_without_faces");
	cudaGetLastError();
	NEED(cudaFreeArray(cube.res.array.array));
}

/* The second form has one field more at its end, which the first must not show. */
static void test_objects(void)
{
	struct cudaChannelFormatDesc format = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
	struct cudaResourceDesc res = { .resType = cudaResourceTypeArray };
	struct cudaTextureDesc *tex = at_the_end(sizeof(*tex));
	GUARDED(struct cudaTextureDesc_v2) back2;
	GUARDED(struct cudaTextureDesc) back;
	GUARDED(struct cudaResourceDesc) from;
	cudaTextureObject_t object;
	cudaArray_t array;

	FILL(back);
	FILL(back2);
	FILL(from);
	NEED(cudaMallocArray(&array, &format, 16, 16, 0));
	res.res.array.array = array;
	tex->maxAnisotropy = 3;
	tex->readMode = cudaReadModeElementType;
	ok_err(cudaCreateTextureObject(&object, &res, tex, NULL), cudaSuccess,
	       "a_texture_is_made_of_the_fields_of_11");
	ok(!cudaGetTextureObjectTextureDesc(&back.it, object) && back.it.maxAnisotropy == 3 &&
	   KEPT(back), "its_sampling_is_told_in_a_struct_of_11");
	ok(!cudaGetTextureObjectResourceDesc(&from.it, object) && KEPT(from) &&
	   from.it.res.array.array == array, "its_resource_is_told_in_a_struct_of_11");
	ok(!cudaGetTextureObjectTextureDesc_v2(&back2.it, object) && !back2.it.seamlessCubemap &&
	   KEPT(back2), "the_second_form_tells_that_it_is_not_seamless");
	test_seamless(&res);
	NEED(cudaDestroyTextureObject(object));
	NEED(cudaFreeArray(array));
}

/* Returns what the kernel fetches of the row at its last place, or -1. */
static float last_of_row(float *out, int n)
{
	void *args[] = { &out, &n };
	dim3 grid = { (n + 63) / 64, 1, 1 }, block = { 64, 1, 1 };
	float value = -1;

	NEED(cudaMemset(out, 0, n * sizeof(*out)));
	return cudaLaunchKernel((void *)of_11_fetch_row, grid, block, args, 0, NULL) ||
	       cudaMemcpy(&value, out + n - 1, sizeof(value), cudaMemcpyDeviceToHost) ? -1 : value;
}

static float of_plane(float *out, float x, float y)
{
	void *args[] = { &out, &x, &y };
	dim3 one = { 1, 1, 1 };
	float value = -1;

	return cudaLaunchKernel((void *)of_11_fetch_plane, one, one, args, 0, NULL) ||
	       cudaMemcpy(&value, out, sizeof(value), cudaMemcpyDeviceToHost) ? -1 : value;
}

static void test_row(float *out)
{
	struct cudaChannelFormatDesc floats = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
	const struct textureReference *found = NULL;
	struct textureReference unknown = { 0 };
	float host[2 * N], *p;
	size_t offset = 7;
	int i;

	for (i = 0; i < 2 * N; i++)
		host[i] = i + 0.5f;
	NEED(cudaMalloc((void **)&p, sizeof(host)));
	NEED(cudaMemcpy(p, host, sizeof(host), cudaMemcpyHostToDevice));
	ok(cudaGetTextureAlignmentOffset(&offset, &of_11_row) == cudaErrorInvalidTextureBinding &&
	   offset == 7, "a_reference_to_which_nothing_is_bound_has_no_offset");
	ok_err(cudaBindTexture(&offset, &of_11_row, p, &floats, sizeof(host)), cudaSuccess,
	       "memory_is_bound_to_a_reference");
	ok(!offset && last_of_row(out, N) == N - 0.5f, "a_kernel_fetches_it");
	ok(!cudaBindTexture(&offset, &of_11_row, p + 2, &floats, sizeof(host) - 8) &&
	   offset == 8 && last_of_row(out, N) == N - 0.5f,
	   "memory_that_is_not_aligned_is_bound_with_an_offset");
	ok(!cudaGetTextureAlignmentOffset(&offset, &of_11_row) && offset == 8, "which_is_told");
	ok_err(cudaBindTexture(NULL, &of_11_row, p + 2, &floats, 64), cudaErrorInvalidValue,
	       "without_a_place_for_the_offset_it_is_refused");
	ok(!cudaBindTexture(NULL, &of_11_row, p + N, &floats, 0xffffffff) &&
	   last_of_row(out, N) == 2 * N - 0.5f, "without_a_size_all_that_follows_is_bound");
	ok(!cudaGetTextureReference(&found, &of_11_row) && found == &of_11_row,
	   "a_reference_is_found_by_its_symbol");
	ok(cudaGetTextureReference(&found, &unknown) == cudaErrorInvalidTexture &&
	   cudaBindTexture(NULL, &unknown, p, &floats, 64) == cudaErrorInvalidTexture &&
	   cudaGetLastError() == cudaErrorInvalidTexture, "one_that_nobody_registered_is_an_error");
	ok(!cudaUnbindTexture(&of_11_row) &&
	   cudaGetTextureAlignmentOffset(&offset, &of_11_row) == cudaErrorInvalidTextureBinding,
	   "what_is_bound_is_unbound");
	cudaGetLastError();
	NEED(cudaFree(p));
}

/*
 * A device mixes texels by weights of 8 bits of a fraction (CUDA C++ Programming Guide, "Linear
 * Filtering"), so a value between two has an error of half such a step at most.
 */
#define SAMPLED	(1 / 512.0f)

/* Bytes that are read as numbers of [0, 1], between texels, by coordinates of [0, 1]. */
static void test_plane(float *out)
{
	struct cudaChannelFormatDesc bytes = { 8, 0, 0, 0, cudaChannelFormatKindUnsigned };
	unsigned char host[4][512] = { { 0, 51, 102 }, { 255, 153, 204 } };
	cudaArray_t array;
	size_t pitch;
	void *p;

	NEED(cudaMallocPitch(&p, &pitch, 512, 4));
	NEED(cudaMemcpy2D(p, pitch, host, 512, 512, 4, cudaMemcpyHostToDevice));
	of_11_plane.filterMode = cudaFilterModePoint;
	ok(!cudaBindTexture2D(NULL, &of_11_plane, p, &bytes, 512, 4, pitch) &&
	   of_plane(out, 1.5f, 0.5f) == 0.2f && of_plane(out, 1.5f, 1.5f) == 0.6f,
	   "a_plane_is_bound_and_fetched");
	NEED(cudaMallocArray(&array, &bytes, 4, 2, 0));
	NEED(cudaMemcpy2DToArray(array, 0, 0, host, 512, 4, 2, cudaMemcpyHostToDevice));
	of_11_plane.filterMode = cudaFilterModeLinear;
	of_11_plane.normalized = 1;
	of_11_plane.addressMode[0] = of_11_plane.addressMode[1] = cudaAddressModeClamp;
	ok(!cudaBindTextureToArray(&of_11_plane, array, &bytes) &&
	   fabsf(of_plane(out, 0.25f, 0.25f) - 0.1f) < SAMPLED && of_plane(out, 0.0f, 1.0f) == 1.0f,
	   "an_array_is_bound_and_sampled_as_the_reference_says");
	NEED(cudaFreeArray(array));
	NEED(cudaFree(p));
}

static int draws(unsigned int x, unsigned int y, unsigned int value)
{
	void *args[] = { &x, &y, &value };
	dim3 one = { 1, 1, 1 };

	return !cudaLaunchKernel((void *)of_11_draw, one, one, args, 0, NULL) &&
	       !cudaDeviceSynchronize();
}

static void test_surface(void)
{
	struct cudaChannelFormatDesc words = { 32, 0, 0, 0, cudaChannelFormatKindUnsigned };
	const struct surfaceReference *found = NULL;
	struct surfaceReference unknown = { { 0 } };
	cudaArray_t array, plain;
	unsigned int back[2][8];

	NEED(cudaMallocArray(&array, &words, 8, 2, cudaArraySurfaceLoadStore));
	NEED(cudaMallocArray(&plain, &words, 8, 2, 0));
	ok_err(cudaBindSurfaceToArray(&of_11_surface, array, &words), cudaSuccess,
	       "an_array_is_bound_to_a_reference_to_a_surface");
	ok(draws(7, 1, 1234) && draws(0, 0, 5) &&
	   !cudaMemcpy2DFromArray(back, 32, array, 0, 0, 32, 2, cudaMemcpyDeviceToHost) &&
	   back[1][7] == 1234 && back[0][0] == 5, "a_kernel_writes_to_it");
	ok(!cudaGetSurfaceReference(&found, &of_11_surface) && found == &of_11_surface,
	   "a_surface_is_found_by_its_symbol");
	ok(cudaGetSurfaceReference(&found, &of_11_row) == cudaErrorInvalidSurface &&
	   cudaBindSurfaceToArray(&unknown, array, &words) == cudaErrorInvalidSurface &&
	   cudaGetLastError() == cudaErrorInvalidSurface, "no_other_reference_is_a_surface");
	ok_err(cudaBindSurfaceToArray(&of_11_surface, plain, &words), cudaErrorInvalidValue,
	       "an_array_that_is_for_no_surface_is_refused");
	cudaGetLastError();
	NEED(cudaFreeArray(array));
	NEED(cudaFreeArray(plain));
}

static void test_references(void)
{
	float *out;

	NEED(cudaMalloc((void **)&out, N * sizeof(*out)));
	test_row(out);
	test_plane(out);
	test_surface();
	NEED(cudaFree(out));
}

/* --- Kernels -------------------------------------------------------------------------------- */

static void test_kernels(void)
{
	GUARDED(struct cudaFuncAttributes) attr;
	int *dev, n = N, v = 5;
	void *args[] = { &dev, &n, &v };
	dim3 grid = { N / 64, 1, 1 }, block = { 64, 1, 1 };
	struct cudaLaunchParams params = {
		.func = of_11_kernel(), .gridDim = grid, .blockDim = block, .args = args };

	FILL(attr);
	NEED(cudaMalloc((void **)&dev, N * sizeof(*dev)));
	NEED(cudaMemset(dev, 0, N * sizeof(*dev)));
	of_11_launch(dev, N, 3);
	ok_err(cudaGetLastError(), cudaSuccess, "a_kernel_is_launched_by_the_compilers_code");
	ok_eq(first_value(dev), 3, "it_runs");
	ok_err(cudaLaunchKernel(of_11_kernel(), grid, block, args, 0, NULL), cudaSuccess,
	       "a_kernel_is_launched_by_its_host_function");
	ok_eq(first_value(dev), 8, "it_runs_too");
	ok(!cudaFuncGetAttributes(&attr.it, of_11_kernel()) && attr.it.maxThreadsPerBlock >= 64,
	   "it_has_attributes");
	ok(KEPT(attr), "nothing_is_written_behind_them");
	ok_err(cudaLaunchCooperativeKernelMultiDevice(&params, 1, 0), cudaErrorNotSupported,
	       "a_launch_on_many_devices_is_refused");
	cudaGetLastError();
	NEED(cudaFree(dev));
}

static void test_events(void)
{
	cudaEvent_t a, b;
	float ms = -1;

	NEED(cudaEventCreate(&a));
	NEED(cudaEventCreate(&b));
	NEED(cudaEventRecord(a, NULL));
	NEED(cudaEventRecord(b, NULL));
	NEED(cudaEventSynchronize(b));
	ok(!cudaEventElapsedTime(&ms, a, b) && ms >= 0, "the_time_between_events_is_told");
	NEED(cudaEventDestroy(a));
	NEED(cudaEventDestroy(b));
}

/* --- Graphs --------------------------------------------------------------------------------- */

static void test_edges(void)
{
	cudaGraphNode_t n[2], from[4], to[4];
	size_t count = 4;
	cudaGraph_t g;

	NEED(cudaGraphCreate(&g, 0));
	NEED(cudaGraphAddEmptyNode(&n[0], g, NULL, 0));
	NEED(cudaGraphAddEmptyNode(&n[1], g, NULL, 0));
	ok_err(cudaGraphAddDependencies(g, &n[0], &n[1], 1), cudaSuccess, "an_edge_is_added");
	ok(!cudaGraphGetEdges(g, from, to, &count) && count == 1 && from[0] == n[0] &&
	   to[0] == n[1], "the_edges_are_told");
	count = 4;
	ok(!cudaGraphNodeGetDependencies(n[1], from, &count) && count == 1 && from[0] == n[0],
	   "a_node_tells_what_it_depends_on");
	count = 4;
	ok(!cudaGraphNodeGetDependentNodes(n[0], to, &count) && count == 1 && to[0] == n[1],
	   "a_node_tells_what_depends_on_it");
	ok_err(cudaGraphRemoveDependencies(g, &n[0], &n[1], 1), cudaSuccess, "an_edge_is_removed");
	NEED(cudaGraphDestroy(g));
}

/* Returns a graph of a fill of `p` and, with `more`, an empty node behind it. */
static cudaGraph_t fill_graph(void *p, int value, int more)
{
	struct cudaMemsetParams fill = { .dst = p, .value = value, .elementSize = 1, .width = 64,
					 .height = 1, .pitch = 64 };
	cudaGraphNode_t node, next;
	cudaGraph_t g;

	NEED(cudaGraphCreate(&g, 0));
	NEED(cudaGraphAddMemsetNode(&node, g, NULL, 0, &fill));
	if (more)
		NEED(cudaGraphAddEmptyNode(&next, g, &node, 1));
	return g;
}

static void test_executable_graphs(void)
{
	enum cudaGraphExecUpdateResult result = cudaGraphExecUpdateError;
	cudaGraphNode_t bad = (cudaGraphNode_t)&result;
	unsigned char value = 0;
	char text[16] = "unchanged";
	cudaGraph_t g, g2, g3;
	cudaGraphExec_t exec;
	void *p;

	NEED(cudaMalloc(&p, 64));
	g = fill_graph(p, 5, 0);
	g2 = fill_graph(p, 6, 0);
	g3 = fill_graph(p, 7, 1);
	ok_err(cudaGraphInstantiate(&exec, g, &bad, text, sizeof(text)), cudaSuccess,
	       "a_graph_is_made_executable");
	ok(!text[0], "its_text_of_errors_is_empty");
	ok(!cudaGraphLaunch(exec, NULL) && !cudaMemcpy(&value, p, 1, cudaMemcpyDeviceToHost) &&
	   value == 5, "it_runs_as_a_graph");
	ok(!cudaGraphExecUpdate(exec, g2, &bad, &result) && result == cudaGraphExecUpdateSuccess,
	   "it_is_updated");
	ok(!cudaGraphLaunch(exec, NULL) && !cudaMemcpy(&value, p, 1, cudaMemcpyDeviceToHost) &&
	   value == 6, "it_runs_as_updated");
	ok(cudaGraphExecUpdate(exec, g3, &bad, &result) == cudaErrorGraphExecUpdateFailure &&
	   result == cudaGraphExecUpdateErrorTopologyChanged,
	   "an_update_that_does_not_fit_is_told_with_its_reason");
	cudaGetLastError();
	ok_err(cudaGraphInstantiate(NULL, g, NULL, NULL, 0), cudaErrorInvalidValue,
	       "a_graph_without_a_place_for_it_is_refused");
	cudaGetLastError();
	NEED(cudaGraphExecDestroy(exec));
	NEED(cudaGraphDestroy(g));
	NEED(cudaGraphDestroy(g2));
	NEED(cudaGraphDestroy(g3));
	NEED(cudaFree(p));
}

static void test_capture(void)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	unsigned long long id = 0, id2 = 0;
	const cudaGraphNode_t *deps = NULL;
	cudaGraphNode_t node;
	size_t count = 9;
	cudaGraph_t g = NULL;
	cudaStream_t s;
	void *p;

	NEED(cudaMalloc(&p, 256));
	NEED(cudaStreamCreate(&s));
	NEED(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	NEED(cudaMemsetAsync(p, 1, 256, s));
	ok(!cudaStreamGetCaptureInfo(s, &status, &id) && id &&
	   status == cudaStreamCaptureStatusActive, "a_capture_is_told");
	ok(!cudaStreamGetCaptureInfo_v2(s, &status, &id2, &g, &deps, &count) && id2 == id && g &&
	   count == 1 && deps, "the_second_form_tells_the_graph_as_well");
	NEED(cudaGraphAddEmptyNode(&node, g, NULL, 0));
	ok_err(cudaStreamUpdateCaptureDependencies(s, &node, 1, cudaStreamSetCaptureDependencies),
	       cudaSuccess, "the_dependencies_are_set");
	ok(!cudaStreamGetCaptureInfo_v2(s, &status, NULL, NULL, &deps, &count) && count == 1 &&
	   deps[0] == node, "they_are_those_that_were_given");
	NEED(cudaStreamEndCapture(s, &g));
	NEED(cudaGraphDestroy(g));
	NEED(cudaStreamDestroy(s));
	NEED(cudaFree(p));
}

/* --- The driver's functions ------------------------------------------------------------------ */

/* cuGraphInstantiate has five arguments in 11, and three in 12. */
static void test_entry_points(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *f = NULL, *none = &f;

	ok_err(cudaGetDriverEntryPoint("cuGraphInstantiate", &f, cudaEnableDefault), cudaSuccess,
	       "a_driver_function_is_found");
	ok(driver && f && f == dlsym(driver, "cuGraphInstantiate_v2"), "it_is_that_of_11");
	ok_err(cudaGetDriverEntryPoint("cuNoSuchFunction", &none, cudaEnableDefault),
	       cudaErrorSymbolNotFound, "one_that_is_not_there_is_an_error");
	cudaGetLastError();
}

int main(void)
{
	tap_plan(75);
	test_device();
	test_old_names();
	test_profiler();
	test_pointers();
	test_managed();
	test_objects();
	test_references();
	test_kernels();
	test_events();
	test_edges();
	test_executable_graphs();
	test_capture();
	test_entry_points();
	ok_err(cudaThreadExit(), cudaSuccess, "a_thread_ends_what_it_had");
	return tap_exit();
}
