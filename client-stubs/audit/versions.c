// SPDX-License-Identifier: Apache-2.0
/*
 * Compares the versions of the C library that our libraries need with those that it has: in a
 * container it is the image's. Both are mapped files that the loader is about to compare
 * itself.
 */
#include <elf.h>

#include "text.h"
#include "versions.h"

/* DT_VERDEF and DT_VERNEED are addresses in the file. DT_STRTAB is by then an address in memory. */
static const char *table(const struct link_map *map, Elf64_Sxword tag)
{
	const Elf64_Dyn *d;
	uintptr_t at;

	for (d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		at = d->d_un.d_ptr;
		if (d->d_tag == tag)
			return (const char *)(at < map->l_addr ? at + map->l_addr : at);
	}
	return NULL;
}

static bool equal(const char *a, const char *b)
{
	return same(a, b, length(b) + 1);
}

static bool defines(const struct link_map *libc, const char *version)
{
	const char *names = table(libc, DT_STRTAB), *at = table(libc, DT_VERDEF);
	const Elf64_Verdef *d;

	for (; at && names; at += d->vd_next) {
		d = (const Elf64_Verdef *)at;
		if (equal(names + ((const Elf64_Verdaux *)(at + d->vd_aux))->vda_name, version))
			return true;
		if (!d->vd_next)
			break;
	}
	return false;
}

/* GLIBC_2.34 comes after GLIBC_2.4. */
static bool newer(const char *version, const char *than)
{
	size_t n = length(version), m = than ? length(than) : 0, i = 0;

	if (n != m)
		return n > m;
	while (i < n && version[i] == than[i])
		i++;
	return version[i] > than[i];
}

const char *versions_lacking(const struct link_map *ours, const struct link_map *libc)
{
	const char *lacking = NULL, *name;
	const char *names = table(ours, DT_STRTAB), *at = table(ours, DT_VERNEED), *aux;
	const Elf64_Verneed *need;
	const Elf64_Vernaux *v;
	int i;

	for (; at && names; at += need->vn_next) {
		need = (const Elf64_Verneed *)at;
		aux = at + need->vn_aux;
		for (i = 0; i < need->vn_cnt && equal(names + need->vn_file, VERSIONS_LIBC); i++) {
			v = (const Elf64_Vernaux *)aux;
			name = names + v->vna_name;
			if (!(v->vna_flags & VER_FLG_WEAK) && newer(name, lacking) &&
			    !defines(libc, name))
				lacking = name;
			aux += v->vna_next;
		}
		if (!need->vn_next)
			break;
	}
	return lacking;
}
