/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the turns (tenant.h): a board that the server alone writes, and a
 * seat for each tenant, which its workers write. In DIR/turns, which nobody else
 * may enter; workers get a descriptor of the folder within. A seat's file is of
 * one tenant only: what was left of the one before it can write no other's.
 */
#ifndef WORMHOLE_SEATS_H
#define WORMHOLE_SEATS_H

#include <stddef.h>

#include "tenant/tenant.h"

#define WH_TURNS_FOLDER	"turns/seats"	/* below DIR */
#define WH_BOARD_FILE	"board"

/* --- The owner's side: functions return 0 or a negative errno --------------------- */

struct wh_seats {
	int dir;		/* O_PATH: what workers get */
	struct wh_board *board;	/* NULL: not made */
	struct {
		struct wh_seat *page;
		int fd;		/* read-write, for the tenant's workers */
	} seat[WH_SEATS];
};

/* Anew, whatever a server that was killed has left in DIR. */
int wh_seats_create(struct wh_seats *s, const char *dir);
void wh_seats_remove(struct wh_seats *s, const char *dir);
/* A seat for a tenant: its number. */
int wh_seats_take(struct wh_seats *s, uint64_t tenant_id);
/* The tenant is gone, and its claims with it. */
void wh_seats_give(struct wh_seats *s, int seat);
/* The tenant's share of a device's time, in percent; 0: it takes no turns. */
void wh_seats_share(struct wh_seats *s, int seat, unsigned int device, unsigned int percent);
/* No worker of the tenant lives: its file is whole and empty, whatever was made of it. */
int wh_seats_restart(struct wh_seats *s, int seat);
/* The worker of this account is dead: what it claimed is free. */
void wh_seats_worker_ended(struct wh_seats *s, int seat, unsigned int account);

#endif
