// SPDX-License-Identifier: Apache-2.0
/*
 * Decides which of the worker's devices the program sees, and under which numbers. The driver
 * in the worker has started before the client came, so the client's CUDA_VISIBLE_DEVICES and
 * CUDA_DEVICE_ORDER are obeyed here. The rules are those that the driver documents, and
 * otherwise the behaviour of the driver of CUDA 13.0. A MIG instance is named by its own
 * UUID ("MIG-..."); neither the older names of instances nor the GPU's UUID name it.
 */
#include "stubs.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>

#define NO_SUCH_DEVICE	INT_MAX	/* a number that the driver refuses, like any other such */

/* --- One element of the list --------------------------------------------------------- */

/* Like in the driver, characters after the number do not count. */
static bool number(const char *s, int *value)
{
	char *end;

	*value = (int)strtol(s, &end, 10);
	return end != s && *value >= 0;
}

static bool is_uuid(const char *s)
{
	return !strncmp(s, "GPU-", 4) || !strncmp(s, "MIG-", 4);
}

static int nibble(const CUuuid *id, int i)
{
	return ((uint8_t)id->bytes[i / 2] >> (i % 2 ? 0 : 4)) & 15;
}

static int hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Do the digits match the UUID, as far as they go? Hyphens do not count. */
static bool matches(const char *digits, const CUuuid *id)
{
	int i = 0;

	for (; i < 32 && (isxdigit((unsigned char)*digits) || *digits == '-'); digits++)
		if (*digits != '-' && hex(*digits) != nibble(id, i++))
			return false;
	return i > 0;
}

/* A prefix must match one device only. */
static int by_uuid(const char *s, const struct wh_device_info *info, int n)
{
	int i, found = -1;

	for (i = 0; i < n; i++) {
		if (info[i].instance != (*s == 'M') || !matches(s + 4, &info[i].uuid))
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

/* --- The list ------------------------------------------------------------------------- */

/* Numbers and UUIDs do not mix: the first element decides. */
bool wh_visible_none(const char *list)
{
	int i;

	return list && !is_uuid(list) && !number(list, &i);
}

static int position(const struct wh_device_info *d)
{
	return d->value[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID] << 16 |
	       d->value[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] << 8 |
	       d->value[CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID];
}

static bool order_devices(const char *order, const struct wh_device_info *info, int n, int *by)
{
	int i, k, dev;

	for (i = 0; i < n; i++)
		by[i] = i;
	if (!order || !strcmp(order, "FASTEST_FIRST"))
		return true;	/* the driver's own order */
	if (strcmp(order, "PCI_BUS_ID"))
		return false;
	for (i = 1; i < n; i++) {
		dev = by[i];
		for (k = i; k && position(&info[by[k - 1]]) > position(&info[dev]); k--)
			by[k] = by[k - 1];
		by[k] = dev;
	}
	return true;
}

static CUresult take_list(const char *list, const struct wh_device_info *info, int n,
			  const int *by, int *chosen, int *count)
{
	bool uuids = is_uuid(list);
	int dev, i;

	for (;; list++) {
		if (uuids)
			dev = is_uuid(list) ? by_uuid(list, info, n) : -1;
		else
			dev = number(list, &i) && i < n ? by[i] : -1;
		if (dev < 0)
			return CUDA_SUCCESS;
		for (i = 0; i < *count; i++)
			if (chosen[i] == dev)
				return CUDA_ERROR_INVALID_DEVICE;
		chosen[(*count)++] = dev;
		list += strcspn(list, ",");
		if (!*list)
			return CUDA_SUCCESS;
	}
}

CUresult wh_visible_select(const char *list, const char *order, const struct wh_device_info *info,
			   int n, int *chosen, int *count)
{
	int *by = malloc((n + 1) * sizeof(*by));
	CUresult res = CUDA_SUCCESS;

	*count = 0;
	if (!by)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!order_devices(order, info, n, by)) {
		res = CUDA_ERROR_INVALID_DEVICE;
	} else if (list) {
		res = take_list(list, info, n, by, chosen, count);
	} else {
		memcpy(chosen, by, n * sizeof(*by));
		*count = n;
	}
	free(by);
	if (res == CUDA_SUCCESS && !*count)
		res = CUDA_ERROR_NO_DEVICE;
	return res;
}

/* --- Numbers on their way ---------------------------------------------------------------- */

int wh_device_real(int dev)
{
	if (dev < 0)
		return dev;	/* CU_DEVICE_CPU, CU_DEVICE_INVALID */
	return dev < wh_client.devices ? wh_client.real[dev] : NO_SUCH_DEVICE;
}

int wh_library_device(int dev)
{
	return dev < 0 ? NO_SUCH_DEVICE : wh_device_real(dev);
}

uint32_t wh_profile_device(uint32_t real)
{
	int dev = 0;

	return wh_device_shown(&dev, (int)real) == CUDA_SUCCESS ? (uint32_t)dev : real;
}

CUresult wh_device_shown(int *dev, int real)
{
	int i;

	for (i = 0; i < wh_client.devices && wh_client.real[i] != real; i++)
		;
	if (real >= 0 && i == wh_client.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = real < 0 ? real : i;
	return CUDA_SUCCESS;
}

static CUmemLocation *location(void *first, size_t i, size_t stride, size_t offset)
{
	CUmemLocation *l = (void *)((uint8_t *)first + i * stride + offset);

	return l->type == CU_MEM_LOCATION_TYPE_DEVICE ? l : NULL;
}

void wh_locations_real(void *first, size_t count, size_t stride, size_t offset)
{
	CUmemLocation *l;
	size_t i;

	for (i = 0; i < count; i++) {
		l = location(first, i, stride, offset);
		if (l)
			l->id = wh_device_real(l->id);
	}
}

void wh_locations_shown(void *first, size_t count, size_t stride, size_t offset)
{
	CUmemLocation *l;
	size_t i;

	for (i = 0; i < count; i++) {
		l = location(first, i, stride, offset);
		if (l && wh_device_shown(&l->id, l->id) != CUDA_SUCCESS)
			l->id = CU_DEVICE_INVALID;
	}
}
