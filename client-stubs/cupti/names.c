// SPDX-License-Identifier: Apache-2.0
/*
 * CUPTI's answers about itself: its version, the names of its results, and what the library can
 * do. Functions that no header declares are refused here.
 */
#include "cupti_stub.h"

#define UNKNOWN	999

static const char *const names[] = {
	[0] = "CUPTI_SUCCESS",
	[1] = "CUPTI_ERROR_INVALID_PARAMETER",
	[2] = "CUPTI_ERROR_INVALID_DEVICE",
	[3] = "CUPTI_ERROR_INVALID_CONTEXT",
	[4] = "CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID",
	[5] = "CUPTI_ERROR_INVALID_EVENT_ID",
	[6] = "CUPTI_ERROR_INVALID_EVENT_NAME",
	[7] = "CUPTI_ERROR_INVALID_OPERATION",
	[8] = "CUPTI_ERROR_OUT_OF_MEMORY",
	[9] = "CUPTI_ERROR_HARDWARE",
	[10] = "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT",
	[11] = "CUPTI_ERROR_API_NOT_IMPLEMENTED",
	[12] = "CUPTI_ERROR_MAX_LIMIT_REACHED",
	[13] = "CUPTI_ERROR_NOT_READY",
	[14] = "CUPTI_ERROR_NOT_COMPATIBLE",
	[15] = "CUPTI_ERROR_NOT_INITIALIZED",
	[16] = "CUPTI_ERROR_INVALID_METRIC_ID",
	[17] = "CUPTI_ERROR_INVALID_METRIC_NAME",
	[18] = "CUPTI_ERROR_QUEUE_EMPTY",
	[19] = "CUPTI_ERROR_INVALID_HANDLE",
	[20] = "CUPTI_ERROR_INVALID_STREAM",
	[21] = "CUPTI_ERROR_INVALID_KIND",
	[22] = "CUPTI_ERROR_INVALID_EVENT_VALUE",
	[23] = "CUPTI_ERROR_DISABLED",
	[24] = "CUPTI_ERROR_INVALID_MODULE",
	[25] = "CUPTI_ERROR_INVALID_METRIC_VALUE",
	[26] = "CUPTI_ERROR_HARDWARE_BUSY",
	[27] = "CUPTI_ERROR_NOT_SUPPORTED",
	[28] = "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED",
	[29] = "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE",
	[30] = "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES",
	[31] = "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS",
	[32] = "CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED",
	[33] = "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED",
	[34] = "CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE",
	[35] = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
	[36] = "CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED",
	[37] = "CUPTI_ERROR_OPENACC_UNDEFINED_ROUTINE",
	[38] = "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED",
	[39] = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
	[40] = "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
	[41] = "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED",
	[42] = "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED",
	[43] = "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED",
	[44] = "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED",
	[45] = "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED",
	[46] = "CUPTI_ERROR_INVALID_CHIP_NAME",
};

static __thread CUptiResult last __attribute__((tls_model("initial-exec")));

CUptiResult cu_ret(CUptiResult res)
{
	if (res != CUPTI_SUCCESS)
		last = res;
	return res;
}

CUptiResult cuptiGetLastError(void)
{
	CUptiResult res = last;

	last = CUPTI_SUCCESS;
	return res;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
	if (!version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*version = CUPTI_API_VERSION;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
	const char *name = NULL;

	if ((int)result >= 0 && (size_t)result < sizeof(names) / sizeof(*names))
		name = names[result];
	if (result == UNKNOWN)
		name = "CUPTI_ERROR_UNKNOWN";
	if (!str || !name)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*str = name;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **str)
{
	if (str && result == CUPTI_ERROR_NOT_SUPPORTED) {
		*str = "Wormhole does not serve this function, or the server has no CUPTI";
		return CUPTI_SUCCESS;
	}
	if (str && result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
		*str = "The administrator has not allowed this tenant counters (wormhole limit --counters), Wormhole "
		       "does not serve this kind, or the driver keeps counters for administrators";
		return CUPTI_SUCCESS;
	}
	return cuptiGetResultString(result, str);
}

/* --- What there is -------------------------------------------------------------------------- */

CUptiResult cuptiDeviceSupported(CUdevice dev, int *support)
{
	(void)dev;
	if (!support)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	*support = 1;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiComputeCapabilitySupported(int major, int minor, int *support)
{
	(void)major, (void)minor;
	if (!support)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	*support = 1;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceVirtualizationMode(CUdevice dev, CUpti_DeviceVirtualizationMode *mode)
{
	(void)dev;
	if (!mode)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	*mode = CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE;
	return CUPTI_SUCCESS;
}

/* --- What no header declares --------------------------------------------------------------- */

#define REFUSED(name)							\
	__attribute__((visibility("default"))) CUptiResult name(void);	\
	CUptiResult name(void)						\
	{								\
		return wh_cupti_refuse(#name);				\
	}

REFUSED(cuptiActivityEnableBufferSummary)
REFUSED(cuptiActivityEnableRawTimestamps)
REFUSED(cuptiActivityGetNvtxExtPayloadAttr)
REFUSED(cuptiActivityGetNvtxExtPayloadEntryTypeInfo)
REFUSED(cuptiDisableLibcuda)
REFUSED(cuptiEnableCigMode)
REFUSED(cuptiGetGlobalCallbackState)
REFUSED(cuptiGetNumContexts)
REFUSED(cuptiGetRecommendedBufferSize)
REFUSED(cuptiNvtxExtensionInitialize)
REFUSED(cuptiNvtxInitialize)
REFUSED(cuptiNvtxInitialize2)
REFUSED(cuptiOpenACCInitialize)
REFUSED(cuptiOpenMpInitialize)
REFUSED(cuptiOpenMpInitialize_v2)
REFUSED(cuptiStateQuery)
