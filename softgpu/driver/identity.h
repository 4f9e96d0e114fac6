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

/* Writes a UUID behind a word of four characters. */
static inline void sgpu_uuid_write(const char *word, const unsigned char u[16],
				   char out[SGPU_UUID_TEXT])
{
	unsigned int i, n = 4;

	memcpy(out, word, 4);
	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[n++] = '-';
		n += (unsigned int)snprintf(out + n, 3, "%02x", u[i]);
	}
}

/* Writes it as programs do, for people and for CUDA_VISIBLE_DEVICES. */
static inline void sgpu_uuid_text(unsigned int device, char out[SGPU_UUID_TEXT])
{
	unsigned char u[16];

	sgpu_uuid(device, u);
	sgpu_uuid_write("GPU-", u, out);
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

/* ---- MIG (machine.c) ---- */

#define SGPU_MIG_SLICES	7u	/* compute slices of a GPU in MIG mode, and instances at most */
#define SGPU_SLICE_SMS	2u	/* multiprocessors of a slice */
#define SGPU_PROFILE	32	/* bytes of a profile's name, such as "1g.64mb" */

/* What a process can have as a device: a GPU without MIG, or an instance of another. */
struct sgpu_part {
	unsigned long long bytes;	/* of memory */
	unsigned int gpu;
	unsigned int slices;		/* compute slices; 0: it is no instance */
	unsigned int instance;		/* number of the instance on its GPU */
};

struct sgpu_machine {
	unsigned int gpus, parts;
	unsigned long long bytes[SGPU_DEVICES];	/* of each GPU */
	bool mig[SGPU_DEVICES];			/* the GPU is in MIG mode */
	struct sgpu_part part[SGPU_DEVICES];	/* by GPU, then by instance */
};

/*
 * Finds what the machine has. Returns NULL, or the name of the variable that is malformed:
 * a list of sizes, or a list of slices of instances for each GPU.
 */
const char *sgpu_machine_find(struct sgpu_machine *m);
/* The UUID of an instance is its own; that of another part is its GPU's. */
void sgpu_part_uuid(const struct sgpu_part *p, unsigned char out[16]);
/* Writes it with "MIG-" or "GPU-". */
void sgpu_part_uuid_text(const struct sgpu_part *p, char out[SGPU_UUID_TEXT]);
/* Writes the profile's name as NVIDIA forms it: slices, and memory. */
void sgpu_part_profile(const struct sgpu_part *p, char out[SGPU_PROFILE]);
/* Writes the name of a device: that of the GPU, and of an instance its profile behind it. */
void sgpu_part_name(const struct sgpu_part *p, char *out, size_t size);

/* Finds the compute capability. Returns false if the user's setting is none that exists. */
bool sgpu_capability(int *major, int *minor);

#endif
