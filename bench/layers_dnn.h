/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of layers.h, with cuDNN (built with WITH_CUDNN). */
#ifndef WORMHOLE_LAYERS_DNN_H
#define WORMHOLE_LAYERS_DNN_H

#include "../tests/programs/nn.h"

enum Function { RELU, SIGMOID, TANH };

struct DnnActivation : Activation {
	DnnActivation(Function f, const Shape &s)
		: Activation(nullptr, s, f == RELU ? CUDNN_ACTIVATION_RELU :
			     f == SIGMOID ? CUDNN_ACTIVATION_SIGMOID : CUDNN_ACTIVATION_TANH)
	{
	}
};

struct DnnBatchNorm : DnnLayer {
	Parameter scale, shift;
	Buffer mean, inverse;
	cudnnTensorDescriptor_t pd;

	DnnBatchNorm(const Shape &s, Random &random)
	{
		set(s, s);
		pd = describe({ 1, s.c, 1, 1 });
		scale.make(s.c, 1, random);
		shift.make(s.c, 1, random);
		mean.make(s.c);
		inverse.make(s.c);
	}
	~DnnBatchNorm() { CHECK_STATUS(cudnnDestroyTensorDescriptor(pd)); }
	void forward(const float *x) override
	{
		CHECK_STATUS(cudnnBatchNormalizationForwardTraining(
			dnn(), CUDNN_BATCHNORM_SPATIAL, &dnn_one, &dnn_zero, xd, x, yd, y.p, pd,
			scale.value.p, shift.value.p, 1, NULL, NULL, CUDNN_BN_MIN_EPSILON + 1e-5,
			mean.p, inverse.p));
	}
	void backward(const float *x, const float *dy) override
	{
		CHECK_STATUS(cudnnBatchNormalizationBackward(
			dnn(), CUDNN_BATCHNORM_SPATIAL, &dnn_one, &dnn_zero, &dnn_one, &dnn_zero,
			xd, x, yd, dy, xd, dx.p, pd, scale.value.p, scale.gradient.p,
			shift.gradient.p, CUDNN_BN_MIN_EPSILON + 1e-5, mean.p, inverse.p));
	}
};

/* This is a convolution backwards, so cuDNN's "input" is the result here. */
struct DnnDeconvolution : DnnLayer {
	static const cudnnConvolutionFwdAlgo_t fwd =
		CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
	static const cudnnConvolutionBwdFilterAlgo_t bwd_w = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
	static const cudnnConvolutionBwdDataAlgo_t bwd_x = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
	Parameter weight;
	cudnnFilterDescriptor_t wd;
	cudnnConvolutionDescriptor_t cd;
	Buffer work;
	size_t room;

	DnnDeconvolution(Libraries *, const Shape &s, int outputs, const Window &w, Random &random)
	{
		size_t n[3];

		set(s, { s.n, outputs, (s.h - 1) * w.stride + w.k - 2 * w.pad,
			 (s.w - 1) * w.stride + w.k - 2 * w.pad });
		weight.make((size_t)s.c * outputs * w.k * w.k, s.c, random);
		CHECK_STATUS(cudnnCreateFilterDescriptor(&wd));
		CHECK_STATUS(cudnnSetFilter4dDescriptor(wd, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW,
							s.c, outputs, w.k, w.k));
		CHECK_STATUS(cudnnCreateConvolutionDescriptor(&cd));
		CHECK_STATUS(cudnnSetConvolution2dDescriptor(cd, w.pad, w.pad, w.stride, w.stride,
							     1, 1, CUDNN_CROSS_CORRELATION,
							     CUDNN_DATA_FLOAT));
		CHECK_STATUS(cudnnSetConvolutionMathType(cd, CUDNN_FMA_MATH));
		CHECK_STATUS(cudnnGetConvolutionForwardWorkspaceSize(dnn(), yd, wd, cd, xd, fwd,
								     n));
		CHECK_STATUS(cudnnGetConvolutionBackwardFilterWorkspaceSize(dnn(), yd, xd, cd, wd,
									    bwd_w, n + 1));
		CHECK_STATUS(cudnnGetConvolutionBackwardDataWorkspaceSize(dnn(), wd, xd, cd, yd,
									  bwd_x, n + 2));
		room = std::max(n[0], std::max(n[1], n[2]));
		work.make(room / sizeof(float) + 1);
	}
	~DnnDeconvolution()
	{
		CHECK_STATUS(cudnnDestroyConvolutionDescriptor(cd));
		CHECK_STATUS(cudnnDestroyFilterDescriptor(wd));
	}
	void forward(const float *x) override
	{
		CHECK_STATUS(cudnnConvolutionBackwardData(dnn(), &dnn_one, wd, weight.value.p, xd,
							  x, cd, bwd_x, work.p, room, &dnn_zero,
							  yd, y.p));
	}
	void backward(const float *x, const float *dy) override
	{
		CHECK_STATUS(cudnnConvolutionBackwardFilter(dnn(), &dnn_one, yd, dy, xd, x, cd,
							    bwd_w, work.p, room, &dnn_zero, wd,
							    weight.gradient.p));
		CHECK_STATUS(cudnnConvolutionForward(dnn(), &dnn_one, yd, dy, wd, weight.value.p,
						     cd, fwd, work.p, room, &dnn_zero, xd, dx.p));
	}
};

/*
 * @in has {steps * batch, inputs}, step by step; @out has {steps * batch, hidden}. The
 * first state is zero.
 */
struct DnnRecurrent : Layer {
	cudnnRNNDescriptor_t rd;
	cudnnRNNDataDescriptor_t xd, yd;
	cudnnTensorDescriptor_t hd;
	cudnnDropoutDescriptor_t dd;
	Parameter weight;
	Buffer work, reserve, lengths;
	size_t weights, room, kept;

	cudnnRNNDataDescriptor_t sequence(int steps, int batch, int width)
	{
		std::vector<int> all(batch, steps);
		cudnnRNNDataDescriptor_t d;

		CHECK_STATUS(cudnnCreateRNNDataDescriptor(&d));
		CHECK_STATUS(cudnnSetRNNDataDescriptor(d, CUDNN_DATA_FLOAT,
						       CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
						       steps, batch, width, all.data(), NULL));
		return d;
	}
	DnnRecurrent(Libraries *, bool lstm, int steps, const Shape &s, int hidden, Random &random)
	{
		int batch = s.n / steps, dims[3] = { 1, batch, hidden };
		int strides[3] = { batch * hidden, hidden, 1 };
		std::vector<int> all(batch, steps);

		set_shapes(s, { s.n, hidden, 1, 1 });
		CHECK_STATUS(cudnnCreateDropoutDescriptor(&dd));
		CHECK_STATUS(cudnnSetDropoutDescriptor(dd, dnn(), 0, NULL, 0, 0));
		CHECK_STATUS(cudnnCreateRNNDescriptor(&rd));
		CHECK_STATUS(cudnnSetRNNDescriptor_v8(rd, CUDNN_RNN_ALGO_STANDARD,
						      lstm ? CUDNN_LSTM : CUDNN_RNN_TANH,
						      CUDNN_RNN_SINGLE_INP_BIAS,
						      CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
						      CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
						      CUDNN_FMA_MATH, s.image(), hidden, hidden, 1,
						      dd, CUDNN_RNN_PADDED_IO_ENABLED));
		xd = sequence(steps, batch, s.image());
		yd = sequence(steps, batch, hidden);
		CHECK_STATUS(cudnnCreateTensorDescriptor(&hd));
		CHECK_STATUS(cudnnSetTensorNdDescriptor(hd, CUDNN_DATA_FLOAT, 3, dims, strides));
		CHECK_STATUS(cudnnGetRNNWeightSpaceSize(dnn(), rd, &weights));
		CHECK_STATUS(cudnnGetRNNTempSpaceSizes(dnn(), rd, CUDNN_FWD_MODE_TRAINING, xd,
						       &room, &kept));
		weight.make(weights / sizeof(float), hidden, random);
		work.make(room / sizeof(float) + 1);
		reserve.make(kept / sizeof(float) + 1);
		lengths.make(batch);	/* an int is as wide as a float */
		CHECK(cudaMemcpy(lengths.p, all.data(), batch * sizeof(int),
				 cudaMemcpyHostToDevice));
	}
	~DnnRecurrent()
	{
		CHECK_STATUS(cudnnDestroyTensorDescriptor(hd));
		CHECK_STATUS(cudnnDestroyRNNDataDescriptor(yd));
		CHECK_STATUS(cudnnDestroyRNNDataDescriptor(xd));
		CHECK_STATUS(cudnnDestroyRNNDescriptor(rd));
		CHECK_STATUS(cudnnDestroyDropoutDescriptor(dd));
	}
	const int32_t *each() const { return (const int32_t *)lengths.p; }
	void forward(const float *x) override
	{
		CHECK_STATUS(cudnnRNNForward(dnn(), rd, CUDNN_FWD_MODE_TRAINING, each(), xd, x, yd,
					     y.p, hd, NULL, NULL, hd, NULL, NULL, weights,
					     weight.value.p, room, work.p, kept, reserve.p));
	}
	void backward(const float *x, const float *dy) override
	{
		CHECK_STATUS(cudnnRNNBackwardData_v8(dnn(), rd, each(), yd, y.p, dy, xd, dx.p, hd,
						     NULL, NULL, NULL, hd, NULL, NULL, NULL,
						     weights, weight.value.p, room, work.p, kept,
						     reserve.p));
		CHECK(cudaMemsetAsync(weight.gradient.p, 0, weights, nn_stream));
		CHECK_STATUS(cudnnRNNBackwardWeights_v8(dnn(), rd, CUDNN_WGRAD_MODE_ADD, each(), xd,
							x, hd, NULL, yd, y.p, weights,
							weight.gradient.p, room, work.p, kept,
							reserve.p));
	}
};

#endif
