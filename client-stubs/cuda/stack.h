/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that the calling thread itself uses while it works: those of its stack where it stands, and
 * those of its thread-local data, which the kernel writes, too. To exchange them, another thread is
 * needed.
 */
#ifndef WORMHOLE_STACK_H
#define WORMHOLE_STACK_H

#include <stdbool.h>
#include <stddef.h>

/* Does this thread use some of these pages in what it does next? */
bool wh_stack_uses(const void *low, size_t size);
/* Is the C library's descriptor of the calling thread there? */
bool wh_stack_is_a_threads(const void *low, size_t size);
/*
 * Has the calling thread frames there, or its own data? These are the pages that it uses, and all
 * of its stack above them.
 */
bool wh_stack_has(const void *low, size_t size);
/* Is it the stack of the process's first thread, which calls, and not below where it stands? */
bool wh_stack_is_first(const void *low);
/* Makes sure that the stack goes on below the page where the thread stands. */
void wh_stack_grow(void);
/*
 * Runs fn(arg) on another thread. Meanwhile this one is in the kernel, with all signals blocked,
 * and uses none of its pages. One thread of the process at a time may call this. Returns what fn
 * returned, or false if there is no thread to run it.
 */
bool wh_stack_aside(bool (*fn)(void *arg), void *arg);

#endif
