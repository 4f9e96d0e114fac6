// SPDX-License-Identifier: Apache-2.0
/*
 * `seat FILE` writes what a hijacked worker can write about turns into FILE, its tenant's
 * seat. Earlier a turn that named another holder and a time far ahead made everybody wait
 * for ever. This program has, wants and renews its turn on every device to the end of
 * time, again and again until it is killed. It says "lying" when it does so.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tenant/tenant.h"

#define FAR_AHEAD	(1ull << 62)
#define LIVES		120	/* seconds; the limit of its life */

static void forge(struct wh_turn *t)
{
	/* Any worker's number will do, even that of a worker which does not exist. */
	t->holder = 1;
	t->next = 1;
	t->next_tsc = FAR_AHEAD;
	t->since_tsc = 1;
	t->renewed_tsc = FAR_AHEAD;
	t->ending_tsc = FAR_AHEAD;
	t->waiting_tsc = 1;
	t->asked_tsc = FAR_AHEAD;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR) : -1, d;
	struct wh_seat *s;
	bool said = false;

	if (fd < 0)
		return 2;
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		return 2;
	alarm(LIVES);
	for (;;) {
		for (d = 0; d < WH_TENANT_DEVICES; d++)
			forge(&s->device[d]);
		if (!said)
			puts("lying");
		said = true;
		fflush(stdout);
		/* The pause makes sure that the victim waits for the lie and not for the CPU. */
		usleep(1000);
	}
}
