/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name and properties of the one device, for the driver (device.c) and for the management
 * library (../nvml/). Programs use them to match the devices of the two libraries.
 */
#ifndef SOFTGPU_IDENTITY_H
#define SOFTGPU_IDENTITY_H

#include <stdbool.h>

#define SGPU_NAME	"Wormhole softgpu"
#define SGPU_CUDA_VERSION	13000
#define SGPU_CC_MAJOR	9
#define SGPU_CC_MINOR	0
#define SGPU_PCI_BUS_ID	"0000:00:00.0"
#define SGPU_UUID	{ 'w', 'o', 'r', 'm', 'h', 'o', 'l', 'e', \
			  '-', 's', 'o', 'f', 't', 'g', 'p', 'u' }

/*
 * Finds the bytes of device memory. Returns false if the user's setting is no size of at
 * least 1M.
 */
bool sgpu_memory_size(unsigned long long *bytes);

#endif
