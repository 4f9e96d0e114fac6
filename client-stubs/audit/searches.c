// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps how a program asked for each library whose search ended at ours, and shows the list to
 * our libcuda.so.1, which can find out there for which version the program was made. The audit
 * library is in a namespace of its own, where nobody finds it. So it finds libcuda.so.1 itself,
 * by the name of a variable.
 */
#include <elf.h>

#include "searches.h"
#include "text.h"

#define ROOM	16384	/* bytes of all texts; further texts are not kept */

static struct wh_searches searches;
static char text[ROOM];
static size_t used;

/* --- The list -------------------------------------------------------------------------- */

/*
 * Returns the kept copy of a text, and keeps it if it is new: entries are compared by their
 * pointers. NULL: there is no room.
 */
static const char *keep(const char *s)
{
	size_t n = length(s) + 1, at;

	for (at = 0; at < used; at += length(text + at) + 1)
		if (same(text + at, s, n))
			return text + at;
	if (n > sizeof(text) - used)
		return NULL;
	copy(text + used, s, n);
	used += n;
	return text + used - n;
}

void searches_note(const char *name, const char *asked, const char *by)
{
	struct wh_search s = { .name = keep(name), .asked = keep(asked), .by = keep(by) };
	uint32_t i;

	if (!s.name || !s.asked || !s.by || searches.count == WH_SEARCHES)
		return;
	for (i = 0; i < searches.count; i++)
		if (searches.search[i].name == s.name && searches.search[i].asked == s.asked &&
		    searches.search[i].by == s.by)
			return;
	searches.search[searches.count] = s;
	__atomic_store_n(&searches.count, searches.count + 1, __ATOMIC_RELEASE);
}

/* --- Who reads it ------------------------------------------------------------------------ */

struct tables {
	const Elf64_Sym *symbols;
	const char *names;
	const uint32_t *hash;	/* DT_GNU_HASH */
};

/* The loader may or may not have turned these offsets into addresses yet. */
static const void *address(const struct link_map *map, const Elf64_Dyn *d)
{
	uintptr_t at = d->d_un.d_ptr;

	return (const void *)(at < map->l_addr ? at + map->l_addr : at);
}

static bool find_tables(const struct link_map *map, struct tables *out)
{
	const Elf64_Dyn *d;

	*out = (struct tables) { NULL, NULL, NULL };
	for (d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			out->symbols = address(map, d);
		else if (d->d_tag == DT_STRTAB)
			out->names = address(map, d);
		else if (d->d_tag == DT_GNU_HASH)
			out->hash = address(map, d);
	}
	return out->symbols && out->names && out->hash;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/*
 * The table begins with the number of buckets, the first symbol in them, the words of a filter
 * and its shift. The filter, the buckets and the chains follow.
 */
static const Elf64_Sym *find(const struct tables *t, const char *name)
{
	const uint32_t *bucket = t->hash + 4 + t->hash[2] * 2, *chain = bucket + t->hash[0];
	uint32_t h = hash_of(name), first = t->hash[1], i, c;
	size_t n = length(name) + 1;

	i = t->hash[0] ? bucket[h % t->hash[0]] : 0;
	if (i < first || !i)
		return NULL;
	do {
		c = chain[i - first];
		if ((c | 1) == (h | 1) && same(t->names + t->symbols[i].st_name, name, n))
			return &t->symbols[i];
		i++;
	} while (!(c & 1));
	return NULL;
}

void searches_show(const struct link_map *map)
{
	const Elf64_Sym *symbol;
	struct tables t;

	symbol = find_tables(map, &t) ? find(&t, WH_SEARCHES_SYMBOL) : NULL;
	if (symbol && symbol->st_shndx != SHN_UNDEF && symbol->st_size == sizeof(void *))
		*(const struct wh_searches **)(map->l_addr + symbol->st_value) = &searches;
}
