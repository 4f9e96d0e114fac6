// SPDX-License-Identifier: Apache-2.0
/*
 * Variables of modules and libraries by name. All three ways are one call to the worker, which
 * also says whether the variable is managed. The program may use a managed variable's address
 * itself, so managed.c mirrors it before the program gets the address.
 */
#include "stubs.h"

struct found {
	CUdeviceptr addr;
	size_t size;
	bool managed;
};

static CUresult ask(uint32_t kind, void *owner, const char *name, uint32_t null, struct found *v)
{
	const struct wh_rsp_whGlobal *r;
	struct wh_req_whGlobal *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_whGlobal, WH_WIRE_FIXED(*q) + wh_string_bytes(name));
	if (!q)
		return c.result;
	q->hdr.null = null;
	q->owner = (uintptr_t)owner;
	q->kind = kind;
	q->resv = 0;
	c.pos = WH_WIRE_FIXED(*q);
	q->name_size = wh_request_put_string(&c, name);
	res = wh_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUDA_SUCCESS)
		*v = (struct found) { r->addr, r->size, r->managed };
	wh_end(&c);
	return res;
}

static CUresult get(uint32_t kind, void *owner, const char *name, CUdeviceptr *dptr, size_t *bytes)
{
	struct found v = { 0 };
	CUresult res = ask(kind, owner, name, (!dptr) | (!bytes) << 1, &v);

	if (res == CUDA_SUCCESS && v.managed)
		res = wh_managed_add((uintptr_t)owner, v.addr, v.size);
	if (res != CUDA_SUCCESS)
		return res;
	wh_range_add(v.addr, v.size);
	if (dptr)
		*dptr = v.addr;
	if (bytes)
		*bytes = v.size;
	return CUDA_SUCCESS;
}

/* What is not found has no address and no size. The driver says so even where it refuses a call. */
CUresult cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
	CUresult res = get(WH_GLOBAL_MODULE, hmod, name, dptr, bytes);

	if (res != CUDA_SUCCESS && dptr)
		*dptr = 0;
	if (res != CUDA_SUCCESS && bytes)
		*bytes = 0;
	return res;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
	return get(WH_GLOBAL_LIBRARY, library, name, dptr, bytes);
}

CUresult cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
	return get(WH_GLOBAL_MANAGED, library, name, dptr, bytes);
}

/*
 * A unified function is code that the host may call, and no device here has any (masked() in
 * init.c). The library is asked for, as the driver does.
 */
CUresult cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library, const char *symbol)
{
	unsigned int count;
	CUresult res = cuLibraryGetKernelCount(&count, library);

	if (res != CUDA_SUCCESS)
		return res;
	return fptr && symbol ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
}
