// SPDX-License-Identifier: Apache-2.0
/* Says what kind of memory this process has at an address, as the kernel's list has it. */
#define _GNU_SOURCE
#include "maps.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "populate.h"
#include "window.h"

struct line {
	unsigned long start, end, offset, inode;
	unsigned int major, minor;
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
	return !strcmp(l->perms, "rw-s") ? WH_PAGES_SHARED : WH_PAGES_OTHER;
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
	} while (sscanf(*text, "%lx-%lx %4s %lx %x:%x %lu %63s", &l->start, &l->end, l->perms,
			&l->offset, &l->major, &l->minor, &l->inode, l->name) < 7);
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

/* Is the descriptor of this file? A file system that a program serves is not asked. */
static bool is_of(int fd, const struct line *l)
{
	struct statx s;

	return !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &s) &&
	       s.stx_ino == l->inode && s.stx_dev_major == l->major && s.stx_dev_minor == l->minor;
}

static int own_descriptor(const struct line *l)
{
	DIR *all = opendir("/proc/self/fd");
	struct dirent *e;
	int fd = -1;

	while (all && fd < 0 && (e = readdir(all)))
		if (e->d_name[0] != '.' && is_of(atoi(e->d_name), l))
			fd = atoi(e->d_name);
	if (all)
		closedir(all);
	return fd;
}

/* A file that was unlinked has a name that leads to no file, or to another one. */
static int open_by_name(char *text, const struct line *l)
{
	char *path = strchr(text, '/');
	int fd;

	if (!path)
		return -1;
	path[strcspn(path, "\n")] = 0;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0 && is_of(fd, l))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int wh_maps_file(const void *low, size_t size, uint64_t *offset, uint64_t *inode, bool *close_it)
{
	FILE *f = fopen("/proc/self/maps", "re");
	struct line l = { .end = 0 };
	uintptr_t at = (uintptr_t)low;
	char *text = NULL;
	size_t n = 0;
	int fd = -1;

	*close_it = false;
	while (f && next_line(f, &text, &n, &l) && l.end <= at)
		;
	if (l.start <= at && l.end > at && l.end - at >= size) {
		*offset = l.offset + (at - l.start);
		*inode = l.inode;
		fd = own_descriptor(&l);
		*close_it = fd < 0;
		fd = fd < 0 ? open_by_name(text, &l) : fd;
	}
	free(text);
	if (f)
		fclose(f);
	return fd;
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
