/* SPDX-License-Identifier: Apache-2.0 */
/* Loads NVML, for the processes that ask it (reader.c, context.c). */
#ifndef WORMHOLE_FIGURES_NVML_H
#define WORMHOLE_FIGURES_NVML_H

#include <stdbool.h>
#include <stddef.h>

#include "libraries/nvml_abi.h"

/*
 * Loads `library`; NULL: the one beside the driver, or the loader's. Fills in *n. False: err has
 * a line that says why.
 */
bool wh_nvml_load(struct nvml *n, const char *library, const char *driver, char *err,
		  size_t err_size);

#endif
