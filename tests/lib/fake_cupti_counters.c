// SPDX-License-Identifier: Apache-2.0
/*
 * The counters of the fake CUPTI: kernels of softgpu, and their threads. As the genuine library, it
 * believes its images, and keeps the addresses of those that it was configured with or made of.
 */
#include "fake_cupti.h"

#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <string.h>

#include "fake_library.h"

#define METRICS	3000		/* more than a message has room for */
#define IN_ALL	8		/* ranges that are counted */
#define CONFIG	0x67666e6f43ULL
#define DATA	0x61746144ULL

struct CUpti_Profiler_Host_Object {
	size_t n;
	size_t lists;		/* how often it has told its metrics */
	unsigned int metric[16];
	const uint8_t *available;	/* what it was made of */
	const char *chip;
};

struct config {
	uint64_t magic;
	size_t n;
	unsigned int metric[16];
};

struct counted {
	char name[64];
	uint64_t kernels, threads;
};

struct data {
	uint64_t magic;
	size_t most, n;
	struct counted range[];
};

struct CUpti_RangeProfiler_Object {
	CUcontext ctx;
	const struct config *config;
	struct data *data;
	int by_kernel;
	size_t pass;
	size_t n;			/* ranges that were counted */
	unsigned int depth, open[4];	/* those that are open */
	struct counted range[IN_ALL];
};

static char name[METRICS][48];
static const char *names[METRICS];
static CUpti_RangeProfiler_Object *now;	/* what counts; NULL: nothing */

int fake_counts(void)
{
	return now != NULL;
}

static void add(struct counted *c, const struct sgpu_seen *s)
{
	c->kernels++;
	c->threads += (uint64_t)s->grid[0] * s->grid[1] * s->grid[2] * s->block[0] * s->block[1] *
		      s->block[2];
}

void fake_count(const struct sgpu_seen *s)
{
	unsigned int i;

	if (!now || s->work != SGPU_DID_KERNEL)
		return;
	if (now->by_kernel && now->n < IN_ALL) {
		memset(&now->range[now->n], 0, sizeof(now->range[0]));
		snprintf(now->range[now->n].name, sizeof(now->range[0].name), "%zu", now->n);
		add(&now->range[now->n++], s);
	}
	for (i = 0; !now->by_kernel && i < now->depth; i++)
		add(&now->range[now->open[i]], s);
}

/* Another image would have the genuine library follow any number: this stands for that. */
static const void *believed(const void *image, uint64_t magic)
{
	if (*(const uint64_t *)image != magic)
		abort();
	return image;
}

/* --- The profiler ------------------------------------------------------------------------ */

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
	note("initialize %zu", p->structSize);
	return getenv("FAKE_CUPTI_DENIES") ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES : CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *p)
{
	note("deinitialize %zu", p->structSize);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *p)
{
	p->isSupported = p->architecture = p->sli = p->confidentialCompute = p->cmp = p->wsl =
		CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
	p->vGpu = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
	return p->cuDevice ? CUPTI_ERROR_INVALID_DEVICE : CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
	p->pChipName = "FAKE100";
	return p->deviceIndex ? CUPTI_ERROR_INVALID_DEVICE : CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *p)
{
	if (p->pCounterAvailabilityImage)
		memcpy(p->pCounterAvailabilityImage, "available", 10);
	p->counterAvailabilityImageSize = 10;
	return CUPTI_SUCCESS;
}

/* --- Its host ------------------------------------------------------------------------------ */

CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params *p)
{
	static const char *const chips[] = { "FAKE100", "FAKE200" };

	p->numChips = 2;
	p->ppChipNames = chips;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(
	CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params *p)
{
	p->maxMetricsPerPass = p->pCounterAvailabilityImage ? 2 : 1;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
	if (!p->pChipName || strncmp(p->pChipName, "FAKE", 4))
		return CUPTI_ERROR_INVALID_CHIP_NAME;
	if (p->pCounterAvailabilityImage &&
	    strcmp((const char *)p->pCounterAvailabilityImage, "available"))
		abort();
	p->pHostObject = calloc(1, sizeof(*p->pHostObject));
	p->pHostObject->available = p->pCounterAvailabilityImage;
	p->pHostObject->chip = p->pChipName;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
	free(p->pHostObject);
	return CUPTI_SUCCESS;
}

/* The first two count something. The value of any other is its number. */
static void make_names(void)
{
	int i;

	for (i = 0; i < METRICS; i++) {
		snprintf(name[i], sizeof(name[i]), "fake__metric_of_no_use_%08d.sum", i);
		names[i] = name[i];
	}
	strcpy(name[0], "fake__kernels.sum");
	strcpy(name[1], "fake__threads.sum");
}

/* The genuine library lists all once more each time, and so does this one. */
CUptiResult cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params *p)
{
	static const char *all[2 * METRICS];
	make_names();
	memcpy(all, names, sizeof(names));
	memcpy(all + METRICS, names, sizeof(names));
	p->ppMetricNames = all;
	p->numMetrics = 0;
	if (p->metricType == CUPTI_METRIC_TYPE_COUNTER)
		p->numMetrics = p->pHostObject->lists++ ? 2 * METRICS : METRICS;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetSubMetrics(CUpti_Profiler_Host_GetSubMetrics_Params *p)
{
	static const char *subs[] = { ".sum", ".avg" };

	const CUpti_Profiler_Host_Object *o = p->pHostObject;

	if (strcmp(o->chip, "FAKE100"))
		return CUPTI_ERROR_INVALID_CHIP_NAME;
	if (o->available && strcmp((const char *)o->available, "available"))
		return CUPTI_ERROR_INVALID_OPERATION;
	p->numOfSubmetrics = 2;
	p->ppSubMetrics = subs;
	return strncmp(p->pMetricName, "fake__", 6) ? CUPTI_ERROR_INVALID_METRIC_NAME :
	       CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params *p)
{
	p->pDescription = "what is counted";
	p->pHwUnit = "softgpu";
	p->pDimUnit = NULL;
	p->metricType = CUPTI_METRIC_TYPE_RATIO;
	return strncmp(p->pMetricName, "fake__", 6) ? CUPTI_ERROR_INVALID_METRIC_NAME :
	       CUPTI_SUCCESS;
}

static int number_of(const char *metric)
{
	int i;

	make_names();
	for (i = 0; i < METRICS && strcmp(name[i], metric); i++)
		;
	return i;
}

CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
	size_t i;
	int k;

	for (i = 0; i < p->numMetrics; i++) {
		k = number_of(p->ppMetricNames[i]);
		if (k == METRICS || p->pHostObject->n == 16)
			return CUPTI_ERROR_INVALID_METRIC_NAME;
		p->pHostObject->metric[p->pHostObject->n++] = k;
	}
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
	p->configImageSize = sizeof(struct config);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
	struct config c = { .magic = CONFIG, .n = p->pHostObject->n };

	memcpy(c.metric, p->pHostObject->metric, sizeof(c.metric));
	memcpy(p->pConfigImage, &c, sizeof(c));
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
	p->numOfPasses = ((const struct config *)believed(p->pConfigImage, CONFIG))->n;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetRangeName(CUpti_Profiler_Host_GetRangeName_Params *p)
{
	const struct data *d = believed(p->pCounterDataImage, DATA);
	char text[80];

	snprintf(text, sizeof(text), "%s%s", d->range[p->rangeIndex].name, p->delimiter);
	p->pRangeName = strdup(text);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
	const struct data *d = believed(p->pCounterDataImage, DATA);
	const struct counted *c = &d->range[p->rangeIndex];
	size_t i;
	int k;

	for (i = 0; i < p->numMetrics; i++) {
		k = number_of(p->ppMetricNames[i]);
		if (k == METRICS)
			return CUPTI_ERROR_INVALID_METRIC_NAME;
		p->pMetricValues[i] = k == 0 ? c->kernels : k == 1 ? c->threads : (double)k;
	}
	return CUPTI_SUCCESS;
}

/* --- The range profiler ------------------------------------------------------------------ */

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p)
{
	p->pRangeProfilerObject = calloc(1, sizeof(*p->pRangeProfilerObject));
	p->pRangeProfilerObject->ctx = p->ctx;
	note("enable %d", p->ctx != NULL);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *p)
{
	note("disable");
	free(p->pRangeProfilerObject);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *p)
{
	p->counterDataSize = sizeof(struct data) + p->maxNumOfRanges * sizeof(struct counted);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
	CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p)
{
	struct data *d = (struct data *)p->pCounterData;

	memset(d, 0, p->counterDataSize);
	d->magic = DATA;
	d->most = (p->counterDataSize - sizeof(*d)) / sizeof(struct counted);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *p)
{
	CUpti_RangeProfiler_Object *r = p->pRangeProfilerObject;

	r->config = believed(p->pConfig, CONFIG);
	r->data = (struct data *)believed(p->pCounterDataImage, DATA);
	r->by_kernel = p->range == CUPTI_AutoRange;
	r->pass = p->passIndex;
	note("config %d %d %zu %d %d %zu %d", p->range, p->replayMode, p->maxRangesPerPass,
	     p->numNestingLevels, p->minNestingLevel, p->passIndex, p->targetNestingLevel);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *p)
{
	now = p->pRangeProfilerObject;
	now->n = now->depth = 0;
	return fake_watch();
}

CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p)
{
	CUpti_RangeProfiler_Object *r = p->pRangeProfilerObject;

	now = NULL;
	p->passIndex = ++r->pass;
	p->targetNestingLevel = 1;
	p->isAllPassSubmitted = r->pass >= r->config->n;
	return fake_watch();
}

CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *p)
{
	CUpti_RangeProfiler_Object *r = p->pRangeProfilerObject;

	if (r->n == IN_ALL || r->depth == 4)
		return CUPTI_ERROR_INVALID_OPERATION;
	memset(&r->range[r->n], 0, sizeof(r->range[0]));
	snprintf(r->range[r->n].name, sizeof(r->range[0].name), "%s", p->pRangeName);
	r->open[r->depth++] = r->n++;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *p)
{
	if (!p->pRangeProfilerObject->depth)
		return CUPTI_ERROR_INVALID_OPERATION;
	p->pRangeProfilerObject->depth--;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *p)
{
	CUpti_RangeProfiler_Object *r = p->pRangeProfilerObject;
	size_t n = r->n < r->data->most ? r->n : r->data->most;

	memcpy(r->data->range, r->range, n * sizeof(r->range[0]));
	r->data->n = n;
	p->numOfRangeDropped = r->n - n;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *p)
{
	p->numTotalRanges = ((const struct data *)believed(p->pCounterDataImage, DATA))->n;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerCounterDataGetRangeInfo(
	CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *p)
{
	const struct data *d = believed(p->pCounterDataImage, DATA);

	p->rangeName = d->range[p->rangeIndex].name;
	return CUPTI_SUCCESS;
}
