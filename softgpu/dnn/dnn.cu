// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels of the stand-in for cuDNN, for float (_f), double (_d), f16 (_h) and bf16 (_b). Of the
 * last two, sums and scalars are in float. A thread makes an element of the result, or a block
 * does where sums are long, so results repeat bit by bit.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

#include "../standin/number.cuh"
#include "args.h"

typedef long long i64;

#define BLOCK	256

template <class T> struct sum_of { typedef T type; };
template <> struct sum_of<__half> { typedef float type; };
template <> struct sum_of<__nv_bfloat16> { typedef float type; };

template <class T> FN T wide(T v) { return v; }
FN float wide(__half v) { return __half2float(v); }
FN float wide(__nv_bfloat16 v) { return __bfloat162float(v); }

template <class T> FN void put(T *p, T v) { *p = v; }
FN void put(__half *p, float v) { *p = __float2half(v); }
FN void put(__nv_bfloat16 *p, float v) { *p = __float2bfloat16(v); }

FN i64 me() { return (i64)blockIdx.x * BLOCK + threadIdx.x; }
FN i64 all() { return (i64)gridDim.x * BLOCK; }

/* y = alpha v + beta y. With a zero beta, @y may hold anything and is not read. */
template <class T, class S> FN void finish(T *y, S v, S alpha, S beta)
{
	put(y, beta == 0 ? alpha * v : alpha * v + beta * wide(*y));
}

FN double block_add(double v)
{
	__shared__ double part[BLOCK / 32];

	v = warp_sum(v);
	__syncthreads();
	if (!(threadIdx.x % 32))
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = 0;
	for (int i = 0; i < BLOCK / 32; i++)
		v += part[i];
	return v;
}

/* --- Elements of tensors ------------------------------------------------------------- */

FN i64 elements(const tensor_args &t)
{
	i64 n = 1;

	for (int d = 0; d < t.rank; d++)
		n *= t.n[d];
	return n;
}

/* Coordinates of element @e, counted with the last dimension fastest. */
FN void coordinates(const tensor_args &t, i64 e, int at[DNN_RANK])
{
	for (int d = t.rank - 1; d >= 0; d--) {
		at[d] = (int)(e % t.n[d]);
		e /= t.n[d];
	}
}

/* A dimension of size one is the same for all coordinates of it. */
template <class T> FN T *place(const tensor_args &t, const int at[DNN_RANK])
{
	i64 offset = 0;

	for (int d = 0; d < t.rank; d++)
		offset += t.n[d] == 1 ? 0 : at[d] * t.stride[d];
	return (T *)t.at + offset;
}

/* y = alpha x + beta y, with x repeated where it has one element. */
template <class T, class S> FN void add(tensor_args x, tensor_args y, S alpha, S beta)
{
	int at[DNN_RANK];

	for (i64 e = me(); e < elements(y); e += all()) {
		coordinates(y, e, at);
		finish(place<T>(y, at), (S)wide(*place<T>(x, at)), alpha, beta);
	}
}

/* Of cudnnOpTensorOp_t. */
enum { OP_ADD, OP_MUL, OP_MIN, OP_MAX, OP_SQRT, OP_NOT };

template <class S> FN S combine(int op, S a, S b)
{
	switch (op) {
	case OP_ADD:
		return a + b;
	case OP_MUL:
		return a * b;
	case OP_MIN:
		return b < a ? b : a;
	case OP_MAX:
		return b > a ? b : a;
	case OP_SQRT:
		return sqrt(a);
	default:
		return 1 - a;
	}
}

template <class T, class S> FN void operate(int op, tensor_args a, tensor_args b, tensor_args c,
					    S alpha1, S alpha2, S beta)
{
	int at[DNN_RANK];

	for (i64 e = me(); e < elements(c); e += all()) {
		coordinates(c, e, at);
		S y = op < OP_SQRT ? alpha2 * wide(*place<T>(b, at)) : 0;

		finish(place<T>(c, at), combine(op, alpha1 * wide(*place<T>(a, at)), y), (S)1,
		       beta);
	}
}

/* y = value, or y = value y. */
template <class T, class S> FN void set(tensor_args y, S value, int scale)
{
	int at[DNN_RANK];

	for (i64 e = me(); e < elements(y); e += all()) {
		coordinates(y, e, at);
		T *p = place<T>(y, at);

		put(p, scale ? value * wide(*p) : value);
	}
}

/* Of cudnnReduceTensorOp_t. */
enum { SUM, PRODUCT, LEAST, MOST, MOST_SIZE, MEAN, NORM1, NORM2, PRODUCT_OF_OTHERS };

FN double begin_of(int op)
{
	return op == PRODUCT || op == PRODUCT_OF_OTHERS ? 1 : op == LEAST ? CUDART_INF :
	       op == MOST ? -CUDART_INF : 0;
}

FN double reduce_step(int op, double sum, double v)
{
	switch (op) {
	case PRODUCT:
		return sum * v;
	case PRODUCT_OF_OTHERS:
		return v == 0 ? sum : sum * v;
	case LEAST:
		return v < sum || isnan(v) ? v : sum;
	case MOST:
		return v > sum || isnan(v) ? v : sum;
	case MOST_SIZE:
		return fabs(v) > sum || isnan(v) ? fabs(v) : sum;
	case NORM1:
		return sum + fabs(v);
	case NORM2:
		return sum + v * v;
	default:
		return sum + v;
	}
}

/* A thread has an element of C, and follows all of A that is reduced to it. */
template <class T, class S> FN void reduce(int op, tensor_args a, tensor_args c, S alpha, S beta)
{
	int at[DNN_RANK], inner[DNN_RANK];
	i64 length = elements(a) / elements(c);

	for (i64 e = me(); e < elements(c); e += all()) {
		double sum = begin_of(op);

		coordinates(c, e, at);
		for (i64 k = 0; k < length; k++) {
			i64 rest = k;

			for (int d = a.rank - 1; d >= 0; d--) {
				bool reduced = c.n[d] == 1;

				inner[d] = reduced ? (int)(rest % a.n[d]) : at[d];
				rest = reduced ? rest / a.n[d] : rest;
			}
			sum = reduce_step(op, sum, (double)wide(*place<T>(a, inner)));
		}
		sum = op == MEAN ? sum / length : op == NORM2 ? sqrt(sum) : sum;
		finish(place<T>(c, at), (S)sum, alpha, beta);
	}
}

/* --- Activations and softmax ------------------------------------------------------ */

/* Of cudnnActivationMode_t. */
enum { SIGMOID, RELU, TANH, CLIPPED_RELU, ELU, IDENTITY, SWISH };

template <class S> FN S activate(int mode, S coef, S x)
{
	switch (mode) {
	case SIGMOID:
		return 1 / (1 + exp(-x));
	case RELU:
		return x > 0 || isnan(x) ? x : 0;
	case TANH:
		return tanh(x);
	case CLIPPED_RELU:
		return x > coef ? coef : x > 0 || isnan(x) ? x : 0;
	case ELU:
		return x >= 0 ? x : coef * expm1(x);
	case SWISH:
		return x / (1 + exp(-coef * x));
	default:
		return x;
	}
}

/* The derivative, by the input @x and the output @y. */
template <class S> FN S slope(int mode, S coef, S x, S y)
{
	S s;

	switch (mode) {
	case SIGMOID:
		return y * (1 - y);
	case RELU:
		return x > 0;
	case TANH:
		return 1 - y * y;
	case CLIPPED_RELU:
		return x > 0 && x < coef;
	case ELU:
		return x >= 0 ? 1 : y + coef;
	case SWISH:
		s = 1 / (1 + exp(-coef * x));
		return s + coef * x * s * (1 - s);
	default:
		return 1;
	}
}

template <class T, class S> FN void activation(int mode, S coef, tensor_args x, tensor_args y,
					       S alpha, S beta)
{
	int at[DNN_RANK];

	for (i64 e = me(); e < elements(y); e += all()) {
		coordinates(y, e, at);
		finish(place<T>(y, at), activate(mode, coef, (S)wide(*place<T>(x, at))), alpha,
		       beta);
	}
}

template <class T, class S> FN void activation_back(int mode, S coef, tensor_args y, tensor_args dy,
						    tensor_args x, tensor_args dx, S alpha, S beta)
{
	int at[DNN_RANK];

	for (i64 e = me(); e < elements(dx); e += all()) {
		coordinates(dx, e, at);
		S s = slope(mode, coef, (S)wide(*place<T>(x, at)), (S)wide(*place<T>(y, at)));

		finish(place<T>(dx, at), s * wide(*place<T>(dy, at)), alpha, beta);
	}
}

/* Softmax goes over dimension 1, or over all but the first one. Its lines: */
FN i64 line_count(const tensor_args &t, int instance)
{
	return instance ? t.n[0] : elements(t) / t.n[1];
}

FN i64 line_length(const tensor_args &t, int instance)
{
	return instance ? elements(t) / t.n[0] : t.n[1];
}

/* The coordinates of element @k of a line. */
FN void line_at(const tensor_args &t, int instance, i64 line, i64 k, int at[DNN_RANK])
{
	i64 rest = instance ? k : line;

	for (int d = t.rank - 1; d > 0; d--) {
		if (!instance && d == 1)
			continue;
		at[d] = (int)(rest % t.n[d]);
		rest /= t.n[d];
	}
	if (!instance)
		at[1] = (int)k;
	at[0] = (int)(instance ? line : rest);
}

/* Of cudnnSoftmaxAlgorithm_t. */
enum { SOFTMAX_FAST, SOFTMAX_ACCURATE, SOFTMAX_LOG };

template <class T, class S> FN void softmax(int algorithm, int instance, tensor_args x,
					    tensor_args y, S alpha, S beta)
{
	i64 length = line_length(x, instance);
	int at[DNN_RANK];

	for (i64 line = me(); line < line_count(x, instance); line += all()) {
		double most = -CUDART_INF, sum = 0;

		for (i64 k = 0; k < length; k++) {
			line_at(x, instance, line, k, at);
			most = fmax(most, (double)wide(*place<T>(x, at)));
		}
		for (i64 k = 0; k < length; k++) {
			line_at(x, instance, line, k, at);
			sum += exp((double)wide(*place<T>(x, at)) - most);
		}
		for (i64 k = 0; k < length; k++) {
			line_at(x, instance, line, k, at);
			double v = (double)wide(*place<T>(x, at)) - most;

			v = algorithm == SOFTMAX_LOG ? v - log(sum) : exp(v) / sum;
			finish(place<T>(y, at), (S)v, alpha, beta);
		}
	}
}

template <class T, class S> FN void softmax_back(int algorithm, int instance, tensor_args y,
						 tensor_args dy, tensor_args dx, S alpha, S beta)
{
	i64 length = line_length(y, instance);
	int at[DNN_RANK];

	for (i64 line = me(); line < line_count(y, instance); line += all()) {
		double sum = 0;

		for (i64 k = 0; k < length; k++) {
			line_at(y, instance, line, k, at);
			double g = wide(*place<T>(dy, at));

			sum += algorithm == SOFTMAX_LOG ? g : g * wide(*place<T>(y, at));
		}
		for (i64 k = 0; k < length; k++) {
			line_at(y, instance, line, k, at);
			double g = wide(*place<T>(dy, at)), v = wide(*place<T>(y, at));

			g = algorithm == SOFTMAX_LOG ? g - exp(v) * sum : v * (g - sum);
			finish(place<T>(dx, at), (S)g, alpha, beta);
		}
	}
}

/* --- Convolution ------------------------------------------------------------------ */

FN i64 elements(const image_args &t)
{
	i64 n = 1;

	for (int d = 0; d < 2 + DNN_SPACE; d++)
		n *= t.n[d];
	return n;
}

FN void coordinates(const image_args &t, i64 e, int at[2 + DNN_SPACE])
{
	for (int d = 1 + DNN_SPACE; d >= 0; d--) {
		at[d] = (int)(e % t.n[d]);
		e /= t.n[d];
	}
}

template <class T> FN T *place(const image_args &t, int n, int c, const int p[DNN_SPACE])
{
	return (T *)t.at + n * t.stride[0] + c * t.stride[1] + p[0] * t.stride[2] +
	       p[1] * t.stride[3] + p[2] * t.stride[4];
}

/* The tap of the filter at @tap of the window: turned around in a true convolution. */
FN void tap_of(const window_args &w, const int tap[DNN_SPACE], int f[DNN_SPACE])
{
	for (int d = 0; d < DNN_SPACE; d++)
		f[d] = w.flipped ? w.size[d] - 1 - tap[d] : tap[d];
}

#define EACH_TAP(w, tap) \
	for (tap[0] = 0; tap[0] < w.size[0]; tap[0]++) \
		for (tap[1] = 0; tap[1] < w.size[1]; tap[1]++) \
			for (tap[2] = 0; tap[2] < w.size[2]; tap[2]++)

/* Where in the input the output's @o and a tap meet. Returns false outside of it. */
FN bool input_of(const window_args &w, const image_args &x, const int o[DNN_SPACE],
		 const int tap[DNN_SPACE], int p[DNN_SPACE])
{
	for (int d = 0; d < DNN_SPACE; d++) {
		p[d] = o[d] * w.step[d] - w.pad[d] + tap[d] * w.apart[d];
		if (p[d] < 0 || p[d] >= x.n[2 + d])
			return false;
	}
	return true;
}

/* Where in the output the input's @p and a tap meet. Returns false if they do not. */
FN bool output_of(const window_args &w, const image_args &y, const int p[DNN_SPACE],
		  const int tap[DNN_SPACE], int o[DNN_SPACE])
{
	for (int d = 0; d < DNN_SPACE; d++) {
		int v = p[d] + w.pad[d] - tap[d] * w.apart[d];

		if (v < 0 || v % w.step[d])
			return false;
		o[d] = v / w.step[d];
		if (o[d] >= y.n[2 + d])
			return false;
	}
	return true;
}

template <class T, class S> FN S convolved(const image_args &x, const image_args &f,
					   const window_args &w, const int at[2 + DNN_SPACE])
{
	int first = at[1] / (f.n[0] / w.groups) * f.n[1], tap[DNN_SPACE], p[DNN_SPACE],
		t[DNN_SPACE];
	S sum = 0;

	EACH_TAP(w, tap) {
		if (!input_of(w, x, at + 2, tap, p))
			continue;
		tap_of(w, tap, t);
		for (int c = 0; c < f.n[1]; c++)
			sum += (S)wide(*place<T>(x, at[0], first + c, p)) *
			       (S)wide(*place<T>(f, at[1], c, t));
	}
	return sum;
}

template <class T, class S> FN void convolve(image_args x, image_args f, window_args w,
					     image_args y,
					     S alpha, S beta)
{
	int at[2 + DNN_SPACE];

	for (i64 e = me(); e < elements(y); e += all()) {
		coordinates(y, e, at);
		finish(place<T>(y, at[0], at[1], at + 2), convolved<T, S>(x, f, w, at), alpha,
		       beta);
	}
}

/* y = activation(alpha1 convolution + alpha2 z + bias). The bias is one for each channel. */
template <class T, class S> FN void convolve_more(image_args x, image_args f, window_args w,
						  image_args y, image_args z, const T *bias,
						  int mode, S coef, S alpha1, S alpha2)
{
	int at[2 + DNN_SPACE];

	for (i64 e = me(); e < elements(y); e += all()) {
		coordinates(y, e, at);
		S v = alpha1 * convolved<T, S>(x, f, w, at) + (S)wide(bias[at[1]]);

		if (alpha2 != 0)
			v += alpha2 * wide(*place<T>(z, at[0], at[1], at + 2));
		put(place<T>(y, at[0], at[1], at + 2), activate(mode, coef, v));
	}
}

template <class T, class S> FN void convolve_data(image_args f, image_args dy, window_args w,
						  image_args dx, S alpha, S beta)
{
	int at[2 + DNN_SPACE], tap[DNN_SPACE], o[DNN_SPACE], t[DNN_SPACE];
	int filters = f.n[0] / w.groups;

	for (i64 e = me(); e < elements(dx); e += all()) {
		S sum = 0;

		coordinates(dx, e, at);
		int first = at[1] / f.n[1] * filters, c = at[1] % f.n[1];

		EACH_TAP(w, tap) {
			if (!output_of(w, dy, at + 2, tap, o))
				continue;
			tap_of(w, tap, t);
			for (int k = first; k < first + filters; k++)
				sum += (S)wide(*place<T>(dy, at[0], k, o)) *
				       (S)wide(*place<T>(f, k, c, t));
		}
		finish(place<T>(dx, at[0], at[1], at + 2), sum, alpha, beta);
	}
}

/* A block has an element of the filter, its threads have the places of the output. */
template <class T, class S> FN void convolve_filter(image_args x, image_args dy, window_args w,
						    image_args df, S alpha, S beta)
{
	i64 places = elements(dy) / dy.n[1];
	int at[2 + DNN_SPACE], o[2 + DNN_SPACE], p[DNN_SPACE], tap[DNN_SPACE];

	for (i64 e = blockIdx.x; e < elements(df); e += gridDim.x) {
		double sum = 0;

		coordinates(df, e, at);
		tap_of(w, at + 2, tap);
		int c = at[0] / (df.n[0] / w.groups) * df.n[1] + at[1];

		for (i64 k = threadIdx.x; k < places; k += BLOCK) {
			i64 rest = k;

			for (int d = 1 + DNN_SPACE; d > 1; d--) {
				o[d] = (int)(rest % dy.n[d]);
				rest /= dy.n[d];
			}
			if (input_of(w, x, o + 2, tap, p))
				sum += (double)wide(*place<T>(x, (int)rest, c, p)) *
				       (double)wide(*place<T>(dy, (int)rest, at[0], o + 2));
		}
		sum = block_add(sum);
		if (!threadIdx.x)
			finish(place<T>(df, at[0], at[1], at + 2), (S)sum, alpha, beta);
	}
}

/* --- Pooling ---------------------------------------------------------------------- */

/* Of cudnnPoolingMode_t. */
enum { POOL_MAX, POOL_AVERAGE_PADDED, POOL_AVERAGE, POOL_MAX_DETERMINISTIC };

FN bool is_max(const window_args &w)
{
	return w.mode == POOL_MAX || w.mode == POOL_MAX_DETERMINISTIC;
}

/* The value of a window. @where is the place of its first maximum, @count how many there are. */
template <class T> FN double pooled(const image_args &x, const window_args &w, int n, int c,
				    const int o[DNN_SPACE], int where[DNN_SPACE], int *count)
{
	double most = -CUDART_INF, sum = 0;
	int tap[DNN_SPACE], p[DNN_SPACE];

	*count = 0;
	EACH_TAP(w, tap) {
		if (!input_of(w, x, o, tap, p))
			continue;
		double v = wide(*place<T>(x, n, c, p));

		if (!*count || v > most || isnan(v)) {
			most = v;
			for (int d = 0; d < DNN_SPACE; d++)
				where[d] = p[d];
		}
		sum += v;
		(*count)++;
	}
	if (is_max(w))
		return most;
	if (w.mode == POOL_AVERAGE_PADDED)
		*count = w.size[0] * w.size[1] * w.size[2];
	return *count ? sum / *count : 0;
}

template <class T, class S> FN void pool(image_args x, window_args w, image_args y, S alpha, S beta)
{
	int at[2 + DNN_SPACE], where[DNN_SPACE], count;

	for (i64 e = me(); e < elements(y); e += all()) {
		coordinates(y, e, at);
		finish(place<T>(y, at[0], at[1], at + 2),
		       (S)pooled<T>(x, w, at[0], at[1], at + 2, where, &count), alpha, beta);
	}
}

/* The gradient of a maximum goes to the first place that has it. */
template <class T, class S> FN void pool_back(image_args x, image_args dy, window_args w,
					      image_args dx, S alpha, S beta)
{
	int at[2 + DNN_SPACE], tap[DNN_SPACE], o[DNN_SPACE], where[DNN_SPACE], count;

	for (i64 e = me(); e < elements(dx); e += all()) {
		double sum = 0;

		coordinates(dx, e, at);
		EACH_TAP(w, tap) {
			if (!output_of(w, dy, at + 2, tap, o))
				continue;
			double g = wide(*place<T>(dy, at[0], at[1], o));

			pooled<T>(x, w, at[0], at[1], o, where, &count);
			if (!is_max(w))
				sum += g / count;
			else if (where[0] == at[2] && where[1] == at[3] && where[2] == at[4])
				sum += g;
		}
		finish(place<T>(dx, at[0], at[1], at + 2), (S)sum, alpha, beta);
	}
}

/* --- Batch normalisation: a block has a parameter --------------------------------- */

FN i64 parameters(const image_args &x, const norm_args &m)
{
	return m.each ? elements(x) / x.n[0] : x.n[1];
}

FN i64 samples(const image_args &x, const norm_args &m)
{
	return elements(x) / parameters(x, m);
}

/* Sample @k of parameter @i. */
FN void sample_at(const image_args &x, const norm_args &m, i64 i, i64 k, int at[2 + DNN_SPACE])
{
	i64 rest = m.each ? i : k;

	for (int d = 1 + DNN_SPACE; d > 1; d--) {
		at[d] = (int)(rest % x.n[d]);
		rest /= x.n[d];
	}
	at[1] = (int)(m.each ? rest : i);
	at[0] = (int)(m.each ? k : rest);
}

template <class T> FN T *sample(const image_args &x, const int at[2 + DNN_SPACE])
{
	return place<T>(x, at[0], at[1], at + 2);
}

template <class T, class S> FN void norm_inference(norm_args m, image_args x, image_args y,
						   const S *scale, const S *bias, const S *mean,
						   const S *variance, S alpha, S beta)
{
	i64 n = samples(x, m);
	int at[2 + DNN_SPACE];

	for (i64 e = me(); e < elements(x); e += all()) {
		i64 i = e / n;
		double inverse = 1 / sqrt((double)variance[i] + m.epsilon);

		sample_at(x, m, i, e % n, at);
		finish(sample<T>(y, at), (S)(scale[i] * (((double)wide(*sample<T>(x,
										  at)) - mean[i]) *
							  inverse) + bias[i]), alpha, beta);
	}
}

/* The running variance is the unbiased one; the one that divides is not. */
template <class T, class S> FN void norm_training(norm_args m, image_args x, image_args y,
						  const S *scale, const S *bias, S *running_mean,
						  S *running_variance, S *saved_mean,
						  S *saved_inverse, S alpha, S beta)
{
	i64 n = samples(x, m);
	int at[2 + DNN_SPACE];

	for (i64 i = blockIdx.x; i < parameters(x, m); i += gridDim.x) {
		double sum = 0, square_sum = 0;

		for (i64 k = threadIdx.x; k < n; k += BLOCK) {
			sample_at(x, m, i, k, at);
			sum += wide(*sample<T>(x, at));
		}
		double mean = block_add(sum) / n;

		for (i64 k = threadIdx.x; k < n; k += BLOCK) {
			sample_at(x, m, i, k, at);
			double v = wide(*sample<T>(x, at)) - mean;

			square_sum += v * v;
		}
		double variance = block_add(square_sum) / n, inverse =
			1 / sqrt(variance + m.epsilon);

		for (i64 k = threadIdx.x; k < n; k += BLOCK) {
			sample_at(x, m, i, k, at);
			double v = (wide(*sample<T>(x, at)) - mean) * inverse;

			finish(sample<T>(y, at), (S)(scale[i] * v + bias[i]), alpha, beta);
		}
		if (threadIdx.x)
			continue;
		if (running_mean) {
			double unbiased = n > 1 ? variance * n / (n - 1) : variance;

			running_mean[i] = (S)(running_mean[i] * (1 - m.factor) + mean * m.factor);
			running_variance[i] = (S)(running_variance[i] * (1 - m.factor) +
						  unbiased * m.factor);
		}
		if (saved_mean) {
			saved_mean[i] = (S)mean;
			saved_inverse[i] = (S)inverse;
		}
	}
}

/* Mean and inverse come from the forward pass, or, if it saved none, are found again. */
template <class T, class S> FN void norm_back(norm_args m, image_args x, image_args dy,
					      image_args dx, const S *scale, S *dscale, S *dbias,
					      const S *saved_mean, const S *saved_inverse, S alpha,
					      S beta, S alpha_param, S beta_param)
{
	i64 n = samples(x, m);
	int at[2 + DNN_SPACE];

	for (i64 i = blockIdx.x; i < parameters(x, m); i += gridDim.x) {
		double sum = 0, more = 0, mean, inverse;

		if (saved_mean) {
			mean = saved_mean[i];
			inverse = saved_inverse[i];
		} else {
			for (i64 k = threadIdx.x; k < n; k += BLOCK) {
				sample_at(x, m, i, k, at);
				sum += wide(*sample<T>(x, at));
			}
			mean = block_add(sum) / n;
			for (i64 k = threadIdx.x; k < n; k += BLOCK) {
				sample_at(x, m, i, k, at);
				double v = wide(*sample<T>(x, at)) - mean;

				more += v * v;
			}
			inverse = 1 / sqrt(block_add(more) / n + m.epsilon);
			sum = more = 0;
		}
		for (i64 k = threadIdx.x; k < n; k += BLOCK) {
			sample_at(x, m, i, k, at);
			double g = wide(*sample<T>(dy, at));

			sum += g;
			more += g * (wide(*sample<T>(x, at)) - mean) * inverse;
		}
		sum = block_add(sum);
		more = block_add(more);
		for (i64 k = threadIdx.x; k < n; k += BLOCK) {
			sample_at(x, m, i, k, at);
			double v = (wide(*sample<T>(x, at)) - mean) * inverse;
			double g = wide(*sample<T>(dy, at)) - sum / n - v * more / n;

			finish(sample<T>(dx, at), (S)(scale[i] * inverse * g), alpha, beta);
		}
		if (!threadIdx.x) {
			finish(&dscale[i], (S)more, alpha_param, beta_param);
			finish(&dbias[i], (S)sum, alpha_param, beta_param);
		}
	}
}

/* --- Dropout ---------------------------------------------------------------------- */

/* A mix of the bits of seed, call and element, by multiplications with odd constants. */
FN unsigned int mixed(unsigned long long seed, unsigned long long call, unsigned long long e)
{
	unsigned long long v = seed * 0x9e3779b97f4a7c15ull + call * 0xd1b54a32d192ed03ull + e;

	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ v >> 27) * 0x94d049bb133111ebull;
	return (unsigned int)(v >> 33);
}

/* @kept has a byte for each element: the forward pass writes it, the backward one reads it. */
template <class T> FN void drop(tensor_args x, tensor_args y, unsigned char *kept, float rate,
				unsigned long long seed, unsigned long long call, int back)
{
	int at[DNN_RANK];

	for (i64 e = me(); e < elements(y); e += all()) {
		typename sum_of<T>::type v;

		coordinates(y, e, at);
		if (!back)
			kept[e] = mixed(seed, call, e) >= rate * 2147483648.0;
		v = kept[e] ? wide(*place<T>(x, at)) / (1 - rate) : 0;
		put(place<T>(y, at), v);
	}
}

#define KERNEL extern "C" __global__ void __launch_bounds__(BLOCK)
#define OF_TYPE(T, S, t) \
KERNEL add_##t(tensor_args x, tensor_args y, S alpha, S beta) { add<T, S>(x, y, alpha, beta); } \
KERNEL operate_##t(int op, tensor_args a, tensor_args b, tensor_args c, S alpha1, S alpha2, \
		   S beta) \
{ operate<T, S>(op, a, b, c, alpha1, alpha2, beta); } \
KERNEL set_##t(tensor_args y, S value, int scale) { set<T, S>(y, value, scale); } \
KERNEL reduce_##t(int op, tensor_args a, tensor_args c, S alpha, S beta) \
{ reduce<T, S>(op, a, c, alpha, beta); } \
KERNEL activation_##t(int mode, S coef, tensor_args x, tensor_args y, S alpha, S beta) \
{ activation<T, S>(mode, coef, x, y, alpha, beta); } \
KERNEL activation_back_##t(int mode, S coef, tensor_args y, tensor_args dy, tensor_args x, \
			   tensor_args dx, S alpha, S beta) \
{ activation_back<T, S>(mode, coef, y, dy, x, dx, alpha, beta); } \
KERNEL softmax_##t(int algorithm, int instance, tensor_args x, tensor_args y, S alpha, S beta) \
{ softmax<T, S>(algorithm, instance, x, y, alpha, beta); } \
KERNEL softmax_back_##t(int algorithm, int instance, tensor_args y, tensor_args dy, \
			tensor_args dx, S alpha, S beta) \
{ softmax_back<T, S>(algorithm, instance, y, dy, dx, alpha, beta); } \
KERNEL convolve_##t(image_args x, image_args f, window_args w, image_args y, S alpha, S beta) \
{ convolve<T, S>(x, f, w, y, alpha, beta); } \
KERNEL convolve_more_##t(image_args x, image_args f, window_args w, image_args y, image_args z, \
			 const T *bias, int mode, S coef, S alpha1, S alpha2) \
{ convolve_more<T, S>(x, f, w, y, z, bias, mode, coef, alpha1, alpha2); } \
KERNEL convolve_data_##t(image_args f, image_args dy, window_args w, image_args dx, S alpha, \
			 S beta) \
{ convolve_data<T, S>(f, dy, w, dx, alpha, beta); } \
KERNEL convolve_filter_##t(image_args x, image_args dy, window_args w, image_args df, S alpha, \
			   S beta) \
{ convolve_filter<T, S>(x, dy, w, df, alpha, beta); } \
KERNEL pool_##t(image_args x, window_args w, image_args y, S alpha, S beta) \
{ pool<T, S>(x, w, y, alpha, beta); } \
KERNEL pool_back_##t(image_args x, image_args dy, window_args w, image_args dx, S alpha, S beta) \
{ pool_back<T, S>(x, dy, w, dx, alpha, beta); } \
KERNEL norm_inference_##t(norm_args m, image_args x, image_args y, const S *scale, const S *bias, \
			  const S *mean, const S *variance, S alpha, S beta) \
{ norm_inference<T, S>(m, x, y, scale, bias, mean, variance, alpha, beta); } \
KERNEL norm_training_##t(norm_args m, image_args x, image_args y, const S *scale, const S *bias, \
			 S *running_mean, S *running_variance, S *saved_mean, S *saved_inverse, \
			 S alpha, S beta) \
{ \
	norm_training<T, S>(m, x, y, scale, bias, running_mean, running_variance, saved_mean, \
			    saved_inverse, alpha, beta); \
} \
KERNEL norm_back_##t(norm_args m, image_args x, image_args dy, image_args dx, const S *scale, \
		     S *dscale, S *dbias, const S *mean, const S *inverse, S alpha, S beta, \
		     S alpha_param, S beta_param) \
{ \
	norm_back<T, S>(m, x, dy, dx, scale, dscale, dbias, mean, inverse, alpha, beta, \
			alpha_param, \
			beta_param); \
} \
KERNEL drop_##t(tensor_args x, tensor_args y, unsigned char *kept, float rate, \
		unsigned long long seed, unsigned long long call, int back) \
{ drop<T>(x, y, kept, rate, seed, call, back); }

OF_TYPE(float, float, f)
OF_TYPE(double, double, d)
OF_TYPE(__half, float, h)
OF_TYPE(__nv_bfloat16, float, b)
