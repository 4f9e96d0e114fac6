/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books: how much of the devices' memory each process uses, for tests that look at the
 * driver from outside. They are a file that WORMHOLE_SOFTGPU_BOOKS names. The first process
 * that has the variable and loads the driver creates the file. Each process keeps its own
 * line. With WORMHOLE_SOFTGPU_BIND=1 they bind, too: a device has its memory once for all
 * processes, as a GPU has, and an allocation or a restore beyond that fails.
 *
 * The books count what would take memory of a GPU. Managed memory is not counted, because
 * here it is the host's. Memory of a graph's node is counted from the first launch on,
 * memory of a library from the first context that uses it. Shared memory is counted once,
 * as long as any process has it: its owner, or one that has opened it.
 */
#ifndef SOFTGPU_BOOKS_H
#define SOFTGPU_BOOKS_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "identity.h"

#define SGPU_BOOKS_MAGIC	0x534b4f4f42475353ULL	/* "SSGBOOKS" */
#define SGPU_BOOKS_LINES	32u
#define SGPU_BOOKS_SHARED	256u

struct sgpu_books {
	uint64_t magic;
	pthread_mutex_t lock;	/* robust, since a process may be killed while it holds it */
	uint64_t used, peak;	/* bytes in all lines together: now, and the maximum */
	uint64_t of[SGPU_DEVICES];	/* the same as `used` for each device of the machine */
	uint64_t lost;		/* shared allocations that found no entry: the books are wrong */
	uint32_t failing;	/* one of so many questions about memory fails; 0: none */
	struct {
		uint32_t pid;	/* 0: free */
		uint64_t bytes;	/* memory that no other process has */
		uint64_t of[SGPU_DEVICES];	/* the same of each device */
	} line[SGPU_BOOKS_LINES];
	struct {
		uint64_t file, id;	/* identify the owner's file, and the allocation in it */
		uint64_t bytes;
		uint32_t place;		/* number of the device */
		uint32_t owner;		/* process that allocated it; 0 when it is freed */
		uint32_t holders[SGPU_BOOKS_LINES];	/* how often each process has it */
	} shared[SGPU_BOOKS_SHARED];
	uint64_t taken;		/* entries of `shared` that have ever been used */
};

static inline void sgpu_books_lock(struct sgpu_books *b)
{
	if (pthread_mutex_lock(&b->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&b->lock);
}

/* Initializes a zeroed file. Returns false if the system has no robust shared mutex. */
static inline bool sgpu_books_start(struct sgpu_books *b)
{
	pthread_mutexattr_t a;
	bool good = !pthread_mutexattr_init(&a) &&
		    !pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED) &&
		    !pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST) &&
		    !pthread_mutex_init(&b->lock, &a);

	if (good)
		b->magic = SGPU_BOOKS_MAGIC;
	return good;
}

/* Opens the books of this name, or creates them. Returns NULL if that fails. */
static inline struct sgpu_books *sgpu_books_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct sgpu_books *b = NULL;

	if (fd < 0)
		return NULL;
	if (!flock(fd, LOCK_EX) && !ftruncate(fd, sizeof(*b)))
		b = (struct sgpu_books *)mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED,
					      fd, 0);
	if (b == MAP_FAILED || (b && b->magic != SGPU_BOOKS_MAGIC && !sgpu_books_start(b)))
		b = NULL;
	/* The mapping would keep the file locked after close(). */
	flock(fd, LOCK_UN);
	close(fd);
	return b;
}

/* Memory of line `l` is less. */
static inline void sgpu_books_less(struct sgpu_books *b, unsigned int l, unsigned int place,
				   uint64_t bytes)
{
	b->line[l].bytes -= bytes;
	b->line[l].of[place] -= bytes;
	b->used -= bytes;
	b->of[place] -= bytes;
}

static inline bool sgpu_books_held(const struct sgpu_books *b, unsigned int i)
{
	unsigned int l;

	for (l = 0; l < SGPU_BOOKS_LINES; l++)
		if (b->shared[i].holders[l])
			return true;
	return false;
}

/* Removes the share that line `l` has in entry `i`. */
static inline void sgpu_books_drop(struct sgpu_books *b, unsigned int i, unsigned int l,
				   uint32_t times)
{
	if (!times)
		return;
	b->shared[i].holders[l] -= times;
	if (sgpu_books_held(b, i))
		return;
	b->used -= b->shared[i].bytes;
	b->of[b->shared[i].place % SGPU_DEVICES] -= b->shared[i].bytes;
}

/* Frees the lines and shares of dead processes. Returns how many processes live. */
static inline unsigned int sgpu_books_bury(struct sgpu_books *b)
{
	unsigned int l, i, living = 0;

	sgpu_books_lock(b);
	for (l = 0; l < SGPU_BOOKS_LINES; l++) {
		if (!b->line[l].pid)
			continue;
		if (!kill((pid_t)b->line[l].pid, 0) || errno != ESRCH) {
			living++;
			continue;
		}
		for (i = 0; i < b->taken; i++) {
			sgpu_books_drop(b, i, l, b->shared[i].holders[l]);
			if (b->shared[i].owner == b->line[l].pid)
				b->shared[i].owner = 0;
		}
		for (i = 0; i < SGPU_DEVICES; i++)
			sgpu_books_less(b, l, i, b->line[l].of[i]);
		b->line[l].pid = 0;
	}
	pthread_mutex_unlock(&b->lock);
	return living;
}

#endif
