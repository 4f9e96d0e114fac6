// SPDX-License-Identifier: Apache-2.0
/*
 * Prints what cuDNN answers to calls on descriptors, which need no GPU: one line for
 * each, which must be the same with the genuine library and with the stub over it.
 */
#include <cudnn.h>
#include <stdio.h>
#include <string.h>

#define SAY(call)	printf("%d  %s\n", (int)(call), #call)

static int dim[8], stride[8];

static void numbers(const char *what, const int *v, int n)
{
	printf("%s", what);
	while (n--)
		printf(" %d", *v++);
	printf("\n");
}

static void tensors(void)
{
	int d5[5] = { 2, 3, 4, 5, 6 }, s5[5] = { 360, 120, 30, 6, 1 }, n = -1, i;
	cudnnTensorDescriptor_t t, derived;
	cudnnTensorFormat_t format;
	cudnnFilterDescriptor_t f;
	cudnnDataType_t type = 0;
	size_t size = 0;

	SAY(cudnnCreateTensorDescriptor(&t));
	SAY(cudnnCreateTensorDescriptor(&derived));
	SAY(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NHWC, CUDNN_DATA_DOUBLE, 1, 2, 3, 4));
	for (i = 0; i < 9; i += 4) {
		memset(dim, 7, sizeof(dim));
		memset(stride, 7, sizeof(stride));
		SAY(cudnnGetTensorNdDescriptor(t, i, &type, &n, dim, stride));
		printf("type %d of %d\n", type, n);
		numbers("dim", dim, 8);
		numbers("stride", stride, 8);
	}
	SAY(cudnnGetTensorSizeInBytes(t, &size));
	printf("size %zu\n", size);
	SAY(cudnnDeriveBNTensorDescriptor(derived, t, CUDNN_BATCHNORM_SPATIAL));
	SAY(cudnnGetTensorNdDescriptor(derived, 8, &type, &n, dim, stride));
	printf("type %d of %d\n", type, n);
	SAY(cudnnSetTensorNdDescriptor(t, CUDNN_DATA_FLOAT, 5, d5, s5));
	SAY(cudnnSetTensorNdDescriptor(t, CUDNN_DATA_FLOAT, 2, d5, s5));
	SAY(cudnnSetTensorNdDescriptorEx(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 5, d5));
	SAY(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, -1, 2, 3, 4));
	SAY(cudnnCreateFilterDescriptor(&f));
	SAY(cudnnSetFilterNdDescriptor(f, CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, 5, d5));
	SAY(cudnnGetFilterNdDescriptor(f, 8, &type, &format, &n, dim));
	numbers("filter", dim, 5);
	SAY(cudnnDestroyTensorDescriptor(NULL));
	SAY(cudnnDestroyFilterDescriptor(f));
}

static void layers(void)
{
	int pad[3] = { 1, 2, 3 }, step[3] = { 1, 2, 1 }, out[4] = { 0 }, n = 0;
	cudnnConvolutionDescriptor_t conv;
	cudnnActivationDescriptor_t act;
	cudnnPoolingDescriptor_t pool;
	cudnnConvolutionMode_t mode;
	cudnnFilterDescriptor_t w;
	cudnnTensorDescriptor_t x;
	cudnnNanPropagation_t nan;
	cudnnActivationMode_t am;
	cudnnDataType_t type;
	double coef = 0;

	cudnnCreateTensorDescriptor(&x);
	cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 8, 3, 32, 32);
	cudnnCreateFilterDescriptor(&w);
	cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 16, 3, 5, 5);
	SAY(cudnnCreateConvolutionDescriptor(&conv));
	SAY(cudnnSetConvolution2dDescriptor(conv, 2, 2, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
					    CUDNN_DATA_FLOAT));
	SAY(cudnnGetConvolutionNdForwardOutputDim(conv, x, w, 4, out));
	numbers("output", out, 4);
	SAY(cudnnSetConvolutionNdDescriptor(conv, 3, pad, step, step, CUDNN_CONVOLUTION,
					    CUDNN_DATA_FLOAT));
	SAY(cudnnGetConvolutionNdDescriptor(conv, 3, &n, dim, stride, out, &mode, &type));
	numbers("pad", dim, 3);
	SAY(cudnnCreatePoolingDescriptor(&pool));
	SAY(cudnnSetPooling2dDescriptor(pool, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN,
					2, 2, 0, 0, 2, 2));
	SAY(cudnnGetPoolingNdForwardOutputDim(pool, x, 4, out));
	numbers("output", out, 4);
	SAY(cudnnCreateActivationDescriptor(&act));
	SAY(cudnnSetActivationDescriptor(act, CUDNN_ACTIVATION_CLIPPED_RELU, CUDNN_PROPAGATE_NAN,
					 6.5));
	SAY(cudnnGetActivationDescriptor(act, &am, &nan, &coef));
	printf("activation %d %d %g\n", am, nan, coef);
}

static void sequences(void)
{
	int axis_dim[4] = { 5, 2, 1, 8 }, length[2] = { 5, 4 }, got[2] = { 0 };
	int time, batch, vector, n;
	cudnnSeqDataAxis_t axes[4] = { 0, 1, 2, 3 };
	cudnnRNNDataDescriptor_t rnn;
	cudnnRNNDataLayout_t layout;
	cudnnSeqDataDescriptor_t seq;
	cudnnDataType_t type;
	double fill = 2.5, back[2] = { 0, 9 };
	size_t lengths = 0;

	SAY(cudnnCreateSeqDataDescriptor(&seq));
	SAY(cudnnSetSeqDataDescriptor(seq, CUDNN_DATA_FLOAT, 4, axis_dim, axes, 2, length, NULL));
	SAY(cudnnGetSeqDataDescriptor(seq, &type, &n, 4, dim, axes, &lengths, 2, got, NULL));
	printf("lengths %zu last %d\n", lengths, got[1]);
	SAY(cudnnCreateRNNDataDescriptor(&rnn));
	SAY(cudnnSetRNNDataDescriptor(rnn, CUDNN_DATA_DOUBLE, 0, 5, 2, 8, length, &fill));
	SAY(cudnnGetRNNDataDescriptor(rnn, &type, &layout, &time, &batch, &vector, 2, got, back));
	printf("%d %d %d fill %g behind %g\n", time, batch, vector, back[0], back[1]);
	SAY(cudnnGetRNNDataDescriptor(rnn, &type, &layout, &time, &batch, &vector, 2, got, NULL));
}

#define SET(d, name, type, n, p)	\
	SAY(cudnnBackendSetAttribute(d, CUDNN_ATTR_##name, CUDNN_TYPE_##type, n, p))
#define GET(d, name, type, n, c, p)	\
	SAY(cudnnBackendGetAttribute(d, CUDNN_ATTR_##name, CUDNN_TYPE_##type, n, c, p))

static void backend(void)
{
	int64_t uid = 5, align = 16, dims[4] = { 1, 2, 3, 4 }, strides[4] = { 24, 12, 4, 1 },
		got[8] = { 0 }, n = -1;
	cudnnBackendDescriptor_t tensor, pack, relu, op;
	cudnnPointwiseMode_t mode = CUDNN_POINTWISE_RELU_FWD;
	cudnnDataType_t type = CUDNN_DATA_FLOAT;
	_Bool yes = 1;
	char flag[4] = { 9, 9, 9, 9 };
	float value = 3;
	void *data[1] = { &value }, *none = NULL;

	SAY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor));
	SET(tensor, TENSOR_UNIQUE_ID, INT64, 1, &uid);
	SET(tensor, TENSOR_BYTE_ALIGNMENT, INT64, 1, &align);
	SET(tensor, TENSOR_DATA_TYPE, DATA_TYPE, 1, &type);
	SET(tensor, TENSOR_DIMENSIONS, INT64, 4, dims);
	SET(tensor, TENSOR_STRIDES, INT64, 4, strides);
	SET(tensor, TENSOR_IS_BY_VALUE, BOOLEAN, 1, &yes);
	SET(tensor, TENSOR_STRIDES, DOUBLE, 4, strides);
	GET(tensor, TENSOR_DIMENSIONS, INT64, 4, &n, got);
	SAY(cudnnBackendFinalize(tensor));
	GET(tensor, TENSOR_IS_BY_VALUE, BOOLEAN, 1, &n, flag);
	printf("flag %d behind %d\n", flag[0], flag[1]);
	GET(tensor, TENSOR_DIMENSIONS, INT64, 2, &n, got);
	printf("count %ld\n", (long)n);
	GET(tensor, TENSOR_DIMENSIONS, INT64, 0, &n, NULL);
	printf("count %ld\n", (long)n);
	GET(tensor, TENSOR_DIMENSIONS, INT64, 8, NULL, got);
	printf("last %ld\n", (long)got[3]);
	SAY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack));
	SET(pack, VARIANT_PACK_UNIQUE_IDS, INT64, 1, &uid);
	SET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 1, data);
	SET(pack, VARIANT_PACK_WORKSPACE, VOID_PTR, 1, &none);
	SAY(cudnnBackendFinalize(pack));
	SAY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &relu));
	SET(relu, POINTWISE_MODE, POINTWISE_MODE, 1, &mode);
	SET(relu, POINTWISE_MATH_PREC, DATA_TYPE, 1, &type);
	SAY(cudnnBackendFinalize(relu));
	SAY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &op));
	SET(op, OPERATION_POINTWISE_PW_DESCRIPTOR, BACKEND_DESCRIPTOR, 1, &relu);
	SET(op, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR, 1, &tensor);
	SET(op, OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR, 1, &tensor);
	SAY(cudnnBackendFinalize(op));
	SAY(cudnnBackendDestroyDescriptor(op));
}

/* Makes descriptors that are alike, finalizes each of them, and prints what it accepts then. */
static void backend_again(void)
{
	int64_t uid = 6, align = 16, dims[4] = { 1, 2, 3, 4 }, strides[4] = { 24, 12, 4, 1 };
	int64_t n = -1;
	cudnnBackendDescriptor_t tensor;
	cudnnDataType_t type = CUDNN_DATA_FLOAT;
	int i;

	for (i = 0; i < 3; i++) {
		SAY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor));
		SAY(cudnnBackendFinalize(tensor));
		GET(tensor, TENSOR_DIMENSIONS, INT64, 4, &n, dims);
		SAY(cudnnBackendDestroyDescriptor(tensor));
		SAY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor));
		SET(tensor, TENSOR_UNIQUE_ID, INT64, 1, &uid);
		SET(tensor, TENSOR_BYTE_ALIGNMENT, INT64, 1, &align);
		SET(tensor, TENSOR_DATA_TYPE, DATA_TYPE, 1, &type);
		SET(tensor, TENSOR_DIMENSIONS, INT64, 4, dims);
		SET(tensor, TENSOR_STRIDES, INT64, 4, strides);
		SET(tensor, OPERATION_RESHAPE_XDESC, INT64, 1, &uid);
		SAY(cudnnBackendFinalize(tensor));
		SET(tensor, TENSOR_UNIQUE_ID, INT64, 1, &uid);
		SAY(cudnnBackendFinalize(tensor));
		GET(tensor, TENSOR_DIMENSIONS, INT64, 4, &n, dims);
		GET(tensor, TENSOR_DIMENSIONS, DOUBLE, 4, &n, dims);
		SAY(cudnnBackendInitialize(tensor));
		SET(tensor, TENSOR_UNIQUE_ID, INT64, 1, &uid);
		SAY(cudnnBackendFinalize(tensor));
		SAY(cudnnBackendDestroyDescriptor(tensor));
	}
	SAY(cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)4711, &tensor));
}

int main(void)
{
	int i;

	printf("version %zu, device %zu, runtime %zu\n", cudnnGetVersion(), cudnnGetMaxDeviceVersion(),
	       cudnnGetCudartVersion());
	for (i = 0; i < 6000; i++)
		if (strcmp(cudnnGetErrorString((cudnnStatus_t)i),
			   cudnnGetErrorString((cudnnStatus_t)-1)))
			printf("%d %s\n", i, cudnnGetErrorString((cudnnStatus_t)i));
	SAY(cudnnOpsVersionCheck());
	tensors();
	layers();
	sequences();
	backend();
	backend_again();
	return 0;
}
