/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of one device, from the process that asks NVML (nvml_reader.c) to the server. */
#ifndef WORMHOLE_NVML_READER_H
#define WORMHOLE_NVML_READER_H

#include <stdint.h>

#define WH_FIGURES_MAX	512

struct wh_figure {
	uint32_t pid;		/* as the driver names it */
	uint32_t resv;
	uint64_t bytes;		/* NVML_UNKNOWN_BYTES: the driver does not say */
	uint64_t busy_ns;	/* time of the device since the last reading, sampled */
};

struct wh_figures {
	char uuid[48];
	uint32_t count;
	uint32_t resv;
	struct wh_figure figure[WH_FIGURES_MAX];
};

#endif
