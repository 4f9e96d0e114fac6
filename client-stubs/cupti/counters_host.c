// SPDX-License-Identifier: Apache-2.0
/*
 * The host of CUPTI's profiler (cupti_profiler_host.h): metrics, and what was counted of them. The
 * worker's library answers; arrays of names are the object's, and end with it.
 */
#include "counters.h"

#include <stdlib.h>

/* --- Arrays that objects keep ---------------------------------------------------------------- */

struct list {
	struct list *next;
	uint64_t object;	/* 0: nobody's */
	int type;		/* of base metrics; NONE: the list is of something else */
	const char **names;
	size_t n;
};
#define NONE	-1
static struct list *lists;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* A child's worker has none of the objects, and gives their numbers to others. */
WH_IN_CHILD(pthread_mutex_init(&lock, NULL); lists = NULL)

/* Keeps an array as long as the object. */
static CUptiResult keep(uint64_t object, int type, const char **names, size_t n)
{
	struct list *l = malloc(sizeof(*l));

	if (!l) {
		free(names);
		return cu_ret(CUPTI_ERROR_OUT_OF_MEMORY);
	}
	*l = (struct list) { .object = object, .type = type, .names = names, .n = n };
	pthread_mutex_lock(&lock);
	l->next = lists;
	lists = l;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

/*
 * Asked a second time for base metrics, the library tells those of the first time twice. So it is
 * asked once. NULL: it was not.
 */
static const char **known(uint64_t object, int type, size_t *n)
{
	const char **names = NULL;
	struct list *l;

	pthread_mutex_lock(&lock);
	for (l = object ? lists : NULL; l && !names; l = l->next) {
		if (l->object != object || l->type != type)
			continue;
		names = l->names;
		*n = l->n;
	}
	pthread_mutex_unlock(&lock);
	return names;
}

static void forget(uint64_t object)
{
	struct list **at = &lists, *l;

	pthread_mutex_lock(&lock);
	while (*at) {
		l = *at;
		if (l->object != object) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		free(l->names);
		free(l);
	}
	pthread_mutex_unlock(&lock);
}

static uint64_t id_of(const void *object)
{
	return (uintptr_t)object;
}

/* Asks for names, which stay for the process and are kept with the object. */
static CUptiResult names_kept(struct cu_count *c, uint64_t object, int type, const char ***names)
{
	CUptiResult res = cu_count_names(c, 0, names);

	return res == CUPTI_SUCCESS ? keep(object, type, *names, c->r.r[0]) : res;
}

/* --- Objects ------- */

CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_CHIPS };
	const char **names;
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_GetSupportedChips_Params))
		return cu_count_wrong(__func__);
	res = names_kept(&c, 0, NONE, &names);
	if (res != CUPTI_SUCCESS)
		return res;
	p->numChips = c.r.r[0];
	p->ppChipNames = names;
	return CUPTI_SUCCESS;
}

/* No parameter says how long the image is: as long as the one that the program has got. */
static bool add_availability(struct cu_count *c, const uint8_t *image)
{
	c->image[0] = image;
	c->q.image_bytes[0] = image ? cu_availability_size() : 0;
	return !image || c->q.image_bytes[0];
}

CUptiResult cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(
	CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_MOST };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params))
		return cu_count_wrong(__func__);
	c.q.n[0] = p->profilerType;
	c.text = p->pChipName;
	if (!add_availability(&c, p->pCounterAvailabilityImage))
		return cu_count_wrong(__func__);
	res = cu_count(&c);
	if (res == CUPTI_SUCCESS)
		p->maxMetricsPerPass = c.r.r[0];
	return res;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_MAKE };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_Initialize_Params))
		return cu_count_wrong(__func__);
	c.q.n[0] = p->profilerType;
	c.text = p->pChipName;
	if (!add_availability(&c, p->pCounterAvailabilityImage))
		return cu_count_wrong(__func__);
	res = cu_count(&c);
	if (res == CUPTI_SUCCESS)
		p->pHostObject = (CUpti_Profiler_Host_Object *)(uintptr_t)c.r.object;
	return res;
}

CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_END };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_Deinitialize_Params))
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pHostObject);
	res = cu_count(&c);
	if (res == CUPTI_SUCCESS)
		forget(c.q.object);
	return res;
}

/* --- Metrics ---------------------------------------------------------------------------------- */

CUptiResult cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_BASE };
	const char **names;
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_GetBaseMetrics_Params))
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pHostObject);
	c.q.n[0] = p->metricType;
	c.room = WH_CUPTI_NAMES_MOST;
	p->ppMetricNames = known(c.q.object, p->metricType, &p->numMetrics);
	if (p->ppMetricNames)
		return CUPTI_SUCCESS;
	res = names_kept(&c, c.q.object, p->metricType, &names);
	if (res != CUPTI_SUCCESS)
		return res;
	p->numMetrics = c.r.r[0];
	p->ppMetricNames = names;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetSubMetrics(CUpti_Profiler_Host_GetSubMetrics_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_SUB };
	const char **names;
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_GetSubMetrics_Params))
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pHostObject);
	c.q.n[0] = p->metricType;
	c.text = p->pMetricName;
	res = names_kept(&c, c.q.object, NONE, &names);
	if (res != CUPTI_SUCCESS)
		return res;
	p->numOfSubmetrics = c.r.r[0];
	p->ppSubMetrics = names;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_PROPERTIES };
	const char **names;
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_GetMetricProperties_Params))
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pHostObject);
	c.text = p->pMetricName;
	res = cu_count_names(&c, 3, &names);
	if (res != CUPTI_SUCCESS)
		return res;
	p->pDescription = names[0];
	p->pHwUnit = names[1];
	p->pDimUnit = names[2];
	p->metricType = (CUpti_MetricType)c.r.r[1];
	free(names);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_ADD };

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_ConfigAddMetrics_Params) ||
	    p->numMetrics > WH_CUPTI_NAMES)
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pHostObject);
	c.name = p->ppMetricNames;
	c.q.names = p->numMetrics;
	return cu_count(&c);
}

/* --- Images of a configuration -------------------------------------------------------------- */

CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_SIZE };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_GetConfigImageSize_Params))
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pHostObject);
	res = cu_count(&c);
	if (res == CUPTI_SUCCESS)
		p->configImageSize = c.r.r[0];
	return res;
}

CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_IMAGE };

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_GetConfigImage_Params) || !p->pConfigImage)
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pHostObject);
	c.q.n[0] = p->configImageSize;
	return cu_count_bytes(&c, p->pConfigImage, p->configImageSize);
}

CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_PASSES };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_GetNumOfPasses_Params) || !p->pConfigImage)
		return cu_count_wrong(__func__);
	c.image[0] = p->pConfigImage;
	c.q.image_bytes[0] = p->configImageSize;
	res = cu_count(&c);
	if (res == CUPTI_SUCCESS)
		p->numOfPasses = c.r.r[0];
	return res;
}

/* --- What was counted ------------------------------------------------------------------------ */

/* The program frees the name. */
CUptiResult cuptiProfilerHostGetRangeName(CUpti_Profiler_Host_GetRangeName_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_RANGE };
	CUptiResult res;

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_GetRangeName_Params) || !p->pCounterDataImage)
		return cu_count_wrong(__func__);
	c.image[0] = p->pCounterDataImage;
	c.q.image_bytes[0] = p->counterDataImageSize;
	c.q.n[0] = p->rangeIndex;
	c.text = p->delimiter;
	res = cu_count(&c);
	if (res != CUPTI_SUCCESS)
		return res;
	if (!c.r.bytes || c.back[c.r.bytes - 1]) {
		free(c.back);
		return cu_ret(CUPTI_ERROR_UNKNOWN);
	}
	p->pRangeName = c.back;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
	struct cu_count c = { .function = __func__, .q.op = WH_CUPTI_HOST_VALUES };

	if (!CU_COUNT_GOOD(p, CUpti_Profiler_Host_EvaluateToGpuValues_Params) ||
	    !p->pCounterDataImage || !p->pMetricValues || p->numMetrics > WH_CUPTI_NAMES)
		return cu_count_wrong(__func__);
	c.q.object = id_of(p->pHostObject);
	c.image[0] = p->pCounterDataImage;
	c.q.image_bytes[0] = p->counterDataImageSize;
	c.q.n[0] = p->rangeIndex;
	c.name = p->ppMetricNames;
	c.q.names = p->numMetrics;
	c.room = p->numMetrics * sizeof(double);
	return cu_count_bytes(&c, p->pMetricValues, c.room);
}
