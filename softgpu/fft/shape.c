// SPDX-License-Identifier: Apache-2.0
/* Shapes: checks the parameters of a plan and finds sizes, types and layouts. */
#include "fft.h"

static cufftResult kind_of(cufftType type, struct fft_shape *h)
{
	switch (type) {
	case CUFFT_C2C:
	case CUFFT_Z2Z:
		h->kind = FFT_C2C;
		break;
	case CUFFT_R2C:
	case CUFFT_D2Z:
		h->kind = FFT_R2C;
		break;
	case CUFFT_C2R:
	case CUFFT_Z2D:
		h->kind = FFT_C2R;
		break;
	default:
		return CUFFT_INVALID_TYPE;
	}
	h->wide = type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D;
	return CUFFT_SUCCESS;
}

cufftResult fft_type(cudaDataType in, cudaDataType out, cudaDataType execution, cufftType *type)
{
	bool wide = execution == CUDA_C_64F;
	cudaDataType real = wide ? CUDA_R_64F : CUDA_R_32F;

	if (execution != CUDA_C_32F && execution != CUDA_C_64F) {
		standin_refuse("a transform of anything but float and double");
		return CUFFT_NOT_SUPPORTED;
	}
	if (in == execution && out == execution)
		*type = wide ? CUFFT_Z2Z : CUFFT_C2C;
	else if (in == real && out == execution)
		*type = wide ? CUFFT_D2Z : CUFFT_R2C;
	else if (in == execution && out == real)
		*type = wide ? CUFFT_Z2D : CUFFT_C2R;
	else
		return CUFFT_INVALID_TYPE;
	return CUFFT_SUCCESS;
}

/* Returns the elements of the last dimension. A real transform stores half of its complex side. */
static long long last(const struct fft_shape *h, const struct fft_layout *a, bool input)
{
	long long n = a->n[FFT_RANK - 1];

	return (h->kind == FFT_R2C && !input) || (h->kind == FFT_C2R && input) ? n / 2 + 1 : n;
}

/* Lays the elements out without gaps. */
static void basic(const struct fft_shape *h, struct fft_layout *a, bool input)
{
	a->stride[2] = 1;
	a->stride[1] = last(h, a, input);
	a->stride[0] = a->stride[1] * a->n[1];
	a->dist = a->stride[0] * a->n[0];
}

static void advanced(struct fft_layout *a, int rank, const long long *embed, long long stride,
		     long long dist)
{
	int d;

	for (d = FFT_RANK - 1; d >= 0; d--) {
		a->stride[d] = stride;
		if (d > FFT_RANK - rank)
			stride *= embed[d - (FFT_RANK - rank)];
	}
	a->dist = dist;
}

cufftResult fft_shape(struct fft_shape *h, int rank, const long long *n, const long long *inembed,
		      long long istride, long long idist, const long long *onembed,
		      long long ostride, long long odist, cufftType type, long long batch)
{
	cufftResult res = kind_of(type, h);
	int d;

	if (res != CUFFT_SUCCESS)
		return res;
	if (rank < 1 || rank > FFT_RANK || !n)
		return CUFFT_INVALID_VALUE;
	if (batch < 1)
		return CUFFT_INVALID_SIZE;
	for (d = 0; d < FFT_RANK; d++) {
		h->in.n[d] = d < FFT_RANK - rank ? 1 : n[d - (FFT_RANK - rank)];
		h->out.n[d] = h->in.n[d];
		if (h->in.n[d] < 1)
			return CUFFT_INVALID_SIZE;
	}
	h->batch = batch;
	h->basic = !inembed || !onembed;
	if (h->basic) {
		basic(h, &h->in, true);
		basic(h, &h->out, false);
		return CUFFT_SUCCESS;
	}
	if (istride < 1 || ostride < 1 || idist < 0 || odist < 0)
		return CUFFT_INVALID_VALUE;
	advanced(&h->in, rank, inembed, istride, idist);
	advanced(&h->out, rank, onembed, ostride, odist);
	return CUFFT_SUCCESS;
}

static const long long *widen(long long to[FFT_RANK], const int *from, int rank)
{
	int d;

	for (d = 0; from && d < rank && d < FFT_RANK; d++)
		to[d] = from[d];
	return from ? to : NULL;
}

cufftResult fft_shape_int(struct fft_shape *h, int rank, const int *n, const int *inembed,
			  int istride, int idist, const int *onembed, int ostride, int odist,
			  cufftType type, int batch)
{
	long long sizes[FFT_RANK], in[FFT_RANK], out[FFT_RANK];

	return fft_shape(h, rank, widen(sizes, n, rank), widen(in, inembed, rank), istride, idist,
			 widen(out, onembed, rank), ostride, odist, type, batch);
}

long long fft_total(const struct fft_shape *h)
{
	return h->in.n[0] * h->in.n[1] * h->in.n[2] * h->batch;
}

/* The work area holds two copies of everything: each pass reads one and writes the other. */
size_t fft_work_size(const struct fft_shape *h)
{
	return 2 * (size_t)fft_total(h) * (h->wide ? 16 : 8);
}
