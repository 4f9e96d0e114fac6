// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that softgpu's stand-in for cuDNN computes what the documentation of each
 * operation says. Results are compared with plain loops on the host; gradients with differences of
 * the forward pass. It needs nvcc at build time, no hardware.
 */
#include <cudnn.h>
#include <math.h>
#include <stdio.h>

#include "numbers.h"
#include "tap.h"

#define MOST	4000
#define AT(p)	((void *)(uintptr_t)(p))

/* A tensor of up to five dimensions, packed. */
struct shape {
	int rank, n[5];
};

static const int types[] = { F, D, HALF, BF16 };
static cudnnHandle_t h;
static CUdeviceptr dev[6];
static double in[6][MOST], want[MOST];
static num room[MOST];

static cudnnDataType_t data_type(int t)
{
	return (cudnnDataType_t[TYPES]){ CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, 0, 0, CUDNN_DATA_HALF,
					 CUDNN_DATA_BFLOAT16 }[t];
}

static int count(struct shape s)
{
	int n = 1;

	for (int d = 0; d < s.rank; d++)
		n *= s.n[d];
	return n;
}

/* A scalar in the type that @t computes with. */
static void *scalar(int t, int i, double v)
{
	static double d[4];
	static float f[4];

	d[i] = v;
	f[i] = v;
	return t == D ? (void *)&d[i] : &f[i];
}

static void put(int t, int i, int n)
{
	for (int k = 0; k < n; k++)
		room[k] = in[i][k];
	number_put(t, dev[i], room, n);
}

static void fill(int t, int i, int n)
{
	for (int k = 0; k < n; k++)
		in[i][k] = creal(random_of(t));
	put(t, i, n);
}

static int same(int t, int i, int n, double slack)
{
	number_get(t, dev[i], room, n);
	for (int k = 0; k < n; k++) {
		double most = slack * tolerance(t) * fmax(1, fabs(want[k]));

		if (!(fabs(creal(room[k]) - want[k]) <= most)) {
			diag("element %d: expected %g, got %g", k, want[k], creal(room[k]));
			return 0;
		}
	}
	return 1;
}

static cudnnTensorDescriptor_t tensor(int t, struct shape s)
{
	cudnnTensorDescriptor_t d;

	cudnnCreateTensorDescriptor(&d);
	cudnnSetTensorNdDescriptorEx(d, CUDNN_TENSOR_NCHW, data_type(t), s.rank, s.n);
	return d;
}

/* --- Convolutions ----------------------------------------------------------------- */

/* A convolution on the host, of up to three dimensions; missing ones come first. */
struct conv {
	int n, c, k, groups, flipped;
	int x[3], f[3], y[3], pad[3], step[3], apart[3];
};

static int out(int x, int pad, int f, int apart, int step)
{
	return (x + 2 * pad - ((f - 1) * apart + 1)) / step + 1;
}

static int volume(const int n[3])
{
	return n[0] * n[1] * n[2];
}

/* The coordinates of an index into a box of the size @n. */
static void split(int i, const int n[3], int at[3])
{
	at[0] = i / n[2] / n[1];
	at[1] = i / n[2] % n[1];
	at[2] = i % n[2];
}

/* Where output @o and tap @t meet in the input, and the filter's element. False outside. */
static int meet(const struct conv *c, int o, int t, int *place, int *tap)
{
	int at[3], f[3];

	split(o, c->y, at);
	split(t, c->f, f);
	*place = *tap = 0;
	for (int d = 0; d < 3; d++) {
		int p = at[d] * c->step[d] - c->pad[d] + f[d] * c->apart[d];

		if (p < 0 || p >= c->x[d])
			return 0;
		*place = *place * c->x[d] + p;
		*tap = *tap * c->f[d] + (c->flipped ? c->f[d] - 1 - f[d] : f[d]);
	}
	return 1;
}

typedef void visitor(int x, int f, int y);

/* The products of one output with the channels of its group. */
static void output_products(const struct conv *c, int n, int k, int o, visitor *visit)
{
	int in_group = c->c / c->groups, first = k / (c->k / c->groups) * in_group, place, tap;

	for (int ch = 0; ch < in_group; ch++)
		for (int t = 0; t < volume(c->f); t++)
			if (meet(c, o, t, &place, &tap))
				visit((n * c->c + first + ch) * volume(c->x) + place,
				      (k * in_group + ch) * volume(c->f) + tap,
				      (n * c->k + k) * volume(c->y) + o);
}

/* Calls @visit with the indices of each product x f that goes into an element of y. */
static void products(const struct conv *c, visitor *visit)
{
	for (int n = 0; n < c->n; n++)
		for (int k = 0; k < c->k; k++)
			for (int o = 0; o < volume(c->y); o++)
				output_products(c, n, k, o, visit);
}

static void forward_of(int x, int f, int y)
{
	want[y] += in[0][x] * in[1][f];
}

static void data_of(int x, int f, int y)
{
	want[x] += in[2][y] * in[1][f];
}

static void filter_of(int x, int f, int y)
{
	want[f] += in[2][y] * in[0][x];
}

static struct shape shape_of(int rank, int a, int b, const int n[3])
{
	struct shape s = { rank + 2, { a, b } };

	for (int d = 0; d < rank; d++)
		s.n[2 + d] = n[3 - rank + d];
	return s;
}

static void convolve(int t, int rank, struct conv c, const char *what)
{
	cudnnConvolutionDescriptor_t conv;
	cudnnFilterDescriptor_t f;
	cudnnTensorDescriptor_t x, y;
	cudnnConvolutionFwdAlgoPerf_t perf;
	struct shape xs, fs, ys;
	char name[100];
	size_t size = 1;
	int given = 0, good, dims[5];

	for (int d = 0; d < 3; d++)
		c.y[d] = out(c.x[d], c.pad[d], c.f[d], c.apart[d], c.step[d]);
	xs = shape_of(rank, c.n, c.c, c.x);
	fs = shape_of(rank, c.k, c.c / c.groups, c.f);
	ys = shape_of(rank, c.n, c.k, c.y);
	x = tensor(t, xs);
	y = tensor(t, ys);
	cudnnCreateFilterDescriptor(&f);
	cudnnSetFilterNdDescriptor(f, data_type(t), CUDNN_TENSOR_NCHW, fs.rank, fs.n);
	cudnnCreateConvolutionDescriptor(&conv);
	cudnnSetConvolutionNdDescriptor(conv, rank, c.pad + 3 - rank, c.step + 3 - rank,
					c.apart + 3 - rank, c.flipped ? CUDNN_CONVOLUTION :
					CUDNN_CROSS_CORRELATION, t == D ? CUDNN_DATA_DOUBLE :
					CUDNN_DATA_FLOAT);
	cudnnSetConvolutionGroupCount(conv, c.groups);
	fill(t, 0, count(xs));
	fill(t, 1, count(fs));
	fill(t, 2, count(ys));
	memset(want, 0, sizeof(want));
	products(&c, forward_of);
	for (int i = 0; i < count(ys); i++)
		want[i] = 2 * want[i] - in[2][i];
	good = !cudnnGetConvolutionNdForwardOutputDim(conv, x, f, rank + 2, dims) &&
	       !memcmp(dims, ys.n, (rank + 2) * sizeof(int)) &&
	       !cudnnGetConvolutionForwardAlgorithm_v7(h, x, f, conv, y, 1, &given, &perf) &&
		       given == 1 &&
	       !cudnnGetConvolutionForwardWorkspaceSize(h, x, f, conv, y, perf.algo, &size) &&
	       size == perf.memory &&
	       !cudnnConvolutionForward(h, scalar(t, 0, 2), x, AT(dev[0]), f, AT(dev[1]), conv,
					perf.algo, NULL, 0, scalar(t, 1, -1), y, AT(dev[2]));
	snprintf(name, sizeof(name), "%s_goes_forward", what);
	ok(good && same(t, 2, count(ys), 8), named(t, name));

	put(t, 2, count(ys));
	memset(want, 0, sizeof(want));
	products(&c, data_of);
	good = !cudnnConvolutionBackwardData(h, scalar(t, 0, 1), f, AT(dev[1]), y, AT(dev[2]), conv,
					     CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, NULL, 0,
					     scalar(t, 1, 0), x, AT(dev[3]));
	snprintf(name, sizeof(name), "%s_has_gradients_of_its_data", what);
	ok(good && same(t, 3, count(xs), 8), named(t, name));

	memset(want, 0, sizeof(want));
	products(&c, filter_of);
	good = !cudnnConvolutionBackwardFilter(h, scalar(t, 0, 1), x, AT(dev[0]), y, AT(dev[2]),
					       conv, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, NULL, 0,
					       scalar(t, 1, 0), f, AT(dev[3]));
	snprintf(name, sizeof(name), "%s_has_gradients_of_its_filter", what);
	ok(good && same(t, 3, count(fs), 8), named(t, name));
	cudnnDestroyConvolutionDescriptor(conv);
	cudnnDestroyFilterDescriptor(f);
	cudnnDestroyTensorDescriptor(x);
	cudnnDestroyTensorDescriptor(y);
}

static void convolutions(int t)
{
	convolve(t, 2, (struct conv){ 2, 4, 6, 2, 0, { 1, 7, 8 }, { 1, 3, 2 }, { 0 }, { 0, 1, 2 },
				      { 1, 2, 1 }, { 1, 2, 1 } }, "grouped_image");
	convolve(t, 2, (struct conv){ 1, 3, 2, 1, 1, { 1, 6, 5 }, { 1, 3, 3 }, { 0 }, { 0, 1, 1 },
				      { 1, 1, 1 }, { 1, 1, 1 } }, "turned_filter");
	convolve(t, 3, (struct conv){ 1, 2, 3, 1, 0, { 4, 5, 6 }, { 2, 3, 3 }, { 0 }, { 1, 0, 1 },
				      { 2, 1, 2 }, { 1, 1, 1 } }, "volume");
}

/* A bias, something to add and a relu in one call; the tensors are channels last. */
static void more(int t)
{
	cudnnConvolutionDescriptor_t conv;
	cudnnActivationDescriptor_t act;
	cudnnFilterDescriptor_t f;
	cudnnTensorDescriptor_t x, y, b;
	int n = 2, c = 3, k = 4, size = 5, good;

	cudnnCreateTensorDescriptor(&x);
	cudnnCreateTensorDescriptor(&y);
	cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, data_type(t), n, c, size, size);
	cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NHWC, data_type(t), n, k, size, size);
	b = tensor(t, (struct shape){ 4, { 1, k, 1, 1 } });
	cudnnCreateFilterDescriptor(&f);
	cudnnSetFilter4dDescriptor(f, data_type(t), CUDNN_TENSOR_NHWC, k, c, 1, 1);
	cudnnCreateConvolutionDescriptor(&conv);
	cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
					t == D ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
	cudnnCreateActivationDescriptor(&act);
	cudnnSetActivationDescriptor(act, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0);
	fill(t, 0, n * c * size * size);
	fill(t, 1, k * c);
	fill(t, 2, n * k * size * size);
	fill(t, 3, k);
	good = !cudnnConvolutionBiasActivationForward(
		h, scalar(t, 0, 1), x, AT(dev[0]), f, AT(dev[1]), conv,
		CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, NULL, 0, scalar(t, 1, 0.5), y, AT(dev[2]),
			b,
		AT(dev[3]), act, y, AT(dev[4]));
	for (int p = 0; p < n * size * size; p++)
		for (int j = 0; j < k; j++) {
			double v = 0.5 * in[2][p * k + j] + in[3][j];

			for (int i = 0; i < c; i++)
				v += in[0][p * c + i] * in[1][j * c + i];
			want[p * k + j] = fmax(v, 0);
		}
	ok(good && same(t, 4, n * k * size * size, 8),
	   named(t, "convolution_with_bias_and_relu_of_channels_last"));

	for (int j = 0; j < k; j++) {
		want[j] = 0;
		for (int p = 0; p < n * size * size; p++)
			want[j] += in[2][p * k + j];
	}
	good = !cudnnConvolutionBackwardBias(h, scalar(t, 0, 1), y, AT(dev[2]), scalar(t, 1, 0), b,
					     AT(dev[4]));
	ok(good && same(t, 4, k, 8), named(t, "gradient_of_a_bias_is_a_sum_for_each_channel"));
	cudnnDestroyActivationDescriptor(act);
	cudnnDestroyConvolutionDescriptor(conv);
	cudnnDestroyFilterDescriptor(f);
	cudnnDestroyTensorDescriptor(x);
	cudnnDestroyTensorDescriptor(y);
	cudnnDestroyTensorDescriptor(b);
}

/* --- Pooling: windows of 3 x 2, moved by 2 x 1, one row of padding ---------------- */

static void pool(int t, cudnnPoolingMode_t mode, const char *what)
{
	int planes = 6, height = 7, width = 5, oh = out(height, 1, 3, 1, 2), ow = out(width, 0, 2,
										      1, 1);
	cudnnTensorDescriptor_t x = tensor(t, (struct shape){ 4, { 2, 3, height, width } });
	cudnnTensorDescriptor_t y = tensor(t, (struct shape){ 4, { 2, 3, oh, ow } });
	double gradient[MOST] = { 0 };
	cudnnPoolingDescriptor_t p;
	char name[100];
	int good;

	cudnnCreatePoolingDescriptor(&p);
	cudnnSetPooling2dDescriptor(p, mode, CUDNN_PROPAGATE_NAN, 3, 2, 1, 0, 2, 1);
	fill(t, 0, planes * height * width);
	fill(t, 1, planes * oh * ow);
	for (int o = 0; o < planes * oh * ow; o++) {
		int base = o / (oh * ow) * height * width, r0 = o / ow % oh * 2 - 1, c0 = o % ow;
		int n = 0, best = -1;
		double sum = 0;

		for (int r = r0; r < r0 + 3; r++)
			for (int c = c0; c < c0 + 2; c++) {
				int at = base + r * width + c;

				if (r < 0 || r >= height)
					continue;
				n++;
				sum += in[0][at];
				if (best < 0 || in[0][at] > in[0][best])
					best = at;
			}
		n = mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? 6 : n;
		want[o] = mode == CUDNN_POOLING_MAX ? in[0][best] : sum / n;
		for (int r = r0; r < r0 + 3; r++)
			for (int c = c0; c < c0 + 2; c++)
				if (mode != CUDNN_POOLING_MAX && r >= 0 && r < height)
					gradient[base + r * width + c] += in[1][o] / n;
		if (mode == CUDNN_POOLING_MAX)
			gradient[best] += in[1][o];
	}
	good = !cudnnPoolingForward(h, p, scalar(t, 0, 1), x, AT(dev[0]), scalar(t, 1, 0), y,
				    AT(dev[2]));
	snprintf(name, sizeof(name), "%s_goes_forward", what);
	ok(good && same(t, 2, planes * oh * ow, 2), named(t, name));
	memcpy(want, gradient, sizeof(want));
	good = !cudnnPoolingBackward(h, p, scalar(t, 0, 1), y, AT(dev[2]), y, AT(dev[1]), x,
				     AT(dev[0]), scalar(t, 1, 0), x, AT(dev[3]));
	snprintf(name, sizeof(name), "%s_goes_back", what);
	ok(good && same(t, 3, planes * height * width, 2), named(t, name));
	cudnnDestroyPoolingDescriptor(p);
	cudnnDestroyTensorDescriptor(x);
	cudnnDestroyTensorDescriptor(y);
}

/* --- Activations and softmax: gradients are differences of the host's own function --- */

static double active(int mode, double x)
{
	switch (mode) {
	case CUDNN_ACTIVATION_SIGMOID:
		return 1 / (1 + exp(-x));
	case CUDNN_ACTIVATION_RELU:
		return fmax(x, 0);
	case CUDNN_ACTIVATION_TANH:
		return tanh(x);
	case CUDNN_ACTIVATION_CLIPPED_RELU:
		return fmin(fmax(x, 0), 0.7);
	case CUDNN_ACTIVATION_ELU:
		return x >= 0 ? x : 0.7 * (exp(x) - 1);
	case CUDNN_ACTIVATION_SWISH:
		return x / (1 + exp(-1.5 * x));
	default:
		return x;
	}
}

static void activations(int t)
{
	cudnnTensorDescriptor_t x = tensor(t, (struct shape){ 4, { 2, 3, 4, 5 } });
	cudnnActivationDescriptor_t d;
	int n = 120, forward = 1, back = 1;

	cudnnCreateActivationDescriptor(&d);
	for (int mode = CUDNN_ACTIVATION_SIGMOID; mode <= CUDNN_ACTIVATION_SWISH; mode++) {
		cudnnSetActivationDescriptor(d, mode, CUDNN_NOT_PROPAGATE_NAN, 0.7);
		cudnnSetActivationDescriptorSwishBeta(d, 1.5);
		fill(t, 0, n);
		/* Where a function has a corner, it has no derivative. */
		for (int i = 0; i < n; i++)
			if (fabs(in[0][i]) < 0.01 || fabs(in[0][i] - 0.7) < 0.01)
				in[0][i] = 0.25;
		put(t, 0, n);
		fill(t, 1, n);
		for (int i = 0; i < n; i++)
			want[i] = active(mode, in[0][i]);
		forward &= !cudnnActivationForward(h, d, scalar(t, 0, 1), x, AT(dev[0]),
						   scalar(t, 1, 0),
						   x, AT(dev[2])) && same(t, 2, n, 1);
		for (int i = 0; i < n; i++)
			want[i] = in[1][i] * (active(mode, in[0][i] + 1e-4) -
					      active(mode, in[0][i] - 1e-4)) / 2e-4;
		back &= !cudnnActivationBackward(h, d, scalar(t, 0, 1), x, AT(dev[2]), x,
						 AT(dev[1]), x,
						 AT(dev[0]), scalar(t, 1, 0), x, AT(dev[3])) &&
			same(t, 3, n, t == D ? 1e5 : 4);
	}
	ok(forward, named(t, "activations_go_forward"));
	ok(back, named(t, "activations_have_their_slopes"));
	cudnnDestroyActivationDescriptor(d);
	cudnnDestroyTensorDescriptor(x);
}

static void softmax(int t)
{
	cudnnTensorDescriptor_t x = tensor(t, (struct shape){ 4, { 2, 5, 3, 2 } });
	int planes = 6, n = 60, good;
	double sum[12] = { 0 }, dot[12] = { 0 };

	fill(t, 0, n);
	fill(t, 1, n);
#define LINE(i)	((i) / (5 * planes) * planes + (i) % planes)
	for (int i = 0; i < n; i++)
		sum[LINE(i)] += exp(in[0][i]);
	for (int i = 0; i < n; i++)
		want[i] = exp(in[0][i]) / sum[LINE(i)];
	good = !cudnnSoftmaxForward(h, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
				    scalar(t, 0, 1), x, AT(dev[0]), scalar(t, 1, 0), x, AT(dev[2]));
	ok(good && same(t, 2, n, 1), named(t, "softmax_goes_over_channels"));
	for (int i = 0; i < n; i++)
		dot[LINE(i)] += in[1][i] * want[i];
	for (int i = 0; i < n; i++)
		want[i] *= in[1][i] - dot[LINE(i)];
	good = !cudnnSoftmaxBackward(h, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
				     scalar(t, 0, 1), x, AT(dev[2]), x, AT(dev[1]), scalar(t, 1, 0),
					     x,
				     AT(dev[3]));
	ok(good && same(t, 3, n, 2), named(t, "softmax_goes_back"));
	memset(sum, 0, sizeof(sum));
	for (int i = 0; i < n; i++)
		sum[i / 30] += exp(in[0][i]);
	for (int i = 0; i < n; i++)
		want[i] = in[0][i] - log(sum[i / 30]);
	good = !cudnnSoftmaxForward(h, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_INSTANCE,
				    scalar(t, 0, 1), x, AT(dev[0]), scalar(t, 1, 0), x, AT(dev[2]));
	ok(good && same(t, 2, n, 2), named(t, "logarithm_of_softmax_goes_over_instances"));
	cudnnDestroyTensorDescriptor(x);
}

/* --- Batch normalisation ---------------------------------------------------------- */

/* The forward pass on the host, of 4 images, 3 channels and 10 places. */
static void normalise(const double *x, const double *scale, const double *bias, double *y,
		      double mean[3], double variance[3])
{
	for (int c = 0; c < 3; c++) {
		mean[c] = variance[c] = 0;
		for (int k = 0; k < 40; k++)
			mean[c] += x[k / 10 * 30 + c * 10 + k % 10] / 40;
		for (int k = 0; k < 40; k++)
			variance[c] += pow(x[k / 10 * 30 + c * 10 + k % 10] - mean[c], 2) / 40;
		for (int k = 0; k < 40; k++) {
			int at = k / 10 * 30 + c * 10 + k % 10;

			y[at] = scale[c] * (x[at] - mean[c]) / sqrt(variance[c] + 1e-3) + bias[c];
		}
	}
}

static void normalisation(int t)
{
	cudnnTensorDescriptor_t x = tensor(t, (struct shape){ 4, { 4, 3, 2, 5 } }), p;
	int n = 120, good, s = t == D ? D : F;
	double mean[3], variance[3], y[120], loss[2], changed[120];
	num saved[3];

	cudnnCreateTensorDescriptor(&p);
	cudnnDeriveBNTensorDescriptor(p, x, CUDNN_BATCHNORM_SPATIAL);
	fill(t, 0, n);
	fill(s, 1, 6);	/* scale and bias; running mean and variance after them */
	fill(t, 3, n);
	in[4][0] = in[4][1] = in[4][2] = 0.5;
	in[4][3] = in[4][4] = in[4][5] = 2;
	put(s, 4, 12);
#define PARAM(i, k) AT(dev[i] + (k) * element(s))
	normalise(in[0], in[1], in[1] + 3, want, mean, variance);
	good = !cudnnBatchNormalizationForwardTraining(
		h, CUDNN_BATCHNORM_SPATIAL, scalar(t, 0, 1), scalar(t, 1, 0), x, AT(dev[0]), x,
		AT(dev[2]), p, PARAM(1, 0), PARAM(1, 3), 0.25, PARAM(4, 0), PARAM(4, 3), 1e-3,
		PARAM(4, 6), PARAM(4, 9));
	ok(good && same(t, 2, n, 4), named(t, "batch_is_normalised"));
	for (int c = 0; c < 3; c++) {
		want[c] = 0.75 * 0.5 + 0.25 * mean[c];
		want[3 + c] = 0.75 * 2 + 0.25 * variance[c] * 40 / 39;
		want[6 + c] = mean[c];
		want[9 + c] = 1 / sqrt(variance[c] + 1e-3);
	}
	ok(same(s, 4, 12, 4), named(t, "statistics_of_a_batch_are_kept"));

	/* Gradients, by differences of sum(dy y). */
	for (int i = 0; i < n; i++) {
		for (int side = 0; side < 2; side++) {
			memcpy(changed, in[0], sizeof(changed));
			changed[i] += side ? 1e-5 : -1e-5;
			normalise(changed, in[1], in[1] + 3, y, mean, variance);
			loss[side] = 0;
			for (int k = 0; k < n; k++)
				loss[side] += in[3][k] * y[k];
		}
		want[i] = (loss[1] - loss[0]) / 2e-5;
	}
	good = !cudnnBatchNormalizationBackward(
		h, CUDNN_BATCHNORM_SPATIAL, scalar(t, 0, 1), scalar(t, 1, 0), scalar(t, 2, 1),
		scalar(t, 3, 0), x, AT(dev[0]), x, AT(dev[3]), x, AT(dev[2]), p, PARAM(1, 0),
			PARAM(5, 0),
		PARAM(5, 3), 1e-3, PARAM(4, 6), PARAM(4, 9));
	ok(good && same(t, 2, n, t == D ? 1e5 : 4), named(t, "batch_normalisation_goes_back"));
	normalise(in[0], in[1], in[1] + 3, y, mean, variance);
	memset(want, 0, sizeof(want));
	for (int i = 0; i < n; i++) {
		int c = i / 10 % 3;

		want[c] += in[3][i] * (in[0][i] - mean[c]) / sqrt(variance[c] + 1e-3);
		want[3 + c] += in[3][i];
	}
	ok(same(s, 5, 6, 4), named(t, "gradients_of_scale_and_bias"));
	good = !cudnnBatchNormalizationBackward(
		h, CUDNN_BATCHNORM_SPATIAL, scalar(t, 0, 1), scalar(t, 1, 0), scalar(t, 2, 1),
		scalar(t, 3, 0), x, AT(dev[0]), x, AT(dev[3]), x, AT(dev[2]), p, PARAM(1, 0),
			PARAM(5, 0),
		PARAM(5, 3), 1e-3, NULL, NULL);
	ok(good && same(s, 5, 6, 4), named(t, "statistics_are_found_again_if_none_were_saved"));

	number_get(s, dev[4], saved, 3);
	number_get(s, dev[4] + 3 * element(s), room, 3);
	for (int i = 0; i < n; i++) {
		int c = i / 10 % 3;

		want[i] = in[1][c] * (in[0][i] - creal(saved[c])) / sqrt(creal(room[c]) + 1e-3) +
			  in[1][3 + c];
	}
	good = !cudnnBatchNormalizationForwardInference(
		h, CUDNN_BATCHNORM_SPATIAL, scalar(t, 0, 1), scalar(t, 1, 0), x, AT(dev[0]), x,
		AT(dev[2]), p, PARAM(1, 0), PARAM(1, 3), PARAM(4, 0), PARAM(4, 3), 1e-3);
	ok(good && same(t, 2, n, 4), named(t, "inference_uses_the_running_statistics"));

	/* A parameter for each element of an image. */
	cudnnDeriveBNTensorDescriptor(p, x, CUDNN_BATCHNORM_PER_ACTIVATION);
	for (int i = 0; i < 30; i++)
		in[1][i] = i % 2 + 1, in[4][i] = 0;
	put(s, 1, 30);
	put(s, 4, 30);
	good = !cudnnBatchNormalizationForwardTraining(
		h, CUDNN_BATCHNORM_PER_ACTIVATION, scalar(t, 0, 1), scalar(t, 1, 0), x, AT(dev[0]),
			x,
		AT(dev[2]), p, AT(dev[1]), AT(dev[4]), 1, NULL, NULL, 1e-3, NULL, NULL);
	for (int i = 0; i < 30; i++) {
		double m = 0, v = 0;

		for (int k = 0; k < 4; k++)
			m += in[0][k * 30 + i] / 4;
		for (int k = 0; k < 4; k++)
			v += pow(in[0][k * 30 + i] - m, 2) / 4;
		for (int k = 0; k < 4; k++)
			want[k * 30 + i] = in[1][i] * (in[0][k * 30 + i] - m) / sqrt(v + 1e-3);
	}
	ok(good && same(t, 2, n, 4), named(t, "normalisation_may_have_parameters_for_each_element"));
	cudnnDestroyTensorDescriptor(x);
	cudnnDestroyTensorDescriptor(p);
}

/* --- Whole tensors ---------------------------------------------------------------- */

static void tensors(int t)
{
	cudnnTensorDescriptor_t x = tensor(t, (struct shape){ 4, { 2, 3, 4, 5 } });
	cudnnTensorDescriptor_t b = tensor(t, (struct shape){ 4, { 1, 3, 1, 1 } });
	cudnnReduceTensorDescriptor_t r;
	cudnnOpTensorDescriptor_t o;
	int n = 120, good;

	fill(t, 0, n);
	fill(t, 1, 3);
	for (int i = 0; i < n; i++)
		want[i] = 2 * in[1][i / 20 % 3] + 0.5 * in[0][i];
	memcpy(in[2], in[0], sizeof(in[2]));
	put(t, 2, n);
	good = !cudnnAddTensor(h, scalar(t, 0, 2), b, AT(dev[1]), scalar(t, 1, 0.5), x, AT(dev[2]));
	ok(good && same(t, 2, n, 1), named(t, "a_bias_is_added_to_a_tensor"));

	cudnnCreateOpTensorDescriptor(&o);
	cudnnSetOpTensorDescriptor(o, CUDNN_OP_TENSOR_MAX, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN);
	for (int i = 0; i < n; i++)
		want[i] = fmax(in[0][i], 2 * in[1][i / 20 % 3]);
	good = !cudnnOpTensor(h, o, scalar(t, 0, 1), x, AT(dev[0]), scalar(t, 1, 2), b, AT(dev[1]),
			      scalar(t, 2, 0), x, AT(dev[2]));
	ok(good && same(t, 2, n, 1), named(t, "maximum_of_two_tensors"));
	cudnnDestroyOpTensorDescriptor(o);

	cudnnCreateReduceTensorDescriptor(&r);
	cudnnSetReduceTensorDescriptor(r, CUDNN_REDUCE_TENSOR_NORM2, CUDNN_DATA_FLOAT,
				       CUDNN_PROPAGATE_NAN, CUDNN_REDUCE_TENSOR_NO_INDICES,
				       CUDNN_32BIT_INDICES);
	memset(want, 0, sizeof(want));
	for (int i = 0; i < n; i++)
		want[i / 20 % 3] += in[0][i] * in[0][i];
	for (int i = 0; i < 3; i++)
		want[i] = sqrt(want[i]);
	good = !cudnnReduceTensor(h, r, NULL, 0, NULL, 0, scalar(t, 0, 1), x, AT(dev[0]),
				  scalar(t, 1, 0), b, AT(dev[2]));
	ok(good && same(t, 2, 3, 2), named(t, "norm_is_reduced_to_channels"));
	cudnnSetReduceTensorDescriptor(r, CUDNN_REDUCE_TENSOR_MIN, CUDNN_DATA_FLOAT,
				       CUDNN_PROPAGATE_NAN,
				       CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES);
	want[0] = want[1] = want[2] = INFINITY;
	for (int i = 0; i < n; i++)
		want[i / 20 % 3] = fmin(want[i / 20 % 3], in[0][i]);
	good = !cudnnReduceTensor(h, r, NULL, 0, NULL, 0, scalar(t, 0, 1), x, AT(dev[0]),
				  scalar(t, 1, 0), b, AT(dev[2]));
	ok(good && same(t, 2, 3, 1), named(t, "minimum_is_reduced_to_channels"));
	cudnnDestroyReduceTensorDescriptor(r);
	cudnnDestroyTensorDescriptor(x);
	cudnnDestroyTensorDescriptor(b);
}

static void dropout(int t)
{
	cudnnTensorDescriptor_t x = tensor(t, (struct shape){ 4, { 10, 10, 10, 4 } });
	cudnnDropoutDescriptor_t d;
	int n = 4000, kept = 0, good, other = 0;
	size_t size;

	cudnnCreateDropoutDescriptor(&d);
	cudnnSetDropoutDescriptor(d, h, 0.25, AT(dev[5]), 64, 7);
	for (int i = 0; i < n; i++)
		in[0][i] = 0.75;
	put(t, 0, n);
	cudnnDropoutGetReserveSpaceSize(x, &size);
	good = !cudnnDropoutForward(h, d, x, AT(dev[0]), x, AT(dev[1]), AT(dev[4]), size);
	number_get(t, dev[1], room, n);
	for (int i = 0; i < n; i++) {
		double v = creal(room[i]);

		good &= v == 0 || fabs(v - 1) < tolerance(t);
		kept += v != 0;
		want[i] = v;
	}
	ok(good && kept > 2850 && kept < 3150, named(t,
						     "dropout_keeps_three_of_four_and_scales_them"));
	good = !cudnnDropoutBackward(h, d, x, AT(dev[0]), x, AT(dev[2]), AT(dev[4]), size);
	ok(good && same(t, 2, n, 1), named(t, "dropout_goes_back_where_it_kept"));
	cudnnDropoutForward(h, d, x, AT(dev[0]), x, AT(dev[1]), AT(dev[4]), size);
	number_get(t, dev[1], room, n);
	for (int i = 0; i < n; i++)
		other += (creal(room[i]) != 0) != (want[i] != 0);
	ok(other > 1000, named(t, "next_dropout_keeps_others"));
	cudnnDestroyDropoutDescriptor(d);
	cudnnDestroyTensorDescriptor(x);
}

static void refusals(void)
{
	cudnnTensorDescriptor_t x = tensor(F, (struct shape){ 4, { 2, 3, 4, 5 } });
	cudnnTensorDescriptor_t y = tensor(F, (struct shape){ 4, { 2, 3, 4, 4 } });
	cudnnTensorDescriptor_t i = tensor(F, (struct shape){ 4, { 2, 3, 4, 5 } });
	cudnnBackendDescriptor_t b;
	int wrong[] = { 2, 0, 4, 5 };

	ok_eq(cudnnAddTensor(h, scalar(F, 0, 1), y, AT(dev[0]), scalar(F, 1, 0), x, AT(dev[1])),
	      CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "tensors_of_other_sizes_are_refused");
	cudnnSetTensor4dDescriptor(i, CUDNN_TENSOR_NCHW, CUDNN_DATA_INT8, 2, 3, 4, 5);
	ok_eq(cudnnAddTensor(h, scalar(F, 0, 1), i, AT(dev[0]), scalar(F, 1, 0), i, AT(dev[1])),
	      CUDNN_STATUS_NOT_SUPPORTED, "type_that_is_not_there_says_so");
	ok_eq(cudnnSetTensorNdDescriptorEx(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 4, wrong),
	      CUDNN_STATUS_BAD_PARAM, "size_of_zero_is_refused");
	ok_eq(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &b),
	      CUDNN_STATUS_NOT_SUPPORTED, "graphs_are_refused");
	cudnnDestroyTensorDescriptor(x);
	cudnnDestroyTensorDescriptor(y);
	cudnnDestroyTensorDescriptor(i);
}

int main(void)
{
	CUcontext ctx;

	tap_plan(4 * (9 + 2 + 6 + 2 + 3 + 7 + 4 + 3) + 4);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cudnnCreate(&h)) {
		diag("no device, or no handle");
		return 1;
	}
	for (int i = 0; i < 6; i++)
		cuMemAlloc(&dev[i], MOST * sizeof(double));
	for (int i = 0; i < 4; i++) {
		int t = types[i];

		convolutions(t);
		more(t);
		pool(t, CUDNN_POOLING_MAX, "maximum_pooling");
		pool(t, CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING, "padded_average_pooling");
		pool(t, CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING, "average_pooling");
		activations(t);
		softmax(t);
		normalisation(t);
		tensors(t);
		dropout(t);
	}
	refusals();
	cudnnDestroy(h);
	return tap_exit();
}
