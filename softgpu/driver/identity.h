/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and properties of the devices, for the driver (device.c) and for the management
 * library (../nvml/). Programs use them to match the devices of the two libraries. A device
 * has a number on the machine; a process may count its devices in another order.
 */
#ifndef SOFTGPU_IDENTITY_H
#define SOFTGPU_IDENTITY_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SGPU_NAME	"Wormhole softgpu"
#define SGPU_CUDA_VERSION	13000
#define SGPU_CAPABILITY	"9.0"	/* where the user sets none */
#define SGPU_DEVICES	8u	/* at most */
#define SGPU_PCI_BUS_ID	"0000:00:00.0"	/* of device 0; its length is that of all */
#define SGPU_UUID_TEXT	sizeof("GPU-00000000-0000-0000-0000-000000000000")

static inline void sgpu_uuid(unsigned int device, unsigned char out[16])
{
	memcpy(out, "wormhole-softgpu", 16);
	out[15] = (unsigned char)(out[15] + device);
}

/* Writes it as programs do, for people and for CUDA_VISIBLE_DEVICES. */
static inline void sgpu_uuid_text(unsigned int device, char out[SGPU_UUID_TEXT])
{
	unsigned char u[16];
	unsigned int i, n = 4;

	sgpu_uuid(device, u);
	memcpy(out, "GPU-", 4);
	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[n++] = '-';
		n += (unsigned int)snprintf(out + n, 3, "%02x", u[i]);
	}
}

static inline void sgpu_pci_bus_id(unsigned int device, char out[sizeof(SGPU_PCI_BUS_ID)])
{
	snprintf(out, sizeof(SGPU_PCI_BUS_ID), "0000:%02x:00.0", device % SGPU_DEVICES);
}

/*
 * Finds how many devices there are, and the bytes of memory of each. Returns false if the
 * user's setting is no list of sizes of at least 1M, or has too many.
 */
bool sgpu_memory_sizes(unsigned long long bytes[SGPU_DEVICES], unsigned int *devices);

/* Finds the compute capability. Returns false if the user's setting is none that exists. */
bool sgpu_capability(int *major, int *minor);

#endif
