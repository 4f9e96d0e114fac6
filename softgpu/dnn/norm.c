// SPDX-License-Identifier: Apache-2.0
/* Batch normalisation of the stand-in for cuDNN. */
#include "dnn.h"

DNN_KERNELS(norm_inference);
DNN_KERNELS(norm_training);
DNN_KERNELS(norm_back);

/* What all directions check: one type, the sizes, and parameters in the type of sums. */
struct norm {
	struct norm_args m;
	struct image_args x, y;
	enum dnn_type t;
	int64_t parameters;
};

static cudnnStatus_t look(cudnnHandle_t h, cudnnBatchNormMode_t mode, TENSOR x, const void *x_at,
			  TENSOR y, const void *y_at, TENSOR parameters, double epsilon,
			  struct norm *to)
{
	cudnnStatus_t st = dnn_enter(h);

	if (st)
		return st;
	if (!x || !y || !parameters)
		return NONE;
	if ((unsigned int)mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT || !(epsilon >= 0))
		return CUDNN_STATUS_BAD_PARAM;
	if (!dnn_type_of(x->type, &to->t))
		return LACKS;
	to->m = (struct norm_args){ .epsilon = epsilon, .each =
				   mode == CUDNN_BATCHNORM_PER_ACTIVATION };
	if (!dnn_same_sizes(&x->args, &y->args) || !dnn_image(&x->args, x_at, &to->x) ||
	    !dnn_image(&y->args, y_at, &to->y))
		return MISMATCH;
	to->parameters = to->m.each ? dnn_elements(&x->args) / x->args.n[0] : x->args.n[1];
	if (dnn_elements(&parameters->args) != to->parameters)
		return MISMATCH;
	if (x->type != y->type ||
	    parameters->type != (to->t == TYPE_D ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT)) {
		standin_refuse("a batch normalisation of these types");
		return LACKS;
	}
	return OK;
}

ST cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t to, TENSOR x, cudnnBatchNormMode_t mode)
{
	int n[DNN_RANK], d;

	if (!to || !x)
		return NONE;
	if ((unsigned int)mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT || x->args.rank < 2)
		return CUDNN_STATUS_BAD_PARAM;
	for (d = 0; d < x->args.rank; d++)
		n[d] = d == 1 || (d && mode == CUDNN_BATCHNORM_PER_ACTIVATION) ? x->args.n[d] : 1;
	return cudnnSetTensorNdDescriptorEx(to, CUDNN_TENSOR_NCHW, x->type == CUDNN_DATA_DOUBLE ?
					    CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT, x->args.rank, n);
}

ST cudnnBatchNormalizationForwardInference(cudnnHandle_t h, cudnnBatchNormMode_t mode,
					   const void *alpha, const void *beta, TENSOR x,
					   const void *x_at, TENSOR y, void *y_at,
						   TENSOR parameters,
					   const void *scale, const void *bias, const void *mean,
					   const void *variance, double epsilon)
{
	union scalar a, b;
	struct norm n;
	cudnnStatus_t st = look(h, mode, x, x_at, y, y_at, parameters, epsilon, &n);

	if (st)
		return st;
	if (!alpha || !beta)
		return NONE;
	a = dnn_scalar(n.t, alpha);
	b = dnn_scalar(n.t, beta);
	return dnn_launch(h, &norm_inference_kernel[n.t], dnn_elements(&x->args),
			  (void *[]){ &n.m, &n.x, &n.y, &scale, &bias, &mean, &variance, &a, &b });
}

ST cudnnBatchNormalizationForwardTraining(cudnnHandle_t h, cudnnBatchNormMode_t mode,
					  const void *alpha, const void *beta, TENSOR x,
					  const void *x_at, TENSOR y, void *y_at, TENSOR parameters,
					  const void *scale, const void *bias, double factor,
					  void *running_mean, void *running_variance,
						  double epsilon,
					  void *saved_mean, void *saved_inverse)
{
	union scalar a, b;
	struct norm n;
	cudnnStatus_t st = look(h, mode, x, x_at, y, y_at, parameters, epsilon, &n);

	if (st)
		return st;
	if (!alpha || !beta || !running_mean != !running_variance || !saved_mean != !saved_inverse)
		return NONE;
	n.m.factor = factor;
	a = dnn_scalar(n.t, alpha);
	b = dnn_scalar(n.t, beta);
	return dnn_launch(h, &norm_training_kernel[n.t], n.parameters * 256,
			  (void *[]){ &n.m, &n.x, &n.y, &scale, &bias, &running_mean,
				      &running_variance, &saved_mean, &saved_inverse, &a, &b });
}

ST cudnnBatchNormalizationBackward(cudnnHandle_t h, cudnnBatchNormMode_t mode, const void *alpha,
				   const void *beta, const void *alpha_param,
					   const void *beta_param,
				   TENSOR x, const void *x_at, TENSOR dy, const void *dy_at,
					   TENSOR dx,
				   void *dx_at, TENSOR parameters, const void *scale, void *dscale,
				   void *dbias, double epsilon, const void *saved_mean,
				   const void *saved_inverse)
{
	union scalar a, b, ap, bp;
	struct image_args to;
	struct norm n;
	cudnnStatus_t st = look(h, mode, x, x_at, dy, dy_at, parameters, epsilon, &n);

	if (st)
		return st;
	if (!dx || !alpha || !beta || !alpha_param || !beta_param || !saved_mean != !saved_inverse)
		return NONE;
	if (dx->type != x->type || !dnn_same_sizes(&dx->args, &x->args) ||
	    !dnn_image(&dx->args, dx_at, &to))
		return MISMATCH;
	a = dnn_scalar(n.t, alpha);
	b = dnn_scalar(n.t, beta);
	ap = dnn_scalar(n.t, alpha_param);
	bp = dnn_scalar(n.t, beta_param);
	return dnn_launch(h, &norm_back_kernel[n.t], n.parameters * 256,
			  (void *[]){ &n.m, &n.x, &n.y, &to, &scale, &dscale, &dbias, &saved_mean,
				      &saved_inverse, &a, &b, &ap, &bp });
}

/* --- The forms with more operations, of which the stand-in has the normalisation alone --- */

static cudnnStatus_t plain(cudnnBatchNormOps_t ops)
{
	if (ops == CUDNN_BATCHNORM_OPS_BN)
		return OK;
	standin_refuse("a batch normalisation with an activation");
	return LACKS;
}

static cudnnStatus_t no_room(cudnnHandle_t h, cudnnBatchNormOps_t ops, size_t *size)
{
	if (!h || !size)
		return NONE;
	*size = 0;
	return plain(ops);
}

ST cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
	cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, TENSOR x, TENSOR z,
	TENSOR y, TENSOR parameters, const cudnnActivationDescriptor_t activation, size_t *size)
{
	(void)mode; (void)x; (void)z; (void)y; (void)parameters; (void)activation;
	return no_room(h, ops, size);
}

ST cudnnGetBatchNormalizationBackwardExWorkspaceSize(
	cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, TENSOR x, TENSOR y,
	TENSOR dy, TENSOR dz, TENSOR dx, TENSOR parameters,
	const cudnnActivationDescriptor_t activation, size_t *size)
{
	(void)mode; (void)x; (void)y; (void)dy; (void)dz; (void)dx; (void)parameters;
	(void)activation;
	return no_room(h, ops, size);
}

ST cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
	cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
	const cudnnActivationDescriptor_t activation, TENSOR x, size_t *size)
{
	(void)mode; (void)activation; (void)x;
	return no_room(h, ops, size);
}

ST cudnnBatchNormalizationForwardTrainingEx(
	cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha,
	const void *beta, TENSOR x, const void *x_at, TENSOR z, const void *z_at, TENSOR y,
		void *y_at,
	TENSOR parameters, const void *scale, const void *bias, double factor, void *running_mean,
	void *running_variance, double epsilon, void *saved_mean, void *saved_inverse,
	cudnnActivationDescriptor_t activation, void *work, size_t work_size, void *reserve,
	size_t reserve_size)
{
	(void)z; (void)z_at; (void)activation; (void)work; (void)work_size; (void)reserve;
	(void)reserve_size;
	return plain(ops) ? LACKS :
	       cudnnBatchNormalizationForwardTraining(h, mode, alpha, beta, x, x_at, y, y_at,
						      parameters, scale, bias, factor, running_mean,
						      running_variance, epsilon, saved_mean,
						      saved_inverse);
}

ST cudnnBatchNormalizationBackwardEx(
	cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha,
	const void *beta, const void *alpha_param, const void *beta_param, TENSOR x,
		const void *x_at,
	TENSOR y, const void *y_at, TENSOR dy, const void *dy_at, TENSOR dz, void *dz_at, TENSOR dx,
	void *dx_at, TENSOR parameters, const void *scale, const void *bias, void *dscale,
		void *dbias,
	double epsilon, const void *saved_mean, const void *saved_inverse,
	cudnnActivationDescriptor_t activation, void *work, size_t work_size, void *reserve,
	size_t reserve_size)
{
	(void)y; (void)y_at; (void)dz; (void)dz_at; (void)bias; (void)activation; (void)work;
	(void)work_size; (void)reserve; (void)reserve_size;
	return plain(ops) ? LACKS :
	       cudnnBatchNormalizationBackward(h, mode, alpha, beta, alpha_param, beta_param, x,
					       x_at,
					       dy, dy_at, dx, dx_at, parameters, scale, dscale,
						       dbias,
					       epsilon, saved_mean, saved_inverse);
}
