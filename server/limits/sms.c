// SPDX-License-Identifier: Apache-2.0
/*
 * The spatial SM limit: contexts on a part of a device's SMs, by green contexts. The server says
 * how a device is split into groups (sm_split.c) and which of them a tenant has, so that tenants
 * need not share. If the server says nothing, the split is the driver's own, and the first groups
 * are taken. The client gets such a context wherever it asks for one, the primary one included. A
 * change of the limit takes effect for contexts made later.
 */
#include "limits/charge.h"
#include "limits/ipc.h"
#include "limits/limits.h"
#include "limits/sm_split.h"

#include <stdlib.h>

#define MAX_CONTEXTS	64u

struct part {
	struct wh_sm_parts all;
	CUdevResource mine[WH_SM_GROUPS];
	uint64_t groups;
	unsigned int chosen;
	unsigned int sms;
};

struct wh_sms_state {
	/* The part of each device when it was last asked for. */
	struct {
		uint64_t groups;
		uint32_t size, loose;
		uint32_t number;
	} part[WH_TENANT_DEVICES];
	/* The contexts made here, real and green. */
	struct {
		CUcontext ctx;
		CUgreenCtx green;
		CUdevice dev;
		uint32_t part;		/* its number, as wh_sms_part() says it; 0: not known */
		bool primary;
		/* for a primary context: how often the client retained it */
		uint32_t retained;
	} made[MAX_CONTEXTS];
};

bool wh_sms_limited(struct wh_session *s, CUdevice dev)
{
	const struct wh_device_limit *l;

	if (dev < 0 || dev >= WH_TENANT_DEVICES || !s->limits.usage)
		return false;
	if (s->limits.seen != __atomic_load_n(&s->limits.page->sequence, __ATOMIC_ACQUIRE))
		wh_limits_reread(s);
	l = &s->limits.limit[dev];
	return l->sm_percent && l->sm_percent < 100 && l->sm_policy & WH_SM_SPATIAL;
}

static CUresult split(struct wh_session *s, CUdevice dev, struct wh_sm_parts *p)
{
	const struct wh_device_limit *l = &s->limits.limit[dev];
	wh_sm_splitter by_count = s->drv.cuDevSmResourceSplitByCount;
	CUdevResource all;
	CUresult res;

	if (!s->drv.cuDeviceGetDevResource || !by_count)
		return wh_missing(s, "cuDevSmResourceSplitByCount, for a spatial SM limit");
	res = s->drv.cuDeviceGetDevResource(dev, &all, CU_DEV_RESOURCE_TYPE_SM);
	if (res != CUDA_SUCCESS)
		return res;
	return l->sm_group_size ?
	       wh_sm_split_by(by_count, &all, l->sm_group_size, l->sm_group_loose, p) :
	       wh_sm_split_least(by_count, &all, false, p);
}

/* The groups that the server would choose for the only tenant. */
static uint64_t first_groups(const struct wh_sm_split *s, unsigned int percent)
{
	return wh_sm_groups_choose(s, 0, wh_sm_groups_for(s->groups, percent, 0, 0), percent);
}

static CUresult choose(struct wh_session *s, CUdevice dev, struct part *p)
{
	const struct wh_device_limit *l = &s->limits.limit[dev];
	unsigned int i;
	uint64_t mask;
	CUresult res;

	p->chosen = p->sms = 0;
	p->groups = 0;
	res = split(s, dev, &p->all);
	if (res != CUDA_SUCCESS)
		return res;
	mask = l->sm_groups ? l->sm_groups : first_groups(&p->all.is, l->sm_percent);
	for (i = 0; i < p->all.is.groups; i++) {
		if (!(mask & 1ull << i))
			continue;
		p->groups |= 1ull << i;
		p->mine[p->chosen++] = p->all.group[i];
		p->sms += p->all.group[i].sm.smCount;
	}
	/* The server named groups that this device does not have. */
	return p->chosen ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

int wh_sms_count(struct wh_session *s, CUdevice dev, int all)
{
	struct part p;

	return wh_sms_limited(s, dev) && choose(s, dev, &p) == CUDA_SUCCESS ? (int)p.sms : all;
}

static struct wh_sms_state *state(struct wh_session *s)
{
	if (!s->limits.sms)
		s->limits.sms = calloc(1, sizeof(*s->limits.sms));
	return s->limits.sms;
}

/* Another number than before means other SMs. 0: there is no memory to remember it. */
static uint32_t number_of(struct wh_session *s, CUdevice dev, const struct part *p)
{
	struct wh_sms_state *m = state(s);

	if (!m)
		return 0;
	if (!m->part[dev].number || m->part[dev].groups != p->groups ||
	    m->part[dev].size != p->all.is.size || m->part[dev].loose != p->all.is.loose) {
		m->part[dev].groups = p->groups;
		m->part[dev].size = p->all.is.size;
		m->part[dev].loose = p->all.is.loose;
		m->part[dev].number++;
	}
	return m->part[dev].number;
}

static int find(struct wh_sms_state *m, CUcontext ctx, CUdevice dev, bool primary)
{
	unsigned int i;

	for (i = 0; m && i < MAX_CONTEXTS; i++)
		if (m->made[i].ctx && (primary ? m->made[i].primary && m->made[i].dev == dev :
						 m->made[i].ctx == ctx))
			return (int)i;
	return -1;
}

static CUresult make_green(struct wh_session *s, CUdevice dev, struct part *p, CUgreenCtx *green)
{
	CUdevResourceDesc desc;
	CUresult res;

	if (!s->drv.cuDevResourceGenerateDesc || !s->drv.cuGreenCtxCreate ||
	    !s->drv.cuGreenCtxDestroy || !s->drv.cuCtxFromGreenCtx)
		return wh_missing(s, "cuGreenCtxCreate, for a spatial SM limit");
	res = s->drv.cuDevResourceGenerateDesc(&desc, p->mine, p->chosen);
	return res == CUDA_SUCCESS ?
	       s->drv.cuGreenCtxCreate(green, desc, dev, CU_GREEN_CTX_DEFAULT_STREAM) : res;
}

static CUresult make(struct wh_session *s, CUdevice dev, CUgreenCtx *green, CUcontext *ctx,
		     uint32_t *number)
{
	struct part p;
	CUresult res = choose(s, dev, &p);

	if (res == CUDA_SUCCESS)
		res = make_green(s, dev, &p, green);
	if (res != CUDA_SUCCESS)
		return res;
	res = s->drv.cuCtxFromGreenCtx(ctx, *green);
	if (res != CUDA_SUCCESS)
		s->drv.cuGreenCtxDestroy(*green);
	else
		s->limits.account->device[dev].sms_granted = p.sms;
	*number = number_of(s, dev, &p);
	return res;
}

static CUresult add(struct wh_session *s, CUdevice dev, bool primary, CUcontext *ctx)
{
	struct wh_sms_state *m = state(s);
	CUresult res;
	int i;

	for (i = 0; m && i < (int)MAX_CONTEXTS && m->made[i].ctx; i++)
		;
	if (!m || i == (int)MAX_CONTEXTS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	res = make(s, dev, &m->made[i].green, ctx, &m->made[i].part);
	if (res != CUDA_SUCCESS)
		return res;
	m->made[i].ctx = *ctx;
	m->made[i].dev = dev;
	m->made[i].primary = primary;
	return CUDA_SUCCESS;
}

CUresult wh_sms_primary(struct wh_session *s, CUdevice dev, CUcontext *ctx)
{
	struct wh_sms_state *m = s->limits.sms;
	int i = find(m, NULL, dev, true);
	CUresult res;

	if (i >= 0) {
		*ctx = m->made[i].ctx;
		m->made[i].retained++;
		return CUDA_SUCCESS;
	}
	if (!wh_sms_limited(s, dev))
		return CUDA_SUCCESS;
	/*
	 * The primary context was in use before the limit: it stays what it is, because the program
	 * must not have two. The worker itself holds none.
	 */
	if (wh_handles_find(&s->handles, *ctx, WH_H_CUcontext))
		return CUDA_SUCCESS;
	res = add(s, dev, true, ctx);
	if (res != CUDA_SUCCESS)
		s->drv.cuDevicePrimaryCtxRelease_v2(dev);
	else
		s->limits.sms->made[find(s->limits.sms, NULL, dev, true)].retained = 1;
	return res;
}

CUcontext wh_sms_primary_of(struct wh_session *s, CUdevice dev)
{
	int i = find(s->limits.sms, NULL, dev, true);

	return i < 0 ? NULL : s->limits.sms->made[i].ctx;
}

static void unload_modules(struct wh_session *s, uint64_t ctx)
{
	const struct wh_handle *e;
	uint32_t i;

	for (i = 1; s->drv.cuModuleUnload && i < s->handles.used; i++) {
		e = &s->handles.entry[i];
		if (e->real && e->type == WH_H_CUmodule && e->owner == wh_handle_index(ctx))
			s->drv.cuModuleUnload((CUmodule)e->real);
	}
}

/*
 * Ends what was made in a context, as it would end with the context. For the driver, memory and
 * code of a limited context belong to the primary one, and stay as long as any other context stands
 * on that.
 */
void wh_sms_empty(struct wh_session *s, CUcontext ctx)
{
	uint64_t id;

	if (!wh_handles_find(&s->handles, ctx, WH_H_CUcontext) ||
	    s->drv.cuCtxSetCurrent(ctx) != CUDA_SUCCESS)
		return;
	id = wh_handles_put(&s->handles, ctx, WH_H_CUcontext, 0);
	wh_mem_end_with(s, id);
	wh_ipc_end_with(s, id);
	unload_modules(s, id);
	s->drv.cuCtxSetCurrent(NULL);
	wh_self.ctx = WH_CTX_UNKNOWN;
}

/* If the driver has ended it with the primary context already, it is gone all the same. */
static CUresult end(struct wh_session *s, int i)
{
	CUresult res = s->drv.cuGreenCtxDestroy(s->limits.sms->made[i].green);

	s->limits.sms->made[i].ctx = NULL;
	return res;
}

/*
 * A green context retains the primary one, so whether that is active says nothing: the number of
 * times that the client has retained it counts.
 */
bool wh_sms_primary_released(struct wh_session *s, CUdevice dev)
{
	int i = find(s->limits.sms, NULL, dev, true);

	if (i < 0)
		return true;
	if (s->limits.sms->made[i].retained)
		s->limits.sms->made[i].retained--;
	return !s->limits.sms->made[i].retained;
}

void wh_sms_primary_gone(struct wh_session *s, CUdevice dev)
{
	int i = find(s->limits.sms, NULL, dev, true);

	if (i >= 0)
		end(s, i);
}

/*
 * The driver does not reset a primary context on which others stand. To the client only the one in
 * its place is the primary one, and that ends when the call is done (session/context.c).
 */
bool wh_sms_reset(struct wh_session *s, CUdevice dev, CUresult *res)
{
	const struct wh_sms_state *m = s->limits.sms;
	unsigned int i;

	for (i = 0; m && i < MAX_CONTEXTS; i++)
		if (m->made[i].ctx && m->made[i].dev == dev) {
			*res = CUDA_SUCCESS;
			return true;
		}
	return false;
}

bool wh_sms_create(struct wh_session *s, CUcontext *ctx, CUdevice dev, CUresult *res)
{
	if (!wh_sms_limited(s, dev))
		return false;
	*res = add(s, dev, false, ctx);
	return true;
}

bool wh_sms_destroy(struct wh_session *s, CUcontext ctx, CUresult *res)
{
	int i = find(s->limits.sms, ctx, 0, false);

	if (i < 0)
		return false;
	/* The driver gives the same answer for a primary context. */
	*res = CUDA_ERROR_INVALID_CONTEXT;
	if (s->limits.sms->made[i].primary)
		return true;
	wh_sms_empty(s, ctx);
	*res = end(s, i);
	return true;
}

/* --- Green contexts of the program's own -------------------------------------------- */

uint32_t wh_sms_part(struct wh_session *s, CUdevice dev)
{
	struct part p;

	return choose(s, dev, &p) == CUDA_SUCCESS ? number_of(s, dev, &p) : 0;
}

uint32_t wh_sms_part_of(struct wh_session *s, CUcontext ctx, CUdevice *dev)
{
	int i = find(s->limits.sms, ctx, 0, false);

	if (i < 0)
		return 0;
	*dev = s->limits.sms->made[i].dev;
	return s->limits.sms->made[i].part;
}

/* Several groups are one resource only to a context on all of them. */
static CUresult join(struct wh_session *s, CUdevice dev, struct part *p, CUdevResource *r)
{
	CUgreenCtx green;
	CUresult res;

	if (!s->drv.cuGreenCtxGetDevResource)
		return wh_missing(s, "cuGreenCtxGetDevResource, for a spatial SM limit");
	res = make_green(s, dev, p, &green);
	if (res != CUDA_SUCCESS)
		return res;
	res = s->drv.cuGreenCtxGetDevResource(green, r, CU_DEV_RESOURCE_TYPE_SM);
	s->drv.cuGreenCtxDestroy(green);
	return res;
}

bool wh_sms_resource(struct wh_session *s, CUdevice dev, CUdevResource *r, uint32_t *number,
		     CUresult *res)
{
	struct part p;

	if (!wh_sms_limited(s, dev))
		return false;
	*res = choose(s, dev, &p);
	if (*res != CUDA_SUCCESS)
		return true;
	*number = number_of(s, dev, &p);
	if (p.chosen == 1)
		*r = p.mine[0];
	else
		*res = join(s, dev, &p, r);
	return true;
}

/* --- Contexts in the driver's answers ----------------------------------------------- */

CUdevice wh_device_of_context(struct wh_session *s, CUcontext ctx)
{
	CUdevice dev = -1;
	CUcontext old;

	if (s->drv.cuCtxGetDevice_v2) {
		if (s->drv.cuCtxGetDevice_v2(&dev, ctx) != CUDA_SUCCESS)
			dev = -1;
	} else if (s->drv.cuCtxPushCurrent_v2 && s->drv.cuCtxPopCurrent_v2 &&
		   s->drv.cuCtxGetDevice && s->drv.cuCtxPushCurrent_v2(ctx) == CUDA_SUCCESS) {
		if (s->drv.cuCtxGetDevice(&dev) != CUDA_SUCCESS)
			dev = -1;
		s->drv.cuCtxPopCurrent_v2(&old);
	}
	return dev;
}

/*
 * The context that the client has of a device in place of the primary one, to which memory belongs
 * for the driver. It is the one that the client got for it, or else the current one, or else any.
 */
static CUcontext place_of(struct wh_session *s, CUdevice dev)
{
	struct wh_sms_state *m = s->limits.sms;
	CUcontext current = NULL, any = NULL;
	unsigned int i;

	for (i = 0; m && i < MAX_CONTEXTS; i++) {
		if (!m->made[i].ctx || m->made[i].dev != dev)
			continue;
		if (m->made[i].primary)
			return m->made[i].ctx;
		if (wh_handles_get(&s->handles, wh_self.ctx, WH_H_CUcontext) == m->made[i].ctx)
			current = m->made[i].ctx;
		any = m->made[i].ctx;
	}
	return current ? current : any;
}

/*
 * If the driver names a context that no call has given to the client, it is the primary one. Where
 * contexts have only a part of the SMs, the primary one would have all of them.
 */
void *wh_context_shown(struct wh_session *s, void *real)
{
	CUcontext place;
	CUdevice dev;

	if (!real || wh_handles_find(&s->handles, real, WH_H_CUcontext))
		return real;
	/* A session without a tenant has no share. */
	if (!s->limits.usage)
		return real;
	dev = wh_device_of_context(s, real);
	place = dev < 0 ? NULL : place_of(s, dev);
	if (place)
		return place;
	return dev < 0 || wh_sms_limited(s, dev) ? NULL : real;
}

static int find_green(const struct wh_sms_state *m, CUgreenCtx green)
{
	unsigned int i;

	for (i = 0; m && green && i < MAX_CONTEXTS; i++)
		if (m->made[i].ctx && m->made[i].green == green)
			return (int)i;
	return -1;
}

/* The client need not know that its contexts are green ones. */
void *wh_green_shown(struct wh_session *s, void *real)
{
	if (find_green(s->limits.sms, real) >= 0)
		return NULL;
	return wh_handles_find(&s->handles, real, WH_H_CUgreenCtx) ? real : NULL;
}

CUresult wh_sms_of_stream(struct wh_session *s, CUcontext *ctx, CUgreenCtx *green)
{
	int i = find_green(s->limits.sms, *green);

	if (i < 0)
		return CUDA_SUCCESS;
	*ctx = s->limits.sms->made[i].ctx;
	*green = NULL;
	return CUDA_SUCCESS;
}

/*
 * If no context is current, libraries make the primary one current and work there. Under a limit
 * they find a limited one instead.
 */
CUresult wh_sms_shelter(struct wh_session *s)
{
	CUcontext ctx, place;
	CUresult res;
	CUdevice dev;

	for (dev = 0; dev < WH_TENANT_DEVICES; dev++)
		if (!wh_is_hidden(s->limits.page->hidden, dev) && wh_sms_limited(s, dev))
			break;
	if (dev == WH_TENANT_DEVICES)
		return CUDA_SUCCESS;
	place = place_of(s, dev);
	if (!place) {
		res = s->drv.cuDevicePrimaryCtxRetain(&ctx, dev);
		if (res == CUDA_SUCCESS)
			res = add(s, dev, true, &place);
		/* The green context has retained the primary one, too. */
		if (s->drv.cuDevicePrimaryCtxRelease_v2)
			s->drv.cuDevicePrimaryCtxRelease_v2(dev);
		if (res != CUDA_SUCCESS)
			return res;
	}
	wh_self.ctx = WH_CTX_UNKNOWN;
	return s->drv.cuCtxSetCurrent(place);
}

void wh_sms_close(struct wh_session *s)
{
	free(s->limits.sms);
	s->limits.sms = NULL;
}
