// SPDX-License-Identifier: Apache-2.0
/*
 * Backend descriptors as the program has them. What a program does to one is noted here as
 * long as the library has taken the same steps before; then it is sure to take them again,
 * and at the end a descriptor of the worker's that was made alike serves (content.c), so
 * that nothing crosses. The first step that is new makes a genuine one in the worker by
 * all that was noted, and from there on each step is the library's to judge, so that an
 * error comes where it comes natively. Owns the program's descriptors. Variant packs are
 * pack.c's.
 */
#include "content.h"
#include "../names.h"

#include <stdlib.h>

#define MOST	65536	/* alive at a time; what is more is the worker's alone */
/* No type of the worker's objects is as high, and it is no pack's. */
#define TAG	0xfe00000000000000ULL
/* Of all that was set of one descriptor. */
#define RECORDS	(64u << 10)
#define FEW	64

struct descriptor {
	struct wh_name name;
	int32_t type;
	bool odd;		/* more was done to it than was noted: no other one is like it */
	bool refused;		/* to be finalized, by what was known: nobody was asked */
	uint64_t hash;		/* of its type and records */
	uint64_t real;		/* not finalized, in the worker; 0: there is none */
	struct wh_records records;
	struct wh_content *content;	/* it is finalized */
};

static struct wh_name *all[MOST];
static struct wh_names descriptors = {
	.all = all,
	.most = MOST,
	.size = sizeof(struct descriptor),
	.tag = TAG,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};
WH_IN_CHILD(wh_names_forget(&descriptors))

static struct descriptor *find(const void *descriptor)
{
	return (struct descriptor *)wh_name_find(&descriptors, descriptor);
}

static uint64_t hash_of_type(int32_t type)
{
	return wh_cudnn_mix(0x63756464ULL, (uint32_t)type);
}

static void start(struct descriptor *d, int32_t type)
{
	d->type = type;
	/* Its plans add to it. */
	d->odd = type == CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR;
	d->refused = false;
	d->hash = hash_of_type(type);
	d->real = 0;
	d->records = (struct wh_records) { 0 };
	d->content = NULL;
}

/* NULL: there are too many. */
static struct descriptor *take(int32_t type)
{
	struct descriptor *d = (struct descriptor *)wh_name_take(&descriptors);

	if (d) {
		start(d, type);
		wh_name_show(&descriptors, &d->name);
	}
	return d;
}

/* All that it is made of. */
static void clear(struct descriptor *d)
{
	if (d->real)
		wh_cudnn_end_real(d->real);
	if (d->content)
		wh_content_release(d->content);
	wh_records_end(&d->records);
	start(d, d->type);
}

static void drop(struct descriptor *d)
{
	wh_name_hide(&d->name);
	clear(d);
	wh_name_give(&descriptors, &d->name);
}

/* --- In the worker ----------------------------------------------------------------- */

/* The numbers of contents that a record has. */
static cudnnStatus_t send_record(uint64_t real, const struct wh_noted *r)
{
	const struct wh_content *const *content = (void *)(r + 1);
	uint64_t few[FEW] = { 0 }, *many = few;
	cudnnStatus_t res;
	int64_t i;

	if (r->type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
		return wh_cudnn_send_set(real, r->name, r->type, r->count, r + 1);
	if (r->count > FEW)
		many = malloc(r->count * sizeof(*many));
	if (!many)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	for (i = 0; i < r->count; i++)
		many[i] = content[i]->real;
	res = wh_cudnn_send_set(real, r->name, r->type, r->count, many);
	if (many != few)
		free(many);
	return res;
}

/* Not for one that is finalized. */
static cudnnStatus_t make_real(struct descriptor *d)
{
	cudnnBackendDescriptor_t real = NULL;
	struct wh_noted *r;
	cudnnStatus_t res;

	if (d->real)
		return CUDNN_STATUS_SUCCESS;
	res = wh_raw_cudnnBackendCreateDescriptor(d->type, &real);
	if (res != CUDNN_STATUS_SUCCESS)
		return res;
	wh_steps_learn(hash_of_type(d->type));
	for (r = wh_next_record(&d->records, NULL); r && !res; r = wh_next_record(&d->records, r))
		res = send_record((uintptr_t)real, r);
	if (res == CUDNN_STATUS_SUCCESS && d->refused)
		wh_raw_cudnnBackendFinalize(real);
	if (res == CUDNN_STATUS_SUCCESS)
		d->real = (uintptr_t)real;
	else
		wh_cudnn_end_real((uintptr_t)real);
	return res;
}

cudnnStatus_t wh_cudnn_real(cudnnBackendDescriptor_t descriptor, uint64_t *real)
{
	struct descriptor *d = find(descriptor);
	cudnnStatus_t res;

	if (!d)
		return wh_cudnn_pack_real(descriptor, real);
	if (d->content) {
		*real = d->content->real;
		return CUDNN_STATUS_SUCCESS;
	}
	res = make_real(d);
	*real = d->real;
	return res;
}

/* --- Setting ----------------------------------------------------------------------- */

/* Room for a record of so many bytes behind those that there are. */
static struct wh_noted *room_for(struct wh_records *l, size_t bytes)
{
	size_t room = l->room ? l->room : 256;
	uint8_t *p;

	if (l->size + bytes > RECORDS)
		return NULL;
	while (room < l->size + bytes)
		room *= 2;
	if (room > l->room) {
		p = realloc(l->bytes, room);
		if (!p)
			return NULL;
		l->bytes = p;
		l->room = room;
	}
	return (struct wh_noted *)(l->bytes + l->size);
}

/* Fills in the elements, with what they add to the hash. False: they cannot be noted. */
static bool note_elements(struct wh_noted *r, const void *elements, uint64_t *hash)
{
	const size_t padded = wh_noted_bytes(r) - sizeof(*r), n = r->count *
		wh_cudnn_attribute_size((cudnnBackendAttributeType_t)r->type);
	struct wh_obj_cudnnHandle_t handle;
	uint64_t *to = (uint64_t *)(r + 1);
	const struct descriptor *d;
	size_t i;

	if (padded > n)
		to[padded / 8 - 1] = 0;
	memcpy(to, elements, n);
	for (i = 0; i < padded / 8; i++) {
		if (r->type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
			d = find((void *)to[i]);
			if (!d || !d->content)
				return false;
			to[i] = (uintptr_t)d->content;
			*hash = wh_cudnn_mix(*hash, d->content->hash);
			continue;
		}
		if (r->type == CUDNN_TYPE_HANDLE) {
			if (!wh_pack_cudnnHandle_t((cudnnHandle_t)to[i], &handle))
				return false;
			to[i] = handle.id;
		}
		*hash = wh_cudnn_mix(*hash, to[i]);
	}
	return true;
}

/* Behind the others, not yet one of them; NULL: it cannot be noted. */
static struct wh_noted *note(struct descriptor *d, const struct wh_noted *head, const void *p,
			      uint64_t *hash)
{
	const size_t size = wh_cudnn_attribute_size((cudnnBackendAttributeType_t)head->type);
	struct wh_noted *r;

	if (d->odd || !p || !size || head->type == CUDNN_TYPE_VOID_PTR || head->count < 0 ||
	    head->count > (int64_t)(WH_CUDNN_INLINE / size))
		return NULL;
	r = room_for(&d->records, wh_noted_bytes(head));
	if (!r)
		return NULL;
	*r = *head;
	*hash = wh_cudnn_mix(d->hash, (uint64_t)(uint32_t)r->name << 32 | (uint32_t)r->type);
	*hash = wh_cudnn_mix(*hash, r->count);
	return note_elements(r, p, hash) ? r : NULL;
}

static void keep(struct descriptor *d, const struct wh_noted *r, uint64_t hash)
{
	struct wh_content *const *content = (void *)(r + 1);
	int64_t i;

	for (i = 0; i < r->count && r->type == CUDNN_TYPE_BACKEND_DESCRIPTOR; i++)
		wh_content_hold(content[i]);
	d->records.size += wh_noted_bytes(r);
	d->hash = hash;
}

/* Elements that are descriptors by the worker's numbers, which are made if need be. */
static cudnnStatus_t real_elements(const cudnnBackendDescriptor_t *in, int64_t n, uint64_t *out)
{
	cudnnStatus_t res = CUDNN_STATUS_SUCCESS;
	int64_t i;

	for (i = 0; i < n && !res; i++)
		res = wh_cudnn_real(in[i], &out[i]);
	return res;
}

/* What cannot be noted, or is new: the library judges. */
static cudnnStatus_t set_real(uint64_t real, const struct wh_noted *head, const void *elements)
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

static cudnnStatus_t set(struct descriptor *d, const struct wh_noted *head, const void *elements)
{
	uint64_t hash = 0;
	struct wh_noted *r;
	cudnnStatus_t res;

	if (d->content)
		return CUDNN_STATUS_BAD_PARAM;
	r = note(d, head, elements, &hash);
	if (r && !d->real && wh_steps_known(hash)) {
		keep(d, r, hash);
		return CUDNN_STATUS_SUCCESS;
	}
	res = make_real(d);
	if (res == CUDNN_STATUS_SUCCESS)
		res = set_real(d->real, head, elements);
	if (r && res == CUDNN_STATUS_SUCCESS) {
		keep(d, r, hash);
		wh_steps_learn(hash);
	} else {
		d->odd = true;
	}
	return res;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
				       cudnnBackendAttributeName_t attributeName,
				       cudnnBackendAttributeType_t attributeType,
				       int64_t elementCount, const void *arrayOfElements)
{
	const struct wh_noted head = {
		.name = attributeName, .type = attributeType, .count = elementCount,
	};
	struct descriptor *d = find(descriptor);
	cudnnStatus_t res;
	uint64_t real;

	if (d)
		return set(d, &head, arrayOfElements);
	if (wh_cudnn_pack_set(descriptor, attributeName, attributeType, elementCount,
			      arrayOfElements))
		return CUDNN_STATUS_SUCCESS;
	res = wh_cudnn_real(descriptor, &real);
	return res ? res : set_real(real, &head, arrayOfElements);
}

/* --- Finalizing -------------------------------------------------------------------- */

static uint64_t context(void)
{
	CUcontext ctx = NULL;

	cuCtxGetCurrent(&ctx);
	return (uintptr_t)ctx;
}

/* As a content that would be found, or made. */
static struct wh_content like(const struct descriptor *d)
{
	static uint64_t unlike;
	struct wh_content c = {
		.hash = d->hash, .type = d->type, .ctx = context(), .real = d->real,
		.records = d->records, .listed = !d->odd,
		.constant = d->type != CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR,
	};

	if (d->odd)
		c.hash = wh_cudnn_mix(~0ULL, __atomic_add_fetch(&unlike, 1, __ATOMIC_RELAXED));
	return c;
}

/* From here on the descriptor is that content. */
static void become(struct descriptor *d, struct wh_content *c)
{
	if (d->real && d->real != c->real)
		wh_cudnn_end_real(d->real);
	d->real = 0;
	d->content = c;
}

/* As the library did, or does: a search among engines tries the same ones each time. */
static cudnnStatus_t finalize_real(struct descriptor *d, const struct wh_content *want)
{
	cudnnStatus_t res = want->listed ? wh_failure_recall(want) : CUDNN_STATUS_SUCCESS;

	if (res != CUDNN_STATUS_SUCCESS) {
		d->refused = !d->real;
		return res;
	}
	res = make_real(d);
	if (res != CUDNN_STATUS_SUCCESS)
		return res;
	res = wh_raw_cudnnBackendFinalize((cudnnBackendDescriptor_t)d->real);
	if (res != CUDNN_STATUS_SUCCESS && want->listed)
		wh_failure_keep(want, res);
	return res;
}

static cudnnStatus_t finalize(struct descriptor *d)
{
	struct wh_content want, *c;
	cudnnStatus_t res;

	if (d->content)
		return CUDNN_STATUS_BAD_PARAM;
	want = like(d);
	c = want.listed ? wh_content_find(&want) : NULL;
	if (c) {
		wh_records_end(&d->records);
		become(d, c);
		return CUDNN_STATUS_SUCCESS;
	}
	res = finalize_real(d, &want);
	if (res != CUDNN_STATUS_SUCCESS) {
		d->odd = true;
		return res;
	}
	want.real = d->real;
	c = wh_content_new(&want);
	if (!c)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	d->records = (struct wh_records) { 0 };
	d->real = 0;
	become(d, c);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
	struct descriptor *d = find(descriptor);

	return d ? finalize(d) : wh_cudnn_pack_finalize(descriptor);
}

/* --- Its life ---------------------------------------------------------------------- */

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType,
					   cudnnBackendDescriptor_t *descriptor)
{
	struct descriptor *d = NULL;
	cudnnStatus_t res;
	CUresult cu;

	if (!descriptor)
		return wh_raw_cudnnBackendCreateDescriptor(descriptorType, descriptor);
	cu = wh_library_prepare(&wh_cudnn_library);
	if (cu != CUDA_SUCCESS)
		return wh_cudnn_lost(cu);
	if (descriptorType == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
		return wh_cudnn_pack_create(descriptor);
	d = take(descriptorType);
	if (!d)
		return wh_raw_cudnnBackendCreateDescriptor(descriptorType, descriptor);
	/* Is there such a type? */
	res = wh_steps_known(d->hash) ? CUDNN_STATUS_SUCCESS : make_real(d);
	if (res == CUDNN_STATUS_SUCCESS)
		*descriptor = (cudnnBackendDescriptor_t)d->name.id;
	else
		drop(d);
	return res;
}

/* It is as it was made. */
cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor)
{
	struct descriptor *d = find(descriptor);
	cudnnStatus_t res;
	uint64_t real;

	if (d) {
		clear(d);
		return CUDNN_STATUS_SUCCESS;
	}
	res = wh_cudnn_real(descriptor, &real);
	return res ? res : wh_raw_cudnnBackendInitialize((cudnnBackendDescriptor_t)real);
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
	struct descriptor *d = find(descriptor);

	if (!d)
		return wh_cudnn_pack_destroy(descriptor);
	drop(d);
	return CUDNN_STATUS_SUCCESS;
}

/* --- Getting ----------------------------------------------------------------------- */

#define BLANK_MOST	1024

/* Nothing was done to any of them but that they were made, and all are different ones. */
static bool blank(void *const *descriptor, uint64_t n)
{
	const struct descriptor *d;
	uint64_t i, j;

	if (n > BLANK_MOST)
		return false;
	for (i = 0; i < n; i++) {
		d = find(descriptor[i]);
		if (!d || d->content || d->odd || d->records.size)
			return false;
		for (j = 0; j < i; j++)
			if (descriptor[j] == descriptor[i])
				return false;
	}
	return true;
}

static bool of_types(void *const *descriptor, struct wh_content *const *content, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		if (find(descriptor[i])->type != content[i]->type)
			return false;
	return true;
}

/* Descriptors that the program wants to have filled, by an answer that was given before. */
static bool recall_filled(const struct wh_content *about, const struct wh_question *q,
			  int64_t *count, void *const *descriptor)
{
	struct wh_content *content[BLANK_MOST];
	uint64_t came = 0, i;
	bool ok;

	*count = blank(descriptor, q->n) ? wh_memo_recall(about, q, &came, content) : -1;
	ok = *count >= 0 && of_types(descriptor, content, came);
	for (i = 0; i < came; i++) {
		if (ok)
			become(find(descriptor[i]), content[i]);
		else
			wh_content_release(content[i]);
	}
	return ok;
}

/* The library has filled this one: it is finalized, and like no other that is set. */
static struct wh_content *filled(struct descriptor *d, uint64_t hash)
{
	struct wh_content want = like(d), *c;

	want.listed = false;
	want.hash = hash;
	c = wh_content_new(&want);
	if (!c) {
		d->odd = true;
		return NULL;
	}
	d->records = (struct wh_records) { 0 };
	d->real = 0;
	become(d, c);
	return c;
}

/* They were blank. */
static void keep_filled(struct wh_content *about, const struct wh_question *q, int64_t count,
			void *const *descriptor, uint64_t came)
{
	struct wh_content **content = malloc((came + 1) * sizeof(*content)), *c;
	uint64_t hash = wh_cudnn_mix(wh_cudnn_mix(about->hash, q->name), q->n), i, n = 0;

	for (i = 0; i < came; i++) {
		c = filled(find(descriptor[i]), wh_cudnn_mix(hash, i));
		if (content && c)
			content[n++] = c;
	}
	if (content && n == came)
		wh_memo_keep(about, q, count, came, content);
	free(content);
}

/* The library fills those that the program made; where it put others, these are what came. */
static cudnnStatus_t fill(struct wh_content *about, uint64_t real, const struct wh_question *q,
			  int64_t *count, void **descriptor)
{
	const bool fresh = about && blank(descriptor, q->n);
	uint64_t *number = malloc((q->n + 1) * 2 * sizeof(*number)), came = 0, i;
	struct descriptor *d;
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
	if (fresh && same && res == CUDNN_STATUS_SUCCESS) {
		keep_filled(about, q, *count, descriptor, came);
		came = 0;
	}
	for (i = 0; i < (uint64_t)q->n; i++) {
		d = find(descriptor[i]);
		if (d && !(fresh && same))
			d->odd = true;
		if (i < came && number[i] != number[q->n + i])
			descriptor[i] = (void *)number[i];
	}
	free(number);
	return res;
}

static cudnnStatus_t get(cudnnBackendDescriptor_t descriptor, const struct wh_question *q,
			 int64_t *count, void *out)
{
	const bool fills = q->elements && q->type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
	const struct descriptor *d = find(descriptor);
	struct wh_content *about = d ? d->content : NULL;
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
