// SPDX-License-Identifier: Apache-2.0
/* The owner's side of devices.c: receives what the process that asked the backend has sent. */
#include "figures/figures.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define TIMEOUT_MS	60000	/* a real driver initialises every GPU */
#define CONTEXTS_MS	20000	/* 0.2 s for each GPU, and more where others use it */

static bool read_packet(int fd, int timeout_ms, void *out, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1 && read(fd, out, size) == (ssize_t)size;
}

bool wh_devices_receive(int fd, const char *backend, struct wh_devices_report *r)
{
	unsigned int i;

	if (!read_packet(fd, TIMEOUT_MS, r, sizeof(*r))) {
		snprintf(r->error, sizeof(r->error), "%.150s: the driver ended the process that asked for "
			 "its devices, or did not answer", backend);
		return false;
	}
	r->error[sizeof(r->error) - 1] = 0;
	r->refused[sizeof(r->refused) - 1] = 0;
	if (r->devices > WH_TENANT_DEVICES)
		r->devices = WH_TENANT_DEVICES;
	for (i = 0; i < r->devices; i++) {
		r->device[i].name[sizeof(r->device[i].name) - 1] = 0;
		r->device[i].uuid[WH_UUID - 1] = 0;
		if (!wh_sm_split_ok(&r->device[i].split, r->device[i].sms))
			r->device[i].split = (struct wh_sm_split) { 0 };
	}
	return !r->error[0];
}

bool wh_apart_receive(int fd, struct wh_apart_report *out)
{
	unsigned int i;

	if (!read_packet(fd, TIMEOUT_MS, out, sizeof(*out)) || !out->n ||
	    out->n > WH_TENANT_DEVICES)
		return false;
	for (i = 0; i < WH_TENANT_DEVICES; i++)
		out->uuid[i][WH_UUID - 1] = 0;
	return true;
}

bool wh_contexts_receive(int fd, struct wh_devices_report *r)
{
	struct wh_contexts_report c;
	unsigned int i;

	if (!read_packet(fd, CONTEXTS_MS, &c, sizeof(c)))
		return false;
	for (i = 0; i < r->devices; i++)
		r->device[i].context = c.bytes[i] <= r->device[i].memory ? c.bytes[i] : 0;
	return true;
}

static void warn_of_groups(const struct wh_devices_report *r, wh_say_fn say)
{
	const struct wh_sm_split *s;
	unsigned int i;

	for (i = 0; i < r->devices; i++) {
		s = &r->device[i].split;
		if (s->loose)
			say("warn", "device %u: %u groups of %u SMs, below the driver's own size: under a "
			    "spatial share clusters of more than 2 thread blocks do not run "
			    "(CUDA_ERROR_INVALID_CLUSTER_SIZE); without --sm-group they do", i,
			    s->groups, s->size);
	}
}

/* No check of ours is between a kernel and memory that its device can reach. */
void wh_devices_warn(const struct wh_devices_report *r, wh_say_fn say)
{
	unsigned int i;

	warn_of_groups(r, say);
	for (i = 0; i < r->devices; i++)
		if (r->pageable & 1u << i)
			say("warn", "device %u: kernels reach all memory of their worker, its limits "
			    "and counters, too, because the driver's HMM is on: load nvidia-uvm with "
			    "uvm_disable_hmm=1, then start again", i);
}
