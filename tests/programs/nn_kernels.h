/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of a convolutional network, one thread for each value that is
 * written. Sums run in a fixed order and without atomics, so that a result does
 * not depend on how threads are scheduled.
 */
#ifndef WORMHOLE_NN_KERNELS_H
#define WORMHOLE_NN_KERNELS_H

#include "program.h"

struct Shape {
	int n, c, h, w;

	int image() const { return c * h * w; }
	size_t size() const { return (size_t)n * image(); }
};

struct Window {
	int k, stride, pad;

	int out(int in) const { return (in + 2 * pad - k) / stride + 1; }
};

#define THREADS		256
#define FOR_EACH(i, n)	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (int)(n);	\
			     i += blockDim.x * gridDim.x)

static inline int blocks_for(size_t n)
{
	size_t b = (n + THREADS - 1) / THREADS;

	return b > 65535 ? 65535 : (int)b;
}

/*
 * The stream in which a thread's network computes: the default stream, if it is the only
 * network.
 */
static thread_local cudaStream_t nn_stream;

/* LAUNCH(kernel, n, args...) starts one thread for each of n values. */
#define LAUNCH(kernel, n, ...) do {					\
	kernel<<<blocks_for(n), THREADS, 0, nn_stream>>>((int)(n), __VA_ARGS__);	\
	CHECK_LAUNCH();							\
} while (0)

__global__ void fill(int n, float *p, float value)
{
	FOR_EACH(i, n)
		p[i] = value;
}

/* Writes col[c * k * k + ky * k + kx][y * ow + x] of one image. */
__global__ void im2col(int n, const float *im, float *col, Shape s, Window w, int oh, int ow)
{
	FOR_EACH(i, n) {
		int x = i % ow, y = i / ow % oh, tap = i / (ow * oh);
		int kx = tap % w.k, ky = tap / w.k % w.k, c = tap / (w.k * w.k);
		int sx = x * w.stride - w.pad + kx, sy = y * w.stride - w.pad + ky;

		col[i] = sx >= 0 && sx < s.w && sy >= 0 && sy < s.h ?
			 im[(c * s.h + sy) * s.w + sx] : 0;
	}
}

/* Each value of the image gathers what was made of it. */
__global__ void col2im(int n, const float *col, float *im, Shape s, Window w, int oh, int ow)
{
	FOR_EACH(i, n) {
		int x = i % s.w + w.pad, y = i / s.w % s.h + w.pad, c = i / (s.w * s.h);
		float sum = 0;

		for (int ky = 0; ky < w.k; ky++)
			for (int kx = 0; kx < w.k; kx++) {
				int oy = y - ky, ox = x - kx;

				if (oy < 0 || ox < 0 || oy % w.stride || ox % w.stride)
					continue;
				oy /= w.stride;
				ox /= w.stride;
				if (oy < oh && ox < ow)
					sum += col[(((c * w.k + ky) * w.k + kx) * oh + oy) * ow +
						   ox];
			}
		im[i] = sum;
	}
}

/* Computes y[n][c][rest] += b[c]. */
__global__ void add_bias(int n, float *y, const float *b, int channels, int rest)
{
	FOR_EACH(i, n)
		y[i] += b[i / rest % channels];
}

/* Computes db[c], the sum of dy over images and places, with a block for each channel. */
__global__ void bias_gradient(const float *dy, float *db, int channels, int images, int rest)
{
	__shared__ float part[THREADS];
	int c = blockIdx.x, t = threadIdx.x;
	float sum = 0;

	for (int i = t; i < images * rest; i += THREADS)
		sum += dy[((size_t)(i / rest) * channels + c) * rest + i % rest];
	part[t] = sum;
	for (int half = THREADS / 2; half; half /= 2) {
		__syncthreads();
		if (t < half)
			part[t] += part[t + half];
	}
	if (!t)
		db[c] = part[0];
}

static inline void launch_bias_gradient(const float *dy, float *db, const Shape &s)
{
	bias_gradient<<<s.c, THREADS, 0, nn_stream>>>(dy, db, s.c, s.n, s.h * s.w);
	CHECK_LAUNCH();
}

__global__ void relu(int n, const float *x, float *y)
{
	FOR_EACH(i, n)
		y[i] = x[i] > 0 ? x[i] : 0;
}

__global__ void relu_gradient(int n, const float *y, const float *dy, float *dx)
{
	FOR_EACH(i, n)
		dx[i] = y[i] > 0 ? dy[i] : 0;
}

__global__ void max_pool(int n, const float *x, float *y, int *where, Shape s, Window w, int oh,
			 int ow)
{
	FOR_EACH(i, n) {
		int ox = i % ow, oy = i / ow % oh, plane = i / (ow * oh), best = -1;
		const float *p = x + (size_t)plane * s.h * s.w;

		for (int y0 = oy * w.stride; y0 < min(oy * w.stride + w.k, s.h); y0++)
			for (int x0 = ox * w.stride; x0 < min(ox * w.stride + w.k, s.w); x0++)
				if (best < 0 || p[y0 * s.w + x0] > p[best])
					best = y0 * s.w + x0;
		y[i] = p[best];
		where[i] = best;
	}
}

__global__ void max_pool_gradient(int n, const float *dy, const int *where, float *dx, Shape s,
				  Window w, int oh, int ow)
{
	FOR_EACH(i, n) {
		int x = i % s.w, y = i / s.w % s.h, plane = i / (s.w * s.h);
		int y0 = y < w.k ? 0 : (y - w.k) / w.stride + 1;
		int x0 = x < w.k ? 0 : (x - w.k) / w.stride + 1;
		float sum = 0;

		for (int oy = y0; oy <= y / w.stride && oy < oh; oy++)
			for (int ox = x0; ox <= x / w.stride && ox < ow; ox++) {
				int o = (plane * oh + oy) * ow + ox;

				if (where[o] == y * s.w + x)
					sum += dy[o];
			}
		dx[i] = sum;
	}
}

/* Response normalisation over 5 channels, as AlexNet has it. */
#define LRN_SIZE	5
#define LRN_ALPHA	1e-4f
#define LRN_BETA	0.75f

__global__ void lrn_scale(int n, const float *x, float *scale, int channels, int rest)
{
	FOR_EACH(i, n) {
		int c = i / rest % channels;
		float sum = 0;

		for (int d = -(LRN_SIZE / 2); d <= LRN_SIZE / 2; d++)
			if (c + d >= 0 && c + d < channels)
				sum += x[i + d * rest] * x[i + d * rest];
		scale[i] = 1 + LRN_ALPHA / LRN_SIZE * sum;
	}
}

__global__ void lrn(int n, const float *x, const float *scale, float *y)
{
	FOR_EACH(i, n)
		y[i] = x[i] * powf(scale[i], -LRN_BETA);
}

__global__ void lrn_gradient(int n, const float *x, const float *y, const float *scale,
			     const float *dy, float *dx, int channels, int rest)
{
	FOR_EACH(i, n) {
		int c = i / rest % channels;
		float sum = 0;

		for (int d = -(LRN_SIZE / 2); d <= LRN_SIZE / 2; d++)
			if (c + d >= 0 && c + d < channels)
				sum += dy[i + d * rest] * y[i + d * rest] / scale[i + d * rest];
		dx[i] = dy[i] * powf(scale[i], -LRN_BETA) -
			2 * LRN_ALPHA * LRN_BETA / LRN_SIZE * x[i] * sum;
	}
}

/* Drops half of the values; random is uniform in (0, 1]. */
__global__ void drop(int n, const float *x, const float *random, float *y)
{
	FOR_EACH(i, n)
		y[i] = random[i] > 0.5f ? 2 * x[i] : 0;
}

/* Computes, for each image, -log of its label's probability, and the gradient of the mean. */
__global__ void softmax_loss(int images, const float *x, const int *label, float *loss, float *dx,
			     int classes)
{
	FOR_EACH(i, images) {
		const float *p = x + (size_t)i * classes;
		float top = p[0], sum = 0;

		for (int c = 1; c < classes; c++)
			top = fmaxf(top, p[c]);
		for (int c = 0; c < classes; c++)
			sum += expf(p[c] - top);
		for (int c = 0; c < classes; c++)
			dx[(size_t)i * classes + c] =
				(expf(p[c] - top) / sum - (c == label[i])) / images;
		loss[i] = logf(sum) - (p[label[i]] - top);
	}
}

__global__ void sgd(int n, float *w, const float *dw, float *v, float rate, float momentum,
		    float decay)
{
	FOR_EACH(i, n) {
		v[i] = momentum * v[i] - rate * (dw[i] + decay * w[i]);
		w[i] += v[i];
	}
}

#endif
