// SPDX-License-Identifier: Apache-2.0
/* A program of nvJPEG, over a library that writes down what it is told (fake_nvjpeg.c). */
#include <nvjpeg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib_test.h"

/* Longer than any message area. */
#define LONG	(3u << 20)

static nvjpegHandle_t handle;
static nvjpegJpegState_t state;
static nvjpegDecodeParams_t params;
static CUdeviceptr pixels;
static unsigned char *bytes;

static int allocate(void **p, size_t size)
{
	(void)p; (void)size;
	return 1;
}

static int allocate_pinned(void **p, size_t size, unsigned int flags)
{
	(void)p; (void)size; (void)flags;
	return 1;
}

static void test_handles(void)
{
	nvjpegDevAllocator_t device = { .dev_malloc = allocate };
	nvjpegPinnedAllocator_t pinned = { .pinned_malloc = allocate_pinned };
	nvjpegBufferPinned_t buffer = NULL;
	nvjpegJpegDecoder_t decoder = NULL;
	nvjpegHandle_t none = NULL;
	int major = 0, minor = 9;
	void *address = NULL;
	size_t size = 0;

	ok(!nvjpegCreateEx(NVJPEG_BACKEND_HYBRID, NULL, NULL, NVJPEG_FLAGS_DEFAULT, &handle) &&
	   handle, "a_handle_is_made");
	told("create backend=1 flags=0", "with_its_backend_and_flags");
	ok(!nvjpegGetProperty(MAJOR_VERSION, &major) && !nvjpegGetProperty(MINOR_VERSION, &minor) &&
	   !nvjpegGetProperty(MINOR_VERSION, &minor) && major == 13 && minor == 0,
	   "versions_are_the_workers");
	news();
	ok(nvjpegCreateEx(NVJPEG_BACKEND_HYBRID, &device, NULL, 0, &none) ==
	   NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED &&
	   nvjpegCreateEx(NVJPEG_BACKEND_HYBRID, NULL, &pinned, 0, &none) ==
	   NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED &&
	   nvjpegCreate(NVJPEG_BACKEND_HYBRID, &device, &none) ==
	   NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED &&
	   nvjpegBufferPinnedCreate(handle, &pinned, &buffer) ==
	   NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED && !none && !buffer,
	   "allocators_of_the_program_are_refused");
	ok(nvjpegCreateEx(NVJPEG_BACKEND_HARDWARE_DEVICE, NULL, NULL, 0, &none) ==
	   NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED &&
	   nvjpegDecoderCreate(handle, NVJPEG_BACKEND_GPU_HYBRID_DEVICE, &decoder) ==
	   NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED && !none && !decoder,
	   "backends_that_read_compressed_bytes_from_the_device_are_refused");
	ok(!nvjpegBufferPinnedCreate(handle, NULL, &buffer) && buffer &&
	   nvjpegBufferPinnedRetrieve(buffer, &size, &address) ==
	   NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED && !address,
	   "the_workers_pinned_memory_is_not_shown");
	nvjpegJpegStateCreate(handle, &state);
	nvjpegStateAttachPinnedBuffer(state, buffer);
	told("pinned by the library|attached both", "and_serves_a_state");
}

static void test_decode(void)
{
	nvjpegImage_t to = { .channel = { (void *)pixels, (void *)(pixels + 4096) },
			     .pitch = { 64, 32 } };
	int components = 0, widths[4] = { 0 }, heights[4] = { 0 };
	nvjpegChromaSubsampling_t subsampling = NVJPEG_CSS_UNKNOWN;
	char want[256];
	CUstream stream;

	ok(!nvjpegGetImageInfo(handle, bytes, LONG, &components, &subsampling, widths, heights) &&
	   components == 3 && subsampling == NVJPEG_CSS_420 && widths[0] == 640 &&
	   widths[1] == 320 && heights[2] == 240 && heights[3] == 0, "an_image_says_its_sizes");
	told("info 3145728:ff..d9", "and_all_of_its_bytes_were_sent");
	ok(nvjpegGetImageInfo(handle, bytes + 1, 5, &components, &subsampling, widths, heights) ==
	   NVJPEG_STATUS_BAD_JPEG, "what_is_no_image_is_none");
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	ok(!nvjpegDecode(handle, state, bytes, 100, NVJPEG_OUTPUT_YUV, &to, (cudaStream_t)stream),
	   "an_image_is_decoded");
	snprintf(want, sizeof(want), "decode 100:ff..00 as 1 to %p,64 %p,32 stream=own",
		 (void *)pixels, (void *)(pixels + 4096));
	told(want, "into_device_memory_in_its_stream");
	to.channel[1] = bytes;
	ok(nvjpegDecode(handle, state, bytes, 100, NVJPEG_OUTPUT_YUV, &to, NULL) ==
	   NVJPEG_STATUS_INVALID_PARAMETER, "but_not_into_memory_of_a_process");
	told("", "of_which_the_library_hears_nothing");
	cuStreamDestroy(stream);
}

static void test_batch(void)
{
	const unsigned char *data[] = { bytes, bytes, bytes };
	const size_t lengths[] = { 10, 1u << 20, LONG };
	nvjpegImage_t to[3] = { { .channel = { (void *)pixels } },
				{ .channel = { (void *)(pixels + 64) } },
				{ .channel = { (void *)(pixels + 128) } } };
	nvjpegDecodeParams_t each[3];
	char want[512];

	nvjpegDecodeParamsCreate(handle, &params);
	nvjpegDecodeParamsSetOutputFormat(params, NVJPEG_OUTPUT_BGRI);
	each[0] = each[1] = each[2] = params;
	ok(nvjpegDecodeBatched(handle, state, data, lengths, to, NULL) ==
	   NVJPEG_STATUS_INVALID_PARAMETER, "a_batch_that_was_not_begun_is_refused");
	ok(!nvjpegDecodeBatchedInitialize(handle, state, 3, 2, NVJPEG_OUTPUT_RGBI) &&
	   !nvjpegDecodeBatched(handle, state, data, lengths, to, NULL), "a_batch_is_decoded");
	snprintf(want, sizeof(want), "batch of 3 by 2 as 5|of batch 10:ff..00 to %p|"
		 "of batch 1048576:ff..00 to %p|of batch 3145728:ff..d9 to %p", (void *)pixels,
		 (void *)(pixels + 64), (void *)(pixels + 128));
	told(want, "each_image_of_it_from_its_own_bytes");
	nvjpegDecodeBatchedInitialize(handle, state, 1, 1, NVJPEG_OUTPUT_RGBI);
	ok(!nvjpegDecodeBatchedEx(handle, state, data, lengths, to, each, NULL),
	   "a_batch_with_parameters_is_decoded");
	snprintf(want, sizeof(want), "batch of 1 by 1 as 5|of batch 10:ff..00 to %p as 6",
		 (void *)pixels);
	told(want, "of_as_many_images_as_was_said_last");
	to[0].channel[0] = bytes;
	ok(nvjpegDecodeBatched(handle, state, data, lengths, to, NULL) ==
	   NVJPEG_STATUS_INVALID_PARAMETER, "a_batch_into_memory_of_a_process_is_refused");
	news();
}

/* Returns memory with one image, which the caller ends before anything reads the stream. */
static void parse(nvjpegJpegStream_t stream, size_t size, unsigned char last, bool tables)
{
	unsigned char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

	p[0] = tables ? last : 0xff;
	p[size - 1] = last;
	if (tables)
		nvjpegJpegStreamParseTables(handle, p, size, stream);
	else
		nvjpegJpegStreamParse(handle, p, size, 0, 0, stream);
	munmap(p, size);
}

static void test_phases(void)
{
	nvjpegImage_t to = { .channel = { (void *)pixels }, .pitch = { 64 } };
	nvjpegJpegDecoder_t decoder = NULL;
	nvjpegJpegStream_t stream = NULL;
	unsigned int width = 0, height = 0;
	char want[256];
	int i;

	nvjpegJpegStreamCreate(handle, &stream);
	nvjpegDecoderCreate(handle, NVJPEG_BACKEND_GPU_HYBRID, &decoder);
	parse(stream, 70000, 0x21, true);
	parse(stream, 5000, 0x42, false);
	/* What comes next lies where the bytes were. */
	nvjpegGetImageInfo(handle, bytes, 100000, &i, (nvjpegChromaSubsampling_t *)&i,
			   (int[4]){ 0 }, (int[4]){ 0 });
	ok(!nvjpegJpegStreamGetFrameDimensions(stream, &width, &height) && width == 5000 &&
	   height == 0x2142, "a_stream_keeps_the_bytes_and_tables_that_it_refers_to");
	told("decoder 2|tables 70000|parse 5000 metadata=0 save=0|info 100000:ff..00",
	     "as_the_program_wished_it");
	ok(!nvjpegDecodeJpegHost(handle, decoder, state, params, stream) &&
	   !nvjpegDecodeJpegDevice(handle, decoder, state, &to, NULL), "phases_run_apart");
	snprintf(want, sizeof(want), "host phase as 6 of ff|device phase to %p stream=0",
		 (void *)pixels);
	told(want, "with_parameters_and_pixels");
	for (i = 0; i < 15; i++)
		nvjpegJpegStreamParse(handle, bytes + 1, 10, 0, 0, stream);
	ok(!nvjpegJpegStreamGetFrameDimensions(stream, &width, &height) && width == 5000,
	   "bytes_that_are_no_image_take_the_place_of_none");
	ok(nvjpegJpegStreamParse(handle, bytes, 10, 0, 0, stream) ==
	   NVJPEG_STATUS_ALLOCATOR_FAILURE, "the_worker_keeps_no_more_than_16_of_a_stream");
	news();
	ok(!nvjpegJpegStreamDestroy(stream) &&
	   nvjpegJpegStreamDestroy(stream) == NVJPEG_STATUS_INVALID_PARAMETER, "a_stream_ends_once");
	told("end of stream", "in_the_library_too");
}

static void test_encode(void)
{
	nvjpegImage_t from = { .channel = { (void *)pixels }, .pitch = { 1500 } };
	nvjpegEncoderParams_t how = NULL;
	nvjpegEncoderState_t by = NULL;
	unsigned char *out = malloc(LONG);
	size_t length = 0;
	char want[256];

	nvjpegEncoderStateCreate(handle, &by, NULL);
	nvjpegEncoderParamsCreate(handle, &how, NULL);
	nvjpegEncoderParamsSetQuality(how, 85, NULL);
	ok(!nvjpegEncodeImage(handle, by, how, &from, NVJPEG_INPUT_RGBI, 500, 1000, NULL),
	   "pixels_are_encoded");
	snprintf(want, sizeof(want), "encode 500x1000 as 5 quality=85 from %p", (void *)pixels);
	told(want, "with_what_the_parameters_say");
	ok(!nvjpegEncodeRetrieveBitstream(handle, by, NULL, &length, NULL) && length == 500000,
	   "the_length_of_a_bitstream_is_asked_for");
	memset(out, 1, LONG);
	ok(!nvjpegEncodeRetrieveBitstream(handle, by, out, &length, NULL) && length == 500000 &&
	   out[3] == 21 && out[499999] == (unsigned char)(499999 * 7) && out[500000] == 1,
	   "and_so_many_bytes_come");
	length = 7;
	ok(nvjpegEncodeRetrieveBitstream(handle, by, out, &length, NULL) ==
	   NVJPEG_STATUS_INVALID_PARAMETER, "less_room_is_refused");
	from.channel[0] = out;
	ok(nvjpegEncodeImage(handle, by, how, &from, NVJPEG_INPUT_RGBI, 5, 10, NULL) ==
	   NVJPEG_STATUS_INVALID_PARAMETER, "pixels_in_memory_of_a_process_are_refused");
	ok(nvjpegEncodeYUV(handle, by, how, &from, NVJPEG_CSS_444, 5, 10, NULL) ==
	   NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED, "what_the_library_lacks_is_not_supported");
	free(out);
}

int main(void)
{
	CUdevice dev;
	CUcontext ctx;

	tap_plan(37);
	cuInit(0);
	cuDeviceGet(&dev, 0);
	cuDevicePrimaryCtxRetain(&ctx, dev);
	cuCtxSetCurrent(ctx);
	pixels = device(NULL, 1 << 20);
	bytes = calloc(1, LONG);
	bytes[0] = 0xff;
	bytes[LONG - 1] = 0xd9;
	test_handles();
	test_decode();
	test_batch();
	test_phases();
	test_encode();
	ok(!nvjpegJpegStateDestroy(state) &&
	   nvjpegJpegStateDestroy(state) == NVJPEG_STATUS_INVALID_PARAMETER, "a_state_ends_once");
	ok(!nvjpegDestroy(handle) && nvjpegDestroy(handle) == NVJPEG_STATUS_INVALID_PARAMETER,
	   "a_handle_ends_once");
	return tap_exit();
}
