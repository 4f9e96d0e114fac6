// SPDX-License-Identifier: Apache-2.0
/*
 * Counters of the hardware, if the administrator has allowed them to the tenant. The genuine CUPTI
 * of this process counts; here a request is taken apart and checked. Objects have handles, images
 * have seals (cupti_seal.c), and all sizes have bounds.
 */
#include "cupti_counters.h"

#include <stdlib.h>

_Static_assert(WH_H_CUPTI_TYPES <= WH_H_cupti_END + 4, "the line `types` of the description");

/* --- Requests --------------------------------------------------------------------------- */

/* The names stand one after the other; each has its NUL, and the last byte is one. */
static bool find_names(struct wh_counting *c, const char *names)
{
	size_t at = 0, n = 0;

	if (c->q->names_bytes && names[c->q->names_bytes - 1])
		return false;
	for (; at < c->q->names_bytes && n < c->q->names; n++) {
		c->name[n] = names + at;
		at += strlen(names + at) + 1;
	}
	return n == c->q->names && at == c->q->names_bytes;
}

static bool take_images(struct wh_counting *c)
{
	unsigned int i;
	void *p;

	for (i = 0; i < WH_CUPTI_IMAGES; i++) {
		if (!c->q->image_bytes[i])
			continue;
		if (c->q->image_bytes[i] > WH_CUPTI_IMAGE_MOST ||
		    !wh_request_take(c->f, c->q->image_bytes[i], 1, &p))
			return false;
		c->image[i] = p;
	}
	return true;
}

static bool take_apart(struct wh_counting *c)
{
	void *names;

	c->f->pos = WH_WIRE_FIXED(*c->q);
	return c->q->names <= WH_CUPTI_NAMES && c->q->names_bytes <= WH_CUPTI_NAMES_MOST &&
	       c->q->text_bytes <= WH_CUPTI_NAMES_MOST &&
	       wh_request_take(c->f, c->q->names_bytes, 1, &names) && find_names(c, names) &&
	       wh_request_take_string(c->f, c->q->text_bytes, &c->text) && take_images(c);
}

bool wh_count_given(const struct wh_counting *c, unsigned int i, enum wh_seal kind, size_t *size)
{
	if (c->q->image_bytes[i] <= WH_CUPTI_SEAL)
		return false;
	*size = c->q->image_bytes[i] - WH_CUPTI_SEAL;
	return wh_seal_good(kind, c->image[i], *size);
}

uint8_t *wh_count_keep(const uint8_t *image, size_t size)
{
	uint8_t *copy = aligned_alloc(16, (size + WH_CUPTI_SEAL + 15) & ~(size_t)15);

	return copy ? memcpy(copy, image, size) : NULL;
}

bool wh_count_context(const struct wh_counting *c, CUcontext *ctx)
{
	void *real;

	*ctx = NULL;
	if (!c->q->ctx)
		return true;
	if (!wh_handles_has(&c->s->handles, c->q->ctx, WH_H_CUcontext, &real))
		return false;
	*ctx = real;
	return true;
}

/* --- Answers ------------------------------------------------------------------------------ */

CUptiResult wh_count_back(struct wh_counting *c, const void *bytes, size_t n)
{
	void *to = NULL;

	c->r->bytes = n;
	c->r->follows = wh_room(c->f, n, 1, &to);
	if (c->r->follows)
		memcpy(to, bytes, n);
	return CUPTI_SUCCESS;
}

CUptiResult wh_count_names(struct wh_counting *c, const char *const *name, size_t n)
{
	size_t i, bytes = 0;
	void *to = NULL;

	for (i = 0; i < n; i++)
		bytes += (name[i] ? strlen(name[i]) : 0) + 1;
	c->r->r[0] = n;
	c->r->bytes = bytes;
	c->r->follows = wh_room(c->f, bytes, 1, &to);
	for (i = 0; c->r->follows && i < n; i++)
		to = stpcpy(to, name[i] ? name[i] : "") + 1;
	return CUPTI_SUCCESS;
}

bool wh_count_image(struct wh_counting *c, size_t size, uint8_t **image)
{
	void *to = NULL;

	c->r->bytes = size + WH_CUPTI_SEAL;
	c->r->follows = wh_room(c->f, c->r->bytes, 1, &to);
	*image = to;
	return c->r->follows;
}

/* --- Functions of the profiler ----------------------------------------------------------- */

static bool allowed_once;	/* something may be there to be ended */

static CUptiResult may(struct wh_counting *c)
{
	(void)c;
	return CUPTI_SUCCESS;
}

static CUptiResult initialize(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Initialize_Params, p);

	return WH_COUNT(c, cuptiProfilerInitialize, &p);
}

static CUptiResult deinitialize(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_DeInitialize_Params, p);

	return WH_COUNT(c, cuptiProfilerDeInitialize, &p);
}

static bool is_device(const struct wh_counting *c)
{
	return c->q->n[0] < WH_TENANT_DEVICES && !wh_device_hidden(c->s, (int)c->q->n[0]);
}

/* Of samples it says that the system has disabled them: they are not served. */
static CUptiResult supported(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_DeviceSupported_Params, p);
	CUptiResult res;

	if (!is_device(c))
		return CUPTI_ERROR_INVALID_DEVICE;
	if (c->q->n[1] >= CUPTI_PROFILER_UNKNOWN)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.cuDevice = (CUdevice)c->q->n[0];
	p.api = (CUpti_Profiler_API)c->q->n[1];
	res = WH_COUNT(c, cuptiProfilerDeviceSupported, &p);
	if (p.api != CUPTI_PROFILER_RANGE_PROFILING &&
	    p.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
		p.isSupported = CUPTI_PROFILER_CONFIGURATION_DISABLED;
	c->r->r[0] = p.isSupported;
	c->r->r[1] = p.architecture;
	c->r->r[2] = p.sli;
	c->r->r[3] = p.vGpu;
	c->r->r[4] = p.confidentialCompute;
	c->r->r[5] = p.cmp;
	c->r->r[6] = p.wsl;
	return res;
}

static CUptiResult chip(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Device_GetChipName_Params, p);
	CUptiResult res;

	if (!is_device(c))
		return CUPTI_ERROR_INVALID_DEVICE;
	p.deviceIndex = c->q->n[0];
	res = WH_COUNT(c, cuptiDeviceGetChipName, &p);
	return res == CUPTI_SUCCESS ? wh_count_names(c, &p.pChipName, 1) : res;
}

static CUptiResult availability(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, p);
	CUptiResult res;
	size_t size;

	if (!wh_count_context(c, &p.ctx))
		return CUPTI_ERROR_INVALID_CONTEXT;
	res = WH_COUNT(c, cuptiProfilerGetCounterAvailability, &p);
	size = p.counterAvailabilityImageSize;
	if (res != CUPTI_SUCCESS || size > WH_CUPTI_IMAGE_MOST - WH_CUPTI_SEAL)
		return res != CUPTI_SUCCESS ? res : CUPTI_ERROR_OUT_OF_MEMORY;
	if (!wh_count_image(c, size, &p.pCounterAvailabilityImage))
		return CUPTI_SUCCESS;
	res = WH_COUNT(c, cuptiProfilerGetCounterAvailability, &p);
	if (res == CUPTI_SUCCESS &&
	    !wh_seal_put(WH_SEAL_AVAILABILITY, p.pCounterAvailabilityImage, size))
		res = CUPTI_ERROR_UNKNOWN;
	return res;
}

static wh_counting_fn *const of_profiler[] = {
	[WH_CUPTI_MAY] = may,
	[WH_CUPTI_INITIALIZE] = initialize,
	[WH_CUPTI_DEINITIALIZE] = deinitialize,
	[WH_CUPTI_SUPPORTED] = supported,
	[WH_CUPTI_CHIP] = chip,
	[WH_CUPTI_AVAILABILITY] = availability,
};

/* --- Permission --------------------------------------------------------------------------- */

/* What was begun while it was allowed may be ended. */
static bool ends(uint32_t op)
{
	return op == WH_CUPTI_DEINITIALIZE || op == WH_CUPTI_HOST_END || op == WH_CUPTI_RANGE_END ||
	       op == WH_CUPTI_RANGE_STOP;
}

/* The administrator may take it back at any time. */
static bool is_allowed(const struct wh_session *s, uint32_t op)
{
	if (__atomic_load_n(&s->limits.page->counters, __ATOMIC_RELAXED))
		allowed_once = true;
	else if (!allowed_once || !ends(op))
		return false;
	return true;
}

/* The driver has the last word, and says it by the same error. */
static void say_who_refuses(void)
{
	static bool said;

	if (said)
		return;
	said = true;
	fprintf(wh_messages(),
		"warn: worker: the driver keeps counters for administrators (its module's parameter "
		"NVreg_RestrictProfilingToAdminUsers)\n");
	fflush(wh_messages());
}

static wh_counting_fn *function_of(uint32_t op)
{
	wh_counting_fn *run = wh_counting_host(op);

	if (!run)
		run = wh_counting_range(op);
	return run || op >= sizeof(of_profiler) / sizeof(*of_profiler) ? run : of_profiler[op];
}

static CUptiResult answer(struct wh_counting *c)
{
	wh_counting_fn *run = function_of(c->q->op);
	CUptiResult res = CUPTI_ERROR_INVALID_PARAMETER;

	c->name = calloc(WH_CUPTI_NAMES, sizeof(*c->name));
	if (!c->name)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	if (run && take_apart(c))
		res = run(c);
	free(c->name);
	if (res == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
		say_who_refuses();
	return res;
}

int32_t wh_do_whCuptiCounters(struct wh_session *s, struct wh_frame *f)
{
	struct wh_counting c = {
		.s = s, .f = f, .q = f->req, .l = wh_library_functions(s, WH_LIB_cupti),
	};

	if (f->req_size < sizeof(*c.q))
		return CUPTI_ERROR_INVALID_PARAMETER;
	c.r = wh_reply(f, sizeof(*c.r));
	return is_allowed(s, c.q->op) ? answer(&c) : CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
}
