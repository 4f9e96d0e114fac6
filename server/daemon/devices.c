// SPDX-License-Identifier: Apache-2.0
/* The server's devices as people name them: by numbers or by UUIDs. */
#define _GNU_SOURCE
#include "daemon/keep.h"
#include "daemon/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* -1 with one line in err. */
static int device_of(const char *uuid, double number, char *err, size_t err_size)
{
	unsigned int d;

	for (d = 0; d < wh_server.devices; d++)
		if (uuid ? !strcasecmp(uuid, wh_server.device[d].uuid) : number == d)
			return (int)d;
	if (uuid)
		snprintf(err, err_size, "devices: '%.60s' is no UUID of this server's; `wormhole stat' has numbers, "
			 "the driver's `nvidia-smi -L' UUIDs", uuid);
	else
		snprintf(err, err_size, "devices: each is to be a UUID or a number; this server has 0 to %u",
			 wh_server.devices - 1);
	return -1;
}

bool wh_device_named(const char *text, unsigned int *device, char *err, size_t err_size)
{
	bool number = *text && !text[strspn(text, "0123456789")];
	int d = device_of(number ? NULL : text, number ? strtod(text, NULL) : -1, err, err_size);

	*device = d < 0 ? 0 : (unsigned int)d;
	return d >= 0;
}

bool wh_devices_add(uint32_t *devices, const char *uuid, double number, char *err,
		    size_t err_size)
{
	int d = device_of(uuid, number, err, err_size);

	if (d < 0)
		return false;
	if (*devices & 1u << d) {
		snprintf(err, err_size, "devices: device %d is said twice", d);
		return false;
	}
	*devices |= 1u << d;
	return true;
}
