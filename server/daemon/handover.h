/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another server goes on from where this one is, with its children, what it has open and what it
 * knows: the program that is installed now (`wormhole reload'), or this one, after the server was
 * killed (monitor.h). What it knows is a JSON object, the state.
 */
#ifndef WORMHOLE_DAEMON_HANDOVER_H
#define WORMHOLE_DAEMON_HANDOVER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Call this once: the words that the program was started with. */
void wh_handover_start(char **argv);
const char *wh_handover_program(void);	/* its path, since then */
/* Does this program understand a state of that version? */
bool wh_handover_knows(const char *version);
/*
 * Lets the installed program go on and does not return. False with one line in err: nothing has
 * changed. `asker` is a connection that is told how it went; -1: nobody is.
 */
bool wh_handover(int asker, char *err, size_t err_size);
/*
 * The same with another program, words and environment, from the keys of these names: the service
 * was started anew. They are the state's part "next".
 */
bool wh_handover_with(const cJSON *next, int asker, char *err, size_t err_size);
/* In the monitor: becomes the installed program, with the state in this file. Returns: it fails. */
void wh_handover_exec(int state);
/* The state for a server that goes on when this one was killed, allocated; NULL: no memory. */
char *wh_handover_text(void);
/* The state is for the installed program, so that nothing was lost in between. */
bool wh_handover_is_planned(void);

/* --- In the server that goes on ----------------------------------------------------- */

/*
 * Reads the state that the monitor has; without one this server begins anew. False with one line in
 * err.
 */
bool wh_handover_read(char *err, size_t err_size);
/* Returns a part of the state; NULL: this server begins anew. */
const cJSON *wh_handed(const char *part);
/* All is taken over: tells the asker, and forgets the state. */
void wh_handover_done(void);

/* --- Parts of the state --------------------------------------------------------------- */

/* Leaves a descriptor open for the next server. -1 is one, too. */
void wh_leave_fd(cJSON *o, const char *key, int fd);
/*
 * Returns it; the caller's children do not get it. -1: there is none, or it was closed after the
 * state was saved.
 */
int wh_taken_fd(const cJSON *o, const char *key);
uint64_t wh_taken_number(const cJSON *o, const char *key);	/* 0: there is none */
bool wh_taken_flag(const cJSON *o, const char *key);
/* Returns "" if there is none. */
const char *wh_taken_text(const cJSON *o, const char *key);

/* What each part leaves, and takes over at its own start. */
void wh_lock_leave(cJSON *o);				/* sockets.c */
void wh_devices_leave(cJSON *o);			/* devices.c */
/* What the server before knew of its devices; false: it left nothing. */
bool wh_devices_take(void);
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
