// SPDX-License-Identifier: Apache-2.0
/*
 * Makes a usable connection: chooses a transport, says hello, and takes one snapshot of each
 * device. Owns the answers that never change afterwards: versions, device names, attributes.
 */
#include "stubs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct wh_transport wh_transport_vmfunc __attribute__((weak));

/* The best one comes first. */
static const struct wh_transport *const transports[] = {
	&wh_transport_vmfunc, &wh_transport_ring, &wh_transport_shm, &wh_transport_loopback,
};
#define TRANSPORTS (sizeof(transports) / sizeof(*transports))

static int try_transport(const struct wh_transport *t)
{
	struct wh_link l = { .t = t };
	int rc = t->open(&l);

	if (rc) {
		wh_log("transport %s failed (status %d)", t->name, rc);
		return rc;
	}
	wh_client.link = l;
	wh_log("transport %s: part of %zu MiB", t->name, l.part_size >> 20);
	return 0;
}

/* A transport that the user named must work; there is no silent second choice. */
static int open_named(const char *name)
{
	size_t i;
	int rc;

	for (i = 0; i < TRANSPORTS; i++) {
		if (!transports[i] || strcmp(transports[i]->name, name))
			continue;
		rc = try_transport(transports[i]);
		if (rc && !wh_reason())
			wh_complain("WORMHOLE_TRANSPORT=%s does not work here (status %d); "
				    "WORMHOLE_LOG=1 says more", name, rc);
		else if (rc)
			wh_complain("%s", wh_reason());
		return rc;
	}
	wh_complain("WORMHOLE_TRANSPORT=%s: no such transport; there are auto, vmfunc, ring, shm, loopback",
		    name);
	return WH_ETRANSPORT;
}

static int open_any(void)
{
	int rc = WH_ETRANSPORT;
	size_t i;

	for (i = 0; i < TRANSPORTS && rc; i++) {
		if (!transports[i] || !transports[i]->probe())
			continue;
		rc = try_transport(transports[i]);
		if (rc == WH_EVERSION)
			return rc;
	}
	/* A server that refuses is one; where there is none, the machine has no device. */
	if (rc && rc != WH_ETRANSPORT && wh_reason())
		wh_complain("%s", wh_reason());
	else if (rc)
		wh_log("no server: not in a client VM of Wormhole, and no wormhole-server socket "
		       "(WORMHOLE_SOCKET)");
	return rc;
}

static int open_link(void)
{
	char room[32];
	const char *name = wh_transport_variable(WH_TRANSPORT_ENV, room, sizeof(room));

	return name && *name && strcmp(name, "auto") ? open_named(name) : open_any();
}

/* --- Hello ----------------------------------------------------------------------- */

#define VISIBLE	"CUDA_VISIBLE_DEVICES"
#define ORDER	"CUDA_DEVICE_ORDER"

extern char **environ;

/*
 * CUDA's own variables are sent, and the worker decides which of them count. This side chooses
 * the devices (visible.c).
 */
static uint32_t environment(char *out, size_t room)
{
	size_t n, used = 0;
	char **e;

	for (e = environ; e && *e; e++) {
		n = strlen(*e) + 1;
		if (strncmp(*e, "CUDA_", 5) || !strncmp(*e, VISIBLE "=", sizeof(VISIBLE)) ||
		    !strncmp(*e, ORDER "=", sizeof(ORDER)) || n > room - used)
			continue;
		memcpy(out + used, *e, n);
		used += n;
	}
	return used;
}

static CUresult hello(int *devices)
{
	char env[WH_HELLO_ENV_MAX];
	uint32_t n = environment(env, sizeof(env));
	const struct wh_rsp_whHello *r;
	struct wh_req_whHello *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_whHello, WH_WIRE_FIXED(*q) + wh_wire_bytes(n, 1));
	if (!q)
		return c.result;
	c.pos = WH_WIRE_FIXED(*q);
	q->abi_version = WH_ABI_VERSION;
	q->api_hash = WH_API_HASH;
	q->env_size = n;
	wh_request_put(&c, env, n, 1);
	res = wh_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUDA_SUCCESS) {
		wh_client.driver_version = r->driver_version;
		*devices = r->devices;
	}
	wh_end(&c);
	return res;
}

static CUresult device_info(int dev, struct wh_device_info *info)
{
	const struct wh_rsp_whDeviceInfo *r;
	struct wh_req_whDeviceInfo *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_whDeviceInfo, sizeof(*q));
	if (!q)
		return c.result;
	q->device = dev;
	res = wh_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUDA_SUCCESS)
		*info = r->info;
	wh_end(&c);
	info->name[sizeof(info->name) - 1] = 0;
	return res;
}

/* Collects the tenant's devices among the worker's n, packed, and each one's number there. */
static CUresult ask_devices(struct wh_device_info *all, int *number, int *n)
{
	int i, own = 0;
	CUresult res;

	for (i = 0; i < *n; i++) {
		res = device_info(i, &all[own]);
		if (res == CUDA_SUCCESS)
			number[own++] = i;
		else if (res != CUDA_ERROR_INVALID_DEVICE)	/* another tenant's */
			return res;
	}
	*n = own;
	return CUDA_SUCCESS;
}

/* Keeps the devices that the program may see, in its order. */
static CUresult take_devices(struct wh_device_info *all, struct wh_device_info *shown, int *number,
			     int *real, int n)
{
	CUresult res = ask_devices(all, number, &n);
	int i, count;

	if (res == CUDA_SUCCESS)
		res = wh_visible_select(getenv(VISIBLE), getenv(ORDER), all, n, real, &count);
	if (res != CUDA_SUCCESS)
		return res;
	for (i = 0; i < count; i++) {
		shown[i] = all[real[i]];
		real[i] = number[real[i]];
	}
	wh_client.devices = count;
	wh_client.device = shown;
	wh_client.real = real;
	return CUDA_SUCCESS;
}

static CUresult snapshot(int n)
{
	struct wh_device_info *all, *shown;
	CUresult res = CUDA_ERROR_OUT_OF_MEMORY;
	int *number, *real;

	if (n < 0 || n > 1024)
		return CUDA_ERROR_UNKNOWN;
	all = calloc(n + 1, sizeof(*all));
	shown = calloc(n + 1, sizeof(*shown));
	number = calloc(n + 1, sizeof(*number));
	real = calloc(n + 1, sizeof(*real));
	if (all && shown && number && real)
		res = take_devices(all, shown, number, real, n);
	free(all);
	free(number);
	if (res != CUDA_SUCCESS) {
		free(shown);
		free(real);
	}
	return res;
}

static CUresult connect_now(void)
{
	CUresult res;
	int devices = 0;

	if (open_link())
		return CUDA_ERROR_NO_DEVICE;
	wh_client.pid = getpid();
	res = hello(&devices);
	if (res == CUDA_SUCCESS)
		res = snapshot(devices);
	if (res == CUDA_SUCCESS && (!wh_data_init() || !wh_staging_init()))
		res = CUDA_ERROR_OUT_OF_MEMORY;
	if (res == CUDA_SUCCESS) {
		wh_client.state = WH_CONNECTED;
		return CUDA_SUCCESS;
	}
	wh_client.link.t->close(&wh_client.link);
	memset(&wh_client.link, 0, sizeof(wh_client.link));
	wh_client.state = WH_CLOSED;
	return res;
}

static bool may_begin(void)
{
	return wh_client.state == WH_FORKED && wh_fork_may_connect();
}

CUresult wh_connect(bool init)
{
	CUresult res;

	if (wh_client.state >= WH_DEAD && !may_begin())
		return wh_usable();
	/* A program that may see no device needs no worker to learn that. */
	if (init && !wh_client.link.t && wh_visible_none(getenv(VISIBLE)))
		return CUDA_ERROR_NO_DEVICE;
	wh_fork_matters();
	res = wh_lock(WH_LOCK_CONNECT);
	if (res != CUDA_SUCCESS)
		return res;
	if (wh_client.state == WH_FORKED)
		wh_client.state = WH_CLOSED;
	if (wh_client.state == WH_CLOSED)
		res = connect_now();
	if (res == CUDA_SUCCESS && init && wh_client.state == WH_CONNECTED)
		__atomic_store_n(&wh_client.state, WH_READY, __ATOMIC_RELEASE);
	wh_unlock(WH_LOCK_CONNECT);
	return res;
}

/* --- Answers -------------------------------------------------------------------------- */

CUresult cuInit(unsigned int Flags)
{
	if (Flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (wh_client.state == WH_READY)
		return CUDA_SUCCESS;
	return wh_connect(true);
}

CUresult cuDriverGetVersion(int *driverVersion)
{
	CUresult res;

	if (!driverVersion)
		return CUDA_ERROR_INVALID_VALUE;
	res = wh_client.driver_version ? CUDA_SUCCESS : wh_connect(false);
	/* The version is known even if there is no device to see. */
	if (!wh_client.driver_version)
		return res;
	*driverVersion = wh_client.driver_version;
	return CUDA_SUCCESS;
}

/* Finds the snapshot of a device, or the reason why there is none. */
static CUresult info_of(CUdevice dev, const struct wh_device_info **info)
{
	CUresult res = wh_usable();

	if (res != CUDA_SUCCESS)
		return res;
	if (dev < 0 || dev >= wh_client.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	*info = &wh_client.device[dev];
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	const struct wh_device_info *info;
	CUresult res = info_of(ordinal, &info);

	if (res != CUDA_SUCCESS)
		return res;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	CUresult res = wh_usable();

	if (res != CUDA_SUCCESS)
		return res;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = wh_client.devices;
	return CUDA_SUCCESS;
}

bool wh_is_device(int id)
{
	int devices = 0;

	return id >= 0 && cuDeviceGetCount(&devices) == CUDA_SUCCESS && id < devices;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	const struct wh_device_info *info;
	CUresult res = info_of(dev, &info);

	if (res != CUDA_SUCCESS)
		return res;
	if (!name || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, len, "%s", info->name);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	const struct wh_device_info *info;
	CUresult res = info_of(dev, &info);

	if (res != CUDA_SUCCESS)
		return res;
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	*uuid = info->uuid;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return cuDeviceGetUuid_v2(uuid, dev);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	const struct wh_device_info *info;
	CUresult res = info_of(dev, &info);

	if (res != CUDA_SUCCESS)
		return res;
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = info->total_mem;
	return CUDA_SUCCESS;
}

/* Devices must not show attributes for what this library does not offer. */
static bool masked(CUdevice_attribute attrib)
{
	switch (attrib) {
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
	case CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST:
	case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS:
	case CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH:
	case CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED:
		return true;
	case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
		return !wh_client.link.far || wh_client.link.one_process;
	case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
		return !wh_client.link.far && !wh_client.link.one_process;
	case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
		/* Often it could be offered, but the address may be taken in the worker. */
		return !wh_client.link.one_process;
	default:
		return false;
	}
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	const struct wh_device_info *info;
	CUresult res = info_of(dev, &info);

	if (res != CUDA_SUCCESS)
		return res;
	if (!pi || (unsigned int)attrib >= WH_DEVICE_ATTRIBUTES)
		return CUDA_ERROR_INVALID_VALUE;
	if (info->result[attrib] == CUDA_SUCCESS)
		*pi = masked(attrib) ? 0 : info->value[attrib];
	return info->result[attrib];
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	const struct wh_device_info *info;
	CUresult res = info_of(dev, &info);

	if (res != CUDA_SUCCESS)
		return res;
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = info->value[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR];
	*minor = info->value[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR];
	return CUDA_SUCCESS;
}
