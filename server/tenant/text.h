/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text in memory that is written as a file. An open_memstream() leaves a hole where memory was
 * missing, and neither ferror() nor fclose() tells of it; this one is whole, or is none.
 */
#ifndef WORMHOLE_TENANT_TEXT_H
#define WORMHOLE_TENANT_TEXT_H

#include <stddef.h>
#include <stdio.h>

struct wh_text {
	char *bytes;		/* the text so far, with a zero behind it */
	size_t n, room;		/* without and with that zero */
};

/* The file writes into @t until it is closed. NULL: errno. */
FILE *wh_text_open(struct wh_text *t);
/* Closes the file. Returns its text of t->n bytes, allocated; NULL with ENOMEM: a part is lost. */
char *wh_text_close(FILE *f, struct wh_text *t);

#endif
