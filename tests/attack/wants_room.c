// SPDX-License-Identifier: Apache-2.0
/*
 * A worker that was taken over and asks for room (daemon/room.c): wants_room USAGE-FILE DEVICE
 * writes the question into the first account that is in use, and prints the answer.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tenant/tenant.h"

#define WAIT_S	20

int main(int argc, char **argv)
{
	const struct timespec longest = { .tv_sec = WAIT_S };
	int fd = argc == 3 ? open(argv[1], O_RDWR) : -1, i = 0;
	struct wh_tenant_usage *u;
	uint32_t *word, asked;

	u = mmap(NULL, sizeof(*u), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (u == MAP_FAILED)
		return 1;
	while (i < WH_TENANT_WORKERS - 1 && !u->worker[i].pid)
		i++;
	word = &u->worker[i].room;
	asked = WH_ROOM_NEXT(*word, (uint32_t)atoi(argv[2]));
	__atomic_store_n(word, asked, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAIT, asked, &longest, NULL, 0);
	asked = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	puts(WH_ROOM_STATE(asked) == WH_ROOM_MADE ? "made" :
	     WH_ROOM_STATE(asked) == WH_ROOM_NONE ? "none" : "nothing");
	return 0;
}
