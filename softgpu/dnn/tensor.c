// SPDX-License-Identifier: Apache-2.0
/* Operations on whole tensors of the stand-in for cuDNN: sums, reductions, activations, dropout. */
#include "dnn.h"

#include <stdlib.h>

DNN_KERNELS(add);
DNN_KERNELS(operate);
DNN_KERNELS(set);
DNN_KERNELS(reduce);
DNN_KERNELS(activation);
DNN_KERNELS(activation_back);
DNN_KERNELS(softmax);
DNN_KERNELS(softmax_back);
DNN_KERNELS(drop);

struct cudnnOpTensorStruct {
	cudnnOpTensorOp_t op;
	cudnnDataType_t compute;
	cudnnNanPropagation_t nan;
};

struct cudnnReduceTensorStruct {
	cudnnReduceTensorOp_t op;
	cudnnDataType_t compute;
	cudnnNanPropagation_t nan;
	cudnnReduceTensorIndices_t indices;
	cudnnIndicesType_t index_type;
};

struct cudnnDropoutStruct {
	float rate;
	void *states;
	unsigned long long seed, calls;
};

LIFE(OpTensorDescriptor, cudnnOpTensorDescriptor_t)
LIFE(ReduceTensorDescriptor, cudnnReduceTensorDescriptor_t)
LIFE(DropoutDescriptor, cudnnDropoutDescriptor_t)

/* Whether @a has the sizes of @c, or one where it is to be repeated. */
static bool repeats(const struct tensor_args *a, const struct tensor_args *c)
{
	int d;

	for (d = 0; d < a->rank && a->rank == c->rank; d++)
		if (a->n[d] != c->n[d] && a->n[d] != 1)
			return false;
	return a->rank && a->rank == c->rank;
}

/* Two tensors of one type that the stand-in has. */
static cudnnStatus_t look(cudnnHandle_t h, TENSOR x, TENSOR y, enum dnn_type *t)
{
	cudnnStatus_t st = dnn_enter(h);

	if (st)
		return st;
	if (!x || !y)
		return NONE;
	if (x->type != y->type) {
		standin_refuse("an operation of cuDNN on tensors of several types");
		return LACKS;
	}
	return dnn_type_of(x->type, t) ? OK : LACKS;
}

/* --- Sums ------------------------------------------------------------------------- */

static cudnnStatus_t add(cudnnHandle_t h, const void *alpha, TENSOR x, const void *x_at,
			 const void *beta, TENSOR y, void *y_at, bool repeated)
{
	struct tensor_args xt, yt;
	union scalar a, b;
	enum dnn_type t;
	cudnnStatus_t st = look(h, x, y, &t);

	if (st)
		return st;
	if (!alpha || !beta)
		return NONE;
	if (!(repeated ? repeats(&x->args, &y->args) : dnn_same_sizes(&x->args, &y->args)))
		return MISMATCH;
	a = dnn_scalar(t, alpha);
	b = dnn_scalar(t, beta);
	xt = dnn_tensor(&x->args, x_at);
	yt = dnn_tensor(&y->args, y_at);
	return dnn_launch(h, &add_kernel[t], dnn_elements(&yt), (void *[]){ &xt, &yt, &a, &b });
}

ST cudnnAddTensor(cudnnHandle_t h, const void *alpha, TENSOR a, const void *a_at, const void *beta,
		  TENSOR c, void *c_at)
{
	return add(h, alpha, a, a_at, beta, c, c_at, true);
}

ST cudnnTransformTensor(cudnnHandle_t h, const void *alpha, TENSOR x, const void *x_at,
			const void *beta, TENSOR y, void *y_at)
{
	return add(h, alpha, x, x_at, beta, y, y_at, false);
}

static cudnnStatus_t set(cudnnHandle_t h, TENSOR y, void *y_at, const void *value, int scale)
{
	struct tensor_args yt;
	union scalar v;
	enum dnn_type t;
	cudnnStatus_t st = look(h, y, y, &t);

	if (st)
		return st;
	if (!value)
		return NONE;
	/* The value to set has the type of an element, a factor has that of a scalar. */
	if (!scale && t >= TYPE_H) {
		standin_refuse("cudnnSetTensor in f16 and bf16");
		return LACKS;
	}
	v = dnn_scalar(t, value);
	yt = dnn_tensor(&y->args, y_at);
	return dnn_launch(h, &set_kernel[t], dnn_elements(&yt), (void *[]){ &yt, &v, &scale });
}

ST cudnnSetTensor(cudnnHandle_t h, TENSOR y, void *y_at, const void *value)
{
	return set(h, y, y_at, value, 0);
}

ST cudnnScaleTensor(cudnnHandle_t h, TENSOR y, void *y_at, const void *alpha)
{
	return set(h, y, y_at, alpha, 1);
}

ST cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t op,
			      cudnnDataType_t compute, cudnnNanPropagation_t nan)
{
	if (!d)
		return NONE;
	if ((unsigned int)op > CUDNN_OP_TENSOR_NOT)
		return WRONG;
	*d = (struct cudnnOpTensorStruct){ op, compute, nan };
	return OK;
}

ST cudnnGetOpTensorDescriptor(const cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t *op,
			      cudnnDataType_t *compute, cudnnNanPropagation_t *nan)
{
	if (!d || !op || !compute || !nan)
		return NONE;
	*op = d->op;
	*compute = d->compute;
	*nan = d->nan;
	return OK;
}

ST cudnnOpTensor(cudnnHandle_t h, const cudnnOpTensorDescriptor_t d, const void *alpha1, TENSOR a,
		 const void *a_at, const void *alpha2, TENSOR b, const void *b_at, const void *beta,
		 TENSOR c, void *c_at)
{
	struct tensor_args at, bt, ct;
	union scalar s1, s2, s3;
	enum dnn_type t;
	cudnnStatus_t st = look(h, a, c, &t);
	int op;

	if (st)
		return st;
	if (!d || !alpha1 || !beta)
		return NONE;
	op = d->op;
	/* A square root and a complement have no second operand. */
	if (op < CUDNN_OP_TENSOR_SQRT && (!b || !alpha2))
		return NONE;
	if (!dnn_same_sizes(&a->args, &c->args) ||
	    (op < CUDNN_OP_TENSOR_SQRT && (b->type != c->type || !repeats(&b->args, &c->args))))
		return MISMATCH;
	at = dnn_tensor(&a->args, a_at);
	ct = dnn_tensor(&c->args, c_at);
	bt = op < CUDNN_OP_TENSOR_SQRT ? dnn_tensor(&b->args, b_at) : at;
	s1 = dnn_scalar(t, alpha1);
	s2 = op < CUDNN_OP_TENSOR_SQRT ? dnn_scalar(t, alpha2) : s1;
	s3 = dnn_scalar(t, beta);
	return dnn_launch(h, &operate_kernel[t], dnn_elements(&ct),
			  (void *[]){ &op, &at, &bt, &ct, &s1, &s2, &s3 });
}

/* --- Reductions ------------------------------------------------------------------- */

ST cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t d, cudnnReduceTensorOp_t op,
				  cudnnDataType_t compute, cudnnNanPropagation_t nan,
				  cudnnReduceTensorIndices_t indices, cudnnIndicesType_t type)
{
	if (!d)
		return NONE;
	if ((unsigned int)op > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS)
		return WRONG;
	*d = (struct cudnnReduceTensorStruct){ op, compute, nan, indices, type };
	return OK;
}

ST cudnnGetReduceTensorDescriptor(const cudnnReduceTensorDescriptor_t d, cudnnReduceTensorOp_t *op,
				  cudnnDataType_t *compute, cudnnNanPropagation_t *nan,
				  cudnnReduceTensorIndices_t *indices, cudnnIndicesType_t *type)
{
	if (!d || !op || !compute || !nan || !indices || !type)
		return NONE;
	*op = d->op;
	*compute = d->compute;
	*nan = d->nan;
	*indices = d->indices;
	*type = d->index_type;
	return OK;
}

static cudnnStatus_t no_room(cudnnHandle_t h, const cudnnReduceTensorDescriptor_t d, TENSOR a,
			     TENSOR c, size_t *size)
{
	if (!h || !d || !a || !c || !size)
		return NONE;
	*size = 0;
	return OK;
}

ST cudnnGetReductionIndicesSize(cudnnHandle_t h, const cudnnReduceTensorDescriptor_t d, TENSOR a,
				TENSOR c, size_t *size)
{
	return no_room(h, d, a, c, size);
}

ST cudnnGetReductionWorkspaceSize(cudnnHandle_t h, const cudnnReduceTensorDescriptor_t d, TENSOR a,
				  TENSOR c, size_t *size)
{
	return no_room(h, d, a, c, size);
}

static cudnnStatus_t reduce(cudnnHandle_t h, TENSOR a, const void *a_at, TENSOR c, void *c_at,
			    int op, const void *alpha, const void *beta)
{
	struct tensor_args at, ct;
	union scalar s, b;
	enum dnn_type t;
	cudnnStatus_t st = look(h, a, c, &t);

	if (st)
		return st;
	if (!alpha || !beta)
		return NONE;
	if (!repeats(&c->args, &a->args))
		return MISMATCH;
	at = dnn_tensor(&a->args, a_at);
	ct = dnn_tensor(&c->args, c_at);
	s = dnn_scalar(t, alpha);
	b = dnn_scalar(t, beta);
	return dnn_launch(h, &reduce_kernel[t], dnn_elements(&ct),
			  (void *[]){ &op, &at, &ct, &s, &b });
}

ST cudnnReduceTensor(cudnnHandle_t h, const cudnnReduceTensorDescriptor_t d, void *indices,
		     size_t indices_size, void *work, size_t work_size, const void *alpha, TENSOR a,
		     const void *a_at, const void *beta, TENSOR c, void *c_at)
{
	(void)indices; (void)indices_size; (void)work; (void)work_size;
	if (!d)
		return NONE;
	if (d->indices != CUDNN_REDUCE_TENSOR_NO_INDICES) {
		standin_refuse("a reduction of cuDNN with indices");
		return LACKS;
	}
	return reduce(h, a, a_at, c, c_at, d->op, alpha, beta);
}

/* A gradient of a bias is a sum over all but the channels. */
ST cudnnConvolutionBackwardBias(cudnnHandle_t h, const void *alpha, TENSOR dy, const void *dy_at,
				const void *beta, TENSOR db, void *db_at)
{
	if (dy && db && (db->args.rank != dy->args.rank || db->args.rank < 2 ||
			 db->args.n[1] != dy->args.n[1] ||
			 dnn_elements(&db->args) != db->args.n[1]))
		return MISMATCH;
	return reduce(h, dy, dy_at, db, db_at, CUDNN_REDUCE_TENSOR_ADD, alpha, beta);
}

/* --- Activations and softmax ------------------------------------------------------ */

static union scalar coefficient(const struct cudnnActivationStruct *d, enum dnn_type t)
{
	return dnn_number(t, d->mode == CUDNN_ACTIVATION_SWISH ? d->swish_beta : d->coef);
}

ST cudnnActivationForward(cudnnHandle_t h, cudnnActivationDescriptor_t d, const void *alpha,
			  TENSOR x, const void *x_at, const void *beta, TENSOR y, void *y_at)
{
	struct tensor_args xt, yt;
	union scalar a, b, coef;
	enum dnn_type t;
	cudnnStatus_t st = look(h, x, y, &t);
	int mode;

	if (st)
		return st;
	if (!d || !alpha || !beta)
		return NONE;
	if (!dnn_same_sizes(&x->args, &y->args))
		return MISMATCH;
	mode = d->mode;
	coef = coefficient(d, t);
	a = dnn_scalar(t, alpha);
	b = dnn_scalar(t, beta);
	xt = dnn_tensor(&x->args, x_at);
	yt = dnn_tensor(&y->args, y_at);
	return dnn_launch(h, &activation_kernel[t], dnn_elements(&yt),
			  (void *[]){ &mode, &coef, &xt, &yt, &a, &b });
}

ST cudnnActivationBackward(cudnnHandle_t h, cudnnActivationDescriptor_t d, const void *alpha,
			   TENSOR y, const void *y_at, TENSOR dy, const void *dy_at, TENSOR x,
				   const void *x_at,
			   const void *beta, TENSOR dx, void *dx_at)
{
	struct tensor_args yt, dyt, xt, dxt;
	union scalar a, b, coef;
	enum dnn_type t;
	cudnnStatus_t st = look(h, y, dx, &t);
	int mode;

	if (st)
		return st;
	if (!d || !alpha || !beta || !dy || !x)
		return NONE;
	if (!dnn_same_sizes(&y->args, &dx->args) || !dnn_same_sizes(&dy->args, &dx->args) ||
	    !dnn_same_sizes(&x->args, &dx->args) || dy->type != dx->type || x->type != dx->type)
		return MISMATCH;
	mode = d->mode;
	coef = coefficient(d, t);
	a = dnn_scalar(t, alpha);
	b = dnn_scalar(t, beta);
	yt = dnn_tensor(&y->args, y_at);
	dyt = dnn_tensor(&dy->args, dy_at);
	xt = dnn_tensor(&x->args, x_at);
	dxt = dnn_tensor(&dx->args, dx_at);
	return dnn_launch(h, &activation_back_kernel[t], dnn_elements(&dxt),
			  (void *[]){ &mode, &coef, &yt, &dyt, &xt, &dxt, &a, &b });
}

static bool softmax_good(cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode, TENSOR x)
{
	return (unsigned int)algorithm <= CUDNN_SOFTMAX_LOG &&
	       (unsigned int)mode <= CUDNN_SOFTMAX_MODE_CHANNEL && x->args.rank >= 2;
}

ST cudnnSoftmaxForward(cudnnHandle_t h, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
		       const void *alpha, TENSOR x, const void *x_at, const void *beta, TENSOR y,
		       void *y_at)
{
	int how = algorithm, instance = mode == CUDNN_SOFTMAX_MODE_INSTANCE;
	struct tensor_args xt, yt;
	union scalar a, b;
	enum dnn_type t;
	cudnnStatus_t st = look(h, x, y, &t);

	if (st)
		return st;
	if (!alpha || !beta)
		return NONE;
	if (!softmax_good(algorithm, mode, x) || !dnn_same_sizes(&x->args, &y->args))
		return WRONG;
	a = dnn_scalar(t, alpha);
	b = dnn_scalar(t, beta);
	xt = dnn_tensor(&x->args, x_at);
	yt = dnn_tensor(&y->args, y_at);
	return dnn_launch(h, &softmax_kernel[t],
			  dnn_elements(&yt) / (instance ? 1 : yt.n[1]),
			  (void *[]){ &how, &instance, &xt, &yt, &a, &b });
}

ST cudnnSoftmaxBackward(cudnnHandle_t h, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
			const void *alpha, TENSOR y, const void *y_at, TENSOR dy, const void *dy_at,
			const void *beta, TENSOR dx, void *dx_at)
{
	int how = algorithm, instance = mode == CUDNN_SOFTMAX_MODE_INSTANCE;
	struct tensor_args yt, dyt, dxt;
	union scalar a, b;
	enum dnn_type t;
	cudnnStatus_t st = look(h, y, dx, &t);

	if (st)
		return st;
	if (!alpha || !beta || !dy)
		return NONE;
	if (!softmax_good(algorithm, mode, y) || !dnn_same_sizes(&y->args, &dx->args) ||
	    !dnn_same_sizes(&dy->args, &dx->args) || dy->type != dx->type)
		return WRONG;
	a = dnn_scalar(t, alpha);
	b = dnn_scalar(t, beta);
	yt = dnn_tensor(&y->args, y_at);
	dyt = dnn_tensor(&dy->args, dy_at);
	dxt = dnn_tensor(&dx->args, dx_at);
	return dnn_launch(h, &softmax_back_kernel[t], dnn_elements(&dxt) / (instance ? 1 :
									    dxt.n[1]),
			  (void *[]){ &how, &instance, &yt, &dyt, &dxt, &a, &b });
}

/* --- Dropout: the generator's state is the number of calls, which the descriptor has --- */

ST cudnnDropoutGetStatesSize(cudnnHandle_t h, size_t *size)
{
	if (!h || !size)
		return NONE;
	*size = sizeof(uint64_t);	/* some programs refuse to allocate nothing */
	return OK;
}

ST cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t x, size_t *size)
{
	if (!x || !size)
		return NONE;
	*size = (size_t)dnn_elements(&x->args);
	return OK;
}

ST cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t h, float rate, void *states,
			     size_t size, unsigned long long seed)
{
	if (!d || !h)
		return NONE;
	if (!(rate >= 0 && rate < 1) || (states && size < sizeof(uint64_t)))
		return WRONG;
	*d = (struct cudnnDropoutStruct){ rate, states, seed, 0 };
	return OK;
}

ST cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t h, float rate,
				 void *states, size_t size, unsigned long long seed)
{
	return cudnnSetDropoutDescriptor(d, h, rate, states, size, seed);
}

ST cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t h, float *rate,
			     void **states, unsigned long long *seed)
{
	if (!d || !h || !rate || !states || !seed)
		return NONE;
	*rate = d->rate;
	*states = d->states;
	*seed = d->seed;
	return OK;
}

static cudnnStatus_t drop(cudnnHandle_t h, cudnnDropoutDescriptor_t d, TENSOR x, const void *x_at,
			  TENSOR y, void *y_at, void *reserve, size_t size, int back)
{
	struct tensor_args xt, yt;
	enum dnn_type t;
	cudnnStatus_t st = look(h, x, y, &t);
	unsigned long long call;

	if (st)
		return st;
	if (!d || !reserve)
		return NONE;
	if (!dnn_same_sizes(&x->args, &y->args))
		return MISMATCH;
	if (size < (size_t)dnn_elements(&y->args))
		return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
	call = back ? 0 : ++d->calls;
	xt = dnn_tensor(&x->args, x_at);
	yt = dnn_tensor(&y->args, y_at);
	return dnn_launch(h, &drop_kernel[t], dnn_elements(&yt),
			  (void *[]){ &xt, &yt, &reserve, &d->rate, &d->seed, &call, &back });
}

ST cudnnDropoutForward(cudnnHandle_t h, const cudnnDropoutDescriptor_t d, TENSOR x,
		       const void *x_at, TENSOR y, void *y_at, void *reserve, size_t size)
{
	return drop(h, d, x, x_at, y, y_at, reserve, size, 0);
}

ST cudnnDropoutBackward(cudnnHandle_t h, const cudnnDropoutDescriptor_t d, TENSOR dy,
			const void *dy_at, TENSOR dx, void *dx_at, void *reserve, size_t size)
{
	return drop(h, d, dy, dy_at, dx, dx_at, reserve, size, 1);
}
