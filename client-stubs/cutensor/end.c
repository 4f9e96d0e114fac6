// SPDX-License-Identifier: Apache-2.0
/*
 * The ends of objects of which the client remembers nothing. The genuine library takes NULL for
 * one that has ended.
 */
#include "cutensor_stub.h"

#define END(name, type) \
cutensorStatus_t name(type object) \
{ \
	return object ? wh_raw_##name(object) : CUTENSOR_STATUS_SUCCESS; \
}

END(cutensorDestroy, cutensorHandle_t)
END(cutensorDestroyOperationDescriptor, cutensorOperationDescriptor_t)
END(cutensorDestroyPlanPreference, cutensorPlanPreference_t)
