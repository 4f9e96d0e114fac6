// SPDX-License-Identifier: Apache-2.0
/*
 * Finds a static runtime in an object without a symbol table, by its code. `.eh_frame_hdr` says
 * where each function begins, and `.eh_frame` how long it is. A runtime's functions have fixed
 * distances; where the first ones fit, the bytes of all are compared with a known build.
 */
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "preload.h"

/* The table of .eh_frame_hdr, as every linker writes it. */
#define HDR_VERSION 1
#define HDR_COUNT 0x03		/* udata4 */
#define HDR_TABLE 0x3b		/* datarel, sdata4 */

struct hdr {
	uint8_t version, frame, count_form, table_form;
	int32_t frame_start;
	uint32_t count;
};

/* Both count from the address of .eh_frame_hdr. */
struct entry {
	int32_t start, fde;
};

/* How a function's entry in .eh_frame begins, with addresses as every compiler writes them. */
struct fde {
	uint32_t length, cie;
	int32_t start;		/* counted from here */
	uint32_t size;
};

struct starts {
	const struct elf_file *f;
	uint64_t hdr;			/* its address */
	const struct entry *entries;	/* by start */
	size_t count;
};

static bool read_starts(struct starts *s, const struct elf_file *f)
{
	const Elf64_Shdr *sec = elf_section(f, ".eh_frame_hdr");
	const char *bytes = sec ? elf_bytes(f, sec) : NULL;
	struct hdr h;

	if (!bytes || sec->sh_size < sizeof(h) || sec->sh_offset % sizeof(int32_t))
		return false;
	memcpy(&h, bytes, sizeof(h));
	if (h.version != HDR_VERSION || h.count_form != HDR_COUNT || h.table_form != HDR_TABLE ||
	    h.count > (sec->sh_size - sizeof(h)) / sizeof(struct entry))
		return false;
	s->f = f;
	s->hdr = sec->sh_addr;
	s->entries = (const struct entry *)(bytes + sizeof(h));
	s->count = h.count;
	return true;
}

/* Returns the bytes at an address if they lie in one section, which has all of `flags`. */
static const char *bytes_at(const struct elf_file *f, uint64_t addr, uint64_t size, uint64_t flags)
{
	const Elf64_Shdr *sec;
	const char *bytes;
	size_t i;

	for (i = 0; i < f->ehdr->e_shnum; i++) {
		sec = &f->sections[i];
		if ((sec->sh_flags & flags) != flags || addr < sec->sh_addr ||
		    addr - sec->sh_addr > sec->sh_size ||
		    size > sec->sh_size - (addr - sec->sh_addr))
			continue;
		bytes = elf_bytes(f, sec);
		if (bytes)
			return bytes + (addr - sec->sh_addr);
	}
	return NULL;
}

/* --- One function ------------------------------------------------------------------- */

static const struct entry *entry_at(const struct starts *s, int64_t start)
{
	size_t low = 0, high = s->count, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->entries[mid].start == start)
			return &s->entries[mid];
		if (s->entries[mid].start < start)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static bool has_size(const struct starts *s, const struct entry *e, uint16_t size)
{
	uint64_t at = s->hdr + e->fde;
	const char *bytes = bytes_at(s->f, at, sizeof(struct fde), SHF_ALLOC);
	struct fde fde;

	if (!bytes)
		return false;
	memcpy(&fde, bytes, sizeof(fde));
	at += offsetof(struct fde, start) + fde.start;
	return at == s->hdr + e->start && fde.size == size;
}

static uint64_t hash(const char *code, const struct code_func *func)
{
	const struct code_span *filled = &code_spans[func->filled];
	uint64_t h = 0xcbf29ce484222325;	/* FNV-1a */
	size_t i;

	for (i = 0; i < func->size; i++) {
		if (i == filled->from) {
			i = filled->to - 1;
			filled++;
			continue;
		}
		h = (h ^ (uint8_t)code[i]) * 0x100000001b3;
	}
	return h;
}

static bool is_there(const struct starts *s, int64_t first, const struct code_func *func)
{
	const struct entry *e = entry_at(s, first + func->offset);
	const char *code;

	if (!e || !has_size(s, e, func->size))
		return false;
	code = bytes_at(s->f, s->hdr + e->start, func->size, SHF_ALLOC | SHF_EXECINSTR);
	return code && hash(code, func) == func->hash;
}

/* --- A runtime ---------------------------------------------------------------------- */

static bool run_fits(const struct entry *e, const struct code_func *funcs)
{
	size_t i;

	for (i = 1; i < CODE_RUN; i++)
		if ((int64_t)e[i].start - e[0].start != funcs[i].offset)
			return false;
	return true;
}

static size_t count_there(const struct starts *s, int64_t first, const struct code_build *b)
{
	size_t i, n = 0;

	for (i = 0; i < b->count; i++)
		n += is_there(s, first, &b->funcs[i]);
	return n;
}

/* Of the builds, what one place in the object resembles most. */
struct match {
	const struct code_build *build;
	int64_t first;		/* its first function, as `start` of an entry */
	size_t there;		/* how many functions are those of the build */
};

static void match_place(const struct starts *s, size_t at, struct match *m)
{
	const struct code_build *b;
	size_t there;

	m->build = NULL;
	for (b = code_builds; b->version; b++) {
		if (!run_fits(&s->entries[at], b->funcs))
			continue;
		there = count_there(s, s->entries[at].start, b);
		/* What has less than half of the functions is something else. */
		if (there <= b->count / 2 ||
		    (m->build && there * m->build->count <= m->there * b->count))
			continue;
		*m = (struct match) { b, s->entries[at].start, there };
		if (there == b->count)
			return;
	}
}

/* The distances of the first two functions in the builds: nearly all places fail by them. */
static void first_distances(uint32_t *low, uint32_t *high)
{
	const struct code_build *b;

	*low = UINT32_MAX;
	*high = 0;
	for (b = code_builds; b->version; b++) {
		if (b->funcs[1].offset < *low)
			*low = b->funcs[1].offset;
		if (b->funcs[1].offset > *high)
			*high = b->funcs[1].offset;
	}
}

/* Returns how many runtimes the object has, and one of them. */
static size_t find_runtimes(const struct starts *s, struct match *found)
{
	uint32_t low, high, distance;
	struct match m;
	size_t i, n = 0;

	first_distances(&low, &high);
	for (i = 0; i + CODE_RUN <= s->count; i++) {
		distance = (uint32_t)s->entries[i + 1].start - (uint32_t)s->entries[i].start;
		if (distance < low || distance > high)
			continue;
		match_place(s, i, &m);
		if (!m.build)
			continue;
		*found = m;
		n++;
	}
	return n;
}

/* The bytes up to the next function, or to the section's end, are the function's own. */
static size_t room(const struct starts *s, const struct entry *e, uint16_t size)
{
	uint64_t at = s->hdr + e->start, next;

	if (e + 1 == s->entries + s->count)
		return size;
	next = s->hdr + e[1].start;
	return next > at && bytes_at(s->f, at, next - at, SHF_EXECINSTR) ? next - at : size;
}

static enum preload_kind take(const struct starts *s, const struct match *m, uintptr_t base,
			      struct preload_runtime *rt)
{
	const struct code_func *func;
	const struct entry *e;
	size_t i;

	rt->funcs = calloc(m->build->count, sizeof(*rt->funcs));
	if (!rt->funcs)
		return PRELOAD_NO_MEMORY;
	for (i = 0; i < m->build->count; i++) {
		func = &m->build->funcs[i];
		e = entry_at(s, m->first + func->offset);
		rt->funcs[i] = (struct preload_func) {
			.addr = base + s->hdr + e->start,
			.room = room(s, e, func->size),
			.export = func->export,
			.to = preload_minor(m->build->number, func->export),
		};
	}
	rt->count = m->build->count;
	return PRELOAD_FOUND;
}

enum preload_kind preload_find_code(const struct elf_file *f, uintptr_t base,
				    struct preload_runtime *rt)
{
	struct match m = { 0 };
	struct starts s;
	size_t n;

	if (!read_starts(&s, f))
		return PRELOAD_NONE;
	n = find_runtimes(&s, &m);
	if (!n)
		return PRELOAD_NONE;
	if (n > 1)
		return PRELOAD_VERSION;
	rt->version = m.build->version;
	if (m.there == m.build->count)
		return take(&s, &m, base, rt);
	rt->count = m.build->count - m.there;
	return PRELOAD_CHANGED;
}
