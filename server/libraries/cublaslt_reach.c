// SPDX-License-Identifier: Apache-2.0
/*
 * Which memory a product or a transformation touches, by its layouts, and whether the client may
 * name it. If a layout has no simple bounds (tiled orders, lists of matrices, negative strides), an
 * address is checked as in other libraries: its first byte.
 */
#include "cublaslt.h"

#include "wire_scalar.h"

/* The library judges NULL, and reads nothing there. */
static bool may(struct wh_session *s, uint64_t address, uint64_t bytes)
{
	return !address || wh_reach(s, address, bytes ? bytes : 1) == CUDA_SUCCESS;
}

static unsigned int bits_of(uint32_t type)
{
	switch (type) {
	case CUDA_R_4I:
	case CUDA_R_4U:
	case CUDA_R_4F_E2M1:
		return 4;
	case CUDA_C_4I:
	case CUDA_C_4U:
		return 8;
	default:
		return 8 * (unsigned int)wh_type_size((cudaDataType)type);
	}
}

static uint64_t bytes_of(uint64_t elements, unsigned int bits)
{
	return elements > UINT64_MAX / 128 ? UINT64_MAX : elements * bits / 8;
}

/* Counts from the first to the last element of a batch; 0 if that is not known here. */
static uint64_t elements_of(const struct wh_lt_layout *m)
{
	const bool by_rows = m->order == CUBLASLT_ORDER_ROW;
	uint64_t n;

	if ((!by_rows && m->order != CUBLASLT_ORDER_COL) || m->ld < 0 || m->batch < 1 ||
	    m->batch_stride < 0 || m->plane)
		return 0;
	n = by_rows ? wh_rows(m->ld, m->cols, m->rows) : wh_rows(m->ld, m->rows, m->cols);
	return wh_rows(m->batch_stride, n, m->batch);
}

static uint64_t matrix_bytes(const struct wh_lt_layout *m)
{
	if (m->batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY)
		return wh_times(m->batch > 0 ? m->batch : 1, sizeof(void *));
	return bytes_of(elements_of(m), bits_of(m->type));
}

/*
 * The bytes of the values that scale a matrix: one value, one for each row or column, or one for
 * each block.
 */
static uint64_t scale_bytes(const struct wh_lt_layout *m, int32_t mode, uint64_t vector)
{
	const uint64_t elements = wh_times(m->rows, m->cols);

	switch (mode) {
	case CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F:
		return sizeof(float);
	case CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3:
		return elements / 16;
	case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0:
		return elements / 32;
	case CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F:
		return wh_times(vector, sizeof(float));
	case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
		return elements / 128 * sizeof(float);
	case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
		return elements / (128 * 128) * sizeof(float);
	default:
		return 1;
	}
}

static bool may_scales(struct wh_session *s, const struct wh_lt_described *q)
{
	const struct wh_lt_layout *m = q->layout;
	const struct wh_lt_matmul *d = &q->desc;

	return may(s, d->a_scale, scale_bytes(&m[0], d->a_mode, m[3].rows)) &&
	       may(s, d->b_scale, scale_bytes(&m[1], d->b_mode, m[3].cols)) &&
	       may(s, d->c_scale, scale_bytes(&m[2], d->c_mode, 1)) &&
	       may(s, d->d_scale, scale_bytes(&m[3], d->d_mode, 1)) &&
	       may(s, d->d_out_scale, scale_bytes(&m[3], d->d_out_mode, 1)) &&
	       may(s, d->aux_scale, sizeof(float)) && may(s, d->amax_d, sizeof(float)) &&
	       may(s, d->aux_amax, sizeof(float));
}

/* If no type is given, the library takes D's, or one of 16 bits. */
static unsigned int epilogue_bits(int32_t given, uint32_t d)
{
	unsigned int bits = bits_of(given < 0 ? d : (uint32_t)given);

	return given < 0 && bits > 16 ? 16 : bits;
}

/*
 * The epilogue may have a bias for each row of D, or a gradient of it; and beside D another matrix,
 * or a mask of bits.
 */
static bool may_epilogue(struct wh_session *s, const struct wh_lt_described *q)
{
	const struct wh_lt_layout *d = &q->layout[3];
	const uint64_t vector = q->desc.epilogue == CUBLASLT_EPILOGUE_BGRADB ? d->cols : d->rows;
	const bool mask = q->desc.epilogue & (CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_DRELU) &
			  ~128u;
	const struct wh_lt_layout aux = {
		.rows = d->rows,
		.cols = d->cols,
		.ld = q->desc.aux_ld,
		.batch = d->batch,
		.batch_stride = q->desc.aux_stride,
	};

	return may(s, q->desc.bias, bytes_of(vector, epilogue_bits(q->desc.bias_type, d->type))) &&
	       may(s, q->desc.aux,
		   bytes_of(elements_of(&aux),
			    mask ? 1 : epilogue_bits(q->desc.aux_type, d->type)));
}

/* A scalar is an address of the device, or a copy in the message. */
static bool may_scalar(struct wh_session *s, const union wh_lt_scalar *v, bool host,
		       uint64_t bytes)
{
	return host || may(s, v->device, bytes);
}

bool wh_lt_reach_matmul(struct wh_session *s, const struct wh_req_cublasLtMatmul *q,
			const struct wh_lt_described *d)
{
	const int32_t mode = d->desc.pointer_mode;
	const uint64_t each = wh_lt_scale_size(d->desc.scale);
	const uint64_t vector = wh_times(d->layout[3].rows, each);

	/* For an unknown mode it is not known which of the two are addresses. */
	if ((unsigned int)mode > CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST)
		return false;
	return may_scalar(s, &q->alpha, wh_lt_alpha_is_host(mode),
			  mode == CUBLASLT_POINTER_MODE_DEVICE ? each : vector) &&
	       may_scalar(s, &q->beta, wh_lt_beta_is_host(mode),
			  mode == CUBLASLT_POINTER_MODE_DEVICE ? each : vector) &&
	       may(s, q->a, matrix_bytes(&d->layout[0])) &&
	       may(s, q->b, matrix_bytes(&d->layout[1])) &&
	       may(s, q->c, matrix_bytes(&d->layout[2])) &&
	       may(s, q->d, matrix_bytes(&d->layout[3])) &&
	       may(s, q->workspace, q->workspace_size) && may_scales(s, d) &&
	       may_epilogue(s, d) && may(s, d->emulation.bit_count, sizeof(int32_t));
}

bool wh_lt_reach_transform(struct wh_session *s, const struct wh_req_cublasLtMatrixTransform *q,
			   const struct wh_lt_turned *d)
{
	const uint64_t each = wh_lt_scale_size(d->desc.scale);
	const int32_t mode = d->desc.pointer_mode;

	/* A transformation has no other modes than these two. */
	if ((unsigned int)mode > CUBLASLT_POINTER_MODE_DEVICE)
		return false;
	return may_scalar(s, &q->alpha, wh_lt_alpha_is_host(mode), each) &&
	       may_scalar(s, &q->beta, wh_lt_beta_is_host(mode), each) &&
	       may(s, q->a, d->has[0] ? matrix_bytes(&d->layout[0]) : 1) &&
	       may(s, q->b, d->has[1] ? matrix_bytes(&d->layout[1]) : 1) &&
	       may(s, q->c, d->has[2] ? matrix_bytes(&d->layout[2]) : 1);
}
