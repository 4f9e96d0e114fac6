// SPDX-License-Identifier: Apache-2.0
/*
 * Copies. A copy to a stream that has no work to follow is done at once, in the calling thread,
 * which the rules for ordered streams allow. Otherwise it is queued if the driver knows all its
 * memory, or a short source is taken along; a copy of other memory waits for its turn. Addresses
 * of the device must lie in one known range, so a bad copy returns an error code and cannot damage
 * the process.
 */
#include <string.h>

#include "array.h"
#include "queue.h"
#include "watch.h"

/* Bytes of ordinary memory that a queued copy takes along, as NVIDIA's driver does. */
#define TAKEN_ALONG	65536u

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

/* A copy of bytes in a row. */
struct line {
	uint64_t dst, src;
	bool dst_device, src_device;
	size_t n;
};

struct queued_line {
	struct sgpu_task work;
	struct line line;
	char bytes[];		/* of the source, if it is taken along */
};

/* Memory that nobody can take away from queued work (queue.c). */
static bool is_known(uint64_t addr, size_t n)
{
	return !sgpu_check_device(addr, n);
}

static void run_line(struct sgpu_task *w)
{
	const struct line *l = &((struct queued_line *)w)->line;
	const char *taken = ((struct queued_line *)w)->bytes;

	if (!is_known(l->dst, l->n) || (l->src && !is_known(l->src, l->n)))
		sgpu_poison(CUDA_ERROR_ILLEGAL_ADDRESS);
	else
		memmove((void *)(uintptr_t)l->dst,
			l->src ? (const void *)(uintptr_t)l->src : taken, l->n);
}

/* NOT_READY: it has waited for the turn of the copy, and the caller begins again. */
static CUresult line_later(struct sgpu_stream *s, const struct line *l)
{
	bool along = !is_known(l->src, l->n);
	struct queued_line *q;

	if (!is_known(l->dst, l->n) || (along && l->n > TAKEN_ALONG) || sgpu_watch_begin()) {
		sgpu_queue_wait(sgpu_stream_behind(s));
		return CUDA_ERROR_NOT_READY;
	}
	q = sgpu_task_new(sizeof(*q) + (along ? l->n : 0), run_line);
	if (!q)
		return CUDA_ERROR_OUT_OF_MEMORY;
	q->line = *l;
	if (along) {
		memcpy(q->bytes, (const void *)(uintptr_t)l->src, l->n);
		q->line.src = 0;
	}
	sgpu_task_submit(s, &q->work);
	return CUDA_SUCCESS;
}

static CUresult line_now(struct sgpu_ctx *ctx, const struct line *l, CUstream stream)
{
	struct sgpu_seen seen = {
		.work = SGPU_DID_COPY, .ctx = (CUcontext)ctx, .stream = stream,
		.device = ctx->device, .bytes = l->n,
	};

	seen.start_ns = sgpu_watch_begin();
	memmove((void *)(uintptr_t)l->dst, (void *)(uintptr_t)l->src, l->n);
	if (seen.start_ns) {
		seen.to = side_of(l->dst, l->dst_device);
		seen.from = side_of(l->src, l->src_device);
		sgpu_watch_end(&seen);
	}
	return CUDA_SUCCESS;
}

/* NOT_READY: as of line_later(). */
static CUresult copy_checked(struct sgpu_ctx *ctx, const struct line *l, CUstream stream)
{
	struct sgpu_stream *s = sgpu_stream_get(ctx, stream);
	CUresult rc = s ? check(l->dst, l->n, l->dst_device) : CUDA_ERROR_INVALID_HANDLE;

	if (!rc)
		rc = check(l->src, l->n, l->src_device);
	if (rc || !l->n)
		return rc;
	return sgpu_stream_free(s) ? line_now(ctx, l, stream) : line_later(s, l);
}

static CUmemorytype memory_type(uint64_t addr, bool device)
{
	return device ? CU_MEMORYTYPE_DEVICE :
	       sgpu_mem_in_arena(addr) ? CU_MEMORYTYPE_UNIFIED :
					 CU_MEMORYTYPE_HOST;
}

static CUresult copy_captured(struct sgpu_stream *s, const struct line *l)
{
	const CUDA_MEMCPY3D c = {
		.srcMemoryType = memory_type(l->src, l->src_device),
		.srcHost = (const void *)(uintptr_t)l->src, .srcDevice = l->src,
		.dstMemoryType = memory_type(l->dst, l->dst_device),
		.dstHost = (void *)(uintptr_t)l->dst, .dstDevice = l->dst,
		.WidthInBytes = l->n, .Height = 1, .Depth = 1,
	};

	return l->n ? sgpu_capture_copy(s, &c) : CUDA_SUCCESS;
}

static CUresult copy_once(const struct line *l, CUstream stream)
{
	struct sgpu_ctx *ctx;
	struct sgpu_stream *capturing;
	CUresult rc = sgpu_submit(&ctx);

	if (rc)
		return rc;
	rc = sgpu_capture_stream(ctx, stream, &capturing);
	if (!rc && capturing)
		rc = copy_captured(capturing, l);
	else if (!rc)
		rc = copy_checked(ctx, l, stream);
	return sgpu_leave(rc);
}

static CUresult copy(uint64_t dst, bool dst_device, uint64_t src,
		     bool src_device, size_t n, CUstream stream)
{
	const struct line l = { dst, src, dst_device, src_device, n };
	CUresult rc;

	do
		rc = copy_once(&l, stream);
	while (rc == CUDA_ERROR_NOT_READY);
	return rc;
}

/* Waits for the turn of work of the legacy stream that its caller does itself. */
static CUresult await_legacy(struct sgpu_ctx *ctx)
{
	uint64_t ticket = sgpu_stream_behind(ctx->legacy);
	bool waits = !sgpu_queue_done(ticket);

	sgpu_queue_wait(ticket);
	sgpu_print_flush();
	return waits ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult copy_and_wait_once(const struct line *l)
{
	struct sgpu_stream *capturing;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	rc = sgpu_capture_stream(ctx, NULL, &capturing);
	if (!rc)
		rc = await_legacy(ctx);
	return sgpu_leave(rc ? rc : copy_checked(ctx, l, NULL));
}

/* A copy that waits is a synchronisation point for device printf(). */
static CUresult copy_and_wait(uint64_t dst, bool dst_device, uint64_t src,
			      bool src_device, size_t n)
{
	const struct line l = { dst, src, dst_device, src_device, n };
	CUresult rc;

	do
		rc = copy_and_wait_once(&l);
	while (rc == CUDA_ERROR_NOT_READY);
	return rc;
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
	CUresult rc = sgpu_beside_global();

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

struct queued_box {
	struct sgpu_task work;
	CUDA_MEMCPY3D box;
};

static void run_box(struct sgpu_task *w)
{
	CUresult rc = sgpu_copy_box(&((struct queued_box *)w)->box, true);

	if (rc)
		sgpu_poison(CUDA_ERROR_ILLEGAL_ADDRESS);
}

static bool is_ordinary(CUmemorytype type, CUdeviceptr addr)
{
	return type == CU_MEMORYTYPE_HOST ||
	       (type == CU_MEMORYTYPE_UNIFIED && !sgpu_mem_in_arena(addr));
}

/* NOT_READY: as of line_later(). A box of host memory always waits for its turn. */
static CUresult box_later(struct sgpu_stream *s, const CUDA_MEMCPY3D *c)
{
	CUresult rc = sgpu_copy_box(c, false);
	struct queued_box *q;

	if (rc)
		return rc;
	if (is_ordinary(c->srcMemoryType, c->srcDevice) ||
	    is_ordinary(c->dstMemoryType, c->dstDevice)) {
		sgpu_queue_wait(sgpu_stream_behind(s));
		return CUDA_ERROR_NOT_READY;
	}
	q = sgpu_task_new(sizeof(*q), run_box);
	if (!q)
		return CUDA_ERROR_OUT_OF_MEMORY;
	q->box = *c;
	sgpu_task_submit(s, &q->work);
	return CUDA_SUCCESS;
}

static CUresult box_go(struct sgpu_ctx *ctx, const CUDA_MEMCPY3D *c, CUstream stream)
{
	struct sgpu_stream *s = sgpu_stream_get(ctx, stream);

	return sgpu_stream_free(s) ? sgpu_copy_box(c, true) : box_later(s, c);
}

static CUresult boxes_once(const CUDA_MEMCPY3D *c, CUstream stream, bool wait)
{
	struct sgpu_stream *capturing;
	struct sgpu_ctx *ctx;
	CUresult rc = wait ? sgpu_beside(&ctx) : sgpu_submit(&ctx);

	if (rc)
		return rc;
	rc = c ? sgpu_work_stream(ctx, stream, &capturing) : CUDA_ERROR_INVALID_VALUE;
	if (!rc && capturing)
		return sgpu_leave(sgpu_capture_copy(capturing, c));
	if (!rc && wait)
		rc = await_legacy(ctx);
	return sgpu_leave(rc ? rc : box_go(ctx, c, stream));
}

static CUresult boxes(const CUDA_MEMCPY3D *c, CUstream stream, bool wait)
{
	CUresult rc;

	do
		rc = boxes_once(c, stream, wait);
	while (rc == CUDA_ERROR_NOT_READY);
	return rc;
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
