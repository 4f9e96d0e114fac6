// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that launches have the clusters that they or their kernels ask for, and
 * that shapes which do not fit are the error that NVIDIA's driver answers. The expectations
 * are an H200's answers, but for the number of multiprocessors.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

/* Each block writes 100 times its rank and the size of its cluster; 10000 more if explicit. */
#define KERNEL(name, directives) \
	".visible .entry " name "(.param .u64 out) " directives "\n{\n" \
	".reg .b64 %o;\n.reg .b32 %b, %r, %n;\n.reg .pred %p;\nld.param.u64 %o, [out];\n" \
	"mov.u32 %b, %ctaid.x;\nmad.wide.u32 %o, %b, 4, %o;\nmov.u32 %r, %cluster_ctarank;\n" \
	"mov.u32 %n, %cluster_nctarank;\nmad.lo.u32 %r, %r, 100, %n;\n" \
	"mov.pred %p, %is_explicit_cluster;\n@%p add.u32 %r, %r, 10000;\n" \
	"st.global.u32 [%o], %r;\nret;\n}\n"

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
	KERNEL("free", "") KERNEL("two", ".explicitcluster .reqnctapercluster 2")
	KERNEL("demands", ".explicitcluster") KERNEL("bounded", ".maxclusterrank 4")
	KERNEL("large", ".explicitcluster .reqnctapercluster 16");

#define BLOCKS	32

static CUmodule mod;
static CUdeviceptr mem;
static unsigned int out[BLOCKS];

static CUfunction get(const char *name)
{
	CUfunction f = NULL;

	cuModuleGetFunction(&f, mod, name);
	return f;
}

struct wanted {
	CUlaunchConfig config;
	CUlaunchAttribute attr[2];
};

/* @x of -1: the launch gives no shape. */
static CUlaunchConfig *wanted(struct wanted *w, unsigned int grid, int x, int y, int z)
{
	memset(w, 0, sizeof(*w));
	w->config = (CUlaunchConfig){ .gridDimX = grid, .gridDimY = 1, .gridDimZ = 1,
				      .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
				      .attrs = w->attr, .numAttrs = x >= 0 };
	w->attr[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
	w->attr[0].value.clusterDim.x = x;
	w->attr[0].value.clusterDim.y = y;
	w->attr[0].value.clusterDim.z = z;
	return &w->config;
}

static CUresult launch(const char *name, unsigned int grid, int x, int y, int z)
{
	void *args[] = { &mem };
	struct wanted w;
	CUresult rc = cuLaunchKernelEx(wanted(&w, grid, x, y, z), get(name), args, NULL);

	if (!rc)
		cuMemcpyDtoH_v2(out, mem, sizeof(out));
	return rc;
}

/* Whether the last launch had clusters of this size along x. */
static int clusters(unsigned int blocks, unsigned int size, unsigned int is_explicit)
{
	for (unsigned int i = 0; i < blocks; i++)
		if (out[i] != i % size * 100 + size + is_explicit * 10000) {
			diag("block %u: %u", i, out[i]);
			return 0;
		}
	return 1;
}

static int is_bad(CUresult rc)
{
	return rc == CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

static int attribute(const char *name, CUfunction_attribute which)
{
	int value = -7;

	cuFuncGetAttribute(&value, which, get(name));
	return value;
}

static CUresult set(const char *name, CUfunction_attribute which, int value)
{
	return cuFuncSetAttribute(get(name), which, value);
}

static void shapes(void)
{
	ok(!launch("free", 4, 2, 1, 1) && clusters(4, 2, 1), "a_launch_gives_its_clusters_a_shape");
	ok(!launch("free", 8, 8, 1, 1) && clusters(8, 8, 1), "eight_blocks_are_portable");
	ok(!launch("free", 7, 7, 1, 1) && clusters(7, 7, 1), "a_size_need_be_no_power_of_two");
	ok(!launch("free", 4, -1, 0, 0) && clusters(4, 1, 0) && !launch("free", 4, 0, 0, 0) &&
	   clusters(4, 1, 0), "zeros_are_no_shape");
	ok(!launch("free", 4, 1, 1, 1) && clusters(4, 1, 1), "one_block_is_a_shape");
	ok(is_bad(launch("free", 4, 3, 1, 1)) && is_bad(launch("free", 4, 2, 2, 1)),
	   "a_shape_that_does_not_divide_the_grid_is_an_error");
	ok(is_bad(launch("free", 4, 0, 1, 1)) && is_bad(launch("free", 4, 2, 0, 1)),
	   "a_single_zero_is_an_error");
	ok(is_bad(launch("free", 9, 9, 1, 1)) && is_bad(launch("free", 16, 16, 1, 1)),
	   "nine_blocks_are_not_portable");
}

static void kernels(void)
{
	ok(!launch("two", 4, -1, 0, 0) && clusters(4, 2, 1) && !launch("two", 4, 2, 1, 1) &&
	   clusters(4, 2, 1), "a_kernel_gives_its_clusters_a_shape");
	ok(is_bad(launch("two", 3, -1, 0, 0)) && is_bad(launch("two", 4, 4, 1, 1)) &&
	   is_bad(launch("two", 4, 1, 1, 1)), "another_shape_is_an_error");
	ok(is_bad(launch("demands", 4, -1, 0, 0)) && !launch("demands", 4, 4, 1, 1) &&
	   clusters(4, 4, 1), "a_kernel_may_demand_a_shape_of_the_launch");
	ok(!launch("bounded", 4, 4, 1, 1) && is_bad(launch("bounded", 8, 8, 1, 1)),
	   "a_kernel_may_bound_the_size");
	ok(attribute("two", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) == 1 &&
	   attribute("two", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) == 2 &&
	   attribute("two", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT) == 1 &&
	   attribute("two", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH) == 1 &&
	   attribute("demands", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) == 1 &&
	   !attribute("demands", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) &&
	   !attribute("free", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET),
	   "attributes_tell_what_a_kernel_requires");
	ok(set("two", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4) == CUDA_ERROR_INVALID_VALUE &&
	   set("free", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, -1) == CUDA_ERROR_INVALID_VALUE &&
	   set("free", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 1) == CUDA_ERROR_INVALID_VALUE &&
	   set("free", CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 9) ==
	   CUDA_ERROR_INVALID_VALUE &&
	   !set("free", CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 1),
	   "what_the_code_requires_cannot_be_set");
	ok(!set("demands", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2) &&
	   is_bad(launch("demands", 4, -1, 0, 0)) &&
	   !set("demands", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1) &&
	   !set("demands", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1) &&
	   !launch("demands", 4, -1, 0, 0) && clusters(4, 2, 1) &&
	   is_bad(launch("demands", 4, 4, 1, 1)), "an_attribute_gives_a_shape");
	ok(is_bad(launch("large", 16, -1, 0, 0)) &&
	   !set("large", CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) &&
	   !launch("large", 16, -1, 0, 0) && clusters(16, 16, 1) &&
	   !set("free", CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) &&
	   !launch("free", 15, 15, 1, 1) && clusters(15, 15, 1) &&
	   is_bad(launch("free", 17, 17, 1, 1)) &&
	   !set("free", CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0),
	   "sixteen_blocks_need_leave");
}

static void questions(void)
{
	int size = -1, active = -1, portable, none, sms = 0, cluster = 0, per = 0;
	struct wanted w;

	cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
	cuDeviceGetAttribute(&cluster, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0);
	ok_eq(cluster, 1, "the_device_has_clusters");
	ok(!cuOccupancyMaxPotentialClusterSize(&size, get("free"), wanted(&w, 4, -1, 0, 0)) &&
	   size == 8 &&
	   !cuOccupancyMaxPotentialClusterSize(&size, get("large"), wanted(&w, 16, -1, 0, 0)) &&
	   size == 16, "the_largest_size_is_8_or_by_leave_16");
	cuOccupancyMaxActiveBlocksPerMultiprocessor(&per, get("free"), 1024, 0);
	wanted(&w, 64, 8, 1, 1)->blockDimX = 1024;
	ok(!cuOccupancyMaxActiveClusters(&active, get("free"), &w.config) && active > 0 &&
	   active <= per * sms / 8, "active_clusters_fit_on_the_device");
	none = cuOccupancyMaxActiveClusters(&active, get("free"), wanted(&w, 4, -1, 0, 0));
	ok(!none && !active, "without_clusters_none_is_active");
	wanted(&w, 4, 2, 1, 1)->sharedMemBytes = 200000;
	portable = cuOccupancyMaxPotentialClusterSize(&size, get("free"), &w.config);
	ok(!portable && !size && !cuOccupancyMaxActiveClusters(&active, get("free"), &w.config) &&
	   !active, "blocks_that_do_not_fit_make_no_cluster");
	ok(is_bad(cuOccupancyMaxActiveClusters(&active, get("free"), wanted(&w, 4, 3, 1, 1))) &&
	   is_bad(cuOccupancyMaxPotentialClusterSize(&size, get("free"),
						     wanted(&w, 16, 16, 1, 1))),
	   "shapes_are_checked_as_in_a_launch");
	ok(cuOccupancyMaxActiveClusters(NULL, get("free"), &w.config) ==
	   CUDA_ERROR_INVALID_VALUE &&
	   cuOccupancyMaxPotentialClusterSize(&size, get("free"), NULL) ==
	   CUDA_ERROR_INVALID_VALUE, "nothing_to_ask_is_an_error");
}

static void cooperative(void)
{
	void *args[] = { &mem };
	struct wanted w;
	CUresult rc;

	wanted(&w, 4, 2, 1, 1)->numAttrs = 2;
	w.attr[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
	w.attr[1].value.cooperative = 1;
	rc = cuLaunchKernelEx(&w.config, get("free"), args, NULL);
	cuMemcpyDtoH_v2(out, mem, sizeof(out));
	ok(!rc && clusters(4, 2, 1), "a_cooperative_grid_has_clusters");
	w.config.gridDimX = 1u << 20;
	ok(cuLaunchKernelEx(&w.config, get("free"), args, NULL) ==
	   CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "it_can_be_too_large");
}

static int launched(CUgraph graph, unsigned int size, unsigned int is_explicit)
{
	CUgraphExec exec;

	cuMemsetD8_v2(mem, 0, sizeof(out));
	if (cuGraphInstantiateWithFlags(&exec, graph, 0) || cuGraphLaunch(exec, NULL) ||
	    cuCtxSynchronize() || cuGraphExecDestroy(exec))
		return 0;
	cuMemcpyDtoH_v2(out, mem, sizeof(out));
	return clusters(8, size, is_explicit);
}

static void graphs(void)
{
	void *args[] = { &mem };
	CUDA_KERNEL_NODE_PARAMS_v2 p = { .func = get("free"), .gridDimX = 8, .gridDimY = 1,
					 .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
					 .blockDimZ = 1, .kernelParams = args };
	CUkernelNodeAttrValue v = { 0 }, seen = { 0 };
	CUgraphNode node, other;
	struct wanted w;
	CUstream s;
	CUgraph g;
	size_t n = 1;

	cuGraphCreate(&g, 0);
	cuGraphAddKernelNode_v2(&node, g, NULL, 0, &p);
	v.clusterDim.x = 4, v.clusterDim.y = v.clusterDim.z = 1;
	ok(!cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v) &&
	   !cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &seen) &&
	   seen.clusterDim.x == 4 && launched(g, 4, 1), "a_node_has_clusters");
	ok(!cuGraphKernelNodeSetParams_v2(node, &p) && launched(g, 4, 1),
	   "other_parameters_keep_the_clusters");
	cuGraphAddKernelNode_v2(&other, g, &node, 1, &p);
	ok(launched(g, 1, 0) && !cuGraphKernelNodeCopyAttributes(other, node) && launched(g, 4, 1),
	   "attributes_are_copied_with_clusters");
	v.clusterDim.x = 3;
	ok(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v) &&
	   launched(g, 4, 1), "a_shape_that_does_not_fit_changes_nothing");
	cuGraphDestroy(g);
	cuStreamCreate(&s, 0);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	wanted(&w, 8, 2, 1, 1)->hStream = s;
	cuLaunchKernelEx(&w.config, get("free"), args, NULL);
	cuStreamEndCapture(s, &g);
	cuGraphGetNodes(g, &node, &n);
	memset(&seen, 0, sizeof(seen));
	ok(launched(g, 2, 1) &&
	   !cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &seen) &&
	   seen.clusterDim.x == 2, "a_captured_launch_has_its_clusters");
	cuGraphDestroy(g);
}

int main(void)
{
	CUcontext ctx;

	tap_plan(31);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuMemAlloc_v2(&mem, sizeof(out));
	ok(!cuModuleLoadData(&mod, ptx), "the_kernels_load");
	shapes();
	kernels();
	questions();
	cooperative();
	graphs();
	return tap_exit();
}
