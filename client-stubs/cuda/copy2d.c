// SPDX-License-Identifier: Apache-2.0
/*
 * Copies of boxes. If a side is pageable, rows are packed into a staging buffer (or out of
 * one), and each packed piece is a copy of its own. Pieces wait for each other, which CUDA
 * allows for pageable memory, also on a stream.
 */
#include "stubs.h"

/* How the packed pieces are issued: in the same way as the call that they belong to. */
struct box {
	CUDA_MEMCPY3D c;
	bool flat;		/* the call was a 2D copy */
	bool async;
	CUstream stream;
	bool managed;		/* a side was named as host memory, but is the device's, too */
};

static CUresult issue(const CUDA_MEMCPY3D *c, const struct box *b)
{
	CUDA_MEMCPY2D d;

	if (!b->flat)
		return b->async ? wh_raw_cuMemcpy3DAsync_v2(c, b->stream) : wh_raw_cuMemcpy3D_v2(c);
	d = (CUDA_MEMCPY2D) {
		.srcXInBytes = c->srcXInBytes, .srcY = c->srcY, .srcMemoryType = c->srcMemoryType,
		.srcHost = c->srcHost, .srcDevice = c->srcDevice, .srcArray = c->srcArray,
		.srcPitch = c->srcPitch,
		.dstXInBytes = c->dstXInBytes, .dstY = c->dstY, .dstMemoryType = c->dstMemoryType,
		.dstHost = c->dstHost, .dstDevice = c->dstDevice, .dstArray = c->dstArray,
		.dstPitch = c->dstPitch,
		.WidthInBytes = c->WidthInBytes, .Height = c->Height,
	};
	return b->async ? wh_raw_cuMemcpy2DAsync_v2(&d, b->stream) :
			  wh_raw_cuMemcpy2DUnaligned_v2(&d);
}

/* --- Which sides are pageable ----------------------------------------------------- */

/*
 * An unknown unified address is the program's own memory. A managed variable is treated as the
 * device's, so that copies keep the stream's order. Returns whether it was named as the host's.
 */
static bool settle(CUmemorytype *type, const void **host, CUdeviceptr *device)
{
	if (*type == CU_MEMORYTYPE_HOST && wh_managed_has(*host)) {
		*type = CU_MEMORYTYPE_DEVICE;
		*device = (CUdeviceptr)*host;
		return true;
	}
	if (*type == CU_MEMORYTYPE_UNIFIED &&
	    (wh_in_data((void *)*device, 1) || !wh_range_has(*device))) {
		*type = CU_MEMORYTYPE_HOST;
		*host = (void *)*device;
	}
	return false;
}

static bool settle_both(CUDA_MEMCPY3D *c)
{
	bool src = settle(&c->srcMemoryType, &c->srcHost, &c->srcDevice);

	return settle(&c->dstMemoryType, (const void **)&c->dstHost, &c->dstDevice) || src;
}

static size_t pitch_of(size_t pitch, size_t width)
{
	return pitch ? pitch : width;
}

static size_t rows_of(size_t rows, size_t height)
{
	return rows ? rows : height;
}

static bool src_pageable(const CUDA_MEMCPY3D *c)
{
	size_t all = pitch_of(c->srcPitch, c->WidthInBytes) *
		     (rows_of(c->srcHeight, c->Height) * (c->srcZ + c->Depth) + c->srcY);

	return c->srcMemoryType == CU_MEMORYTYPE_HOST && !wh_in_data(c->srcHost, 1) && all;
}

static bool dst_pageable(const CUDA_MEMCPY3D *c)
{
	size_t all = pitch_of(c->dstPitch, c->WidthInBytes) *
		     (rows_of(c->dstHeight, c->Height) * (c->dstZ + c->Depth) + c->dstY);

	return c->dstMemoryType == CU_MEMORYTYPE_HOST && !wh_in_data(c->dstHost, 1) && all;
}

/* --- Pieces --------------------------------------------------------------------------- */

/* Rows [y, y + rows) of slice z, and columns [x, x + width), relative to the box. */
struct piece {
	size_t x, y, z, width, rows;
};

static const uint8_t *src_row(const CUDA_MEMCPY3D *c, const struct piece *p, size_t row)
{
	size_t pitch = pitch_of(c->srcPitch, c->WidthInBytes);

	return (const uint8_t *)c->srcHost + c->srcXInBytes + p->x +
	       pitch * (c->srcY + p->y + row + rows_of(c->srcHeight, c->Height) * (c->srcZ + p->z));
}

static uint8_t *dst_row(const CUDA_MEMCPY3D *c, const struct piece *p, size_t row)
{
	size_t pitch = pitch_of(c->dstPitch, c->WidthInBytes);

	return (uint8_t *)c->dstHost + c->dstXInBytes + p->x +
	       pitch * (c->dstY + p->y + row + rows_of(c->dstHeight, c->Height) * (c->dstZ + p->z));
}

static CUDA_MEMCPY3D piece_box(const CUDA_MEMCPY3D *c, const struct piece *p)
{
	CUDA_MEMCPY3D n = *c;

	n.srcXInBytes += p->x;
	n.dstXInBytes += p->x;
	n.srcY += p->y;
	n.dstY += p->y;
	n.srcZ += p->z;
	n.dstZ += p->z;
	n.srcPitch = pitch_of(c->srcPitch, c->WidthInBytes);
	n.dstPitch = pitch_of(c->dstPitch, c->WidthInBytes);
	n.srcHeight = rows_of(c->srcHeight, c->Height);
	n.dstHeight = rows_of(c->dstHeight, c->Height);
	n.WidthInBytes = p->width;
	n.Height = p->rows;
	n.Depth = 1;
	return n;
}

static CUresult piece_in(const struct box *b, const struct piece *p, uint8_t *buf)
{
	CUDA_MEMCPY3D n = piece_box(&b->c, p);
	size_t i;

	for (i = 0; i < p->rows; i++)
		memcpy(buf + i * p->width, src_row(&b->c, p, i), p->width);
	n.srcHost = buf;
	n.srcPitch = p->width;
	n.srcHeight = p->rows;
	n.srcXInBytes = n.srcY = n.srcZ = 0;
	return issue(&n, b);
}

static CUresult piece_out(const struct box *b, const struct piece *p, uint8_t *buf)
{
	CUDA_MEMCPY3D n = piece_box(&b->c, p);
	CUresult res;
	size_t i;

	n.dstHost = buf;
	n.dstPitch = p->width;
	n.dstHeight = p->rows;
	n.dstXInBytes = n.dstY = n.dstZ = 0;
	res = issue(&n, b);
	if (res == CUDA_SUCCESS && b->async)
		res = wh_wait(WH_WAIT_STREAM, wh_stream(b->stream));
	for (i = 0; i < p->rows && res == CUDA_SUCCESS; i++)
		memcpy(dst_row(&b->c, p, i), buf + i * p->width, p->width);
	return res;
}

static CUresult one_piece(const struct box *b, const struct piece *p, bool out)
{
	uint8_t *buf;
	size_t room;
	CUresult res = wh_staging_get(&buf, &room);

	if (res != CUDA_SUCCESS)
		return res;
	res = out ? piece_out(b, p, buf) : piece_in(b, p, buf);
	if (res == CUDA_SUCCESS && b->async && !out)
		res = wh_wait(WH_WAIT_STREAM, wh_stream(b->stream));
	wh_staging_put();
	return res;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Copies as many whole rows as fit at a time, or else parts of one row. */
static CUresult in_pieces(const struct box *b, bool out)
{
	const CUDA_MEMCPY3D *c = &b->c;
	struct piece p = { 0 };
	size_t room, rows;
	uint8_t *buf;
	CUresult res;

	res = wh_staging_get(&buf, &room);
	if (res != CUDA_SUCCESS)
		return res;
	wh_staging_put();
	rows = c->WidthInBytes > room ? 1 : room / c->WidthInBytes;
	for (p.z = 0; p.z < c->Depth; p.z++)
		for (p.y = 0; p.y < c->Height; p.y += p.rows) {
			p.rows = least(rows, c->Height - p.y);
			for (p.x = 0; p.x < c->WidthInBytes; p.x += p.width) {
				p.width = least(room, c->WidthInBytes - p.x);
				res = one_piece(b, &p, out);
				if (res != CUDA_SUCCESS)
					return res;
			}
		}
	return res;
}

static CUresult by_cpu(const struct box *b)
{
	const CUDA_MEMCPY3D *c = &b->c;
	struct piece p = { 0 };
	CUresult res = cuStreamSynchronize(b->stream);

	if (res != CUDA_SUCCESS)
		return res;
	for (p.z = 0; p.z < c->Depth; p.z++)
		for (p.y = 0; p.y < c->Height; p.y++)
			memmove(dst_row(c, &p, 0), src_row(c, &p, 0), c->WidthInBytes);
	return CUDA_SUCCESS;
}

/*
 * Lets the driver copy the box itself. A copy between two places of the device may return
 * early, but a host side must be complete.
 */
static CUresult as_it_is(const struct box *b)
{
	CUresult res = issue(&b->c, b);

	return res == CUDA_SUCCESS && b->managed && !b->async ? wh_wait(WH_WAIT_STREAM, 0) : res;
}

/* --- What the driver refuses, and the program's memory must not be touched for ------------ */

/* A pitch or a number of rows that is given has room for the box. */
static bool has_room(size_t given, size_t at, size_t n)
{
	return !given || (n <= given && at <= given - n);
}

/* Returns the bytes from the side's address to the end of the box; SIZE_MAX: beyond all memory. */
static size_t reach(const CUDA_MEMCPY3D *c, size_t pitch, size_t rows, size_t x, size_t y, size_t z)
{
	size_t n;

	if (__builtin_add_overflow(z, c->Depth - 1, &n) ||
	    __builtin_mul_overflow(n, rows_of(rows, c->Height), &n) ||
	    __builtin_add_overflow(n, y, &n) || __builtin_add_overflow(n, c->Height - 1, &n) ||
	    __builtin_mul_overflow(n, pitch_of(pitch, c->WidthInBytes), &n) ||
	    __builtin_add_overflow(n, x, &n) || __builtin_add_overflow(n, c->WidthInBytes, &n))
		return SIZE_MAX;
	return n;
}

/* Does the box end inside its memory on the device, as far as this side knows that? */
static bool ends_inside(CUmemorytype type, CUdeviceptr device, size_t n)
{
	size_t left = type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED ?
			      wh_range_left(device) : 0;

	return !left || n <= left;
}

static bool is_legal(const struct box *b, bool in, bool out)
{
	const CUDA_MEMCPY3D *c = &b->c;

	if (in && !(has_room(c->srcPitch, c->srcXInBytes, c->WidthInBytes) &&
		    (b->flat || has_room(c->srcHeight, c->srcY, c->Height))))
		return false;
	if (out && !(has_room(c->dstPitch, c->dstXInBytes, c->WidthInBytes) &&
		     (b->flat || has_room(c->dstHeight, c->dstY, c->Height))))
		return false;
	return ends_inside(c->srcMemoryType, c->srcDevice,
			   reach(c, c->srcPitch, c->srcHeight, c->srcXInBytes, c->srcY, c->srcZ)) &&
	       ends_inside(c->dstMemoryType, c->dstDevice,
			   reach(c, c->dstPitch, c->dstHeight, c->dstXInBytes, c->dstY, c->dstZ));
}

static CUresult copy(struct box *b)
{
	bool in, out;

	b->managed = settle_both(&b->c);
	in = src_pageable(&b->c);
	out = dst_pageable(&b->c);
	if (!in && !out)
		return as_it_is(b);
	if ((in && !b->c.srcHost) || (out && !b->c.dstHost))
		return CUDA_ERROR_INVALID_VALUE;
	if (!b->c.WidthInBytes || !b->c.Height || !b->c.Depth)
		return CUDA_SUCCESS;
	if (!is_legal(b, in, out))
		return CUDA_ERROR_INVALID_VALUE;
	return in && out ? by_cpu(b) : in_pieces(b, out);
}

/* --- The functions ------------------------------------------------------------------------ */

static CUresult copy_2d(const CUDA_MEMCPY2D *d, bool async, CUstream stream)
{
	struct box b = { .flat = true, .async = async, .stream = stream };
	CUresult res = wh_usable();

	if (res != CUDA_SUCCESS)
		return res;
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	b.c = (CUDA_MEMCPY3D) {
		.srcXInBytes = d->srcXInBytes, .srcY = d->srcY, .srcMemoryType = d->srcMemoryType,
		.srcHost = d->srcHost, .srcDevice = d->srcDevice, .srcArray = d->srcArray,
		.srcPitch = d->srcPitch, .srcHeight = d->Height,
		.dstXInBytes = d->dstXInBytes, .dstY = d->dstY, .dstMemoryType = d->dstMemoryType,
		.dstHost = d->dstHost, .dstDevice = d->dstDevice, .dstArray = d->dstArray,
		.dstPitch = d->dstPitch, .dstHeight = d->Height,
		.WidthInBytes = d->WidthInBytes, .Height = d->Height, .Depth = 1,
	};
	return copy(&b);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
	return copy_2d(pCopy, false, NULL);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
	return copy_2d(pCopy, false, NULL);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
	return copy_2d(pCopy, true, hStream);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *c, bool async, CUstream stream)
{
	struct box b = { .async = async, .stream = stream };
	CUresult res = wh_usable();

	if (res != CUDA_SUCCESS)
		return res;
	if (!c || c->reserved0 || c->reserved1)
		return CUDA_ERROR_INVALID_VALUE;
	b.c = *c;
	return copy(&b);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
	return copy_3d(pCopy, false, NULL);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
	return copy_3d(pCopy, true, hStream);
}

/* --- Between devices ------------------------------------------------------------------- */

/*
 * Addresses are unified: the contexts only say which way the driver should go. They are at the
 * place where the other struct has reserved fields.
 */
static CUDA_MEMCPY3D without_peers(const CUDA_MEMCPY3D_PEER *p)
{
	CUDA_MEMCPY3D c;

	_Static_assert(sizeof(c) == sizeof(*p), "boxes between devices have another layout");
	memcpy(&c, p, sizeof(c));
	c.reserved0 = NULL;
	c.reserved1 = NULL;
	return c;
}

static bool peer_pageable(const CUDA_MEMCPY3D_PEER *p, CUDA_MEMCPY3D *c)
{
	*c = without_peers(p);
	return settle_both(c) || src_pageable(c) || dst_pageable(c);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
	CUDA_MEMCPY3D c;

	if (wh_client.state == WH_READY && pCopy && peer_pageable(pCopy, &c))
		return copy_3d(&c, false, NULL);
	return wh_raw_cuMemcpy3DPeer(pCopy);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
	CUDA_MEMCPY3D c;

	if (wh_client.state == WH_READY && pCopy && peer_pageable(pCopy, &c))
		return copy_3d(&c, true, hStream);
	return wh_raw_cuMemcpy3DPeerAsync(pCopy, hStream);
}
