/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suspended windows: their clients' calls wait in the clients' own VMs, and what workers have on
 * devices is in this VM's memory. A process of its own asks the driver (checkpoint/), so nothing
 * here waits for anybody.
 */
#ifndef WORMHOLE_VM_SUSPEND_H
#define WORMHOLE_VM_SUSPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenant/channel.h"
#include "tenant/plan.h"

struct wh_suspend_options {
	const char *worker;	/* the program that asks the driver with --checkpoint */
	const char *backend;
	const char *nvml;	/* NULL: the driver's own */
	unsigned int parts;	/* workers of a window */
	const struct wh_device *device;
	unsigned int devices;
	void (*say)(const char *level, const char *fmt, ...);
};

void wh_suspends_start(const struct wh_suspend_options *o);
/* Returns a descriptor that can be read when wh_suspends_read() has something to do; -1: never. */
int wh_suspends_fd(void);
/*
 * Lowers bounds of memory that could not be lowered before. Returns the milliseconds until the next
 * look; -1: there is none.
 */
int64_t wh_suspends_due(void);
/* Begins what the host asks for. False with one line in err. */
bool wh_suspend_window(const struct wh_channel_suspend *r, char *err, size_t err_size);
/* How it stands with a window; false with one line in err. */
bool wh_suspend_look(uint32_t window, struct wh_channel_suspended *out, char *err,
		     size_t err_size);
void wh_suspends_read(void);
/* Ends the processes that ask the driver. */
void wh_suspends_stop(void);

#endif
