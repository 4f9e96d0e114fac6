// SPDX-License-Identifier: Apache-2.0
/*
 * The driver's cache of compiled code, one for each tenant. Natively all programs of a user share
 * one (~/.nv), which a worker cannot reach: code that one tenant has put there would run for the
 * next. Without a cache, PTX is compiled at each start. So a tenant has a folder in its own
 * /dev/shm (namespaces.c). The tenant's cgroup pays for the folder, and it ends with the tenant,
 * whoever has made files in it. CUDA_CACHE_PATH is the driver's own variable ("CUDA Environment
 * Variables" in the programming guide).
 */
#define _GNU_SOURCE
#include "daemon/isolation.h"

#include <stdlib.h>

#define VARIABLE	"CUDA_CACHE_PATH"
#define SIZE_VARIABLE	"CUDA_CACHE_MAXSIZE"
#define SIZE		"268435456"	/* bytes of host memory, which is the tenant's */

bool wh_code_cache_enter(const struct wh_isolation *i)
{
	/* A path set by whoever started the server is not for workers: Landlock would allow it. */
	if (i->files_ns < 0)
		return !unsetenv(VARIABLE) && !setenv("CUDA_CACHE_DISABLE", "1", 1);
	return !setenv(VARIABLE, WH_CODE_CACHE, 1) && !setenv(SIZE_VARIABLE, SIZE, 0);
}
