// SPDX-License-Identifier: Apache-2.0
/*
 * Variant packs. A program makes one for each execution, sets it, finalizes it, executes a plan
 * with it and destroys it. Only the execution has to cross. So a pack is kept here, and its
 * contents are sent with each execution.
 *
 * A pack is kept if the library is sure to accept it. Whatever else is done to a pack (a bad
 * attribute, a question, a graph that is made of it) first makes a genuine pack in the worker,
 * which has the last word from then on. Owns the packs.
 */
#include "cudnn_stub.h"
#include "../names.h"

#include <stdlib.h>

#define PACKS	4096	/* alive at a time; more than these are made in the worker */
/* The type of an object in the worker is never that high. */
#define TAG	0xff00000000000000ULL

enum place { PLACE_DEVICE, PLACE_DATA, PLACE_VALUE };

struct pack {
	struct wh_name name;
	uint64_t real;		/* in the worker; 0: there is none */
	bool finalized;
	bool has_workspace;
	bool in_data;		/* a pointer points to the data area */
	uint32_t ids;
	uint32_t pointers;
	uint64_t workspace;
	int64_t id_of[WH_CUDNN_POINTERS];
	void *pointer[WH_CUDNN_POINTERS];
	uint8_t place[WH_CUDNN_POINTERS];
};

static struct wh_name *all[PACKS];
static struct wh_names packs = {
	.all = all,
	.most = PACKS,
	.size = sizeof(struct pack),
	.tag = TAG,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};
/* A pack gets only one genuine pack. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static void forget_all(void)
{
	pthread_mutex_init(&making, NULL);
	wh_names_forget(&packs);
}
WH_IN_CHILD(forget_all())

static struct pack *find(cudnnBackendDescriptor_t descriptor)
{
	return (struct pack *)wh_name_find(&packs, descriptor);
}

/* Returns 0 if there are too many. */
static uint64_t new_pack(void)
{
	struct pack *p = (struct pack *)wh_name_take(&packs);

	if (!p)
		return 0;
	p->real = p->ids = p->pointers = p->workspace = 0;
	p->finalized = p->has_workspace = p->in_data = false;
	wh_name_show(&packs, &p->name);
	return p->name.id;
}

static void drop(struct pack *p)
{
	wh_name_hide(&p->name);
	wh_name_give(&packs, &p->name);
}

/* --- Attributes --------------------------------------------------------------- */

static enum place place_of(const void *p)
{
	if (!p || wh_range_has((uintptr_t)p))
		return PLACE_DEVICE;
	return wh_library_in_data(p, 1) ? PLACE_DATA : PLACE_VALUE;
}

static bool set_pointers(struct pack *p, void *const *pointer, uint32_t n)
{
	uint32_t i;

	p->in_data = false;
	p->pointers = n;
	for (i = 0; i < n; i++) {
		p->pointer[i] = pointer[i];
		p->place[i] = place_of(pointer[i]);
		p->in_data |= p->place[i] == PLACE_DATA;
	}
	return true;
}

static bool set_workspace(struct pack *p, void *const *workspace)
{
	if (place_of(*workspace) == PLACE_VALUE)
		return false;
	p->workspace = (uintptr_t)*workspace;
	p->has_workspace = true;
	return true;
}

static bool set_ids(struct pack *p, const int64_t *id, uint32_t n)
{
	memcpy(p->id_of, id, n * sizeof(*id));
	p->ids = n;
	return true;
}

static bool known(const struct pack *p)
{
	return p && !__atomic_load_n(&p->real, __ATOMIC_ACQUIRE);
}

bool wh_cudnn_pack_set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
		       cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
	struct pack *p = find(descriptor);

	if (!known(p) || p->finalized || !elements || count < 1 || count > WH_CUDNN_POINTERS)
		return false;
	if (name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS && type == CUDNN_TYPE_INT64)
		return set_ids(p, elements, count);
	if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS && type == CUDNN_TYPE_VOID_PTR)
		return set_pointers(p, elements, count);
	return name == CUDNN_ATTR_VARIANT_PACK_WORKSPACE && type == CUDNN_TYPE_VOID_PTR &&
	       count == 1 && set_workspace(p, elements);
}

/* --- A genuine one ------------------------------------------------------------ */

/* Memory that was the device's at setting must not be read as the program's. */
static bool still_there(const struct pack *p)
{
	uint32_t i;

	for (i = 0; i < p->pointers; i++)
		if (p->place[i] != PLACE_VALUE && place_of(p->pointer[i]) == PLACE_VALUE)
			return false;
	return true;
}

static cudnnStatus_t set_all(const struct pack *p, cudnnBackendDescriptor_t real)
{
	const uint64_t id = (uintptr_t)real;
	cudnnStatus_t res = still_there(p) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;

	if (!res && p->ids)
		res = wh_cudnn_set(id, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, p->ids,
				   p->id_of);
	if (!res && p->pointers)
		res = wh_cudnn_set(id, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
				   p->pointers, p->pointer);
	if (!res && p->has_workspace)
		res = wh_cudnn_set(id, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
				   &p->workspace);
	if (!res && p->finalized)
		res = wh_raw_cudnnBackendFinalize(real);
	return res;
}

static cudnnStatus_t destroy_real(cudnnBackendDescriptor_t real)
{
	cudnnStatus_t res = wh_raw_cudnnBackendDestroyDescriptor(real);

	if (res == CUDNN_STATUS_SUCCESS)
		wh_cudnn_forget_values((uintptr_t)real);
	return res;
}

static cudnnStatus_t make_real(struct pack *p)
{
	cudnnBackendDescriptor_t real = NULL;
	cudnnStatus_t res;

	res = wh_raw_cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &real);
	if (res != CUDNN_STATUS_SUCCESS)
		return res;
	res = set_all(p, real);
	if (res == CUDNN_STATUS_SUCCESS)
		__atomic_store_n(&p->real, (uintptr_t)real, __ATOMIC_RELEASE);
	else
		destroy_real(real);
	return res;
}

cudnnStatus_t wh_cudnn_pack_real(cudnnBackendDescriptor_t descriptor, uint64_t *real)
{
	struct pack *p = find(descriptor);
	cudnnStatus_t res = CUDNN_STATUS_SUCCESS;

	*real = (uintptr_t)descriptor;
	if (!p)
		return CUDNN_STATUS_SUCCESS;
	if (known(p)) {
		pthread_mutex_lock(&making);
		if (known(p))
			res = make_real(p);
		pthread_mutex_unlock(&making);
	}
	*real = p->real;
	return res;
}

/* --- Its life ----------------------------------------------------------------- */

cudnnStatus_t wh_cudnn_pack_create(cudnnBackendDescriptor_t *descriptor)
{
	const uint64_t id = new_pack();

	if (!id)
		return wh_raw_cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
							   descriptor);
	*descriptor = (cudnnBackendDescriptor_t)id;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t wh_cudnn_pack_finalize(cudnnBackendDescriptor_t descriptor)
{
	struct pack *p = find(descriptor);
	cudnnStatus_t res;
	uint64_t real;

	if (known(p) && !p->finalized && p->ids == p->pointers) {
		p->finalized = true;
		return CUDNN_STATUS_SUCCESS;
	}
	res = wh_cudnn_pack_real(descriptor, &real);
	return res ? res : wh_raw_cudnnBackendFinalize((cudnnBackendDescriptor_t)real);
}

cudnnStatus_t wh_cudnn_pack_destroy(cudnnBackendDescriptor_t descriptor)
{
	struct pack *p = find(descriptor);
	cudnnStatus_t res = CUDNN_STATUS_SUCCESS;

	if (!p)
		return destroy_real(descriptor);
	if (p->real)
		res = destroy_real((cudnnBackendDescriptor_t)p->real);
	if (res == CUDNN_STATUS_SUCCESS)
		drop(p);
	return res;
}

/* --- Execution ---------------------------------------------------------------- */

/* A status may depend on how addresses are aligned: the result is 0 for NULL, else 1 to 9. */
static uint64_t alignment(uint64_t address)
{
	return address ? 1 + __builtin_ctzll(address | 256) : 0;
}

/*
 * Returns a hash of all that may decide about the status. The worker reads a value in the data
 * area only when it comes to it, and the program may change it as soon as the call returns. So
 * such a pack is like no other, and is waited for.
 */
static uint64_t about(const struct pack *p)
{
	static uint64_t unlike;
	uint64_t h = wh_mix(p->has_workspace, alignment(p->workspace));
	uint32_t i;

	if (p->in_data)
		return wh_mix(~0ULL, __atomic_add_fetch(&unlike, 1, __ATOMIC_RELAXED));
	for (i = 0; i < p->pointers; i++) {
		h = wh_mix(h, p->id_of[i]);
		h = wh_mix(h, p->place[i] == PLACE_VALUE ? 15 :
				    alignment((uintptr_t)p->pointer[i]));
	}
	return h;
}

static uint32_t values_of(const struct pack *p)
{
	uint32_t n = 0, i;

	for (i = 0; i < p->pointers; i++)
		n += p->place[i] == PLACE_VALUE;
	return n;
}

static void put_pack(struct wh_call *c, const struct pack *p)
{
	struct wh_cudnn_value *value;
	uint64_t *pointer;
	uint32_t i;

	wh_request_put(c, p->id_of, p->ids, sizeof(p->id_of[0]));
	pointer = wh_request_put(c, p->pointer, p->pointers, sizeof(p->pointer[0]));
	value = (void *)(c->msg + c->pos);
	for (i = 0; i < p->pointers; i++) {
		if (p->place[i] != PLACE_VALUE)
			continue;
		*value = (struct wh_cudnn_value) { .pointer = i };
		wh_cudnn_copy_value(value->bytes, p->pointer[i]);
		pointer[i] = 0;
		value++;
	}
}

static cudnnStatus_t execute(const struct wh_obj_cudnnHandle_t *handle, uint64_t plan,
			     const struct pack *p)
{
	const uint32_t values = values_of(p);
	struct wh_req_cudnnBackendExecute *q;
	cudnnStatus_t res;
	struct wh_call c;

	q = wh_cudnn_begin(&c, WH_CALL_cudnnBackendExecute,
			   WH_WIRE_FIXED(*q) + 2 * wh_wire_bytes(p->pointers, sizeof(uint64_t)) +
			   wh_wire_bytes(values, sizeof(struct wh_cudnn_value)));
	if (!q)
		return wh_cudnn_lost(c.result);
	memset(&q->hdr + 1, 0, sizeof(*q) - sizeof(q->hdr));
	q->hdr.null |= p->has_workspace ? WH_CUDNN_WORKSPACE : 0;
	q->handle = *handle;
	q->plan = plan;
	q->workspace = p->workspace;
	q->about = about(p);
	q->pointers = p->pointers;
	q->values = values;
	c.pos = WH_WIRE_FIXED(*q);
	put_pack(&c, p);
	res = wh_cudnn_post(&c, sizeof(*q), wh_word(struct wh_req_cudnnBackendExecute, workspace));
	wh_end(&c);
	return res;
}

static cudnnStatus_t execute_real(const struct wh_obj_cudnnHandle_t *handle, uint64_t plan,
				  uint64_t pack)
{
	struct wh_req_cudnnBackendExecute *q;
	cudnnStatus_t res;
	struct wh_call c;

	wh_cudnn_refresh(pack);
	q = wh_cudnn_begin(&c, WH_CALL_cudnnBackendExecute, WH_WIRE_FIXED(*q));
	if (!q)
		return wh_cudnn_lost(c.result);
	memset(&q->hdr + 1, 0, sizeof(*q) - sizeof(q->hdr));
	q->handle = *handle;
	q->plan = plan;
	q->pack = pack;
	res = wh_cudnn_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
				  cudnnBackendDescriptor_t variantPack)
{
	struct pack *p = find(variantPack);
	struct wh_obj_cudnnHandle_t o;
	uint64_t real, plan;
	cudnnStatus_t res;

	if (!variantPack || find(executionPlan) || !wh_pack_cudnnHandle_t(handle, &o))
		return CUDNN_STATUS_BAD_PARAM;
	res = wh_cudnn_real(executionPlan, &plan);
	if (res == CUDNN_STATUS_SUCCESS && known(p) && p->finalized)
		return execute(&o, plan, p);
	if (res == CUDNN_STATUS_SUCCESS)
		res = wh_cudnn_real(variantPack, &real);
	return res ? res : execute_real(&o, plan, real);
}
