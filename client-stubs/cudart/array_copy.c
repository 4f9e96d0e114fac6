// SPDX-License-Identifier: Apache-2.0
/*
 * Copies from and to arrays, and all three-dimensional ones. The driver knows rectangles and
 * boxes in bytes. The runtime counts an array's x in elements in boxes, and in bytes elsewhere.
 * It has linear copies that go on in the next row.
 */
#include "cudart.h"

cudaError_t cudaMemcpy3D_ptds(const struct cudaMemcpy3DParms *p);
cudaError_t cudaMemcpy3DPeer_ptds(const struct cudaMemcpy3DPeerParms *p);
cudaError_t cudaMemcpy2DToArray_ptds(cudaArray_t dst, size_t wOffset, size_t hOffset,
				     const void *src, size_t spitch, size_t width, size_t height,
				     enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray_ptds(void *dst, size_t dpitch, cudaArray_const_t src,
				       size_t wOffset, size_t hOffset, size_t width, size_t height,
				       enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DArrayToArray_ptds(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
					  cudaArray_const_t src, size_t wOffsetSrc,
					  size_t hOffsetSrc, size_t width, size_t height,
					  enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyToArray_ptds(cudaArray_t dst, size_t wOffset, size_t hOffset,
				   const void *src, size_t count, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromArray_ptds(void *dst, cudaArray_const_t src, size_t wOffset,
				     size_t hOffset, size_t count, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyArrayToArray_ptds(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
					cudaArray_const_t src, size_t wOffsetSrc,
					size_t hOffsetSrc, size_t count, enum cudaMemcpyKind kind);

/* How a copy is issued. */
struct how {
	bool async;
	CUstream stream;
};

static const struct how at_once;

static struct how on(cudaStream_t stream)
{
	return (struct how) { true, (CUstream)stream };
}

/* An array is on the device, so a direction that says otherwise is wrong. */
static bool bad_kind(enum cudaMemcpyKind kind, bool from_array, bool to_array)
{
	if ((unsigned int)kind > cudaMemcpyDefault)
		return true;
	return (from_array && (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)) ||
	       (to_array && (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost));
}

/* --- Rectangles ------------------------------------------------------------------------ */

static cudaError_t issue_2d(const CUDA_MEMCPY2D *c, struct how h)
{
	if (!c->WidthInBytes || !c->Height)
		return cudaSuccess;
	return rt_error(h.async ? DRV(cuMemcpy2DAsync(c, h.stream)) : DRV(cuMemcpy2DUnaligned(c)));
}

static void source_array(CUDA_MEMCPY2D *c, cudaArray_const_t a, size_t x, size_t y)
{
	c->srcMemoryType = CU_MEMORYTYPE_ARRAY;
	c->srcArray = (CUarray)(uintptr_t)a;
	c->srcXInBytes = x;
	c->srcY = y;
}

static void target_array(CUDA_MEMCPY2D *c, cudaArray_t a, size_t x, size_t y)
{
	c->dstMemoryType = CU_MEMORYTYPE_ARRAY;
	c->dstArray = (CUarray)a;
	c->dstXInBytes = x;
	c->dstY = y;
}

static void source_memory(CUDA_MEMCPY2D *c, const void *p, size_t pitch, enum cudaMemcpyKind kind)
{
	c->srcMemoryType = rt_side(kind, true);
	c->srcHost = p;
	c->srcDevice = rt_ptr(p);
	c->srcPitch = pitch;
}

static void target_memory(CUDA_MEMCPY2D *c, void *p, size_t pitch, enum cudaMemcpyKind kind)
{
	c->dstMemoryType = rt_side(kind, false);
	c->dstHost = p;
	c->dstDevice = rt_ptr(p);
	c->dstPitch = pitch;
}

static cudaError_t to_array_2d(cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch,
			       size_t width, size_t height, enum cudaMemcpyKind kind, struct how h)
{
	CUDA_MEMCPY2D c = { .WidthInBytes = width, .Height = height };
	cudaError_t err = rt_enter();

	if (!err && bad_kind(kind, false, true))
		err = cudaErrorInvalidMemcpyDirection;
	if (!err && width > pitch)
		err = cudaErrorInvalidPitchValue;
	source_memory(&c, src, pitch, kind);
	target_array(&c, dst, x, y);
	return rt_ret(err ? err : issue_2d(&c, h));
}

static cudaError_t from_array_2d(void *dst, size_t pitch, cudaArray_const_t src, size_t x,
				 size_t y, size_t width, size_t height, enum cudaMemcpyKind kind,
				 struct how h)
{
	CUDA_MEMCPY2D c = { .WidthInBytes = width, .Height = height };
	cudaError_t err = rt_enter();

	if (!err && bad_kind(kind, true, false))
		err = cudaErrorInvalidMemcpyDirection;
	if (!err && width > pitch)
		err = cudaErrorInvalidPitchValue;
	source_array(&c, src, x, y);
	target_memory(&c, dst, pitch, kind);
	return rt_ret(err ? err : issue_2d(&c, h));
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
				size_t spitch, size_t width, size_t height,
				enum cudaMemcpyKind kind)
{
	return to_array_2d(dst, wOffset, hOffset, src, spitch, width, height, kind, at_once);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
				     const void *src, size_t spitch, size_t width, size_t height,
				     enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return to_array_2d(dst, wOffset, hOffset, src, spitch, width, height, kind, on(stream));
}

cudaError_t cudaMemcpy2DToArray_ptds(cudaArray_t dst, size_t wOffset, size_t hOffset,
				     const void *src, size_t spitch, size_t width, size_t height,
				     enum cudaMemcpyKind kind)
{
	return rt_finish_own_stream(to_array_2d(dst, wOffset, hOffset, src, spitch, width, height,
					     kind, on(cudaStreamPerThread)));
}

cudaError_t cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
				  size_t hOffset, size_t width, size_t height,
				  enum cudaMemcpyKind kind)
{
	return from_array_2d(dst, dpitch, src, wOffset, hOffset, width, height, kind, at_once);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src,
				       size_t wOffset, size_t hOffset, size_t width, size_t height,
				       enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return from_array_2d(dst, dpitch, src, wOffset, hOffset, width, height, kind, on(stream));
}

cudaError_t cudaMemcpy2DFromArray_ptds(void *dst, size_t dpitch, cudaArray_const_t src,
				       size_t wOffset, size_t hOffset, size_t width, size_t height,
				       enum cudaMemcpyKind kind)
{
	return rt_finish_own_stream(from_array_2d(dst, dpitch, src, wOffset, hOffset, width, height,
					       kind, on(cudaStreamPerThread)));
}

static cudaError_t between_arrays(cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src,
				  size_t sx, size_t sy, size_t width, size_t height,
				  enum cudaMemcpyKind kind, struct how h)
{
	CUDA_MEMCPY2D c = { .WidthInBytes = width, .Height = height };
	cudaError_t err = rt_enter();

	if (!err && bad_kind(kind, true, true))
		err = cudaErrorInvalidMemcpyDirection;
	source_array(&c, src, sx, sy);
	target_array(&c, dst, dx, dy);
	return rt_ret(err ? err : issue_2d(&c, h));
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
				     cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
				     size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return between_arrays(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width,
			      height, kind, at_once);
}

cudaError_t cudaMemcpy2DArrayToArray_ptds(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
					  cudaArray_const_t src, size_t wOffsetSrc,
					  size_t hOffsetSrc, size_t width, size_t height,
					  enum cudaMemcpyKind kind)
{
	return rt_finish_own_stream(between_arrays(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc,
						hOffsetSrc, width, height, kind,
						on(cudaStreamPerThread)));
}

/* --- Linear copies: at the end of a row they go on in the next one ----------------------- */

/* Finds the bytes of a row. A position behind its end is one in a later row. */
static cudaError_t row_of(cudaArray_const_t array, size_t *x, size_t *y, size_t *row)
{
	CUDA_ARRAY3D_DESCRIPTOR a;
	cudaError_t err = rt_array(array, &a);

	*row = err ? 0 : a.Width * rt_element(&a);
	if (err || !*row)
		return err ? err : cudaErrorInvalidValue;
	*y += *x / *row;
	*x %= *row;
	return cudaSuccess;
}

/*
 * Returns the rows of the next rectangle of `count` bytes that begin at x: the rest of a row,
 * or whole rows.
 */
static size_t rectangle(size_t x, size_t row, size_t count, size_t *width)
{
	if (x || count < row) {
		*width = count < row - x ? count : row - x;
		return 1;
	}
	*width = row;
	return count / row;
}

static cudaError_t to_array(cudaArray_t dst, size_t x, size_t y, const char *src, size_t count,
			    enum cudaMemcpyKind kind, struct how h)
{
	cudaError_t err = rt_enter();
	size_t row = 0, width, height;

	if (!err && bad_kind(kind, false, true))
		err = cudaErrorInvalidMemcpyDirection;
	if (!err && count)
		err = row_of(dst, &x, &y, &row);
	for (; !err && count; count -= width * height, src += width * height, y += height, x = 0) {
		height = rectangle(x, row, count, &width);
		err = to_array_2d(dst, x, y, src, width, width, height, kind, h);
	}
	return rt_ret(err);
}

static cudaError_t from_array(char *dst, cudaArray_const_t src, size_t x, size_t y, size_t count,
			      enum cudaMemcpyKind kind, struct how h)
{
	cudaError_t err = rt_enter();
	size_t row = 0, width, height;

	if (!err && bad_kind(kind, true, false))
		err = cudaErrorInvalidMemcpyDirection;
	if (!err && count)
		err = row_of(src, &x, &y, &row);
	for (; !err && count; count -= width * height, dst += width * height, y += height, x = 0) {
		height = rectangle(x, row, count, &width);
		err = from_array_2d(dst, width, src, x, y, width, height, kind, h);
	}
	return rt_ret(err);
}

static void advance(size_t *x, size_t *y, size_t row, size_t n)
{
	*x += n;
	if (*x == row) {
		*x = 0;
		++*y;
	}
}

static cudaError_t array_to_array(cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src,
				  size_t sx, size_t sy, size_t count, enum cudaMemcpyKind kind,
				  struct how h)
{
	cudaError_t err = rt_enter();
	size_t drow, srow, n;

	if (!err && bad_kind(kind, true, true))
		err = cudaErrorInvalidMemcpyDirection;
	if (!err && count)
		err = row_of(dst, &dx, &dy, &drow);
	if (!err && count)
		err = row_of(src, &sx, &sy, &srow);
	while (!err && count) {
		n = drow - dx < srow - sx ? drow - dx : srow - sx;
		n = n < count ? n : count;
		err = between_arrays(dst, dx, dy, src, sx, sy, n, 1, kind, h);
		advance(&dx, &dy, drow, n);
		advance(&sx, &sy, srow, n);
		count -= n;
	}
	return rt_ret(err);
}

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
			      size_t count, enum cudaMemcpyKind kind)
{
	return to_array(dst, wOffset, hOffset, src, count, kind, at_once);
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
				   const void *src, size_t count, enum cudaMemcpyKind kind,
				   cudaStream_t stream)
{
	return to_array(dst, wOffset, hOffset, src, count, kind, on(stream));
}

cudaError_t cudaMemcpyToArray_ptds(cudaArray_t dst, size_t wOffset, size_t hOffset,
				   const void *src, size_t count, enum cudaMemcpyKind kind)
{
	return rt_finish_own_stream(to_array(dst, wOffset, hOffset, src, count, kind,
					  on(cudaStreamPerThread)));
}

cudaError_t cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
				size_t count, enum cudaMemcpyKind kind)
{
	return from_array(dst, src, wOffset, hOffset, count, kind, at_once);
}

cudaError_t cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset,
				     size_t hOffset, size_t count, enum cudaMemcpyKind kind,
				     cudaStream_t stream)
{
	return from_array(dst, src, wOffset, hOffset, count, kind, on(stream));
}

cudaError_t cudaMemcpyFromArray_ptds(void *dst, cudaArray_const_t src, size_t wOffset,
				     size_t hOffset, size_t count, enum cudaMemcpyKind kind)
{
	return rt_finish_own_stream(from_array(dst, src, wOffset, hOffset, count, kind,
					    on(cudaStreamPerThread)));
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
				   cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
				   size_t count, enum cudaMemcpyKind kind)
{
	return array_to_array(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, count,
			      kind, at_once);
}

cudaError_t cudaMemcpyArrayToArray_ptds(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
					cudaArray_const_t src, size_t wOffsetSrc,
					size_t hOffsetSrc, size_t count, enum cudaMemcpyKind kind)
{
	return rt_finish_own_stream(array_to_array(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc,
						hOffsetSrc, count, kind, on(cudaStreamPerThread)));
}

/* --- Boxes ---------------------------------------------------------------------------------- */

/* Finds the bytes of an element of the arrays that take part; 1 if none does. */
static cudaError_t element_of(cudaArray_const_t src, cudaArray_const_t dst, size_t *size)
{
	size_t s = 0, d = 0;
	CUDA_ARRAY3D_DESCRIPTOR a;
	cudaError_t err = cudaSuccess;

	*size = 1;
	if (src && !(err = rt_array(src, &a)))
		*size = s = rt_element(&a);
	if (!err && dst && !(err = rt_array(dst, &a)))
		*size = d = rt_element(&a);
	if (err)
		return err;
	return *size && (!s || !d || s == d) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t rt_copy_3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c)
{
	size_t element;
	cudaError_t err;

	if (!p || (p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr))
		return cudaErrorInvalidValue;
	if (bad_kind(p->kind, p->srcArray, p->dstArray))
		return cudaErrorInvalidMemcpyDirection;
	err = element_of(p->srcArray, p->dstArray, &element);
	if (err)
		return err;
	*c = (CUDA_MEMCPY3D) {
		.srcXInBytes = p->srcPos.x * (p->srcArray ? element : 1),
		.srcY = p->srcPos.y,
		.srcZ = p->srcPos.z,
		.srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : rt_side(p->kind, true),
		.srcHost = p->srcPtr.ptr,
		.srcDevice = rt_ptr(p->srcPtr.ptr),
		.srcArray = (CUarray)p->srcArray,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.dstXInBytes = p->dstPos.x * (p->dstArray ? element : 1),
		.dstY = p->dstPos.y,
		.dstZ = p->dstPos.z,
		.dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : rt_side(p->kind, false),
		.dstHost = p->dstPtr.ptr,
		.dstDevice = rt_ptr(p->dstPtr.ptr),
		.dstArray = (CUarray)p->dstArray,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.WidthInBytes = p->extent.width * element,
		.Height = p->extent.height,
		.Depth = p->extent.depth,
	};
	return cudaSuccess;
}

static bool empty(struct cudaExtent e)
{
	return !e.width || !e.height || !e.depth;
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_copy_3d(p, &c);
	if (!err && !empty(p->extent))
		err = rt_error(DRV(cuMemcpy3D(&c)));
	return rt_ret(err);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	CUDA_MEMCPY3D c;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_copy_3d(p, &c);
	if (!err && !empty(p->extent))
		err = rt_error(DRV(cuMemcpy3DAsync(&c, (CUstream)stream)));
	return rt_ret(err);
}

cudaError_t cudaMemcpy3D_ptds(const struct cudaMemcpy3DParms *p)
{
	return rt_finish_own_stream(cudaMemcpy3DAsync(p, cudaStreamPerThread));
}

/* Each side is on the device that it names. Its memory is found by its address. */
static cudaError_t copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, CUDA_MEMCPY3D_PEER *c)
{
	struct cudaMemcpy3DParms box = { .kind = cudaMemcpyDefault };
	CUcontext from, to;
	cudaError_t err;

	if (!p)
		return cudaErrorInvalidValue;
	box.srcArray = p->srcArray;
	box.srcPos = p->srcPos;
	box.srcPtr = p->srcPtr;
	box.dstArray = p->dstArray;
	box.dstPos = p->dstPos;
	box.dstPtr = p->dstPtr;
	box.extent = p->extent;
	/* The struct is the same, except for the contexts, which are reserved fields there. */
	_Static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(*c), "boxes between devices have another layout");
	err = rt_copy_3d(&box, (CUDA_MEMCPY3D *)c);
	if (!err)
		err = rt_primary(p->srcDevice, &from);
	if (!err)
		err = rt_primary(p->dstDevice, &to);
	if (err)
		return err;
	c->srcContext = from;
	c->dstContext = to;
	return cudaSuccess;
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
	CUDA_MEMCPY3D_PEER c;
	cudaError_t err = rt_enter();

	if (!err)
		err = copy_3d_peer(p, &c);
	if (!err && !empty(p->extent))
		err = rt_error(DRV(cuMemcpy3DPeer(&c)));
	return rt_ret(err);
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
	CUDA_MEMCPY3D_PEER c;
	cudaError_t err = rt_enter();

	if (!err)
		err = copy_3d_peer(p, &c);
	if (!err && !empty(p->extent))
		err = rt_error(DRV(cuMemcpy3DPeerAsync(&c, (CUstream)stream)));
	return rt_ret(err);
}

cudaError_t cudaMemcpy3DPeer_ptds(const struct cudaMemcpy3DPeerParms *p)
{
	return rt_finish_own_stream(cudaMemcpy3DPeerAsync(p, cudaStreamPerThread));
}
