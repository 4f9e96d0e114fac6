/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on images of the stand-in for cuDNN: convolution, pooling, batch normalisation. */
#ifndef WORMHOLE_SOFTGPU_DNN_IMAGE_H
#define WORMHOLE_SOFTGPU_DNN_IMAGE_H

#include "element.cuh"

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

#endif
