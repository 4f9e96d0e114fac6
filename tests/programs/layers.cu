// SPDX-License-Identifier: Apache-2.0
// Fills layered arrays and cubemaps by copies, layer by layer, and by kernels through surfaces.
// Fetches from them through textures.
#include "program.h"

#define SIZE	32
#define LAYERS	5
#define FACES	6

__global__ void fetch_layers(float *out, cudaTextureObject_t t)
{
	int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;

	out[(layer * SIZE + y) * SIZE + x] = tex2DLayered<float>(t, x + 0.5f, y + 0.5f, layer);
}

__global__ void fetch_lines(float *out, cudaTextureObject_t t)
{
	out[blockIdx.x * SIZE + threadIdx.x] =
		tex1DLayered<float>(t, (threadIdx.x + 0.5f) / SIZE, blockIdx.x);
}

/* The direction to the middle of each texel of each face. */
__global__ void fetch_cube(float *out, cudaTextureObject_t t)
{
	int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x;
	float u = (2 * x + 1) / (float)SIZE - 1, v = (2 * y + 1) / (float)SIZE - 1;
	float3 d = face == 0 ? make_float3(1, -v, -u) : face == 1 ? make_float3(-1, -v, u) :
		   face == 2 ? make_float3(u, 1, v) : face == 3 ? make_float3(u, -1, -v) :
		   face == 4 ? make_float3(u, -v, 1) : make_float3(-u, -v, -1);

	out[(face * SIZE + y) * SIZE + x] = texCubemap<float>(t, d.x, d.y, d.z);
}

__global__ void write_layers(cudaSurfaceObject_t s, float add)
{
	int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
	float v = surf2DLayeredread<float>(s, x * 4, y, layer);

	surf2DLayeredwrite(v * 2 + add, s, x * 4, y, layer);
}

static cudaArray_t array_of(size_t height, size_t depth, unsigned int flags)
{
	cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
	cudaArray_t a;

	CHECK(cudaMalloc3DArray(&a, &d, make_cudaExtent(SIZE, height, depth),
				flags | cudaArraySurfaceLoadStore));
	return a;
}

/* Copies one layer at a time, the last one first. */
static void fill(cudaArray_t a, size_t height, size_t depth, int seed)
{
	std::vector<float> host(SIZE * height);

	for (size_t layer = depth; layer--;) {
		cudaMemcpy3DParms p = {};

		for (size_t i = 0; i < host.size(); i++)
			host[i] = seed + layer * 10000 + i;
		p.srcPtr = make_cudaPitchedPtr(host.data(), SIZE * 4, SIZE, height);
		p.dstArray = a;
		p.dstPos = make_cudaPos(0, 0, layer);
		p.extent = make_cudaExtent(SIZE, height, 1);
		p.kind = cudaMemcpyHostToDevice;
		CHECK(cudaMemcpy3D(&p));
	}
}

static cudaResourceDesc resource(cudaArray_t a)
{
	cudaResourceDesc r = {};

	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	return r;
}

static cudaTextureObject_t texture(cudaArray_t a, bool normalized)
{
	cudaResourceDesc r = resource(a);
	cudaTextureDesc d = {};
	cudaTextureObject_t t;

	d.normalizedCoords = normalized;
	d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = cudaAddressModeClamp;
	CHECK(cudaCreateTextureObject(&t, &r, &d, NULL));
	return t;
}

static void print_result(const char *what, const float *out, size_t n)
{
	CHECK_LAUNCH();
	CHECK(cudaDeviceSynchronize());
	print_hash(what, hash_device(out, n));
}

int main(void)
{
	cudaArray_t images = array_of(SIZE, LAYERS, cudaArrayLayered);
	cudaArray_t lines = array_of(0, LAYERS, cudaArrayLayered);
	cudaArray_t cube = array_of(SIZE, FACES, cudaArrayCubemap);
	cudaResourceDesc r = resource(images);
	dim3 block(SIZE, SIZE);
	cudaSurfaceObject_t s;
	float *out;

	CHECK(cudaMalloc(&out, FACES * SIZE * SIZE * sizeof(*out)));
	fill(images, SIZE, LAYERS, 1);
	fill(lines, 1, LAYERS, 2);
	fill(cube, SIZE, FACES, 3);
	fetch_layers<<<LAYERS, block>>>(out, texture(images, false));
	print_result("layers of images", out, LAYERS * SIZE * SIZE);
	fetch_lines<<<LAYERS, SIZE>>>(out, texture(lines, true));
	print_result("layers of lines", out, LAYERS * SIZE);
	fetch_cube<<<FACES, block>>>(out, texture(cube, true));
	print_result("faces of a cube", out, FACES * SIZE * SIZE);
	CHECK(cudaCreateSurfaceObject(&s, &r));
	write_layers<<<LAYERS, block>>>(s, 0.5f);
	fetch_layers<<<LAYERS, block>>>(out, texture(images, false));
	print_result("layers that a kernel wrote", out, LAYERS * SIZE * SIZE);
	CHECK(cudaDestroySurfaceObject(s));
	CHECK(cudaFreeArray(images));
	CHECK(cudaFreeArray(lines));
	CHECK(cudaFreeArray(cube));
	return 0;
}
