// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that kernels fetch from texture objects over arrays and linear memory
 * what the CUDA programming guide says: every address mode, point and linear filtering,
 * formats with their conversions. The expectations hold on a GPU, too.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

/* Does out[i] = fetch at xyz[i], four words each. */
#define FETCH(name, axes, type, at) \
	".visible .entry " name "(.param .u64 t, .param .u64 at, .param .u64 out)\n{\n" \
	".reg .b64 %t, %a, %o;\n.reg .b32 %i, %x, %y, %z, %r<4>;\n" \
	"ld.param.u64 %t, [t];\nld.param.u64 %a, [at];\nld.param.u64 %o, [out];\n" \
	"mov.u32 %i, %tid.x;\nmad.wide.u32 %a, %i, 12, %a;\nmad.wide.u32 %o, %i, 16, %o;\n" \
	"ld.global.u32 %x, [%a];\nld.global.u32 %y, [%a+4];\nld.global.u32 %z, [%a+8];\n" \
	"tex." axes ".v4." type " {%r0, %r1, %r2, %r3}, [%t, {" at "}];\n" \
	"st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3};\nret;\n}\n"

static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
	FETCH("f1", "1d", "f32.f32", "%x") FETCH("f2", "2d", "f32.f32", "%x, %y")
	FETCH("f3", "3d", "f32.f32", "%x, %y, %z, %z") FETCH("i1", "1d", "f32.s32", "%x")
	FETCH("u2", "2d", "u32.f32", "%x, %y");

/* The same by a reference: what FETCH() takes as an object is of no use. */
static const char by_reference[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
	".global .texref line;\n.global .u32 number;\n"
	".visible .entry r1(.param .u64 t, .param .u64 at, .param .u64 out)\n{\n"
	".reg .b64 %a, %o;\n.reg .b32 %i, %x, %r<4>;\n"
	"ld.param.u64 %a, [at];\nld.param.u64 %o, [out];\n"
	"mov.u32 %i, %tid.x;\nmad.wide.u32 %a, %i, 12, %a;\nmad.wide.u32 %o, %i, 16, %o;\n"
	"ld.global.u32 %x, [%a];\n"
	"tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [line, {%x}];\n"
	"st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3};\nret;\n}\n";

#define N	32		/* fetches */
#define W	8
#define H	4

static CUmodule mod;
static CUdeviceptr at_dev, out_dev;
static float at[N][3];
static union { float f[4]; unsigned int u[4]; } out[N];

static int fetch(const char *name, CUtexObject t)
{
	void *args[] = { &t, &at_dev, &out_dev };
	CUfunction f;

	cuMemcpyHtoD_v2(at_dev, at, sizeof(at));
	return !cuModuleGetFunction(&f, mod, name) &&
	       !cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, args, NULL) &&
	       !cuMemcpyDtoH_v2(out, out_dev, sizeof(out));
}

static CUtexObject texture(const CUDA_RESOURCE_DESC *r, CUaddress_mode mode, CUfilter_mode filter,
			   unsigned int flags)
{
	CUDA_TEXTURE_DESC d = { .addressMode = { mode, mode, mode }, .filterMode = filter,
				.flags = flags, .maxAnisotropy = 0,
				.borderColor = { 9, 0, 0, 0 } };
	CUtexObject t = 0;

	return cuTexObjectCreate(&t, r, &d, NULL) ? 0 : t;
}

static CUarray array(CUarray_format format, unsigned int channels, size_t w, size_t h, size_t d,
		     const void *data, size_t row)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = { .Width = w, .Height = h, .Depth = d, .Format = format,
					 .NumChannels = channels };
	CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = data, .srcPitch = row,
			    .srcHeight = h ? h : 1, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			    .WidthInBytes = row, .Height = h ? h : 1, .Depth = d ? d : 1 };

	if (cuArray3DCreate_v2(&c.dstArray, &desc) || cuMemcpy3D_v2(&c))
		return NULL;
	return c.dstArray;
}

static CUDA_RESOURCE_DESC of_array(CUarray a)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };

	r.res.array.hArray = a;
	return r;
}

static float image[H][W];

static int fold(int i, int n, CUaddress_mode mode, int normalized)
{
	if (i >= 0 && i < n)
		return i;
	if (mode == CU_TR_ADDRESS_MODE_BORDER)
		return -1;
	if (!normalized || mode == CU_TR_ADDRESS_MODE_CLAMP)
		return i < 0 ? 0 : n - 1;
	i = ((i % (2 * n)) + 2 * n) % (2 * n);
	if (mode == CU_TR_ADDRESS_MODE_WRAP)
		return i % n;
	return i < n ? i : 2 * n - 1 - i;
}

static float pixel(int x, int y, CUaddress_mode mode, int normalized)
{
	x = fold(x, W, mode, normalized);
	y = fold(y, H, mode, normalized);
	return x < 0 || y < 0 ? 9 : image[y][x];
}

static float expected(float x, float y, CUaddress_mode mode, CUfilter_mode filter, int normalized)
{
	float a, b;
	int i, j;

	x *= normalized ? W : 1;
	y *= normalized ? H : 1;
	if (filter == CU_TR_FILTER_MODE_POINT)
		return pixel(floorf(x), floorf(y), mode, normalized);
	i = floorf(x - 0.5f);
	j = floorf(y - 0.5f);
	a = x - 0.5f - i;
	b = y - 0.5f - j;
	return (1 - b) * ((1 - a) * pixel(i, j, mode, normalized) +
			  a * pixel(i + 1, j, mode, normalized)) +
	       b * ((1 - a) * pixel(i, j + 1, mode, normalized) +
		    a * pixel(i + 1, j + 1, mode, normalized));
}

/* The places are steps of 1/16 texel, so that eight bits of fraction hold the weights. */
static void places(int normalized)
{
	for (int i = 0; i < N; i++) {
		at[i][0] = (i * 11 - 80) / 16.0f + 0.03125f;
		at[i][1] = (i * 7 - 60) / 16.0f + 0.03125f;
		at[i][0] /= normalized ? W : 1;
		at[i][1] /= normalized ? H : 1;
	}
}

static void modes(CUarray a)
{
	static const char *const names[] = { "wrap", "clamp", "mirror", "border" };
	CUDA_RESOURCE_DESC r = of_array(a);
	char name[100];

	for (int k = 0; k < 16; k++) {
		int mode = k % 4, filter = k / 4 % 2, normalized = k / 8;
		CUtexObject t = texture(&r, mode, filter,
					normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0);
		int good;

		places(normalized);
		good = t && fetch("f2", t);
		for (int i = 0; good && i < N; i++) {
			float want = expected(at[i][0], at[i][1], mode, filter, normalized);

			/* A GPU adds the four corners up in less precision than a float has. */
			if (fabsf(out[i].f[0] - want) > (filter ? 0.02f : 0)) {
				diag("at %g, %g: %g, not %g", at[i][0], at[i][1], out[i].f[0], want);
				good = 0;
			}
		}
		snprintf(name, sizeof(name), "%s_%s_with_%s_coordinates", names[mode],
			 filter ? "linear" : "point", normalized ? "normalized" : "texel");
		ok(good, name);
		cuTexObjectDestroy(t);
	}
}

static void formats(void)
{
	static const unsigned char bytes[4] = { 0, 51, 128, 255 };
	static const short words[4] = { -32768, -32767, 0, 32767 };
	static const unsigned short halves[4] = { 0x3c00, 0xc000, 0x3555, 0x7bff };
	CUDA_RESOURCE_DESC r = of_array(array(CU_AD_FORMAT_UNSIGNED_INT8, 4, 1, 1, 0, bytes, 4));
	CUtexObject t = texture(&r, CU_TR_ADDRESS_MODE_CLAMP, 0, 0);

	memset(at, 0, sizeof(at));
	ok(fetch("f2", t) && out[0].f[0] == 0 && out[0].f[1] == 51 / 255.0f &&
	   out[0].f[2] == 128 / 255.0f && out[0].f[3] == 1, "bytes_become_fractions");
	t = texture(&r, CU_TR_ADDRESS_MODE_CLAMP, 0, CU_TRSF_READ_AS_INTEGER);
	ok(fetch("u2", t) && out[0].u[1] == 51 && out[0].u[3] == 255, "bytes_stay_integers_if_asked");
	r = of_array(array(CU_AD_FORMAT_SIGNED_INT16, 4, 1, 1, 0, words, 8));
	t = texture(&r, CU_TR_ADDRESS_MODE_CLAMP, 0, 0);
	ok(fetch("f2", t) && out[0].f[0] == -1 && out[0].f[1] == -1 && out[0].f[2] == 0 &&
	   out[0].f[3] == 1, "signed_words_become_fractions");
	r = of_array(array(CU_AD_FORMAT_HALF, 4, 1, 1, 0, halves, 8));
	t = texture(&r, CU_TR_ADDRESS_MODE_CLAMP, 0, 0);
	if (!ok(fetch("f2", t) && out[0].f[0] == 1 && out[0].f[1] == -2 &&
		out[0].f[2] == 0x1.554p-2f && out[0].f[3] == 65504, "halves_become_floats"))
		diag("%a %a %a %a", out[0].f[0], out[0].f[1], out[0].f[2], out[0].f[3]);
	r = of_array(array(CU_AD_FORMAT_FLOAT, 1, W, H, 0, image, sizeof(image[0])));
	t = texture(&r, CU_TR_ADDRESS_MODE_CLAMP, 0, 0);
	if (!ok(fetch("f2", t) && out[0].f[0] == image[0][0] && !out[0].f[1] && !out[0].f[2] &&
		!out[0].f[3], "missing_channels_are_0"))
		diag("%g %g %g", out[0].f[1], out[0].f[2], out[0].f[3]);
}

static void shapes(void)
{
	static float box[2][2][4];
	CUDA_RESOURCE_DESC r;
	CUdeviceptr mem;
	CUtexObject t;
	int good = 1;

	for (int i = 0; i < 16; i++)
		((float *)box)[i] = i;
	r = of_array(array(CU_AD_FORMAT_FLOAT, 1, 4, 2, 2, box, 16));
	t = texture(&r, CU_TR_ADDRESS_MODE_CLAMP, 1, 0);
	at[0][0] = 2, at[0][1] = at[0][2] = 1;
	ok(fetch("f3", t) && out[0].f[0] == 7.5f, "eight_corners_are_mixed");
	r = of_array(array(CU_AD_FORMAT_FLOAT, 1, W, 0, 0, image, sizeof(image[0])));
	t = texture(&r, CU_TR_ADDRESS_MODE_CLAMP, 0, 0);
	at[0][0] = 3.9f;
	ok(fetch("f1", t) && out[0].f[0] == image[0][3], "a_line_is_fetched_from");
	cuMemAlloc_v2(&mem, 64);
	cuMemcpyHtoD_v2(mem, image, 64);
	memset(&r, 0, sizeof(r));
	r.resType = CU_RESOURCE_TYPE_LINEAR;
	r.res.linear.devPtr = mem;
	r.res.linear.format = CU_AD_FORMAT_FLOAT;
	r.res.linear.numChannels = 1;
	r.res.linear.sizeInBytes = 40;
	t = texture(&r, CU_TR_ADDRESS_MODE_CLAMP, 0, CU_TRSF_READ_AS_INTEGER);
	for (int i = 0; i < N; i++)
		memcpy(&at[i][0], &(int){ i - 4 }, 4);
	good = fetch("i1", t);
	for (int i = 0; good && i < N; i++)
		good = out[i].f[0] == (i < 4 || i >= 14 ? 0 : (&image[0][0])[i - 4]);
	ok(good, "behind_linear_memory_are_zeros");
	cuMemFree_v2(mem);
}

/* These are removed from later toolkits, but the driver has them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static int reads(unsigned int word, float want)
{
	memset(at, 0, sizeof(at));
	memcpy(&at[0][0], &word, 4);
	return fetch("r1", 0) && out[0].f[0] == want;
}

/* A word of a surface, written and read by references of a module. */
static const char by_surface[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
	".global .surfref sheet;\n.global .texref line;\n"
	".visible .entry put(.param .u32 x, .param .u32 y, .param .u32 v)\n{\n"
	".reg .b32 %r<4>;\nld.param.u32 %r0, [x];\nld.param.u32 %r1, [y];\n"
	"ld.param.u32 %r2, [v];\nshl.b32 %r0, %r0, 2;\n"
	"sust.b.2d.b32.trap [sheet, {%r0, %r1}], {%r2};\nret;\n}\n"
	".visible .entry get(.param .u32 x, .param .u32 y, .param .u64 out)\n{\n"
	".reg .b64 %o;\n.reg .b32 %r<4>;\nld.param.u32 %r0, [x];\n"
	"ld.param.u32 %r1, [y];\nld.param.u64 %o, [out];\nshl.b32 %r0, %r0, 2;\n"
	"suld.b.2d.b32.trap {%r2}, [sheet, {%r0, %r1}];\nst.global.u32 [%o], %r2;\nret;\n}\n";

static int puts_word(CUmodule m, unsigned int x, unsigned int y, unsigned int v)
{
	void *args[] = { &x, &y, &v };
	CUfunction f;

	return !cuModuleGetFunction(&f, m, "put") &&
	       !cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) && !cuCtxSynchronize();
}

static unsigned int word_at(CUmodule m, unsigned int x, unsigned int y)
{
	void *args[] = { &x, &y, &out_dev };
	unsigned int v = 0;
	CUfunction f;

	return cuModuleGetFunction(&f, m, "get") ||
	       cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) ||
	       cuMemcpyDtoH_v2(&v, out_dev, sizeof(v)) ? 0 : v;
}

static void surface_references(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = W, .Height = H, .NumChannels = 1,
				      .Format = CU_AD_FORMAT_UNSIGNED_INT32,
				      .Flags = CUDA_ARRAY3D_SURFACE_LDST };
	CUsurfref ref = NULL, again = NULL, none = NULL;
	CUarray a, b, plain, got = NULL;
	CUdeviceptr at_none;
	size_t bytes;
	CUmodule m;

	cuArray3DCreate_v2(&a, &d);
	cuArray3DCreate_v2(&b, &d);
	d.Flags = 0;
	cuArray3DCreate_v2(&plain, &d);
	ok(!cuModuleLoadData(&m, by_surface) && !cuModuleGetSurfRef(&ref, m, "sheet") &&
	   !cuModuleGetSurfRef(&again, m, "sheet") && ref == again,
	   "a_module_has_a_surface_with_one_handle");
	ok(cuModuleGetSurfRef(&none, m, "line") == CUDA_ERROR_NOT_FOUND &&
	   cuModuleGetTexRef((CUtexref *)&none, m, "sheet") == CUDA_ERROR_NOT_FOUND,
	   "a_texture_is_no_surface");
	ok_eq(cuModuleGetGlobal_v2(&at_none, &bytes, m, "sheet"), CUDA_ERROR_INVALID_VALUE,
	      "nor_is_a_surface_a_variable");
	ok(!cuSurfRefSetArray(ref, a, 0) && !cuSurfRefGetArray(&got, ref) && got == a,
	   "an_array_is_bound_to_a_surface");
	ok(puts_word(m, 2, 1, 4) && puts_word(m, W - 1, H - 1, 77) &&
	   word_at(m, W - 1, H - 1) == 77 && word_at(m, 2, 1) == 4, "kernels_write_and_read_it");
	ok(!cuSurfRefSetArray(ref, b, 0) && puts_word(m, 2, 1, 5) && word_at(m, 2, 1) == 5 &&
	   !cuSurfRefSetArray(ref, a, 0) && word_at(m, 2, 1) == 4,
	   "another_array_is_bound_in_its_place");
	ok(cuSurfRefSetArray(ref, plain, 0) == CUDA_ERROR_INVALID_VALUE &&
	   cuSurfRefSetArray(ref, a, 1) == CUDA_ERROR_INVALID_VALUE &&
	   word_at(m, W - 1, H - 1) == 77,
	   "one_that_is_for_no_surface_is_refused");
	cuModuleUnload(m);
	cuArrayDestroy(a);
	cuArrayDestroy(b);
	cuArrayDestroy(plain);
}

static void references(void)
{
	CUtexref ref = NULL, again = NULL, none = NULL;
	CUaddress_mode mode = CU_TR_ADDRESS_MODE_WRAP;
	CUmodule before = mod;
	CUarray_format format;
	CUdeviceptr mem, bound = 0, size;
	unsigned int flags = 0;
	size_t offset = 7, bytes;
	int channels = 0;

	cuMemAlloc_v2(&mem, 4096);
	cuMemcpyHtoD_v2(mem, image, sizeof(image));
	ok(!cuModuleLoadData(&mod, by_reference) && !cuModuleGetTexRef(&ref, mod, "line") &&
	   !cuModuleGetTexRef(&again, mod, "line") && ref == again,
	   "a_module_has_a_reference_with_one_handle");
	ok(cuModuleGetTexRef(&none, mod, "number") == CUDA_ERROR_NOT_FOUND,
	   "a_variable_is_no_reference");
	ok_eq(cuModuleGetGlobal_v2(&size, &bytes, mod, "line"), CUDA_ERROR_INVALID_VALUE,
	      "nor_is_a_reference_a_variable");
	/* NVIDIA's driver takes it for one. */
	if (getenv("WORMHOLE_TRANSPORT"))
		ok(cuTexObjectDestroy((CUtexObject)ref) != 0, "nor_is_it_an_object");
	else
		skip("nor_is_it_an_object", "the driver takes it for one");
	ok(!cuTexRefSetFormat(ref, CU_AD_FORMAT_FLOAT, 1) &&
	   !cuTexRefSetAddress_v2(&offset, ref, mem, sizeof(image)) && !offset &&
	   reads(3, image[0][3]), "memory_is_fetched_by_it");
	ok(!cuTexRefSetAddress_v2(&offset, ref, mem + 16, 64) && offset == 16 &&
	   !cuTexRefGetAddress_v2(&bound, ref) && bound == mem && reads(19, image[2][3]) &&
	   reads(20, 0), "memory_in_the_middle_has_an_offset_and_an_end");
	ok(!cuTexRefSetAddressMode(ref, 2, CU_TR_ADDRESS_MODE_MIRROR) &&
	   !cuTexRefGetAddressMode(&mode, ref, 2) && mode == CU_TR_ADDRESS_MODE_MIRROR &&
	   !cuTexRefSetFlags(ref, CU_TRSF_READ_AS_INTEGER) && !cuTexRefGetFlags(&flags, ref) &&
	   flags == CU_TRSF_READ_AS_INTEGER && !cuTexRefGetFormat(&format, &channels, ref) &&
	   format == CU_AD_FORMAT_FLOAT && channels == 1, "it_tells_what_was_set");
	ok(!cuModuleUnload(mod) && cuTexRefSetFlags(ref, 0), "it_ends_with_its_module");
	mod = before;
	cuMemFree_v2(mem);
}

int main(void)
{
	CUcontext ctx;

	tap_plan(40);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuMemAlloc_v2(&at_dev, sizeof(at));
	cuMemAlloc_v2(&out_dev, sizeof(out));
	ok(!cuModuleLoadData(&mod, ptx), "the_kernels_load");
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++)
			image[y][x] = 1 + (y * W + x) % 5 + y * 0.25f;
	modes(array(CU_AD_FORMAT_FLOAT, 1, W, H, 0, image, sizeof(image[0])));
	formats();
	shapes();
	references();
	surface_references();
	return tap_exit();
}
