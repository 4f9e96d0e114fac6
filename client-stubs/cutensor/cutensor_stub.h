/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcutensor.so.2. */
#ifndef WORMHOLE_CUTENSOR_STUB_H
#define WORMHOLE_CUTENSOR_STUB_H

#include "gen_cutensor_client.h"

/* remember.c: what a call reads of the program's memory. The object says how much. */
wh_cutensor_modes_t wh_cutensor_modes(const int32_t *modes, cutensorTensorDescriptor_t desc);
wh_cutensor_scale_t wh_cutensor_scale(const void *factor, cutensorPlan_t plan);

#endif
