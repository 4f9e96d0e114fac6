// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that kernels of nvcc (layered.cu) fetch from layered textures and cubemaps,
 * and load and store surfaces of every shape, as an H200 did. What does not fit is a fault; each
 * fault has a process of its own. It needs nvcc at build time.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define N	32		/* threads */

struct at {
	float x, y, z;
	int layer;
};

static char path[512];
static CUmodule mod;
static CUdeviceptr at_dev, out_dev;
static struct at at[N];
static float out[N];

/* ---- arrays whose element i has the value i ---- */

static size_t elements(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return d->Width * (d->Height ? d->Height : 1) * (d->Depth ? d->Depth : 1);
}

/* Copies @layers layers from @first on between an array and host memory. */
static CUresult copy(CUarray a, float *host, int to_array, size_t first, size_t layers)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host,
			    .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = a, .dstZ = first,
			    .Depth = layers };

	cuArray3DGetDescriptor_v2(&d, a);
	if (!to_array) {
		c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
		c.dstMemoryType = CU_MEMORYTYPE_HOST;
		c.srcArray = a;
		c.srcZ = first;
		c.dstHost = host;
		c.dstZ = 0;
	}
	c.WidthInBytes = d.Width * 4;
	c.Height = d.Height ? d.Height : 1;
	return cuMemcpy3D_v2(&c);
}

static CUarray array(size_t w, size_t h, size_t d, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = { .Width = w, .Height = h, .Depth = d,
					 .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1,
					 .Flags = flags | CUDA_ARRAY3D_SURFACE_LDST };
	float *values = malloc(elements(&desc) * 4);
	CUarray a = NULL;

	for (size_t i = 0; i < elements(&desc); i++)
		values[i] = i;
	if (cuArray3DCreate_v2(&a, &desc) || copy(a, values, 1, 0, d ? d : 1))
		a = NULL;
	free(values);
	return a;
}

static CUtexObject texture(CUarray a, CUaddress_mode mode, CUfilter_mode filter, unsigned int flags)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC d = { .addressMode = { mode, mode, mode }, .filterMode = filter,
				.flags = flags, .borderColor = { -9 } };
	CUtexObject t = 0;

	r.res.array.hArray = a;
	return cuTexObjectCreate(&t, &r, &d, NULL) ? 0 : t;
}

static CUsurfObject surface(CUarray a)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUsurfObject s = 0;

	r.res.array.hArray = a;
	return cuSurfObjectCreate(&s, &r) ? 0 : s;
}

/* Runs a kernel of the first @n places. */
static CUresult run(const char *name, unsigned long long object, unsigned int n)
{
	void *args[] = { &object, &at_dev, &out_dev };
	CUresult rc;
	CUfunction f;

	cuMemcpyHtoD_v2(at_dev, at, sizeof(at));
	rc = cuModuleGetFunction(&f, mod, name);
	if (!rc)
		rc = cuLaunchKernel(f, 1, 1, 1, n, 1, 1, 0, NULL, args, NULL);
	if (!rc)
		rc = cuCtxSynchronize();
	if (!rc)
		rc = cuMemcpyDtoH_v2(out, out_dev, sizeof(out));
	return rc;
}

static int start(void)
{
	CUcontext ctx;

	return !cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx) &&
	       !cuMemAlloc_v2(&at_dev, sizeof(at)) && !cuMemAlloc_v2(&out_dev, sizeof(out)) &&
	       !cuModuleLoad(&mod, path);
}

/* Compares the results with the expected ones. */
static int gives(const float *want, unsigned int n, float tolerance)
{
	for (unsigned int i = 0; i < n; i++)
		if (!(fabsf(out[i] - want[i]) <= tolerance)) {
			diag("at %u: %g, not %g", i, out[i], want[i]);
			return 0;
		}
	return 1;
}

/* ---- layers ---- */

static int clamped(int i, int n)
{
	return i < 0 ? 0 : i < n ? i : n - 1;
}

/* The layer that is fetched from: its number has no sign. */
static int layer_of(int layer, int n)
{
	return layer < 0 || layer >= n ? n - 1 : layer;
}

static void layers(void)
{
	CUarray line = array(4, 0, 3, CUDA_ARRAY3D_LAYERED);
	CUarray image = array(4, 3, 3, CUDA_ARRAY3D_LAYERED);
	float want[N], soft[N];

	for (int i = 0; i < N; i++) {
		at[i] = (struct at){ i * 0.25f - 0.5f, i * 0.125f, 0, i % 5 - 1 };
		want[i] = 4 * layer_of(at[i].layer, 3) + clamped(floorf(at[i].x), 4);
		soft[i] = 4 * layer_of(at[i].layer, 3) + fminf(fmaxf(at[i].x - 0.5f, 0), 3);
	}
	ok(!run("line_layers", texture(line, CU_TR_ADDRESS_MODE_CLAMP, 0, 0), N) &&
	   gives(want, N, 0), "lines_are_fetched_from_layers");
	ok(!run("line_layers", texture(line, CU_TR_ADDRESS_MODE_CLAMP, 1, 0), N) &&
	   gives(soft, N, 0.01f), "filtering_stays_in_the_layer");
	for (int i = 0; i < N; i++) {
		int base = 12 * layer_of(at[i].layer, 3);

		want[i] = base + 4 * clamped(floorf(at[i].y), 3) + clamped(floorf(at[i].x), 4);
		soft[i] = base + 4 * fminf(fmaxf(at[i].y - 0.5f, 0), 2) +
			  fminf(fmaxf(at[i].x - 0.5f, 0), 3);
	}
	ok(!run("image_layers", texture(image, CU_TR_ADDRESS_MODE_CLAMP, 0, 0), N) &&
	   gives(want, N, 0), "images_are_fetched_from_layers");
	ok(!run("image_layers", texture(image, CU_TR_ADDRESS_MODE_CLAMP, 1, 0), N) &&
	   gives(soft, N, 0.05f), "images_are_filtered_in_their_layer");
	at[0] = (struct at){ -1, 0, 0, 1 };
	at[1] = (struct at){ 0.3f, 0.5f, 0, 1 };
	ok(!run("image_layers", texture(image, CU_TR_ADDRESS_MODE_BORDER, 0, 0), 1) &&
	   out[0] == -9 &&
	   !run("image_layers", texture(image, CU_TR_ADDRESS_MODE_WRAP, 0,
					CU_TRSF_NORMALIZED_COORDINATES), 2) && out[1] == 17,
	   "layers_have_address_modes_and_normalized_coordinates");
	cuArrayDestroy(line);
	cuArrayDestroy(image);
}

static void integers(void)
{
	static const signed char texels[2][4] = { { 1, 2, 3, -4 }, { 5, 6, 7, -8 } };
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 1, .Height = 1, .Depth = 2, .NumChannels = 4,
				      .Format = CU_AD_FORMAT_SIGNED_INT8,
				      .Flags = CUDA_ARRAY3D_LAYERED };
	CUarray a = NULL;

	cuArray3DCreate_v2(&a, &d);
	copy(a, (float *)texels, 1, 0, 2);
	at[0] = (struct at){ 0, 0, 0, 0 };
	at[1] = (struct at){ 0, 0, 0, 1 };
	ok(!run("integer_layers", texture(a, CU_TR_ADDRESS_MODE_CLAMP, 0, CU_TRSF_READ_AS_INTEGER),
		2) && out[0] == -4 && out[1] == -8, "layers_have_integers_in_four_channels");
	cuArrayDestroy(a);
}

static void copies(void)
{
	CUarray a = array(4, 2, 3, CUDA_ARRAY3D_LAYERED);
	CUarray line = array(4, 0, 3, CUDA_ARRAY3D_LAYERED);
	float one[8] = { 50, 51, 52, 53, 54, 55, 56, 57 }, all[24];
	int good = 1;

	good &= !copy(a, one, 1, 1, 1) && !copy(a, all, 0, 0, 3);
	for (int i = 0; i < 24; i++)
		good &= all[i] == (i / 8 == 1 ? 50 + i % 8 : i);
	ok(good, "one_layer_is_written_by_a_copy");
	ok(!copy(a, all, 0, 2, 1) && all[0] == 16 && all[7] == 23, "one_layer_is_read_by_a_copy");
	ok(!copy(line, one, 1, 2, 1) && !copy(line, all, 0, 0, 3) && all[7] == 7 && all[8] == 50 &&
	   all[11] == 53, "a_layer_of_lines_is_a_plane");
	ok(copy(a, all, 0, 3, 1) == CUDA_ERROR_INVALID_VALUE &&
	   copy(a, all, 0, 2, 2) == CUDA_ERROR_INVALID_VALUE, "no_layer_is_behind_the_last_one");
	cuArrayDestroy(a);
	cuArrayDestroy(line);
}

/* Makes an array of one texel a layer with as many layers as the device has, and one of more. */
static int ends_at(CUdevice_attribute which, unsigned int flags, size_t more)
{
	CUarray most, beyond;
	int n = 0;

	cuDeviceGetAttribute(&n, which, 0);
	most = array(1, 1, n, flags);
	beyond = array(1, 1, n + more, flags);
	if (most)
		cuArrayDestroy(most);
	return n && most && !beyond;
}

static void limits(void)
{
	ok(ends_at(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, CUDA_ARRAY3D_LAYERED, 1) &&
	   ends_at(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS,
		   CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP, 6),
	   "attributes_tell_how_many_layers_there_can_be");
}

/* ---- cubes: the numbers are what an H200 answered ---- */

static const struct {
	struct at at;
	float point, clamp, seamless, border;
} cube[] = {
	{ { 1, 1, 1, 0 }, 67, 67, 38.1133f, -9 },
	{ { -1, 1, 1, 0 }, 64, 64, 42.418f, 64 },
	{ { 1, -1, 1, 0 }, 79, 79, 47.457f, -9 },
	{ { 1, 1, -1, 0 }, 80, 80, 39.4922f, 80 },
	{ { -1, -1, -1, 0 }, 95, 95, 61.1328f, -9 },
	{ { 1, 1, 0, 0 }, 43, 41, 21.25f, -9 },
	{ { 1, 0, 1, 0 }, 75, 73, 39.5f, -9 },
	{ { 0, 1, 1, 0 }, 66, 65.5f, 55.5f, 66 },
	{ { 1, -1, 0, 0 }, 59, 57, 35.25f, -9 },
	{ { -1, 1, 0, 0 }, 40, 38, 27.75f, 40 },
	{ { -1, 0, 1, 0 }, 72, 70, 47.5f, 72 },
	{ { 0, 0, 0, 0 }, 74, 71.5f, 71.5f, 74 },
	{ { -1, 0, 0, 0 }, 26, 23.5f, 23.5f, 26 },
	{ { 0, 1, 0, 0 }, 42, 39.5f, 39.5f, 42 },
	{ { 0, -1, 0, 0 }, 58, 55.5f, 55.5f, 58 },
	{ { 1, 0.3f, -0.5f, 0 }, 7, 6.09375f, 6.09375f, 7 },
	{ { -1, 0.3f, -0.5f, 0 }, 21, 20.0938f, 20.0938f, 21 },
	{ { 0.3f, 1, -0.5f, 0 }, 38, 36.1016f, 36.1016f, 38 },
	{ { 0.3f, -1, -0.5f, 0 }, 62, 60.1016f, 60.1016f, 62 },
	{ { 0.3f, -0.5f, 1, 0 }, 78, 76.1016f, 76.1016f, 78 },
	{ { 0.3f, -0.5f, -1, 0 }, 93, 90.8984f, 90.8984f, 93 },
	{ { 2, 0.2f, 1.9f, 0 }, 4, 5.20312f, 31.8984f, 4 },
};

#define CUBE	(sizeof(cube) / sizeof(cube[0]))

static void cubes(void)
{
	const unsigned int unit = CU_TRSF_NORMALIZED_COORDINATES;
	const unsigned int seamless = unit | CU_TRSF_SEAMLESS_CUBEMAP;
	const CUaddress_mode clamp = CU_TR_ADDRESS_MODE_CLAMP, border = CU_TR_ADDRESS_MODE_BORDER;
	CUarray a = array(4, 4, 6, CUDA_ARRAY3D_CUBEMAP);
	float want[4][CUBE];

	for (size_t i = 0; i < CUBE; i++) {
		at[i] = cube[i].at;
		want[0][i] = cube[i].point;
		want[1][i] = cube[i].clamp;
		want[2][i] = cube[i].seamless;
		want[3][i] = cube[i].border;
	}
	ok(!run("cube", texture(a, clamp, 0, unit), CUBE) && gives(want[0], CUBE, 0),
	   "a_direction_selects_a_face_and_a_texel");
	ok(!run("cube", texture(a, clamp, 1, unit), CUBE) && gives(want[1], CUBE, 0.05f),
	   "filtering_stays_in_the_face");
	/* A GPU adds four texels up in less precision than a float has. */
	ok(!run("cube", texture(a, clamp, 1, seamless), CUBE) && gives(want[2], CUBE, 0.2f),
	   "seamless_filtering_goes_on_in_the_next_face");
	ok(!run("cube", texture(a, border, 0, unit), CUBE) && gives(want[3], CUBE, 0),
	   "a_face_has_a_border");
	ok(!run("cube", texture(a, border, 0, seamless), CUBE) && gives(want[0], CUBE, 0),
	   "a_seamless_cube_has_none");
	cuArrayDestroy(a);
}

/* Where cubes are layered, layer 1 has the same texels, 96 more each. */
static void layered_cubes(void)
{
	CUarray a = array(4, 4, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED);
	float want[CUBE];

	for (size_t i = 0; i < CUBE; i++) {
		at[i] = cube[i].at;
		at[i].layer = (int)(i % 4) - 1;
		want[i] = cube[i].point + (at[i].layer ? 96 : 0);
	}
	ok(!run("cube_layers", texture(a, CU_TR_ADDRESS_MODE_CLAMP, 0,
				       CU_TRSF_NORMALIZED_COORDINATES), CUBE) &&
	   gives(want, CUBE, 0), "cubes_are_layered");
	cuArrayDestroy(a);
}

/* ---- surfaces ---- */

/* What the places of a shape are in the array, by number. */
static void surface_shape(const char *shape, CUarray a, size_t w, size_t h, int z, const char *name)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	float want[N], all[512];
	char kernel[40];
	int good;

	cuArray3DGetDescriptor_v2(&d, a);
	for (unsigned int i = 0; i < N; i++) {
		unsigned int n = i * 7 % elements(&d);

		at[i] = (struct at){ n % w, n / w % h, z ? 0 : n / w / h, z ? n / w / h : 0 };
		want[i] = n;
	}
	snprintf(kernel, sizeof(kernel), "load_%s", shape);
	good = !run(kernel, surface(a), N) && gives(want, N, 0);
	snprintf(kernel, sizeof(kernel), "store_%s", shape);
	good &= !run(kernel, surface(a), 5) && !copy(a, all, 0, 0, d.Depth ? d.Depth : 1);
	for (unsigned int i = 0; i < elements(&d); i++) {
		float value = i;

		for (unsigned int k = 0; k < 5; k++)
			if (want[k] == i)
				value = 100 + k;
		good &= all[i] == value;
	}
	ok(good, name);
	cuArrayDestroy(a);
}

static void surfaces(void)
{
	const unsigned int layered = CUDA_ARRAY3D_LAYERED, is_cube = CUDA_ARRAY3D_CUBEMAP;

	surface_shape("line", array(37, 0, 0, 0), 37, 1, 0, "a_line_is_a_surface");
	surface_shape("image", array(8, 5, 0, 0), 8, 5, 0, "an_image_is_a_surface");
	surface_shape("box", array(5, 4, 3, 0), 5, 4, 0, "a_box_is_a_surface");
	surface_shape("line_layers", array(16, 0, 4, layered), 16, 1, 1,
		      "layers_of_lines_are_a_surface");
	surface_shape("image_layers", array(8, 3, 3, layered), 8, 3, 1,
		      "layers_of_images_are_a_surface");
	surface_shape("cube", array(4, 4, 6, is_cube), 4, 4, 1, "a_cube_is_a_surface");
	surface_shape("cube_layers", array(4, 4, 12, is_cube | layered), 4, 4, 1,
		      "layers_of_cubes_are_a_surface");
}

/* The array has 8 x 2 texels in 3 layers. */
static void outside(void)
{
	CUarray a = array(8, 2, 3, CUDA_ARRAY3D_LAYERED);
	float clamp[16], zero[16], all[48];
	CUsurfObject s = surface(a);

	for (int i = 0; i < 16; i++) {
		int x = i - 4, y = i % 3 - 1, l = i % 4 - 1;

		at[i] = (struct at){ x, y, 0, l };
		clamp[i] = 16 * layer_of(l, 3) + 8 * clamped(y, 2) + clamped(x, 8);
		zero[i] = x < 0 || x > 7 || y < 0 || l < 0 ? 0 : 16 * l + 8 * y + x;
	}
	ok(!run("load_clamped", s, 16) && gives(clamp, 16, 0), "clamped_loads_take_the_nearest_texel");
	ok(!run("load_zeros", s, 16) && gives(zero, 16, 0), "loads_of_zeros_give_0_outside");
	at[0] = (struct at){ 100, 0, 0, 0 };
	at[1] = (struct at){ 0, 0, 0, 9 };
	ok(!run("store_clamped", s, 2) && !copy(a, all, 0, 0, 3) && all[7] == 100 && all[32] == 101 &&
	   all[0] == 0, "clamped_stores_hit_the_nearest_texel");
	ok(!run("store_zeros", s, 2) && !copy(a, all, 0, 0, 3) && all[7] == 100 && all[32] == 101 &&
	   all[0] == 0, "stores_outside_are_dropped_if_asked");
	at[0] = (struct at){ 2, 0, 0, 0 };
	ok(!run("load_pair", s, 1) && out[0] == 302, "two_elements_are_loaded_at_once");
	cuArrayDestroy(a);
	a = array(3, 1, 1, CUDA_ARRAY3D_LAYERED);
	ok(!run("load_nearest_pair", surface(a), 1) && out[0] == 100,
	   "half_a_pair_at_the_end_of_a_row_is_outside");
	cuArrayDestroy(a);
}

static void widths(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 4, .Height = 9, .Format = CU_AD_FORMAT_FLOAT,
				      .NumChannels = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST };
	unsigned char from[144], to[144] = { 0 };
	CUsurfObject s[2];
	void *args[] = { &s[0], &s[1] };
	CUarray a = NULL, b = NULL;
	CUfunction f = NULL;

	for (int i = 0; i < 144; i++)
		from[i] = i * 37 + 129;
	cuArray3DCreate_v2(&a, &d);
	cuArray3DCreate_v2(&b, &d);
	copy(a, (float *)from, 1, 0, 1);
	copy(b, (float *)to, 1, 0, 1);
	s[0] = surface(a);
	s[1] = surface(b);
	cuModuleGetFunction(&f, mod, "widths");
	ok(!cuLaunchKernel(f, 1, 1, 1, 16, 1, 1, 0, NULL, args, NULL) &&
	   !copy(b, (float *)to, 0, 0, 1) && !memcmp(from, to, sizeof(to)),
	   "accesses_have_from_1_to_16_bytes");
	cuArrayDestroy(a);
	cuArrayDestroy(b);
}

/* ---- faults ---- */

enum object { OF_LAYERS, OF_CUBE, OF_IMAGE, SURFACE, GONE };

static unsigned long long object_of(enum object which)
{
	CUarray a = which == OF_CUBE ? array(4, 4, 6, CUDA_ARRAY3D_CUBEMAP) :
		    which == OF_IMAGE ? array(8, 2, 0, 0) : array(8, 2, 3, CUDA_ARRAY3D_LAYERED);
	CUsurfObject s;

	if (which < SURFACE)
		return texture(a, CU_TR_ADDRESS_MODE_CLAMP, 0, 0);
	s = surface(a);
	if (which == GONE)
		cuArrayDestroy(a);
	return s;
}

/* Whether a kernel leaves this error in a process of its own. */
static int leaves(CUresult want, const char *kernel, enum object which, struct at place)
{
	int status = 0;
	pid_t pid = fork();
	CUresult got;

	if (!pid) {
		if (!start())
			_exit(2);
		at[0] = place;
		got = run(kernel, object_of(which), 1);
		if (got != want)
			fprintf(stderr, "%s: %d, not %d\n", kernel, got, want);
		_exit(got != want);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void faults(void)
{
	const CUresult wild = CUDA_ERROR_ILLEGAL_ADDRESS;
	const struct at inside = { 0, 0, 0, 0 };

	ok(leaves(CUDA_SUCCESS, "load_image_layers", SURFACE, inside), "inside_nothing_faults");
	ok(leaves(wild, "load_image_layers", SURFACE, (struct at){ 8, 0, 0, 0 }) &&
	   leaves(wild, "load_image_layers", SURFACE, (struct at){ -1, 0, 0, 0 }) &&
	   leaves(wild, "load_image_layers", SURFACE, (struct at){ 0, 2, 0, 0 }),
	   "a_load_outside_is_an_illegal_address");
	ok(leaves(wild, "store_image_layers", SURFACE, (struct at){ 0, 0, 0, 3 }) &&
	   leaves(wild, "store_image_layers", SURFACE, (struct at){ 0, 0, 0, -1 }),
	   "a_store_to_no_layer_is_an_illegal_address");
	ok(leaves(CUDA_ERROR_MISALIGNED_ADDRESS, "load_between", SURFACE, inside) &&
	   leaves(CUDA_ERROR_MISALIGNED_ADDRESS, "load_pair", SURFACE, (struct at){ 1, 0, 0, 0 }),
	   "an_access_is_aligned_to_its_own_size");
	ok(leaves(wild, "load_image_layers", GONE, inside), "a_destroyed_array_is_not_reached");
	/* A GPU gives some texel, for these and for the next ones. */
	ok(leaves(wild, "image", OF_LAYERS, inside) &&
	   leaves(wild, "image_layers", OF_IMAGE, inside) &&
	   leaves(wild, "image_layers", OF_CUBE, inside) &&
	   leaves(wild, "cube_layers", OF_CUBE, inside) &&
	   leaves(wild, "load_image", SURFACE, inside), "another_shape_is_an_illegal_address");
	ok(leaves(wild, "load_image_layers", OF_LAYERS, inside) &&
	   leaves(wild, "image_layers", SURFACE, inside), "a_texture_is_no_surface");
}

int main(int argc, char **argv)
{
	const char *end = strrchr(argv[0], '/');

	(void)argc;
	snprintf(path, sizeof(path), "%.*slayered.ptx", end ? (int)(end - argv[0]) + 1 : 0, argv[0]);
	if (access(path, R_OK)) {
		printf("1..0 # SKIP no nvcc when this was built\n");
		return 0;
	}
	tap_plan(39);
	faults();
	ok(start(), "the_kernels_load");
	layers();
	integers();
	copies();
	limits();
	cubes();
	layered_cubes();
	surfaces();
	outside();
	widths();
	return tap_exit();
}
