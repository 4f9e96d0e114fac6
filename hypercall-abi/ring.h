/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the transport ring: a client VM on a host without the series, whose programs' workers
 * are processes of that host. Requests and replies lie in a window, which the guest sees as the
 * memory of an ivshmem device, and are laid out as over shm (shm.h). A side that looks at the words
 * needs nothing more. To sleep and to wake each other, the two sides use a port of virtio-serial,
 * whose end on the host the VM's relay has (host/relay.c). Each port belongs to one part of the
 * window, and the guest's kernel lets one process at a time open it.
 *
 * Both directions have messages of one size. A receiver that has come into the middle of one, since
 * the kernel dropped what an earlier process left behind, finds the next by its first word.
 */
#ifndef WORMHOLE_RING_H
#define WORMHOLE_RING_H

#include <stdint.h>

#define WH_RELAY_MAGIC	0x57485259U	/* "WHRY" */
#define WH_RELAY_PORT	"wormhole.ring."	/* the port's name, before the part's number */
#define WH_RELAY_PARTS	30	/* ports of one virtio-serial device, but for its first */

/* From the guest. */
enum wh_relay_ask_kind {
	WH_RELAY_OPEN = 1,	/* a process has come: value is a number of its choice */
	WH_RELAY_USE,		/* it uses the slot from now on */
	WH_RELAY_WAKE,		/* the worker sleeps on the slot's `request` */
	WH_RELAY_SLEEP,		/* it waits until the slot's `response` is another than value */
	WH_RELAY_END,		/* it ends, and waits for WH_RELAY_GONE */
};

struct wh_relay_ask {
	uint32_t magic;
	uint32_t kind;
	uint32_t slot;		/* WH_RELAY_OPEN: WH_ABI_VERSION */
	uint32_t value;
};

/* To the guest. */
enum wh_relay_tell_kind {
	WH_RELAY_WELCOME = 1,	/* answers WH_RELAY_OPEN: value is that number, slot the status */
	WH_RELAY_CHANGED,	/* answers WH_RELAY_SLEEP */
	WH_RELAY_GONE,		/* the worker has ended */
};

struct wh_relay_tell {
	uint32_t magic;
	uint32_t kind;
	uint32_t slot;
	uint32_t value;
};

/* Follows WH_RELAY_WELCOME. */
struct wh_relay_welcome {
	uint64_t window_size;	/* bytes, as all of these; the device with so much memory */
	uint64_t part_offset;
	uint64_t part_size;
	char error[200];	/* why the status is none of WH_OK, for the client's user */
};

#endif
