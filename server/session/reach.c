// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the answer to which addresses a client may name (reach.h). A handler asks after it has
 * copied the request and before it calls the driver. Nothing is freed in between, since calls that
 * free run alone (callers.h).
 */
#include "session/callback.h"

static void forget_last(struct wh_session *s)
{
	uint32_t i;

	for (i = 0; i < s->nslots; i++)
		s->reach.last[i].range[0].size = s->reach.last[i].range[1].size = 0;
}

/* Notes a new range. What the driver had at its addresses before has ended. */
static void put(struct wh_session *s, uint64_t addr, uint64_t bytes, bool lasting)
{
	forget_last(s);
	if (addr)
		wh_interval_put(&s->reach.set, addr, bytes, lasting);
}

void wh_reaches(struct wh_session *s, uint64_t addr, uint64_t bytes)
{
	put(s, addr, bytes, false);
}

void wh_reaches_graph(struct wh_session *s, uint64_t addr, uint64_t bytes)
{
	put(s, addr, bytes, true);
}

void wh_reaches_in(struct wh_session *s, uint64_t addr, uint64_t bytes, CUstream stream)
{
	put(s, addr, bytes, wh_capturing(s, stream));
}

void wh_reach_frees(struct wh_session *s, uint64_t addr)
{
	struct wh_interval *i = wh_interval_below(&s->reach.set, addr);

	forget_last(s);
	/* A graph's memory comes back to the same addresses with its next launch. */
	if (i && i->base == addr && !i->lasting)
		wh_interval_drop(&s->reach.set, i);
}

void wh_reach_forgets(struct wh_session *s)
{
	forget_last(s);
	wh_intervals_clear(&s->reach.set);
}

/* --- Asking ----------------------------------------------------------------------- */

/*
 * Asks the driver how many bytes there are from addr to the end of its range; 0: none. Host memory
 * that the driver knows does not count, since libraries of the worker pin some, too.
 */
static CUresult ask_driver(struct wh_session *s, uint64_t addr, uint64_t *bytes)
{
	CUpointer_attribute which[3] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE,
	};
	uint64_t type = 0, start = 0, size = 0;
	void *to[3] = { &type, &start, &size };
	CUresult res;

	*bytes = 0;
	if (!s->drv.cuPointerGetAttributes)
		return wh_missing(s, "cuPointerGetAttributes");
	res = s->drv.cuPointerGetAttributes(3, which, to, addr);
	if (res == CUDA_SUCCESS && (uint32_t)type == CU_MEMORYTYPE_DEVICE && addr - start < size)
		*bytes = size - (addr - start);
	return res;
}

static CUresult refused(void)
{
	return wh_self.ctx && wh_self.ctx != WH_CTX_UNKNOWN ? CUDA_ERROR_INVALID_VALUE :
						    CUDA_ERROR_INVALID_CONTEXT;
}

/* Adjoining ranges count as one: mappings of cuMemMap() are copied across. */
CUresult wh_reach_slow(struct wh_session *s, uint64_t addr, uint64_t bytes)
{
	struct wh_reach_last *l = &s->reach.last[wh_self.slot];
	const struct wh_interval *i;
	CUresult res = CUDA_SUCCESS;
	uint64_t there;

	if (!bytes || wh_host_range(s, addr, bytes))
		return CUDA_SUCCESS;
	i = wh_interval_below(&s->reach.set, addr);
	if (i) {
		l->turn ^= 1;
		l->range[l->turn].base = i->base;
		l->range[l->turn].size = i->size;
	}
	for (;;) {
		there = wh_interval_from(&s->reach.set, addr);
		if (!there)
			res = ask_driver(s, addr, &there);
		if (res != CUDA_SUCCESS || !there)
			return res ? res : refused();
		if (there >= bytes)
			return CUDA_SUCCESS;
		addr += there;
		bytes -= there;
	}
}

CUresult wh_reach_each(struct wh_session *s, const CUdeviceptr *addr, const size_t *bytes,
		       size_t count)
{
	CUresult res = CUDA_SUCCESS;
	size_t i;

	for (i = 0; addr && bytes && i < count && res == CUDA_SUCCESS; i++)
		res = wh_reach(s, addr[i], bytes[i]);
	return res;
}

/* --- Structs with addresses inside --------------------------------------------------- */

CUresult wh_reach_CUDA_MEMSET_NODE_PARAMS(struct wh_session *s, CUDA_MEMSET_NODE_PARAMS *p,
					  size_t count)
{
	CUresult res = CUDA_SUCCESS;
	size_t i;

	for (i = 0; i < count && res == CUDA_SUCCESS; i++)
		res = wh_reach(s, p[i].dst,
			       wh_rows(p[i].pitch, wh_times(p[i].width, p[i].elementSize),
				       p[i].height));
	return res;
}

static CUresult memory_operation(struct wh_session *s, CUstreamBatchMemOpParams *p)
{
	switch (p->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		p->waitValue.alias = 0;
		return wh_reach(s, p->waitValue.address, sizeof(uint32_t));
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		p->waitValue.alias = 0;
		return wh_reach(s, p->waitValue.address, sizeof(uint64_t));
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		p->writeValue.alias = 0;
		return wh_reach(s, p->writeValue.address, sizeof(uint32_t));
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		p->writeValue.alias = 0;
		return wh_reach(s, p->writeValue.address, sizeof(uint64_t));
	case CU_STREAM_MEM_OP_BARRIER:
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult wh_reach_CUstreamBatchMemOpParams(struct wh_session *s, CUstreamBatchMemOpParams *p,
					   size_t count)
{
	CUresult res = CUDA_SUCCESS;
	size_t i;

	for (i = 0; p && i < count && res == CUDA_SUCCESS; i++)
		res = memory_operation(s, &p[i]);
	return res;
}

/* The device writes to `dst` what the bytes say, as a kernel of the client's would. */
CUresult wh_reach_CUmemDecompressParams(struct wh_session *s, CUmemDecompressParams *p,
					size_t count)
{
	CUresult res = CUDA_SUCCESS;
	size_t i;

	for (i = 0; p && i < count && res == CUDA_SUCCESS; i++) {
		res = wh_reach(s, (uintptr_t)p[i].src, p[i].srcNumBytes);
		if (res == CUDA_SUCCESS)
			res = wh_reach(s, (uintptr_t)p[i].dst,
				       p[i].dstNumBytes ? p[i].dstNumBytes : 1);
		if (res == CUDA_SUCCESS)
			res = wh_reach(s, (uintptr_t)p[i].dstActBytes, sizeof(uint32_t));
	}
	return res;
}

/* Returns at least the bytes of one element. */
static uint64_t texel(CUarray_format format, unsigned int channels)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return wh_times(channels, 2);
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return wh_times(channels, 4);
	default:
		return channels;
	}
}

uint64_t wh_texture_rows(uint64_t width, uint64_t height, CUarray_format format,
			 unsigned int channels, uint64_t pitch)
{
	return wh_rows(pitch, wh_times(width, texel(format, channels ? channels : 1)), height);
}
