/* SPDX-License-Identifier: Apache-2.0 */
/* A client VM over the transport ring, for `wormhole client start --ring`. */
#ifndef WORMHOLE_HOST_VM_RING_H
#define WORMHOLE_HOST_VM_RING_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

struct wh_vm_ring {
	/* The VM's tenant and its server; NULL: of $WORMHOLE_SOCKET, else the default ones. */
	const char *tenant, *dir;
	unsigned int programs;	/* of the guest that can be served at a time */
	uint64_t part_size;	/* bytes that each of them shares with its worker */
	bool said;		/* something of this was given, besides the folder */
};

#define WH_VM_RING	{ .programs = 8, .part_size = 64 << 20 }

/* Children of a command's argp. Their inputs are a struct wh_vm_ring and its folder. */
extern const struct argp_child wh_ring_options[];

/* Makes the window and the ports. Returns 0, or -1 after a message. */
int wh_vm_ring_make(const struct wh_vm_ring *r);
/* Returns what QEMU's command line needs for what was made, with NULL at its end. */
char **wh_vm_ring_words(void);
/* Starts the relay and becomes QEMU. Returns only after an error, which it has printed. */
int wh_vm_ring_run(char **argv);

/* `wormhole client exec' */
int wh_client_exec(int argc, char **argv);

#endif
