// SPDX-License-Identifier: Apache-2.0
/* Asks a backend for its devices, in a process that ends after that. */
#include "figures/figures.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits/sm_split.h"

static struct {
	CUresult (*init)(unsigned int);
	CUresult (*count)(int *);
	CUresult (*get)(CUdevice *, int);
	CUresult (*name)(char *, int, CUdevice);
	CUresult (*uuid)(CUuuid *, CUdevice);
	CUresult (*memory)(size_t *, CUdevice);
	CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
	CUresult (*resource)(CUdevice, CUdevResource *, CUdevResourceType);
	wh_sm_splitter split;
} drv;

bool wh_devices_load(const char *backend, struct wh_devices_report *r)
{
	void *lib = dlopen(backend, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		snprintf(r->error, sizeof(r->error), "%s", dlerror());
		return false;
	}
	*(void **)&drv.init = dlsym(lib, "cuInit");
	*(void **)&drv.count = dlsym(lib, "cuDeviceGetCount");
	*(void **)&drv.get = dlsym(lib, "cuDeviceGet");
	*(void **)&drv.name = dlsym(lib, "cuDeviceGetName");
	*(void **)&drv.uuid = dlsym(lib, "cuDeviceGetUuid_v2");
	*(void **)&drv.memory = dlsym(lib, "cuDeviceTotalMem_v2");
	*(void **)&drv.attribute = dlsym(lib, "cuDeviceGetAttribute");
	*(void **)&drv.resource = dlsym(lib, "cuDeviceGetDevResource");
	*(void **)&drv.split = dlsym(lib, "cuDevSmResourceSplitByCount");
	if (drv.init && drv.count)
		return true;
	snprintf(r->error, sizeof(r->error), "%s has no cuInit: not a CUDA driver library", backend);
	return false;
}

static uint32_t attribute(CUdevice dev, CUdevice_attribute which)
{
	int v = 0;

	if (!drv.attribute || drv.attribute(&v, which, dev) != CUDA_SUCCESS || v < 0)
		return 0;
	return (uint32_t)v;
}

/* A process that is given an instance has no other device (instances.c). */
static void uuid_text(char out[WH_UUID], const CUuuid *u)
{
	const unsigned char *b = (const unsigned char *)u->bytes;
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	int i, n = snprintf(out, WH_UUID, "%s", visible && wh_is_instance(visible) ? WH_MIG : "GPU-");

	for (i = 0; i < 16; i++)
		n += snprintf(out + n, WH_UUID - n, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      b[i]);
}

/* Says what can be asked for instead: the least size, and multiples of the driver's own. */
static void refuse(struct wh_devices_report *r, const struct wh_device *d, uint32_t asked,
		   const struct wh_sm_split *least)
{
	const unsigned int device = (unsigned int)(d - r->device);

	if (!d->split.groups)
		snprintf(r->refused, sizeof(r->refused), "--sm-group %u: the driver cannot divide device "
			 "%u (%s); start without", asked, device, d->name);
	else
		snprintf(r->refused, sizeof(r->refused), "--sm-group %u: device %u (%s) cannot be divided "
			 "so; of its %u SMs %u are the least, and from %u on multiples of it", asked,
			 device, d->name, d->sms, least->size, d->split.size);
}

static void divide(struct wh_devices_report *r, struct wh_device *d, CUdevice dev, uint32_t asked)
{
	static struct wh_sm_parts p;
	CUdevResource all;
	bool loose;

	if (drv.resource && drv.split &&
	    drv.resource(dev, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
	    wh_sm_split_least(drv.split, &all, false, &p) == CUDA_SUCCESS)
		d->split = p.is;
	if (!asked || asked == d->split.size)
		return;
	loose = asked < d->split.size;
	if (d->split.groups && wh_sm_split_by(drv.split, &all, asked, loose, &p) == CUDA_SUCCESS) {
		d->split = p.is;
		return;
	}
	if (d->split.groups && wh_sm_split_least(drv.split, &all, true, &p) != CUDA_SUCCESS)
		p.is = d->split;
	refuse(r, d, asked, &p.is);
}

static void look(struct wh_device *d, CUdevice dev)
{
	size_t memory = 0;
	CUuuid uuid;

	if (drv.name)
		drv.name(d->name, sizeof(d->name), dev);
	if (drv.uuid && drv.uuid(&uuid, dev) == CUDA_SUCCESS)
		uuid_text(d->uuid, &uuid);
	if (drv.memory && drv.memory(&memory, dev) == CUDA_SUCCESS)
		d->memory = memory;
	d->sms = attribute(dev, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
}

bool wh_devices_ask(const char *backend, uint32_t sm_group, struct wh_devices_report *r)
{
	CUdevice dev = 0;
	int i, n = 0;
	CUresult res;

	res = drv.init(0);
	if (res == CUDA_SUCCESS)
		res = drv.count(&n);
	if (res != CUDA_SUCCESS || n < 1) {
		snprintf(r->error, sizeof(r->error), "%s: the driver does not start: CUDA error %d%s",
			 backend, res ? (int)res : CUDA_ERROR_NO_DEVICE,
			 res == CUDA_ERROR_NO_DEVICE || !res ? " (no device)" : "");
		return false;
	}
	for (i = 0; i < n && i < WH_TENANT_DEVICES; i++, dev = i)
		if (!drv.get || drv.get(&dev, i) == CUDA_SUCCESS) {
			if (attribute(dev, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS))
				r->pageable |= 1u << r->devices;
			look(&r->device[r->devices], dev);
			divide(r, &r->device[r->devices++], dev, sm_group);
		}
	return true;
}
