/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tenant's view of NVML. Some functions of the genuine library are replaced in the worker's table
 * of functions by ones with the same prototypes, so that every handler stays generated. nvml.c
 * leaves only the tenant's devices; nvml_view.c shows the tenant's memory, processes and
 * utilisation.
 */
#ifndef WORMHOLE_NVML_VIEW_H
#define WORMHOLE_NVML_VIEW_H

#include "session/library.h"

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include "gen_nvml_server.h"

/* Utilisation is measured over at least this long: NVML's own sample period. */
#define WH_NVML_WINDOW_US	166667
/* It is this long if time is not measured: the server reads NVML four times a second. */
#define WH_NVML_WINDOW_LONG_US	1000000

struct wh_nvml_sample {
	uint32_t generation;	/* generation of the account; 0: there is none yet */
	uint32_t percent;
	uint64_t gpu_ns;
};

struct wh_nvml_device {
	nvmlDevice_t handle;
	unsigned int cuda;	/* the driver's number, by which limits and use are counted */
	char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
	uint64_t sampled_tsc;	/* when; 0: never */
	bool rated;		/* the percentages below are for a whole window */
	struct wh_nvml_sample all;
	struct wh_nvml_sample account[WH_TENANT_WORKERS];
};

/* One worker has one session. */
struct wh_nvml_view {
	struct wh_session *session;
	struct wh_nvml_functions real;
	bool started;
	unsigned int devices;
	struct wh_nvml_device device[WH_TENANT_DEVICES];
};
extern struct wh_nvml_view wh_nvml_view;

/* nvml.c: the visible device behind a handle of the genuine library, or NULL. */
struct wh_nvml_device *wh_nvml_device(nvmlDevice_t handle);
/* Fill in the functions that choose devices, and those of the tenant's view. */
void wh_nvml_choose_devices(struct wh_nvml_functions *f);
void wh_nvml_show_tenant(struct wh_nvml_functions *f);
/* Takes the first sample of each device, so that there is a rate soon. */
void wh_nvml_first_samples(void);

#endif
