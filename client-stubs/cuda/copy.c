// SPDX-License-Identifier: Apache-2.0
/*
 * One-dimensional copies. They look at the host side first. The driver copies memory of the
 * data area itself, by its address. Any other memory is pageable and goes through staging.
 */
#include "rest.h"
#include "stubs.h"

/* Copies larger than this are cut into pieces that overlap; for smaller ones, one call does all. */
#define ONE_CALL	(1UL << 20)
static size_t one_call WH_PAIR;

/* Bytes that a posted request has room for, beside its head (hypercall-abi/shm.h). */
#define POSTED_BYTES	4096

/* Bytes that fit into the message need no staging buffer, and so not its lock. */
static CUresult tiny_in(CUdeviceptr dst, const void *src, size_t n, bool async, CUstream stream)
{
	struct wh_req_whSmallIn *q;
	uint64_t id = async ? wh_stream(stream) : 0;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_whSmallIn, sizeof(*q) + wh_wire_bytes(n, 1));
	if (!q)
		return c.result;
	q->device = dst;
	q->stream = id;
	q->size = n;
	q->async = async;
	c.pos = sizeof(*q);
	wh_request_put(&c, src, n, 1);
	res = async ? wh_post_copy(&c, sizeof(*q)) : wh_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

/*
 * Works like cuMemcpyHtoD() where nothing is under way in the legacy default stream: there is
 * nothing to wait for before the copy, and nobody waits for it.
 */
static CUresult in_posted(CUdeviceptr dst, const void *src, size_t n)
{
	const struct wh_staged c = { WH_COPY_TO_DEVICE, dst, 0, (void *)src, n, 0, false };
	CUresult res = n <= POSTED_BYTES ? tiny_in(dst, src, n, true, NULL) : wh_staged_copy(&c);

	if (res == CUDA_SUCCESS)
		wh_rest_copied();
	return res;
}

/* Copies to the host. *rests: the legacy default stream is known to be at rest then. */
static CUresult out(void *host, CUdeviceptr device, size_t n, bool *rests)
{
	struct wh_rest_mark m = wh_rest_begin();
	CUresult res = wh_raw_cuMemcpyDtoH_v2(host, device, n);

	m.own++;
	*rests = res == CUDA_SUCCESS && n && wh_rest_tells(device);
	if (*rests)
		wh_rest_reached(m, 0, false);
	return res;
}

/* Copies through the staging memory, if one call is enough; `done` says whether it was. */
static inline CUresult small(void *host, CUdeviceptr device, size_t n, bool in, bool *done)
{
	uint8_t *buf;
	size_t room;
	bool rests;
	CUresult res = wh_staging_get(&buf, &room);

	*done = true;
	if (res != CUDA_SUCCESS)
		return res;
	one_call = room < ONE_CALL ? room : ONE_CALL;
	*done = n <= one_call;
	if (*done && in) {
		wh_bulk_copy(buf, host, n, n);
		res = wh_raw_cuMemcpyHtoD_v2(device, buf, n);
	} else if (*done) {
		res = out(buf, device, n, &rests);
		if (rests)
			wh_staging_rests();
		if (res == CUDA_SUCCESS)
			wh_bulk_copy(host, buf, n, n);
	}
	wh_staging_put();
	return res;
}

static bool ready(void)
{
	return wh_client.state == WH_READY;
}

/*
 * A managed variable named as host memory is the device's as well. So the driver copies it, in
 * order with the stream's other work.
 */
static CUresult managed_copy(const void *dst, const void *src, size_t n)
{
	CUresult res = wh_raw_cuMemcpy((CUdeviceptr)dst, (CUdeviceptr)src, n);

	return res == CUDA_SUCCESS ? wh_wait(WH_WAIT_STREAM, 0) : res;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
	struct wh_staged c = { WH_COPY_TO_DEVICE, dstDevice, 0, (void *)srcHost, ByteCount, 0,
			       true };
	CUresult res;
	bool done;

	if (!ready() || !srcHost || wh_in_data(srcHost, ByteCount))
		return wh_raw_cuMemcpyHtoD_v2(dstDevice, srcHost, ByteCount);
	if (wh_managed_has(srcHost))
		return managed_copy((void *)dstDevice, srcHost, ByteCount);
	if (ByteCount && wh_rest_before_copy(dstDevice, ByteCount))
		return in_posted(dstDevice, srcHost, ByteCount);
	if (ByteCount <= WH_SMALL_BYTES)
		return tiny_in(dstDevice, srcHost, ByteCount, false, NULL);
	if (!one_call || ByteCount <= one_call) {
		res = small((void *)srcHost, dstDevice, ByteCount, true, &done);
		if (done)
			return res;
	}
	return wh_staged_copy(&c);
}

CUresult cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
	struct wh_staged c = { WH_COPY_TO_HOST, srcDevice, 0, dstHost, ByteCount, 0, true };
	CUresult res;
	bool done;

	if (!ready() || !dstHost || wh_in_data(dstHost, ByteCount))
		return out(dstHost, srcDevice, ByteCount, &done);
	if (wh_managed_has(dstHost))
		return managed_copy(dstHost, (void *)srcDevice, ByteCount);
	if (!one_call || ByteCount <= one_call) {
		res = small(dstHost, srcDevice, ByteCount, false, &done);
		if (done)
			return res;
	}
	return wh_staged_copy(&c);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
			      CUstream hStream)
{
	struct wh_staged c = { WH_COPY_TO_DEVICE, dstDevice, 0, (void *)srcHost, ByteCount, 0,
			       false };
	CUresult res;

	if (!ready() || !srcHost || !ByteCount || wh_in_data(srcHost, ByteCount))
		return wh_raw_cuMemcpyHtoDAsync_v2(dstDevice, srcHost, ByteCount, hStream);
	if (wh_managed_has(srcHost))
		return wh_raw_cuMemcpyAsync(dstDevice, (CUdeviceptr)srcHost, ByteCount, hStream);
	c.stream = wh_stream(hStream);
	if (ByteCount <= WH_SMALL_BYTES) {
		res = tiny_in(dstDevice, srcHost, ByteCount, true, hStream);
		/* The stream captures, so the bytes have to be read when the graph runs. */
		return res == CUDA_ERROR_NOT_READY ? wh_graph_capture_copy(&c) : res;
	}
	return wh_staged_copy(&c);
}

CUresult cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
			      CUstream hStream)
{
	struct wh_staged c = { WH_COPY_TO_HOST, srcDevice, 0, dstHost, ByteCount, 0, true };

	if (!ready() || !dstHost || !ByteCount || wh_in_data(dstHost, ByteCount))
		return wh_raw_cuMemcpyDtoHAsync_v2(dstHost, srcDevice, ByteCount, hStream);
	if (wh_managed_has(dstHost))
		return wh_raw_cuMemcpyAsync((CUdeviceptr)dstHost, srcDevice, ByteCount, hStream);
	c.stream = wh_stream(hStream);
	return wh_staged_copy(&c);
}

/* --- Unified addresses ---------------------------------------------------------------- */

/* Can the worker's driver use p as it is? True also if nothing is copied, or nothing can work. */
static bool nameable(CUdeviceptr p, size_t n)
{
	if (!ready() || !p || !n)
		return true;
	return wh_in_data((const void *)p, n) || wh_range_has(p);
}

static CUresult host_to_host(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream)
{
	/*
	 * Both sides are pageable. The native driver also lets the CPU copy, after the stream's
	 * earlier work.
	 */
	CUresult res = cuStreamSynchronize(stream);

	if (res == CUDA_SUCCESS)
		memmove((void *)dst, (const void *)src, n);
	return res;
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	bool d = nameable(dst, ByteCount), s = nameable(src, ByteCount);

	if (d && s)
		return wh_raw_cuMemcpy(dst, src, ByteCount);
	if (d)
		return cuMemcpyHtoD_v2(dst, (const void *)src, ByteCount);
	if (s)
		return cuMemcpyDtoH_v2((void *)dst, src, ByteCount);
	return host_to_host(dst, src, ByteCount, NULL);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
	bool d = nameable(dst, ByteCount), s = nameable(src, ByteCount);

	if (d && s)
		return wh_raw_cuMemcpyAsync(dst, src, ByteCount, hStream);
	if (d)
		return cuMemcpyHtoDAsync_v2(dst, (const void *)src, ByteCount, hStream);
	if (s)
		return cuMemcpyDtoHAsync_v2((void *)dst, src, ByteCount, hStream);
	return host_to_host(dst, src, ByteCount, hStream);
}

/*
 * A batch promises no order among its copies, so it is right to make one after the other. In
 * the old form of the call, `failed` says which copy failed; SIZE_MAX means "none in
 * particular".
 */
static CUresult batch(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
		      size_t *failed, CUstream stream)
{
	CUresult res;
	size_t i;

	*failed = SIZE_MAX;
	if (!dsts || !srcs || !sizes || !count || !stream)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < count; i++) {
		res = cuMemcpyAsync(dsts[i], srcs[i], sizes[i], stream);
		if (res != CUDA_SUCCESS) {
			*failed = i;
			return res;
		}
	}
	return CUDA_SUCCESS;
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
			       CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
			       CUstream hStream)
{
	size_t failed;

	(void)attrs;		/* hints on access order and location */
	(void)attrsIdxs;
	(void)numAttrs;
	return batch(dsts, srcs, sizes, count, &failed, hStream);
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
			    CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
			    size_t *failIdx, CUstream hStream)
{
	size_t failed;
	CUresult res;

	(void)attrs;
	(void)attrsIdxs;
	(void)numAttrs;
	res = batch(dsts, srcs, sizes, count, &failed, hStream);
	if (res != CUDA_SUCCESS && failIdx)
		*failIdx = failed;
	return res;
}

/* --- Arrays -------------------------------------------------------------------------------- */

static CUDA_MEMCPY2D to_array(CUarray array, size_t offset, const void *src, size_t n)
{
	return (CUDA_MEMCPY2D) {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = src, .srcPitch = n,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array, .dstXInBytes = offset,
		.WidthInBytes = n, .Height = 1,
	};
}

static CUDA_MEMCPY2D from_array(void *dst, CUarray array, size_t offset, size_t n)
{
	return (CUDA_MEMCPY2D) {
		.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array, .srcXInBytes = offset,
		.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = dst, .dstPitch = n,
		.WidthInBytes = n, .Height = 1,
	};
}

CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount)
{
	CUDA_MEMCPY2D box = to_array(dstArray, dstOffset, srcHost, ByteCount);
	struct wh_staged c = { WH_COPY_TO_ARRAY, (uint64_t)dstArray, dstOffset, (void *)srcHost,
			       ByteCount, 0, true };

	if (!ready() || !srcHost || !ByteCount || wh_in_data(srcHost, ByteCount))
		return wh_raw_cuMemcpyHtoA_v2(dstArray, dstOffset, srcHost, ByteCount);
	if (wh_managed_has(srcHost))
		return cuMemcpy2D_v2(&box);
	return wh_staged_copy(&c);
}

CUresult cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
	CUDA_MEMCPY2D box = from_array(dstHost, srcArray, srcOffset, ByteCount);
	struct wh_staged c = { WH_COPY_FROM_ARRAY, (uint64_t)srcArray, srcOffset, dstHost,
			       ByteCount, 0, true };

	if (!ready() || !dstHost || !ByteCount || wh_in_data(dstHost, ByteCount))
		return wh_raw_cuMemcpyAtoH_v2(dstHost, srcArray, srcOffset, ByteCount);
	if (wh_managed_has(dstHost))
		return cuMemcpy2D_v2(&box);
	return wh_staged_copy(&c);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
			      size_t ByteCount, CUstream hStream)
{
	CUDA_MEMCPY2D box = to_array(dstArray, dstOffset, srcHost, ByteCount);
	struct wh_staged c = { WH_COPY_TO_ARRAY, (uint64_t)dstArray, dstOffset, (void *)srcHost,
			       ByteCount, 0, false };

	if (!ready() || !srcHost || !ByteCount || wh_in_data(srcHost, ByteCount))
		return wh_raw_cuMemcpyHtoAAsync_v2(dstArray, dstOffset, srcHost, ByteCount,
						   hStream);
	if (wh_managed_has(srcHost))
		return cuMemcpy2DAsync_v2(&box, hStream);
	c.stream = wh_stream(hStream);
	return wh_staged_copy(&c);
}

CUresult cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
			      CUstream hStream)
{
	CUDA_MEMCPY2D box = from_array(dstHost, srcArray, srcOffset, ByteCount);
	struct wh_staged c = { WH_COPY_FROM_ARRAY, (uint64_t)srcArray, srcOffset, dstHost,
			       ByteCount, 0, true };

	if (!ready() || !dstHost || !ByteCount || wh_in_data(dstHost, ByteCount))
		return wh_raw_cuMemcpyAtoHAsync_v2(dstHost, srcArray, srcOffset, ByteCount,
						   hStream);
	if (wh_managed_has(dstHost))
		return cuMemcpy2DAsync_v2(&box, hStream);
	c.stream = wh_stream(hStream);
	return wh_staged_copy(&c);
}

CUresult cuMemcpyHtoA(CUarray dstArray, unsigned int dstOffset, const void *srcHost,
		      unsigned int ByteCount)
{
	return cuMemcpyHtoA_v2(dstArray, dstOffset, srcHost, ByteCount);
}

CUresult cuMemcpyAtoH(void *dstHost, CUarray srcArray, unsigned int srcOffset,
		      unsigned int ByteCount)
{
	return cuMemcpyAtoH_v2(dstHost, srcArray, srcOffset, ByteCount);
}

CUresult cuMemcpyHtoAAsync(CUarray dstArray, unsigned int dstOffset, const void *srcHost,
			   unsigned int ByteCount, CUstream hStream)
{
	return cuMemcpyHtoAAsync_v2(dstArray, dstOffset, srcHost, ByteCount, hStream);
}

CUresult cuMemcpyAtoHAsync(void *dstHost, CUarray srcArray, unsigned int srcOffset,
			   unsigned int ByteCount, CUstream hStream)
{
	return cuMemcpyAtoHAsync_v2(dstHost, srcArray, srcOffset, ByteCount, hStream);
}
