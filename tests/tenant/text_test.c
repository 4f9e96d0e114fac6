// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a text which is written as a file (server/tenant/text.h) is whole, or is
 * none, whichever step lacks memory.
 */
#include "tenant/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define LINES	2000

void *__libc_malloc(size_t size);
void *__libc_realloc(void *p, size_t size);

static int calls, fails;	/* the call that fails; 0: none */

static bool runs_out(void)
{
	if (++calls != fails)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return runs_out() ? NULL : __libc_malloc(size);
}

void *realloc(void *p, size_t size)
{
	return runs_out() ? NULL : __libc_realloc(p, size);
}

/* Returns the text of so many lines, or NULL. */
static char *write_lines(struct wh_text *t, int lines)
{
	FILE *f = wh_text_open(t);
	int i;

	for (i = 0; f && i < lines; i++)
		fprintf(f, "line %d\n", i);
	return f ? wh_text_close(f, t) : NULL;
}

static bool is_whole(const char *text, int lines)
{
	char line[16];
	int i;

	for (i = 0; i < lines; i++) {
		snprintf(line, sizeof(line), "line %d\n", i);
		if (strncmp(text, line, strlen(line)))
			return false;
		text += strlen(line);
	}
	return !*text;
}

/* Lets each call fail in turn, until there is no such call. */
static bool whole_or_none(int lines)
{
	bool good = true, had = false;
	struct wh_text t;
	char *text;

	for (fails = 1; good && !had; fails++) {
		calls = errno = 0;
		text = write_lines(&t, lines);
		had = calls < fails;
		good = text ? is_whole(text, lines) && t.n == strlen(text) :
			      errno == ENOMEM && !had;
		free(text);
	}
	fails = 0;
	return good && had;
}

int main(void)
{
	struct wh_text t;
	char *text;

	tap_plan(4);
	text = write_lines(&t, 0);
	ok(text && !*text && !t.n, "nothing_written_is_an_empty_text");
	free(text);
	text = write_lines(&t, LINES);
	ok(text && is_whole(text, LINES) && t.n == strlen(text), "a_long_text_is_as_it_was_written");
	free(text);
	ok(whole_or_none(1), "a_short_text_is_whole_or_none_when_memory_runs_out");
	ok(whole_or_none(LINES), "so_is_a_long_one");
	return tap_exit();
}
