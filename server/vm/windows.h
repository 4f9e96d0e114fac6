/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tenants of a server VM: a client VM's window is one, named window0, window1,
 * ... Their files are in a folder on a tmpfs; workers join by path, each with the
 * account of its part.
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

#define WH_WINDOWS		WH_CHANNEL_WINDOWS
#define WH_WINDOW_WORKERS	WH_TENANT_WORKERS

/* "WINDOW:mem=SIZE,sm=PERCENT,policy=POLICY". 0, or -1 with one line in err. */
int wh_window_limit(const char *text, char *err, size_t err_size);
/* Has one been said? */
bool wh_window_limits_said(void);
/* Make the files of all windows. 0, or -1 with one line in err. */
int wh_window_tenants_start(const char *dir, unsigned int windows, const struct wh_device *device,
			    unsigned int devices, char *err, size_t err_size);
/* DIR/NAME for the worker's --tenant; NULL: windows are no tenants. */
const char *wh_window_tenant(unsigned int window);
/*
 * Of a part: before its worker is forked; its process, on both sides of the fork; its end,
 * which is -1 with errno when the window's locks could not be made anew.
 */
void wh_window_worker_starts(unsigned int window, unsigned int part);
void wh_window_worker_is(unsigned int window, unsigned int part, pid_t pid);
int wh_window_worker_ended(unsigned int window, unsigned int part, const struct rusage *used);

/* What the host asks for: false with one line in err. */
bool wh_window_change(const struct wh_channel_limit *l, char *err, size_t err_size);
/* A look and all windows: bytes, allocated; NULL: no memory. */
void *wh_windows_look(uint32_t *size);

/* CPU time of all workers that live. */
uint64_t wh_windows_cpu_ns(void);
/* For struct wh_audit. */
bool wh_windows_next(unsigned int *at, struct wh_audited *out);

#endif
