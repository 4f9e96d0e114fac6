/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tenants of a server VM: each client VM's window is one, named window0, window1, ... Their files
 * are in a folder on a tmpfs; workers join by path, each with the account of its part.
 */
#ifndef WORMHOLE_VM_WINDOWS_H
#define WORMHOLE_VM_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "figures/figures.h"
#include "tenant/channel.h"
#include "tenant/file.h"

#define WH_WINDOWS		WH_CHANNEL_WINDOWS
#define WH_WINDOW_WORKERS	WH_TENANT_WORKERS

/* Takes "WINDOW:mem=SIZE,sm=PERCENT,policy=POLICY". 0, or -1 with one line in err. */
int wh_window_limit(const char *text, char *err, size_t err_size);
/* Has any such limit been given? */
bool wh_window_limits_said(void);
/* Makes the files of all windows. 0, or -1 with one line in err. */
int wh_window_tenants_start(const char *dir, unsigned int windows, const struct wh_device *device,
			    unsigned int devices, char *err, size_t err_size);
/* Returns DIR/NAME for the worker's --tenant; NULL: windows are no tenants. */
const char *wh_window_tenant(unsigned int window);
/*
 * Call these for a part's worker: before it is forked; with its process, on both sides of the fork;
 * and at its end. The last one returns -1 with errno if the window's locks could not be made anew.
 */
void wh_window_worker_starts(unsigned int window, unsigned int part);
void wh_window_worker_is(unsigned int window, unsigned int part, pid_t pid);
int wh_window_worker_ended(unsigned int window, unsigned int part, const struct rusage *used);

/* Makes a change that the host asks for: false with one line in err. */
bool wh_window_change(const struct wh_channel_limit *l, char *err, size_t err_size);
/* Returns a look and all windows, allocated, and their bytes; NULL: no memory. */
void *wh_windows_look(uint32_t *size);

/* What suspend.c needs of a window. */
struct wh_window_view {
	unsigned int window;
	const char *name;
	const struct wh_tenant_file *file;
	const pid_t *pid;		/* of each part's worker; 0: none */
};
bool wh_window_at(unsigned int window, struct wh_window_view *out);	/* false: there is none */
/* Says that there is no such window. */
void wh_window_none(unsigned int window, char *err, size_t err_size);

/* Returns the CPU time of all living workers. */
uint64_t wh_windows_cpu_ns(void);
/* This is the `next` of struct wh_judge. */
bool wh_windows_next(unsigned int *at, struct wh_judged *out);

#endif
