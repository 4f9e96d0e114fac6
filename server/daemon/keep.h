/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants that outlive the server: keep.c has them, shares.c their credit and debt. */
#ifndef WORMHOLE_KEEP_H
#define WORMHOLE_KEEP_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct wh_tenant;
struct wh_tenant_limits;

/*
 * Makes the tenants of the administrator's folder and those that the server has kept. What is
 * wrong with one of them is said, and the others are made. False with one line in err: a folder is
 * not safe to read from, or another server has it.
 */
bool wh_keep_start(char *err, size_t err_size);
/*
 * The server goes on after its service was started anew: limits that options, variables and files
 * say now take the place of those that were, and new tenants are made.
 */
void wh_keep_again(void);
/* Call this when all workers have ended: writes what is owed for the last time. */
void wh_keep_stop(void);
/* Call this in a child that lives on for a while: the next server must get the folder's lock. */
void wh_keep_leave(void);

/*
 * Keeps a tenant that was just made. False with one line in err: it would not outlive the server.
 * True: err is "", or says what will be there in its place then.
 */
bool wh_keep_add(struct wh_tenant *t, char *err, size_t err_size);
/* The same; if it fails, the tenant is deleted: its creator was promised one that stays. */
bool wh_keep_or_delete(struct wh_tenant *t, char *err, size_t err_size);
/* Its limits have changed. note: "", or why the change will not outlive the server. */
void wh_keep_changed(struct wh_tenant *t, char *note, size_t note_size);
/* May it be deleted? Not what the next server would make again. */
bool wh_keep_may_delete(const struct wh_tenant *t, char *err, size_t err_size);
/* A tenant of this name was deleted. False with one line in err: its file is still there. */
bool wh_keep_forget(const char *name, char *err, size_t err_size);
/* "", "state", or the path of the administrator's file. */
const char *wh_keep_by(const struct wh_tenant *t);
/*
 * Returns the tenant as a section of such a file, allocated; NULL: no memory. `names`: the user by
 * name, where it has one.
 */
char *wh_keep_text(const struct wh_tenant *t, bool names);

/* The folder of what the server keeps; made at need. -1 with one line in err, or "" for none. */
int wh_keep_state(bool make, char *err, size_t err_size);
/* Replaces the file as a whole. `sync`: and it is on the disk. False: errno. */
bool wh_keep_write(int dir, const char *name, const char *text, size_t n, bool sync);

/* --- keep_handover.c: a tenant for the next program of this server (handover.c) ----- */

void wh_keep_hand_over(cJSON *o, const struct wh_tenant *t);
void wh_keep_take_over(struct wh_tenant *t, const cJSON *o);

/* --- shares.c ----------------------------------------------------------------------- */

/* Fills the tenants' buckets from the file, if there is one, unless they are handed over. */
void wh_shares_start(bool handed);
/* Writes them, if any has changed since it did so last. `sync` as above. */
void wh_shares_save(bool sync);

/* --- devices.c ---------------------------------------------------------------------- */

/* Adds a device, by its UUID or else its number. False with one line in err. */
bool wh_devices_add(uint32_t *devices, const char *uuid, double number, char *err,
		    size_t err_size);
/* Finds one, by its number or its UUID as text. */
bool wh_device_named(const char *text, unsigned int *device, char *err, size_t err_size);
/* Prints "UUID NAME" a line, by their numbers; a device without a UUID has "-". */
void wh_devices_print(void *file);
/* Returns the MIG instances among the server's devices, a bit each. */
uint32_t wh_devices_instances(void);
/*
 * Gives a new tenant these devices, a bit each; 0: all, or the first instance where there are any.
 * False with one line in err: they do not go together.
 */
bool wh_devices_give(struct wh_tenant_limits *l, uint32_t devices, char *err, size_t err_size);

#endif
