/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that the programs in tests/programs/ do not use, with our own kernels and cuBLAS:
 * deconvolution, recurrent layers, batch normalization, activations. layers_dnn.h has the
 * same layers with cuDNN. Sums run in a fixed order, as in nn_kernels.h.
 */
#ifndef WORMHOLE_LAYERS_H
#define WORMHOLE_LAYERS_H

#include "../tests/programs/nn.h"

enum Function { RELU, SIGMOID, TANH };

#define BATCH_NORM_EPSILON	1e-5f

__device__ static inline float sigmoid(float x)
{
	return 1 / (1 + expf(-x));
}

/* --- Activations ------------------------------------------------------------------- */

__global__ void activate(int n, const float *x, float *y, Function f)
{
	FOR_EACH(i, n)
		y[i] = f == RELU ? fmaxf(x[i], 0) : f == SIGMOID ? sigmoid(x[i]) : tanhf(x[i]);
}

/* The slope of each activation follows from its result. */
__global__ void activate_gradient(int n, const float *y, const float *dy, float *dx, Function f)
{
	FOR_EACH(i, n)
		dx[i] = dy[i] * (f == RELU ? (y[i] > 0) : f == SIGMOID ? y[i] * (1 - y[i]) :
				 1 - y[i] * y[i]);
}

struct OwnActivation : Layer {
	Function f;

	OwnActivation(Function function, const Shape &s) : f(function) { set_shapes(s, s); }
	void forward(const float *x) override { LAUNCH(activate, in.size(), x, y.p, f); }
	void backward(const float *, const float *dy) override
	{
		LAUNCH(activate_gradient, in.size(), y.p, dy, dx.p, f);
	}
};

/* --- Batch normalisation -------------------------------------------------------------- */

/* Returns the sum of the values of a block's threads. */
__device__ static float block_sum(float mine)
{
	__shared__ float part[THREADS];
	int t = threadIdx.x;
	float sum;

	part[t] = mine;
	for (int half = THREADS / 2; half; half /= 2) {
		__syncthreads();
		if (t < half)
			part[t] += part[t + half];
	}
	__syncthreads();
	sum = part[0];
	__syncthreads();
	return sum;
}

__device__ static inline size_t place(const Shape &s, int channel, int i)
{
	int rest = s.h * s.w;

	return ((size_t)(i / rest) * s.c + channel) * rest + i % rest;
}

/* Each block handles one channel. */
__global__ void batch_norm(const float *x, float *y, const float *scale, const float *shift,
			   float *mean, float *inverse, Shape s)
{
	int c = blockIdx.x, n = s.n * s.h * s.w;
	float sum = 0, squares = 0, m, inv;

	for (int i = threadIdx.x; i < n; i += THREADS)
		sum += x[place(s, c, i)];
	m = block_sum(sum) / n;
	for (int i = threadIdx.x; i < n; i += THREADS)
		squares += (x[place(s, c, i)] - m) * (x[place(s, c, i)] - m);
	inv = rsqrtf(block_sum(squares) / n + BATCH_NORM_EPSILON);
	for (int i = threadIdx.x; i < n; i += THREADS)
		y[place(s, c, i)] = (x[place(s, c, i)] - m) * inv * scale[c] + shift[c];
	if (!threadIdx.x) {
		mean[c] = m;
		inverse[c] = inv;
	}
}

__global__ void batch_norm_gradient(const float *x, const float *dy, float *dx, const float *scale,
				    float *dscale, float *dshift, const float *mean,
				    const float *inverse, Shape s)
{
	int c = blockIdx.x, n = s.n * s.h * s.w;
	float sum = 0, product = 0;

	for (int i = threadIdx.x; i < n; i += THREADS) {
		size_t at = place(s, c, i);

		sum += dy[at];
		product += dy[at] * (x[at] - mean[c]) * inverse[c];
	}
	sum = block_sum(sum);
	product = block_sum(product);
	for (int i = threadIdx.x; i < n; i += THREADS) {
		size_t at = place(s, c, i);
		float norm = (x[at] - mean[c]) * inverse[c];

		dx[at] = scale[c] * inverse[c] * (dy[at] - sum / n - norm * product / n);
	}
	if (!threadIdx.x) {
		dscale[c] = product;
		dshift[c] = sum;
	}
}

struct OwnBatchNorm : Layer {
	Parameter scale, shift;
	Buffer mean, inverse;

	OwnBatchNorm(const Shape &s, Random &random)
	{
		set_shapes(s, s);
		scale.make(s.c, 1, random);
		shift.make(s.c, 1, random);
		mean.make(s.c);
		inverse.make(s.c);
	}
	void forward(const float *x) override
	{
		batch_norm<<<in.c, THREADS, 0, nn_stream>>>(x, y.p, scale.value.p, shift.value.p,
							    mean.p, inverse.p, in);
		CHECK_LAUNCH();
	}
	void backward(const float *x, const float *dy) override
	{
		batch_norm_gradient<<<in.c, THREADS, 0, nn_stream>>>(
			x, dy, dx.p, scale.value.p, scale.gradient.p, shift.gradient.p, mean.p,
			inverse.p, in);
		CHECK_LAUNCH();
	}
};

/* --- Deconvolution, image by image as Caffe does it -------------------------------------- */

/* Inverts the effect of a convolution's window on sizes. */
static inline int deconvolved(int in, const Window &w)
{
	return (in - 1) * w.stride + w.k - 2 * w.pad;
}

struct OwnDeconvolution : Layer {
	Window win;
	int taps, places;	/* rows and columns of an image's matrix */
	Parameter weight;
	Buffer col;

	OwnDeconvolution(Libraries *l, const Shape &s, int outputs, const Window &w, Random &random)
		: win(w)
	{
		lib = l;
		set_shapes(s, { s.n, outputs, deconvolved(s.h, w), deconvolved(s.w, w) });
		taps = outputs * w.k * w.k;
		places = s.h * s.w;
		weight.make((size_t)s.c * taps, s.c, random);
		col.make((size_t)taps * places);
	}
	void forward(const float *x) override
	{
		for (int i = 0; i < in.n; i++) {
			gemm(lib->blas, true, false, taps, places, in.c, weight.value.p,
			     x + (size_t)i * in.image(), 0, col.p);
			LAUNCH(col2im, out.image(), col.p, y.p + (size_t)i * out.image(), out, win,
			       in.h, in.w);
		}
	}
	void backward(const float *x, const float *dy) override
	{
		for (int i = 0; i < in.n; i++) {
			LAUNCH(im2col, col.n, dy + (size_t)i * out.image(), col.p, out, win, in.h,
			       in.w);
			gemm(lib->blas, false, true, in.c, taps, places,
			     x + (size_t)i * in.image(), col.p, i ? 1 : 0, weight.gradient.p);
			gemm(lib->blas, false, false, in.c, places, taps, weight.value.p, col.p, 0,
			     dx.p + (size_t)i * in.image());
		}
	}
};

/* --- Recurrent layers, step by step ---------------------------------------------------- */

/* @z is the input of a step's cells, row by row. The bias is added here. */
__global__ void rnn_cell(int n, const float *z, const float *bias, float *h, int hidden)
{
	FOR_EACH(i, n)
		h[i] = tanhf(z[i] + bias[i % hidden]);
}

/* @later is the gradient of h that comes from the next step. */
__global__ void rnn_cell_gradient(int n, const float *h, const float *dy, const float *later,
				  float *dz)
{
	FOR_EACH(i, n)
		dz[i] = (dy[i] + later[i]) * (1 - h[i] * h[i]);
}

/* The gates are in, forget, candidate, out. z keeps the results of their functions. */
__global__ void lstm_cell(int n, float *z, const float *bias, const float *c_before, float *c,
			  float *h, int hidden)
{
	FOR_EACH(i, n) {
		int unit = i % hidden;
		float *g = z + (size_t)(i / hidden) * 4 * hidden + unit;
		const float *b = bias + unit;

		g[0] = sigmoid(g[0] + b[0]);
		g[hidden] = sigmoid(g[hidden] + b[hidden]);
		g[2 * hidden] = tanhf(g[2 * hidden] + b[2 * hidden]);
		g[3 * hidden] = sigmoid(g[3 * hidden] + b[3 * hidden]);
		c[i] = g[hidden] * c_before[i] + g[0] * g[2 * hidden];
		h[i] = g[3 * hidden] * tanhf(c[i]);
	}
}

/* @dc is the gradient of c from the next step; this writes the gradient for the previous step. */
__global__ void lstm_cell_gradient(int n, const float *z, const float *c_before, const float *c,
				   const float *dy, const float *later, float *dc, float *dz,
				   int hidden)
{
	FOR_EACH(i, n) {
		size_t at = (size_t)(i / hidden) * 4 * hidden + i % hidden;
		const float *g = z + at;
		float in = g[0], forget = g[hidden], candidate = g[2 * hidden], out = g[3 * hidden];
		float dh = dy[i] + later[i], t = tanhf(c[i]), d = dc[i] + dh * out * (1 - t * t);

		dz[at] = d * candidate * in * (1 - in);
		dz[at + hidden] = d * c_before[i] * forget * (1 - forget);
		dz[at + 2 * hidden] = d * in * (1 - candidate * candidate);
		dz[at + 3 * hidden] = dh * t * out * (1 - out);
		dc[i] = d * forget;
	}
}

/* @in has {steps * batch, inputs}, step by step; @out has {steps * batch, hidden}. */
struct OwnRecurrent : Layer {
	int steps, batch, hidden, gates;	/* 1: tanh cells; 4: LSTM */
	Parameter input, recurrent, bias;
	Buffer z, dz, c, dc, later, zero;

	OwnRecurrent(Libraries *l, bool lstm, int t, const Shape &s, int units, Random &random)
		: steps(t), batch(s.n / t), hidden(units), gates(lstm ? 4 : 1)
	{
		lib = l;
		set_shapes(s, { s.n, hidden, 1, 1 });
		input.make((size_t)gates * hidden * s.image(), s.image(), random);
		recurrent.make((size_t)gates * hidden * hidden, hidden, random);
		bias.make((size_t)gates * hidden, hidden, random);
		z.make((size_t)s.n * gates * hidden);
		dz.make(z.n);
		c.make((size_t)s.n * hidden);
		dc.make((size_t)batch * hidden);
		later.make(dc.n);
		zero.make(dc.n);
	}
	size_t row(int t) const { return (size_t)t * batch * hidden; }
	const float *before(const Buffer &of, int t) const
	{
		return t ? of.p + row(t - 1) : zero.p;
	}

	void forward(const float *x) override
	{
		int width = gates * hidden;

		gemm(lib->blas, false, true, in.n, width, in.image(), x, input.value.p, 0, z.p);
		for (int t = 0; t < steps; t++) {
			float *now = z.p + row(t) * gates;

			gemm(lib->blas, false, true, batch, width, hidden, before(y, t),
			     recurrent.value.p, 1, now);
			if (gates == 1)
				LAUNCH(rnn_cell, row(1), now, bias.value.p, y.p + row(t), hidden);
			else
				LAUNCH(lstm_cell, row(1), now, bias.value.p, before(c, t),
				       c.p + row(t), y.p + row(t), hidden);
		}
	}
	void backward(const float *x, const float *dy) override
	{
		int width = gates * hidden;

		CHECK(cudaMemsetAsync(later.p, 0, later.n * sizeof(float), nn_stream));
		CHECK(cudaMemsetAsync(dc.p, 0, dc.n * sizeof(float), nn_stream));
		for (int t = steps; t-- > 0;) {
			float *now = dz.p + row(t) * gates;

			if (gates == 1)
				LAUNCH(rnn_cell_gradient, row(1), y.p + row(t), dy + row(t),
				       later.p, now);
			else
				LAUNCH(lstm_cell_gradient, row(1), z.p + row(t) * gates,
				       before(c, t), c.p + row(t), dy + row(t), later.p, dc.p, now,
				       hidden);
			gemm(lib->blas, false, false, batch, hidden, width, now,
			     recurrent.value.p, 0, later.p);
		}
		gemm(lib->blas, true, false, width, in.image(), in.n, dz.p, x, 0, input.gradient.p);
		gemm(lib->blas, true, false, width, hidden, in.n - batch, dz.p + row(1) * gates,
		     y.p, 0, recurrent.gradient.p);
		launch_bias_gradient(dz.p, bias.gradient.p, { in.n, width, 1, 1 });
		gemm(lib->blas, false, false, in.n, in.image(), width, dz.p, input.value.p, 0,
		     dx.p);
	}
};

#endif
