// SPDX-License-Identifier: Apache-2.0
/*
 * The backend of alloc_test: a library that allocates by each function of the family. All sizes
 * are above those of which a thread has a cache of its own, so each call enters the arena.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SIZE	3000
#define PAGE	4096

bool lib_round(void);
bool lib_refuses(void);
void *lib_pvalloc(size_t size);

static bool is_all(const unsigned char *p, size_t n, unsigned char c)
{
	return p && p[0] == c && !memcmp(p, p + 1, n - 1);
}

/* Leaves memory behind that calloc() has to clear. */
static bool grows(void)
{
	unsigned char *p = malloc(SIZE), *more;
	bool good;

	if (!p)
		return false;
	memset(p, 0x5a, SIZE);
	more = realloc(p, 3UL * SIZE);
	good = is_all(more, SIZE, 0x5a);
	p = reallocarray(more, 5, SIZE);
	good = good && is_all(p, SIZE, 0x5a);
	if (p)
		memset(p, 0x5a, 5UL * SIZE);
	free(p);
	return good;
}

static bool is_clear(void)
{
	unsigned char *p = calloc(5, SIZE);
	bool good = is_all(p, 5UL * SIZE, 0);

	free(p);
	return good;
}

static bool is_at(void *p, size_t alignment)
{
	bool good = p && (uintptr_t)p % alignment == 0 && malloc_usable_size(p) >= SIZE;

	if (good)
		memset(p, 0x5a, SIZE);
	free(p);
	return good;
}

static bool is_aligned(void)
{
	void *p = NULL;

	return !posix_memalign(&p, 256, SIZE) && is_at(p, 256) &&
	       is_at(aligned_alloc(512, SIZE), 512) && is_at(memalign(1024, SIZE), 1024) &&
	       is_at(valloc(SIZE), PAGE);
}

/* The C library allocates for its own functions, too. */
static bool is_copied(void)
{
	char text[SIZE] = "", *copy = NULL;
	bool good;

	memset(text, 'a', sizeof(text) - 1);
	copy = strdup(text);
	good = copy && !strcmp(copy, text);
	free(copy);
	return good;
}

bool lib_round(void)
{
	return grows() && is_clear() && is_aligned() && is_copied();
}

void *lib_pvalloc(size_t size)
{
	return pvalloc(size);
}

bool lib_refuses(void)
{
	volatile size_t half = SIZE_MAX / 2, twice = 2;
	void *p = &p;
	bool good;

	errno = 0;
	good = !calloc(half + 2, twice) && errno == ENOMEM;	/* the product wraps to 2 */
	errno = 0;
	good = good && !malloc(half) && errno == ENOMEM;
	return good && posix_memalign(&p, 24, SIZE) == EINVAL &&
	       posix_memalign(&p, 4, SIZE) == EINVAL &&
	       posix_memalign(&p, 64, half) == ENOMEM && p == &p;
}
