/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage is a file that random_tenant.c, which gives the rounds and looks, and
 * random_player.c, whose threads make the calls, both map. In each round the threads
 * whose bits are in `playing` make `burst` calls each, at the same time, and all of them
 * say that they are done. Then nobody calls anything until the next round. A program's
 * threads say so once when they have begun.
 */
#ifndef WORMHOLE_TESTS_LIMITS_RANDOM_STAGE_H
#define WORMHOLE_TESTS_LIMITS_RANDOM_STAGE_H

#include <cuda.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MIB	(1ull << 20)
#define PLAYERS	3
#define THREADS	4	/* of a player */
#define BOARD	16	/* what players have given to each other */

struct stage {
	uint32_t round, done;		/* futexes */
	uint32_t burst;
	uint32_t leaving;		/* bits of players that end */
	uint64_t playing;		/* bits of threads: player * THREADS + thread */
	uint64_t seed, most;
	uint32_t straddling;
	uint32_t taken, refused, unknown;
	uint32_t cut;			/* bits of players whose worker has ended */
	char said[PLAYERS * THREADS][160];	/* of each thread: its calls of its last round */
	struct {
		CUipcMemHandle memory;
		uint32_t pid;		/* owner of this descriptor */
		int fd;
	} board[BOARD];
};

static inline struct stage *stage_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	struct stage *s = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, sizeof(*s)))
		s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return s;
}

static inline void stage_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

/* Waits until the word is no longer `value`, or for @ms milliseconds. */
static inline void stage_wait(const uint32_t *word, uint32_t value, unsigned int ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0);
}

#endif
