// SPDX-License-Identifier: Apache-2.0
/*
 * CUPTI's range profiler in the worker. The library keeps the addresses of two images that it was
 * configured with, and writes one of them later: these are copies here, which live as long as it
 * may use them. The program gets the data when it is decoded.
 */
#include "cupti_counters.h"

#include <stdlib.h>

#define RANGES	16u	/* objects at a time */

struct range {
	CUpti_RangeProfiler_Object *real;
	uint64_t id;			/* its handle, which ends with its context */
	uint8_t edition;
	uint8_t *config, *data;		/* data: with room for the seal */
	size_t data_size;		/* without it */
	size_t made_size;		/* of images that it makes; 0: not asked yet */
};

static struct range *range[RANGES];

static struct range *range_of(const struct wh_counting *c)
{
	return wh_handles_get(&c->s->handles, c->q->object, WH_H_CUPTI_RANGE);
}

static void release(unsigned int i)
{
	free(range[i]->config);
	free(range[i]->data);
	free(range[i]);
	range[i] = NULL;
}

/* Objects of other editions have handles that this call does not see. */
static bool has_ended(const struct wh_counting *c, const struct range *r)
{
	return r->edition == c->s->handles.edition &&
	       wh_handles_get(&c->s->handles, r->id, WH_H_CUPTI_RANGE) != r;
}

/* Returns a free place; RANGES: there is none. */
static unsigned int place(const struct wh_counting *c)
{
	unsigned int i;

	for (i = 0; i < RANGES; i++)
		if (range[i] && has_ended(c, range[i]))
			release(i);
	for (i = 0; i < RANGES && range[i]; i++)
		;
	return i;
}

static CUptiResult disable(struct wh_counting *c, CUpti_RangeProfiler_Object *real)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_Disable_Params, p);

	p.pRangeProfilerObject = real;
	return WH_COUNT(c, cuptiRangeProfilerDisable, &p);
}

/* The handle ends with the context, be it the one that the program named or the current one. */
static bool name_it(struct wh_counting *c, struct range *r)
{
	r->edition = c->s->handles.edition;
	r->id = wh_handles_new(&c->s->handles, r, WH_H_CUPTI_RANGE,
			       c->q->ctx ? c->q->ctx : c->q->hdr.ctx);
	c->r->object = r->id;
	return r->id;
}

static CUptiResult make(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_Enable_Params, p);
	unsigned int i = place(c);
	CUptiResult res;

	if (!wh_count_context(c, &p.ctx))
		return CUPTI_ERROR_INVALID_CONTEXT;
	if (i == RANGES)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	range[i] = calloc(1, sizeof(*range[i]));
	if (!range[i])
		return CUPTI_ERROR_OUT_OF_MEMORY;
	res = WH_COUNT(c, cuptiRangeProfilerEnable, &p);
	range[i]->real = p.pRangeProfilerObject;
	if (res == CUPTI_SUCCESS && !name_it(c, range[i])) {
		disable(c, range[i]->real);
		res = CUPTI_ERROR_OUT_OF_MEMORY;
	}
	if (res != CUPTI_SUCCESS)
		release(i);
	return res;
}

static CUptiResult end(struct wh_counting *c)
{
	struct range *r = range_of(c);
	CUptiResult res;
	unsigned int i;

	if (!r)
		return CUPTI_ERROR_INVALID_PARAMETER;
	res = disable(c, r->real);
	if (res != CUPTI_SUCCESS)
		return res;
	wh_handles_drop(&c->s->handles, c->q->object);
	for (i = 0; i < RANGES; i++)
		if (range[i] == r)
			release(i);
	return CUPTI_SUCCESS;
}

static CUptiResult data_size(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, p);
	struct range *r = range_of(c);
	CUptiResult res;

	if (!r || !c->q->names || c->q->n[0] > WH_CUPTI_RANGES_MOST || c->q->n[1] > UINT32_MAX)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.pRangeProfilerObject = r->real;
	p.pMetricNames = c->name;
	p.numMetrics = c->q->names;
	p.maxNumOfRanges = c->q->n[0];
	p.maxNumRangeTreeNodes = (uint32_t)c->q->n[1];
	res = WH_COUNT(c, cuptiRangeProfilerGetCounterDataSize, &p);
	if (res != CUPTI_SUCCESS)
		return res;
	if (p.counterDataSize > WH_CUPTI_IMAGE_MOST - WH_CUPTI_SEAL)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	r->made_size = p.counterDataSize;
	c->r->r[0] = p.counterDataSize + WH_CUPTI_SEAL;
	return CUPTI_SUCCESS;
}

/* The library knows what it will write from the size that it has told, so it has to be that one. */
static CUptiResult data_image(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, p);
	struct range *r = range_of(c);
	CUptiResult res;

	if (!r || !r->made_size || c->q->n[0] != r->made_size + WH_CUPTI_SEAL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!wh_count_image(c, r->made_size, &p.pCounterData))
		return CUPTI_SUCCESS;
	p.pRangeProfilerObject = r->real;
	p.counterDataSize = r->made_size;
	res = WH_COUNT(c, cuptiRangeProfilerCounterDataImageInitialize, &p);
	if (res == CUPTI_SUCCESS && !wh_seal_put(WH_SEAL_DATA, p.pCounterData, r->made_size))
		res = CUPTI_ERROR_UNKNOWN;
	return res;
}

/* Replay by running the program again needs images of another process. */
static CUptiResult check_config(const struct wh_counting *c)
{
	const uint64_t *n = c->q->n;

	if (n[WH_CUPTI_REPLAY_MODE] == CUPTI_ApplicationReplay)
		return CUPTI_ERROR_NOT_SUPPORTED;
	return n[WH_CUPTI_RANGE_MODE] > CUPTI_Range_INVALID &&
	       n[WH_CUPTI_RANGE_MODE] < CUPTI_Range_COUNT &&
	       n[WH_CUPTI_REPLAY_MODE] > CUPTI_Replay_INVALID &&
	       n[WH_CUPTI_REPLAY_MODE] < CUPTI_Replay_COUNT &&
	       n[WH_CUPTI_MOST_RANGES] <= WH_CUPTI_RANGES_MOST &&
	       n[WH_CUPTI_LEVELS] <= UINT16_MAX && n[WH_CUPTI_FIRST_LEVEL] <= UINT16_MAX &&
	       n[WH_CUPTI_TARGET_LEVEL] <= UINT16_MAX ? CUPTI_SUCCESS :
	       CUPTI_ERROR_INVALID_PARAMETER;
}

/* Only once the library uses the new images may the old ones end. */
static void keep(struct range *r, uint8_t *config, uint8_t *data, size_t data_size)
{
	free(r->config);
	free(r->data);
	r->config = config;
	r->data = data;
	r->data_size = data_size;
}

static CUptiResult configure(struct wh_counting *c, struct range *r, size_t config_size,
			     size_t data_size)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_SetConfig_Params, p);
	uint8_t *config = wh_count_keep(c->image[0], config_size);
	uint8_t *data = wh_count_keep(c->image[1], data_size);
	CUptiResult res = CUPTI_ERROR_OUT_OF_MEMORY;

	p.pRangeProfilerObject = r->real;
	p.configSize = config_size;
	p.pConfig = config;
	p.counterDataImageSize = data_size;
	p.pCounterDataImage = data;
	p.range = (CUpti_ProfilerRange)c->q->n[WH_CUPTI_RANGE_MODE];
	p.replayMode = (CUpti_ProfilerReplayMode)c->q->n[WH_CUPTI_REPLAY_MODE];
	p.maxRangesPerPass = c->q->n[WH_CUPTI_MOST_RANGES];
	p.numNestingLevels = (uint16_t)c->q->n[WH_CUPTI_LEVELS];
	p.minNestingLevel = (uint16_t)c->q->n[WH_CUPTI_FIRST_LEVEL];
	p.passIndex = c->q->n[WH_CUPTI_PASS];
	p.targetNestingLevel = (uint16_t)c->q->n[WH_CUPTI_TARGET_LEVEL];
	if (config && data)
		res = WH_COUNT(c, cuptiRangeProfilerSetConfig, &p);
	if (res == CUPTI_SUCCESS) {
		keep(r, config, data, data_size);
	} else {
		free(config);
		free(data);
	}
	return res;
}

static CUptiResult set_config(struct wh_counting *c)
{
	CUptiResult res = check_config(c);
	struct range *r = range_of(c);
	size_t config, data;

	if (res != CUPTI_SUCCESS)
		return res;
	if (!r || !wh_count_given(c, 0, WH_SEAL_CONFIG, &config) ||
	    !wh_count_given(c, 1, WH_SEAL_DATA, &data))
		return CUPTI_ERROR_INVALID_PARAMETER;
	return configure(c, r, config, data);
}

static CUptiResult start(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_Start_Params, p);
	struct range *r = range_of(c);

	if (!r)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.pRangeProfilerObject = r->real;
	return WH_COUNT(c, cuptiRangeProfilerStart, &p);
}

static CUptiResult stop(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_Stop_Params, p);
	struct range *r = range_of(c);
	CUptiResult res;

	if (!r)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.pRangeProfilerObject = r->real;
	res = WH_COUNT(c, cuptiRangeProfilerStop, &p);
	c->r->r[0] = p.passIndex;
	c->r->r[1] = p.targetNestingLevel;
	c->r->r[2] = p.isAllPassSubmitted;
	return res;
}

static CUptiResult push(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_PushRange_Params, p);
	struct range *r = range_of(c);

	if (!r || !c->text)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.pRangeProfilerObject = r->real;
	p.pRangeName = c->text;
	return WH_COUNT(c, cuptiRangeProfilerPushRange, &p);
}

static CUptiResult pop(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_PopRange_Params, p);
	struct range *r = range_of(c);

	if (!r)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.pRangeProfilerObject = r->real;
	return WH_COUNT(c, cuptiRangeProfilerPopRange, &p);
}

static CUptiResult decode(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_DecodeData_Params, p);
	struct range *r = range_of(c);
	CUptiResult res;

	/* Nothing but a configuration says where to. */
	if (!r || !r->data)
		return r ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_ERROR_INVALID_PARAMETER;
	p.pRangeProfilerObject = r->real;
	res = WH_COUNT(c, cuptiRangeProfilerDecodeData, &p);
	c->r->r[0] = p.numOfRangeDropped;
	if (res != CUPTI_SUCCESS)
		return res;
	if (!wh_seal_put(WH_SEAL_DATA, r->data, r->data_size))
		return CUPTI_ERROR_UNKNOWN;
	return wh_count_back(c, r->data, r->data_size + WH_CUPTI_SEAL);
}

static CUptiResult ranges_in(struct wh_counting *c, size_t *size, size_t *n)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, p);
	CUptiResult res;

	if (!wh_count_given(c, 0, WH_SEAL_DATA, size))
		return CUPTI_ERROR_INVALID_PARAMETER;
	p.pCounterDataImage = c->image[0];
	p.counterDataImageSize = *size;
	res = WH_COUNT(c, cuptiRangeProfilerGetCounterDataInfo, &p);
	*n = p.numTotalRanges;
	return res;
}

CUptiResult wh_count_range(struct wh_counting *c, size_t *size)
{
	size_t n = 0;
	CUptiResult res = ranges_in(c, size, &n);

	return res == CUPTI_SUCCESS && c->q->n[0] >= n ? CUPTI_ERROR_INVALID_PARAMETER : res;
}

static CUptiResult info(struct wh_counting *c)
{
	size_t size, n = 0;
	CUptiResult res = ranges_in(c, &size, &n);

	c->r->r[0] = n;
	return res;
}

static CUptiResult name(struct wh_counting *c)
{
	WH_COUNT_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, p);
	CUptiResult res = wh_count_range(c, &p.counterDataImageSize);

	if (res != CUPTI_SUCCESS || !c->text)
		return res != CUPTI_SUCCESS ? res : CUPTI_ERROR_INVALID_PARAMETER;
	p.pCounterDataImage = c->image[0];
	p.rangeIndex = c->q->n[0];
	p.rangeDelimiter = c->text;
	res = WH_COUNT(c, cuptiRangeProfilerCounterDataGetRangeInfo, &p);
	return res == CUPTI_SUCCESS ? wh_count_names(c, &p.rangeName, 1) : res;
}

wh_counting_fn *wh_counting_range(uint32_t op)
{
	static wh_counting_fn *const of_range[WH_CUPTI_OPS] = {
		[WH_CUPTI_RANGE_MAKE] = make,
		[WH_CUPTI_RANGE_END] = end,
		[WH_CUPTI_RANGE_SIZE] = data_size,
		[WH_CUPTI_RANGE_IMAGE] = data_image,
		[WH_CUPTI_RANGE_CONFIG] = set_config,
		[WH_CUPTI_RANGE_START] = start,
		[WH_CUPTI_RANGE_STOP] = stop,
		[WH_CUPTI_RANGE_PUSH] = push,
		[WH_CUPTI_RANGE_POP] = pop,
		[WH_CUPTI_RANGE_DECODE] = decode,
		[WH_CUPTI_RANGE_INFO] = info,
		[WH_CUPTI_RANGE_NAME] = name,
	};

	return op < WH_CUPTI_OPS ? of_range[op] : NULL;
}
