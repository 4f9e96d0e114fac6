// SPDX-License-Identifier: Apache-2.0
/* See text.h. */
#define _GNU_SOURCE
#include "tenant/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define ROOM	512	/* at first */

static bool make_room(struct wh_text *t, size_t more)
{
	size_t room = t->room ? t->room : ROOM;
	char *bytes;

	while (room - t->n <= more)
		room *= 2;
	if (room == t->room)
		return true;
	bytes = realloc(t->bytes, room);
	if (!bytes)
		return false;
	t->bytes = bytes;
	t->room = room;
	return true;
}

static ssize_t add(void *arg, const char *bytes, size_t n)
{
	struct wh_text *t = arg;

	/* The file has an error from then on. */
	if (!make_room(t, n))
		return 0;
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
	t->bytes[t->n] = 0;
	return (ssize_t)n;
}

FILE *wh_text_open(struct wh_text *t)
{
	*t = (struct wh_text){ 0 };
	return fopencookie(t, "w", (cookie_io_functions_t){ .write = add });
}

char *wh_text_close(FILE *f, struct wh_text *t)
{
	bool whole = !ferror(f);

	/* A text without a byte is one, too. */
	if (!fclose(f) && whole && make_room(t, 0)) {
		t->bytes[t->n] = 0;
		return t->bytes;
	}
	free(t->bytes);
	*t = (struct wh_text){ 0 };
	errno = ENOMEM;
	return NULL;
}
