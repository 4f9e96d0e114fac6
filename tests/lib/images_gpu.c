// SPDX-License-Identifier: Apache-2.0
/*
 * nvJPEG and NPP at work: a picture that is made here is encoded, parsed, and decoded at once, in
 * phases and as a batch. NPP adds, filters, resizes, turns and measures it. It prints a line for
 * each, which must be the same with the genuine libraries and with the stubs over them. It needs a
 * GPU.
 */
#include <cuda.h>
#include <npp.h>
#include <nvjpeg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH	320
#define HEIGHT	240
#define BYTES	(WIDTH * HEIGHT * 3)
#define MOST	(1u << 20)

static CUdeviceptr picture, result, work;
static nvjpegHandle_t handle;
static uint8_t jpeg[MOST];
static size_t length;
static NppStreamContext context;
static const NppiSize size = { WIDTH, HEIGHT };

static uint64_t sum(const uint8_t *p, size_t n)
{
	uint64_t h = 14695981039346656037ULL;

	while (n--)
		h = (h ^ *p++) * 1099511628211ULL;
	return h;
}

static void say(const char *what, int status, size_t n)
{
	static uint8_t host[BYTES * 4];

	memset(host, 0, n);
	cuStreamSynchronize((CUstream)context.hStream);
	cuMemcpyDtoH(host, result, n);
	printf("%s: %d %016llx\n", what, status, (unsigned long long)sum(host, n));
	cuMemsetD8(result, 0, BYTES * 4);
}

static void draw(void)
{
	static uint8_t host[BYTES];
	int x, y;

	for (y = 0; y < HEIGHT; y++) {
		for (x = 0; x < WIDTH; x++) {
			host[(y * WIDTH + x) * 3] = x * 255 / WIDTH;
			host[(y * WIDTH + x) * 3 + 1] = y * 255 / HEIGHT;
			host[(y * WIDTH + x) * 3 + 2] = (x / 16 + y / 16) % 2 * 200;
		}
	}
	cuMemcpyHtoD(picture, host, BYTES);
}

/* --- nvJPEG ---------------------------------------------------------------------------- */

static nvjpegImage_t image(CUdeviceptr at)
{
	return (nvjpegImage_t) { .channel = { (void *)at }, .pitch = { WIDTH * 3 } };
}

static void encode(void)
{
	nvjpegImage_t from = image(picture);
	nvjpegEncoderParams_t params;
	nvjpegEncoderState_t state;
	int res;

	nvjpegEncoderStateCreate(handle, &state, context.hStream);
	nvjpegEncoderParamsCreate(handle, &params, context.hStream);
	nvjpegEncoderParamsSetQuality(params, 90, context.hStream);
	nvjpegEncoderParamsSetSamplingFactors(params, NVJPEG_CSS_420, context.hStream);
	res = nvjpegEncodeImage(handle, state, params, &from, NVJPEG_INPUT_RGBI, WIDTH, HEIGHT,
				context.hStream);
	nvjpegEncodeRetrieveBitstream(handle, state, NULL, &length, context.hStream);
	if (length > MOST)
		exit(1);
	res |= nvjpegEncodeRetrieveBitstream(handle, state, jpeg, &length, context.hStream) << 8;
	printf("encoded: %d %zu %016llx\n", res, length, (unsigned long long)sum(jpeg, length));
	nvjpegEncoderParamsDestroy(params);
	nvjpegEncoderStateDestroy(state);
}

static void decode(void)
{
	int n = 0, widths[NVJPEG_MAX_COMPONENT] = { 0 }, heights[NVJPEG_MAX_COMPONENT] = { 0 }, res;
	nvjpegImage_t to = image(result), two[2] = { to, image(result + BYTES) };
	const unsigned char *data[2] = { jpeg, jpeg };
	const size_t lengths[2] = { length, length };
	nvjpegChromaSubsampling_t how;
	nvjpegJpegState_t state;

	res = nvjpegGetImageInfo(handle, jpeg, length, &n, &how, widths, heights);
	printf("info: %d %d %d %dx%d %dx%d\n", res, n, how, widths[0], heights[0], widths[1],
	       heights[1]);
	printf("broken: %d\n", nvjpegGetImageInfo(handle, jpeg + 1, 100, &n, &how, widths, heights));
	nvjpegJpegStateCreate(handle, &state);
	res = nvjpegDecode(handle, state, jpeg, length, NVJPEG_OUTPUT_RGBI, &to, context.hStream);
	say("decoded", res, BYTES);
	res = nvjpegDecodeBatchedInitialize(handle, state, 2, 1, NVJPEG_OUTPUT_RGBI);
	res |= nvjpegDecodeBatched(handle, state, data, lengths, two, context.hStream) << 8;
	say("batch", res, 2 * BYTES);
	nvjpegJpegStateDestroy(state);
}

/* The bytes are gone before the phases: a stream that keeps them has them. */
static void decode_in_phases(void)
{
	nvjpegImage_t to = image(result);
	uint8_t *copy = malloc(length);
	nvjpegDecodeParams_t params;
	nvjpegJpegDecoder_t decoder;
	nvjpegBufferPinned_t pinned;
	nvjpegBufferDevice_t device;
	nvjpegJpegStream_t stream;
	nvjpegJpegState_t state;
	int res[4];

	memcpy(copy, jpeg, length);
	nvjpegDecoderCreate(handle, NVJPEG_BACKEND_HYBRID, &decoder);
	nvjpegDecoderStateCreate(handle, decoder, &state);
	nvjpegBufferPinnedCreate(handle, NULL, &pinned);
	nvjpegBufferDeviceCreate(handle, NULL, &device);
	nvjpegStateAttachPinnedBuffer(state, pinned);
	nvjpegStateAttachDeviceBuffer(state, device);
	nvjpegJpegStreamCreate(handle, &stream);
	nvjpegDecodeParamsCreate(handle, &params);
	nvjpegDecodeParamsSetOutputFormat(params, NVJPEG_OUTPUT_RGBI);
	res[0] = nvjpegJpegStreamParse(handle, copy, length, 0, 1, stream);
	memset(copy, 0, length);
	free(copy);
	res[1] = nvjpegDecodeJpegHost(handle, decoder, state, params, stream);
	res[2] = nvjpegDecodeJpegTransferToDevice(handle, decoder, state, stream, context.hStream);
	res[3] = nvjpegDecodeJpegDevice(handle, decoder, state, &to, context.hStream);
	say("phases", res[0] | res[1] << 8 | res[2] << 16 | res[3] << 24, BYTES);
	nvjpegDecodeParamsDestroy(params);
	nvjpegJpegStreamDestroy(stream);
	nvjpegJpegStateDestroy(state);
	nvjpegBufferPinnedDestroy(pinned);
	nvjpegBufferDeviceDestroy(device);
	nvjpegDecoderDestroy(decoder);
}

/* --- NPP ------------------------------------------------------------------------------------ */

#define IN	(const Npp8u *)picture, WIDTH * 3
#define TO	(Npp8u *)result, WIDTH * 3

static void colours(void)
{
	static const Npp32f twist[3][4] = {
		{ 0.3f, 0.6f, 0.1f, 0 }, { 0, 1, 0.5f, 7 }, { 1, 0, 0, -9 },
	};
	static const Npp8u constants[3] = { 3, 50, 200 };

	say("add", nppiAddC_8u_C3RSfs_Ctx(IN, constants, TO, size, 1, context), BYTES);
	say("twist", nppiColorTwist32f_8u_C3R_Ctx(IN, TO, size, twist, context), BYTES);
	say("grey", nppiRGBToGray_8u_C3C1R_Ctx(IN, (Npp8u *)result, WIDTH, size, context),
	    WIDTH * HEIGHT);
	say("YCbCr", nppiRGBToYCbCr_8u_C3R_Ctx(IN, TO, size, context), BYTES);
}

static void geometry(void)
{
	static const double turn[2][3] = { { 0.9, -0.2, 30 }, { 0.2, 0.9, -10 } };
	const NppiRect all = { 0, 0, WIDTH, HEIGHT }, half = { 0, 0, WIDTH / 2, HEIGHT / 2 };
	const NppiSize small = { WIDTH / 2, HEIGHT / 2 };
	double box[2][2] = { { 0 } };
	int res;

	say("resize", nppiResize_8u_C3R_Ctx(IN, size, all, TO, small, half, NPPI_INTER_LINEAR,
					    context), BYTES);
	say("warp", nppiWarpAffine_8u_C3R_Ctx((const Npp8u *)picture, size, WIDTH * 3, all, TO, all,
					      turn, NPPI_INTER_CUBIC, context), BYTES);
	say("mirror", nppiMirror_8u_C3R_Ctx(IN, TO, size, NPP_BOTH_AXIS, context), BYTES);
	res = nppiGetRotateBound(all, box, 30, 5, -3);
	printf("bound: %d %.6f %.6f %.6f %.6f\n", res, box[0][0], box[0][1], box[1][0], box[1][1]);
}

static void filters(void)
{
	const NppiSize mask = { 5, 5 };
	const NppiPoint anchor = { 2, 2 }, origin = { 0, 0 };
	const Npp8u below[3] = { 9, 99, 199 }, value[3] = { 1, 2, 3 };

	say("box", nppiFilterBoxBorder_8u_C3R_Ctx(IN, size, origin, TO, size, mask, anchor,
						  NPP_BORDER_REPLICATE, context), BYTES);
	say("gauss", nppiFilterGaussBorder_8u_C3R_Ctx(IN, size, origin, TO, size,
						      NPP_MASK_SIZE_5_X_5, NPP_BORDER_REPLICATE,
						      context), BYTES);
	say("threshold", nppiThreshold_LTVal_8u_C3R_Ctx(IN, TO, size, below, value, context), BYTES);
}

static void numbers(void)
{
	size_t bytes = 0;
	int res;

	res = nppiMeanGetBufferHostSize_8u_C3R_Ctx(size, &bytes, context);
	printf("room: %d %zu\n", res, bytes);
	say("mean", nppiMean_8u_C3R_Ctx(IN, size, (Npp8u *)work, (Npp64f *)result, context), 24);
	say("complex", nppsMulC_32fc_Ctx((const Npp32fc *)picture, (Npp32fc){ 0.5f, -1 },
					 (Npp32fc *)result, 1000, context), 8000);
	say("sum", nppsSum_32f_Ctx((const Npp32f *)work, 1000, (Npp32f *)result,
				   (Npp8u *)(work + 8192), context), 4);
}

int main(void)
{
	CUstream stream;
	CUdevice dev;
	CUcontext ctx;
	int res;

	cuInit(0);
	if (cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&ctx, dev))
		return 1;
	cuCtxSetCurrent(ctx);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	cuMemAlloc(&picture, BYTES);
	cuMemAlloc(&result, BYTES * 4);
	cuMemAlloc(&work, MOST);
	cuMemsetD8(work, 0, MOST);
	context.hStream = (cudaStream_t)stream;
	cuDeviceGetAttribute(&context.nMultiProcessorCount,
			     CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev);
	cuDeviceGetAttribute(&context.nMaxThreadsPerMultiProcessor,
			     CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, dev);
	cuDeviceGetAttribute(&context.nMaxThreadsPerBlock,
			     CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, dev);
	context.nSharedMemPerBlock = 48 << 10;
	cuDeviceGetAttribute(&context.nCudaDevAttrComputeCapabilityMajor,
			     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);
	cuDeviceGetAttribute(&context.nCudaDevAttrComputeCapabilityMinor,
			     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
	context.nStreamFlags = 1;
	draw();
	res = nvjpegCreateSimple(&handle);
	printf("nvJPEG: %d\n", res);
	if (!res) {
		encode();
		decode();
		decode_in_phases();
		nvjpegDestroy(handle);
	}
	colours();
	geometry();
	filters();
	numbers();
	return 0;
}
