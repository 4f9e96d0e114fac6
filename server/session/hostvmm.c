// SPDX-License-Identifier: Apache-2.0
/*
 * Host memory that the client maps by cuMemMap(). It is a block of the far area: the client's
 * handle. cuMemCreate() only counts it. In use it lies in addresses that the driver has reserved
 * for the client, over the nothing that the driver has there, and is registered with the driver.
 * A registered address is the device's as well, also in a reservation, which stays the driver's
 * all the time (seen on an H200, driver 580.159). So this file knows all reservations, and what is
 * mapped in them: nothing else here may be mapped over.
 */
#define _GNU_SOURCE
#include "session/handler.h"

#include <sys/mman.h>

/* --- Reservations and what lies in them ------------------------------------------------ */

static struct wh_interval *reservation(const struct wh_session *s, uint64_t at, uint64_t size)
{
	struct wh_interval *i = wh_interval_below(&s->reserved, at);

	return i && at - i->base < i->size && size <= i->size - (at - i->base) ? i : NULL;
}

/* Without memory for a note of it, no host memory can be mapped there. */
void wh_answer_cuMemAddressReserve(struct wh_session *s, const struct wh_req_cuMemAddressReserve *q,
				   struct wh_rsp_cuMemAddressReserve *r)
{
	if (!(q->hdr.null & 1u << 0) && r->ptr)
		wh_interval_put(&s->reserved, r->ptr, q->size, false);
}

/* The driver does not know of blocks in a reservation. Addresses of theirs are not freed. */
CUresult wh_check_cuMemAddressFree(struct wh_session *s, const struct wh_req_cuMemAddressFree *q)
{
	const struct wh_interval *i = wh_interval_below(&s->reserved, q->ptr);

	return i && i->base == q->ptr && !wh_host_clear(s, i->base, i->size) ?
	       CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/*
 * A graph may still name host memory that was there, and would copy whatever the worker maps
 * there. If the driver leaves the addresses to the worker, they are taken for good.
 */
void wh_done_cuMemAddressFree(struct wh_session *s, struct wh_req_cuMemAddressFree *q, CUresult res)
{
	struct wh_interval *i = wh_interval_below(&s->reserved, q->ptr);
	uint64_t size;
	bool used;

	if (res != CUDA_SUCCESS || !i || i->base != q->ptr)
		return;
	used = i->lasting;
	size = i->size;
	wh_interval_drop(&s->reserved, i);
	if (used)
		wh_host_claim(s, q->ptr, size);
}

CUresult wh_check_cuMemMap(struct wh_session *s, const struct wh_req_cuMemMap *q)
{
	if (!q->size || q->ptr + q->size < q->ptr)
		return CUDA_ERROR_INVALID_VALUE;
	return wh_host_clear(s, q->ptr, q->size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void wh_reserved_mapped(struct wh_session *s, uint64_t addr, uint64_t size)
{
	wh_interval_put(&s->device_mapped, addr, size, false);
}

void wh_reserved_unmapped(struct wh_session *s, uint64_t addr, uint64_t size)
{
	struct wh_interval *i;

	while (size && (i = wh_interval_below(&s->device_mapped, addr + size - 1)) &&
	       i->base >= addr)
		wh_interval_drop(&s->device_mapped, i);
}

static bool has_device_memory(const struct wh_session *s, uint64_t at, uint64_t size)
{
	return wh_interval_from(&s->device_mapped, at) ||
	       wh_interval_gap(&s->device_mapped, at) < size;
}

/* --- Blocks ------------------------------------------------------------------------------ */

CUresult wh_host_place(struct wh_session *s, const struct wh_req_whHostBlock *q)
{
	size_t n = wh_host_find(s, q->addr);
	struct wh_interval *i = reservation(s, q->at, q->size);
	struct wh_host_block b;
	CUresult res;

	if (s->one_process)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (n == s->hosts || !s->host[n].kept || s->host[n].size != q->size || !i ||
	    q->at % WH_PAGE_SIZE || !wh_host_clear(s, q->at, q->size) ||
	    has_device_memory(s, q->at, q->size))
		return CUDA_ERROR_INVALID_VALUE;
	b = s->host[n];
	b.at = q->at;
	b.kept = false;
	i->lasting = true;
	res = wh_host_second(&b) ? wh_host_pin(s, &b) : CUDA_ERROR_OUT_OF_MEMORY;
	if (res == CUDA_SUCCESS)
		wh_host_move(s, n, b.at, false);
	else
		wh_host_nothing(b.at, b.size);
	return res;
}

CUresult wh_host_back(struct wh_session *s, const struct wh_req_whHostBlock *q)
{
	size_t n = wh_host_find(s, q->addr);
	struct wh_host_block b;
	CUresult res;

	if (n == s->hosts)
		return CUDA_ERROR_INVALID_VALUE;
	b = s->host[n];
	if (b.kept || b.at == b.addr || !reservation(s, b.at, b.size))
		return CUDA_ERROR_INVALID_VALUE;
	res = wh_host_unpin(s, &b);
	if (res != CUDA_SUCCESS)
		return res;
	wh_host_nothing(b.at, b.size);
	wh_host_move(s, n, b.addr, true);
	return CUDA_SUCCESS;
}
