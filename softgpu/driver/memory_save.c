// SPDX-License-Identifier: Apache-2.0
/*
 * Checkpoints of device memory: the contents go to memory of the host, the device has its memory
 * again, and later both change back. Nobody calls the driver meanwhile, so all allocations are the
 * same before and after.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "driver.h"

static struct {
	char *copy;		/* all saved allocations, one behind the other */
	uint64_t size, counted[SGPU_DEVICES];
} saved;

/*
 * Managed memory is the host's. Blocks of cuMemCreate() only count memory (vmm.c). Memory of a
 * graph that is absent has no contents.
 */
static bool is_on_device(const struct sgpu_range *r)
{
	return !sgpu_is_managed(r->kind) && r->kind != SGPU_MEM_VMM && !r->absent;
}

static void measure(const struct sgpu_range *r, void *arg)
{
	(void)arg;
	saved.size += is_on_device(r) ? r->room : 0;
	saved.counted[r->device] += r->counted ? r->room : 0;
}

/* Gives back the whole pages of a range; the bytes beside them may be another allocation's. */
static void give_back(char *at, uint64_t size)
{
	uint64_t begin = ((uintptr_t)at + 4095) & ~4095ull, end = ((uintptr_t)at + size) & ~4095ull;

	if (end > begin)
		madvise((void *)(uintptr_t)begin, end - begin, MADV_DONTNEED);
}

static void take_away(const struct sgpu_range *r, void *arg)
{
	char **to = arg, *from = (char *)(uintptr_t)r->base;

	if (!is_on_device(r))
		return;
	memcpy(*to, from, r->room);
	give_back(from, r->room);
	*to += r->room;
}

static void bring_back(const struct sgpu_range *r, void *arg)
{
	char **from = arg;

	if (!is_on_device(r))
		return;
	memcpy((void *)(uintptr_t)r->base, *from, r->room);
	give_back(*from, r->room);
	*from += r->room;
}

CUresult sgpu_mem_save(void)
{
	char *to;
	int d;

	/* What other processes have open is in a file, and they would see it go. */
	if (sgpu_mem_is_file())
		return CUDA_ERROR_NOT_SUPPORTED;
	memset(&saved, 0, sizeof(saved));
	sgpu_mem_each(measure, NULL);
	if (saved.size) {
		to = mmap(NULL, saved.size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (to == MAP_FAILED)
			return CUDA_ERROR_OUT_OF_MEMORY;
		saved.copy = to;
		sgpu_mem_each(take_away, &to);
	}
	for (d = 0; sgpu_device_ok(d); d++)
		sgpu_books_sub(sgpu_device_place(d), saved.counted[d]);
	return CUDA_SUCCESS;
}

void sgpu_mem_unclaim(const uint8_t place[SGPU_DEVICES])
{
	int d;

	for (d = 0; sgpu_device_ok(d); d++)
		sgpu_books_sub(place[d], saved.counted[d]);
}

CUresult sgpu_mem_claim(const uint8_t place[SGPU_DEVICES])
{
	int d;

	for (d = 0; sgpu_device_ok(d); d++) {
		if (sgpu_books_add(place[d], saved.counted[d]))
			continue;
		while (d-- > 0)
			sgpu_books_sub(place[d], saved.counted[d]);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

void sgpu_mem_restore(void)
{
	char *from = saved.copy;

	sgpu_mem_each(bring_back, &from);
	if (saved.copy)
		munmap(saved.copy, saved.size);
	saved.copy = NULL;
}
