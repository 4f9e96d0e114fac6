// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels of the stand-in for cuDNN, for float (_f), double (_d), f16 (_h) and bf16 (_b). Of the
 * last two, sums and scalars are in float. A thread makes an element of the result, or a block
 * does where sums are long, so results repeat bit by bit.
 */
#include "image.cuh"

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
