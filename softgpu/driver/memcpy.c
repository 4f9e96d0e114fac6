// SPDX-License-Identifier: Apache-2.0
/*
 * Copies. Every copy is done at once, in the calling thread, which the rules for ordered
 * streams allow. Addresses of the device must lie in one known range, so a bad copy returns
 * an error code and cannot damage the process.
 */
#include <string.h>

#include "array.h"
#include "watch.h"

/* One side of a 2D or 3D copy. */
struct side {
	uint64_t base;
	size_t pitch, slice;	/* bytes from row to row, from plane to plane */
	bool device;
	bool planned;		/* the copy runs later: memory may be absent until then */
	const struct sgpu_array *array;
};

struct box {
	size_t width, height, depth;
};

static CUresult check_in(const struct sgpu_range *r, uint64_t addr, size_t n)
{
	return n > r->size - (addr - r->base) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult sgpu_check_device(uint64_t addr, size_t n)
{
	struct sgpu_range range;

	if (!n)
		return CUDA_SUCCESS;
	return sgpu_range_find(addr, &range) ? check_in(&range, addr, n) :
					       CUDA_ERROR_INVALID_VALUE;
}

CUresult sgpu_check_planned(uint64_t addr, size_t n)
{
	struct sgpu_range range;

	return n && sgpu_mem_find_absent(addr, &range) ? check_in(&range, addr, n) :
							 sgpu_check_device(addr, n);
}

CUresult sgpu_check_any(uint64_t addr, size_t n)
{
	if (!n)
		return CUDA_SUCCESS;
	if (!addr)
		return CUDA_ERROR_INVALID_VALUE;
	return sgpu_mem_in_arena(addr) || sgpu_vmm_reserved(addr) ?
	       sgpu_check_device(addr, n) : CUDA_SUCCESS;
}

static CUresult check(uint64_t addr, size_t n, bool device)
{
	return device ? sgpu_check_device(addr, n) : sgpu_check_any(addr, n);
}

static CUmemorytype side_of(uint64_t addr, bool device)
{
	return device || sgpu_mem_in_arena(addr) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

static CUresult copy_checked(struct sgpu_ctx *ctx, uint64_t dst,
			     bool dst_device, uint64_t src, bool src_device,
			     size_t n, CUstream stream)
{
	struct sgpu_seen seen = {
		.work = SGPU_DID_COPY, .ctx = (CUcontext)ctx, .stream = stream,
		.device = ctx->device, .bytes = n,
	};
	CUresult rc = sgpu_stream_check(ctx, stream);

	if (!rc)
		rc = check(dst, n, dst_device);
	if (!rc)
		rc = check(src, n, src_device);
	if (rc || !n)
		return rc;
	seen.start_ns = sgpu_watch_begin();
	memmove((void *)(uintptr_t)dst, (void *)(uintptr_t)src, n);
	if (seen.start_ns) {
		seen.to = side_of(dst, dst_device);
		seen.from = side_of(src, src_device);
		sgpu_watch_end(&seen);
	}
	return CUDA_SUCCESS;
}

static CUmemorytype memory_type(uint64_t addr, bool device)
{
	return device ? CU_MEMORYTYPE_DEVICE :
	       sgpu_mem_in_arena(addr) ? CU_MEMORYTYPE_UNIFIED :
					 CU_MEMORYTYPE_HOST;
}

static CUresult copy_captured(struct sgpu_stream *s, uint64_t dst,
			      bool dst_device, uint64_t src, bool src_device,
			      size_t n)
{
	const CUDA_MEMCPY3D c = {
		.srcMemoryType = memory_type(src, src_device),
		.srcHost = (const void *)(uintptr_t)src, .srcDevice = src,
		.dstMemoryType = memory_type(dst, dst_device),
		.dstHost = (void *)(uintptr_t)dst, .dstDevice = dst,
		.WidthInBytes = n, .Height = 1, .Depth = 1,
	};

	return n ? sgpu_capture_copy(s, &c) : CUDA_SUCCESS;
}

static CUresult copy(uint64_t dst, bool dst_device, uint64_t src,
		     bool src_device, size_t n, CUstream stream)
{
	struct sgpu_ctx *ctx;
	struct sgpu_stream *capturing;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	rc = sgpu_capture_stream(ctx, stream, &capturing);
	if (!rc && capturing)
		rc = copy_captured(capturing, dst, dst_device, src, src_device, n);
	else if (!rc)
		rc = copy_checked(ctx, dst, dst_device, src, src_device, n,
				  stream);
	return sgpu_leave(rc);
}

/* A copy that waits is a synchronisation point for device printf(). */
static CUresult copy_and_wait(uint64_t dst, bool dst_device, uint64_t src,
			      bool src_device, size_t n)
{
	struct sgpu_stream *capturing;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	sgpu_print_flush();
	rc = sgpu_capture_stream(ctx, NULL, &capturing);
	return sgpu_leave(rc ? rc : copy_checked(ctx, dst, dst_device, src,
						 src_device, n, NULL));
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t n)
{
	return copy_and_wait(dst, true, (uintptr_t)src, false, n);
}

CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t n)
{
	return copy_and_wait((uintptr_t)dst, false, src, true, n);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	return copy_and_wait(dst, true, src, true, n);
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	return copy_and_wait(dst, false, src, false, n);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n,
			      CUstream stream)
{
	return copy(dst, true, (uintptr_t)src, false, n, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n,
			      CUstream stream)
{
	return copy((uintptr_t)dst, false, src, true, n, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n,
			      CUstream stream)
{
	return copy(dst, true, src, true, n, stream);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n,
		       CUstream stream)
{
	return copy(dst, false, src, false, n, stream);
}

/* Both contexts name the one device, and addresses are unified, so any pair is accepted. */
static CUresult peers_ok(CUcontext dst, CUcontext src)
{
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	if ((dst && !sgpu_obj_get(SGPU_CTX, dst)) ||
	    (src && !sgpu_obj_get(SGPU_CTX, src)))
		rc = CUDA_ERROR_INVALID_CONTEXT;
	return sgpu_leave(rc);
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
		      CUcontext src_ctx, size_t n)
{
	CUresult rc = peers_ok(dst_ctx, src_ctx);

	return rc ? rc : copy_and_wait(dst, true, src, true, n);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
			   CUcontext src_ctx, size_t n, CUstream stream)
{
	CUresult rc = peers_ok(dst_ctx, src_ctx);

	return rc ? rc : copy(dst, true, src, true, n, stream);
}

/* ---- boxes ---- */

static CUresult side_memory(struct side *s, CUmemorytype type,
			    const void *host, CUdeviceptr device, CUarray array)
{
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		s->base = (uintptr_t)host;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_DEVICE:
		s->base = device;
		s->device = true;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_UNIFIED:
		s->base = device;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_ARRAY:
		s->array = sgpu_obj_get(SGPU_ARRAY, array);
		return s->array ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Computes the bytes from the first to the last of a box. Returns false on overflow. */
static bool box_span(const struct side *s, const struct box *b, size_t *span)
{
	size_t rows, planes;

	return !__builtin_mul_overflow(b->height - 1, s->pitch, &rows) &&
	       !__builtin_mul_overflow(b->depth - 1, s->slice, &planes) &&
	       !__builtin_add_overflow(rows, planes, span) &&
	       !__builtin_add_overflow(*span, b->width, span);
}

/* Moves a side's base to the first byte, and fills in the default pitch and height. */
static CUresult side_place(struct side *s, const struct box *b, size_t pitch,
			   size_t height, size_t x, size_t y, size_t z)
{
	size_t span;

	if (s->array) {
		s->pitch = s->array->pitch;
		s->slice = s->array->pitch * s->array->rows;
		return sgpu_array_place(s->array, x, y, z, b->width, b->height, b->depth, &s->base);
	}
	s->pitch = pitch ? pitch : b->width;
	if (s->pitch < b->width || (height && height < b->height))
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_mul_overflow(s->pitch, height ? height : b->height,
				   &s->slice))
		return CUDA_ERROR_INVALID_VALUE;
	s->base += x + y * s->pitch + z * s->slice;
	if (!box_span(s, b, &span))
		return CUDA_ERROR_INVALID_VALUE;
	if (s->planned && sgpu_mem_in_arena(s->base))
		return sgpu_check_planned(s->base, span);
	return check(s->base, span, s->device);
}

static void box_copy(const struct side *dst, const struct side *src,
		     const struct box *b)
{
	for (size_t z = 0; z < b->depth; z++)
		for (size_t y = 0; y < b->height; y++)
			memmove((char *)(uintptr_t)dst->base +
				z * dst->slice + y * dst->pitch,
				(char *)(uintptr_t)src->base +
				z * src->slice + y * src->pitch, b->width);
}

CUresult sgpu_copy_box(const CUDA_MEMCPY3D *c, bool run)
{
	struct box b = { c->WidthInBytes, c->Height, c->Depth };
	struct side dst = { .planned = !run }, src = { .planned = !run };
	CUresult rc;

	rc = side_memory(&src, c->srcMemoryType, c->srcHost, c->srcDevice,
			 c->srcArray);
	if (!rc)
		rc = side_memory(&dst, c->dstMemoryType, c->dstHost,
				 c->dstDevice, c->dstArray);
	if (rc || !b.width || !b.height || !b.depth)
		return rc;
	rc = side_place(&src, &b, c->srcPitch, c->srcHeight, c->srcXInBytes,
			c->srcY, c->srcZ);
	if (!rc)
		rc = side_place(&dst, &b, c->dstPitch, c->dstHeight,
				c->dstXInBytes, c->dstY, c->dstZ);
	if (!rc && run)
		box_copy(&dst, &src, &b);
	return rc;
}

static CUresult boxes(const CUDA_MEMCPY3D *c, CUstream stream, bool wait)
{
	struct sgpu_stream *capturing;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	if (wait)
		sgpu_print_flush();
	rc = c ? sgpu_work_stream(ctx, stream, &capturing) : CUDA_ERROR_INVALID_VALUE;
	if (rc)
		return sgpu_leave(rc);
	return sgpu_leave(capturing ? sgpu_capture_copy(capturing, c) :
				      sgpu_copy_box(c, true));
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream stream)
{
	return boxes(c, stream, false);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *c)
{
	return boxes(c, NULL, true);
}

static CUresult copy2d(const CUDA_MEMCPY2D *c, CUstream stream, bool wait)
{
	CUDA_MEMCPY3D d;

	if (!c)
		return boxes(NULL, stream, wait);
	d = (CUDA_MEMCPY3D){
		.srcXInBytes = c->srcXInBytes, .srcY = c->srcY,
		.srcMemoryType = c->srcMemoryType, .srcHost = c->srcHost,
		.srcDevice = c->srcDevice, .srcArray = c->srcArray,
		.srcPitch = c->srcPitch,
		.dstXInBytes = c->dstXInBytes, .dstY = c->dstY,
		.dstMemoryType = c->dstMemoryType, .dstHost = c->dstHost,
		.dstDevice = c->dstDevice, .dstArray = c->dstArray,
		.dstPitch = c->dstPitch,
		.WidthInBytes = c->WidthInBytes, .Height = c->Height,
		.Depth = 1,
	};
	return boxes(&d, stream, wait);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
	return copy2d(c, stream, false);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *c)
{
	return copy2d(c, NULL, true);
}

/* The contexts of a peer copy name the one device and have no other effect. */
static CUresult copy3d_peer(const CUDA_MEMCPY3D_PEER *c, CUstream stream,
			    bool wait)
{
	CUDA_MEMCPY3D d;
	CUresult rc;

	if (!c)
		return boxes(NULL, stream, wait);
	rc = peers_ok(c->dstContext, c->srcContext);
	if (rc)
		return rc;
	d = (CUDA_MEMCPY3D){
		.srcXInBytes = c->srcXInBytes, .srcY = c->srcY,
		.srcZ = c->srcZ, .srcMemoryType = c->srcMemoryType,
		.srcArray = c->srcArray, .dstArray = c->dstArray,
		.srcHost = c->srcHost, .srcDevice = c->srcDevice,
		.srcPitch = c->srcPitch, .srcHeight = c->srcHeight,
		.dstXInBytes = c->dstXInBytes, .dstY = c->dstY,
		.dstZ = c->dstZ, .dstMemoryType = c->dstMemoryType,
		.dstHost = c->dstHost, .dstDevice = c->dstDevice,
		.dstPitch = c->dstPitch, .dstHeight = c->dstHeight,
		.WidthInBytes = c->WidthInBytes, .Height = c->Height,
		.Depth = c->Depth,
	};
	return boxes(&d, stream, wait);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *c)
{
	return copy3d_peer(c, NULL, true);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *c, CUstream stream)
{
	return copy3d_peer(c, stream, false);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *c)
	__attribute__((alias("cuMemcpy2D_v2")));
