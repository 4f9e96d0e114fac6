// SPDX-License-Identifier: Apache-2.0
/*
 * Owns how a worker prepares its memory: allocator settings, call stacks, and touching everything
 * that is mapped. Failures for single mappings do not matter; they only cost handoffs later.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "populate.h"
#include "vm/memory.h"

#define PAGE	4096UL

/*
 * With rseq, the kernel would write to the thread area of a thread whose code runs elsewhere. With
 * one arena, no mmap and no trim, memory that was touched stays mapped. alloc.c owns its lock.
 */
#define TUNABLES	"glibc.pthread.rseq=0:glibc.malloc.arena_max=1"
#define TUNABLES_ENV	"GLIBC_TUNABLES"

int wh_memory_tune(char **argv)
{
	const char *now = getenv(TUNABLES_ENV);

	if (now && !strcmp(now, TUNABLES))
		return 0;
	if (setenv(TUNABLES_ENV, TUNABLES, 1))
		return -1;
	execv("/proc/self/exe", argv);
	return -1;
}

int wh_memory_heap(size_t heap)
{
	const int step = 4 << 20;
	char *p;

	if (!mallopt(M_MMAP_MAX, 0) || !mallopt(M_TOP_PAD, step) ||
	    !mallopt(M_TRIM_THRESHOLD, -1))
		return -1;
	p = malloc(heap);
	if (!p)
		return -1;
	memset(p, 0x5a, heap);
	/* Keep the compiler from seeing that nobody reads it. */
	__asm__ volatile("" : : "r" (p) : "memory");
	free(p);
	return 0;
}

size_t wh_memory_stride(size_t size)
{
	return size + PAGE;
}

/*
 * Stacks of which only the upper part is touched, which is enough for most calls; deep calls touch
 * the rest.
 */
static struct {
	const char *start, *end;
} deep;

uint64_t wh_memory_stacks(unsigned int n, size_t size, size_t touched)
{
	char *p = mmap(NULL, n * wh_memory_stride(size) + PAGE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned int i;

	if (p == MAP_FAILED)
		return 0;
	p += PAGE;
	if (touched < size) {
		deep.start = p;
		deep.end = p + n * wh_memory_stride(size);
	}
	for (i = 0; i < n; i++) {
		char *stack = p + i * wh_memory_stride(size);

		if (mprotect(stack, size, PROT_READ | PROT_WRITE))
			return 0;
		memset(stack + size - touched, 0, touched);
	}
	return (uint64_t)p + size;
}

struct mapping {
	char *start;
	size_t size;
	char perms[5];
	char path[256];
};

static int parse(const char *line, struct mapping *m)
{
	unsigned long start, end;

	m->path[0] = 0;
	if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %255s", &start, &end, m->perms,
		   m->path) < 3)
		return -1;
	m->start = (char *)start;
	m->size = end - start;
	return 0;
}

/*
 * Device memory is the driver's, since touching a register may have an effect. Call stacks are
 * touched already, as far as most calls go: all of them would be 8 MiB for each slot.
 */
static int is_ours(const struct mapping *m)
{
	return strncmp(m->path, "/dev/", 5) && strcmp(m->path, "[vvar]") &&
	       strcmp(m->path, "[vsyscall]") && m->perms[0] == 'r' &&
	       (m->start < deep.start || m->start >= deep.end);
}

/*
 * Writes without changing anything, also in a tenant's files, which several workers write. A view
 * takes a page as writable once its PTE is dirty. MADV_POPULATE_WRITE leaves a PTE clean if the
 * page was read before, so the processor has to write there.
 */
static void write_nothing(const struct mapping *m)
{
	size_t i;

	for (i = 0; i < m->size; i += PAGE)
		__atomic_fetch_or(m->start + i, 0, __ATOMIC_RELAXED);
}

static size_t touch(const struct mapping *m)
{
	bool writable = m->perms[1] == 'w';

	/* A mapping without pages behind it, for example past the end of a file, fails here. */
	if (madvise(m->start, m->size, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return 0;
	if (writable && m->perms[3] == 's')
		write_nothing(m);
	return m->size;
}

/* Touches the kernel's own pages in this process by using them. */
static void touch_clocks(void)
{
	static const clockid_t clocks[] = {
		CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,
		CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE,
	};
	struct timespec ts;
	size_t i;

	for (i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		clock_gettime(clocks[i], &ts);
}

int64_t wh_memory_prefault(size_t max)
{
	FILE *f = fopen("/proc/self/maps", "re");
	struct mapping m;
	char *line = NULL;
	int64_t sum = 0;
	size_t n = 0;

	if (!f)
		return -1;
	while (getline(&line, &n, f) > 0)
		if (!parse(line, &m) && is_ours(&m) && m.size <= max)
			sum += (int64_t)touch(&m);
	free(line);
	fclose(f);
	touch_clocks();
	if (mlockall(MCL_CURRENT | MCL_ONFAULT))
		return -1;
	return sum;
}
