/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges pages of this process for others with the same contents. */
#ifndef WORMHOLE_EXCHANGE_H
#define WORMHOLE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whole pages. `from` takes their place; `to` is the same memory, where it can be written. */
struct wh_exchange {
	uint8_t *low;
	size_t size;		/* bytes */
	bool constant;		/* the program may only read them, before and afterwards */
	uint8_t *to, *from;
	size_t old_size;	/* 0: `from` is shared memory, and stays where it is, too */
	uint8_t *seen;		/* gets a copy, too; NULL: nothing does */
	const uint8_t *was;	/* only bytes that differ from these are copied; NULL: all are */
};

/*
 * May the pages be exchanged at all? Other threads write to the C library's descriptor of the
 * calling thread, and what they write must not be lost. False: it lies there, and the kernel has
 * no userfaultfd for this process.
 */
bool wh_exchange_holds(uint8_t *low, size_t size);
/*
 * Does it, in one step for every other thread. The pages may be the calling thread's own stack. One
 * thread of the process at a time may call this. False: nothing has changed, except for `to`.
 */
bool wh_exchange(struct wh_exchange *e);

#endif
