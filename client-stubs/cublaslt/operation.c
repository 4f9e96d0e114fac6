// SPDX-License-Identifier: Apache-2.0
/*
 * Products and transformations: one call each, which brings all that describes it, and
 * is not waited for where its like has succeeded.
 */
#include "cublaslt_stub.h"

/* A status may depend on how addresses are aligned: 0 for NULL, else 1 to 9. */
static uint64_t alignment(uint64_t address)
{
	return address ? 1 + __builtin_ctzll(address | 256) : 0;
}

static uint64_t alignments(uint64_t so_far, const uint64_t *address, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		so_far = so_far << 4 | alignment(address[i]);
	return so_far;
}

/* False: it is not there. */
static bool put_scalar(union wh_lt_scalar *to, const void *from, bool host, size_t size)
{
	memset(to, 0, sizeof(*to));
	if (!from)
		return false;
	if (host)
		memcpy(to->host, from, size);
	else
		to->device = (uintptr_t)from;
	return true;
}

static uint32_t put_scalars(union wh_lt_scalar *alpha, union wh_lt_scalar *beta, const void *a,
			    const void *b, int32_t mode, int32_t type)
{
	size_t size = wh_lt_scale_size(type);
	uint32_t null = 0;

	if (!put_scalar(alpha, a, wh_lt_alpha_is_host(mode), size))
		null |= WH_LT_NO_ALPHA;
	if (!put_scalar(beta, wh_lt_beta_is_unused(mode) ? NULL : b, wh_lt_beta_is_host(mode), size))
		null |= WH_LT_NO_BETA;
	return null;
}

#define ADDRESS(field)	wh_word(struct wh_req_cublasLtMatmul, field)
#define MATMUL_ADDRESSES (ADDRESS(a) | ADDRESS(b) | ADDRESS(c) | ADDRESS(d) |			\
	ADDRESS(workspace) | ADDRESS(alpha) | ADDRESS(beta) | ADDRESS(desc.bias) |		\
	ADDRESS(desc.aux) | ADDRESS(desc.a_scale) | ADDRESS(desc.b_scale) |			\
	ADDRESS(desc.c_scale) | ADDRESS(desc.d_scale) | ADDRESS(desc.amax_d) |			\
	ADDRESS(desc.aux_scale) | ADDRESS(desc.aux_amax) | ADDRESS(desc.d_out_scale))
_Static_assert(offsetof(struct wh_req_cublasLtMatmul, desc.d_out_scale) < 64 * 8, "64 bits");
_Static_assert(sizeof(struct wh_req_cublasLtMatmul) % 8 == 0, "whole words");

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
			      const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc,
			      const void *B, cublasLtMatrixLayout_t Bdesc, const void *beta,
			      const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
			      cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo,
			      void *workspace, size_t workspaceSizeInBytes, cudaStream_t stream)
{
	const uint64_t on = stream ? wh_library_stream(stream) : 0;
	struct wh_obj_cublasLtHandle_t object;
	struct wh_req_cublasLtMatmul *q;
	cublasStatus_t res;
	struct wh_call c;

	if (!wh_pack_cublasLtHandle_t(handle, &object))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	q = wh_cublaslt_begin(&c, WH_CALL_cublasLtMatmul, sizeof(*q));
	if (!q)
		return wh_cublaslt_lost(c.result);
	res = CUBLAS_STATUS_INVALID_VALUE;
	if (!wh_lt_take_matmul(desc, &q->desc, &q->emulation) ||
	    !wh_lt_take_layout(Adesc, &q->layout[0]) || !wh_lt_take_layout(Bdesc, &q->layout[1]) ||
	    !wh_lt_take_layout(Cdesc, &q->layout[2]) || !wh_lt_take_layout(Ddesc, &q->layout[3]))
		goto out;
	q->handle = object;
	q->a = (uintptr_t)A;
	q->b = (uintptr_t)B;
	q->c = (uintptr_t)C;
	q->d = (uintptr_t)D;
	q->workspace = (uintptr_t)workspace;
	q->workspace_size = workspaceSizeInBytes;
	q->hdr.null |= put_scalars(&q->alpha, &q->beta, alpha, beta, q->desc.pointer_mode,
				   q->desc.scale);
	q->stream = on;
	q->alignments = alignments(alignments(0, &q->a, 5), &q->desc.bias, 10);
	if (algo)
		q->algo = *algo;
	else
		memset(&q->algo, 0, sizeof(q->algo));
	q->hdr.null |= algo ? 0 : WH_LT_NO_ALGO;
	res = wh_cublaslt_post(&c, sizeof(*q), MATMUL_ADDRESSES);
out:
	wh_end(&c);
	return res;
}

/* A matrix that is not there has no layout either. */
static bool put_matrix(const void *matrix, const cublasLtMatrixLayoutOpaque_t *layout,
		       struct wh_lt_layout *to)
{
	memset(to, 0, sizeof(*to));
	return layout ? wh_lt_take_layout(layout, to) : !matrix;
}

#define OF(field)	wh_word(struct wh_req_cublasLtMatrixTransform, field)
_Static_assert(sizeof(struct wh_req_cublasLtMatrixTransform) % 8 == 0, "whole words");

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle,
				       cublasLtMatrixTransformDesc_t desc, const void *alpha,
				       const void *A, cublasLtMatrixLayout_t Adesc,
				       const void *beta, const void *B,
				       cublasLtMatrixLayout_t Bdesc, void *C,
				       cublasLtMatrixLayout_t Cdesc, cudaStream_t stream)
{
	const uint64_t on = stream ? wh_library_stream(stream) : 0;
	struct wh_req_cublasLtMatrixTransform *q;
	struct wh_obj_cublasLtHandle_t object;
	cublasStatus_t res;
	struct wh_call c;

	if (!wh_pack_cublasLtHandle_t(handle, &object))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	q = wh_cublaslt_begin(&c, WH_CALL_cublasLtMatrixTransform, sizeof(*q));
	if (!q)
		return wh_cublaslt_lost(c.result);
	res = CUBLAS_STATUS_INVALID_VALUE;
	if (!wh_lt_good(WH_LT_TRANSFORM, desc) || !put_matrix(A, Adesc, &q->layout[0]) ||
	    !put_matrix(B, Bdesc, &q->layout[1]) || !wh_lt_take_layout(Cdesc, &q->layout[2]))
		goto out;
	memcpy(&q->desc, desc, sizeof(q->desc));
	q->handle = object;
	q->a = (uintptr_t)A;
	q->b = (uintptr_t)B;
	q->c = (uintptr_t)C;
	q->hdr.null |= put_scalars(&q->alpha, &q->beta, alpha, beta, q->desc.pointer_mode,
				   q->desc.scale);
	q->stream = on;
	q->alignments = alignments(0, &q->a, 3);
	res = wh_cublaslt_post(&c, sizeof(*q), OF(a) | OF(b) | OF(c) | OF(alpha) | OF(beta));
out:
	wh_end(&c);
	return res;
}
