// SPDX-License-Identifier: Apache-2.0
/* The part of the mock driver with memory that stays where a program put it. */
#include "mock_driver.h"

#define SMALL	(1ull << 20)
#define UNIT	512
#define UNITS	(BLOCK / UNIT)

/* --- Blocks that small allocations share: the first gap is taken ------------------------- */

static struct block {
	enum kind kind;			/* what the block is for */
	uint64_t address;
	unsigned int used;
	unsigned char unit[UNITS];
} block[512];

static int gap(const struct block *b, unsigned int units)
{
	unsigned int i, run = 0;

	if (UNITS - b->used < units)
		return -1;
	for (i = 0; i < UNITS; i++) {
		run = b->unit[i] ? 0 : run + 1;
		if (run == units)
			return (int)(i + 1 - units);
	}
	return -1;
}

static void put_at(struct object *o, struct block *b, int first, unsigned int units)
{
	memset(b->unit + first, 1, units);
	b->used += units;
	o->address = b->address + (uint64_t)first * UNIT;
}

static int take_small(struct object *o)
{
	unsigned int units = (unsigned int)(up(o->bytes, UNIT) / UNIT);
	struct block *b, *empty = NULL;
	int first;

	for (b = block; b < block + 512; b++) {
		first = b->used && b->kind == o->kind ? gap(b, units) : -1;
		if (first >= 0) {
			put_at(o, b, first, units);
			return 1;
		}
		if (!b->used && !empty)
			empty = b;
	}
	if (!empty || !mock_take(BLOCK))
		return 0;
	*empty = (struct block) { .kind = o->kind, .address = mock_addresses(BLOCK, BLOCK) };
	put_at(o, empty, 0, units);
	return 1;
}

int mock_take_placed(struct object *o)
{
	if (o->bytes <= SMALL)
		return !o->bytes || take_small(o);
	o->address = mock_addresses(up(o->bytes, BLOCK), BLOCK);
	return mock_take(up(o->bytes, BLOCK));
}

void mock_give_placed(struct object *o)
{
	unsigned int units = (unsigned int)(up(o->bytes, UNIT) / UNIT);
	struct block *b;

	if (o->bytes > SMALL) {
		mock_give(up(o->bytes, BLOCK));
		return;
	}
	for (b = block; b < block + 512; b++) {
		if (!b->used || o->address - b->address >= BLOCK)
			continue;
		memset(b->unit + (o->address - b->address) / UNIT, 0, units);
		b->used -= units;
		if (!b->used)
			mock_give(BLOCK);
	}
}

static struct object *make_placed(enum kind kind, uint64_t bytes)
{
	struct object *o = mock_make(kind, bytes);

	if (mock_take_placed(o))
		return o;
	o->kind = FREE;
	return NULL;
}

/* --- Plain memory -------------------------------------------------------------------------- */

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
	*free = mock_gpu->total - mock_gpu->used;
	*total = mock_gpu->total;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
	struct object *o;

	if (!mock_current)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	o = make_placed(PLAIN, bytes);
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = o->address;
	return CUDA_SUCCESS;
}

/* This is a function of CUDA 3, for which contexts no longer exist. */
CUresult cuMemAlloc(CUdeviceptr_v1 *out, unsigned int bytes)
{
	(void)out;
	(void)bytes;
	return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
			    unsigned int element)
{
	(void)element;
	*pitch = up(width, 512);
	return cuMemAlloc_v2(out, *pitch * height);
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
	struct object *o = mock_at(address, PLAIN);

	if (!o)
		return mock_pool_free(address);
	mock_give_placed(o);
	o->kind = FREE;
	return CUDA_SUCCESS;
}

/* --- Physical memory ----------------------------------------------------------------------- */

static void drop(struct object *o)
{
	if (--o->refs)
		return;
	mock_give(o->bytes);
	o->kind = FREE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	(void)flags;
	if (bytes % BLOCK)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !mock_take(bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = (CUmemGenericAllocationHandle)(uintptr_t)mock_make(PHYSICAL,
		prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? bytes : 0);
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct object *o = mock_valid((void *)(uintptr_t)handle, PHYSICAL);

	if (!o)
		return CUDA_ERROR_INVALID_VALUE;
	drop(o);
	return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t align, CUdeviceptr hint,
			     unsigned long long flags)
{
	(void)align;
	(void)hint;
	(void)flags;
	*out = mock_addresses(size, BLOCK);
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	struct object *o = mock_valid((void *)(uintptr_t)handle, PHYSICAL), *m;

	(void)offset;
	(void)flags;
	if (!o)
		return CUDA_ERROR_INVALID_VALUE;
	o->refs++;
	m = mock_make(MAPPING, size);
	m->address = ptr;
	m->of = o;
	return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	struct object *m = mock_at(ptr, MAPPING);

	(void)size;
	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	drop(m->of);
	m->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *addr)
{
	struct object *m = mock_at((uintptr_t)addr, MAPPING);

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	m->of->refs++;
	*out = (CUmemGenericAllocationHandle)(uintptr_t)m->of;
	return CUDA_SUCCESS;
}

/* --- Arrays -------------------------------------------------------------------------------- */

static uint64_t to_power(uint64_t n)
{
	uint64_t p = 1;

	while (p < n && p < 16)
		p *= 2;
	return p;
}

/*
 * Returns the bytes of an array, which has tiles of 64 bytes by 8 rows, with up to 16
 * above and behind each other.
 */
static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int level)
{
	uint64_t w = d->Width >> level, h = d->Height >> level, z = d->Depth >> level, high;

	if (d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))
		z = d->Depth;
	w = up((w ? w : 1) * d->NumChannels * (d->Format == CU_AD_FORMAT_FLOAT ? 4 : 1), 64);
	h = up(h ? h : 1, 8) / 8;
	high = to_power(h);
	if (d->Depth && !(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))) {
		while (h % high)
			high /= 2;
		z = up(z ? z : 1, to_power(z));
	}
	return w * up(h, high) * 8 * (z ? z : 1);
}

static CUresult array(void *out, uint64_t bytes)
{
	struct object *o;

	if (!mock_current)
		return CUDA_ERROR_INVALID_CONTEXT;
	o = make_placed(ARRAY, bytes);
	*(void **)out = o;
	return o ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *a)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { a->Width, a->Height, 0, a->Format, a->NumChannels, 0 };

	return array(out, array_bytes(&d, 0));
}

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return array(out, d->Flags & CUDA_ARRAY3D_DEFERRED_MAPPING ? 0 : array_bytes(d, 0));
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d,
				unsigned int levels)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < levels; i++)
		sum += array_bytes(d, i);
	return array(out, sum);
}

static CUresult end_array(void *a)
{
	struct object *o = mock_valid(a, ARRAY);

	if (!o)
		return CUDA_ERROR_INVALID_HANDLE;
	mock_give_placed(o);
	o->kind = FREE;
	return CUDA_SUCCESS;
}

CUresult cuArrayDestroy(CUarray a)
{
	return end_array(a);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray a)
{
	return end_array(a);
}

