// SPDX-License-Identifier: Apache-2.0
/*
 * Fills of device memory, in one and two dimensions. A fill to a stream that has no work to follow
 * is done at once, in the calling thread.
 */
#include <string.h>

#include "queue.h"
#include "watch.h"

struct fill {
	uint64_t dst;
	size_t pitch, width, height;	/* pitch in bytes, width in elements */
	uint32_t value;
	unsigned int element;		/* bytes: 1, 2 or 4 */
};

static void fill16(uint16_t *row, uint16_t value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		row[i] = value;
}

static void fill32(uint32_t *row, uint32_t value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		row[i] = value;
}

/* The address is a multiple of the element size; fill_check() has checked that. */
static void fill_row(void *row, const struct fill *f)
{
	if (f->element == 1)
		memset(row, f->value, f->width);
	else if (f->element == 2)
		fill16(row, f->value, f->width);
	else
		fill32(row, f->value, f->width);
}

static CUresult fill_check(const struct fill *f, bool planned)
{
	size_t bytes, span;

	if (!f->width || !f->height)
		return CUDA_SUCCESS;
	if (f->dst % f->element)
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_mul_overflow(f->width, f->element, &bytes) ||
	    __builtin_mul_overflow(f->height - 1, f->pitch, &span) ||
	    __builtin_add_overflow(span, bytes, &span))
		return CUDA_ERROR_INVALID_VALUE;
	if (f->height > 1 && (f->pitch < bytes || f->pitch % f->element))
		return CUDA_ERROR_INVALID_VALUE;
	return planned ? sgpu_check_planned(f->dst, span) : sgpu_check_device(f->dst, span);
}

static void fill_rows(const struct fill *f)
{
	for (size_t y = 0; f->width && y < f->height; y++)
		fill_row((char *)(uintptr_t)f->dst + y * f->pitch, f);
}

static CUresult fill_captured(struct sgpu_stream *s, const struct fill *f)
{
	const CUDA_MEMSET_NODE_PARAMS p = {
		.dst = f->dst, .pitch = f->pitch, .value = f->value,
		.elementSize = f->element, .width = f->width,
		.height = f->height,
	};

	return sgpu_capture_fill(s, &p);
}

struct queued {
	struct sgpu_task work;
	struct fill fill;
};

static void run_fill(struct sgpu_task *w)
{
	const struct fill *f = &((struct queued *)w)->fill;

	if (fill_check(f, false))
		sgpu_poison(CUDA_ERROR_ILLEGAL_ADDRESS);
	else
		fill_rows(f);
}

/* NOT_READY: it has waited for the turn of the fill, and the caller begins again. */
static CUresult fill_later(struct sgpu_stream *s, const struct fill *f)
{
	struct queued *q;

	/* A profiler is told by the thread that asked for the fill. */
	if (sgpu_watch_begin()) {
		sgpu_queue_wait(sgpu_stream_behind(s));
		return CUDA_ERROR_NOT_READY;
	}
	q = sgpu_task_new(sizeof(*q), run_fill);
	if (!q)
		return CUDA_ERROR_OUT_OF_MEMORY;
	q->fill = *f;
	sgpu_task_submit(s, &q->work);
	return CUDA_SUCCESS;
}

static CUresult fill_once(const struct fill *f, CUstream stream)
{
	struct sgpu_seen seen = {
		.work = SGPU_DID_FILL, .stream = stream,
		.bytes = (uint64_t)f->width * f->element * f->height,
	};
	struct sgpu_stream *capturing;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_submit(&ctx);

	if (rc)
		return rc;
	rc = sgpu_work_stream(ctx, stream, &capturing);
	if (!rc)
		rc = fill_check(f, capturing);
	if (!rc && capturing)
		return sgpu_leave(fill_captured(capturing, f));
	if (!rc && !sgpu_stream_free(sgpu_stream_get(ctx, stream)))
		return sgpu_leave(fill_later(sgpu_stream_get(ctx, stream), f));
	if (rc)
		return sgpu_leave(rc);
	seen.start_ns = sgpu_watch_begin();
	fill_rows(f);
	seen.ctx = (CUcontext)ctx;
	seen.device = ctx->device;
	sgpu_watch_end(&seen);
	return sgpu_leave(CUDA_SUCCESS);
}

static CUresult fill(const struct fill *f, CUstream stream)
{
	CUresult rc;

	do
		rc = fill_once(f, stream);
	while (rc == CUDA_ERROR_NOT_READY);
	return rc;
}

CUresult sgpu_fill_box(const CUDA_MEMSET_NODE_PARAMS *p, bool run)
{
	const struct fill f = { p->dst, p->pitch, p->width, p->height, p->value,
				p->elementSize };
	CUresult rc;

	if (f.element != 1 && f.element != 2 && f.element != 4)
		return CUDA_ERROR_INVALID_VALUE;
	rc = fill_check(&f, !run);
	if (!rc && run)
		fill_rows(&f);
	return rc;
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char v, size_t n,
			 CUstream stream)
{
	return fill(&(struct fill){ dst, 0, n, 1, v, 1 }, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short v, size_t n,
			  CUstream stream)
{
	return fill(&(struct fill){ dst, 0, n, 1, v, 2 }, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned int v, size_t n,
			  CUstream stream)
{
	return fill(&(struct fill){ dst, 0, n, 1, v, 4 }, stream);
}

CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char v,
			   size_t width, size_t height, CUstream stream)
{
	return fill(&(struct fill){ dst, pitch, width, height, v, 1 }, stream);
}

CUresult cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short v,
			    size_t width, size_t height, CUstream stream)
{
	return fill(&(struct fill){ dst, pitch, width, height, v, 2 }, stream);
}

CUresult cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned int v,
			    size_t width, size_t height, CUstream stream)
{
	return fill(&(struct fill){ dst, pitch, width, height, v, 4 }, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char v, size_t n)
{
	return cuMemsetD8Async(dst, v, n, NULL);
}

CUresult cuMemsetD16_v2(CUdeviceptr dst, unsigned short v, size_t n)
{
	return cuMemsetD16Async(dst, v, n, NULL);
}

CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned int v, size_t n)
{
	return cuMemsetD32Async(dst, v, n, NULL);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char v,
			 size_t width, size_t height)
{
	return cuMemsetD2D8Async(dst, pitch, v, width, height, NULL);
}

CUresult cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short v,
			  size_t width, size_t height)
{
	return cuMemsetD2D16Async(dst, pitch, v, width, height, NULL);
}

CUresult cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned int v,
			  size_t width, size_t height)
{
	return cuMemsetD2D32Async(dst, pitch, v, width, height, NULL);
}
