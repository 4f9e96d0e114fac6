/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that delegated calls never fault on: a view maps only what the
 * worker's page tables map, and each page that is missing there costs a call a
 * handoff. None of this is needed for correctness.
 */
#ifndef WORMHOLE_VM_MEMORY_H
#define WORMHOLE_VM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * rseq and the allocator's habits that hurt are off from the first instruction
 * of main(): executes this program again if they are not. -1 on failure.
 */
int wh_memory_tune(char **argv);
/* Give malloc() `heap` bytes that it has touched and will not give back. */
int wh_memory_heap(size_t heap);
/*
 * `n` stacks of `size` bytes between guard pages, the upper `touched` bytes of each
 * present; the rest comes with its first use. Less than `size` in one call of a process
 * at most. Returns the top of the first, or 0; the next one's is a stride further.
 */
uint64_t wh_memory_stacks(unsigned int n, size_t size, size_t touched);
size_t wh_memory_stride(size_t size);
/*
 * Make present, and dirty where it is private and writable, each mapping of
 * at most `max` bytes but the rest of stacks, and lock what is present. Returns the
 * number of bytes, or -1.
 */
int64_t wh_memory_prefault(size_t max);

#endif
