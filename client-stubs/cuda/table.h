/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that grow, and tables by address, whose entries are in the order of where they begin. */
#ifndef WORMHOLE_CUDA_TABLE_H
#define WORMHOLE_CUDA_TABLE_H

#include <stdint.h>
#include <stdlib.h>

/* The index of the first of `n` entries whose `start` is above p. */
#define WH_ABOVE(table, n, start, p) ({						\
	size_t lo_ = 0, hi_ = (n), mid_;					\
										\
	while (lo_ < hi_) {							\
		mid_ = (lo_ + hi_) / 2;						\
		if ((uintptr_t)(table)[mid_].start <= (uintptr_t)(p))		\
			lo_ = mid_ + 1;						\
		else								\
			hi_ = mid_;						\
	}									\
	lo_; })

/* Makes room for one entry more than `n`; `first` is the room of a table that has none. */
#define WH_MAKE_ROOM(table, n, room, first) ({					\
	size_t more_ = (room) ? (room) * 2 : (first);				\
	void *all_ = (n) < (room) ? (table) : realloc((table), more_ * sizeof(*(table)));	\
										\
	if (all_ && (n) == (room)) {						\
		(table) = all_;							\
		(room) = more_;							\
	}									\
	all_ != NULL; })

#endif
