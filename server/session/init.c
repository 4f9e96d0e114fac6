// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers of the first calls: whHello checks that both ends were built from
 * the same description, takes the CUDA_* variables that the driver itself
 * reads, and initialises it; whDeviceInfo answers once what never changes.
 */
#include "session/handler.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * The variables that a client may set: the driver reads them, and they affect only the client's own
 * process. The client's library decides which devices the client sees, and in which order.
 */
static const char *const env_allowed[] = {
	"CUDA_MODULE_LOADING",
	"CUDA_MODULE_DATA_LOADING", "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS",
	"CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT",
};

static void take_variable(const char *text)
{
	size_t i, n;

	for (i = 0; i < sizeof(env_allowed) / sizeof(*env_allowed); i++) {
		n = strlen(env_allowed[i]);
		if (!strncmp(text, env_allowed[i], n) && text[n] == '=')
			setenv(env_allowed[i], text + n + 1, 1);
	}
}

static bool take_environment(struct wh_frame *f, uint32_t size)
{
	const char *p, *end;
	void *env;

	if (!size)
		return true;
	if (size > WH_HELLO_ENV_MAX || !wh_request_take(f, size, 1, &env) ||
	    ((char *)env)[size - 1])
		return false;
	for (p = env, end = p + size; p < end; p += strlen(p) + 1)
		take_variable(p);
	return true;
}

CUresult wh_do_whHello(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whHello *q = f->req;
	struct wh_rsp_whHello *r = wh_reply(f, sizeof(*r));
	CUresult res;

	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	if (q->abi_version != WH_ABI_VERSION || q->api_hash != WH_API_HASH)
		return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	f->pos = WH_WIRE_FIXED(*q);
	if (!take_environment(f, q->env_size))
		return CUDA_ERROR_INVALID_VALUE;
	__atomic_store_n(&s->calls, WH_CALLS, __ATOMIC_RELAXED);
	res = s->drv.cuDriverGetVersion(&r->driver_version);
	if (res == CUDA_SUCCESS)
		res = wh_devices_in_order(s) ? s->drv.cuInit(0) : CUDA_ERROR_INVALID_DEVICE;
	if (res == CUDA_SUCCESS && s->drv.cuDeviceGetCount)
		res = s->drv.cuDeviceGetCount(&r->devices);
	return res;
}

static void get_attributes(struct wh_session *s, CUdevice dev, struct wh_device_info *info)
{
	int i;

	for (i = 0; i < WH_DEVICE_ATTRIBUTES; i++) {
		info->result[i] = CUDA_ERROR_INVALID_VALUE;
		if (i > 0 && s->drv.cuDeviceGetAttribute)
			info->result[i] = s->drv.cuDeviceGetAttribute(&info->value[i],
							(CUdevice_attribute)i, dev);
	}
	if (!wh_ipc_works(s))
		info->value[CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED] = 0;
	if (!wh_ipc_passes_files(s))
		info->value[CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED] = 0;
	/* Pools go as descriptors alone. */
	info->value[CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] &=
		wh_ipc_passes_files(s) ? (int)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0;
}

static CUresult get_uuid(struct wh_session *s, CUdevice dev, CUuuid *uuid)
{
	if (s->drv.cuDeviceGetUuid_v2)
		return s->drv.cuDeviceGetUuid_v2(uuid, dev);
	return s->drv.cuDeviceGetUuid ? s->drv.cuDeviceGetUuid(uuid, dev) : CUDA_SUCCESS;
}

CUresult wh_do_whDeviceInfo(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whDeviceInfo *q = f->req;
	struct wh_rsp_whDeviceInfo *r = wh_reply(f, sizeof(*r));
	uint64_t room, quota;
	size_t total = 0;
	CUresult res;

	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	if (wh_device_hidden(s, q->device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!s->drv.cuDeviceGetName || !s->drv.cuDeviceTotalMem_v2)
		return wh_missing(s, "cuDeviceGetName or cuDeviceTotalMem_v2");
	res = s->drv.cuDeviceGetName(r->info.name, sizeof(r->info.name), q->device);
	if (res == CUDA_SUCCESS)
		res = s->drv.cuDeviceTotalMem_v2(&total, q->device);
	if (res == CUDA_SUCCESS)
		res = get_uuid(s, q->device, &r->info.uuid);
	if (res != CUDA_SUCCESS)
		return res;
	/* The client sees a device that is as big as the tenant's part of it. */
	wh_mem_room(s, q->device, &room, &quota);
	r->info.total_mem = total < quota ? total : quota;
	r->info.instance = wh_device_is_instance(s, q->device);
	get_attributes(s, q->device, &r->info);
	r->info.value[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] =
		wh_sms_count(s, q->device, r->info.value[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]);
	return CUDA_SUCCESS;
}
