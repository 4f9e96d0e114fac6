// SPDX-License-Identifier: Apache-2.0
/* The kernels that bench/softgpu.c measures: matrix products as programs write them, and others. */

#define TILE 16

/* One element of C per thread, with tiles of 16 by 16 in shared memory. */
extern "C" __global__ void tiled(const float *a, const float *b, float *c, int n)
{
	__shared__ float ta[TILE][TILE], tb[TILE][TILE];
	int x = threadIdx.x, y = threadIdx.y;
	int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
	float sum = 0;

	for (int t = 0; t < n; t += TILE) {
		ta[y][x] = a[row * n + t + x];
		tb[y][x] = b[(t + y) * n + col];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += ta[y][k] * tb[k][x];
		__syncthreads();
	}
	c[row * n + col] = sum;
}

/* Four by four elements per thread, with tiles of 64 by 16 in shared memory. */
extern "C" __global__ void register_tiled(const float *a, const float *b, float *c, int n)
{
	__shared__ float4 ta[16][16], tb[16][16];
	int t = threadIdx.x, x = t % 16, y = t / 16;
	int row = blockIdx.y * 64, col = blockIdx.x * 64;
	float acc[4][4] = {};

	for (int at = 0; at < n; at += 16) {
		for (int e = 0; e < 4; e++) {
			int i = (t + e * 256) % 64, k = (t + e * 256) / 64;

			((float *)ta[k])[i] = a[(row + i) * n + at + k];
			((float *)tb[k])[i] = b[(at + k) * n + col + i];
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 16; k++) {
			float4 p = ta[k][y], q = tb[k][x];
			float u[4] = { p.x, p.y, p.z, p.w }, v[4] = { q.x, q.y, q.z, q.w };

#pragma unroll
			for (int i = 0; i < 4; i++)
#pragma unroll
				for (int j = 0; j < 4; j++)
					acc[i][j] += u[i] * v[j];
		}
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			c[(row + y * 4 + i) * n + col + x * 4 + j] = acc[i][j];
}

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}
