/* SPDX-License-Identifier: Apache-2.0 */
/* Loads NVML, for the processes that ask it (reader.c, context.c). */
#ifndef WORMHOLE_FIGURES_NVML_H
#define WORMHOLE_FIGURES_NVML_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "libraries/nvml_abi.h"
#include "tenant/tenant.h"

#define WH_NVML_DEVICES	64u	/* eight GPUs of seven instances, and some */

/* Finds the NVML that lies beside a driver's library. */
bool wh_nvml_beside(const char *driver, char out[PATH_MAX]);
/*
 * Loads `library`; NULL: the one beside the driver, or the loader's. Fills in *n, whose `init`,
 * `count`, `handle` and `uuid` are there then. False: err has a line that says why.
 */
bool wh_nvml_load(struct nvml *n, const char *library, const char *driver, char *err,
		  size_t err_size);

/* A GPU that is not in MIG mode, or a MIG instance. */
struct wh_nvml_entry {
	nvml_device handle;
	char uuid[WH_UUID];	/* of an instance "MIG-..." */
};

struct wh_nvml_list {
	unsigned int n;
	bool more;	/* there are more than are listed */
	struct wh_nvml_entry entry[WH_NVML_DEVICES];
};

/*
 * Lists what processes can have as devices, by NVML's index of the GPU and of the instance. A GPU
 * in MIG mode is none itself. NVML has started. False: it does not count its devices.
 */
bool wh_nvml_list(const struct nvml *n, struct wh_nvml_list *l);
/* Returns the one with this UUID, or NULL. */
nvml_device wh_nvml_find(const struct nvml *n, const char *uuid);

#endif
