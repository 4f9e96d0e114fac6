/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suspended tenants: their workers take on no call, and what they have on devices is in memory of
 * the host. suspend.c is the server's side, checkpoint/ the process that asks the driver.
 */
#ifndef WORMHOLE_DAEMON_SUSPEND_H
#define WORMHOLE_DAEMON_SUSPEND_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "checkpoint/checkpoint.h"
#include "state/devices.h"
#include "tenant/tenant.h"

struct wh_tenant;

/* --- suspend.c: in the server ------------------------------------------------------------ */

/*
 * Begins what a request says: suspend, resume, or move. A tenant that moves, running or suspended,
 * goes on on the other device. False with one line in err. Otherwise *done says whether that was
 * all; if not, wh_control_settled() is called at the end.
 */
bool wh_suspend_request(struct wh_tenant *t, const cJSON *o, bool *done, char *err,
			size_t err_size);
bool wh_suspend_is_under_way(const struct wh_tenant *t);	/* or a resumption */
bool wh_suspend_is_drained(const struct wh_tenant *t);	/* `wormhole drain' has suspended it */
const char *wh_suspension_name(const struct wh_tenant *t);
/* May no program start in the tenant now? `why` is for the client. */
bool wh_suspend_refuses(const struct wh_tenant *t, char *why, size_t size);
/* False: a tenant whose programs would never end is suspended; err names it. */
bool wh_suspend_allows_idle_stop(char *err, size_t err_size);
/*
 * Suspends a tenant that runs, for room.c, or resumes one that is parked. False with one line in
 * err: it is what it was. wh_room_settled() is called at the end.
 */
bool wh_suspend_park(struct wh_tenant *t, unsigned int wait_ms, char *err, size_t err_size);
bool wh_suspend_unpark(struct wh_tenant *t, char *err, size_t err_size);
/* The same for a tenant that is suspended: more of what its workers move themselves leaves. */
bool wh_suspend_further(struct wh_tenant *t, char *err, size_t err_size);
/* Is that under way? */
bool wh_suspend_goes_further(const struct wh_tenant *t);
/* Gives all workers an order (WH_PAGE_*). The tenant runs. */
void wh_suspend_order(struct wh_tenant *t, unsigned int what);
/* Writes the state into the tenant's limits, where workers and readers see it. */
void wh_suspend_tell(const struct wh_tenant *t);
/* The tenant ends. */
void wh_suspend_close(struct wh_tenant *t);
bool wh_suspend_has(pid_t pid);		/* the process asks the driver for a tenant */
bool wh_suspend_reap(pid_t pid);	/* the same, and it has ended */
/* Over a handover. */
void wh_suspend_leave(cJSON *o, const struct wh_tenant *t);
void wh_suspend_take(struct wh_tenant *t, const cJSON *o);

/* control.c: tells those who wait for the end of it. `why` NULL: it was done. */
void wh_control_settled(const struct wh_tenant *t, const char *why, const char *note);

/* --- room.c: `serve --overcommit' ---------------------------------------------------------- */

/* The timer of it. Call this when all tenants that are taken over are there. */
bool wh_room_start(void);
/* Its programs go on. stuck: since they could not be stopped. */
void wh_room_runs(struct wh_tenant *t, bool stuck);
enum wh_park_end { WH_PARK_DONE, WH_PARK_FULL, WH_PARK_FAILED };
/* A suspension or resumption is over: the device was full, or it failed for another reason. */
void wh_room_settled(struct wh_tenant *t, enum wh_park_end end);
/*
 * More of it was to leave, and some worker has not answered: it is asked no more until it has run.
 * What others have left is free.
 */
void wh_room_goes_no_further(struct wh_tenant *t);
/* Could workers of a suspended tenant move more of its memory to the host? That is their word. */
bool wh_room_has_rest(const struct wh_tenant *t, uint32_t devices);
/* Says for all devices what the next order to leave is for (WH_WANTED_*; 0: all leaves). */
void wh_room_want(const struct wh_tenant *t, uint64_t bytes);
/* Adds its counters to an answer. */
void wh_room_say(cJSON *o, const struct wh_tenant *t);
/* Over a handover. */
void wh_room_leave(cJSON *o, const struct wh_tenant *t);
void wh_room_take(struct wh_tenant *t, const cJSON *o);

/* --- move.c ------------------------------------------------------------------------------ */

/* Notes a move that is possible. False with one line in err. */
bool wh_move_begin(struct wh_tenant *t, const char *to, const char *from, char *err,
		   size_t err_size);
void wh_move_end(struct wh_tenant *t);	/* it is over, and all is where it was */
void wh_move_done(struct wh_tenant *t);	/* it is over, and the tenant is there */
/* Over a handover. wh_move_take_places() is first. True: the limits are to be put again. */
void wh_move_leave(cJSON *o, const struct wh_tenant *t);
bool wh_move_take_places(struct wh_tenant *t, const cJSON *o);
void wh_move_take(struct wh_tenant *t, const cJSON *o);
/* Tells workers and checkpoint/ the UUIDs of all devices, by a variable. */
bool wh_move_tell_devices(void);

#endif
