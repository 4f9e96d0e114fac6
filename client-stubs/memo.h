/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers the worker's answers about what does not change, for a library that names memo in
 * SHARED of its Makefile (memo.c). A question is the call and all that its answer depends on:
 * these bytes, and the calling thread's context. An answer is the whole response; *room becomes
 * its size. An answer larger than *room is not returned.
 */
#ifndef WORMHOLE_MEMO_H
#define WORMHOLE_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool wh_recall(uint32_t call, const void *question, size_t bytes, void *answer, size_t *room);
void wh_remember(uint32_t call, const void *question, size_t bytes, const void *answer,
		 size_t size);

#endif
