// SPDX-License-Identifier: Apache-2.0
/*
 * Products and transformations. Each is one call with all that describes it, and nobody waits
 * for it if a similar one has succeeded.
 */
#include "cublaslt_stub.h"

/* A status may depend on how addresses are aligned: the result is 0 for NULL, else 1 to 9. */
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

/* Returns false if there is no scalar. */
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
	if (!put_scalar(beta, wh_lt_beta_is_unused(mode) ? NULL : b, wh_lt_beta_is_host(mode),
			size))
		null |= WH_LT_NO_BETA;
	return null;
}

/* --- Products --------------------------------------------------------------------------- */

struct described {
	struct wh_lt_matmul desc;
	struct wh_lt_layout layout[4];
	struct wh_lt_emulation emulation;
	bool d_is_as_c;
};

static bool take(struct described *d, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
		 cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t out)
{
	if (!wh_lt_take_matmul(desc, &d->desc, &d->emulation) ||
	    !wh_lt_take_layout(a, &d->layout[0]) || !wh_lt_take_layout(b, &d->layout[1]) ||
	    !wh_lt_take_layout(c, &d->layout[2]) || !wh_lt_take_layout(out, &d->layout[3]))
		return false;
	d->d_is_as_c = !memcmp(&d->layout[2], &d->layout[3], sizeof(d->layout[3]));
	return true;
}

static size_t packed_bytes(const struct described *d)
{
	size_t bytes = wh_lt_packed(WH_LT_MATMUL, d->desc.head.set);
	int i;

	for (i = 0; i < 4 - d->d_is_as_c; i++)
		bytes += wh_lt_packed(WH_LT_LAYOUT, d->layout[i].head.set);
	if (d->desc.emulation)
		bytes += wh_lt_packed(WH_LT_EMULATION, d->emulation.head.set);
	return bytes;
}

static void pack(const struct described *d, uint8_t *out)
{
	int i;

	out = wh_lt_pack(WH_LT_MATMUL, &d->desc, out);
	for (i = 0; i < 4 - d->d_is_as_c; i++)
		out = wh_lt_pack(WH_LT_LAYOUT, &d->layout[i], out);
	if (d->desc.emulation)
		wh_lt_pack(WH_LT_EMULATION, &d->emulation, out);
}

#define FIXED(call)	sizeof(struct wh_req_##call)
#define ADDRESS(field)	wh_word(struct wh_req_cublasLtMatmul, field)
#define ADDRESSES (ADDRESS(a) | ADDRESS(b) | ADDRESS(c) | ADDRESS(d) | ADDRESS(workspace) |	\
		   ADDRESS(alpha) | ADDRESS(beta))
_Static_assert(FIXED(cublasLtMatmul) % WH_WIRE_ALIGN == 0, "no padding before descriptors");

/* Returns the words of the request that are addresses of the descriptor. */
static uint64_t address_words(const struct wh_lt_matmul *d)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[WH_LT_MATMUL];
	size_t at = FIXED(cublasLtMatmul) + 8;
	uint64_t words = 0;

	WH_LT_EACH(all, d->head.set, at,
		   if (a_->offset >= offsetof(struct wh_lt_matmul, bias) &&
		       a_->offset <= offsetof(struct wh_lt_matmul, d_out_scale))
			words |= 1ULL << at / 8);
	return words;
}

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
	struct described d;
	cublasStatus_t res;
	struct wh_call c;
	size_t bytes;

	if (!wh_pack_cublasLtHandle_t(handle, &object))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!take(&d, desc, Adesc, Bdesc, Cdesc, Ddesc))
		return CUBLAS_STATUS_INVALID_VALUE;
	bytes = sizeof(*q) + packed_bytes(&d);
	q = wh_cublaslt_begin(&c, WH_CALL_cublasLtMatmul, bytes);
	if (!q)
		return wh_cublaslt_lost(c.result);
	q->handle = object;
	q->a = (uintptr_t)A;
	q->b = (uintptr_t)B;
	q->c = (uintptr_t)C;
	q->d = (uintptr_t)D;
	q->workspace = (uintptr_t)workspace;
	q->workspace_size = workspaceSizeInBytes;
	q->hdr.null |= put_scalars(&q->alpha, &q->beta, alpha, beta, d.desc.pointer_mode,
				   d.desc.scale);
	q->stream = on;
	q->alignments = alignments(alignments(0, &q->a, 5), &d.desc.bias, 10);
	memset(&q->algo, 0, sizeof(q->algo));
	if (algo)
		q->algo = *algo;
	q->hdr.null |= (algo ? 0 : WH_LT_NO_ALGO) | (d.d_is_as_c ? WH_LT_D_IS_AS_C : 0);
	pack(&d, (uint8_t *)(q + 1));
	res = wh_cublaslt_post(&c, bytes, ADDRESSES | address_words(&d.desc));
	wh_end(&c);
	return res;
}

/* --- Transformations ---------------------------------------------------------------------- */

#define OF(field)	wh_word(struct wh_req_cublasLtMatrixTransform, field)
_Static_assert(FIXED(cublasLtMatrixTransform) % 8 == 0, "whole words");

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle,
				       cublasLtMatrixTransformDesc_t desc, const void *alpha,
				       const void *A, cublasLtMatrixLayout_t Adesc,
				       const void *beta, const void *B,
				       cublasLtMatrixLayout_t Bdesc, void *C,
				       cublasLtMatrixLayout_t Cdesc, cudaStream_t stream)
{
	const uint64_t on = stream ? wh_library_stream(stream) : 0;
	const cublasLtMatrixLayoutOpaque_t *from[3] = { Adesc, Bdesc, Cdesc };
	const void *matrix[3] = { A, B, C };
	struct wh_req_cublasLtMatrixTransform *q;
	struct wh_obj_cublasLtHandle_t object;
	struct wh_lt_layout layout[3];
	struct wh_lt_transform d;
	cublasStatus_t res;
	struct wh_call c;
	size_t bytes;
	uint8_t *out;
	int i;

	if (!wh_pack_cublasLtHandle_t(handle, &object))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!wh_lt_good(WH_LT_TRANSFORM, desc))
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(&d, desc, sizeof(d));
	bytes = sizeof(*q) + wh_lt_packed(WH_LT_TRANSFORM, d.head.set);
	for (i = 0; i < 3; i++) {
		/* If there is no matrix, no layout is needed. */
		if (from[i] ? !wh_lt_take_layout(from[i], &layout[i]) : matrix[i] != NULL)
			return CUBLAS_STATUS_INVALID_VALUE;
		bytes += from[i] ? wh_lt_packed(WH_LT_LAYOUT, layout[i].head.set) : 0;
	}
	q = wh_cublaslt_begin(&c, WH_CALL_cublasLtMatrixTransform, bytes);
	if (!q)
		return wh_cublaslt_lost(c.result);
	q->handle = object;
	q->a = (uintptr_t)A;
	q->b = (uintptr_t)B;
	q->c = (uintptr_t)C;
	q->hdr.null |= put_scalars(&q->alpha, &q->beta, alpha, beta, d.pointer_mode, d.scale);
	q->stream = on;
	q->alignments = alignments(0, &q->a, 3);
	out = wh_lt_pack(WH_LT_TRANSFORM, &d, (uint8_t *)(q + 1));
	for (i = 0; i < 3; i++)
		if (from[i])
			out = wh_lt_pack(WH_LT_LAYOUT, &layout[i], out);
		else
			q->hdr.null |= WH_LT_NO_LAYOUT << i;
	res = wh_cublaslt_post(&c, bytes, OF(a) | OF(b) | OF(c) | OF(alpha) | OF(beta));
	wh_end(&c);
	return res;
}
