/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment variables by which HAMi and KAI say limits, read as HAMi-core reads them. The
 * server takes them from its own environment, the hook of containers (host/cdi_contain.c) from a
 * container's configuration. docs/hami.md has the list.
 */
#ifndef WORMHOLE_TENANT_HAMI_H
#define WORMHOLE_TENANT_HAMI_H

#include <stddef.h>

#include "tenant/spec.h"

/*
 * Reads CUDA_DEVICE_MEMORY_LIMIT, CUDA_DEVICE_SM_LIMIT, each with _<device>, too, and
 * GPU_CORE_UTILIZATION_POLICY of @env, an environment. A limit of 0 is none, and neither is a
 * share from 100 on. 0, or -1 with one line in err.
 */
int wh_hami_limits(struct wh_limit_list *l, char *const *env, char *err, size_t err_size);
/* Writes the names of those that mean nothing here, with commas. Returns how many there are. */
int wh_hami_idle(char *const *env, char *names, size_t size);
/* Says of such names what they come to. It is a printf() format with one %s. */
#define WH_HAMI_IDLE	"%s: of HAMi, without a meaning here; docs/hami.md says what there is instead"

#endif
