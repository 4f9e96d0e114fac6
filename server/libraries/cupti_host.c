// SPDX-License-Identifier: Apache-2.0
/*
 * The host of CUPTI's profiler in the worker: which metrics a chip has, what has to be counted for
 * them, and what was counted. It needs no device, but the genuine library. An object may keep what
 * it was made of, so that is copied here, and lives as long as the object.
 */
#include "cupti_counters.h"

#include <stdlib.h>

#define HOSTS	16u	/* at a time: each has tables of its chip */

struct host {
	CUpti_Profiler_Host_Object *real;
	uint8_t *image;		/* of the counters that are available; NULL: none came */
	char *chip;
};

static unsigned int hosts;

static bool host_of(const struct wh_counting *c, CUpti_Profiler_Host_Object **real)
{
	const struct host *h = wh_handles_get(&c->s->handles, c->q->object, WH_H_CUPTI_HOST);

	*real = h ? h->real : NULL;
	return h;
}

/* Which counters the chip has is known by its name, or by an image of a device. */
static bool chip_of(const struct wh_counting *c, uint8_t **image, size_t *size)
{
	*image = c->image[0];
	*size = 0;
	return c->q->n[0] < CUPTI_PROFILER_TYPE_PROFILER_INVALID && (c->text || *image) &&
	       (!*image || wh_count_given(c, 0, WH_SEAL_AVAILABILITY, size));
}

static CUptiResult chips(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params, p);
	CUptiResult res = WH_COUNT(c, cuptiProfilerHostGetSupportedChips, &p);

	return res == CUPTI_SUCCESS ? wh_count_names(c, p.ppChipNames, p.numChips) : res;
}

static CUptiResult most(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params, p);
	CUptiResult res;
	size_t size;

	if (!chip_of(c, &p.pCounterAvailabilityImage, &size))
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.profilerType = (CUpti_ProfilerType)c->q->n[0];
	p.pChipName = c->text;
	res = WH_COUNT(c, cuptiProfilerHostGetMaxNumHardwareMetricsPerPass, &p);
	c->r->r[0] = p.maxMetricsPerPass;
	return res;
}

static void release(struct host *h)
{
	free(h->image);
	free(h->chip);
	free(h);
}

/* Returns an object with copies of what it is made of, but without the library's; or NULL. */
static struct host *host_from(const struct wh_counting *c, const uint8_t *image, size_t size)
{
	struct host *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->image = image ? wh_count_keep(image, size) : NULL;
	h->chip = c->text ? strdup(c->text) : NULL;
	if (!h->image == !image && !h->chip == !c->text)
		return h;
	release(h);
	return NULL;
}

/* Ends the library's object. Only then may the copies end. */
static CUptiResult end(struct wh_counting *c, CUpti_Profiler_Host_Object *real)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, p);
	CUptiResult res;

	p.pHostObject = real;
	res = WH_COUNT(c, cuptiProfilerHostDeinitialize, &p);
	if (res == CUPTI_SUCCESS)
		hosts--;
	return res;
}

static CUptiResult make(struct wh_counting *c, struct host *h)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_Initialize_Params, p);
	CUptiResult res;

	p.pCounterAvailabilityImage = h->image;
	p.profilerType = (CUpti_ProfilerType)c->q->n[0];
	p.pChipName = h->chip;
	res = WH_COUNT(c, cuptiProfilerHostInitialize, &p);
	h->real = p.pHostObject;
	return res;
}

static CUptiResult host_make(struct wh_counting *c)
{
	CUptiResult res;
	struct host *h;
	uint8_t *image;
	size_t size;

	if (!chip_of(c, &image, &size))
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (hosts == HOSTS)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	h = host_from(c, image, size);
	if (!h)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	res = make(c, h);
	if (res != CUPTI_SUCCESS) {
		release(h);
		return res;
	}
	hosts++;
	c->r->object = wh_handles_new(&c->s->handles, h, WH_H_CUPTI_HOST, 0);
	if (c->r->object)
		return CUPTI_SUCCESS;
	if (end(c, h->real) == CUPTI_SUCCESS)
		release(h);
	return CUPTI_ERROR_OUT_OF_MEMORY;
}

static CUptiResult host_end(struct wh_counting *c)
{
	struct host *h = wh_handles_get(&c->s->handles, c->q->object, WH_H_CUPTI_HOST);
	CUptiResult res;

	if (!h)
		return CUPTI_ERROR_INVALID_PARAMETER;
	res = end(c, h->real);
	if (res != CUPTI_SUCCESS)
		return res;
	wh_handles_drop(&c->s->handles, c->q->object);
	release(h);
	return CUPTI_SUCCESS;
}

static CUptiResult base(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_GetBaseMetrics_Params, p);
	CUptiResult res;

	if (!host_of(c, &p.pHostObject) || c->q->n[0] >= CUPTI_METRIC_TYPE__COUNT)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.metricType = (CUpti_MetricType)c->q->n[0];
	res = WH_COUNT(c, cuptiProfilerHostGetBaseMetrics, &p);
	return res == CUPTI_SUCCESS ? wh_count_names(c, p.ppMetricNames, p.numMetrics) : res;
}

static CUptiResult sub(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_GetSubMetrics_Params, p);
	CUptiResult res;

	if (!host_of(c, &p.pHostObject) || c->q->n[0] >= CUPTI_METRIC_TYPE__COUNT || !c->text)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.metricType = (CUpti_MetricType)c->q->n[0];
	p.pMetricName = c->text;
	res = WH_COUNT(c, cuptiProfilerHostGetSubMetrics, &p);
	return res == CUPTI_SUCCESS ? wh_count_names(c, p.ppSubMetrics, p.numOfSubmetrics) : res;
}

static CUptiResult properties(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, p);
	CUptiResult res;

	if (!host_of(c, &p.pHostObject) || !c->text)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.pMetricName = c->text;
	res = WH_COUNT(c, cuptiProfilerHostGetMetricProperties, &p);
	if (res != CUPTI_SUCCESS)
		return res;
	c->r->r[1] = p.metricType;
	return wh_count_names(c, (const char *[]) { p.pDescription, p.pHwUnit, p.pDimUnit }, 3);
}

static CUptiResult add(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, p);

	if (!host_of(c, &p.pHostObject) || !c->q->names)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.ppMetricNames = c->name;
	p.numMetrics = c->q->names;
	return WH_COUNT(c, cuptiProfilerHostConfigAddMetrics, &p);
}

static CUptiResult bytes_of(struct wh_counting *c, CUpti_Profiler_Host_Object *host, size_t *size)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, p);
	CUptiResult res;

	p.pHostObject = host;
	res = WH_COUNT(c, cuptiProfilerHostGetConfigImageSize, &p);
	*size = p.configImageSize;
	if (res == CUPTI_SUCCESS && *size > WH_CUPTI_IMAGE_MOST - WH_CUPTI_SEAL)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	return res;
}

static CUptiResult image_size(struct wh_counting *c)
{
	CUpti_Profiler_Host_Object *host;
	CUptiResult res;
	size_t size;

	if (!host_of(c, &host))
		return CUPTI_ERROR_INVALID_PARAMETER;
	res = bytes_of(c, host, &size);
	c->r->r[0] = size + WH_CUPTI_SEAL;
	return res;
}

/* The room that the program has is as long as the image, so that the seal is at its end. */
static CUptiResult image(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, p);
	CUptiResult res;
	size_t size;

	if (!host_of(c, &p.pHostObject))
		return CUPTI_ERROR_INVALID_PARAMETER;
	res = bytes_of(c, p.pHostObject, &size);
	if (res != CUPTI_SUCCESS)
		return res;
	if (c->q->n[0] != size + WH_CUPTI_SEAL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!wh_count_image(c, size, &p.pConfigImage))
		return CUPTI_SUCCESS;
	p.configImageSize = size;
	res = WH_COUNT(c, cuptiProfilerHostGetConfigImage, &p);
	if (res == CUPTI_SUCCESS && !wh_seal_put(WH_SEAL_CONFIG, p.pConfigImage, size))
		res = CUPTI_ERROR_UNKNOWN;
	return res;
}

static CUptiResult passes(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, p);
	CUptiResult res;

	if (!wh_count_given(c, 0, WH_SEAL_CONFIG, &p.configImageSize))
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.pConfigImage = c->image[0];
	res = WH_COUNT(c, cuptiProfilerHostGetNumOfPasses, &p);
	c->r->r[0] = p.numOfPasses;
	return res;
}

/* The library gives the name's memory away. */
static CUptiResult range_name(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_GetRangeName_Params, p);
	CUptiResult res = wh_count_range(c, &p.counterDataImageSize);

	if (res != CUPTI_SUCCESS)
		return res;
	p.pCounterDataImage = c->image[0];
	p.rangeIndex = c->q->n[0];
	p.delimiter = c->text ? c->text : "/";
	res = WH_COUNT(c, cuptiProfilerHostGetRangeName, &p);
	if (res != CUPTI_SUCCESS)
		return res;
	wh_count_names(c, &p.pRangeName, 1);
	free((void *)p.pRangeName);
	return CUPTI_SUCCESS;
}

static CUptiResult values(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, p);
	CUptiResult res = wh_count_range(c, &p.counterDataImageSize);
	void *to = NULL;

	if (res != CUPTI_SUCCESS)
		return res;
	if (!host_of(c, &p.pHostObject) || !c->q->names)
		return CUPTI_ERROR_INVALID_PARAMETER;
	c->r->bytes = c->q->names * sizeof(double);
	c->r->follows = wh_room(c->f, c->q->names, sizeof(double), &to);
	if (!c->r->follows)
		return CUPTI_SUCCESS;
	p.pCounterDataImage = c->image[0];
	p.rangeIndex = c->q->n[0];
	p.ppMetricNames = c->name;
	p.numMetrics = c->q->names;
	p.pMetricValues = to;
	return WH_COUNT(c, cuptiProfilerHostEvaluateToGpuValues, &p);
}

wh_counting_fn *wh_counting_host(uint32_t op)
{
	static wh_counting_fn *const of_host[WH_CUPTI_OPS] = {
		[WH_CUPTI_HOST_CHIPS] = chips,
		[WH_CUPTI_HOST_MOST] = most,
		[WH_CUPTI_HOST_MAKE] = host_make,
		[WH_CUPTI_HOST_END] = host_end,
		[WH_CUPTI_HOST_BASE] = base,
		[WH_CUPTI_HOST_SUB] = sub,
		[WH_CUPTI_HOST_PROPERTIES] = properties,
		[WH_CUPTI_HOST_ADD] = add,
		[WH_CUPTI_HOST_SIZE] = image_size,
		[WH_CUPTI_HOST_IMAGE] = image,
		[WH_CUPTI_HOST_PASSES] = passes,
		[WH_CUPTI_HOST_RANGE] = range_name,
		[WH_CUPTI_HOST_VALUES] = values,
	};

	return op < WH_CUPTI_OPS ? of_host[op] : NULL;
}
