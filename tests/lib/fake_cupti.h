/* SPDX-License-Identifier: Apache-2.0 */
/* What both files of the fake CUPTI share. */
#ifndef WORMHOLE_TESTS_FAKE_CUPTI_H
#define WORMHOLE_TESTS_FAKE_CUPTI_H

#include <cupti.h>

#include "../../softgpu/driver/watch.h"

/* fake_cupti.c: looks at what softgpu's device does, as records and counters now need it. */
CUptiResult fake_watch(void);
/* fake_cupti_counters.c: is anything counted now? A kernel has run. */
int fake_counts(void);
void fake_count(const struct sgpu_seen *s);

#endif
