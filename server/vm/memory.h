/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares memory so that delegated calls never fault: a view maps only what the worker's page
 * tables map, and each page that is missing there costs a call a handoff. None of this is needed
 * for correctness.
 */
#ifndef WORMHOLE_VM_MEMORY_H
#define WORMHOLE_VM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Switches rseq and harmful habits of the allocator off from the first instruction of main():
 * executes this program again if they are on. -1 on failure.
 */
int wh_memory_tune(char **argv);
/* Gives malloc() `heap` bytes that are touched and are not given back. */
int wh_memory_heap(size_t heap);
/*
 * Makes `n` stacks of `size` bytes between guard pages. The upper `touched` bytes of each are
 * present; the rest comes at its first use. A process may use less than `size` for `touched` in one
 * call at most. Returns the top of the first stack, or 0; the next one's top is a stride further.
 */
uint64_t wh_memory_stacks(unsigned int n, size_t size, size_t touched);
size_t wh_memory_stride(size_t size);
/*
 * Makes each mapping of at most `max` bytes present, and dirty if it is writable, except the rest
 * of stacks. Locks what is present. Returns the number of bytes, or -1.
 */
int64_t wh_memory_prefault(size_t max);

#endif
