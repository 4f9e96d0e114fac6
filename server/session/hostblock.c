// SPDX-License-Identifier: Apache-2.0
/*
 * Pinned memory besides the data area: memory of the far area, which client and worker share,
 * registered with the driver block by block. Pages of it may also lie at the client's own address
 * in this process, so that a registered pointer is the device's pointer as well. They never lie
 * over anything that is mapped here. Of such pages the very bytes are registered that the program
 * has registered, since the driver takes no copy over two registrations.
 */
#define _GNU_SOURCE
#include "session/handler.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Every process maps its own memory above the lowest address; the kernel owns what is above the
 * highest.
 */
#define LOWEST_AT	0x10000ULL
#define HIGHEST_AT	0x7ffffffff000ULL

/* --- Lists in the order of `at` ------------------------------------------------------ */

/* Returns the index of the first block that starts above the address. */
static size_t above(const struct wh_host_block *list, size_t n, uint64_t at)
{
	size_t lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (list[mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Returns how many bytes from the address on are of one block. */
static uint64_t bytes_from(const struct wh_host_block *list, size_t n, uint64_t at)
{
	size_t i = above(list, n, at);

	return i && at - list[i - 1].at < list[i - 1].size ?
	       list[i - 1].size - (at - list[i - 1].at) : 0;
}

static bool overlaps(const struct wh_host_block *list, size_t n, uint64_t at, uint64_t size)
{
	size_t i = above(list, n, at + size - 1);

	return i && list[i - 1].at + list[i - 1].size > at;
}

/* Whoever calls this has made room. */
static void put(struct wh_host_block *list, size_t *n, const struct wh_host_block *b)
{
	size_t i = above(list, *n, b->at);

	memmove(&list[i + 1], &list[i], (*n - i) * sizeof(*list));
	list[i] = *b;
	++*n;
}

static bool insert(struct wh_host_block **list, size_t *n, const struct wh_host_block *b)
{
	struct wh_host_block *p = *list;

	if (!(*n & (*n + 1)) || !p) {	/* room is a power of two less one */
		p = realloc(p, (2 * *n + 1) * sizeof(*p));
		if (!p)
			return false;
		*list = p;
	}
	put(p, n, b);
	return true;
}

static void drop(struct wh_host_block *list, size_t *n, size_t i)
{
	memmove(&list[i], &list[i + 1], (*n - i - 1) * sizeof(*list));
	--*n;
}

bool wh_host_alias(const struct wh_session *s, uint64_t addr, uint64_t size)
{
	size_t i = above(s->host, s->hosts, addr);
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
	free(s->mapped);
	s->host = s->mapped = NULL;
	s->hosts = s->mappings = 0;
}

bool wh_host_clear(const struct wh_session *s, uint64_t at, uint64_t size)
{
	return !overlaps(s->host, s->hosts, at, size) &&
	       !overlaps(s->mapped, s->mappings, at, size);
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

bool wh_host_second(const struct wh_host_block *b)
{
	/* Size 0 makes a second mapping of the same shared pages. */
	if (mremap((void *)b->addr, 0, b->size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)b->at) !=
	    MAP_FAILED)
		return true;
	wh_host_nothing(b->at, b->size);
	return false;
}

/* Takes the client's addresses of a mapping that is to be made there. */
static bool take_place(struct wh_session *s, const struct wh_host_block *b)
{
	return b->at >= LOWEST_AT && b->at <= HIGHEST_AT && b->size <= HIGHEST_AT - b->at &&
	       wh_host_clear(s, b->at, b->size) && wh_host_claim(s, b->at, b->size);
}

/* Has a block of the list bytes of the far area there, wherever it is pinned? */
static bool has_far(const struct wh_host_block *list, size_t n, uint64_t addr, uint64_t size)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (addr < list[i].addr + list[i].size && list[i].addr < addr + size)
			return true;
	return false;
}

/* Are these whole pages of the far area that are neither registered, nor kept, nor mapped? */
static CUresult fresh(const struct wh_session *s, uint64_t addr, uint64_t size)
{
	uint64_t base = (uintptr_t)s->far;

	if (!size || addr % WH_PAGE_SIZE || size % WH_PAGE_SIZE || addr < base ||
	    addr - base > s->far_size || size > s->far_size - (addr - base))
		return CUDA_ERROR_INVALID_VALUE;
	return has_far(s->host, s->hosts, addr, size) ||
	       has_far(s->mapped, s->mappings, addr, size) ?
	       CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_SUCCESS;
}

/* Enters a mapping that was made, or not. It is charged already. */
static CUresult enter_mapping(struct wh_session *s, const struct wh_host_block *b, bool made)
{
	if (made && insert(&s->mapped, &s->mappings, b))
		return CUDA_SUCCESS;
	if (made)
		wh_host_nothing(b->at, b->size);
	wh_host_give(s, b->size);
	return made ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_MAP_FAILED;
}

static CUresult alias(struct wh_session *s, const struct wh_req_whHostBlock *q)
{
	struct wh_host_block b = { .addr = q->addr, .at = q->at, .size = q->size };
	CUresult res = fresh(s, b.addr, b.size);

	if (res != CUDA_SUCCESS)
		return res;
	if (s->one_process || b.at % WH_PAGE_SIZE)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->mappings >= WH_MAX_HOST_BLOCKS || !wh_host_take(s, b.size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return enter_mapping(s, &b, take_place(s, &b) && wh_host_second(&b));
}

/* A file's pages have no place in the far area: the client's address names them. */
static CUresult map_file(struct wh_session *s, const struct wh_req_whHostBlock *q, int fd)
{
	struct wh_host_block b = { .addr = q->at, .at = q->at, .size = q->size };

	if (s->one_process || !b.size || (b.at | b.size | q->addr) % WH_PAGE_SIZE)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->mappings >= WH_MAX_HOST_BLOCKS || !wh_host_take(s, b.size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return enter_mapping(s, &b, fd >= 0 && take_place(s, &b) &&
			     wh_lent_map(s, &b, fd, q->addr));
}

/* Whatever comes of it, the file is under way no more. */
static CUresult file(struct wh_session *s, const struct wh_req_whHostBlock *q)
{
	int fd = wh_lent_take(s, q->flags);
	CUresult res = map_file(s, q, fd);

	if (fd >= 0)
		close(fd);
	return res;
}

/* Ends the mapping of whole pages of one block: all of it, its begin, its end, or its middle. */
static CUresult unalias(struct wh_session *s, const struct wh_req_whHostBlock *q)
{
	struct wh_host_block *b, rest;
	uint64_t skip;
	size_t i;

	for (i = 0; i < s->mappings && q->addr - s->mapped[i].addr >= s->mapped[i].size; i++)
		;
	if (i == s->mappings)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	b = &s->mapped[i];
	skip = q->addr - b->addr;
	if (!q->size || skip % WH_PAGE_SIZE || q->size % WH_PAGE_SIZE || q->size > b->size - skip ||
	    overlaps(s->host, s->hosts, b->at + skip, q->size))
		return CUDA_ERROR_INVALID_VALUE;
	rest = (struct wh_host_block) {
		.at = b->at + skip + q->size, .addr = b->addr + skip + q->size,
		.size = b->size - skip - q->size,
	};
	if (skip && rest.size && (s->mappings >= WH_MAX_HOST_BLOCKS ||
				  !insert(&s->mapped, &s->mappings, &rest)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	b = &s->mapped[i];
	wh_host_nothing(b->at + skip, q->size);
	wh_host_give(s, q->size);
	if (skip)
		b->size = skip;
	else if (rest.size)
		*b = rest;
	else
		drop(s->mapped, &s->mappings, i);
	return CUDA_SUCCESS;
}

/* --- Registrations ---------------------------------------------------------------------- */

/* Are the bytes at the client's own addresses, on pages that are mapped there? */
static bool is_mapped(const struct wh_session *s, uint64_t at, uint64_t size)
{
	uint64_t n;

	if (!size || size > UINT64_MAX - at)
		return false;
	for (; size; at += n, size -= n) {
		n = bytes_from(s->mapped, s->mappings, at);
		if (!n)
			return false;
		n = n < size ? n : size;
	}
	return true;
}

size_t wh_host_find(const struct wh_session *s, uint64_t addr)
{
	size_t i = above(s->host, s->hosts, addr);

	if (i && s->host[i - 1].addr == addr)
		return i - 1;
	/* Only a block that is placed is pinned elsewhere. */
	for (i = 0; i < s->hosts && s->host[i].addr != addr; i++)
		;
	return i;
}

void wh_host_move(struct wh_session *s, size_t i, uint64_t at, bool kept)
{
	struct wh_host_block b = s->host[i];

	b.at = at;
	b.kept = kept;
	drop(s->host, &s->hosts, i);
	put(s->host, &s->hosts, &b);
}

/* Charges a block that has been checked, registers it and enters it. */
static CUresult enter(struct wh_session *s, const struct wh_host_block *b)
{
	CUresult res;

	if (s->hosts >= WH_MAX_HOST_BLOCKS || !wh_host_take(s, b->charged))
		return CUDA_ERROR_OUT_OF_MEMORY;
	res = wh_host_pin(s, b);
	if (res == CUDA_SUCCESS && !insert(&s->host, &s->hosts, b)) {
		wh_host_unpin(s, b);
		res = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (res != CUDA_SUCCESS)
		wh_host_give(s, b->charged);
	return res;
}

static CUresult add(struct wh_session *s, const struct wh_req_whHostBlock *q)
{
	struct wh_host_block b = { .at = q->addr, .size = q->size, .addr = q->addr,
				   .charged = q->size,
				   .flags = q->flags | CU_MEMHOSTREGISTER_PORTABLE |
					    CU_MEMHOSTREGISTER_DEVICEMAP };
	CUresult res = CUDA_SUCCESS;

	if (!b.size || b.size > UINT64_MAX - b.at || (q->flags & ~CU_MEMHOSTREGISTER_READ_ONLY))
		return CUDA_ERROR_INVALID_VALUE;
	if (is_mapped(s, b.at, b.size))
		b.charged = 0;	/* as its mapping is */
	else if (!s->one_process)
		res = fresh(s, b.at, b.size);
	if (res == CUDA_SUCCESS && overlaps(s->host, s->hosts, b.at, b.size))
		res = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	return res == CUDA_SUCCESS ? enter(s, &b) : res;
}

/* A kept block is at its place in the far area, where nothing else can be registered. */
static CUresult keep(struct wh_session *s, const struct wh_req_whHostBlock *q)
{
	struct wh_host_block b = { .at = q->addr, .size = q->size, .addr = q->addr,
				   .charged = q->size, .kept = true,
				   .flags = CU_MEMHOSTREGISTER_PORTABLE |
					    CU_MEMHOSTREGISTER_DEVICEMAP };
	CUresult res;

	if (s->one_process)
		return CUDA_ERROR_NOT_SUPPORTED;
	res = q->flags ? CUDA_ERROR_INVALID_VALUE : fresh(s, b.addr, b.size);
	return res == CUDA_SUCCESS ? enter(s, &b) : res;
}

static CUresult end(struct wh_session *s, const struct wh_req_whHostBlock *q)
{
	size_t i = wh_host_find(s, q->addr);
	const struct wh_host_block *b = &s->host[i];
	CUresult res;

	if (i == s->hosts)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	res = wh_host_unpin(s, b);
	if (res != CUDA_SUCCESS)
		return res;
	/* A block that is placed has addresses of its own. */
	if (b->at != b->addr)
		wh_host_nothing(b->at, b->size);
	wh_host_give(s, b->charged);
	drop(s->host, &s->hosts, i);
	return CUDA_SUCCESS;
}

CUresult wh_do_whHostBlock(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whHostBlock *q = f->req;

	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	switch (q->op) {
	case WH_HOST_PIN:
		return add(s, q);
	case WH_HOST_UNPIN:
		return end(s, q);
	case WH_HOST_ALIAS:
		return alias(s, q);
	case WH_HOST_UNALIAS:
		return unalias(s, q);
	case WH_HOST_KEEP:
		return keep(s, q);
	case WH_HOST_PLACE:
		return wh_host_place(s, q);
	case WH_HOST_BACK:
		return wh_host_back(s, q);
	case WH_HOST_FILE:
		return file(s, q);
	}
	return CUDA_ERROR_INVALID_VALUE;
}
