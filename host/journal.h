/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c: the messages of a server whose standard error is the journal. */
#ifndef WORMHOLE_JOURNAL_H
#define WORMHOLE_JOURNAL_H

#include <stdio.h>
#include <sys/types.h>

/* What comes before the place of the last message, in the last line of wh_journal_read(). */
#define WH_JOURNAL_CURSOR	"-- cursor: "

/* Returns journalctl's option for the server of this folder; NULL: it writes to no journal. */
char *wh_journal_of(const char *dir);
/* Returns a file of all messages; NULL: it has said why not. */
FILE *wh_journal_read(const char *unit);
/*
 * Starts a journalctl that writes to `out`. `after` NULL: all messages, then it ends. Else it
 * goes on with what comes after this place; "": all. Returns its pid; -1: it has said why not.
 */
pid_t wh_journal_start(const char *unit, const char *after, int out);

#endif
