/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay of a client VM over the transport ring (hypercall-abi/ring.h): a process of the host
 * beside the VM's QEMU. It gives each program of the guest a worker, and wakes the one side when
 * the other asks for it.
 */
#ifndef WORMHOLE_HOST_RELAY_H
#define WORMHOLE_HOST_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "ring.h"

#define WH_RELAY_CHARDEV	"wormhole-ring-"	/* a port's name in QEMU, before the part's number */

struct wh_relay {
	const char *socket;	/* of the tenant whose programs these are */
	int window;		/* memfd, sealed */
	uint64_t window_size, part_size;	/* bytes */
	unsigned int parts;
	int port[WH_RELAY_PARTS];	/* the host's end of each part's port: a stream socket */
	int monitor;			/* QEMU's monitor (QMP): a stream socket */
};

/*
 * Serves the VM until its QEMU has ended. All descriptors are the relay's, and this process has one
 * thread and ends with it. Returns the exit status.
 */
int wh_relay_run(const struct wh_relay *r);

/* --- relay_monitor.c: which ports the guest has open ------------------------------------ */

/* Begins to listen. False: the monitor has gone. */
bool wh_relay_monitor_start(int fd);
/*
 * Reads what the monitor says. `closed` hears of each part whose port no process of the guest has
 * open, with the number that wh_relay_monitor_now() returned before QEMU was asked. False: QEMU has
 * ended.
 */
bool wh_relay_monitor_hear(void (*closed)(unsigned int part, uint64_t asked));
/* A number that rises with each question to QEMU. */
uint64_t wh_relay_monitor_now(void);

#endif
