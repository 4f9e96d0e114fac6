// SPDX-License-Identifier: Apache-2.0
/* Says what kind of memory this process has at an address, as the kernel's list has it. */
#define _GNU_SOURCE
#include "maps.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "window.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif

struct line {
	unsigned long start, end, inode;
	char perms[5], name[64];
};

/* Pages that the program has written to belong to no file any more, but others to its file. */
static enum wh_pages kind_of(const struct line *l)
{
	bool anonymous = !l->inode && (!l->name[0] || !strcmp(l->name, "[heap]") ||
				       !strncmp(l->name, "[anon", 5));

	if (!strcmp(l->perms, "rw-p") && anonymous)
		return WH_PAGES_PLAIN;
	if (!strcmp(l->perms, "rw-p") && !strcmp(l->name, "[stack]"))
		return WH_PAGES_STACK;
	if (!strcmp(l->perms, "r--p") && (anonymous || l->inode))
		return WH_PAGES_CONSTANT;
	return WH_PAGES_OTHER;
}

/* Pages of the stack that were registered once are plain ones. */
static enum wh_pages both(enum wh_pages a, enum wh_pages b)
{
	if (a == WH_PAGES_NOTHING || a == b)
		return b;
	return (a == WH_PAGES_PLAIN && b == WH_PAGES_STACK) ||
	       (a == WH_PAGES_STACK && b == WH_PAGES_PLAIN) ? WH_PAGES_STACK : WH_PAGES_OTHER;
}

/* Reads the next line of the list; false: there is none. */
static bool next_line(FILE *f, char **text, size_t *room, struct line *l)
{
	do {
		if (getline(text, room, f) <= 0)
			return false;
		l->name[0] = 0;
	} while (sscanf(*text, "%lx-%lx %4s %*x %*s %lu %63s", &l->start, &l->end, l->perms,
			&l->inode, l->name) < 4);
	return true;
}

enum wh_pages wh_maps_kind(const void *low, size_t size)
{
	uintptr_t done = (uintptr_t)low, end = done + size;
	FILE *f = fopen("/proc/self/maps", "re");
	enum wh_pages kind = WH_PAGES_NOTHING;
	char *text = NULL;
	struct line l;
	size_t n = 0;

	if (!f)
		return WH_PAGES_OTHER;
	while (done < end && next_line(f, &text, &n, &l) && l.start <= done) {
		if (l.end <= done)
			continue;
		kind = both(kind, kind_of(&l));
		done = l.end;
	}
	free(text);
	fclose(f);
	return done < end ? WH_PAGES_NOTHING : kind;
}

bool wh_maps_writable(const void *p)
{
	FILE *f = fopen("/proc/self/maps", "re");
	struct line l = { .end = 0 };
	char *text = NULL;
	size_t n = 0;

	while (f && next_line(f, &text, &n, &l) && l.end <= (uintptr_t)p)
		;
	free(text);
	if (f)
		fclose(f);
	return l.end > (uintptr_t)p && l.start <= (uintptr_t)p && l.perms[1] == 'w';
}

/*
 * A kernel before 5.14 does not know such advice, and nobody learns it there. Then the page counts
 * as good.
 */
static bool page_is_there(uintptr_t at, bool write)
{
	char here = 0;
	int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	uintptr_t mask = -(uintptr_t)WH_PAGE_SIZE, page = at & mask, own = (uintptr_t)&here & mask;

	return !madvise((void *)page, WH_PAGE_SIZE, advice) ||
	       madvise((void *)own, WH_PAGE_SIZE, advice);
}

bool wh_maps_there(const void *low, size_t size, bool write)
{
	uintptr_t first = (uintptr_t)low;

	return page_is_there(first, write) && page_is_there(first + size - 1, write);
}
