/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the leaves back that the module logged (fake_hypercall.h). */
#ifndef WORMHOLE_TESTS_LEAF_LOG_H
#define WORMHOLE_TESTS_LEAF_LOG_H

#include <stdint.h>

struct leaf {
	unsigned int leaf;	/* low byte of WH_LEAF_* */
	uint64_t arg[4];
	int cpu;
};

/* Forgets what was logged so far. */
void leaf_mark(void);
/* Reads the next leaf since leaf_mark(). Returns 0 when there is none. */
int leaf_next(struct leaf *l);
/* Returns how many leaves of this kind there are since leaf_mark(), with the last one in *l. */
int leaf_count(unsigned int leaf, struct leaf *l);

#endif
