/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of nn_blas.h by cuDNN, with its deterministic algorithms. */
#ifndef WORMHOLE_NN_CUDNN_H
#define WORMHOLE_NN_CUDNN_H

#include <cudnn.h>

static const float dnn_one = 1, dnn_zero = 0;

/* Returns the one handle of the thread. */
static inline cudnnHandle_t dnn(void)
{
	static thread_local cudnnHandle_t handle;

	if (!handle) {
		CHECK_STATUS(cudnnCreate(&handle));
		CHECK_STATUS(cudnnSetStream(handle, nn_stream));
	}
	return handle;
}

static inline cudnnTensorDescriptor_t describe(const Shape &s)
{
	cudnnTensorDescriptor_t d;

	CHECK_STATUS(cudnnCreateTensorDescriptor(&d));
	CHECK_STATUS(cudnnSetTensor4dDescriptor(d, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, s.n, s.c,
						s.h, s.w));
	return d;
}

struct DnnLayer : Layer {
	cudnnTensorDescriptor_t xd, yd;

	void set(const Shape &from, const Shape &to)
	{
		set_shapes(from, to);
		xd = describe(in);
		yd = describe(out);
	}
	~DnnLayer()
	{
		CHECK_STATUS(cudnnDestroyTensorDescriptor(xd));
		CHECK_STATUS(cudnnDestroyTensorDescriptor(yd));
	}
};

struct Convolution : DnnLayer {
	static const cudnnConvolutionFwdAlgo_t fwd =
		CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
	static const cudnnConvolutionBwdFilterAlgo_t bwd_w = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
	static const cudnnConvolutionBwdDataAlgo_t bwd_x = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
	Parameter weight, bias;
	cudnnFilterDescriptor_t wd;
	cudnnTensorDescriptor_t bd;
	cudnnConvolutionDescriptor_t cd;
	Buffer work;
	size_t room;

	Convolution(Libraries *, const Shape &s, int outputs, const Window &w, Random &random)
	{
		int taps = s.c * w.k * w.k;

		set(s, { s.n, outputs, w.out(s.h), w.out(s.w) });
		weight.make((size_t)outputs * taps, taps, random);
		bias.make(outputs, 0, random);
		bd = describe({ 1, outputs, 1, 1 });
		CHECK_STATUS(cudnnCreateFilterDescriptor(&wd));
		CHECK_STATUS(cudnnSetFilter4dDescriptor(wd, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW,
							outputs, s.c, w.k, w.k));
		CHECK_STATUS(cudnnCreateConvolutionDescriptor(&cd));
		CHECK_STATUS(cudnnSetConvolution2dDescriptor(cd, w.pad, w.pad, w.stride, w.stride,
							     1, 1, CUDNN_CROSS_CORRELATION,
							     CUDNN_DATA_FLOAT));
		CHECK_STATUS(cudnnSetConvolutionMathType(cd, CUDNN_FMA_MATH));
		make_work();
	}
	void make_work()
	{
		size_t n[3];

		CHECK_STATUS(cudnnGetConvolutionForwardWorkspaceSize(dnn(), xd, wd, cd, yd, fwd,
								     n));
		CHECK_STATUS(cudnnGetConvolutionBackwardFilterWorkspaceSize(dnn(), xd, yd, cd, wd,
									    bwd_w, n + 1));
		CHECK_STATUS(cudnnGetConvolutionBackwardDataWorkspaceSize(dnn(), wd, yd, cd, xd,
									  bwd_x, n + 2));
		room = std::max(n[0], std::max(n[1], n[2]));
		work.make(room / sizeof(float) + 1);
	}
	~Convolution()
	{
		CHECK_STATUS(cudnnDestroyConvolutionDescriptor(cd));
		CHECK_STATUS(cudnnDestroyFilterDescriptor(wd));
		CHECK_STATUS(cudnnDestroyTensorDescriptor(bd));
	}
	void forward(const float *x) override
	{
		CHECK_STATUS(cudnnConvolutionForward(dnn(), &dnn_one, xd, x, wd, weight.value.p, cd,
						     fwd, work.p, room, &dnn_zero, yd, y.p));
		CHECK_STATUS(cudnnAddTensor(dnn(), &dnn_one, bd, bias.value.p, &dnn_one, yd, y.p));
	}
	void backward(const float *x, const float *dy) override
	{
		CHECK_STATUS(cudnnConvolutionBackwardBias(dnn(), &dnn_one, yd, dy, &dnn_zero, bd,
							  bias.gradient.p));
		CHECK_STATUS(cudnnConvolutionBackwardFilter(dnn(), &dnn_one, xd, x, yd, dy, cd,
							    bwd_w, work.p, room, &dnn_zero, wd,
							    weight.gradient.p));
		CHECK_STATUS(cudnnConvolutionBackwardData(dnn(), &dnn_one, wd, weight.value.p, yd,
							  dy, cd, bwd_x, work.p, room, &dnn_zero,
							  xd, dx.p));
	}
	std::vector<Parameter *> parameters() override { return { &weight, &bias }; }
};

struct Activation : DnnLayer {
	cudnnActivationDescriptor_t ad;

	Activation(Libraries *, const Shape &s,
		   cudnnActivationMode_t mode = CUDNN_ACTIVATION_RELU)
	{
		set(s, s);
		CHECK_STATUS(cudnnCreateActivationDescriptor(&ad));
		CHECK_STATUS(cudnnSetActivationDescriptor(ad, mode, CUDNN_NOT_PROPAGATE_NAN, 0));
	}
	~Activation() { CHECK_STATUS(cudnnDestroyActivationDescriptor(ad)); }
	void forward(const float *x) override
	{
		CHECK_STATUS(cudnnActivationForward(dnn(), ad, &dnn_one, xd, x, &dnn_zero, yd,
						    y.p));
	}
	void backward(const float *x, const float *dy) override
	{
		CHECK_STATUS(cudnnActivationBackward(dnn(), ad, &dnn_one, yd, y.p, yd, dy, xd, x,
						     &dnn_zero, xd, dx.p));
	}
};

struct Pooling : DnnLayer {
	cudnnPoolingDescriptor_t pd;

	Pooling(Libraries *, const Shape &s, const Window &w)
	{
		set(s, { s.n, s.c, w.out(s.h), w.out(s.w) });
		CHECK_STATUS(cudnnCreatePoolingDescriptor(&pd));
		CHECK_STATUS(cudnnSetPooling2dDescriptor(pd, CUDNN_POOLING_MAX_DETERMINISTIC,
							 CUDNN_NOT_PROPAGATE_NAN, w.k, w.k, 0, 0,
							 w.stride, w.stride));
	}
	~Pooling() { CHECK_STATUS(cudnnDestroyPoolingDescriptor(pd)); }
	void forward(const float *x) override
	{
		CHECK_STATUS(cudnnPoolingForward(dnn(), pd, &dnn_one, xd, x, &dnn_zero, yd, y.p));
	}
	void backward(const float *x, const float *dy) override
	{
		CHECK_STATUS(cudnnPoolingBackward(dnn(), pd, &dnn_one, yd, y.p, yd, dy, xd, x,
						  &dnn_zero, xd, dx.p));
	}
};

struct Normalisation : DnnLayer {
	cudnnLRNDescriptor_t nd;

	Normalisation(Libraries *, const Shape &s)
	{
		set(s, s);
		CHECK_STATUS(cudnnCreateLRNDescriptor(&nd));
		CHECK_STATUS(cudnnSetLRNDescriptor(nd, LRN_SIZE, LRN_ALPHA, LRN_BETA, 1));
	}
	~Normalisation() { CHECK_STATUS(cudnnDestroyLRNDescriptor(nd)); }
	void forward(const float *x) override
	{
		CHECK_STATUS(cudnnLRNCrossChannelForward(dnn(), nd, CUDNN_LRN_CROSS_CHANNEL_DIM1,
							 &dnn_one, xd, x, &dnn_zero, yd, y.p));
	}
	void backward(const float *x, const float *dy) override
	{
		CHECK_STATUS(cudnnLRNCrossChannelBackward(dnn(), nd, CUDNN_LRN_CROSS_CHANNEL_DIM1,
							  &dnn_one, yd, y.p, yd, dy, xd, x,
							  &dnn_zero, xd, dx.p));
	}
};

#endif
