// SPDX-License-Identifier: Apache-2.0
/*
 * Counts blocks and warps of launches by CUPTI's range profiler on a real GPU, in ranges of the
 * program, and prints them: natively and forwarded the same (tests/gpu/counters_test.sh). Ends with
 * 3 if the driver or the server gives no counters.
 */
#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PARAMS(type, var)	type var = { .structSize = type##_STRUCT_SIZE }
#define METRICS			2

static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry nothing()\n{\nret;\n}\n";
static const char *metrics[METRICS] = { "sm__ctas_launched.sum", "smsp__warps_launched.sum" };

static CUcontext ctx;
static CUfunction function;
static CUpti_Profiler_Host_Object *host;
static CUpti_RangeProfiler_Object *range;
static uint8_t *config, *data;
static size_t config_size, data_size;

static void check(const char *what, int res)
{
	if (!res)
		return;
	printf("%s: %d\n", what, res);
	exit(res == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? 3 : 1);
}
#define CUPTI(call)	check(#call, call)

static void make_host(void)
{
	PARAMS(CUpti_Profiler_Initialize_Params, begin);
	PARAMS(CUpti_Profiler_Host_Initialize_Params, init);
	PARAMS(CUpti_Device_GetChipName_Params, chip);

	CUPTI(cuptiProfilerInitialize(&begin));
	CUPTI(cuptiDeviceGetChipName(&chip));
	printf("chip %s\n", chip.pChipName);
	init.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
	init.pChipName = chip.pChipName;
	CUPTI(cuptiProfilerHostInitialize(&init));
	host = init.pHostObject;
}

static void make_config(void)
{
	PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
	PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
	PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);

	add.pHostObject = size.pHostObject = image.pHostObject = host;
	add.ppMetricNames = metrics;
	add.numMetrics = METRICS;
	CUPTI(cuptiProfilerHostConfigAddMetrics(&add));
	CUPTI(cuptiProfilerHostGetConfigImageSize(&size));
	config_size = size.configImageSize;
	config = calloc(1, config_size);
	image.configImageSize = config_size;
	image.pConfigImage = config;
	CUPTI(cuptiProfilerHostGetConfigImage(&image));
}

static void make_data(void)
{
	PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image);
	PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
	PARAMS(CUpti_RangeProfiler_Enable_Params, enable);

	enable.ctx = ctx;
	CUPTI(cuptiRangeProfilerEnable(&enable));
	range = enable.pRangeProfilerObject;
	size.pRangeProfilerObject = image.pRangeProfilerObject = range;
	size.pMetricNames = metrics;
	size.numMetrics = METRICS;
	size.maxNumOfRanges = size.maxNumRangeTreeNodes = 4;
	CUPTI(cuptiRangeProfilerGetCounterDataSize(&size));
	data_size = size.counterDataSize;
	data = calloc(1, data_size);
	image.counterDataSize = data_size;
	image.pCounterData = data;
	CUPTI(cuptiRangeProfilerCounterDataImageInitialize(&image));
}

static void configure(CUpti_ProfilerRange mode, CUpti_ProfilerReplayMode replay)
{
	PARAMS(CUpti_RangeProfiler_SetConfig_Params, p);

	p.pRangeProfilerObject = range;
	p.configSize = config_size;
	p.pConfig = config;
	p.counterDataImageSize = data_size;
	p.pCounterDataImage = data;
	p.range = mode;
	p.replayMode = replay;
	p.maxRangesPerPass = 4;
	p.numNestingLevels = p.minNestingLevel = 1;
	CUPTI(cuptiRangeProfilerSetConfig(&p));
}

static void launch(unsigned int blocks)
{
	check("cuLaunchKernel", cuLaunchKernel(function, blocks, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
}

static void named(const char *name, unsigned int blocks)
{
	PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
	PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);

	push.pRangeProfilerObject = pop.pRangeProfilerObject = range;
	push.pRangeName = name;
	CUPTI(cuptiRangeProfilerPushRange(&push));
	launch(blocks);
	CUPTI(cuptiRangeProfilerPopRange(&pop));
}

static void count(int by_kernel)
{
	PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
	PARAMS(CUpti_RangeProfiler_Start_Params, start);
	PARAMS(CUpti_RangeProfiler_Stop_Params, stop);

	start.pRangeProfilerObject = stop.pRangeProfilerObject =
		decode.pRangeProfilerObject = range;
	do {
		CUPTI(cuptiRangeProfilerStart(&start));
		if (by_kernel) {
			launch(4);
			launch(9);
		} else {
			named("four", 4);
			named("nine", 9);
		}
		CUPTI(cuptiRangeProfilerStop(&stop));
	} while (!stop.isAllPassSubmitted);
	CUPTI(cuptiRangeProfilerDecodeData(&decode));
}

static void print(void)
{
	PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, name);
	PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, p);
	PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, n);
	double value[METRICS];

	n.pCounterDataImage = name.pCounterDataImage = p.pCounterDataImage = data;
	n.counterDataImageSize = name.counterDataImageSize = p.counterDataImageSize = data_size;
	CUPTI(cuptiRangeProfilerGetCounterDataInfo(&n));
	name.rangeDelimiter = "/";
	p.pHostObject = host;
	p.ppMetricNames = metrics;
	p.numMetrics = METRICS;
	p.pMetricValues = value;
	for (; p.rangeIndex < n.numTotalRanges; p.rangeIndex++) {
		name.rangeIndex = p.rangeIndex;
		CUPTI(cuptiRangeProfilerCounterDataGetRangeInfo(&name));
		CUPTI(cuptiProfilerHostEvaluateToGpuValues(&p));
		printf("range %s: %.0f blocks, %.0f warps\n", name.rangeName, value[0], value[1]);
	}
}

int main(void)
{
	PARAMS(CUpti_RangeProfiler_Disable_Params, disable);
	CUmodule module;

	check("cuInit", cuInit(0));
	check("a context", cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx));
	check("a module", cuModuleLoadData(&module, ptx) ||
	      cuModuleGetFunction(&function, module, "nothing"));
	make_host();
	make_config();
	make_data();
	configure(CUPTI_UserRange, CUPTI_UserReplay);
	count(0);
	print();
	disable.pRangeProfilerObject = range;
	CUPTI(cuptiRangeProfilerDisable(&disable));
	make_data();
	configure(CUPTI_AutoRange, CUPTI_KernelReplay);
	count(1);
	print();
	return 0;
}
