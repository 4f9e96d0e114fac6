// SPDX-License-Identifier: Apache-2.0
/*
 * cuDNN at work: convolution forward and backward, pooling, activation, softmax, batch
 * normalisation, dropout, LSTM, and a graph of the backend API with a value in host
 * memory. It prints a checksum for each, which must be the same with the genuine library
 * and with the stub over it. It needs a GPU.
 */
#include <cuda.h>
#include <cudnn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CU(call)	check_cu(call, #call)
#define DNN(call)	check_dnn(call, #call)

static void check_cu(CUresult rc, const char *what)
{
	if (rc) {
		printf("%s: %d\n", what, rc);
		exit(1);
	}
}

static void check_dnn(cudnnStatus_t rc, const char *what)
{
	char text[512] = "";

	if (!rc)
		return;
	cudnnGetLastErrorString(text, sizeof(text));
	printf("%s: %s (%s)\n", what, cudnnGetErrorString(rc), text);
	exit(1);
}

static cudnnHandle_t dnn;
static const float one = 1, zero;

/* Allocates device memory with the same numbers each time. */
static void *numbers(size_t n)
{
	float *host = malloc(n * sizeof(*host));
	CUdeviceptr p;
	size_t i;

	for (i = 0; i < n; i++)
		host[i] = (float)((i * 7919) % 1000) / 1000 - 0.5f;
	CU(cuMemAlloc(&p, n * sizeof(*host)));
	CU(cuMemcpyHtoD(p, host, n * sizeof(*host)));
	free(host);
	return (void *)p;
}

static void *room(size_t bytes)
{
	CUdeviceptr p = 0;

	if (bytes) {
		CU(cuMemAlloc(&p, bytes));
		CU(cuMemsetD8(p, 0, bytes));
	}
	return (void *)p;
}

static void sum(const char *what, const void *p, size_t n)
{
	float *host = malloc(n * sizeof(*host));
	double s = 0, a = 0;
	size_t i;

	CU(cuMemcpyDtoH(host, (CUdeviceptr)p, n * sizeof(*host)));
	for (i = 0; i < n; i++) {
		s += host[i];
		a += host[i] * host[i] * (double)(i % 97 + 1);
	}
	printf("%-20s %.9g %.9g\n", what, s, a);
	free(host);
}

static cudnnTensorDescriptor_t tensor(int n, int c, int h, int w)
{
	cudnnTensorDescriptor_t t;

	DNN(cudnnCreateTensorDescriptor(&t));
	DNN(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, c, h, w));
	return t;
}

#define N	16
#define X_SIZE	(N * 3 * 32 * 32)
#define Y_SIZE	(N * 8 * 32 * 32)

static cudnnTensorDescriptor_t xd, yd;
static void *x, *y;

static void convolution(void)
{
	cudnnConvolutionBwdFilterAlgoPerf_t filter_algo;
	cudnnConvolutionBwdDataAlgoPerf_t data_algo;
	cudnnConvolutionFwdAlgoPerf_t algo[8];
	cudnnConvolutionDescriptor_t conv;
	void *w = numbers(8 * 3 * 25), *dw = room(8 * 3 * 25 * 4), *dx = room(X_SIZE * 4), *work;
	cudnnFilterDescriptor_t wd;
	size_t size;
	int n;

	DNN(cudnnCreateFilterDescriptor(&wd));
	DNN(cudnnSetFilter4dDescriptor(wd, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 8, 3, 5, 5));
	DNN(cudnnCreateConvolutionDescriptor(&conv));
	DNN(cudnnSetConvolution2dDescriptor(conv, 2, 2, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
					    CUDNN_DATA_FLOAT));
	DNN(cudnnGetConvolutionForwardAlgorithm_v7(dnn, xd, wd, conv, yd, 8, &n, algo));
	printf("%-20s %d of %d\n", "best algorithm", algo[0].algo, n);
	DNN(cudnnGetConvolutionForwardWorkspaceSize(dnn, xd, wd, conv, yd, algo[0].algo, &size));
	work = room(size);
	DNN(cudnnConvolutionForward(dnn, &one, xd, x, wd, w, conv, algo[0].algo, work, size, &zero,
				    yd, y));
	sum("convolution", y, Y_SIZE);
	DNN(cudnnGetConvolutionBackwardFilterAlgorithm_v7(dnn, xd, yd, conv, wd, 1, &n,
							  &filter_algo));
	DNN(cudnnGetConvolutionBackwardFilterWorkspaceSize(dnn, xd, yd, conv, wd,
							   CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
							   &size));
	work = room(size);
	DNN(cudnnConvolutionBackwardFilter(dnn, &one, xd, x, yd, y, conv,
					   CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, work, size, &zero,
					   wd, dw));
	sum("its filter gradient", dw, 8 * 3 * 25);
	DNN(cudnnGetConvolutionBackwardDataAlgorithm_v7(dnn, wd, yd, conv, xd, 1, &n, &data_algo));
	DNN(cudnnGetConvolutionBackwardDataWorkspaceSize(dnn, wd, yd, conv, xd,
							 CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, &size));
	work = room(size);
	DNN(cudnnConvolutionBackwardData(dnn, &one, wd, w, yd, y, conv,
					 CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, work, size, &zero, xd,
					 dx));
	sum("its data gradient", dx, X_SIZE);
	DNN(cudnnFindConvolutionForwardAlgorithm(dnn, xd, wd, conv, yd, 2, &n, algo));
	printf("%-20s %d\n", "algorithms tried", n);
}

static void layers(void)
{
	cudnnTensorDescriptor_t pd = tensor(N, 8, 16, 16), bn = tensor(1, 8, 1, 1),
		sd = tensor(N, 2048, 1, 1);
	void *pooled = room(N * 8 * 256 * 4), *out = room(Y_SIZE * 4), *scale = numbers(8);
	void *mean = room(32), *variance = room(32), *states, *reserve;
	cudnnActivationDescriptor_t relu;
	cudnnDropoutDescriptor_t drop;
	cudnnPoolingDescriptor_t pool;
	size_t size;

	DNN(cudnnCreatePoolingDescriptor(&pool));
	DNN(cudnnSetPooling2dDescriptor(pool, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN,
					2, 2, 0, 0, 2, 2));
	DNN(cudnnPoolingForward(dnn, pool, &one, yd, y, &zero, pd, pooled));
	sum("pooling", pooled, N * 8 * 256);
	DNN(cudnnCreateActivationDescriptor(&relu));
	DNN(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
	DNN(cudnnActivationForward(dnn, relu, &one, yd, y, &zero, yd, out));
	sum("activation", out, Y_SIZE);
	DNN(cudnnSoftmaxForward(dnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, &one, sd,
				pooled, &zero, sd, out));
	sum("softmax", out, N * 2048);
	DNN(cudnnBatchNormalizationForwardTraining(dnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, yd, y,
						   yd, out, bn, scale, scale, 1.0, mean, variance,
						   1e-5, NULL, NULL));
	sum("batch normalisation", out, Y_SIZE);
	sum("its mean", mean, 8);
	DNN(cudnnDropoutGetStatesSize(dnn, &size));
	states = room(size);
	DNN(cudnnCreateDropoutDescriptor(&drop));
	DNN(cudnnSetDropoutDescriptor(drop, dnn, 0.5f, states, size, 1234));
	DNN(cudnnDropoutGetReserveSpaceSize(yd, &size));
	reserve = room(size);
	DNN(cudnnDropoutForward(dnn, drop, yd, y, yd, out, reserve, size));
	sum("dropout", out, Y_SIZE);
}

/* Runs an LSTM with 10 steps of 4 sequences of 16 numbers. */
static void lstm(void)
{
	int lengths[4] = { 10, 9, 8, 7 }, i;
	cudnnRNNDataDescriptor_t in, out;
	cudnnTensorDescriptor_t state;
	size_t weights, work, reserve;
	cudnnDropoutDescriptor_t drop;
	void *w, *dev, *hy = room(4 * 32 * 4), *cy = room(4 * 32 * 4), *result = room(40 * 32 * 4);
	cudnnRNNDescriptor_t rnn;
	int dims[3] = { 1, 4, 32 }, strides[3] = { 128, 32, 1 };
	float fill = 0;

	DNN(cudnnCreateDropoutDescriptor(&drop));
	DNN(cudnnSetDropoutDescriptor(drop, dnn, 0, NULL, 0, 0));
	DNN(cudnnCreateRNNDescriptor(&rnn));
	DNN(cudnnSetRNNDescriptor_v8(rnn, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM,
				     CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL,
				     CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
				     CUDNN_FMA_MATH, 16, 32, 32, 1, drop,
				     CUDNN_RNN_PADDED_IO_ENABLED));
	DNN(cudnnCreateRNNDataDescriptor(&in));
	DNN(cudnnCreateRNNDataDescriptor(&out));
	DNN(cudnnSetRNNDataDescriptor(in, CUDNN_DATA_FLOAT,
				      CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 10, 4, 16, lengths,
				      &fill));
	DNN(cudnnSetRNNDataDescriptor(out, CUDNN_DATA_FLOAT,
				      CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 10, 4, 32, lengths,
				      &fill));
	DNN(cudnnCreateTensorDescriptor(&state));
	DNN(cudnnSetTensorNdDescriptor(state, CUDNN_DATA_FLOAT, 3, dims, strides));
	DNN(cudnnGetRNNWeightSpaceSize(dnn, rnn, &weights));
	DNN(cudnnGetRNNTempSpaceSizes(dnn, rnn, CUDNN_FWD_MODE_INFERENCE, in, &work, &reserve));
	w = numbers(weights / 4);
	dev = room(sizeof(lengths));
	CU(cuMemcpyHtoD((CUdeviceptr)dev, lengths, sizeof(lengths)));
	for (i = 0; i < 4; i++) {
		cudnnTensorDescriptor_t m = tensor(1, 1, 1, 1), b = tensor(1, 1, 1, 1);
		void *at = NULL, *bias = NULL;

		DNN(cudnnGetRNNWeightParams(dnn, rnn, 0, weights, w, i, m, &at, b, &bias));
		printf("%-20s %ld %ld\n", "weights at", (long)((char *)at - (char *)w),
		       (long)((char *)bias - (char *)w));
	}
	DNN(cudnnRNNForward(dnn, rnn, CUDNN_FWD_MODE_INFERENCE, dev, in, x, out, result, state,
			    NULL, hy, state, NULL, cy, weights, w, work, room(work), reserve,
			    room(reserve)));
	sum("lstm", result, 40 * 32);
	sum("its state", cy, 4 * 32);
}

/* --- The backend API: y = x * value, the value in host memory ----------------- */

#define SET(d, name, type, n, p)	\
	DNN(cudnnBackendSetAttribute(d, CUDNN_ATTR_##name, CUDNN_TYPE_##type, n, p))

static cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type)
{
	cudnnBackendDescriptor_t d;

	DNN(cudnnBackendCreateDescriptor(type, &d));
	return d;
}

static cudnnBackendDescriptor_t graph_tensor(int64_t id, int64_t w, _Bool by_value)
{
	int64_t dim[3] = { 1, 1, w }, stride[3] = { w, w, 1 }, align = 4;
	cudnnBackendDescriptor_t t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	cudnnDataType_t type = CUDNN_DATA_FLOAT;

	SET(t, TENSOR_UNIQUE_ID, INT64, 1, &id);
	SET(t, TENSOR_DATA_TYPE, DATA_TYPE, 1, &type);
	SET(t, TENSOR_BYTE_ALIGNMENT, INT64, 1, &align);
	SET(t, TENSOR_DIMENSIONS, INT64, 3, dim);
	SET(t, TENSOR_STRIDES, INT64, 3, stride);
	SET(t, TENSOR_IS_BY_VALUE, BOOLEAN, 1, &by_value);
	DNN(cudnnBackendFinalize(t));
	return t;
}

#define CONFIGS	8

/*
 * Fills @config with what a heuristic of cuDNN proposes for a graph, and returns the
 * number of proposals.
 */
static int64_t propose(cudnnBackendDescriptor_t g, cudnnBackendHeurMode_t how,
		       cudnnBackendDescriptor_t config[CONFIGS])
{
	cudnnBackendDescriptor_t heur = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
	int64_t n = 0;
	int i;

	SET(heur, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, &g);
	SET(heur, ENGINEHEUR_MODE, HEUR_MODE, 1, &how);
	DNN(cudnnBackendFinalize(heur));
	for (i = 0; i < CONFIGS; i++)
		config[i] = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	DNN(cudnnBackendGetAttribute(heur, CUDNN_ATTR_ENGINEHEUR_RESULTS,
				     CUDNN_TYPE_BACKEND_DESCRIPTOR, CONFIGS, &n, config));
	return n;
}

/* Returns the engine of a proposal: the library fills a descriptor that it is given. */
static int64_t engine_of(cudnnBackendDescriptor_t config)
{
	cudnnBackendDescriptor_t engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	int64_t n = 0, index = -1;

	DNN(cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
				     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine));
	DNN(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX,
				     CUDNN_TYPE_INT64, 1, &n, &index));
	DNN(cudnnBackendDestroyDescriptor(engine));
	return index;
}

/* Returns a plan of the first proposal that this device can run. */
static cudnnBackendDescriptor_t plan_for(cudnnBackendDescriptor_t g)
{
	static const cudnnBackendHeurMode_t modes[] = {
		CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK,
	};
	cudnnBackendDescriptor_t config[CONFIGS], plan;
	int64_t n, i;
	int m;

	for (m = 0; m < 2; m++) {
		n = propose(g, modes[m], config);
		printf("%-20s %ld in mode %d\n", "proposals", (long)n, modes[m]);
		for (i = 0; i < n; i++) {
			plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
			SET(plan, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, 1, &config[i]);
			SET(plan, EXECUTION_PLAN_HANDLE, HANDLE, 1, &dnn);
			if (!cudnnBackendFinalize(plan)) {
				printf("%-20s %ld\n", "engine", (long)engine_of(config[i]));
				return plan;
			}
			DNN(cudnnBackendDestroyDescriptor(plan));
		}
	}
	printf("no plan for the graph\n");
	exit(1);
}

static void graph(void)
{
	cudnnBackendDescriptor_t a = graph_tensor('a', 1024, 0), b = graph_tensor('b', 1, 1);
	cudnnBackendDescriptor_t c = graph_tensor('c', 1024, 0), mul, op, g, plan, pack;
	cudnnPointwiseMode_t mode = CUDNN_POINTWISE_MUL;
	cudnnDataType_t type = CUDNN_DATA_FLOAT;
	int64_t ids[3] = { 'a', 'b', 'c' }, n = 0, size = 0;
	void *out = room(4096), *work, *data[3];
	float value = 3;

	mul = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
	SET(mul, POINTWISE_MODE, POINTWISE_MODE, 1, &mode);
	SET(mul, POINTWISE_MATH_PREC, DATA_TYPE, 1, &type);
	DNN(cudnnBackendFinalize(mul));
	op = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	SET(op, OPERATION_POINTWISE_PW_DESCRIPTOR, BACKEND_DESCRIPTOR, 1, &mul);
	SET(op, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR, 1, &a);
	SET(op, OPERATION_POINTWISE_BDESC, BACKEND_DESCRIPTOR, 1, &b);
	SET(op, OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR, 1, &c);
	DNN(cudnnBackendFinalize(op));
	g = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	SET(g, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, &op);
	SET(g, OPERATIONGRAPH_HANDLE, HANDLE, 1, &dnn);
	DNN(cudnnBackendFinalize(g));
	plan = plan_for(g);
	DNN(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
				     CUDNN_TYPE_INT64, 1, &n, &size));
	work = room(size);
	data[0] = x, data[1] = &value, data[2] = out;
	pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	SET(pack, VARIANT_PACK_UNIQUE_IDS, INT64, 3, ids);
	SET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 3, data);
	SET(pack, VARIANT_PACK_WORKSPACE, VOID_PTR, 1, &work);
	DNN(cudnnBackendFinalize(pack));
	DNN(cudnnBackendExecute(dnn, plan, pack));
	sum("graph, value 3", out, 1024);
	value = 5;
	DNN(cudnnBackendExecute(dnn, plan, pack));
	sum("graph, value 5", out, 1024);
	DNN(cudnnBackendDestroyDescriptor(pack));
	DNN(cudnnBackendDestroyDescriptor(plan));
	DNN(cudnnBackendDestroyDescriptor(g));
	DNN(cudnnBackendDestroyDescriptor(op));
	DNN(cudnnBackendDestroyDescriptor(a));
}

int main(void)
{
	CUcontext ctx;
	CUstream stream;

	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	CU(cuStreamCreate(&stream, 0));
	DNN(cudnnCreate(&dnn));
	DNN(cudnnSetStream(dnn, stream));
	x = numbers(X_SIZE);
	y = room(Y_SIZE * 4);
	xd = tensor(N, 3, 32, 32);
	yd = tensor(N, 8, 32, 32);
	convolution();
	layers();
	lstm();
	/* The same graph runs again, and then with another handle. */
	graph();
	graph();
	DNN(cudnnDestroy(dnn));
	DNN(cudnnCreate(&dnn));
	graph();
	graph();
	DNN(cudnnDestroy(dnn));
	return 0;
}
