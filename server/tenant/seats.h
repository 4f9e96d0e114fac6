/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the turns (tenant.h): a board that only the server writes, and a seat for each
 * tenant, which its workers write. They are in DIR/turns, which nobody else may enter; workers get
 * a descriptor of the folder within. Each seat's file belongs to one tenant only: what is left of
 * an earlier tenant cannot write the file of another one.
 */
#ifndef WORMHOLE_SEATS_H
#define WORMHOLE_SEATS_H

#include <stddef.h>

#include "tenant/tenant.h"

#define WH_TURNS_FOLDER	"turns/seats"	/* below DIR */
#define WH_BOARD_FILE	"board"

/* --- The owner's side: functions return 0 or a negative errno --------------------- */

struct wh_seats {
	int dir;		/* O_PATH, given to workers */
	struct wh_board *board;	/* NULL: not made */
	struct {
		struct wh_seat *page;
		int fd;		/* read-write, for the tenant's workers */
	} seat[WH_SEATS];
};

/* Makes the files again, whatever a server that was killed has left in DIR. */
int wh_seats_create(struct wh_seats *s, const char *dir);
/* Takes over the board of a folder that is open, and then each seat with its open file. */
int wh_seats_take_board(struct wh_seats *s, int dir);
int wh_seats_take_over(struct wh_seats *s, int seat, int fd);
/* Call this when all are taken over: the others belong to nobody any more. */
void wh_seats_only_taken(struct wh_seats *s);
void wh_seats_remove(struct wh_seats *s, const char *dir);
/* Takes a seat for a tenant; returns its number. */
int wh_seats_take(struct wh_seats *s, uint64_t tenant_id);
/* Gives a seat back: the tenant is gone, and its claims too. */
void wh_seats_give(struct wh_seats *s, int seat);
/* Sets the tenant's share of a device's time, in percent, and its class; 0: it takes no turns. */
void wh_seats_share(struct wh_seats *s, int seat, unsigned int device, unsigned int percent,
		    unsigned int class);
/*
 * Call this when no worker of the tenant lives: makes its file whole and empty, whatever was done
 * to it.
 */
int wh_seats_restart(struct wh_seats *s, int seat);
/* The worker of this account is dead: frees what it claimed. */
void wh_seats_worker_ended(struct wh_seats *s, int seat, unsigned int account);

#endif
