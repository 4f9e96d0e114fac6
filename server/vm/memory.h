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
 * A call stack of `size` bytes between guard pages, its upper `touched` bytes
 * present. Returns its top, or 0.
 */
uint64_t wh_memory_stack(size_t size, size_t touched);
/*
 * Make present, and dirty where it is private and writable, each mapping of
 * at most `max` bytes, and lock what is present. Returns the number of bytes,
 * or -1.
 */
int64_t wh_memory_prefault(size_t max);

#endif
