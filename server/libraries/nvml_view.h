/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tenant's view of NVML. Some functions of the genuine library are replaced in the worker's table
 * of functions by ones with the same prototypes, so that every handler stays generated. nvml.c
 * leaves only the tenant's devices; nvml_view.c shows the tenant's memory, processes and
 * utilisation; nvml_mig.c shows the tenant's MIG instance.
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

enum wh_nvml_kind {
	WH_NVML_GPU,
	WH_NVML_DIVIDED,	/* a GPU in MIG mode, of which the tenant has the next entry */
	WH_NVML_INSTANCE,
};

struct wh_nvml_device {
	nvmlDevice_t handle;
	enum wh_nvml_kind kind;
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
	unsigned int devices;	/* entries: an instance has one besides its GPU's */
	struct wh_nvml_device device[WH_TENANT_DEVICES];
};
extern struct wh_nvml_view wh_nvml_view;

/* nvml.c: the visible device behind a handle of the genuine library, or NULL. */
struct wh_nvml_device *wh_nvml_device(nvmlDevice_t handle);
/* Returns the CUDA driver's number of the device with this UUID, if it is the tenant's, or -1. */
int wh_nvml_number(const char *uuid);
/* Adds an entry of the view. False: it is full. */
bool wh_nvml_add(const struct wh_nvml_device *d);
/* Fill in the functions that choose devices, those of the tenant's view, and those of MIG. */
void wh_nvml_choose_devices(struct wh_nvml_functions *f);
void wh_nvml_show_tenant(struct wh_nvml_functions *f);
void wh_nvml_show_instance(struct wh_nvml_functions *f);
/* nvml_mig.c: adds the tenant's instance of a GPU, if it has one, and the GPU before it. */
void wh_nvml_add_instance(nvmlDevice_t gpu, const char *uuid);
/* Is this a GPU that the tenant has an instance of? It tells no use by others. */
static inline bool wh_nvml_divided(nvmlDevice_t handle)
{
	const struct wh_nvml_device *d = wh_nvml_device(handle);

	return d && d->kind == WH_NVML_DIVIDED;
}
/* Writes the numbers of an instance; both are WH_NVML_NO_INSTANCE if it is none. */
#define WH_NVML_NO_INSTANCE	UINT32_MAX
void wh_nvml_instance_ids(const struct wh_nvml_device *d, unsigned int *gpu, unsigned int *compute);
/* Takes the first sample of each device, so that there is a rate soon. */
void wh_nvml_first_samples(void);

#endif
