/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server becomes the program that is installed now: the same process, with its children, what it
 * has open and what it knows. It writes what it knows as a JSON object and runs the program with
 * that.
 */
#ifndef WORMHOLE_DAEMON_HANDOVER_H
#define WORMHOLE_DAEMON_HANDOVER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Call this once: the words that the program was started with. */
void wh_handover_start(char **argv);
/* Does this program understand a state of that version? */
bool wh_handover_knows(const char *version);
/*
 * Becomes the installed program and does not return. False with one line in err: nothing has
 * changed. `asker` is a connection that is told of success; -1: nobody is.
 */
bool wh_handover(int asker, char *err, size_t err_size);

/* --- In the program that goes on ---------------------------------------------------- */

/* Reads the state from this descriptor and closes it. False with one line in err. */
bool wh_handover_read(int fd, char *err, size_t err_size);
/* Returns a part of the state; NULL: this server begins anew. */
const cJSON *wh_handed(const char *part);
/* All is taken over: tells the asker, and forgets the state. */
void wh_handover_done(void);

/* --- Parts of the state --------------------------------------------------------------- */

/* Leaves a descriptor open for the next program. -1 is one, too. */
void wh_leave_fd(cJSON *o, const char *key, int fd);
/* Returns it; the caller's children do not get it. -1: there is none. */
int wh_taken_fd(const cJSON *o, const char *key);
uint64_t wh_taken_number(const cJSON *o, const char *key);	/* 0: there is none */
bool wh_taken_flag(const cJSON *o, const char *key);
/* Returns "" if there is none. */
const char *wh_taken_text(const cJSON *o, const char *key);

/* What each part leaves, and takes over at its own start. */
void wh_lock_leave(cJSON *o);				/* sockets.c */
void wh_uids_leave(cJSON *o);				/* uids.c */
void wh_uid_range_leave(cJSON *o);			/* uid_range.c */
void wh_uid_range_take_over(const cJSON *o);
void wh_isolation_leave(cJSON *o);			/* isolation.c */
void wh_tenants_leave(cJSON *o);			/* tenants_handover.c */
bool wh_tenants_take(char *err, size_t err_size);
void wh_control_leave(cJSON *o);			/* control.c */
void wh_drain_leave(cJSON *o);				/* drain.c */
void wh_log_leave(cJSON *o);				/* log.c */

#endif
