/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's own figures in a server VM (figures/). A worker takes memory of a device by its
 * kernel, on this VM's CPUs. As long as no worker uses any of them, nothing has changed and the
 * driver is not asked.
 */
#ifndef WORMHOLE_VM_JUDGE_H
#define WORMHOLE_VM_JUDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "figures/figures.h"

struct wh_judge_options {
	const char *worker, *backend;	/* the program that asks, and the driver that it asks */
	const char *nvml;		/* a library; "none": nobody asks; NULL: the driver's own */
	uint64_t slack;
	const struct wh_device *device;
	unsigned int devices;
	wh_say_fn say;
};

/* Asks which devices there are. False: r->error says why it failed. */
bool wh_judge_devices(const char *worker, const char *backend, struct wh_devices_report *r);

void wh_judge_start(const struct wh_judge_options *o);
void wh_judge_stop(void);
/* Returns a descriptor that can be read when figures have come; -1: nobody reads them. */
int wh_judge_fd(void);
void wh_judge_read(void);
/* The host looks: the next readings are made whether workers run or not. */
void wh_judge_wanted(void);
/* Does what is due. Returns the milliseconds until the next time, or -1. */
int64_t wh_judge_due(void);
bool wh_judge_reap(pid_t pid, int status);	/* true: it was the reader */

#endif
