// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises arrays, mipmapped arrays, texture and surface objects: every copy
 * brings the bytes where they belong and nowhere else, and every descriptor comes back as
 * it was given. No kernel samples a texture here, because softgpu has none.
 */
#include "common.h"

#include <vector>

#define W	37	/* elements of float2 */
#define H	11
#define D	5

typedef std::vector<unsigned char> bytes;

static bytes pattern(size_t n, unsigned int seed)
{
	bytes b(n);

	for (size_t i = 0; i < n; i++)
		b[i] = (unsigned char)((i * 2654435761u >> 13) + seed * 31 + i);
	return b;
}

static cudaArray_t make(size_t w, size_t h, unsigned int flags = 0)
{
	cudaChannelFormatDesc d = cudaCreateChannelDesc<float2>();
	cudaArray_t a;

	NEED(cudaMallocArray(&a, &d, w, h, flags));
	return a;
}

static void test_life()
{
	cudaChannelFormatDesc d = cudaCreateChannelDesc<float2>(), got = {};
	cudaExtent e = {};
	unsigned int flags = 99;
	cudaArray_t a;

	ok_err(cudaMallocArray(&a, &d, W, H, cudaArraySurfaceLoadStore), cudaSuccess, "array_is_made");
	ok_err(cudaArrayGetInfo(&got, &e, &flags, a), cudaSuccess, "array_describes_itself");
	ok(got.x == 32 && got.y == 32 && !got.z && !got.w && got.f == cudaChannelFormatKindFloat,
	   "its_channels_are_those_asked_for");
	ok(e.width == W && e.height == H && e.depth == 0 && flags == cudaArraySurfaceLoadStore,
	   "so_are_extent_and_flags");
	memset(&got, 0, sizeof(got));
	ok(cudaGetChannelDesc(&got, a) == cudaSuccess && got.y == 32, "channels_are_asked_for_alone");
	ok_err(cudaFreeArray(a), cudaSuccess, "array_is_freed");
	ok_err(cudaFreeArray(NULL), cudaSuccess, "freeing_nothing_is_no_error");
	d.z = 32;
	ok_err(cudaMallocArray(&a, &d, W, H), cudaErrorInvalidChannelDescriptor,
	       "three_channels_are_no_format");
	d = cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindUnsigned);
	ok_err(cudaMallocArray(&a, &d, 0, 0), cudaErrorInvalidValue, "empty_array_is_an_error");
	ok(cudaMallocArray(&a, &d, 100, 0) == cudaSuccess &&
	   cudaGetChannelDesc(&got, a) == cudaSuccess && got.x == 16 && got.y == 0 &&
	   got.f == cudaChannelFormatKindUnsigned, "line_of_shorts_is_an_array");
	cudaFreeArray(a);
	clear_error();
}

/* Returns the whole array, row by row without gaps. */
static bytes contents(cudaArray_t a, size_t width, size_t height)
{
	bytes b(width * height);

	NEED(cudaMemcpy2DFromArray(b.data(), width, a, 0, 0, width, height,
				   cudaMemcpyDeviceToHost));
	return b;
}

static void test_rectangles()
{
	const size_t row = W * 8, pitch = row + 24;
	bytes all = pattern(row * H, 1), part = pattern(pitch * H, 2), want = all;
	cudaArray_t a = make(W, H), b = make(W, H);

	ok_err(cudaMemcpy2DToArray(a, 0, 0, all.data(), row, row, H, cudaMemcpyHostToDevice),
	       cudaSuccess, "rectangle_is_copied_to_an_array");
	ok(contents(a, row, H) == all, "and_comes_back");
	for (size_t y = 0; y < 4; y++)
		memcpy(&want[(y + 3) * row + 16], &part[y * pitch], 40);
	ok_err(cudaMemcpy2DToArray(a, 16, 3, part.data(), pitch, 40, 4, cudaMemcpyDefault),
	       cudaSuccess, "part_is_copied_with_offset_and_pitch");
	ok(contents(a, row, H) == want, "only_the_part_changes");
	ok_err(cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, row, H, cudaMemcpyDeviceToDevice),
	       cudaSuccess, "array_is_copied_to_an_array");
	ok(contents(b, row, H) == want, "with_all_its_bytes");
	ok_err(cudaMemcpy2DToArray(a, 0, 0, all.data(), row - 1, row, H, cudaMemcpyHostToDevice),
	       cudaErrorInvalidPitchValue, "pitch_below_the_width_is_an_error");
	ok_err(cudaMemcpy2DToArray(a, 0, 0, all.data(), row, row, H, cudaMemcpyDeviceToHost),
	       cudaErrorInvalidMemcpyDirection, "array_is_no_host_memory");
	ok_err(cudaMemcpy2DToArray(a, 8, 0, all.data(), row, row, H, cudaMemcpyHostToDevice),
	       cudaErrorInvalidValue, "rectangle_beyond_the_row_is_an_error");
	ok(contents(a, row, H) == want, "errors_change_nothing");
	cudaFreeArray(a);
	cudaFreeArray(b);
	clear_error();
}

static void test_streams()
{
	const size_t row = W * 8;
	bytes in = pattern(row * H, 3);
	cudaArray_t a = make(W, H);
	unsigned char *pinned;
	cudaStream_t s;

	NEED(cudaStreamCreate(&s));
	NEED(cudaMallocHost((void **)&pinned, row * H));
	memcpy(pinned, in.data(), row * H);
	ok_err(cudaMemcpy2DToArrayAsync(a, 0, 0, pinned, row, row, H, cudaMemcpyHostToDevice, s),
	       cudaSuccess, "copy_to_an_array_on_a_stream");
	ok(cudaStreamSynchronize(s) == cudaSuccess && contents(a, row, H) == in, "arrives");
	memset(pinned, 0, row * H);
	ok(cudaMemcpy2DFromArrayAsync(pinned, row, a, 0, 0, row, H, cudaMemcpyDeviceToHost, s) ==
	   cudaSuccess && cudaStreamSynchronize(s) == cudaSuccess &&
	   !memcmp(pinned, in.data(), row * H), "copy_from_an_array_on_a_stream_arrives");
	cudaFreeHost(pinned);
	cudaStreamDestroy(s);
	cudaFreeArray(a);
}

/* Linear copies begin in the middle of a row and go on in the next ones. */
static void test_linear()
{
	const size_t row = W * 8, x = 24, y = 2, n = row * 3 + 8;
	bytes all = pattern(row * H, 4), in = pattern(n, 5), want = all, out(n);
	cudaArray_t a = make(W, H), b = make(W + 6, H);

	NEED(cudaMemcpy2DToArray(a, 0, 0, all.data(), row, row, H, cudaMemcpyHostToDevice));
	memcpy(&want[y * row + x], in.data(), n);
	ok_err(cudaMemcpyToArray(a, x, y, in.data(), n, cudaMemcpyHostToDevice), cudaSuccess,
	       "linear_copy_to_an_array");
	ok(contents(a, row, H) == want, "goes_on_in_the_next_row");
	ok(cudaMemcpyFromArray(out.data(), a, x, y, n, cudaMemcpyDeviceToHost) == cudaSuccess &&
	   out == in, "linear_copy_from_an_array_comes_back");
	out.assign(n, 0);
	ok(cudaMemcpyArrayToArray(b, 8, 1, a, x, y, n, cudaMemcpyDeviceToDevice) == cudaSuccess &&
	   cudaMemcpyFromArray(out.data(), b, 8, 1, n, cudaMemcpyDeviceToHost) == cudaSuccess &&
	   out == in, "linear_copy_between_arrays_of_other_widths");
	memcpy(&want[row], in.data() + 1, 8);
	ok(cudaMemcpyToArray(a, row, 0, in.data() + 1, 8, cudaMemcpyHostToDevice) == cudaSuccess &&
	   contents(a, row, H) == want, "linear_copy_behind_a_row_begins_in_the_next");
	cudaFreeArray(a);
	cudaFreeArray(b);
	clear_error();
}

static void test_boxes()
{
	cudaChannelFormatDesc d = cudaCreateChannelDesc<ushort4>();
	cudaExtent e = make_cudaExtent(W, H, D), part = make_cudaExtent(5, 3, 2);
	bytes in = pattern(W * 8 * H * D, 6), out(in.size()), sub(5 * 8 * 3 * 2);
	cudaMemcpy3DParms p = {};
	bool same = true;
	cudaArray_t a;

	ok_err(cudaMalloc3DArray(&a, &d, e), cudaSuccess, "box_is_made");
	p.srcPtr = make_cudaPitchedPtr(in.data(), W * 8, W, H);
	p.dstArray = a;
	p.extent = e;
	p.kind = cudaMemcpyHostToDevice;
	ok_err(cudaMemcpy3D(&p), cudaSuccess, "box_is_filled");
	p = {};
	p.srcArray = a;
	p.dstPtr = make_cudaPitchedPtr(out.data(), W * 8, W, H);
	p.extent = e;
	p.kind = cudaMemcpyDeviceToHost;
	ok(cudaMemcpy3D(&p) == cudaSuccess && out == in, "and_comes_back_whole");
	p.srcPos = make_cudaPos(7, 2, 1);	/* elements */
	p.dstPtr = make_cudaPitchedPtr(sub.data(), 5 * 8, 5, 3);
	p.extent = part;
	ok_err(cudaMemcpy3DAsync(&p, 0), cudaSuccess, "part_of_a_box_is_copied");
	cudaDeviceSynchronize();
	for (size_t z = 0; z < 2; z++)
		for (size_t y = 0; y < 3; y++)
			same &= !memcmp(&sub[(z * 3 + y) * 40],
					&in[((z + 1) * H + y + 2) * W * 8 + 56], 40);
	ok(same, "positions_in_arrays_count_elements");
	p.srcPtr = p.dstPtr;
	ok_err(cudaMemcpy3D(&p), cudaErrorInvalidValue, "array_and_pointer_on_one_side_are_an_error");
	cudaFreeArray(a);
	clear_error();
}

static void test_peer()
{
	bytes in = pattern(W * 8 * H, 7);
	cudaMemcpy3DPeerParms p = {};
	cudaArray_t a = make(W, H), b = make(W, H);

	NEED(cudaMemcpy2DToArray(a, 0, 0, in.data(), W * 8, W * 8, H, cudaMemcpyHostToDevice));
	p.srcArray = a;
	p.dstArray = b;
	p.extent = make_cudaExtent(W, H, 1);
	ok(cudaMemcpy3DPeer(&p) == cudaSuccess && contents(b, W * 8, H) == in,
	   "box_is_copied_between_devices_that_may_be_one");
	p.srcDevice = 1000;
	ok_err(cudaMemcpy3DPeer(&p), cudaErrorInvalidDevice, "device_must_be_there");
	cudaFreeArray(a);
	cudaFreeArray(b);
	clear_error();
}

static void test_mipmaps()
{
	cudaChannelFormatDesc d = cudaCreateChannelDesc<unsigned char>(), got = {};
	bytes in = pattern(16 * 8, 8);
	cudaMipmappedArray_t m;
	cudaArray_t level, other;
	cudaExtent e = {};

	ok_err(cudaMallocMipmappedArray(&m, &d, make_cudaExtent(64, 32, 0), 4), cudaSuccess,
	       "mipmapped_array_is_made");
	ok(cudaGetMipmappedArrayLevel(&level, m, 2) == cudaSuccess &&
	   cudaArrayGetInfo(&got, &e, NULL, level) == cudaSuccess && e.width == 16 &&
	   e.height == 8 && got.x == 8, "level_has_its_extent");
	NEED(cudaGetMipmappedArrayLevel(&other, m, 3));
	NEED(cudaMemcpy2DToArray(level, 0, 0, in.data(), 16, 16, 8, cudaMemcpyHostToDevice));
	NEED(cudaMemcpy2DToArray(other, 0, 0, in.data() + 3, 8, 8, 4, cudaMemcpyHostToDevice));
	ok(contents(level, 16, 8) == in, "levels_do_not_share_memory");
	ok_err(cudaGetMipmappedArrayLevel(&level, m, 4), cudaErrorInvalidValue, "there_is_no_level_beyond");
	ok_err(cudaFreeMipmappedArray(m), cudaSuccess, "mipmapped_array_is_freed");
	clear_error();
}

static void test_textures()
{
	cudaArray_t a = make(W, H, cudaArraySurfaceLoadStore);
	cudaResourceDesc r = {}, r2 = {};
	cudaTextureDesc t = {}, t2 = {};
	cudaResourceViewDesc v = {}, v2 = {};
	cudaTextureObject_t tex = 0;
	cudaSurfaceObject_t surf = 0;
	void *linear;

	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	t.addressMode[0] = cudaAddressModeClamp;
	t.addressMode[1] = cudaAddressModeBorder;
	t.filterMode = cudaFilterModeLinear;
	t.readMode = cudaReadModeElementType;
	t.borderColor[2] = 0.25f;
	t.normalizedCoords = 1;
	t.maxAnisotropy = 4;
	ok(cudaCreateTextureObject(&tex, &r, &t, NULL) == cudaSuccess && tex, "texture_is_made");
	ok(cudaGetTextureObjectResourceDesc(&r2, tex) == cudaSuccess &&
	   r2.resType == cudaResourceTypeArray && r2.res.array.array == a, "it_names_its_array");
	ok(cudaGetTextureObjectTextureDesc(&t2, tex) == cudaSuccess &&
	   t2.addressMode[0] == cudaAddressModeClamp &&
	   t2.addressMode[1] == cudaAddressModeBorder && t2.filterMode == cudaFilterModeLinear &&
	   t2.readMode == cudaReadModeElementType && t2.normalizedCoords == 1,
	   "sampling_is_as_it_was_given");
	/* A real driver did not give all of these back; it is not known which. */
	diag("modes %d %d, filter %d, read %d, normalized %d, border %g, anisotropy %u, sRGB %d",
	     t2.addressMode[0], t2.addressMode[1], t2.filterMode, t2.readMode,
	     t2.normalizedCoords, t2.borderColor[2], t2.maxAnisotropy, t2.sRGB);
	ok_err(cudaGetTextureObjectResourceViewDesc(&v2, tex), cudaSuccess,
	       "a_texture_without_a_view_can_be_asked_for_it");
	ok_err(cudaDestroyTextureObject(tex), cudaSuccess, "texture_is_destroyed");
	v.format = cudaResViewFormatFloat2;
	v.width = W;
	v.height = H;
	ok(cudaCreateTextureObject(&tex, &r, &t, &v) == cudaSuccess &&
	   cudaGetTextureObjectResourceViewDesc(&v2, tex) == cudaSuccess &&
	   v2.format == cudaResViewFormatFloat2 && v2.width == W && v2.height == H, "view_is_kept");
	cudaDestroyTextureObject(tex);
	ok(cudaCreateSurfaceObject(&surf, &r) == cudaSuccess &&
	   cudaGetSurfaceObjectResourceDesc(&r2, surf) == cudaSuccess && r2.res.array.array == a &&
	   cudaDestroySurfaceObject(surf) == cudaSuccess, "surface_comes_and_goes");
	NEED(cudaMalloc(&linear, 4096));
	r = {};
	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = linear;
	r.res.linear.desc = cudaCreateChannelDesc<int4>();
	r.res.linear.sizeInBytes = 4096;
	t = {};
	ok(cudaCreateTextureObject(&tex, &r, &t, NULL) == cudaSuccess &&
	   cudaGetTextureObjectResourceDesc(&r2, tex) == cudaSuccess &&
	   r2.res.linear.devPtr == linear && r2.res.linear.desc.w == 32 &&
	   r2.res.linear.desc.f == cudaChannelFormatKindSigned &&
	   r2.res.linear.sizeInBytes == 4096, "texture_over_linear_memory");
	cudaDestroyTextureObject(tex);
	ok_err(cudaCreateTextureObject(&tex, NULL, &t, NULL), cudaErrorInvalidValue, "texture_needs_a_resource");
	cudaFree(linear);
	cudaFreeArray(a);
	clear_error();
}

int main()
{
	tap_plan(50);
	test_life();
	test_rectangles();
	test_streams();
	test_linear();
	test_boxes();
	test_peer();
	test_mipmaps();
	test_textures();
	return tap_exit();
}
