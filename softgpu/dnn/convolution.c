// SPDX-License-Identifier: Apache-2.0
/* Convolutions and poolings of the stand-in for cuDNN. */
#include "dnn.h"

#include <string.h>

#define FILTER	const cudnnFilterDescriptor_t
#define CONV	const cudnnConvolutionDescriptor_t

DNN_KERNELS(convolve);
DNN_KERNELS(convolve_more);
DNN_KERNELS(convolve_data);
DNN_KERNELS(convolve_filter);
DNN_KERNELS(pool);
DNN_KERNELS(pool_back);

/* Of a convolution, the input, the filter and the output, as its three directions take them. */
struct convolution {
	struct image_args x, f, y;
	struct window_args w;
	enum dnn_type t;
	union scalar alpha, beta;
};

/* Sums are in f32, or in f64 for elements of that. Half alone would be less precise. */
static bool compute_good(const struct cudnnConvolutionStruct *c, enum dnn_type t)
{
	return t == TYPE_D ? c->compute == CUDNN_DATA_DOUBLE : c->compute == CUDNN_DATA_FLOAT ||
	       (t == TYPE_H && c->compute == CUDNN_DATA_HALF);
}

static bool shapes_good(TENSOR x, FILTER f, CONV c, TENSOR y)
{
	int rank = c->rank + 2, i;

	if (!c->rank || x->args.rank != rank || f->args.rank != rank || y->args.rank != rank ||
	    x->args.n[0] != y->args.n[0] || y->args.n[1] != f->args.n[0] ||
	    f->args.n[0] % c->groups || x->args.n[1] != (int64_t)f->args.n[1] * c->groups)
		return false;
	for (i = 0; i < c->rank; i++)
		if (y->args.n[2 + i] != dnn_output(x->args.n[2 + i], c->pad[i], f->args.n[2 + i],
						   c->apart[i], c->step[i]))
			return false;
	return true;
}

/* Checks the descriptors and puts them into what the kernels take. */
static cudnnStatus_t look(TENSOR x, const void *x_at, FILTER f, const void *f_at, CONV c, TENSOR y,
			  const void *y_at, struct convolution *to)
{
	int i, first;

	if (!x || !f || !c || !y)
		return NONE;
	if (!shapes_good(x, f, c, y))
		return MISMATCH;
	if (x->type != f->type || x->type != y->type || !dnn_type_of(x->type, &to->t) ||
	    !compute_good(c, to->t) || !dnn_image(&x->args, x_at, &to->x) ||
	    !dnn_image(&f->args, f_at, &to->f) || !dnn_image(&y->args, y_at, &to->y)) {
		standin_refuse("a convolution of these types or of more than three dimensions");
		return LACKS;
	}
	to->w = (struct window_args){ .groups = c->groups, .flipped =
				     c->mode == CUDNN_CONVOLUTION };
	first = DNN_SPACE - c->rank;
	for (i = 0; i < DNN_SPACE; i++) {
		to->w.size[i] = to->f.n[2 + i];
		to->w.pad[i] = i < first ? 0 : c->pad[i - first];
		to->w.step[i] = i < first ? 1 : c->step[i - first];
		to->w.apart[i] = i < first ? 1 : c->apart[i - first];
	}
	return OK;
}

static int64_t places(const struct image_args *t)
{
	int64_t n = 1;
	int d;

	for (d = 0; d < 2 + DNN_SPACE; d++)
		n *= t->n[d];
	return n;
}

/* --- The only algorithm of each direction, which needs no workspace --------------- */

#define ALGORITHM(Direction, Perf, Algo, count, the_one, params, call_params, descriptors) \
ST cudnnGetConvolution##Direction##AlgorithmMaxCount(cudnnHandle_t h, int *n) \
{ \
	if (!h || !n) \
		return NONE; \
	*n = count; \
	return OK; \
} \
static cudnnStatus_t suggest_##Direction(cudnnHandle_t h, params, int asked, int *returned, \
					 Perf *to) \
{ \
	struct convolution c; \
	cudnnStatus_t st = dnn_enter(h); \
\
	if (st) \
		return st; \
	if (!returned || !to) \
		return NONE; \
	if (asked < 1) \
		return CUDNN_STATUS_BAD_PARAM; \
	st = look descriptors; \
	if (st) \
		return st; \
	memset(to, 0, sizeof(*to)); \
	to->algo = the_one; \
	to->determinism = CUDNN_DETERMINISTIC; \
	to->mathType = CUDNN_DEFAULT_MATH; \
	*returned = 1; \
	return OK; \
} \
ST cudnnGetConvolution##Direction##Algorithm_v7(cudnnHandle_t h, params, const int asked, \
						int *returned, Perf *to) \
{ return suggest_##Direction(h, call_params, asked, returned, to); } \
ST cudnnFindConvolution##Direction##Algorithm(cudnnHandle_t h, params, const int asked, \
					      int *returned, Perf *to) \
{ return suggest_##Direction(h, call_params, asked, returned, to); } \
ST cudnnGetConvolution##Direction##WorkspaceSize(cudnnHandle_t h, params, Algo algorithm, \
						 size_t *size) \
{ \
	struct convolution c; \
	cudnnStatus_t st = dnn_enter(h); \
\
	if (st) \
		return st; \
	if (!size) \
		return NONE; \
	if (algorithm != the_one) \
		return LACKS; \
	*size = 0; \
	return look descriptors; \
}

#define LIST(...) __VA_ARGS__

ALGORITHM(Forward, cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionFwdAlgo_t,
	  CUDNN_CONVOLUTION_FWD_ALGO_COUNT, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
	  LIST(TENSOR x, FILTER f, CONV d, TENSOR y), LIST(x, f, d, y),
	  (x, NULL, f, NULL, d, y, NULL, &c))
ALGORITHM(BackwardData, cudnnConvolutionBwdDataAlgoPerf_t, cudnnConvolutionBwdDataAlgo_t,
	  CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
	  LIST(FILTER f, TENSOR y, CONV d, TENSOR x), LIST(f, y, d, x),
	  (x, NULL, f, NULL, d, y, NULL, &c))
ALGORITHM(BackwardFilter, cudnnConvolutionBwdFilterAlgoPerf_t, cudnnConvolutionBwdFilterAlgo_t,
	  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
	  LIST(TENSOR x, TENSOR y, CONV d, FILTER f), LIST(x, y, d, f),
	  (x, NULL, f, NULL, d, y, NULL, &c))

ST cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t h, TENSOR x, const void *x_at, FILTER f,
					  const void *f_at, CONV d, TENSOR y, void *y_at,
					  const int asked, int *returned,
					  cudnnConvolutionFwdAlgoPerf_t *to, void *work,
						  size_t size)
{
	(void)x_at; (void)f_at; (void)y_at; (void)work; (void)size;
	return suggest_Forward(h, x, f, d, y, asked, returned, to);
}

ST cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t h, FILTER f, const void *f_at,
					       TENSOR y,
					       const void *y_at, CONV d, TENSOR x, void *x_at,
					       const int asked, int *returned,
					       cudnnConvolutionBwdDataAlgoPerf_t *to, void *work,
					       size_t size)
{
	(void)x_at; (void)f_at; (void)y_at; (void)work; (void)size;
	return suggest_BackwardData(h, f, y, d, x, asked, returned, to);
}

ST cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t h, TENSOR x, const void *x_at,
						 TENSOR y, const void *y_at, CONV d, FILTER f,
						 void *f_at, const int asked, int *returned,
						 cudnnConvolutionBwdFilterAlgoPerf_t *to,
							 void *work,
						 size_t size)
{
	(void)x_at; (void)f_at; (void)y_at; (void)work; (void)size;
	return suggest_BackwardFilter(h, x, y, d, f, asked, returned, to);
}

/* --- The convolutions. Every algorithm that a program names has the same result. --- */

static cudnnStatus_t begin(cudnnHandle_t h, TENSOR x, const void *x_at, FILTER f, const void *f_at,
			   CONV d, TENSOR y, const void *y_at, const void *alpha, const void *beta,
			   struct convolution *c)
{
	cudnnStatus_t st = dnn_enter(h);

	if (!st)
		st = look(x, x_at, f, f_at, d, y, y_at, c);
	if (st)
		return st;
	if (!alpha || !beta)
		return NONE;
	c->alpha = dnn_scalar(c->t, alpha);
	c->beta = dnn_scalar(c->t, beta);
	return OK;
}

ST cudnnConvolutionForward(cudnnHandle_t h, const void *alpha, TENSOR x, const void *x_at, FILTER f,
			   const void *f_at, CONV d, cudnnConvolutionFwdAlgo_t algorithm,
				   void *work,
			   size_t size, const void *beta, TENSOR y, void *y_at)
{
	struct convolution c;
	cudnnStatus_t st = begin(h, x, x_at, f, f_at, d, y, y_at, alpha, beta, &c);

	(void)algorithm; (void)work; (void)size;
	if (st)
		return st;
	return dnn_launch(h, &convolve_kernel[c.t], places(&c.y),
			  (void *[]){ &c.x, &c.f, &c.w, &c.y, &c.alpha, &c.beta });
}

ST cudnnConvolutionBackwardData(cudnnHandle_t h, const void *alpha, FILTER f, const void *f_at,
				TENSOR y, const void *y_at, CONV d,
				cudnnConvolutionBwdDataAlgo_t algorithm, void *work, size_t size,
				const void *beta, TENSOR x, void *x_at)
{
	struct convolution c;
	cudnnStatus_t st = begin(h, x, x_at, f, f_at, d, y, y_at, alpha, beta, &c);

	(void)algorithm; (void)work; (void)size;
	if (st)
		return st;
	return dnn_launch(h, &convolve_data_kernel[c.t], places(&c.x),
			  (void *[]){ &c.f, &c.y, &c.w, &c.x, &c.alpha, &c.beta });
}

ST cudnnConvolutionBackwardFilter(cudnnHandle_t h, const void *alpha, TENSOR x, const void *x_at,
				  TENSOR y, const void *y_at, CONV d,
				  cudnnConvolutionBwdFilterAlgo_t algorithm, void *work,
					  size_t size,
				  const void *beta, FILTER f, void *f_at)
{
	struct convolution c;
	cudnnStatus_t st = begin(h, x, x_at, f, f_at, d, y, y_at, alpha, beta, &c);

	(void)algorithm; (void)work; (void)size;
	if (st)
		return st;
	return dnn_launch(h, &convolve_filter_kernel[c.t], places(&c.f) * 256,
			  (void *[]){ &c.x, &c.y, &c.w, &c.f, &c.alpha, &c.beta });
}

/* The bias has an element for each channel, and the activation is relu or none. */
ST cudnnConvolutionBiasActivationForward(cudnnHandle_t h, const void *alpha1, TENSOR x,
					 const void *x_at, FILTER f, const void *f_at, CONV d,
					 cudnnConvolutionFwdAlgo_t algorithm, void *work,
						 size_t size,
					 const void *alpha2, TENSOR z, const void *z_at,
						 TENSOR bias,
					 const void *bias_at,
					 const cudnnActivationDescriptor_t activation, TENSOR y,
					 void *y_at)
{
	struct convolution c;
	struct image_args zi;
	union scalar a1, a2, coef;
	cudnnStatus_t st = dnn_enter(h);
	int mode;

	(void)algorithm; (void)work; (void)size;
	if (!st)
		st = look(x, x_at, f, f_at, d, y, y_at, &c);
	if (st)
		return st;
	if (!alpha1 || !alpha2 || !z || !bias || !activation)
		return NONE;
	if (!dnn_same_sizes(&z->args, &y->args) || dnn_elements(&bias->args) != y->args.n[1])
		return MISMATCH;
	mode = activation->mode;
	if (z->type != y->type || bias->type != y->type || !dnn_image(&z->args, z_at, &zi) ||
	    (mode != CUDNN_ACTIVATION_RELU && mode != CUDNN_ACTIVATION_IDENTITY)) {
		standin_refuse("a convolution with this activation or of several types");
		return LACKS;
	}
	a1 = dnn_scalar(c.t, alpha1);
	a2 = dnn_scalar(c.t, alpha2);
	coef = dnn_number(c.t, activation->coef);
	return dnn_launch(h, &convolve_more_kernel[c.t], places(&c.y),
			  (void *[]){ &c.x, &c.f, &c.w, &c.y, &zi, &bias_at, &mode, &coef, &a1,
				     &a2 });
}

/* --- Pooling ---------------------------------------------------------------------- */

static cudnnStatus_t look_pooling(const cudnnPoolingDescriptor_t p, TENSOR x, const void *x_at,
				  TENSOR y, const void *y_at, struct convolution *to)
{
	int i, first;

	if (!p || !x || !y)
		return NONE;
	if (!p->rank || x->args.rank != p->rank + 2 || y->args.rank != x->args.rank ||
	    x->args.n[0] != y->args.n[0] || x->args.n[1] != y->args.n[1])
		return MISMATCH;
	for (i = 0; i < p->rank; i++)
		if (y->args.n[2 + i] != dnn_output(x->args.n[2 + i], p->pad[i], p->size[i], 1,
						   p->step[i]))
			return MISMATCH;
	if (x->type != y->type || !dnn_type_of(x->type, &to->t) ||
	    !dnn_image(&x->args, x_at, &to->x) || !dnn_image(&y->args, y_at, &to->y)) {
		standin_refuse("a pooling of several types or of more than three dimensions");
		return LACKS;
	}
	to->w = (struct window_args){ .groups = 1, .mode = p->mode };
	first = DNN_SPACE - p->rank;
	for (i = 0; i < DNN_SPACE; i++) {
		to->w.size[i] = i < first ? 1 : p->size[i - first];
		to->w.pad[i] = i < first ? 0 : p->pad[i - first];
		to->w.step[i] = i < first ? 1 : p->step[i - first];
		to->w.apart[i] = 1;
	}
	return OK;
}

ST cudnnPoolingForward(cudnnHandle_t h, const cudnnPoolingDescriptor_t p, const void *alpha,
		       TENSOR x, const void *x_at, const void *beta, TENSOR y, void *y_at)
{
	struct convolution c;
	union scalar a, b;
	cudnnStatus_t st = dnn_enter(h);

	if (!st)
		st = look_pooling(p, x, x_at, y, y_at, &c);
	if (st)
		return st;
	if (!alpha || !beta)
		return NONE;
	a = dnn_scalar(c.t, alpha);
	b = dnn_scalar(c.t, beta);
	return dnn_launch(h, &pool_kernel[c.t], places(&c.y),
			  (void *[]){ &c.x, &c.w, &c.y, &a, &b });
}

/* The maxima are found in @x again, so @y is not read. */
ST cudnnPoolingBackward(cudnnHandle_t h, const cudnnPoolingDescriptor_t p, const void *alpha,
			TENSOR y,
			const void *y_at, TENSOR dy, const void *dy_at, TENSOR x, const void *x_at,
			const void *beta, TENSOR dx, void *dx_at)
{
	struct convolution c;
	struct image_args to;
	union scalar a, b;
	cudnnStatus_t st = dnn_enter(h);

	(void)y_at;
	if (!st)
		st = look_pooling(p, x, x_at, dy, dy_at, &c);
	if (st)
		return st;
	if (!alpha || !beta || !y || !dx)
		return NONE;
	if (!dnn_same_sizes(&x->args, &dx->args) || !dnn_same_sizes(&y->args, &dy->args) ||
	    dx->type != x->type || !dnn_image(&dx->args, dx_at, &to))
		return MISMATCH;
	a = dnn_scalar(c.t, alpha);
	b = dnn_scalar(c.t, beta);
	return dnn_launch(h, &pool_back_kernel[c.t], places(&to),
			  (void *[]){ &c.x, &c.y, &c.w, &to, &a, &b });
}
