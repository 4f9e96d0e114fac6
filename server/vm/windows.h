/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tenants of a server VM: a client VM's window is one, named window0, window1,
 * ... Their files are in a folder on a tmpfs; workers join by path and take an
 * account themselves.
 */
#ifndef WORMHOLE_VM_WINDOWS_H
#define WORMHOLE_VM_WINDOWS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tenant/tenant.h"

#define WH_WINDOWS		16
#define WH_WINDOW_WORKERS	WH_TENANT_WORKERS

/* "WINDOW:mem=SIZE,sm=PERCENT,policy=POLICY". 0, or -1 with one line in err. */
int wh_window_limit(const char *text, char *err, size_t err_size);
/*
 * Make the files of all windows; nothing without a limit. sms: of each device,
 * for spatial limits; 0: not known. 0, or -1 with one line in err.
 */
int wh_window_tenants_start(const char *dir, unsigned int windows, uint32_t sms,
			    char *err, size_t err_size);
/* DIR/NAME for the worker's --tenant; NULL: no window has limits. */
const char *wh_window_tenant(unsigned int window);
/* A worker of the window has ended. */
void wh_window_worker_ended(unsigned int window, pid_t pid);

#endif
