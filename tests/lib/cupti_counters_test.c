// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a program counts what its kernels do by CUPTI's range profiler, with the
 * values of the library in the worker, where the administrator has allowed it; that the worker
 * takes no image that it has not made; and that all of it is refused where it is not allowed.
 *
 * Over loopback nothing is allowed. `cupti_counters may` prints what the first call returns, and
 * `toggle` again after each line that it reads. `host CHIP` prints what the profiler's host says.
 */
#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_test.h"

#define PARAMS(type, var)	type var = { .structSize = type##_STRUCT_SIZE }

static const char ptx[] =
	".version 9.0\n.target sm_52\n.address_size 64\n"
	".visible .entry nothing()\n{\nret;\n}\n";

static const char *wanted[] = { "fake__kernels.sum", "fake__threads.sum" };
static CUcontext ctx;
static CUfunction function;
static CUpti_Profiler_Host_Object *host;
static CUpti_RangeProfiler_Object *range;
static uint8_t *config, *data, available[256];
static size_t config_size, data_size;

static void prepare(void)
{
	CUmodule module;

	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuModuleLoadData(&module, ptx);
	cuModuleGetFunction(&function, module, "nothing");
}

static void launch(int times)
{
	while (times--)
		cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	cuCtxSynchronize();
}

static CUptiResult initialize(void)
{
	PARAMS(CUpti_Profiler_Initialize_Params, p);

	return cuptiProfilerInitialize(&p);
}

/* --- The device, and the profiler's host ------------------------------------------------------ */

static void test_device(void)
{
	PARAMS(CUpti_Profiler_DeviceSupported_Params, s);
	PARAMS(CUpti_Device_GetChipName_Params, chip);
	CUptiResult res;

	ok_eq(initialize(), 0, "profiler_begins");
	ok(!strncmp(news(), "initialize 16", 13), "genuine_library_is_told_so");
	s.api = CUPTI_PROFILER_RANGE_PROFILING;
	res = cuptiProfilerDeviceSupported(&s);
	ok(res == 0 && s.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED &&
	   s.vGpu == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED &&
	   s.wsl == CUPTI_PROFILER_CONFIGURATION_SUPPORTED, "device_is_as_the_library_says");
	s.api = CUPTI_PROFILER_PC_SAMPLING;
	ok(cuptiProfilerDeviceSupported(&s) == 0 &&
	   s.isSupported == CUPTI_PROFILER_CONFIGURATION_DISABLED, "its_samples_are_disabled");
	s.cuDevice = 12;
	ok(cuptiProfilerDeviceSupported(&s) == CUPTI_ERROR_INVALID_DEVICE,
	   "device_that_the_program_does_not_have_is_none");
	s.structSize = 4;
	ok_eq(cuptiProfilerDeviceSupported(&s), CUPTI_ERROR_INVALID_PARAMETER,
	      "parameters_of_another_size_are_refused");
	ok(cuptiDeviceGetChipName(&chip) == 0 && !strcmp(chip.pChipName, "FAKE100"),
	   "chip_has_its_name");
}

static void test_availability(void)
{
	PARAMS(CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params, m);
	PARAMS(CUpti_Profiler_GetCounterAvailability_Params, a);
	uint8_t *image = available;

	a.ctx = ctx;
	ok(cuptiProfilerGetCounterAvailability(&a) == 0 && a.counterAvailabilityImageSize >= 10,
	   "image_of_available_counters_has_a_size");
	a.pCounterAvailabilityImage = image;
	ok(cuptiProfilerGetCounterAvailability(&a) == 0 && !memcmp(image, "available", 10),
	   "it_is_the_librarys");
	a.counterAvailabilityImageSize--;
	ok_eq(cuptiProfilerGetCounterAvailability(&a), CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT,
	      "too_little_room_for_it_is_an_error");
	m.pChipName = "FAKE100";
	m.pCounterAvailabilityImage = image;
	ok(cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(&m) == 0 && m.maxMetricsPerPass == 2,
	   "and_can_be_given_to_the_host");
	image[3] ^= 1;
	ok_eq(cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(&m), CUPTI_ERROR_INVALID_PARAMETER,
	      "changed_it_is_refused");
	image[3] ^= 1;
}

static void test_host(void)
{
	PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params, chips);
	PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, p);
	PARAMS(CUpti_Profiler_Host_GetBaseMetrics_Params, base);
	PARAMS(CUpti_Profiler_Host_GetSubMetrics_Params, sub);
	PARAMS(CUpti_Profiler_Host_Initialize_Params, init);

	ok(cuptiProfilerHostGetSupportedChips(&chips) == 0 && chips.numChips == 2 &&
	   !strcmp(chips.ppChipNames[1], "FAKE200"), "chips_are_listed");
	init.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
	init.pChipName = "other";
	ok_eq(cuptiProfilerHostInitialize(&init), CUPTI_ERROR_INVALID_CHIP_NAME,
	      "unknown_chip_is_the_librarys_error");
	init.pChipName = "FAKE100";
	init.pCounterAvailabilityImage = available;
	ok_eq(cuptiProfilerHostInitialize(&init), 0, "host_is_made");
	host = init.pHostObject;
	base.pHostObject = sub.pHostObject = p.pHostObject = host;
	base.metricType = CUPTI_METRIC_TYPE_COUNTER;
	ok(cuptiProfilerHostGetBaseMetrics(&base) == 0 && base.numMetrics == 3000 &&
	   !strcmp(base.ppMetricNames[0], wanted[0]) &&
	   !strcmp(base.ppMetricNames[2999], "fake__metric_of_no_use_00002999.sum"),
	   "metrics_are_listed_though_no_message_holds_them");
	ok(cuptiProfilerHostGetBaseMetrics(&base) == 0 && base.numMetrics == 3000,
	   "and_each_once_however_often");
	base.metricType = CUPTI_METRIC_TYPE_RATIO;
	ok(cuptiProfilerHostGetBaseMetrics(&base) == 0 && base.numMetrics == 0,
	   "an_empty_list_is_one");
	sub.pMetricName = wanted[0];
	ok(cuptiProfilerHostGetSubMetrics(&sub) == 0 && sub.numOfSubmetrics == 2 &&
	   !strcmp(sub.ppSubMetrics[1], ".avg"),
	   "metric_has_submetrics_on_the_chip_of_which_the_host_was_made");
	p.pMetricName = wanted[0];
	ok(cuptiProfilerHostGetMetricProperties(&p) == 0 && !strcmp(p.pHwUnit, "softgpu") &&
	   !strcmp(p.pDescription, "what is counted") && !*p.pDimUnit &&
	   p.metricType == CUPTI_METRIC_TYPE_RATIO, "and_properties");
	p.pMetricName = "nothing";
	ok_eq(cuptiProfilerHostGetMetricProperties(&p), CUPTI_ERROR_INVALID_METRIC_NAME,
	      "metric_that_is_none_is_the_librarys_error");
	p.pHostObject = (CUpti_Profiler_Host_Object *)prepare;
	ok_eq(cuptiProfilerHostGetMetricProperties(&p), CUPTI_ERROR_INVALID_PARAMETER,
	      "object_that_is_none_is_refused");
}

static void test_config(void)
{
	PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
	PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
	PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
	PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);

	add.pHostObject = size.pHostObject = image.pHostObject = host;
	add.ppMetricNames = wanted;
	add.numMetrics = 2;
	ok_eq(cuptiProfilerHostConfigAddMetrics(&add), 0, "metrics_are_chosen");
	add.ppMetricNames = (const char *[]) { NULL };
	add.numMetrics = 1;
	ok_eq(cuptiProfilerHostConfigAddMetrics(&add), CUPTI_ERROR_INVALID_PARAMETER,
	      "name_that_is_missing_is_refused");
	ok_eq(cuptiProfilerHostGetConfigImageSize(&size), 0, "image_of_them_has_a_size");
	config_size = size.configImageSize;
	config = malloc(config_size);
	image.configImageSize = config_size;
	image.pConfigImage = config;
	ok_eq(cuptiProfilerHostGetConfigImage(&image), 0, "it_is_there");
	passes.configImageSize = config_size;
	passes.pConfigImage = config;
	ok(cuptiProfilerHostGetNumOfPasses(&passes) == 0 && passes.numOfPasses == 2,
	   "it_says_how_many_passes_are_needed");
}

/* --- Ranges ---------------- */

static void make_data(size_t ranges)
{
	PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image);
	PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);

	size.pRangeProfilerObject = image.pRangeProfilerObject = range;
	size.pMetricNames = wanted;
	size.numMetrics = 2;
	size.maxNumOfRanges = size.maxNumRangeTreeNodes = ranges;
	ok_eq(cuptiRangeProfilerGetCounterDataSize(&size), 0, "data_have_a_size");
	data_size = size.counterDataSize;
	free(data);
	data = calloc(1, data_size);
	image.counterDataSize = data_size;
	image.pCounterData = data;
	ok_eq(cuptiRangeProfilerCounterDataImageInitialize(&image), 0, "and_an_image");
	image.counterDataSize--;
	ok_eq(cuptiRangeProfilerCounterDataImageInitialize(&image), CUPTI_ERROR_INVALID_PARAMETER,
	      "image_of_another_size_is_refused");
}

static CUptiResult configure(CUpti_ProfilerRange mode, CUpti_ProfilerReplayMode replay)
{
	PARAMS(CUpti_RangeProfiler_SetConfig_Params, p);

	p.pRangeProfilerObject = range;
	p.configSize = config_size;
	p.pConfig = config;
	p.counterDataImageSize = data_size;
	p.pCounterDataImage = data;
	p.range = mode;
	p.replayMode = replay;
	p.maxRangesPerPass = 8;
	p.numNestingLevels = 2;
	p.minNestingLevel = 1;
	p.targetNestingLevel = 3;
	return cuptiRangeProfilerSetConfig(&p);
}

static CUptiResult start(void)
{
	PARAMS(CUpti_RangeProfiler_Start_Params, p);

	p.pRangeProfilerObject = range;
	return cuptiRangeProfilerStart(&p);
}

static CUptiResult stop(size_t *pass, int *all)
{
	PARAMS(CUpti_RangeProfiler_Stop_Params, p);
	CUptiResult res;

	p.pRangeProfilerObject = range;
	res = cuptiRangeProfilerStop(&p);
	*pass = p.passIndex;
	*all = p.isAllPassSubmitted;
	return res;
}

static CUptiResult push(const char *name)
{
	PARAMS(CUpti_RangeProfiler_PushRange_Params, p);

	p.pRangeProfilerObject = range;
	p.pRangeName = name;
	return cuptiRangeProfilerPushRange(&p);
}

static CUptiResult pop(void)
{
	PARAMS(CUpti_RangeProfiler_PopRange_Params, p);

	p.pRangeProfilerObject = range;
	return cuptiRangeProfilerPopRange(&p);
}

static CUptiResult decode(size_t *dropped)
{
	PARAMS(CUpti_RangeProfiler_DecodeData_Params, p);
	CUptiResult res;

	p.pRangeProfilerObject = range;
	res = cuptiRangeProfilerDecodeData(&p);
	*dropped = p.numOfRangeDropped;
	return res;
}

static size_t ranges_in_data(void)
{
	PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, p);

	p.pCounterDataImage = data;
	p.counterDataImageSize = data_size;
	return cuptiRangeProfilerGetCounterDataInfo(&p) == 0 ? p.numTotalRanges : 99;
}

static const char *name_of(size_t i)
{
	PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, p);

	p.pCounterDataImage = data;
	p.counterDataImageSize = data_size;
	p.rangeIndex = i;
	p.rangeDelimiter = "/";
	return cuptiRangeProfilerCounterDataGetRangeInfo(&p) == 0 ? p.rangeName : "";
}

static CUptiResult evaluate(size_t i, double value[2])
{
	PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, p);

	p.pHostObject = host;
	p.pCounterDataImage = data;
	p.counterDataImageSize = data_size;
	p.rangeIndex = i;
	p.ppMetricNames = wanted;
	p.numMetrics = 2;
	p.pMetricValues = value;
	return cuptiProfilerHostEvaluateToGpuValues(&p);
}

static int counted(size_t i, double kernels)
{
	double value[2] = { 0 };

	return evaluate(i, value) == 0 && value[0] == kernels && value[1] == kernels * 64;
}

static void enable(void)
{
	PARAMS(CUpti_RangeProfiler_Enable_Params, p);

	p.ctx = (CUcontext)prepare;
	ok_eq(cuptiRangeProfilerEnable(&p), CUPTI_ERROR_INVALID_CONTEXT,
	      "context_that_is_none_is_refused");
	p.ctx = ctx;
	ok_eq(cuptiRangeProfilerEnable(&p), 0, "range_profiler_is_enabled");
	range = p.pRangeProfilerObject;
}

static void test_user_ranges(void)
{
	size_t pass = 0, dropped = 9;
	int all = 0;

	enable();
	make_data(2);
	news();
	ok_eq(configure(CUPTI_UserRange, CUPTI_UserReplay), 0, "ranges_of_the_program_are_configured");
	ok(strstr(news(), "config 2 3 8 2 1 0 3") != NULL, "as_the_program_said");
	launch(1);
	ok_eq(start(), 0, "counting_starts");
	push("outer");
	launch(2);
	push("inner");
	launch(3);
	ok(pop() == 0 && pop() == 0, "ranges_begin_and_end");
	ok_eq(pop(), CUPTI_ERROR_INVALID_OPERATION, "none_ends_that_did_not_begin");
	launch(1);
	ok(stop(&pass, &all) == 0 && pass == 1 && !all, "first_pass_ends_and_another_is_needed");
	start();
	push("outer");
	launch(2);
	push("inner");
	launch(3);
	pop();
	pop();
	ok(stop(&pass, &all) == 0 && pass == 2 && all, "second_one_is_the_last");
	ok_eq(ranges_in_data(), 0, "before_it_is_decoded_the_image_has_no_range");
	ok(decode(&dropped) == 0 && dropped == 0, "data_are_decoded");
	ok_eq(ranges_in_data(), 2, "into_the_programs_image");
	ok(!strcmp(name_of(0), "outer") && !strcmp(name_of(1), "inner"), "ranges_have_their_names");
	ok(counted(0, 5) && counted(1, 3), "and_the_values_of_the_kernels_in_them");
}

static void test_kernels(void)
{
	PARAMS(CUpti_Profiler_Host_GetRangeName_Params, p);
	size_t pass, dropped = 0;
	int all;

	make_data(2);
	ok_eq(configure(CUPTI_AutoRange, CUPTI_KernelReplay), 0, "ranges_of_kernels_are_configured");
	start();
	launch(3);
	stop(&pass, &all);
	ok(decode(&dropped) == 0 && dropped == 1, "what_the_image_has_no_room_for_is_counted");
	p.pCounterDataImage = data;
	p.counterDataImageSize = data_size;
	p.rangeIndex = 1;
	ok(cuptiProfilerHostGetRangeName(&p) == 0 && !strcmp(p.pRangeName, "1/"),
	   "kernels_have_numbers_as_names");
	free((void *)p.pRangeName);
	ok(counted(0, 1) && counted(1, 1), "each_is_counted_alone");
}

/* --- What is no image ----------------------------------------------------------------------- */

static void test_images(void)
{
	double value[2];

	ok_eq(evaluate(2, value), CUPTI_ERROR_INVALID_PARAMETER, "range_that_is_none_is_refused");
	data[0] ^= 1;
	ok_eq(evaluate(0, value), CUPTI_ERROR_INVALID_PARAMETER, "changed_data_are_refused");
	data[0] ^= 1;
	data_size--;
	ok_eq(evaluate(0, value), CUPTI_ERROR_INVALID_PARAMETER, "and_data_that_are_cut");
	data_size++;
	config[config_size / 2] ^= 1;
	ok_eq(configure(CUPTI_UserRange, CUPTI_UserReplay), CUPTI_ERROR_INVALID_PARAMETER,
	      "and_a_changed_configuration");
	config[config_size / 2] ^= 1;
	ok(evaluate(0, value) == 0, "unchanged_they_are_taken");
	ok_eq(configure(CUPTI_UserRange, CUPTI_ApplicationReplay), CUPTI_ERROR_NOT_SUPPORTED,
	      "replay_by_another_process_is_refused");
	ok_eq(configure(CUPTI_Range_COUNT, CUPTI_UserReplay), CUPTI_ERROR_INVALID_PARAMETER,
	      "and_a_mode_that_is_none");
}

/* An image of one kind is none of the other. */
static void test_kinds(void)
{
	uint8_t *other = config;
	size_t size = config_size;

	config = data;
	config_size = data_size;
	ok_eq(configure(CUPTI_UserRange, CUPTI_UserReplay), CUPTI_ERROR_INVALID_PARAMETER,
	      "data_are_no_configuration");
	config = other;
	config_size = size;
}

static void test_fork(void)
{
	double value[2];
	int status = -1;
	pid_t child = fork();

	if (!child) {
		prepare();
		_exit(evaluate(0, value) != CUPTI_ERROR_INVALID_PARAMETER || initialize());
	}
	waitpid(child, &status, 0);
	ok_eq(status, 0, "image_of_another_process_is_refused");
}

static void test_end(void)
{
	PARAMS(CUpti_Profiler_Host_Deinitialize_Params, h);
	PARAMS(CUpti_Profiler_DeInitialize_Params, d);
	PARAMS(CUpti_RangeProfiler_Disable_Params, p);

	p.pRangeProfilerObject = range;
	ok_eq(cuptiRangeProfilerDisable(&p), 0, "range_profiler_is_disabled");
	ok_eq(start(), CUPTI_ERROR_INVALID_PARAMETER, "and_gone");
	h.pHostObject = host;
	ok_eq(cuptiProfilerHostDeinitialize(&h), 0, "host_ends");
	ok_eq(cuptiProfilerHostDeinitialize(&h), CUPTI_ERROR_INVALID_PARAMETER, "once");
	ok_eq(cuptiProfilerDeInitialize(&d), 0, "profiler_ends");
}

/* Objects end with their context, and leave room for others. */
static void test_contexts(void)
{
	PARAMS(CUpti_RangeProfiler_Enable_Params, p);
	CUptiResult res = CUPTI_SUCCESS;
	CUcontext own;
	int i;

	for (i = 0; i < 40 && res == CUPTI_SUCCESS; i++) {
		cuCtxCreate(&own, NULL, 0, 0);
		p.ctx = own;
		res = cuptiRangeProfilerEnable(&p);
		cuCtxDestroy(own);
	}
	ok_eq(res, 0, "objects_of_ended_contexts_take_no_room");
	range = p.pRangeProfilerObject;
	ok_eq(start(), CUPTI_ERROR_INVALID_PARAMETER, "and_are_gone");
	cuCtxSetCurrent(ctx);
	p.ctx = ctx;
	for (i = 0; i < 40 && cuptiRangeProfilerEnable(&p) == CUPTI_SUCCESS; i++)
		;
	ok(i > 0 && i < 40, "others_are_bounded");
}

/* --- Where it is not allowed ---------------- */

#define DENIED(type, function) do {						\
	PARAMS(type, p_);							\
	ok_eq(function(&p_), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, #function "_is_refused"); \
} while (0)

static void test_refused(void)
{
	DENIED(CUpti_Profiler_Initialize_Params, cuptiProfilerInitialize);
	DENIED(CUpti_Profiler_DeInitialize_Params, cuptiProfilerDeInitialize);
	DENIED(CUpti_Profiler_DeviceSupported_Params, cuptiProfilerDeviceSupported);
	DENIED(CUpti_Device_GetChipName_Params, cuptiDeviceGetChipName);
	DENIED(CUpti_Profiler_GetCounterAvailability_Params, cuptiProfilerGetCounterAvailability);
	DENIED(CUpti_Profiler_Host_GetSupportedChips_Params, cuptiProfilerHostGetSupportedChips);
	DENIED(CUpti_Profiler_Host_Initialize_Params, cuptiProfilerHostInitialize);
	DENIED(CUpti_Profiler_Host_Deinitialize_Params, cuptiProfilerHostDeinitialize);
	DENIED(CUpti_Profiler_Host_EvaluateToGpuValues_Params,
	       cuptiProfilerHostEvaluateToGpuValues);
	DENIED(CUpti_RangeProfiler_Enable_Params, cuptiRangeProfilerEnable);
	DENIED(CUpti_RangeProfiler_Disable_Params, cuptiRangeProfilerDisable);
	DENIED(CUpti_RangeProfiler_SetConfig_Params, cuptiRangeProfilerSetConfig);
	DENIED(CUpti_RangeProfiler_Start_Params, cuptiRangeProfilerStart);
	DENIED(CUpti_RangeProfiler_Stop_Params, cuptiRangeProfilerStop);
	DENIED(CUpti_RangeProfiler_DecodeData_Params, cuptiRangeProfilerDecodeData);
	ok(!*news(), "genuine_library_hears_of_none");
}

/* Says what the first call returns, and again whenever it may have changed. */
static int test_may(int again)
{
	char line[16];

	do {
		printf("%d\n", initialize());
		fflush(stdout);
	} while (again && fgets(line, sizeof(line), stdin));
	return 0;
}

/* --- The host alone ------------------------------------------------------------------------ */

static unsigned long hash_of(unsigned long hash, const char *text)
{
	while (*text)
		hash = hash * 31 + (unsigned char)*text++;
	return hash;
}

static void print_names(const char *what, const char *const *names, size_t n)
{
	unsigned long hash = 7;
	size_t i;

	for (i = 0; i < n; i++)
		hash = hash_of(hash, names[i]);
	printf("%s %zu %lx\n", what, n, hash);
}

static void print_metrics(void)
{
	PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params, chips);
	PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, p);
	PARAMS(CUpti_Profiler_Host_GetBaseMetrics_Params, base);
	PARAMS(CUpti_Profiler_Host_GetSubMetrics_Params, sub);
	int type;

	cuptiProfilerHostGetSupportedChips(&chips);
	print_names("chips", chips.ppChipNames, chips.numChips);
	base.pHostObject = sub.pHostObject = p.pHostObject = host;
	for (type = 0; type < CUPTI_METRIC_TYPE__COUNT; type++) {
		base.metricType = (CUpti_MetricType)type;
		if (cuptiProfilerHostGetBaseMetrics(&base) == 0)
			print_names("metrics", base.ppMetricNames, base.numMetrics);
	}
	sub.pMetricName = p.pMetricName = "sm__cycles_active";
	if (cuptiProfilerHostGetSubMetrics(&sub) == 0)
		print_names("submetrics", sub.ppSubMetrics, sub.numOfSubmetrics);
	if (cuptiProfilerHostGetMetricProperties(&p) == 0)
		printf("%s; %s; %s; %d\n", p.pDescription, p.pHwUnit, p.pDimUnit, p.metricType);
	p.pMetricName = "no metric";
	printf("no metric: %d\n", cuptiProfilerHostGetMetricProperties(&p));
}

static void print_passes(const char **metrics, size_t n)
{
	PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
	PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
	PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
	PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
	int res;

	add.pHostObject = size.pHostObject = image.pHostObject = host;
	add.ppMetricNames = metrics;
	add.numMetrics = n;
	res = cuptiProfilerHostConfigAddMetrics(&add) || cuptiProfilerHostGetConfigImageSize(&size);
	image.configImageSize = passes.configImageSize = size.configImageSize;
	image.pConfigImage = passes.pConfigImage = calloc(1, size.configImageSize);
	res = res || cuptiProfilerHostGetConfigImage(&image) ||
	      cuptiProfilerHostGetNumOfPasses(&passes);
	printf("passes of %zu metrics: %d %zu\n", n, res, passes.numOfPasses);
	free(image.pConfigImage);
}

static int print_host(const char *chip)
{
	const char *metrics[] = {
		"sm__cycles_active.sum", "smsp__warps_launched.sum", "dram__bytes.sum",
		"lts__t_sectors.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
	};
	PARAMS(CUpti_Profiler_Host_Initialize_Params, init);
	CUptiResult res;

	init.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
	init.pChipName = chip;
	res = cuptiProfilerHostInitialize(&init);
	printf("host %d\n", res);
	host = init.pHostObject;
	if (res)
		return 1;
	print_metrics();
	print_passes(metrics, 1);
	print_passes(metrics, 5);
	return 0;
}

int main(int argc, char **argv)
{
	const char *transport = getenv("WORMHOLE_TRANSPORT");

	if (argc > 2)
		return print_host(argv[2]);
	prepare();
	if (argc > 1)
		return test_may(!strcmp(argv[1], "toggle"));
	if (transport && !strcmp(transport, "loopback")) {
		test_refused();
		return tap_exit();
	}
	test_device();
	test_availability();
	test_host();
	test_config();
	test_user_ranges();
	test_kernels();
	test_images();
	test_kinds();
	test_fork();
	test_end();
	test_contexts();
	return tap_exit();
}
