// SPDX-License-Identifier: Apache-2.0
/*
 * Resources of devices (CUdevResource). Besides what everybody may read, these structs hold bytes
 * of the driver's own, which the driver trusts when it gets them back. So these bytes stay here,
 * and the client's copy has a number in their place. When a copy comes back, only that number
 * counts.
 */
#include "session/handler.h"

#include <stdlib.h>

#define MOST	4096u

struct wh_resources {
	uint32_t n;
	CUdevResource real[MOST];
};

/* Stands in place of the driver's own bytes. */
struct number {
	uint64_t magic, n;
};
#define MAGIC	0x6563727573657272ull

_Static_assert(sizeof(struct number) <= sizeof(((CUdevResource *)0)->_internal_padding),
	       "room for the number");

/* Keeps a resource. An equal one gets its old number. -1: there are too many. */
static int64_t keep(struct wh_session *s, const CUdevResource *r)
{
	struct wh_resources *t = s->resources;
	uint32_t i;

	if (!t)
		t = s->resources = calloc(1, sizeof(*t));
	if (!t)
		return -1;
	for (i = 0; i < t->n; i++)
		if (!memcmp(&t->real[i], r, sizeof(*r)))
			return i;
	if (t->n == MOST)
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

void wh_resources_free(struct wh_session *s)
{
	free(s->resources);
	s->resources = NULL;
}
