// SPDX-License-Identifier: Apache-2.0
/*
 * Host memory that the device may use: allocated here (cuMemAllocHost,
 * cuMemHostAlloc) or registered by the caller. The ranges are kept in an array
 * sorted by address and found by binary search; they never overlap. Host and
 * device address of a range are the same.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

#define ALLOC_FLAGS	(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | \
			 CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTER_FLAGS	(CU_MEMHOSTREGISTER_PORTABLE | \
			 CU_MEMHOSTREGISTER_DEVICEMAP | \
			 CU_MEMHOSTREGISTER_READ_ONLY)

static struct sgpu_range *ranges;
static size_t nranges, room;

/* Returns the number of ranges that start at or before @addr. */
static size_t upto(uint64_t addr)
{
	size_t lo = 0, hi = nranges;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ranges[mid].base <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct sgpu_range *find(uint64_t addr)
{
	size_t n = upto(addr);

	if (!n || addr - ranges[n - 1].base >= ranges[n - 1].size)
		return NULL;
	return &ranges[n - 1];
}

bool sgpu_host_find(uint64_t addr, struct sgpu_range *out)
{
	struct sgpu_range *r = find(addr);

	if (r)
		*out = *r;
	return r != NULL;
}

/* Returns the last range that overlaps this one, or NULL. */
static struct sgpu_range *overlap(uint64_t base, uint64_t size)
{
	size_t n = upto(base + size - 1);

	return n && ranges[n - 1].base + ranges[n - 1].size > base ?
	       &ranges[n - 1] : NULL;
}

static bool insert(const struct sgpu_range *r)
{
	size_t at;

	if (nranges == room) {
		size_t more = room ? 2 * room : 64;
		void *grown = realloc(ranges, more * sizeof(*ranges));

		if (!grown)
			return false;
		ranges = grown;
		room = more;
	}
	at = upto(r->base);
	memmove(&ranges[at + 1], &ranges[at], (nranges - at) * sizeof(*ranges));
	ranges[at] = *r;
	nranges++;
	return true;
}

/* Forgets a range, and frees its memory if it was allocated here. */
static void drop(struct sgpu_range *r)
{
	size_t at = r - ranges;

	if (r->kind == SGPU_MEM_HOST)
		munmap((void *)(uintptr_t)r->base, r->room);
	nranges--;
	memmove(r, r + 1, (nranges - at) * sizeof(*r));
}

void sgpu_host_drop_ctx(struct sgpu_ctx *ctx)
{
	for (size_t i = nranges; i-- > 0;)
		if (ranges[i].ctx == ctx)
			drop(&ranges[i]);
}

static CUresult host_alloc(struct sgpu_ctx *ctx, void **out, size_t size,
			   unsigned int flags)
{
	size_t page = sysconf(_SC_PAGESIZE), bytes;
	struct sgpu_range r = { .ctx = ctx, .kind = SGPU_MEM_HOST,
				.size = size,
				.flags = flags | CU_MEMHOSTALLOC_DEVICEMAP };
	void *p;

	if (!out || flags & ~ALLOC_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	*out = NULL;
	if (!size)
		return CUDA_SUCCESS;
	if (__builtin_add_overflow(size, page - 1, &bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	bytes &= ~(page - 1);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r.base = (uintptr_t)p;
	r.room = bytes;
	r.id = sgpu_new_id();
	if (!insert(&r)) {
		munmap(p, bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = p;
	return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **out, size_t size, unsigned int flags)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	return rc ? rc : sgpu_leave(host_alloc(ctx, out, size, flags));
}

CUresult cuMemAllocHost_v2(void **out, size_t size)
{
	return cuMemHostAlloc(out, size, 0);
}

static CUresult host_release(const void *p, enum sgpu_kind kind)
{
	struct sgpu_range *r = find((uintptr_t)p);

	if (!r && p && kind == SGPU_MEM_REGISTERED)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	if (!r || r->base != (uintptr_t)p || r->kind != kind)
		return CUDA_ERROR_INVALID_VALUE;
	drop(r);
	return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *p)
{
	CUresult rc = sgpu_enter_healthy();

	if (rc)
		return rc;
	return sgpu_leave(p ? host_release(p, SGPU_MEM_HOST) : CUDA_SUCCESS);
}

static CUresult host_register(struct sgpu_ctx *ctx, void *p, size_t size,
			      unsigned int flags)
{
	struct sgpu_range r = { .base = (uintptr_t)p, .size = size,
				.room = size, .ctx = ctx,
				.flags = flags | CU_MEMHOSTREGISTER_DEVICEMAP,
				.kind = SGPU_MEM_REGISTERED };
	const struct sgpu_range *other;
	struct sgpu_range vmm;

	if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!p || !size || flags & ~REGISTER_FLAGS ||
	    r.base + size < r.base || sgpu_mem_in_arena(r.base) ||
	    sgpu_vmm_find(r.base, &vmm))
		return CUDA_ERROR_INVALID_VALUE;
	other = overlap(r.base, size);
	if (other)
		return other->kind == SGPU_MEM_HOST ?
		       CUDA_ERROR_INVALID_VALUE :
		       CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	r.id = sgpu_new_id();
	return insert(&r) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostRegister_v2(void *p, size_t size, unsigned int flags)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	return rc ? rc : sgpu_leave(host_register(ctx, p, size, flags));
}

CUresult cuMemHostRegister(void *p, size_t size, unsigned int flags)
	__attribute__((alias("cuMemHostRegister_v2")));

CUresult cuMemHostUnregister(void *p)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	return sgpu_leave(host_release(p, SGPU_MEM_REGISTERED));
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p,
				      unsigned int flags)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (!out || flags || !find((uintptr_t)p))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*out = (uintptr_t)p;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *p)
{
	struct sgpu_range *r;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	r = find((uintptr_t)p);
	if (!flags || !r)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = r->flags;
	return sgpu_leave(CUDA_SUCCESS);
}
