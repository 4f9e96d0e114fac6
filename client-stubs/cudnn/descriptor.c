// SPDX-License-Identifier: Apache-2.0
/*
 * Backend descriptors as the program has them. What a program does to one is kept as for its
 * other descriptors (../kept.c), as long as the library has accepted the same steps before.
 * Finalizing is the last step: a descriptor of the worker that was made alike serves then, so
 * that nothing crosses. References to other descriptors become references to the worker's.
 * Steps that cannot be compared are done to a descriptor of the worker that belongs to the
 * program's alone. Owns these steps. Variant packs are in pack.c.
 */
#include "recall.h"
#include "../kept_object.h"

#include <stdlib.h>

/* The most bytes of all that was set of one descriptor. */
#define RECORDS		(64u << 10)
#define FEW		64
#define BLANK_MOST	1024

#define KIND									\
	.library = &wh_cudnn_library,						\
	.end = WH_CALL_cudnnBackendDestroyDescriptor,				\
	.end_size = sizeof(struct wh_req_cudnnBackendDestroyDescriptor),	\
	.end_at = offsetof(struct wh_req_cudnnBackendDestroyDescriptor, descriptor), \
	.by_context = true, .alone = true, .forget = wh_memos_end

/*
 * A plan has code on the device, so it weighs as much as several others. A cache grows by its
 * plans.
 */
static const struct wh_kept_kind any = { KIND }, plans = { KIND, .weight = 15 },
				 caches = { KIND, .own = true };

static const struct wh_kept_kind *kind_of(int32_t type)
{
	return type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ? &plans :
	       type == CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR ? &caches : &any;
}

static struct wh_kept *find(const void *descriptor)
{
	struct wh_kept *k = wh_kept_find((uintptr_t)descriptor);

	return k && (k->kind == &any || k->kind == &plans || k->kind == &caches) ? k : NULL;
}

static int32_t type_of(const struct wh_log *l)
{
	const struct wh_req_cudnnBackendCreateDescriptor *q =
		(const void *)wh_record_request(wh_record_next(l, NULL));

	return q->descriptorType;
}

/* --- In the worker ----------------------------------------------------------------- */

/*
 * If it is not finalized, the worker's descriptor becomes its own: others in the worker may
 * refer to it.
 */
cudnnStatus_t wh_cudnn_real(cudnnBackendDescriptor_t descriptor, uint64_t *real)
{
	struct wh_kept *k = find(descriptor);
	cudnnStatus_t res = CUDNN_STATUS_SUCCESS;

	if (!k)
		return wh_cudnn_pack_real(descriptor, real);
	if (!k->final)
		res = wh_cudnn_kept(wh_kept_make_own(k));
	*real = k->real;
	return res;
}

/* From now on m is the worker's descriptor for the program's, and is held for it. */
static void become(struct wh_kept *k, struct wh_made *m)
{
	wh_kept_let_go(k);
	k->own = false;
	k->final = true;
	k->made = m;
	k->real = wh_made_real(m);
}

/* Makes a wh_made of a finalized descriptor of its own, which is never shared. */
static struct wh_made *settle(struct wh_kept *k, uint64_t hash)
{
	struct wh_made *m = wh_made_alone(&k->log, hash, k->real);

	if (m)
		become(k, m);
	return m;
}

/* --- Setting ----------------------------------------------------------------------- */

/* Returns a zeroed record. NULL: no memory. */
static struct wh_record *new_record(const struct wh_kept *k, uint32_t call, size_t size, size_t at)
{
	struct wh_record *r = calloc(1, sizeof(*r) + size + 8);

	if (r) {
		r->kind = k->kind;
		r->call = call;
		r->size = size;
		r->at = at;
	}
	return r;
}

/*
 * Replaces the program's handles and descriptors by the worker's. False: they cannot be
 * compared.
 */
static bool translate(struct wh_record *r, int32_t type, uint64_t *element, int64_t n)
{
	struct wh_obj_cudnnHandle_t handle;
	const struct wh_kept *k;
	int64_t i;

	for (i = 0; i < n && type == CUDNN_TYPE_BACKEND_DESCRIPTOR; i++) {
		k = find((void *)element[i]);
		if (!k || !k->final)
			return false;
		element[i] = (uintptr_t)k->made;
		r->refs++;
	}
	for (i = 0; i < n && type == CUDNN_TYPE_HANDLE; i++) {
		if (!wh_pack_cudnnHandle_t((cudnnHandle_t)element[i], &handle))
			return false;
		element[i] = handle.id;
	}
	return true;
}

/* Returns NULL if the step cannot be kept. */
static struct wh_record *record_of(const struct wh_kept *k,
				   const struct wh_req_cudnnAttribute *head, const void *elements)
{
	const size_t fixed = WH_WIRE_FIXED(*head),
		     size = wh_cudnn_attribute_size((cudnnBackendAttributeType_t)head->type);
	struct wh_record *r;
	size_t bytes;

	if (k->own || !elements || !size || head->type == CUDNN_TYPE_VOID_PTR || head->count < 0 ||
	    head->count > (int64_t)(WH_CUDNN_INLINE / size))
		return NULL;
	bytes = wh_wire_bytes(head->count, size);
	if (k->log.size + fixed + bytes > RECORDS)
		return NULL;
	r = new_record(k, WH_CALL_cudnnBackendSetAttribute, fixed + bytes,
		       offsetof(struct wh_req_cudnnAttribute, descriptor));
	if (!r)
		return NULL;
	r->refs_at = fixed;
	memcpy(wh_record_request(r), head, sizeof(*head));
	memcpy(wh_record_refs(r), elements, head->count * size);
	if (translate(r, head->type, wh_record_refs(r), head->count))
		return r;
	free(r);
	return NULL;
}

/* Replaces descriptors by the worker's numbers, and makes them there if need be. */
static cudnnStatus_t real_elements(const cudnnBackendDescriptor_t *in, int64_t n, uint64_t *out)
{
	cudnnStatus_t res = CUDNN_STATUS_SUCCESS;
	int64_t i;

	for (i = 0; i < n && !res; i++)
		res = wh_cudnn_real(in[i], &out[i]);
	return res;
}

/* Sets in the worker what cannot be kept. */
static cudnnStatus_t set_real(uint64_t real, const struct wh_req_cudnnAttribute *head,
			      const void *elements)
{
	uint64_t few[FEW], *many = few;
	cudnnStatus_t res;

	if (!elements || head->type != CUDNN_TYPE_BACKEND_DESCRIPTOR || head->count < 1)
		return wh_cudnn_set(real, head->name, head->type, head->count, elements);
	if (head->count > WH_CUDNN_INLINE / 8)
		return CUDNN_STATUS_BAD_PARAM;
	if (head->count > FEW)
		many = malloc(head->count * sizeof(*many));
	if (!many)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	res = real_elements(elements, head->count, many);
	if (res == CUDNN_STATUS_SUCCESS)
		res = wh_cudnn_set(real, head->name, head->type, head->count, many);
	if (many != few)
		free(many);
	return res;
}

static cudnnStatus_t set(struct wh_kept *k, const struct wh_req_cudnnAttribute *head,
			 const void *elements)
{
	struct wh_record *r;
	cudnnStatus_t res;

	if (k->final)
		return CUDNN_STATUS_BAD_PARAM;
	r = record_of(k, head, elements);
	if (r) {
		res = wh_cudnn_kept(wh_kept_step(k, r));
		free(r);
		return res;
	}
	res = wh_cudnn_kept(wh_kept_make_own(k));
	return res ? res : set_real(k->real, head, elements);
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
				       cudnnBackendAttributeName_t attributeName,
				       cudnnBackendAttributeType_t attributeType,
				       int64_t elementCount, const void *arrayOfElements)
{
	const struct wh_req_cudnnAttribute head = {
		.name = attributeName, .type = attributeType, .count = elementCount,
	};
	struct wh_kept *k = find(descriptor);
	cudnnStatus_t res;
	uint64_t real;

	if (k)
		return set(k, &head, arrayOfElements);
	if (wh_cudnn_pack_set(descriptor, attributeName, attributeType, elementCount,
			      arrayOfElements))
		return CUDNN_STATUS_SUCCESS;
	res = wh_cudnn_real(descriptor, &real);
	return res ? res : set_real(real, &head, arrayOfElements);
}

/* --- Finalizing -------------------------------------------------------------------- */

static cudnnStatus_t finalize_own(struct wh_kept *k)
{
	static uint64_t unlike;
	cudnnStatus_t res = wh_raw_cudnnBackendFinalize((cudnnBackendDescriptor_t)k->real);

	if (res != CUDNN_STATUS_SUCCESS)
		return res;
	return settle(k, wh_mix(~0ULL, __atomic_add_fetch(&unlike, 1, __ATOMIC_RELAXED))) ? res :
	       CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

/*
 * Finalizes it, or returns the library's earlier refusal: a search among engines tries the same
 * ones each time.
 */
static cudnnStatus_t finalize_with(struct wh_kept *k, struct wh_record *r)
{
	const uint64_t hash = wh_log_hash(&k->log);
	cudnnStatus_t res = wh_failure_recall(hash);

	if (res == CUDNN_STATUS_SUCCESS) {
		res = wh_cudnn_kept(wh_kept_step(k, r));
		wh_failure_keep(hash, res);
	}
	k->final = res == CUDNN_STATUS_SUCCESS;
	r->refused = true;
	if (!k->final && !wh_kept_note_refused(k, r))
		res = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	return res;
}

static cudnnStatus_t finalize(struct wh_kept *k)
{
	struct wh_record *r;
	cudnnStatus_t res;

	if (k->final)
		return CUDNN_STATUS_BAD_PARAM;
	if (k->own)
		return finalize_own(k);
	r = new_record(k, WH_CALL_cudnnBackendFinalize, sizeof(struct wh_req_cudnnBackendFinalize),
		       offsetof(struct wh_req_cudnnBackendFinalize, descriptor));
	if (!r)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	r->now = true;
	res = finalize_with(k, r);
	free(r);
	return res;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
	struct wh_kept *k = find(descriptor);

	return k ? finalize(k) : wh_cudnn_pack_finalize(descriptor);
}

/* --- Its life ---------------------------------------------------------------------- */

/* Starts a descriptor to which nothing was done. Returns whether there is such a type. */
static cudnnStatus_t start(struct wh_kept *k, cudnnBackendDescriptorType_t type)
{
	struct wh_req_cudnnBackendCreateDescriptor *q;
	struct wh_record *r;
	cudnnStatus_t res;

	r = new_record(k, WH_CALL_cudnnBackendCreateDescriptor, sizeof(*q),
		       offsetof(struct wh_rsp_cudnnBackendCreateDescriptor, descriptor));
	if (!r)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	q = (void *)wh_record_request(r);
	q->descriptorType = type;
	r->makes = true;
	res = wh_cudnn_kept(wh_kept_step(k, r));
	free(r);
	return res;
}

/* Gives up the object's descriptor in the worker. */
static void end_own(struct wh_kept *k)
{
	wh_kept_let_go(k);
	if (k->own)
		wh_real_end(k->kind, k->real);
	k->own = k->final = false;
	k->real = 0;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType,
					   cudnnBackendDescriptor_t *descriptor)
{
	struct wh_kept *k;
	cudnnStatus_t res;
	CUresult cu;

	if (!descriptor)
		return wh_raw_cudnnBackendCreateDescriptor(descriptorType, descriptor);
	cu = wh_library_prepare(&wh_cudnn_library);
	if (cu != CUDA_SUCCESS)
		return wh_cudnn_lost(cu);
	if (descriptorType == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
		return wh_cudnn_pack_create(descriptor);
	k = wh_kept_new(kind_of(descriptorType), NULL, 0);
	if (!k)
		return wh_raw_cudnnBackendCreateDescriptor(descriptorType, descriptor);
	res = start(k, descriptorType);
	if (res == CUDNN_STATUS_SUCCESS)
		wh_kept_show(k, descriptor);
	else
		wh_kept_release(k);
	return res;
}

/* Afterwards the descriptor is as it was when it was made. */
cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor)
{
	struct wh_kept *k = find(descriptor);
	cudnnBackendDescriptorType_t type;
	cudnnStatus_t res;
	uint64_t real;

	if (k) {
		type = type_of(&k->log);
		end_own(k);
		wh_log_free(&k->log);
		k->steps = 0;
		return start(k, type);
	}
	res = wh_cudnn_real(descriptor, &real);
	return res ? res : wh_raw_cudnnBackendInitialize((cudnnBackendDescriptor_t)real);
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
	struct wh_kept *k = find(descriptor);

	if (!k)
		return wh_cudnn_pack_destroy(descriptor);
	end_own(k);
	wh_kept_finish(k);
	return CUDNN_STATUS_SUCCESS;
}

/* --- Getting ----------------------------------------------------------------------- */

/* Are all of them different, and was nothing done to them since they were made? */
static bool blank(void *const *descriptor, uint64_t n)
{
	const struct wh_kept *k;
	uint64_t i, j;

	if (n > BLANK_MOST)
		return false;
	for (i = 0; i < n; i++) {
		k = find(descriptor[i]);
		if (!k || k->final || k->own || k->steps > 1)
			return false;
		for (j = 0; j < i; j++)
			if (descriptor[j] == descriptor[i])
				return false;
	}
	return true;
}

static bool of_types(void *const *descriptor, struct wh_made *const *made, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		if (type_of(&find(descriptor[i])->log) != type_of(&made[i]->log))
			return false;
	return true;
}

/* Fills the program's descriptors from an answer that was given before. */
static bool recall_filled(const struct wh_made *about, const struct wh_question *q, int64_t *count,
			  void *const *descriptor)
{
	struct wh_made *made[BLANK_MOST];
	uint64_t came = 0, i;
	bool ok;

	*count = blank(descriptor, q->n) ? wh_memo_recall(about, q, &came, made) : -1;
	ok = *count >= 0 && of_types(descriptor, made, came);
	for (i = 0; i < came; i++) {
		if (ok)
			become(find(descriptor[i]), made[i]);
		else
			wh_made_leave(made[i]);
	}
	return ok;
}

/* The library has filled these: they are finalized, and differ from all that are set. */
static void keep_filled(struct wh_made *about, const struct wh_question *q, int64_t count,
			void *const *descriptor, uint64_t came)
{
	struct wh_made **made = malloc((came + 1) * sizeof(*made)), *m;
	const uint64_t hash = wh_mix(wh_mix(about->hash, q->name), q->n);
	uint64_t i, n = 0;

	for (i = 0; i < came; i++) {
		m = settle(find(descriptor[i]), wh_mix(hash, i));
		if (made && m)
			made[n++] = m;
	}
	if (made && n == came)
		wh_memo_keep(about, q, count, came, made);
	free(made);
}

/*
 * The library fills descriptors that the program made. If it puts others into the array, those
 * are returned.
 */
static cudnnStatus_t fill(struct wh_made *about, uint64_t real, const struct wh_question *q,
			  int64_t *count, void **descriptor)
{
	const bool fresh = about && blank(descriptor, q->n);
	uint64_t *number = malloc((q->n + 1) * 2 * sizeof(*number)), came = 0, i;
	cudnnStatus_t res;
	bool same = true;

	if (!number)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	res = real_elements((void *)descriptor, q->n, number);
	memcpy(number + q->n, number, q->n * sizeof(*number));
	if (res == CUDNN_STATUS_SUCCESS)
		res = wh_cudnn_send_get(real, q, count, &came, number);
	for (i = 0; i < came; i++)
		same &= number[i] == number[q->n + i];
	if (fresh && same && res == CUDNN_STATUS_SUCCESS)
		keep_filled(about, q, *count, descriptor, came);
	for (i = 0; i < came && !same; i++)
		if (number[i] != number[q->n + i])
			descriptor[i] = (void *)number[i];
	free(number);
	return res;
}

/* Returns the worker's descriptor if the answers about it never change. */
static struct wh_made *constant(const struct wh_kept *k)
{
	return k && k->final && k->kind != &caches ? k->made : NULL;
}

static cudnnStatus_t get(cudnnBackendDescriptor_t descriptor, const struct wh_question *q,
			 int64_t *count, void *out)
{
	const bool fills = q->elements && q->type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
	struct wh_made *about = constant(find(descriptor));
	uint64_t real, came = 0;
	cudnnStatus_t res;

	if (about && fills && recall_filled(about, q, count, out))
		return CUDNN_STATUS_SUCCESS;
	if (about && !fills) {
		*count = wh_memo_recall(about, q, &came, out);
		if (*count >= 0)
			return CUDNN_STATUS_SUCCESS;
	}
	res = wh_cudnn_real(descriptor, &real);
	if (res != CUDNN_STATUS_SUCCESS)
		return res;
	if (fills)
		return fill(about, real, q, count, out);
	res = wh_cudnn_send_get(real, q, count, &came, out);
	if (about && res == CUDNN_STATUS_SUCCESS)
		wh_memo_keep(about, q, *count, came, out);
	return res;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
				       cudnnBackendAttributeName_t attributeName,
				       cudnnBackendAttributeType_t attributeType,
				       int64_t requestedElementCount, int64_t *elementCount,
				       void *arrayOfElements)
{
	const struct wh_question q = {
		.name = attributeName, .type = attributeType, .n = requestedElementCount,
		.elements = arrayOfElements,
	};
	size_t size = wh_cudnn_attribute_size(attributeType), bytes;
	cudnnStatus_t res;
	int64_t count = 0;

	if (!size || q.n < 0)
		return size ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
	if (__builtin_mul_overflow((size_t)q.n, size, &bytes) || bytes > SIZE_MAX / 8)
		return CUDNN_STATUS_BAD_PARAM;
	res = get(descriptor, &q, &count, arrayOfElements);
	if (res == CUDNN_STATUS_SUCCESS && elementCount)
		*elementCount = count;
	return res;
}
