// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that graphs made by hand or captured from streams do, when launched,
 * what their nodes say, in the order of their edges. They can be copied, changed and
 * asked. Captures obey the rules of the driver. It needs no hardware.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

/* Computes *p = *p * k + v. */
static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry mad(.param .u64 p, .param .u32 k, .param .u32 v)\n{\n"
	".reg .b64 %a<3>;\n.reg .b32 %r<6>;\n"
	"ld.param.u64 %a1, [p];\nld.param.u32 %r1, [k];\nld.param.u32 %r2, [v];\n"
	"cvta.to.global.u64 %a2, %a1;\nld.global.u32 %r3, [%a2];\n"
	"mad.lo.u32 %r4, %r3, %r1, %r2;\nst.global.u32 [%a2], %r4;\nret;\n}\n";

static CUstream s, s2;
static CUfunction mad;
static CUdeviceptr mem;
static unsigned int k3 = 3, v1 = 1, k1 = 1, v7 = 7;
static void *times3[] = { &mem, &k3, &v1 };
static void *plus7[] = { &mem, &k1, &v7 };

static void set(unsigned int v)
{
	cuMemcpyHtoD_v2(mem, &v, 4);
}

static unsigned int get(void)
{
	unsigned int v = 0;

	cuMemcpyDtoH_v2(&v, mem, 4);
	return v;
}

static CUDA_KERNEL_NODE_PARAMS kernel(void **args)
{
	return (CUDA_KERNEL_NODE_PARAMS){
		.func = mad, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
		.blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
		.kernelParams = args,
	};
}

static unsigned int run(CUgraphExec x, unsigned int start)
{
	set(start);
	if (cuGraphLaunch(x, s) || cuStreamSynchronize(s))
		return ~0u;
	return get();
}

static void by_hand(void)
{
	CUDA_KERNEL_NODE_PARAMS a = kernel(times3), b = kernel(plus7), q;
	CUgraphNode na, nb, found, none, edge_from[2], edge_to[2];
	size_t n = 2;
	CUgraphExec x;
	CUgraph g, c;

	cuGraphCreate(&g, 0);
	/* The nodes are made in the wrong order: only the edge says which comes first. */
	ok(!cuGraphAddKernelNode_v2(&nb, g, NULL, 0, &b) &&
	   !cuGraphAddKernelNode_v2(&na, g, NULL, 0, &a) &&
	   !cuGraphAddDependencies(g, &na, &nb, 1) &&
	   !cuGraphInstantiateWithFlags(&x, g, 0) && run(x, 5) == 5 * 3 + 1 + 7,
	   "nodes_run_in_the_order_of_their_edges");
	v7 = 1000;
	ok(run(x, 5) == 23, "parameters_are_copied_when_a_node_is_made");
	v7 = 7;
	ok(!cuGraphKernelNodeGetParams_v2(na, &q) && q.func == mad &&
	   *(unsigned int *)q.kernelParams[1] == 3, "parameters_come_back");
	b.kernelParams = times3;
	ok(!cuGraphExecKernelNodeSetParams_v2(x, nb, &b) &&
	   run(x, 1) == 13 && !cuGraphKernelNodeGetParams_v2(nb, &q) &&
	   *(unsigned int *)q.kernelParams[1] == 1,
	   "an_executable_changes_without_its_graph");
	ok(!cuGraphNodeSetEnabled(x, nb, 0) && run(x, 1) == 4,
	   "a_disabled_node_does_nothing");
	ok(!cuGraphClone(&c, g) && !cuGraphNodeFindInClone(&found, na, c) &&
	   found != na && cuGraphNodeFindInClone(&none, na, g) == CUDA_ERROR_INVALID_VALUE,
	   "a_clone_knows_where_its_nodes_come_from");
	ok(!cuGraphGetEdges(c, edge_from, edge_to, &n) && n == 1 &&
	   edge_from[0] == found, "a_clone_has_the_edges");
	ok(!cuGraphAddDependencies(g, &nb, &na, 1) &&
	   cuGraphInstantiateWithFlags(&x, g, 0) == CUDA_ERROR_INVALID_VALUE,
	   "a_cycle_is_refused");
	cuGraphDestroy(c);
	cuGraphDestroy(g);
	cuGraphExecDestroy(x);
}

/* Reads what a graph's picture says, into a string. */
static const char *picture(CUgraph g)
{
	static char text[4096];
	char path[] = "/tmp/graph-XXXXXX";
	int fd = mkstemp(path);
	ssize_t n = -1;

	if (fd >= 0 && !cuGraphDebugDotPrint(g, path, 0))
		n = read(fd, text, sizeof(text) - 1);
	close(fd);
	unlink(path);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void drawn(void)
{
	CUDA_KERNEL_NODE_PARAMS a = kernel(times3);
	CUgraphNode n;
	CUgraph g;

	cuGraphCreate(&g, 0);
	cuGraphAddKernelNode_v2(&n, g, NULL, 0, &a);
	ok(strstr(picture(g), "mad") != NULL, "a_picture_names_kernels");
	cuGraphDestroy(g);
}

static int order[8], calls;

static void note(void *p)
{
	order[calls++ % 8] = *(int *)p;
}

static void other_types(void)
{
	CUDA_MEMSET_NODE_PARAMS fill = { .dst = mem, .value = 4, .elementSize = 4,
					 .width = 1, .height = 1 };
	CUDA_KERNEL_NODE_PARAMS a = kernel(times3);
	unsigned int out = 0;
	CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = mem,
			       .dstMemoryType = CU_MEMORYTYPE_HOST,
			       .dstHost = &out, .WidthInBytes = 4, .Height = 1,
			       .Depth = 1 };
	int one = 1;
	CUDA_HOST_NODE_PARAMS host = { note, &one };
	CUgraphNode n[6];
	CUgraph g, outer;
	CUgraphExec x;

	cuGraphCreate(&g, 0);
	cuGraphCreate(&outer, 0);
	ok(!cuGraphAddMemsetNode(&n[0], g, NULL, 0, &fill, NULL) &&
	   !cuGraphAddKernelNode_v2(&n[1], g, &n[0], 1, &a) &&
	   !cuGraphAddMemcpyNode(&n[2], g, &n[1], 1, &copy, NULL) &&
	   !cuGraphAddHostNode(&n[3], g, &n[2], 1, &host) &&
	   !cuGraphAddChildGraphNode(&n[4], outer, NULL, 0, g) &&
	   !cuGraphAddEmptyNode(&n[5], outer, &n[4], 1) &&
	   !cuGraphInstantiateWithFlags(&x, outer, 0) &&
	   !cuGraphLaunch(x, s) && !cuGraphLaunch(x, s) && !cuStreamSynchronize(s),
	   "all_types_launch");
	ok(out == 13, "fill_kernel_and_copy_ran_in_order");
	ok(calls == 2 && order[0] == 1, "a_host_node_runs_once_for_each_launch");
	cuGraphExecDestroy(x);
	cuGraphDestroy(outer);
	cuGraphDestroy(g);
}

static CUgraph captured(void)
{
	CUgraph g = NULL;
	CUevent e;

	cuEventCreate(&e, 0);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	cuMemsetD32Async(mem, 2, 1, s);
	cuEventRecord(e, s);
	cuStreamWaitEvent(s2, e, 0);
	cuLaunchKernel(mad, 1, 1, 1, 1, 1, 1, 0, s2, times3, NULL);
	cuEventRecord(e, s2);
	cuStreamWaitEvent(s, e, 0);
	cuLaunchKernel(mad, 1, 1, 1, 1, 1, 1, 0, s, plus7, NULL);
	cuStreamEndCapture(s, &g);
	cuEventDestroy_v2(e);
	return g;
}

static void capture(void)
{
	CUstreamCaptureStatus status;
	CUgraphExecUpdateResultInfo info;
	CUresult launched, ended;
	CUgraphExec x;
	size_t n = 0;
	CUgraph g;

	set(50);
	g = captured();
	ok(g && get() == 50, "captured_work_does_not_run");
	ok(!cuGraphGetNodes(g, NULL, &n) && n == 3 &&
	   !cuGraphInstantiateWithFlags(&x, g, 0) && run(x, 50) == 14,
	   "captured_work_runs_when_launched");
	cuGraphDestroy(g);
	v7 = 8;
	g = captured();
	v7 = 7;
	ok(!cuGraphExecUpdate_v2(x, g, &info) && !info.result && run(x, 0) == 15,
	   "an_executable_is_updated_from_a_new_capture");
	cuGraphDestroy(g);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	cuMemsetD32Async(mem, 2, 1, s);
	cuStreamEndCapture(s, &g);
	ok(cuGraphExecUpdate_v2(x, g, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE &&
	   info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
	   "another_shape_is_no_update");
	cuGraphDestroy(g);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	launched = cuGraphLaunch(x, s);
	ended = cuStreamEndCapture(s, &g);
	if (!ok(launched == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
		ended == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED && !g,
		"a_launch_ends_the_capture_of_its_stream"))
		diag("launch %d, end %d", launched, ended);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	launched = cuGraphUpload(x, s);
	ended = cuStreamEndCapture(s, &g);
	ok(launched == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
	   ended == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "so_does_an_upload");
	set(1);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	launched = cuGraphLaunch(x, s2);
	ended = cuStreamEndCapture(s, &g);
	ok(!launched && !ended && !cuGraphGetNodes(g, NULL, &n) && !n &&
	   !cuStreamSynchronize(s2) && get() == 15, "a_launch_in_another_stream_runs");
	cuGraphDestroy(g);
	cuGraphExecDestroy(x);
	ok(!cuStreamIsCapturing(s2, &status) && !status,
	   "a_joined_stream_is_free_after_the_end");
}

static void rules(void)
{
	CUstreamCaptureStatus status;
	CUdeviceptr p = 0;
	CUgraph g;
	CUevent e;

	cuEventCreate(&e, 0);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	ok(cuStreamSynchronize(s) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
	   !cuStreamIsCapturing(s, &status) &&
	   status == CU_STREAM_CAPTURE_STATUS_INVALIDATED &&
	   cuStreamEndCapture(s, &g) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED &&
	   !g, "waiting_for_a_capturing_stream_ends_the_capture");
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	cuEventRecord(e, s);
	cuStreamWaitEvent(s2, e, 0);
	cuMemsetD32Async(mem, 2, 1, s2);
	ok(cuEventQuery(e) == CUDA_ERROR_CAPTURED_EVENT,
	   "a_captured_event_cannot_be_asked");
	ok(cuStreamEndCapture(s2, &g) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
	   "only_the_origin_ends_a_capture");
	cuStreamEndCapture(s, &g);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	cuEventRecord(e, s);
	cuStreamWaitEvent(s2, e, 0);
	cuMemsetD32Async(mem, 2, 1, s2);
	ok(cuStreamEndCapture(s, &g) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
	   "a_stream_left_open_is_an_error");
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	ok(cuMemAlloc_v2(&p, 64) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	   "allocation_is_unsafe_in_a_global_capture");
	cuStreamEndCapture(s, &g);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	ok(!cuMemAlloc_v2(&p, 64) && !cuStreamEndCapture(s, &g),
	   "allocation_is_allowed_in_a_relaxed_capture");
	cuMemFree_v2(p);
	cuGraphDestroy(g);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	ok(cuLaunchKernel(mad, 1, 1, 1, 1, 1, 1, 0, NULL, plus7, NULL) ==
	   CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
	   "the_legacy_stream_must_not_wait_for_a_capture");
	cuStreamEndCapture(s, &g);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	ok(cuStreamIsCapturing(NULL, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT &&
	   !cuStreamEndCapture(s, &g), "a_question_to_the_legacy_stream_ends_no_capture");
	cuGraphDestroy(g);
	ok(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL) ==
	   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	   "the_legacy_stream_cannot_capture");
	cuEventDestroy_v2(e);
}

/* A worker reports the destruction when it has time. */
static int destroyed;

static void destroy(void *p)
{
	destroyed += *(int *)p;
}

static void objects(void)
{
	CUuserObject o;
	CUgraphExec x;
	int one = 1, i;
	CUgraph g;

	cuGraphCreate(&g, 0);
	ok(!cuUserObjectCreate(&o, &one, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) &&
	   !cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE) &&
	   !cuGraphInstantiateWithFlags(&x, g, 0) && !cuGraphDestroy(g) &&
	   !destroyed, "an_executable_keeps_user_objects");
	cuGraphExecDestroy(x);
	for (i = 0; i < 5000 && !__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	ok(destroyed == 1, "the_last_reference_runs_the_destructor");
}

static cuuint64_t reserved(void)
{
	cuuint64_t bytes = ~0ull;

	cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes);
	return bytes;
}

static void memory_nodes(CUcontext ctx)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
		.bytesize = 4096,
	};
	CUDA_MEMSET_NODE_PARAMS fill = { .value = 9, .elementSize = 4, .width = 1,
					 .height = 1 };
	CUresult made, launched, waited, copied;
	CUgraphNode alloc, set_it;
	CUmemorytype type;
	unsigned int v = 0;
	CUgraphExec x;
	CUgraph g, c;

	cuGraphCreate(&g, 0);
	ok(!cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &p) && p.dptr,
	   "an_allocation_node_has_its_address_at_once");
	fill.dst = p.dptr;
	ok(cuMemcpyDtoH_v2(&v, p.dptr, 4) == CUDA_ERROR_INVALID_VALUE &&
	   cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p.dptr) ==
	   CUDA_ERROR_INVALID_VALUE, "its_memory_is_absent_before_a_launch");
	ok(cuGraphAddMemsetNode(&set_it, g, &alloc, 1, &fill, NULL) == CUDA_ERROR_INVALID_VALUE &&
	   !cuGraphAddMemsetNode(&set_it, g, &alloc, 1, &fill, ctx),
	   "a_node_that_fills_it_needs_a_context");
	ok(cuGraphClone(&c, g) == CUDA_ERROR_NOT_SUPPORTED,
	   "graphs_with_memory_nodes_are_not_cloned");
	made = cuGraphInstantiateWithFlags(&x, g, 0);
	ok_eq((long long)reserved(), 0, "nothing_is_reserved_before_a_launch");
	launched = cuGraphLaunch(x, s);
	waited = cuStreamSynchronize(s);
	copied = cuMemcpyDtoH_v2(&v, p.dptr, 4);
	if (!ok(!made && !launched && !waited && !copied && v == 9, "its_memory_works"))
		diag("made %d, launched %d, waited %d, copied %d: %u", made, launched, waited,
		     copied, v);
	ok(cuGraphLaunch(x, s) == CUDA_ERROR_INVALID_VALUE,
	   "memory_not_freed_forbids_another_launch");
	ok(!cuMemFree_v2(p.dptr) && !cuGraphLaunch(x, s) &&
	   !cuMemFreeAsync(p.dptr, s) && !cuStreamSynchronize(s),
	   "memory_of_a_graph_can_be_freed_outside");
	/* A GPU's driver reserves it in steps of 32 MiB. */
	ok(reserved() == 4096 || reserved() == 32 << 20, "freed_it_is_reserved");
	cuDeviceGraphMemTrim(0);
	ok_eq((long long)reserved(), 0, "until_it_is_trimmed");
	cuGraphExecDestroy(x);
	cuGraphDestroy(g);
	ok(cuMemcpyDtoH_v2(&v, p.dptr, 4) == CUDA_ERROR_INVALID_VALUE,
	   "memory_goes_with_the_last_graph");
}

int main(void)
{
	CUcontext ctx;
	CUmodule m;

	tap_plan(43);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuStreamCreate(&s, 0);
	cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING);
	cuMemAlloc_v2(&mem, 64);
	ok(!cuModuleLoadData(&m, ptx) && !cuModuleGetFunction(&mad, m, "mad"),
	   "the_kernel_loads");
	by_hand();
	drawn();
	other_types();
	capture();
	rules();
	objects();
	memory_nodes(ctx);
	return tap_exit();
}
