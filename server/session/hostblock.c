// SPDX-License-Identifier: Apache-2.0
/*
 * Pinned memory besides the data area: blocks of the far area, which client and worker share,
 * registered with the driver one by one. A block may also lie at the client's own address in this
 * process, so that a registered pointer is the device's pointer as well. It never lies over
 * anything that is mapped here.
 */
#define _GNU_SOURCE
#include "session/handler.h"

#include <stdlib.h>
#include <sys/mman.h>

/*
 * Every process maps its own memory above the lowest address; the kernel owns what is above the
 * highest.
 */
#define LOWEST_AT	0x10000ULL
#define HIGHEST_AT	0x7ffffffff000ULL

/* Returns the index of the first block that starts above the address, in the order of `at`. */
static size_t above(const struct wh_session *s, uint64_t at)
{
	size_t lo = 0, hi = s->hosts, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (s->host[mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool wh_host_alias(const struct wh_session *s, uint64_t addr, uint64_t size)
{
	size_t i = above(s, addr);
	const struct wh_host_block *b = i ? &s->host[i - 1] : NULL;

	return b && addr - b->at <= b->size && size <= b->size - (addr - b->at);
}

CUresult wh_host_pin(struct wh_session *s, const struct wh_host_block *b)
{
	if (b->kept)
		return CUDA_SUCCESS;
	if (!s->drv.cuMemHostRegister_v2)
		return wh_missing(s, "cuMemHostRegister_v2");
	return s->drv.cuMemHostRegister_v2((void *)b->at, b->size, b->flags);
}

CUresult wh_host_unpin(struct wh_session *s, const struct wh_host_block *b)
{
	CUresult res = CUDA_SUCCESS;

	if (!b->kept && s->drv.cuMemHostUnregister)
		res = s->drv.cuMemHostUnregister((void *)b->at);
	return res == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED || res == CUDA_ERROR_INVALID_CONTEXT ||
	       res == CUDA_ERROR_CONTEXT_IS_DESTROYED ? CUDA_SUCCESS : res;
}

void wh_host_register_again(struct wh_session *s)
{
	size_t i;

	for (i = 0; i < s->hosts; i++)
		wh_host_pin(s, &s->host[i]);
}

void wh_host_free(struct wh_session *s)
{
	free(s->host);
	s->host = NULL;
	s->hosts = 0;
}

/* Blocks at the client's addresses must not overlap there, either. */
bool wh_host_clear(const struct wh_session *s, uint64_t at, uint64_t size)
{
	size_t i = above(s, at + size - 1);

	return !i || s->host[i - 1].at + s->host[i - 1].size <= at;
}

/* --- The client's own address --------------------------------------------------- */

/*
 * An address that was once a block's is never used by the worker: a graph may still name it, and
 * would copy whatever came to lie there. It stays mapped to nothing.
 */
bool wh_host_claim(struct wh_session *s, uint64_t at, uint64_t size)
{
	uint64_t n;
	void *p;

	for (; size; at += n, size -= n) {
		n = wh_interval_from(&s->aliases, at);
		n = n < size ? n : size;
		if (n)
			continue;
		n = wh_interval_gap(&s->aliases, at);
		n = n < size ? n : size;
		p = mmap((void *)at, n, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
		if (p == (void *)at && wh_interval_put(&s->aliases, at, n, false))
			continue;
		if (p != MAP_FAILED)
			munmap(p, n);
		return false;
	}
	return true;
}

void wh_host_nothing(uint64_t at, uint64_t size)
{
	mmap((void *)at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
	     -1, 0);
}

static bool map_alias(struct wh_session *s, const struct wh_host_block *b)
{
	void *at = (void *)b->at;

	if (b->at < LOWEST_AT || b->at > HIGHEST_AT || b->size > HIGHEST_AT - b->at ||
	    !wh_host_clear(s, b->at, b->size) || !wh_host_claim(s, b->at, b->size))
		return false;
	/* Size 0 makes a second mapping of the same shared pages. */
	if (mremap((void *)b->addr, 0, b->size, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at)
		return true;
	wh_host_nothing(b->at, b->size);
	return false;
}

static void unmap_alias(const struct wh_session *s, const struct wh_host_block *b)
{
	if (b->at != b->addr && !s->one_process)
		wh_host_nothing(b->at, b->size);
}

/* --- Blocks ------------------------------------------------------------------------- */

static bool in_far(const struct wh_session *s, uint64_t addr, uint64_t size)
{
	uint64_t base = (uintptr_t)s->far;

	return addr >= base && addr - base <= s->far_size && size <= s->far_size - (addr - base);
}

static bool free_of_blocks(const struct wh_session *s, const struct wh_host_block *b)
{
	size_t i;

	for (i = 0; i < s->hosts; i++)
		if (b->addr < s->host[i].addr + s->host[i].size &&
		    s->host[i].addr < b->addr + b->size)
			return false;
	return true;
}

static bool insert(struct wh_session *s, const struct wh_host_block *b)
{
	struct wh_host_block *p = s->host;
	size_t i = above(s, b->at);

	if (!(s->hosts & (s->hosts + 1)) || !p) {	/* room is a power of two less one */
		p = realloc(p, (2 * s->hosts + 1) * sizeof(*p));
		if (!p)
			return false;
		s->host = p;
	}
	memmove(&p[i + 1], &p[i], (s->hosts - i) * sizeof(*p));
	p[i] = *b;
	s->hosts++;
	return true;
}

static void drop(struct wh_session *s, size_t i)
{
	memmove(&s->host[i], &s->host[i + 1], (s->hosts - i - 1) * sizeof(*s->host));
	s->hosts--;
}

size_t wh_host_find(const struct wh_session *s, uint64_t addr)
{
	size_t i;

	for (i = 0; i < s->hosts && s->host[i].addr != addr; i++)
		;
	return i;
}

void wh_host_move(struct wh_session *s, size_t i, uint64_t at, bool kept)
{
	struct wh_host_block b = s->host[i];

	b.at = at;
	b.kept = kept;
	drop(s, i);
	i = above(s, at);
	memmove(&s->host[i + 1], &s->host[i], (s->hosts - i) * sizeof(*s->host));
	s->host[i] = b;
	s->hosts++;
}

static CUresult add(struct wh_session *s, const struct wh_req_whHostBlock *q)
{
	struct wh_host_block b = { q->addr, q->op == WH_HOST_ALIAS ? q->at : q->addr, q->size,
				   q->flags | CU_MEMHOSTREGISTER_PORTABLE |
				   CU_MEMHOSTREGISTER_DEVICEMAP, q->op == WH_HOST_KEEP };
	CUresult res;

	if (!b.size || b.addr % WH_PAGE_SIZE || b.at % WH_PAGE_SIZE || b.size % WH_PAGE_SIZE ||
	    (q->flags & ~CU_MEMHOSTREGISTER_READ_ONLY) || b.addr + b.size < b.addr)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->one_process ? b.at != b.addr : !in_far(s, b.addr, b.size))
		return CUDA_ERROR_INVALID_VALUE;
	if (!free_of_blocks(s, &b))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	if (s->hosts >= WH_MAX_HOST_BLOCKS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!wh_host_take(s, b.size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (b.at != b.addr && !map_alias(s, &b)) {
		wh_host_give(s, b.size);
		return CUDA_ERROR_MAP_FAILED;
	}
	res = wh_host_pin(s, &b);
	if (res == CUDA_SUCCESS && !insert(s, &b)) {
		wh_host_unpin(s, &b);
		res = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (res != CUDA_SUCCESS) {
		unmap_alias(s, &b);
		wh_host_give(s, b.size);
	}
	return res;
}

static CUresult end(struct wh_session *s, const struct wh_req_whHostBlock *q)
{
	size_t i = wh_host_find(s, q->addr);
	CUresult res;

	if (i == s->hosts)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	res = wh_host_unpin(s, &s->host[i]);
	if (res != CUDA_SUCCESS)
		return res;
	unmap_alias(s, &s->host[i]);
	wh_host_give(s, s->host[i].size);
	drop(s, i);
	return CUDA_SUCCESS;
}

CUresult wh_do_whHostBlock(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whHostBlock *q = f->req;

	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	switch (q->op) {
	case WH_HOST_PIN:
	case WH_HOST_ALIAS:
	case WH_HOST_KEEP:
		return add(s, q);
	case WH_HOST_UNPIN:
		return end(s, q);
	case WH_HOST_PLACE:
		return wh_host_place(s, q);
	case WH_HOST_BACK:
		return wh_host_back(s, q);
	}
	return CUDA_ERROR_INVALID_VALUE;
}
