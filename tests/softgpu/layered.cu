// SPDX-License-Identifier: Apache-2.0
// Kernels for layered_test.c: fetches from layers and cubes, and surfaces of every shape.

extern "C" {

/* Each thread fetches at its own place: x, y, z, and a layer. */
struct at {
	float x, y, z;
	int layer;
};

#define FETCH(name, call) \
	__global__ void name(cudaTextureObject_t t, const at *p, float *out) \
	{ \
		at a = p[threadIdx.x]; \
		out[threadIdx.x] = call; \
	}

FETCH(line_layers, tex1DLayered<float>(t, a.x, a.layer))
FETCH(image_layers, tex2DLayered<float>(t, a.x, a.y, a.layer))
FETCH(integer_layers, tex2DLayered<int4>(t, a.x, a.y, a.layer).w)
FETCH(cube, texCubemap<float>(t, a.x, a.y, a.z))
FETCH(cube_layers, texCubemapLayered<float>(t, a.x, a.y, a.z, a.layer))
FETCH(image, tex2D<float>(t, a.x, a.y))

/* Each thread loads from its own place, in elements. */
#define LOAD(name, call, ...) \
	__global__ void name(cudaSurfaceObject_t s, const at *p, float *out) \
	{ \
		at a = p[threadIdx.x]; \
		int x = (int)a.x * 4, y = a.y, z = a.z; \
		(void)y, (void)z; \
		out[threadIdx.x] = call(__VA_ARGS__); \
	}

__device__ float sum_of_pair(cudaSurfaceObject_t s, int x, int y, int layer)
{
	float2 v = surf2DLayeredread<float2>(s, x, y, layer);

	return v.x + 100 * v.y;
}

__device__ float sum_of_nearest(cudaSurfaceObject_t s, int x, int y, int layer)
{
	float2 v = surf2DLayeredread<float2>(s, x, y, layer, cudaBoundaryModeClamp);

	return v.x + 100 * v.y;
}

LOAD(load_line, surf1Dread<float>, s, x)
LOAD(load_image, surf2Dread<float>, s, x, y)
LOAD(load_box, surf3Dread<float>, s, x, y, z)
LOAD(load_line_layers, surf1DLayeredread<float>, s, x, a.layer)
LOAD(load_image_layers, surf2DLayeredread<float>, s, x, y, a.layer)
LOAD(load_clamped, surf2DLayeredread<float>, s, x, y, a.layer, cudaBoundaryModeClamp)
LOAD(load_zeros, surf2DLayeredread<float>, s, x, y, a.layer, cudaBoundaryModeZero)
LOAD(load_cube, surfCubemapread<float>, s, x, y, a.layer)
LOAD(load_cube_layers, surfCubemapLayeredread<float>, s, x, y, a.layer)
LOAD(load_pair, sum_of_pair, s, x, y, a.layer)
LOAD(load_nearest_pair, sum_of_nearest, s, x, y, a.layer)
LOAD(load_between, surf2DLayeredread<float>, s, x + 2, y, a.layer, cudaBoundaryModeZero)

#define STORE(name, call, ...) \
	__global__ void name(cudaSurfaceObject_t s, const at *p, float *out) \
	{ \
		at a = p[threadIdx.x]; \
		int x = (int)a.x * 4, y = a.y, z = a.z; \
		float v = 100 + threadIdx.x; \
		(void)y, (void)z, (void)out; \
		call(v, __VA_ARGS__); \
	}

STORE(store_line, surf1Dwrite, s, x)
STORE(store_image, surf2Dwrite, s, x, y)
STORE(store_box, surf3Dwrite, s, x, y, z)
STORE(store_line_layers, surf1DLayeredwrite, s, x, a.layer)
STORE(store_image_layers, surf2DLayeredwrite, s, x, y, a.layer)
STORE(store_clamped, surf2DLayeredwrite, s, x, y, a.layer, cudaBoundaryModeClamp)
STORE(store_zeros, surf2DLayeredwrite, s, x, y, a.layer, cudaBoundaryModeZero)
STORE(store_cube, surfCubemapwrite, s, x, y, a.layer)
STORE(store_cube_layers, surfCubemapLayeredwrite, s, x, y, a.layer)

/* Copies rows of 16 bytes in accesses of every size, one row each. */
__global__ void widths(cudaSurfaceObject_t from, cudaSurfaceObject_t to)
{
	int i = threadIdx.x;

	surf2Dwrite(surf2Dread<unsigned char>(from, i, 0), to, i, 0);
	if (i < 8)
		surf2Dwrite(surf2Dread<short>(from, 2 * i, 1), to, 2 * i, 1);
	if (i < 8)
		surf2Dwrite(surf2Dread<uchar2>(from, 2 * i, 2), to, 2 * i, 2);
	if (i < 4)
		surf2Dwrite(surf2Dread<uchar4>(from, 4 * i, 3), to, 4 * i, 3);
	if (i < 4)
		surf2Dwrite(surf2Dread<short2>(from, 4 * i, 4), to, 4 * i, 4);
	if (i < 2)
		surf2Dwrite(surf2Dread<short4>(from, 8 * i, 5), to, 8 * i, 5);
	if (i < 2)
		surf2Dwrite(surf2Dread<long long>(from, 8 * i, 6), to, 8 * i, 6);
	if (i == 0) {
		surf2Dwrite(surf2Dread<int4>(from, 0, 7), to, 0, 7);
		surf2Dwrite(surf2Dread<longlong2>(from, 0, 8), to, 0, 8);
	}
}

}
