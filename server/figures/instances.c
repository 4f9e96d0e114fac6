// SPDX-License-Identifier: Apache-2.0
/*
 * Lists MIG instances by NVML. CUDA shows a process one instance at most, and no GPU beside it, so
 * the driver has to be asked for each device alone.
 */
#include "figures/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "figures/nvml.h"

#define VISIBLE	"CUDA_VISIBLE_DEVICES"
#define WORD	(sizeof(WH_MIG) - 1)	/* "GPU-" is as long */

static bool has_instance(const struct wh_nvml_list *l)
{
	unsigned int i;

	for (i = 0; i < l->n; i++)
		if (wh_is_instance(l->entry[i].uuid))
			return true;
	return false;
}

static void add(struct wh_apart_report *r, const char *uuid)
{
	uint32_t i;

	for (i = 0; i < r->n; i++)
		if (!strcmp(r->uuid[i], uuid))
			return;
	if (r->n == WH_TENANT_DEVICES)
		r->beyond = true;
	else
		memcpy(r->uuid[r->n++], uuid, WH_UUID);
}

/* Adds those that an element of the variable names, by the UUID or its beginning. */
static void add_named(struct wh_apart_report *r, const struct wh_nvml_list *l, const char *name,
		      size_t length)
{
	unsigned int i;

	for (i = 0; i < l->n; i++)
		if (length > WORD && !strncasecmp(l->entry[i].uuid, name, length))
			add(r, l->entry[i].uuid);
}

static void choose(struct wh_apart_report *r, const struct wh_nvml_list *l)
{
	const char *name = getenv(VISIBLE);
	unsigned int i;
	size_t length;

	for (i = 0; !name && i < l->n; i++)
		add(r, l->entry[i].uuid);
	for (; name && *name; name += length + (name[length] == ',')) {
		length = strcspn(name, ",");
		add_named(r, l, name, length);
	}
	r->beyond |= l->more;
}

bool wh_devices_apart(const char *library, const char *backend, struct wh_devices_report *r,
		      struct wh_apart_report *out)
{
	static struct wh_nvml_list l;
	static struct nvml nvml;
	char err[300], beside[PATH_MAX];

	/* That no figures are read does not change which devices there are. */
	if (library && !strcmp(library, "none")) {
		if (!wh_nvml_beside(backend, beside))
			return false;
		library = beside;
	}
	if (!wh_nvml_load(&nvml, library, backend, err, sizeof(err)) || nvml.init() != NVML_OK ||
	    !wh_nvml_list(&nvml, &l) || !has_instance(&l))
		return false;
	choose(out, &l);
	if (out->n)
		return true;
	snprintf(r->error, sizeof(r->error), VISIBLE "=%.100s names no device by UUID; this machine has MIG "
		 "instances, which have no numbers of their own: name UUIDs, or leave it out", getenv(VISIBLE));
	return false;
}
