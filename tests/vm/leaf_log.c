// SPDX-License-Identifier: Apache-2.0
/* Owns the way from the kernel log to leaves (leaf_log.h). */
#include "leaf_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int leaf_fd = -1;

void leaf_mark(void)
{
	if (leaf_fd < 0)
		leaf_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (leaf_fd < 0 || lseek(leaf_fd, 0, SEEK_END) < 0) {
		perror("/dev/kmsg");
		exit(1);
	}
}

int leaf_next(struct leaf *l)
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

int leaf_count(unsigned int leaf, struct leaf *l)
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
