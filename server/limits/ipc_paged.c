// SPDX-License-Identifier: Apache-2.0
/*
 * CUDA IPC of the allocations of paged.h. The driver's handles of memory know allocations of its
 * own alone, so these go from worker to worker as descriptors (ipc_files.h). Programs see no
 * difference.
 */
#include "limits/ipc_table.h"

#include <string.h>
#include <unistd.h>

#include "limits/ipc_files.h"
#include "limits/paged.h"

bool wh_ipc_paged_get(struct wh_session *s, struct wh_ipc_handle *out, CUdeviceptr addr,
		      CUresult *res)
{
	struct wh_shared what = { .kind = WH_SHARED_PAGED };
	const struct wh_mem_entry *e;
	uint64_t base, bytes;
	int fd = -1;

	if (!wh_paged_is(s, addr, &base, &bytes))
		return false;
	e = wh_mem_find(s->limits.mem, WH_MEM_ADDRESS, base);
	*res = out && e ? wh_paged_export(s, addr, &fd) : CUDA_ERROR_INVALID_VALUE;
	if (*res != CUDA_SUCCESS)
		return true;
	what.device = e->device;
	what.owner = (uint8_t)s->limits.ipc->account;
	what.generation = s->limits.account->generation;
	what.key = base;
	what.ctx = e->ctx;
	what.bytes = wh_mem_round(bytes, WH_MEM_BLOCK);
	*res = wh_ipc_files_start(s->limits.usage, (char *)what.real) ?
	       wh_ipc_publish(s, &what, out) : CUDA_ERROR_NOT_SUPPORTED;
	if (*res != CUDA_SUCCESS)
		close(fd);
	else if (!wh_ipc_files_offer(out->id, fd))
		*res = CUDA_ERROR_OUT_OF_MEMORY;
	return true;
}

/* What this worker has opened already has one address. */
static bool open_again(struct wh_session *s, const struct wh_ipc_handle *h, CUdeviceptr *addr)
{
	struct wh_ipc *ipc = s->limits.ipc;
	size_t i;

	for (i = 0; i < ipc->imports; i++) {
		if (ipc->import[i].kind != WH_SHARED_PAGED ||
		    memcmp(ipc->import[i].id, h->id, sizeof(h->id)))
			continue;
		ipc->import[i].opened++;
		*addr = ipc->import[i].addr;
		return true;
	}
	return false;
}

static CUresult open_first(struct wh_session *s, const struct wh_ipc_handle *h, CUdeviceptr *addr)
{
	CUresult res = CUDA_ERROR_INVALID_HANDLE;
	struct wh_shared *e;
	uint32_t pid = 0;
	bool had = false;
	int fd;

	e = wh_ipc_reserve(s, WH_SHARED_PAGED, h->id, &had, &pid);
	if (!e)
		return res;
	/* A process does not open its own. */
	fd = e->owner == s->limits.ipc->account ? -1 : wh_ipc_fetch(e, pid, h->id);
	if (fd >= 0) {
		res = wh_paged_import(s, fd, e->device, e->bytes, addr);
		close(fd);
	} else if (e->owner == s->limits.ipc->account) {
		res = CUDA_ERROR_INVALID_CONTEXT;
	}
	wh_ipc_settle(s, e, *addr, res == CUDA_SUCCESS, had);
	return res;
}

CUresult wh_ipc_paged_open(struct wh_session *s, const struct wh_ipc_handle *h, CUdeviceptr *addr,
			   unsigned int flags)
{
	if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	if (!s->limits.paged)
		return CUDA_ERROR_NOT_SUPPORTED;
	return open_again(s, h, addr) ? CUDA_SUCCESS : open_first(s, h, addr);
}

bool wh_ipc_opened_once(struct wh_session *s, CUdeviceptr addr)
{
	struct wh_ipc *ipc = s->limits.ipc;
	const struct wh_ipc_import *i = ipc ? wh_ipc_import_at(ipc, WH_SHARED_PAGED, addr) : NULL;

	return i && i->opened == 1;
}
