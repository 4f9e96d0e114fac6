// SPDX-License-Identifier: Apache-2.0
/*
 * Device memory: one arena of host memory, reserved at cuInit() and divided into granules
 * of 512 bytes. All devices of the process have their memory there, so addresses say
 * nothing of devices; each device has a count of what it has left. Every granule belongs to
 * exactly one block, which is free or used. Blocks form a list by address. Free blocks also
 * form a list for each size class (two-level segregated fit), so allocating and freeing take
 * constant time and no system call. A three-level bitmap marks where blocks start. The block
 * that holds an address is found by the last set bit at or before its granule; pointers of
 * kernels are checked in this way.
 *
 * Blocks of 1 MiB and more begin at a page, as those of NVIDIA's driver do. Programs count on
 * it that divide such a block themselves.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

#define SUB_BITS	3
#define SUBS		(1u << SUB_BITS)
#define NCLASSES	(40u * SUBS)
#define LEVELS		6
#define CHUNK_BITS	10
#define PAGE		(4096 / SGPU_GRANULE)
#define PAGED		((1u << 20) / SGPU_GRANULE)

struct block {
	struct block *prev, *next;	/* neighbours by address */
	struct block *fprev, *fnext;	/* neighbours in the list of one size class */
	size_t start, count;		/* in granules */
	size_t size;			/* bytes asked for; 0 = free */
	uint64_t id;
	struct sgpu_ctx *ctx;
	struct sgpu_mempool *pool;
	enum sgpu_kind kind;
	bool sync, absent;
	bool counted;			/* counted in the books as memory of this process alone */
	uint8_t device;
	uint32_t number;		/* index in the table of blocks */
	uint32_t shared;		/* index in arena.shared + 1; 0: not exported */
	uint64_t file, name;		/* in the books, if others may have it; 0: not so */
};

static struct {
	char *base;
	size_t granules;
	size_t used[SGPU_DEVICES];	/* granules of each device */
	struct block *first;
	struct block *classes[NCLASSES];
	uint64_t class_map[NCLASSES / 64];
	uint64_t *starts[LEVELS];	/* starts[0]: one bit per granule */
	unsigned int nlevels;
	uint32_t *number;		/* index of the block that starts at a granule */
	struct block **chunks;
	size_t nblocks, max_chunks;
	struct block *spare;
	int file;			/* the file that the arena is a mapping of; 0: none */
	uint64_t *shared;		/* ids of live exports, after the arena in the file */
} arena;

/* ---- the table of blocks ---- */

static struct block *block_at(uint32_t number)
{
	return &arena.chunks[number >> CHUNK_BITS]
			    [number & ((1u << CHUNK_BITS) - 1)];
}

static void *map(size_t bytes, bool prefault)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
		       (prefault ? MAP_POPULATE : 0), -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool blocks_grow(void)
{
	size_t n = (size_t)1 << CHUNK_BITS;
	struct block *chunk;

	if (arena.nblocks >> CHUNK_BITS >= arena.max_chunks)
		return false;
	chunk = map(n * sizeof(*chunk), false);
	if (!chunk)
		return false;
	arena.chunks[arena.nblocks >> CHUNK_BITS] = chunk;
	for (size_t i = n; i-- > 0;) {
		chunk[i].number = arena.nblocks + i;
		chunk[i].next = arena.spare;
		arena.spare = &chunk[i];
	}
	arena.nblocks += n;
	return true;
}

static struct block *block_new(size_t start, size_t count)
{
	struct block *b;

	if (!arena.spare && !blocks_grow())
		return NULL;
	b = arena.spare;
	arena.spare = b->next;
	*b = (struct block){ .start = start, .count = count,
			     .number = b->number };
	return b;
}

static void block_free(struct block *b)
{
	b->next = arena.spare;
	arena.spare = b;
}

/* ---- the bitmap of block starts ---- */

static void start_set(struct block *b)
{
	size_t bit = b->start;

	arena.number[bit] = b->number;
	for (unsigned int k = 0; k < arena.nlevels; k++, bit >>= 6)
		arena.starts[k][bit >> 6] |= 1ull << (bit & 63);
}

static void start_clear(struct block *b)
{
	size_t bit = b->start;

	for (unsigned int k = 0; k < arena.nlevels; k++, bit >>= 6) {
		arena.starts[k][bit >> 6] &= ~(1ull << (bit & 63));
		if (arena.starts[k][bit >> 6])
			break;
	}
}

/* Finds the last start at or before a granule. Granule 0 is always a start. */
static size_t start_before(size_t bit)
{
	unsigned int k = 0;
	uint64_t word;

	word = arena.starts[0][bit >> 6] & (~0ull >> (63 - (bit & 63)));
	while (!word) {
		bit >>= 6;
		k++;
		word = arena.starts[k][bit >> 6] &
		       ((1ull << (bit & 63)) - 1);
	}
	bit = (bit & ~(size_t)63) | (63 - __builtin_clzll(word));
	while (k-- > 0)
		bit = bit << 6 | (63 - __builtin_clzll(arena.starts[k][bit]));
	return bit;
}

/* ---- free blocks by size class ---- */

static unsigned int class_of(size_t count)
{
	unsigned int top;

	if (count < SUBS)
		return count;
	top = 63 - __builtin_clzll(count);
	return (top - SUB_BITS + 1) * SUBS +
	       ((count >> (top - SUB_BITS)) & (SUBS - 1));
}

/* Returns the first class in which every block is large enough. */
static unsigned int class_above(size_t count)
{
	unsigned int top;

	if (count < SUBS)
		return count;
	top = 63 - __builtin_clzll(count);
	return class_of(count + ((size_t)1 << (top - SUB_BITS)) - 1);
}

static void free_insert(struct block *b)
{
	unsigned int c = class_of(b->count);

	b->size = 0;
	b->fprev = NULL;
	b->fnext = arena.classes[c];
	if (b->fnext)
		b->fnext->fprev = b;
	arena.classes[c] = b;
	arena.class_map[c / 64] |= 1ull << c % 64;
}

static void free_remove(struct block *b)
{
	unsigned int c = class_of(b->count);

	if (b->fnext)
		b->fnext->fprev = b->fprev;
	if (b->fprev)
		b->fprev->fnext = b->fnext;
	else
		arena.classes[c] = b->fnext;
	if (!arena.classes[c])
		arena.class_map[c / 64] &= ~(1ull << c % 64);
}

static struct block *free_find(size_t count)
{
	unsigned int c = class_above(count);
	struct block *b;

	for (unsigned int w = c / 64; w < NCLASSES / 64; w++) {
		uint64_t map = arena.class_map[w];

		if (w == c / 64)
			map &= ~0ull << c % 64;
		if (map)
			return arena.classes[w * 64 + __builtin_ctzll(map)];
	}
	/* No class has only blocks that are large enough, so look for one block that is. */
	for (b = arena.classes[class_of(count)]; b; b = b->fnext)
		if (b->count >= count)
			return b;
	return NULL;
}

/* ---- the arena ---- */

static bool maps_init(bool prefault)
{
	size_t bits = arena.granules;

	arena.number = map(bits * sizeof(*arena.number), prefault);
	arena.max_chunks = (bits >> CHUNK_BITS) + 2;
	arena.chunks = map(arena.max_chunks * sizeof(*arena.chunks), prefault);
	if (!arena.number || !arena.chunks)
		return false;
	for (arena.nlevels = 0; arena.nlevels < LEVELS; arena.nlevels++) {
		size_t words = (bits + 63) / 64;

		arena.starts[arena.nlevels] = map(words * 8, prefault);
		if (!arena.starts[arena.nlevels])
			return false;
		if (words == 1) {
			arena.nlevels++;
			return true;
		}
		bits = words;
	}
	return false;
}

CUresult sgpu_mem_init(bool prefault)
{
	size_t total = sgpu_devices_total();
	struct block *all;

	arena.granules = total / SGPU_GRANULE;
	arena.base = map(total, prefault);
	if (!arena.base || !maps_init(prefault) || !blocks_grow())
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* Columns of a matrix are pages apart, so huge pages help. The kernel may refuse them. */
	if (!prefault)
		madvise(arena.base, total, MADV_HUGEPAGE);
	all = block_new(0, arena.granules);
	arena.first = all;
	start_set(all);
	free_insert(all);
	return CUDA_SUCCESS;
}

static uint64_t arena_bytes(void)
{
	return (uint64_t)arena.granules * SGPU_GRANULE;
}

uint64_t sgpu_mem_free_bytes(int device)
{
	return sgpu_device_total(device) - (uint64_t)arena.used[device] * SGPU_GRANULE;
}

/* ---- the memory that allocations take of the device ---- */

static uint64_t room_of(const struct block *b)
{
	return (uint64_t)b->count * SGPU_GRANULE;
}

static struct sgpu_graph_bytes of_graphs[SGPU_DEVICES];

static void change(uint64_t *bytes, uint64_t *high, const struct block *b, bool more)
{
	*bytes += more ? room_of(b) : -room_of(b);
	if (*bytes > *high)
		*high = *bytes;
}

static void use(const struct block *b, bool more)
{
	struct sgpu_graph_bytes *g = &of_graphs[b->device];

	change(&g->used, &g->used_high, b, more);
}

static void reserve(const struct block *b, bool more)
{
	struct sgpu_graph_bytes *g = &of_graphs[b->device];

	if (b->kind == SGPU_MEM_GRAPH)
		change(&g->reserved, &g->reserved_high, b, more);
}

/* False: the device has not so much left (books.h). */
static bool count(struct block *b)
{
	if (b->counted || b->file)
		return true;
	if (!sgpu_books_add(sgpu_device_place(b->device), room_of(b)))
		return false;
	b->counted = true;
	reserve(b, true);
	return true;
}

static void uncount(struct block *b)
{
	if (b->counted) {
		reserve(b, false);
		sgpu_books_sub(sgpu_device_place(b->device), room_of(b));
	}
	if (b->file)
		sgpu_books_unshare(b->file, b->name, true);
	b->counted = false;
	b->file = 0;
}

/* ---- allocating and freeing ---- */

/* Joins @b with the block after it. Neither is in a free list. */
static void join_next(struct block *b)
{
	struct block *gone = b->next;

	start_clear(gone);
	b->count += gone->count;
	b->next = gone->next;
	if (b->next)
		b->next->prev = b;
	block_free(gone);
}

/* Leaves @count granules in @b and makes a free block of the remaining ones. */
static bool split(struct block *b, size_t count)
{
	struct block *rest;

	if (b->count == count)
		return true;
	rest = block_new(b->start + count, b->count - count);
	if (!rest)
		return false;
	rest->prev = b;
	rest->next = b->next;
	if (rest->next)
		rest->next->prev = rest;
	b->next = rest;
	b->count = count;
	start_set(rest);
	free_insert(rest);
	return true;
}

/* Takes a block of @count granules out of the free ones. */
static struct block *take(size_t count)
{
	bool paged = count >= PAGED;
	struct block *b = free_find(count + (paged ? PAGE - 1 : 0));
	size_t skip;

	/* A block that is no larger will do if it begins at a page itself. */
	if (!b && paged)
		b = free_find(count);
	if (!b)
		return NULL;
	skip = paged ? -b->start % PAGE : 0;
	if (skip + count > b->count)
		return NULL;
	free_remove(b);
	if (skip) {
		if (!split(b, skip)) {
			free_insert(b);
			return NULL;
		}
		free_insert(b);
		b = b->next;
		free_remove(b);
	}
	if (!split(b, count)) {
		free_insert(b);
		return NULL;
	}
	return b;
}

/* Puts a block that is taken among the free ones, with its free neighbours. */
static void put_back(struct block *b)
{
	b->size = 0;
	if (b->next && !b->next->size) {
		free_remove(b->next);
		join_next(b);
	}
	if (b->prev && !b->prev->size) {
		b = b->prev;
		free_remove(b);
		join_next(b);
	}
	free_insert(b);
}

CUresult sgpu_mem_alloc_on(int device, struct sgpu_ctx *ctx, size_t size, enum sgpu_kind kind,
			   struct sgpu_mempool *pool, uint64_t *addr)
{
	size_t granules = size / SGPU_GRANULE + !!(size % SGPU_GRANULE);
	struct block *b;

	if (!size)
		return CUDA_ERROR_INVALID_VALUE;
	if (granules > sgpu_mem_free_bytes(device) / SGPU_GRANULE)
		return CUDA_ERROR_OUT_OF_MEMORY;
	b = take(granules);
	if (!b)
		return CUDA_ERROR_OUT_OF_MEMORY;
	b->device = (uint8_t)device;
	b->size = size;
	b->kind = kind;
	b->ctx = ctx;
	b->pool = pool;
	b->sync = sgpu_is_managed(kind);
	/* A graph's memory exists from its first launch on. */
	b->absent = kind == SGPU_MEM_GRAPH;
	b->id = sgpu_new_id();
	/*
	 * Managed memory belongs to the host. A library's memory counts from the first
	 * context on.
	 */
	if (!sgpu_is_managed(kind) && !b->absent && (ctx || kind != SGPU_MEM_MODULE) && !count(b)) {
		put_back(b);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	arena.used[device] += granules;
	*addr = (uint64_t)(uintptr_t)arena.base + b->start * SGPU_GRANULE;
	return CUDA_SUCCESS;
}

CUresult sgpu_mem_alloc(struct sgpu_ctx *ctx, size_t size, enum sgpu_kind kind,
			struct sgpu_mempool *pool, uint64_t *addr)
{
	return sgpu_mem_alloc_on(pool ? pool->device : ctx ? ctx->device : 0, ctx, size, kind, pool,
				 addr);
}

static uint64_t block_base(const struct block *b)
{
	return (uintptr_t)arena.base + b->start * SGPU_GRANULE;
}

static void release(struct block *b)
{
	arena.used[b->device] -= b->count;
	if (b->kind == SGPU_MEM_GRAPH && !b->absent)
		use(b, false);
	uncount(b);
	if (b->pool)
		b->pool->used -= b->count * SGPU_GRANULE;
	if (b->shared)
		arena.shared[b->shared - 1] = 0;
	b->shared = 0;
	if (sgpu_is_managed(b->kind))
		sgpu_hints_end(block_base(b), b->size);
	put_back(b);
}

bool sgpu_mem_in_arena(uint64_t addr)
{
	return addr - (uintptr_t)arena.base < arena_bytes();
}

static struct block *find(uint64_t addr)
{
	uint64_t off = addr - (uintptr_t)arena.base;
	struct block *b;

	if (off >= arena_bytes())
		return NULL;
	b = block_at(arena.number[start_before(off / SGPU_GRANULE)]);
	return b->size ? b : NULL;
}

/* ---- the arena as a file ---- */

#define SHARED_BYTES	(SGPU_EXPORTS * sizeof(uint64_t))

static bool copy_blocks(int fd)
{
	uint64_t at, end;
	ssize_t n;

	for (struct block *b = arena.first; b; b = b->next) {
		at = b->start * SGPU_GRANULE;
		end = at + b->count * SGPU_GRANULE;
		/* Blocks of cuMemCreate() only count memory; nobody reads or writes them. */
		while (b->size && b->kind != SGPU_MEM_VMM && at < end) {
			n = pwrite(fd, arena.base + at, end - at, at);
			if (n <= 0)
				return false;
			at += n;
		}
	}
	return true;
}

int sgpu_mem_file(void)
{
	int fd;

	if (arena.file)
		return arena.file;
	fd = memfd_create("softgpu-arena", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	arena.shared = MAP_FAILED;
	if (!ftruncate(fd, arena_bytes() + SHARED_BYTES) && copy_blocks(fd))
		arena.shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				    arena_bytes());
	if (arena.shared != MAP_FAILED &&
	    mmap(arena.base, arena_bytes(), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0) != MAP_FAILED) {
		arena.file = fd;
		return fd;
	}
	close(fd);
	return -1;
}

uint64_t sgpu_mem_offset(uint64_t addr)
{
	return addr - (uintptr_t)arena.base;
}

uint64_t sgpu_mem_export(uint64_t addr)
{
	struct block *b = find(addr);
	uint32_t i = 0;

	if (!b || sgpu_mem_file() < 0)
		return 0;
	if (!b->shared) {
		while (i < SGPU_EXPORTS && arena.shared[i])
			i++;
		if (i == SGPU_EXPORTS)
			return 0;
		arena.shared[i] = b->id;
		b->shared = i + 1;
	}
	return arena_bytes() + (b->shared - 1) * sizeof(uint64_t);
}

CUresult sgpu_mem_release(uint64_t addr, unsigned int kinds)
{
	struct block *b = find(addr);

	if (!b || block_base(b) != addr || !(kinds & 1u << b->kind))
		return CUDA_ERROR_INVALID_VALUE;
	release(b);
	return CUDA_SUCCESS;
}

/*
 * Memory of pools and of graphs is the device's. On an H200 (driver 580.159) it outlived the
 * context, its handle stayed good in later ones, and cuMemFreeAsync() freed it there.
 */
static bool outlives_ctx(const struct block *b)
{
	return b->kind == SGPU_MEM_POOL || b->kind == SGPU_MEM_GRAPH;
}

void sgpu_mem_drop_ctx(struct sgpu_ctx *ctx)
{
	struct block *b = arena.first;

	while (b) {
		/* Freeing joins @b with its free neighbours, so continue after all of them. */
		struct block *next = b->next;

		if (b->size && b->ctx == ctx && outlives_ctx(b)) {
			b->ctx = NULL;
		} else if (b->size && b->ctx == ctx) {
			while (next && !next->size)
				next = next->next;
			release(b);
		}
		b = next;
	}
}

void sgpu_mem_forget_pool(struct sgpu_mempool *pool)
{
	for (struct block *b = arena.first; b; b = b->next)
		if (b->size && b->pool == pool)
			b->pool = NULL;
}

void sgpu_mem_set_sync(uint64_t addr, bool on)
{
	struct block *b = find(addr);

	if (b)
		b->sync = on;
}

/* Memory of a library becomes that of the device of the context. */
void sgpu_mem_set_ctx(uint64_t addr, struct sgpu_ctx *ctx)
{
	struct block *b = find(addr);

	if (!b)
		return;
	if (ctx && !b->counted) {
		arena.used[b->device] -= b->count;
		b->device = (uint8_t)ctx->device;
		arena.used[b->device] += b->count;
	}
	b->ctx = ctx;
	if (b->kind == SGPU_MEM_MODULE)
		count(b);
}

void sgpu_mem_set_absent(uint64_t addr, bool absent)
{
	struct block *b = find(addr);

	if (!b)
		return;
	if (b->kind == SGPU_MEM_GRAPH && b->absent != absent)
		use(b, !absent);
	b->absent = absent;
	if (!absent)
		count(b);
}

struct sgpu_graph_bytes *sgpu_mem_graph_bytes(int device)
{
	return &of_graphs[device];
}

void sgpu_mem_graph_trim(int device)
{
	for (struct block *b = arena.first; b; b = b->next)
		if (b->size && b->kind == SGPU_MEM_GRAPH && b->absent && b->device == device)
			uncount(b);
}

void sgpu_mem_count_shared(uint64_t addr, uint64_t file, uint64_t id)
{
	struct block *b = find(addr);

	if (!b || b->file)
		return;
	/*
	 * The old count must end before the new one begins: counting the block twice, even
	 * briefly, would raise the peak.
	 */
	uncount(b);
	b->file = file;
	b->name = id;
	sgpu_books_share(sgpu_device_place(b->device), file, id, room_of(b), true);
}

static bool describe(uint64_t addr, bool absent, struct sgpu_range *out)
{
	struct block *b = find(addr);

	if (!b || b->absent != absent)
		return false;
	*out = (struct sgpu_range){
		.base = block_base(b),
		.size = b->size,
		.room = (uint64_t)b->count * SGPU_GRANULE,
		.id = b->id,
		.ctx = b->ctx,
		.pool = b->pool,
		.kind = b->kind,
		.device = b->device,
		.sync = b->sync,
		.absent = b->absent,
		.counted = b->counted,
	};
	return true;
}

bool sgpu_mem_find(uint64_t addr, struct sgpu_range *out)
{
	return describe(addr, false, out);
}

bool sgpu_mem_find_absent(uint64_t addr, struct sgpu_range *out)
{
	return describe(addr, true, out);
}

bool sgpu_mem_is_file(void)
{
	return arena.file;
}

void sgpu_mem_each(void (*visit)(const struct sgpu_range *range, void *arg), void *arg)
{
	struct sgpu_range range;
	struct block *b;

	for (b = arena.first; b; b = b->next)
		if (b->size && describe(block_base(b), b->absent, &range))
			visit(&range, arg);
}

bool sgpu_range_find(uint64_t addr, struct sgpu_range *out)
{
	return sgpu_mem_find(addr, out) || sgpu_host_find(addr, out) ||
	       sgpu_vmm_find(addr, out) || sgpu_ipc_find(addr, out);
}

/* Returns true if kernels reach all memory of the process, as with NVIDIA's driver and HMM. */
bool sgpu_hmm(void)
{
	return sgpu_env_flag("WORMHOLE_SOFTGPU_HMM");
}

static bool exec_find(void *ctx, uint64_t addr, struct exec_range *out)
{
	struct sgpu_range range;

	(void)ctx;
	if (!sgpu_range_find(addr, &range)) {
		*out = (struct exec_range){ addr & ~0xfffULL, 0x1000, true };
		return sgpu_hmm();
	}
	out->base = range.base;
	out->size = range.room;
	out->writable = !(range.flags & CU_MEMHOSTREGISTER_READ_ONLY);
	return true;
}

static bool find_beside(void *ctx, uint64_t addr, struct exec_range *out)
{
	bool found;

	sgpu_lock();
	found = exec_find(ctx, addr, out);
	sgpu_unlock();
	return found;
}

const struct exec_mem sgpu_exec_mem = {
	.find = exec_find,
	.texture = sgpu_texture_exec,
	.surface = sgpu_surface_exec,
};

const struct exec_mem sgpu_exec_mem_beside = {
	.find = find_beside,
	.texture = sgpu_texture_beside,
	.surface = sgpu_surface_beside,
};
