// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that device memory is handed out without overlap, found by any
 * address inside it, joined again when freed, and bounded by the configured size. It
 * needs no hardware.
 */
#include <cuda.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../softgpu/driver/books.h"
#include "tap.h"

#define SLOTS	3000
#define ROUNDS	200000

static struct slot {
	CUdeviceptr base;
	size_t size;
} slots[SLOTS];

static uint32_t seed = 12345;

static uint32_t next_random(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

/* Any byte of the slot leads to the slot; the byte before leads elsewhere. */
static int found_right(const struct slot *s)
{
	CUdeviceptr base = 0;
	size_t size = 0;

	if (cuMemGetAddressRange(&base, &size,
				 s->base + next_random() % s->size) ||
	    base != s->base || size != s->size)
		return 0;
	return cuMemGetAddressRange(&base, &size, s->base - 1) ||
	       base != s->base;
}

static int overlaps_another(const struct slot *s)
{
	for (int i = 0; i < SLOTS; i++)
		if (&slots[i] != s && slots[i].base &&
		    slots[i].base < s->base + s->size &&
		    s->base < slots[i].base + slots[i].size)
			return 1;
	return 0;
}

static size_t free_now(void)
{
	size_t free = 0;

	cuMemGetInfo(&free, NULL);
	return free;
}

static void random_use(void)
{
	int lookups = 1, overlaps = 0, aligned = 1, counted = 1, frees = 1;
	size_t total, used = 0;

	cuMemGetInfo(NULL, &total);
	diag("seed %u", seed);
	for (int i = 0; i < ROUNDS; i++) {
		struct slot *s = &slots[next_random() % SLOTS];

		if (s->base) {
			lookups &= found_right(s);
			used -= (s->size + 511) & ~511ul;
			frees &= cuMemFree(s->base) == CUDA_SUCCESS;
			s->base = 0;
		} else {
			s->size = 1 + next_random() % (1u << next_random() % 21);
			if (cuMemAlloc(&s->base, s->size)) {
				s->base = 0;
				continue;
			}
			used += (s->size + 511) & ~511ul;
			aligned &= s->base % 512 == 0;
			if (i % 64 == 0)
				overlaps |= overlaps_another(s);
		}
		counted &= free_now() == total - used;
	}
	ok(lookups, "every_inner_address_finds_its_allocation");
	ok(!overlaps, "allocations_never_overlap");
	ok(aligned, "allocations_are_aligned_to_512_bytes");
	ok(counted, "free_memory_is_counted_exactly");
	for (int i = 0; i < SLOTS; i++)
		if (slots[i].base)
			frees &= cuMemFree(slots[i].base) == CUDA_SUCCESS;
	ok(frees, "every_allocation_can_be_freed_once");
}

static void whole_arena(void)
{
	CUdeviceptr all = 0, more = 0;
	size_t total;

	cuMemGetInfo(NULL, &total);
	ok_eq(cuMemAlloc(&all, total), CUDA_SUCCESS,
	      "freed_memory_joins_to_one_block_again");
	ok_eq(cuMemAlloc(&more, 1), CUDA_ERROR_OUT_OF_MEMORY,
	      "a_full_device_answers_out_of_memory");
	ok_eq(free_now(), 0, "a_full_device_has_no_free_memory");
	cuMemFree(all);
	ok_eq(cuMemAlloc(&more, 1), CUDA_SUCCESS,
	      "out_of_memory_heals_when_memory_is_freed");
	cuMemFree(more);
}

/* Taichi divides a block by pages and leaves no room for one that does not begin at a page. */
static void pages(void)
{
	CUdeviceptr small = 0, large = 0, part;
	size_t total;

	cuMemGetInfo(NULL, &total);
	cuMemAlloc(&small, 1);
	ok(!cuMemAlloc(&large, 1 << 20) && large % 4096 == 0, "a_large_block_begins_at_a_page");
	ok(!cuMemAlloc(&part, 512) && part > small && part < large,
	   "what_lies_before_the_page_stays_free");
	cuMemFree(large);
	ok_eq(cuMemAlloc(&large, free_now() - 512), CUDA_ERROR_OUT_OF_MEMORY,
	      "a_block_that_cannot_begin_at_a_page_is_refused");
	cuMemFree(part);
	cuMemFree(small);
	ok_eq(free_now(), total, "blocks_at_pages_join_again");
}

static void fragments(void)
{
	static CUdeviceptr p[2000];
	CUdeviceptr big, rest = 0;
	size_t total, piece;
	int n = 0;

	cuMemGetInfo(NULL, &total);
	piece = total / 1024 - 3 * 512;	/* in the midst of a size class */
	while (n < 2000 && !cuMemAlloc(&p[n], piece))
		n++;
	cuMemAlloc(&rest, free_now());
	for (int i = 0; i < n; i += 2)
		cuMemFree(p[i]);
	ok_eq(cuMemAlloc(&big, total / 4), CUDA_ERROR_OUT_OF_MEMORY,
	      "fragments_do_not_pass_for_one_block");
	ok_eq(cuMemAlloc(&big, piece), CUDA_SUCCESS,
	      "a_block_of_exactly_the_freed_size_fits");
	cuMemFree(big);
	for (int i = 1; i < n; i += 2)
		cuMemFree(p[i]);
	cuMemFree(rest);
	ok_eq(free_now(), total, "all_memory_returns");
}

static void copies(void)
{
	enum { N = 100000 };
	static unsigned char in[N], out[N];
	CUdeviceptr a, b;

	for (int i = 0; i < N; i++)
		in[i] = next_random();
	cuMemAlloc(&a, N);
	cuMemAlloc(&b, N);
	cuMemcpyHtoD(a, in, N);
	cuMemcpyDtoD(b, a, N);
	cuMemcpyDtoH(out, b, N);
	ok(!memcmp(in, out, N), "data_survive_the_way_in_across_and_out");
	cuMemsetD8(b, 0x5a, N);
	cuMemsetD32(b + 400, 0x01020304, 10);
	cuMemcpyDtoH(out, b, N);
	ok(out[399] == 0x5a && out[400] == 4 && out[439] == 1 &&
	   out[440] == 0x5a && out[N - 1] == 0x5a,
	   "fills_touch_their_range_only");
	memset(out, 0, N);
	cuMemcpyDtoH(out, b, N);
	ok_eq(cuMemcpyDtoH(out, b, N + 1), CUDA_ERROR_INVALID_VALUE,
	      "a_copy_beyond_the_end_is_refused");
	cuMemFree(a);
	cuMemFree(b);
}

/* Copies a box of rows, and compares with the same rows copied one by one. */
static void boxes(void)
{
	enum { PITCH = 96, ROWS = 20, WIDTH = 33, HEIGHT = 7, SIZE = PITCH * ROWS };
	static unsigned char in[SIZE], out[SIZE], want[SIZE];
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in,
		.srcPitch = PITCH, .srcXInBytes = 5, .srcY = 3,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstPitch = 64,
		.dstXInBytes = 2, .dstY = 1,
		.WidthInBytes = WIDTH, .Height = HEIGHT,
	};
	CUdeviceptr p;

	for (int i = 0; i < SIZE; i++)
		in[i] = next_random();
	cuMemAlloc(&p, SIZE);
	cuMemsetD8(p, 0, SIZE);
	c.dstDevice = p;
	cuMemcpy2D(&c);
	cuMemcpyDtoH(out, p, SIZE);
	for (int y = 0; y < HEIGHT; y++)
		memcpy(&want[(y + 1) * 64 + 2], &in[(y + 3) * PITCH + 5], WIDTH);
	ok(!memcmp(out, want, SIZE), "a_box_lands_where_its_pitch_says");
	cuMemFree(p);
}

static void other_context(void)
{
	CUcontext mine, other;
	CUdeviceptr p, q;
	size_t before;
	int in = 7, out = 0;

	cuCtxGetCurrent(&mine);
	cuMemAlloc(&p, 4);
	cuMemcpyHtoD(p, &in, 4);
	before = free_now();
	cuCtxCreate(&other, NULL, 0, 0);
	cuMemAlloc(&q, 1 << 20);
	cuCtxDestroy(other);
	ok_eq(free_now(), before, "a_destroyed_context_gives_its_memory_back");
	cuMemcpyDtoH(&out, p, 4);
	ok_eq(out, 7, "the_memory_of_other_contexts_stays");
	cuMemFree(p);
}

static void managed(void)
{
	CUdeviceptr p;
	int out = 0;

	cuMemAllocManaged(&p, 100, CU_MEM_ATTACH_GLOBAL);
	*(int *)(uintptr_t)p = 99;
	cuMemcpyDtoH(&out, p, 4);
	ok_eq(out, 99, "managed_memory_is_the_same_on_both_sides");
	cuMemFree(p);
}

/* Compares ranges of host memory with a plain list of them. */
static void registered(void)
{
	enum { N = 500, PAGE = 4096 };
	char *heap = aligned_alloc(PAGE, (size_t)N * PAGE);
	static char is[N];
	int right = 1;

	for (int i = 0; i < 20000; i++) {
		int k = next_random() % N, probe = next_random() % N;
		unsigned int flags;

		if (is[k])
			right &= !cuMemHostUnregister(heap + k * PAGE);
		else
			right &= !cuMemHostRegister(heap + k * PAGE, PAGE, 0);
		is[k] = !is[k];
		right &= is[probe] == !cuMemHostGetFlags(
			&flags, heap + probe * PAGE + next_random() % PAGE);
	}
	ok(right, "registered_ranges_are_found_and_forgotten");
	free(heap);
}

/* Calls cuInit() with a size, in a process of its own. Returns result and total, or -1. */
static long long total_with(const char *size)
{
	int fd[2], status;
	long long total = -1;

	if (pipe(fd))
		return -2;
	fflush(stdout);
	if (!fork()) {
		size_t bytes = 0;

		/* The library complains of wrong sizes on stderr. */
		close(STDERR_FILENO);
		setenv("WORMHOLE_SOFTGPU_MEM", size, 1);
		total = cuInit(0);
		if (!total) {
			cuDeviceTotalMem(&bytes, 0);
			total = bytes;
		} else {
			total = -total;
		}
		if (write(fd[1], &total, sizeof(total)) < 0)
			_exit(1);
		_exit(0);
	}
	if (read(fd[0], &total, sizeof(total)) < 0)
		total = -3;
	wait(&status);
	close(fd[0]);
	close(fd[1]);
	return total;
}

/* Returns the MiB that a process holds after cuInit() with 64 MiB of device memory. */
static long resident(const char *prefault)
{
	long pages = 0;
	int fd[2];

	if (pipe(fd))
		return -1;
	fflush(stdout);
	if (!fork()) {
		FILE *f;

		setenv("WORMHOLE_SOFTGPU_MEM", "64M", 1);
		setenv("WORMHOLE_SOFTGPU_PREFAULT", prefault, 1);
		cuInit(0);
		f = fopen("/proc/self/statm", "r");
		if (!f || fscanf(f, "%*d %ld", &pages) != 1)
			pages = -1;
		if (write(fd[1], &pages, sizeof(pages)) < 0)
			_exit(1);
		_exit(0);
	}
	if (read(fd[0], &pages, sizeof(pages)) < 0)
		pages = -1;
	wait(NULL);
	close(fd[0]);
	close(fd[1]);
	return pages * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
}

/* A thread without a context uses the context of the stream that it names. */
static void without_context(CUcontext ctx)
{
	CUmemoryPool pool;
	cuuint64_t used;
	CUdeviceptr p;
	CUstream s;

	cuStreamCreate(&s, 0);
	cuDeviceGetMemPool(&pool, 0);
	cuCtxSetCurrent(NULL);
	ok(!cuMemAllocAsync(&p, 4096, s) && !cuMemFreeAsync(p, s),
	   "without_a_context_a_stream_has_its_own");
	ok_eq(cuMemAllocAsync(&p, 4096, NULL), CUDA_ERROR_INVALID_CONTEXT,
	      "but_the_default_one_has_none");
	ok_eq(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used),
	      CUDA_ERROR_INVALID_CONTEXT, "and_nothing_is_answered_about_a_pool");
	cuCtxSetCurrent(ctx);
	cuStreamDestroy(s);
}

/* Runs in a process of its own, because the file is opened when the library is loaded. */
static int keeps_books(void)
{
	struct sgpu_books *b = sgpu_books_open(getenv("WORMHOLE_SOFTGPU_BOOKS"));
	uint64_t before, with;
	CUdeviceptr p, managed;
	CUcontext ctx;

	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	before = b->used;
	cuMemAlloc(&p, 1 << 20);
	cuMemAllocManaged(&managed, 1 << 20, CU_MEM_ATTACH_GLOBAL);
	with = b->used;
	return before || with != 1 << 20 || b->line[0].pid != (uint32_t)getpid();
}

static void books(char *self)
{
	char path[] = "/tmp/softgpu-books-XXXXXX";
	struct sgpu_books *b;
	int status = -1;

	close(mkstemp(path));
	setenv("WORMHOLE_SOFTGPU_BOOKS", path, 1);
	fflush(stdout);
	if (!fork()) {
		execl(self, self, "books", NULL);
		_exit(127);
	}
	wait(&status);
	ok_eq(status, 0, "the_books_have_what_a_process_has_but_managed_memory");
	b = sgpu_books_open(path);
	ok(b && b->used == 1 << 20 && !sgpu_books_bury(b) && !b->used,
	   "and_what_a_dead_one_had_until_it_is_buried");
	unsetenv("WORMHOLE_SOFTGPU_BOOKS");
	unlink(path);
}

int main(int argc, char **argv)
{
	CUcontext ctx;

	if (argc > 1)
		return keeps_books();
	tap_plan(37);
	ok_eq(total_with("64M"), 64 << 20, "the_environment_sets_the_size");
	ok_eq(total_with("1G"), 1 << 30, "sizes_have_units");
	ok_eq(total_with("many"), -CUDA_ERROR_INVALID_VALUE,
	      "a_size_that_is_no_number_is_refused");
	ok_eq(total_with("64Mx"), -CUDA_ERROR_INVALID_VALUE,
	      "a_size_with_an_unknown_unit_is_refused");
	ok_eq(total_with("100"), -CUDA_ERROR_INVALID_VALUE,
	      "a_size_below_1_MiB_is_refused");
	ok_eq(total_with(""), 512 << 20, "without_a_size_it_is_512_MiB");
	ok(resident("1") >= 64, "prefault_maps_all_of_it_at_once");
	ok(resident("0") < 64, "without_it_memory_is_mapped_on_use");
	setenv("WORMHOLE_SOFTGPU_MEM", "256M", 1);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	random_use();
	whole_arena();
	pages();
	fragments();
	copies();
	boxes();
	other_context();
	managed();
	registered();
	without_context(ctx);
	books(argv[0]);
	return tap_exit();
}
