/* SPDX-License-Identifier: Apache-2.0 */
/* String functions, since there is no C library. */
#ifndef WORMHOLE_AUDIT_TEXT_H
#define WORMHOLE_AUDIT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

static inline size_t length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

static inline bool same(const char *a, const char *b, size_t n)
{
	while (n && *a == *b)
		a++, b++, n--;
	return !n;
}

static inline bool begins(const char *s, const char *with)
{
	while (*with && *s == *with)
		s++, with++;
	return !*with;
}

static inline void copy(char *to, const char *from, size_t n)
{
	while (n--)
		*to++ = *from++;
}

static inline const char *base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

#endif
