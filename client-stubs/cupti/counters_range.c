// SPDX-License-Identifier: Apache-2.0
/*
 * CUPTI's range profiler, and what it needs of the profiler's functions. The worker's library
 * counts, and keeps the image of data; the program's own gets it when it is decoded.
 */
#include "counters.h"

#include <stdlib.h>

/* --- Devices ---------------------------------------------------------------------------------- */

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_INITIALIZE };

	return CU_COUNT_GOOD(p, CUpti_Profiler_Initialize_Params) ? cu_count(&c) :
	       cu_count_wrong(__func__);
}

CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_DEINITIALIZE };

	return CU_COUNT_GOOD(p, CUpti_Profiler_DeInitialize_Params) ? cu_count(&c) :
	       cu_count_wrong(__func__);
}

/* The worker has its own number for a device, once there is a connection. */
static uint64_t device_there(int device)
{
	wh_library_prepare(&wh_cupti_library);
	return (uint64_t)(int64_t)wh_library_device(device);
}

/* Programs of CUDA 11 do not say which API: they mean ranges. */
CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *p)
{
	const size_t least = offsetof(CUpti_Profiler_DeviceSupported_Params, cmp) + sizeof(p->cmp);
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_SUPPORTED };
	const bool whole = CU_COUNT_GOOD(p, CUpti_Profiler_DeviceSupported_Params);
	CUptiResult res;

	if (!p || p->pPriv || p->structSize < least ||
	    p->structSize > CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE)
		return cu_count_wrong(__func__);
	c.q.n[0] = device_there(p->cuDevice);
	c.q.n[1] = whole ? p->api : CUPTI_PROFILER_RANGE_PROFILING;
	res = cu_count(&c);
	if (res != CUPTI_SUCCESS)
		return res;
	p->isSupported = (CUpti_Profiler_Support_Level)c.r.r[0];
	p->architecture = (CUpti_Profiler_Support_Level)c.r.r[1];
	p->sli = (CUpti_Profiler_Support_Level)c.r.r[2];
	p->vGpu = (CUpti_Profiler_Support_Level)c.r.r[3];
	p->confidentialCompute = (CUpti_Profiler_Support_Level)c.r.r[4];
	p->cmp = (CUpti_Profiler_Support_Level)c.r.r[5];
	if (p->structSize >= offsetof(CUpti_Profiler_DeviceSupported_Params, wsl) + sizeof(p->wsl))
		p->wsl = (CUpti_Profiler_Support_Level)c.r.r[6];
	return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_CHIP };
	const char **names;
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Device_GetChipName_Params) || p->deviceIndex > INT32_MAX)
		return cu_count_wrong(__func__);
	c.q.n[0] = device_there((int)p->deviceIndex);
	res = cu_count_names(&c, 1, &names);
	if (res != CUPTI_SUCCESS)
		return res;
	p->pChipName = names[0];
	free(names);
	return CUPTI_SUCCESS;
}

static size_t availability;

size_t cu_availability_size(void)
{
	return __atomic_load_n(&availability, __ATOMIC_RELAXED);
}

static CUptiResult put_availability(CUpti_Profiler_GetCounterAvailability_Params *p,
				    const struct cu_count *c)
{
	const size_t room = p->counterAvailabilityImageSize;

	if (p->pCounterAvailabilityImage && room < c->r.bytes)
		return cu_ret(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	if (p->pCounterAvailabilityImage)
		memcpy(p->pCounterAvailabilityImage, c->back, c->r.bytes);
	p->counterAvailabilityImageSize = c->r.bytes;
	__atomic_store_n(&availability, c->r.bytes, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_AVAILABILITY };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_GetCounterAvailability_Params))
		return cu_count_wrong(__func__);
	c.q.ctx = (uintptr_t)p->ctx;
	res = cu_count(&c);
	if (res == CUPTI_SUCCESS)
		res = put_availability(p, &c);
	free(c.back);
	return res;
}

/* --- Where the program has its images of data --------------------- */

struct place {
	struct place *next;
	uint64_t object;
	uint8_t *image;
	size_t size;
};
static struct place *places;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* A child's worker has none of the objects. */
WH_IN_CHILD(pthread_mutex_init(&lock, NULL); places = NULL; availability = 0)

static void forget(uint64_t object)
{
	struct place **at = &places, *found;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->object != object)
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&lock);
	free(found);
}

static CUptiResult remember(uint64_t object, uint8_t *image, size_t size)
{
	struct place *new = malloc(sizeof(*new));

	if (!new)
		return cu_ret(CUPTI_ERROR_OUT_OF_MEMORY);
	forget(object);
	*new = (struct place) { .object = object, .image = image, .size = size };
	pthread_mutex_lock(&lock);
	new->next = places;
	places = new;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

static void write_image(uint64_t object, const void *bytes, size_t n)
{
	struct place *at;

	pthread_mutex_lock(&lock);
	for (at = places; at && at->object != object; at = at->next)
		;
	if (at && at->size == n)
		memcpy(at->image, bytes, n);
	pthread_mutex_unlock(&lock);
}

static size_t size_of(uint64_t object)
{
	size_t n = 0;
	struct place *at;

	pthread_mutex_lock(&lock);
	for (at = places; at; at = at->next)
		if (at->object == object)
			n = at->size;
	pthread_mutex_unlock(&lock);
	return n;
}

/* --- The range profiler -------------------------------------------------------------------- */

static uint64_t id_of(const CUpti_RangeProfiler_Object *object)
{
	return (uintptr_t)object;
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_MAKE };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_Enable_Params))
		return cu_count_wrong(__func__);
	c.q.ctx = (uintptr_t)p->ctx;
	res = cu_count(&c);
	if (res == CUPTI_SUCCESS)
		p->pRangeProfilerObject = (CUpti_RangeProfiler_Object *)(uintptr_t)c.r.object;
	return res;
}

CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_END };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_Disable_Params))
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pRangeProfilerObject);
	res = cu_count(&c);
	if (res == CUPTI_SUCCESS)
		forget(c.q.object);
	return res;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_SIZE };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_GetCounterDataSize_Params) ||
	    p->numMetrics > WH_CUPTI_NAMES)
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pRangeProfilerObject);
	c.name = p->pMetricNames;
	c.q.names = p->numMetrics;
	c.q.n[0] = p->maxNumOfRanges;
	c.q.n[1] = p->maxNumRangeTreeNodes;
	res = cu_count(&c);
	if (res == CUPTI_SUCCESS)
		p->counterDataSize = c.r.r[0];
	return res;
}

CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
	CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_IMAGE };

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_CounterDataImage_Initialize_Params) ||
	    !p->pCounterData)
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pRangeProfilerObject);
	c.q.n[0] = p->counterDataSize;
	return cu_count_bytes(&c, p->pCounterData, p->counterDataSize);
}

static void put_config(struct cu_count *c, const CUpti_RangeProfiler_SetConfig_Params *p)
{
	c->q.object = id_of(p->pRangeProfilerObject);
	c->image[0] = p->pConfig;
	c->q.image_bytes[0] = p->configSize;
	c->image[1] = p->pCounterDataImage;
	c->q.image_bytes[1] = p->counterDataImageSize;
	c->q.n[WH_CUPTI_RANGE_MODE] = p->range;
	c->q.n[WH_CUPTI_REPLAY_MODE] = p->replayMode;
	c->q.n[WH_CUPTI_MOST_RANGES] = p->maxRangesPerPass;
	c->q.n[WH_CUPTI_LEVELS] = p->numNestingLevels;
	c->q.n[WH_CUPTI_FIRST_LEVEL] = p->minNestingLevel;
	c->q.n[WH_CUPTI_PASS] = p->passIndex;
	c->q.n[WH_CUPTI_TARGET_LEVEL] = p->targetNestingLevel;
}

CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_CONFIG };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_SetConfig_Params) || !p->pConfig ||
	    !p->pCounterDataImage)
		return cu_count_wrong(__func__);
	if (p->replayMode == CUPTI_ApplicationReplay)
		c.function = "cuptiRangeProfilerSetConfig with CUPTI_ApplicationReplay";
	put_config(&c, p);
	res = cu_count(&c);
	return res == CUPTI_SUCCESS ?
	       remember(c.q.object, p->pCounterDataImage, p->counterDataImageSize) : res;
}

CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_START };

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_Start_Params))
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pRangeProfilerObject);
	return cu_count(&c);
}

CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_STOP };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_Stop_Params))
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pRangeProfilerObject);
	res = cu_count(&c);
	if (res != CUPTI_SUCCESS)
		return res;
	p->passIndex = c.r.r[0];
	p->targetNestingLevel = c.r.r[1];
	p->isAllPassSubmitted = c.r.r[2];
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_PUSH };

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_PushRange_Params))
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pRangeProfilerObject);
	c.text = p->pRangeName;
	return cu_count(&c);
}

CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_POP };

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_PopRange_Params))
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pRangeProfilerObject);
	return cu_count(&c);
}

CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_DECODE };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_DecodeData_Params))
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pRangeProfilerObject);
	c.room = size_of(c.q.object);
	res = cu_count(&c);
	if (res != CUPTI_SUCCESS)
		return res;
	write_image(c.q.object, c.back, c.r.bytes);
	free(c.back);
	p->numOfRangeDropped = c.r.r[0];
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_INFO };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_GetCounterDataInfo_Params) ||
	    !p->pCounterDataImage)
		return cu_count_wrong(__func__);
	c.image[0] = p->pCounterDataImage;
	c.q.image_bytes[0] = p->counterDataImageSize;
	res = cu_count(&c);
	if (res == CUPTI_SUCCESS)
		p->numTotalRanges = c.r.r[0];
	return res;
}

CUptiResult cuptiRangeProfilerCounterDataGetRangeInfo(
	CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_RANGE_NAME };
	const char **names;
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params) ||
	    !p->pCounterDataImage)
		return cu_count_wrong(__func__);
	c.image[0] = p->pCounterDataImage;
	c.q.image_bytes[0] = p->counterDataImageSize;
	c.q.n[0] = p->rangeIndex;
	c.text = p->rangeDelimiter;
	res = cu_count_names(&c, 1, &names);
	if (res != CUPTI_SUCCESS)
		return res;
	p->rangeName = names[0];
	free(names);
	return CUPTI_SUCCESS;
}
