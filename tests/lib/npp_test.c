// SPDX-License-Identifier: Apache-2.0
/* A program of NPP, over a library that writes down what it is told (fake_npp.c). */
#include <npp.h>

#include "lib_test.h"

static CUdeviceptr pixels;
static NppStreamContext context;
static const NppiSize size = { 64, 32 };
static const char where[] = "stream=own device=0 sms=7 flags=1";

/* The address at an offset, as the double spells it. */
static void *at(size_t offset)
{
	return (void *)(pixels + offset);
}

static void test_registers(void)
{
	static const Npp8u constant[3] = { 1, 20, 255 };
	static const double coefficients[2][3] = { { 0.5, 1, 2 }, { 3, 4, -7.25 } };
	NppiRect from = { 1, 2, 3, 4 }, to = { 5, 6, 7, 8 };
	Npp32fc single = { 1.5f, -2 };
	Npp64fc twice = { 0.125, 3e100 };
	char want[512];

	ok(!nppiAddC_8u_C3RSfs_Ctx(at(0), 192, constant, at(8192), 200, size, -3, context),
	   "a_function_with_more_than_six_integers_is_called");
	snprintf(want, sizeof(want), "add 1,20,255 %p,192 to %p,200 64x32 scale=-3 %s", at(0),
		 at(8192), where);
	told(want, "with_all_of_them_and_constants_of_host_memory");
	nppiMulC_32f_C1R_Ctx(at(0), 256, 0.75f, at(512), 256, size, context);
	snprintf(want, sizeof(want), "multiply by 0.75 %p,256 to %p,256 64x32 %s", at(0), at(512),
		 where);
	told(want, "a_number_of_floating_point_comes_as_it_is");
	nppsMulC_32fc_Ctx(at(0), single, at(64), 5000000000, context);
	snprintf(want, sizeof(want), "multiply by 1.5+-2i %p to %p 5000000000 %s", at(0), at(64),
		 where);
	told(want, "a_complex_number_comes_in_one_register");
	nppsMulC_64fc_Ctx(at(0), twice, at(64), 3, context);
	snprintf(want, sizeof(want), "multiply by 0.125+3e+100i %p to %p 3 %s", at(0), at(64), where);
	told(want, "or_in_two");
	nppiWarpAffine_8u_C1R_Ctx(at(0), size, 64, from, at(4096), 128, to, coefficients,
				  NPPI_INTER_CUBIC, context);
	snprintf(want, sizeof(want), "warp %p,64 64x32 1,2,3,4 to %p,128 5,6,7,8 by 0.5..-7.25 how=4 %s",
		 at(0), at(4096), where);
	told(want, "structs_come_in_registers_or_on_the_stack");
}

static void test_host_memory(void)
{
	NppiConnectedRegion region[2] = { [1].nConnectedPixelCount = 2 };
	double box[2][2] = { { 0 } };
	NppiPoint seed = { 9, 8 };
	size_t bytes[2] = { 0, 5 };
	char one[128], want[300];

	ok(!nppiMeanGetBufferHostSize_8u_C1R_Ctx(size, bytes, context) &&
	   bytes[0] == 64ull << 33 && bytes[1] == 5, "a_size_comes_back");
	ok(nppiMeanGetBufferHostSize_8u_C1R_Ctx((NppiSize){ 1, 0 }, bytes, context) ==
	   NPP_NO_OPERATION_WARNING && bytes[0] == 1ull << 33, "with_a_warning_too");
	ok(nppiMeanGetBufferHostSize_8u_C1R_Ctx(size, NULL, context) == NPP_NULL_POINTER_ERROR,
	   "the_library_judges_NULL");
	news();
	ok(!nppiFloodFill_8u_C1IR_Ctx(at(0), 64, seed, 200, nppiNormL1, size, region, at(4096),
				      context) && region[0].nConnectedPixelCount == 77 &&
	   region[1].nConnectedPixelCount == 2, "a_struct_comes_back");
	ok(!nppiFloodFill_8u_C1IR_Ctx(at(0), 64, seed, 200, nppiNormL1, size, NULL, at(4096),
				      context), "unless_the_program_wants_none");
	snprintf(one, sizeof(one), "fill %p,64 from 9,8 by 200 norm=%d 64x32 work=%p", at(0),
		 nppiNormL1, at(4096));
	snprintf(want, sizeof(want), "%s|%s", one, one);
	told(want, "both_were_told");
	ok(!nppiGetRotateBound((NppiRect){ 1, 2, 30, 40 }, box, 45, 0.5, -0.25) &&
	   box[0][0] == 0.5 && box[1][0] == 30.5 && box[1][1] == 39.75,
	   "a_function_without_a_stream_answers_by_an_array");
	told("bound 1,2,30,40 angle=45", "from_doubles_in_registers");
}

static void test_addresses(void)
{
	const Npp8u *planes[3] = { at(0), at(2048), at(4096) };
	static float host[64 * 32];
	void *pinned = NULL;
	char want[256];

	ok(!nppiCopy_8u_P3C3R_Ctx(planes, 64, at(8192), 192, size, context),
	   "an_array_of_addresses_is_taken");
	snprintf(want, sizeof(want), "join %p %p %p,64 to %p,192 64x32", at(0), at(2048), at(4096),
		 at(8192));
	told(want, "each_of_which_is_told");
	planes[2] = (const Npp8u *)host;
	ok(nppiCopy_8u_P3C3R_Ctx(planes, 64, at(8192), 192, size, context) ==
	   NPP_BAD_ARGUMENT_ERROR, "an_array_with_an_address_of_a_process_is_refused");
	ok(nppiMulC_32f_C1R_Ctx(host, 256, 1, at(512), 256, size, context) ==
	   NPP_BAD_ARGUMENT_ERROR, "so_is_such_an_address");
	cuMemHostAlloc(&pinned, 4096, 0);
	ok(nppiMulC_32f_C1R_Ctx(at(0), 256, 1, pinned, 256, size, context) ==
	   NPP_BAD_ARGUMENT_ERROR, "and_pinned_memory");
	told("", "and_the_library_hears_of_none");
	context.hStream = (cudaStream_t)0x1234560;
	ok(nppiMulC_32f_C1R_Ctx(at(0), 256, 1, at(512), 256, size, context) ==
	   NPP_BAD_ARGUMENT_ERROR, "a_stream_that_is_none_is_refused");
	context.hStream = NULL;
	cuMemFreeHost(pinned);
}

static void test_memory(void)
{
	CUdeviceptr base = 0;
	size_t bytes = 0;
	Npp32f *image;
	int step = 0;
	Npp16s *signal;

	image = nppiMalloc_32f_C3(100, 20, &step);
	ok(image && step >= 1200 && step % 4 == 0 &&
	   !cuMemGetAddressRange(&base, &bytes, (CUdeviceptr)image) && bytes >= 20u * step,
	   "an_image_has_room_for_its_rows");
	signal = nppsMalloc_16s(1000);
	ok(signal && !cuMemGetAddressRange(&base, &bytes, (CUdeviceptr)signal) && bytes >= 2000,
	   "a_signal_has_room_for_its_numbers");
	nppiFree(image);
	nppsFree(signal);
	ok(cuMemGetAddressRange(&base, &bytes, (CUdeviceptr)signal), "both_end");
	ok(!nppiMalloc_8u_C1(0, 5, &step) && !nppsMalloc_64fc(SIZE_MAX / 2),
	   "there_is_no_memory_of_no_size_and_of_an_endless_one");
}

int main(void)
{
	const NppLibraryVersion *version;
	Npp32s levels[4];
	CUstream stream;
	CUdevice dev;
	CUcontext ctx;

	tap_plan(29);
	cuInit(0);
	cuDeviceGet(&dev, 0);
	cuDevicePrimaryCtxRetain(&ctx, dev);
	cuCtxSetCurrent(ctx);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	pixels = device(NULL, 1 << 20);
	context = (NppStreamContext) { .hStream = (cudaStream_t)stream, .nCudaDeviceId = 55,
				       .nMultiProcessorCount = 7, .nStreamFlags = 1 };
	version = nppGetLibVersion();
	ok(version->major == 13 && version->minor == 7 && version->build == 42 &&
	   nppGetLibVersion() == version, "the_version_is_the_workers");
	told("version", "and_asked_for_once");
	test_registers();
	test_host_memory();
	test_addresses();
	test_memory();
	ok(nppiSet_8u_C1R_Ctx(5, at(0), 64, size, context) == NPP_NOT_SUPPORTED_MODE_ERROR,
	   "what_the_library_lacks_is_not_supported");
	ok(nppiEvenLevelsHost_32s(levels, 4, 0, 255) == NPP_NOT_SUPPORTED_MODE_ERROR,
	   "what_is_refused_is_not_supported");
	return tap_exit();
}
