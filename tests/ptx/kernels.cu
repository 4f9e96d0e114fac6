// SPDX-License-Identifier: Apache-2.0
// Kernels as programs have them, for cuda_test.c: one of each kind.
#include <assert.h>
#include <cuda_fp16.h>
#include <stdint.h>
#include <stdio.h>

extern "C" {

__global__ void saxpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

#define TILE 16
__global__ void sgemm(float *c, const float *a, const float *b, int n)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y;
	int col = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int t = 0; t < n; t += TILE) {
		as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		__syncthreads();
	}
	c[row * n + col] = sum;
}

__global__ void reduce(int *out, const int *in, int n)
{
	__shared__ int part[32];
	int sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
	     i += gridDim.x * blockDim.x)
		sum += in[i];
	for (int d = 16; d; d /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, d);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x < 32) {
		sum = threadIdx.x < (blockDim.x + 31) / 32 ?
		      part[threadIdx.x] : 0;
		for (int d = 16; d; d /= 2)
			sum += __shfl_xor_sync(0xffffffff, sum, d);
		if (threadIdx.x == 0)
			atomicAdd(out, sum);
	}
}

__global__ void histogram(unsigned *bins, const uint8_t *in, int n)
{
	extern __shared__ unsigned local[];

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		local[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
	     i += gridDim.x * blockDim.x)
		atomicAdd(&local[in[i]], 1);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		atomicAdd(&bins[i], local[i]);
}

__global__ void im2col(float *col, const float *im, int h, int w, int k,
		       int pad, int stride, int oh, int ow, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
	     i += blockDim.x * gridDim.x) {
		int x = i % ow, y = i / ow % oh, c = i / ow / oh;
		const float *p = im + c * h * w;
		float *q = col + (c * k * k * oh + y) * ow + x;

		for (int dy = 0; dy < k; dy++)
			for (int dx = 0; dx < k; dx++) {
				int iy = y * stride - pad + dy;
				int ix = x * stride - pad + dx;

				*q = iy >= 0 && ix >= 0 && iy < h && ix < w ?
				     p[iy * w + ix] : 0;
				q += oh * ow;
			}
	}
}

__global__ void maxpool(float *out, int *at, const float *in, int h, int w,
			int k, int oh, int ow, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	int x = i % ow * k, y = i / ow % oh * k, c = i / ow / oh;
	int best = -1;
	float max = -3.402823466e+38f;

	for (int a = y; a < min(y + k, h); a++)
		for (int b = x; b < min(x + k, w); b++)
			if (in[(c * h + a) * w + b] > max) {
				best = a * w + b;
				max = in[(c * h + a) * w + b];
			}
	out[i] = max;
	at[i] = best;
}

__global__ void philox(uint4 *out, uint2 key, uint4 ctr, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	ctr.x += i;
	for (int r = 0; r < 10; r++) {
		unsigned hi0 = __umulhi(0xD2511F53, ctr.x);
		unsigned hi1 = __umulhi(0xCD9E8D57, ctr.z);

		ctr = make_uint4(hi1 ^ ctr.y ^ key.x, 0xCD9E8D57 * ctr.z,
				 hi0 ^ ctr.w ^ key.y, 0xD2511F53 * ctr.x);
		key.x += 0x9E3779B9;
		key.y += 0xBB67AE85;
	}
	out[i] = ctr;
}

__global__ void math64(double *out, const double *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	double x = in[i], *o = out + 12 * i;

	o[0] = exp(x);
	o[1] = log(fabs(x));
	o[2] = sin(x);
	o[3] = cos(x);
	o[4] = pow(fabs(x), 1.7);
	o[5] = sqrt(fabs(x));
	o[6] = 1 / x;
	o[7] = tanh(x);
	o[8] = atan2(x, 2.0);
	o[9] = cbrt(x);
	o[10] = fmod(x, 0.7);
	o[11] = erf(x);
}

__global__ void math32(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	float x = in[i], *o = out + 12 * i;

	o[0] = expf(x);
	o[1] = logf(fabsf(x));
	o[2] = sinf(x);
	o[3] = cosf(x);
	o[4] = powf(fabsf(x), 1.7f);
	o[5] = sqrtf(fabsf(x));
	o[6] = 1 / x;
	o[7] = tanhf(x);
	o[8] = atan2f(x, 2.0f);
	o[9] = cbrtf(x);
	o[10] = fmodf(x, 0.7f);
	o[11] = erff(x);
}

__global__ void div64(long long *q, long long *r, unsigned long long *u,
		      const long long *a, const long long *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	q[i] = a[i] / b[i];
	r[i] = a[i] % b[i];
	u[i] = (unsigned long long)a[i] / (unsigned long long)b[i];
}

__global__ void choose(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v;

	if (i >= n)
		return;
	switch (in[i]) {
	case 0: v = i * 3; break;
	case 1: v = i ^ 0x55; break;
	case 2: v = i / 7; break;
	case 3: v = i % 11; break;
	case 4: v = __popc(i); break;
	case 5: v = __clz(i); break;
	case 6: v = __brev(i); break;
	case 7: v = -i; break;
	case 9: for (v = 0; i > 1; v++) i = i & 1 ? 3 * i + 1 : i / 2; break;
	default: v = -1;
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

__device__ __noinline__ int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__global__ void recurse(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = fib(in[i]);
}

struct point {
	double x;
	char tag[5];
	short s;
	float v[3];
};

__device__ __noinline__ struct point move(struct point p, int by)
{
	p.x += by;
	p.tag[1] += by;
	p.s -= by;
	p.v[by % 3] = by;
	return p;
}

__global__ void structs(struct point *out, struct point p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = move(p, i);
}

typedef int (*fn)(int);
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int minus(int x) { return -x; }
__device__ fn table[3] = { twice, square, minus };
__constant__ int order[4] = { 2, 0, 1, 0 };

__global__ void pointers(int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = table[order[i % 4]](i);
}

__device__ const char *names[2] = { "even", "odd" };

__global__ void hello(int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	long long big = 1234567890123ll * (i + 1);
	int r = printf("%d %s %5.2f %lld|%-4x|%c|%%\n", i, names[i & 1],
		       i * 1.5, big, i + 250, 'a' + i);

	if (r != 6)
		printf("bad count %d\n", r);
	assert(i < n);
}

__global__ void scan(int *out, const int *in)
{
	__shared__ int s[256];
	int t = threadIdx.x;

	s[t] = in[blockIdx.x * 256 + t];
	for (int d = 1; d < 256; d *= 2) {
		__syncthreads();
		int v = t >= d ? s[t - d] : 0;
		__syncthreads();
		s[t] += v;
	}
	out[blockIdx.x * 256 + t] = s[t];
}

/* Lanes of one warp fight for a lock, which needs independent progress. */
__global__ void spinlock(int *lock, int *count)
{
	bool done = false;

	while (!done) {
		if (atomicCAS(lock, 0, 1) == 0) {
			*(volatile int *)count += 1;
			__threadfence();
			atomicExch(lock, 0);
			done = true;
		}
	}
}

__global__ void lastblock(unsigned *ticket, int *part, int *out)
{
	__shared__ bool last;

	if (threadIdx.x == 0) {
		part[blockIdx.x] = blockIdx.x * 3;
		__threadfence();
		last = atomicInc(ticket, gridDim.x) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && threadIdx.x == 0)
		for (int i = 0; i < gridDim.x; i++)
			*out += part[i];
}

__global__ void halves(__half2 *out, const __half2 *a, const __half2 *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = __hfma2(a[i], b[i], __hadd2(a[i], b[i]));
}

__global__ void votes(unsigned *out, const int *in)
{
	int t = threadIdx.x;
	unsigned m = __ballot_sync(0xffffffff, in[t] > 0);

	out[t] = m;
	if (in[t] > 0)
		out[t] ^= __match_any_sync(m, in[t] & 3);
	out[t + blockDim.x] = __any_sync(0xffffffff, in[t] == 7) |
			      __all_sync(0xffffffff, in[t] > -100) << 1;
}

__global__ void localmem(int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, a[32];

	for (int k = 0; k < 32; k++)
		a[(k * 7 + i) & 31] = k * i;
	for (int k = 0; k < n; k++)
		a[(a[k & 31] + k) & 31] += k;
	out[i] = a[i & 31];
}

__global__ void wild(int *p, long long at)
{
	if (threadIdx.x == 5)
		p[at] = 1;
}

__global__ void shape(int *out)
{
	int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y *
					    threadIdx.z);

	out[b * blockDim.x * blockDim.y * blockDim.z + t] = b * 1000 + t;
}

}
