// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that softgpu encodes tensor maps of tiled memory by which kernels copy boxes,
 * and that it refuses what cuda.h forbids. tests/ptx/tensor_test.c looks at the copies themselves.
 * The expectations hold on a GPU of compute capability 9.0, too, but for what softgpu says it does
 * not support.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

#define ROWS	20
#define COLUMNS	64

/* One thread loads a box of 4 rows of 16 words, beginning at column c0 and row c1. */
static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 c0, "
	".param .u32 c1)\n{\n"
	".reg .b32 %b, %s, %x, %y, %i, %v;\n.reg .b64 %m, %o;\n.reg .pred %p;\n"
	".shared .align 128 .b8 tile[256];\n.shared .align 8 .b64 bar;\n"
	"mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %o, [out]; cvta.to.global.u64 %o, %o;\n"
	"ld.param.u32 %x, [c0]; ld.param.u32 %y, [c1]; mov.u32 %b, bar; mov.u32 %s, tile;\n"
	"mbarrier.init.shared.b64 [%b], 1; fence.proxy.async;\n"
	"mbarrier.arrive.expect_tx.shared.b64 _, [%b], 256;\n"
	"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
	"[%s], [%m, {%x, %y}], [%b];\n"
	"W: mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra W; mov.u32 %i, 0;\n"
	"L: ld.shared.u32 %v, [%s]; st.global.u32 [%o], %v; add.u32 %s, %s, 4; add.u64 %o, %o, 4;\n"
	"add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 64; @%p bra L; ret;\n}\n";

/* Arguments of cuTensorMapEncodeTiled(), of which each point changes one. */
struct tiled {
	CUtensorMapDataType type;
	cuuint32_t rank;
	CUdeviceptr address;
	cuuint64_t dim[5], stride[4];
	cuuint32_t box[5], step[5];
	CUtensorMapInterleave interleave;
	CUtensorMapSwizzle swizzle;
	CUtensorMapL2promotion promotion;
	CUtensorMapFloatOOBfill fill;
};

static CUdeviceptr memory, out_dev;
static CUtensorMap map;

static struct tiled words(void)
{
	return (struct tiled){
		.type = CU_TENSOR_MAP_DATA_TYPE_UINT32, .rank = 2, .address = memory,
		.dim = { COLUMNS, ROWS }, .stride = { COLUMNS * 4 }, .box = { 16, 4 },
		.step = { 1, 1 },
	};
}

static CUresult encode(const struct tiled *t)
{
	return cuTensorMapEncodeTiled(&map, t->type, t->rank, (void *)(uintptr_t)t->address, t->dim,
				      t->stride, t->box, t->step, t->interleave, t->swizzle,
				      t->promotion, t->fill);
}

static CUfunction kernel;

/* Returns whether the box at a column and a row is the one of memory, whose words count up. */
static int loads(int column, int row, unsigned int from)
{
	unsigned int out[64];
	void *args[] = { &map, &out_dev, &column, &row };

	if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) ||
	    cuMemcpyDtoH_v2(out, out_dev, sizeof(out)))
		return 0;
	for (int i = 0; i < 64; i++) {
		int x = column + i % 16, y = row + i / 16;
		int there = x >= 0 && x < COLUMNS && y >= 0 && y < ROWS;

		if (out[i] != (there ? from + y * COLUMNS + x : 0))
			return 0;
	}
	return 1;
}

static void copies(void)
{
	struct tiled t = words();

	ok(!encode(&t) && loads(16, 3, 0), "a_kernel_loads_a_box_by_its_map");
	ok(loads(52, 18, 0) && loads(-8, -2, 0), "what_is_beyond_the_tensor_is_zero");
	ok(!cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(memory + 4 * COLUMNS)) &&
	   loads(0, 0, COLUMNS), "a_map_gets_another_address");
}

#define INVALID(change, name) do { \
	struct tiled t = words(); \
	change; \
	ok(encode(&t) == CUDA_ERROR_INVALID_VALUE, name); \
} while (0)

#define UNSUPPORTED(change, name) do { \
	struct tiled t = words(); \
	change; \
	ok(encode(&t) == CUDA_ERROR_NOT_SUPPORTED, name); \
} while (0)

static void arguments(void)
{
	INVALID(t.rank = 0, "a_rank_of_0_is_invalid");
	INVALID(t.rank = 6, "a_rank_of_6_is_invalid");
	INVALID(t.address += 8, "an_address_that_is_not_aligned_is_invalid");
	INVALID(t.dim[1] = 0, "a_dimension_of_0_is_invalid");
	INVALID(t.dim[1] = (1ull << 32) + 1, "a_dimension_above_2_32_is_invalid");
	INVALID(t.stride[0] = 260, "a_stride_that_is_no_multiple_of_16_is_invalid");
	INVALID(t.stride[0] = 1ull << 40, "a_stride_of_2_40_is_invalid");
	INVALID(t.box[0] = 0, "a_box_of_0_is_invalid");
	INVALID(t.box[1] = 257, "a_box_of_257_is_invalid");
	INVALID(t.box[0] = 3, "a_row_of_a_box_that_is_no_multiple_of_16_bytes_is_invalid");
	INVALID(t.step[1] = 0, "an_element_stride_of_0_is_invalid");
	INVALID(t.step[1] = 9, "an_element_stride_of_9_is_invalid");
	INVALID(t.swizzle = CU_TENSOR_MAP_SWIZZLE_32B, "a_row_wider_than_its_swizzle_is_invalid");
	INVALID(t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
		"NaNs_around_integers_are_invalid");
	INVALID(t.type = (CUtensorMapDataType)99, "a_type_that_does_not_exist_is_invalid");
	UNSUPPORTED(t.type = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, "types_that_round_are_not_supported");
	UNSUPPORTED(t.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B, "packed_types_are_not_supported");
	UNSUPPORTED(t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B,
		    "swizzles_of_larger_atoms_are_not_supported");
	UNSUPPORTED(t.rank = 3; t.dim[2] = t.box[2] = t.step[2] = 1; t.stride[1] = 512;
		    t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B,
		    "interleaved_layouts_are_not_supported");
}

static void replacing(void)
{
	struct tiled t = words();

	ok(!encode(&t) && cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(memory + 4)) ==
	   CUDA_ERROR_INVALID_VALUE, "another_address_must_be_aligned_too");
	memset(&map, 0, sizeof(map));
	ok(cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)memory) == CUDA_ERROR_INVALID_VALUE,
	   "what_was_never_encoded_gets_no_address");
}

int main(void)
{
	unsigned int all[(ROWS + 1) * COLUMNS];
	int has = 0;
	CUcontext ctx;
	CUmodule mod;

	for (unsigned int i = 0; i < (ROWS + 1) * COLUMNS; i++)
		all[i] = i;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cuMemAlloc_v2(&memory, sizeof(all)) || cuMemAlloc_v2(&out_dev, 256) ||
	    cuMemcpyHtoD_v2(memory, all, sizeof(all)) || cuModuleLoadData(&mod, ptx) ||
	    cuModuleGetFunction(&kernel, mod, "k")) {
		ok(0, "the_device_is_there");
		return tap_exit();
	}
	ok(!cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0) && has,
	   "the_device_says_that_it_has_tensor_maps");
	copies();
	arguments();
	replacing();
	return tap_exit();
}
