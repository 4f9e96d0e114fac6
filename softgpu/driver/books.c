// SPDX-License-Identifier: Apache-2.0
/*
 * This process's line in the books of the devices (books.h). The file is opened when the
 * library is loaded, because a process may have lost the right to open files by the time
 * that it allocates memory. If WORMHOLE_SOFTGPU_BOOKS is not set, nothing here runs.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "books.h"
#include "driver.h"

static struct sgpu_books *books;
static bool named, binding;
static uint64_t total[SGPU_DEVICES];	/* of memory, where the books bind */
static unsigned int line;

__attribute__((constructor)) static void open_books(void)
{
	const char *path = getenv("WORMHOLE_SOFTGPU_BOOKS");

	named = path && *path;
	books = named ? sgpu_books_open(path) : NULL;
}

static bool find_totals(void)
{
	struct sgpu_machine m;
	unsigned int d;

	if (sgpu_machine_find(&m))
		return false;
	for (d = 0; d < m.parts; d++)
		total[d] = m.part[d].bytes;
	return true;
}

bool sgpu_books_enter(void)
{
	unsigned int l = 0;

	if (!named)
		return true;
	binding = sgpu_env_flag("WORMHOLE_SOFTGPU_BIND");
	if (!find_totals())
		return false;
	if (!books) {
		sgpu_complain("WORMHOLE_SOFTGPU_BOOKS=%s cannot be made or opened: name a file that workers may write",
			      getenv("WORMHOLE_SOFTGPU_BOOKS"));
		return false;
	}
	sgpu_books_bury(books);
	sgpu_books_lock(books);
	while (l < SGPU_BOOKS_LINES && books->line[l].pid)
		l++;
	if (l < SGPU_BOOKS_LINES) {
		books->line[l].pid = getpid();
		line = l;
	}
	pthread_mutex_unlock(&books->lock);
	if (l == SGPU_BOOKS_LINES)
		sgpu_complain("the books have lines for %u processes, and all are taken", l);
	return l < SGPU_BOOKS_LINES;
}

bool sgpu_books_fail(void)
{
	static uint32_t asked;	/* under the lock of driver.c */

	return books && books->failing && !(++asked % books->failing);
}

/* The caller holds the books' lock. */
static void add(unsigned int place, uint64_t bytes)
{
	books->of[place] += bytes;
	books->used += bytes;
	if (books->used > books->peak)
		books->peak = books->used;
}

bool sgpu_books_add(unsigned int place, uint64_t bytes)
{
	bool fits;

	if (!books || !bytes)
		return true;
	sgpu_books_lock(books);
	fits = !binding || books->of[place] + bytes <= total[place];
	if (fits) {
		books->line[line].bytes += bytes;
		books->line[line].of[place] += bytes;
		add(place, bytes);
	}
	pthread_mutex_unlock(&books->lock);
	return fits;
}

uint64_t sgpu_books_free(unsigned int place, uint64_t own)
{
	uint64_t used;

	if (!books || !binding)
		return own;
	sgpu_books_lock(books);
	used = books->of[place];
	pthread_mutex_unlock(&books->lock);
	if (used >= total[place])
		return 0;
	return total[place] - used < own ? total[place] - used : own;
}

void sgpu_books_sub(unsigned int place, uint64_t bytes)
{
	if (!books || !bytes)
		return;
	sgpu_books_lock(books);
	sgpu_books_less(books, line, place, bytes);
	pthread_mutex_unlock(&books->lock);
}

/* Returns the entry of an allocation; takes an unused entry if there is none yet. */
static unsigned int entry_of(unsigned int place, uint64_t file, uint64_t id, uint64_t bytes)
{
	unsigned int i, unused = SGPU_BOOKS_SHARED;

	for (i = 0; i < books->taken; i++) {
		if (!sgpu_books_held(books, i))
			unused = i;
		else if (books->shared[i].file == file && books->shared[i].id == id)
			return i;
	}
	if (unused == SGPU_BOOKS_SHARED && books->taken < SGPU_BOOKS_SHARED)
		unused = (unsigned int)books->taken++;
	if (unused == SGPU_BOOKS_SHARED) {
		books->lost++;
		return unused;
	}
	books->shared[unused].file = file;
	books->shared[unused].id = id;
	books->shared[unused].bytes = bytes;
	books->shared[unused].place = place;
	books->shared[unused].owner = 0;
	return unused;
}

void sgpu_books_share(unsigned int place, uint64_t file, uint64_t id, uint64_t bytes, bool own)
{
	unsigned int i;

	if (!books)
		return;
	sgpu_books_lock(books);
	i = entry_of(place, file, id, bytes);
	if (i < SGPU_BOOKS_SHARED) {
		if (!sgpu_books_held(books, i))
			add(books->shared[i].place, bytes);
		books->shared[i].holders[line]++;
		if (own)
			books->shared[i].owner = books->line[line].pid;
	}
	pthread_mutex_unlock(&books->lock);
}

void sgpu_books_unshare(uint64_t file, uint64_t id, bool own)
{
	unsigned int i;

	if (!books)
		return;
	sgpu_books_lock(books);
	for (i = 0; i < books->taken; i++)
		if (books->shared[i].file == file && books->shared[i].id == id &&
		    books->shared[i].holders[line])
			break;
	if (i < books->taken) {
		sgpu_books_drop(books, i, line, 1);
		if (own)
			books->shared[i].owner = 0;
	}
	pthread_mutex_unlock(&books->lock);
}
