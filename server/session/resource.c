// SPDX-License-Identifier: Apache-2.0
/*
 * Resources of devices (CUdevResource). Besides what everybody may read, these structs hold bytes
 * of the driver's own, which the driver trusts when it gets them back. So these bytes stay here,
 * and the client's copy has a number in their place. When a copy comes back, only that number
 * counts.
 *
 * A tenant may have only a part of a device's SMs (server/limits/sms.c). So each resource is marked
 * with the part in which it is known to lie: what the client is told to be the device's resource,
 * and what that is split into. Descriptors of resources, and green contexts that are made from
 * these, have the mark, too. A tenant makes green contexts only of what lies in the part that it
 * has at that time.
 */
#include "session/handler.h"

#include <stdlib.h>

#define MOST	4096u

/* For each device the number of the part; 0: not known to lie in one. */
struct inside {
	uint32_t part[WH_TENANT_DEVICES];
};

struct wh_resources {
	uint32_t n;
	CUdevResource real[MOST];
	struct inside in[MOST];
	/* Descriptors and green contexts. A new one may have the address of one that has ended. */
	uint32_t objects;
	struct {
		const void *real;
		struct inside in;
	} object[MOST];
};

/* Stands in place of the driver's own bytes. */
struct number {
	uint64_t magic, n;
};
#define MAGIC	0x6563727573657272ull

_Static_assert(sizeof(struct number) <= sizeof(((CUdevResource *)0)->_internal_padding),
	       "room for the number");

static int64_t find(const struct wh_resources *t, const CUdevResource *r)
{
	uint32_t i;

	for (i = 0; t && i < t->n; i++)
		if (!memcmp(&t->real[i], r, sizeof(*r)))
			return i;
	return -1;
}

/* Keeps a resource. An equal one gets its old number. -1: there are too many. */
static int64_t keep(struct wh_session *s, const CUdevResource *r)
{
	struct wh_resources *t = s->resources;
	int64_t i = find(t, r);

	if (i >= 0)
		return i;
	if (!t)
		t = s->resources = calloc(1, sizeof(*t));
	if (!t || t->n == MOST)
		return -1;
	t->real[t->n] = *r;
	return t->n++;
}

/* A resource that cannot be kept, or is of an unknown kind, is shown as none. */
void wh_out_CUdevResource(struct wh_session *s, CUdevResource *r)
{
	int64_t i = r->type == CU_DEV_RESOURCE_TYPE_SM ? keep(s, r) : -1;
	struct number n = { MAGIC, (uint64_t)i };
	CUdevSmResource sm = r->sm;

	memset(r, 0, sizeof(*r));
	if (i < 0)
		return;
	r->type = CU_DEV_RESOURCE_TYPE_SM;
	r->sm = sm;
	memcpy(r->_internal_padding, &n, sizeof(n));
}

CUresult wh_in_CUdevResource(struct wh_session *s, CUdevResource *r)
{
	struct number n;

	memcpy(&n, r->_internal_padding, sizeof(n));
	if (n.magic != MAGIC || !s->resources || n.n >= s->resources->n)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	*r = s->resources->real[n.n];
	return CUDA_SUCCESS;
}

/* --- Where a resource lies ---------------------------------------------------------- */

/* A resource lies in these parts, too. Of a device the newest part counts. */
static void lies_in(struct wh_session *s, const CUdevResource *r, const struct inside *in)
{
	int64_t i = r->type == CU_DEV_RESOURCE_TYPE_SM ? keep(s, r) : -1;
	struct inside *to;
	unsigned int dev;

	if (i < 0)
		return;
	to = &s->resources->in[i];
	for (dev = 0; dev < WH_TENANT_DEVICES; dev++)
		if (in->part[dev] > to->part[dev])
			to->part[dev] = in->part[dev];
}

static const struct inside *of_object(const struct wh_session *s, const void *real)
{
	const struct wh_resources *t = s->resources;
	uint32_t i;

	for (i = 0; t && i < t->objects; i++)
		if (t->object[i].real == real)
			return &t->object[i].in;
	return NULL;
}

/* Of an object that cannot be remembered nothing is known. */
static void remember(struct wh_session *s, const void *real, const struct inside *in)
{
	struct wh_resources *t = s->resources;
	uint32_t i;

	for (i = 0; t && i < t->objects && t->object[i].real != real; i++)
		;
	if (!t || i == MOST)
		return;
	t->object[i].real = real;
	t->object[i].in = *in;
	if (i == t->objects)
		t->objects++;
}

bool wh_resource_of_device(struct wh_session *s, CUdevice dev, CUdevResource *r,
			   CUdevResourceType type, CUresult *res)
{
	struct inside in = { { 0 } };

	/* The driver refuses a device that is not there. */
	if (!r || type != CU_DEV_RESOURCE_TYPE_SM || dev < 0 || dev >= WH_TENANT_DEVICES ||
	    !wh_sms_resource(s, dev, r, &in.part[dev], res))
		return false;
	if (*res == CUDA_SUCCESS)
		lies_in(s, r, &in);
	return true;
}

CUresult wh_resource_of_context(struct wh_session *s, CUcontext ctx, const CUdevResource *r)
{
	struct inside in = { { 0 } };
	CUdevice dev = 0;
	uint32_t part = wh_sms_part_of(s, ctx, &dev);

	in.part[dev] = part;
	lies_in(s, r, &in);
	return CUDA_SUCCESS;
}

CUresult wh_resource_of_green(struct wh_session *s, CUgreenCtx green, const CUdevResource *r)
{
	const struct inside *in = of_object(s, green);

	if (in)
		lies_in(s, r, in);
	return CUDA_SUCCESS;
}

CUresult wh_resource_split(struct wh_session *s, const CUdevResource *from, const CUdevResource *to,
			   uint32_t n, const CUdevResource *rest)
{
	int64_t i = from ? find(s->resources, from) : -1;
	struct inside in;
	uint32_t k;

	if (i < 0)
		return CUDA_SUCCESS;
	in = s->resources->in[i];
	for (k = 0; to && k < n; k++)
		lies_in(s, &to[k], &in);
	if (rest)
		lies_in(s, rest, &in);
	return CUDA_SUCCESS;
}

CUresult wh_resource_described(struct wh_session *s, CUdevResourceDesc desc,
			       const CUdevResource *of, uint32_t n)
{
	struct inside all = { { 0 } };
	const struct inside *in;
	unsigned int dev;
	uint32_t k;
	int64_t i;

	for (k = 0; of && k < n; k++) {
		i = find(s->resources, &of[k]);
		if (i < 0)
			return CUDA_ERROR_INVALID_RESOURCE_TYPE;
		in = &s->resources->in[i];
		for (dev = 0; dev < WH_TENANT_DEVICES; dev++)
			if (!k)
				all.part[dev] = in->part[dev];
			else if (all.part[dev] != in->part[dev])
				all.part[dev] = 0;
	}
	remember(s, desc, &all);
	return CUDA_SUCCESS;
}

CUresult wh_resource_taken(struct wh_session *s, CUgreenCtx green, CUdevResourceDesc desc)
{
	const struct inside *in = of_object(s, desc), none = { { 0 } };

	remember(s, green, in ? in : &none);
	return CUDA_SUCCESS;
}

/* Under a limit a green context may have SMs of the tenant's part alone. */
CUresult wh_check_cuGreenCtxCreate(struct wh_session *s, const struct wh_req_cuGreenCtxCreate *q)
{
	const struct inside *in;
	uint32_t part;
	void *desc;

	if (!wh_sms_limited(s, q->dev))
		return CUDA_SUCCESS;
	part = wh_sms_part(s, q->dev);
	in = wh_get(s, WH_H_CUdevResourceDesc, q->desc, &desc) ? of_object(s, desc) : NULL;
	return part && in && in->part[q->dev] == part ? CUDA_SUCCESS : CUDA_ERROR_NOT_PERMITTED;
}

void wh_resources_free(struct wh_session *s)
{
	free(s->resources);
	s->resources = NULL;
}
