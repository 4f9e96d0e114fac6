/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the leaves back that the module logged (fake_hypercall.h). */
#ifndef WORMHOLE_TESTS_LEAF_LOG_H
#define WORMHOLE_TESTS_LEAF_LOG_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct leaf {
	unsigned int leaf;	/* low byte of WH_LEAF_* */
	uint64_t arg[4];
	int cpu;
};

static int leaf_fd = -1;

/* Forgets what was logged so far. */
static inline void leaf_mark(void)
{
	if (leaf_fd < 0)
		leaf_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (leaf_fd < 0 || lseek(leaf_fd, 0, SEEK_END) < 0) {
		perror("/dev/kmsg");
		exit(1);
	}
}

/* Reads the next leaf since leaf_mark(). Returns 0 when there is none. */
static inline int leaf_next(struct leaf *l)
{
	char line[1024], *text;
	ssize_t n;

	while ((n = read(leaf_fd, line, sizeof(line) - 1)) > 0) {
		line[n] = 0;
		text = strstr(line, ": leaf ");
		if (text && sscanf(text, ": leaf %x %lx %lx %lx %lx cpu %d", &l->leaf,
				   &l->arg[0], &l->arg[1], &l->arg[2], &l->arg[3], &l->cpu) == 6)
			return 1;
	}
	return 0;
}

/* Returns how many leaves of this kind there are since leaf_mark(), with the last one in *l. */
static inline int leaf_count(unsigned int leaf, struct leaf *l)
{
	struct leaf next;
	int n = 0;

	while (leaf_next(&next))
		if (next.leaf == (leaf & 0xff)) {
			*l = next;
			n++;
		}
	return n;
}

#endif
