/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suspended tenants: their workers take on no call, and what they have on devices is in memory of
 * the host. suspend.c is the server's side, checkpoint.c the process that asks the driver.
 */
#ifndef WORMHOLE_DAEMON_SUSPEND_H
#define WORMHOLE_DAEMON_SUSPEND_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "state/devices.h"
#include "tenant/tenant.h"

struct wh_tenant;

/* --- checkpoint.c: in a process of its own ----------------------------------------------- */

struct wh_checkpoint_worker {
	unsigned int account;
	int pid;
};

/* A resumption brings a tenant that was left half way of a move back to where it was. */
enum wh_checkpoint_job { WH_JOB_SUSPEND, WH_JOB_RESUME, WH_JOB_MOVE };

struct wh_checkpoint {
	enum wh_checkpoint_job job;
	const char *backend;
	const char *workers;	/* "ACCOUNT:PID,ACCOUNT:PID" */
	uint32_t number;	/* of the suspension: workers say it when they are at rest */
	unsigned int wait_ms;	/* how long calls and work under way may last */
	pid_t parent;		/* of the workers */
	int usage, result;	/* descriptors: the tenant's counters; where the result goes */
	/* of a move: numbers of two devices, "FROM:TO", which change places; NULL: none */
	const char *swap;
	int places;		/* descriptor: a byte for each worker, WH_PLACE_* */
	bool stays;		/* a move that fails leaves the tenant suspended */
	bool page_out;		/* what is suspended goes to the machine's swap */
	/* of overcommit: workers move their memory themselves, as far as they can */
	bool moves_out;
	/* of what comes back: its devices, "UUID,UUID", by the workers' numbers */
	const char *uuids;
	const char *nvml;	/* NULL or "": the driver's own; "none": nobody asks it */
};

/* Where a worker is. `TO': the driver has been asked, and who asked it has not heard the answer. */
enum { WH_PLACE_OLD, WH_PLACE_TO_NEW, WH_PLACE_NEW, WH_PLACE_TO_OLD };

/* One packet in a pipe. */
struct wh_checkpoint_result {
	int32_t failed;
	int32_t stays;	/* it has failed, and the tenant is suspended */
	int32_t moved;	/* the tenant is where it was to go */
	int32_t half;	/* some workers are there, and some where they were */
	int32_t pid;	/* the worker that failed; 0: none of them did */
	int32_t code;	/* CUresult */
	int32_t by_driver;	/* of `moves_out': workers that could not move their memory */
	char text[300];	/* why; of what has not failed: what is to be said, if anything */
};

/* Returns the exit status. */
int wh_checkpoint_main(const struct wh_checkpoint *o);

/* --- device_room.c ------------------------------------------------------------------------ */

/*
 * Does NVML say that each device, by the workers' numbers, has so many bytes free? False with one
 * line in `why'. True also where there is no NVML, or it does not know the device. It is for
 * checkpoint.c.
 */
bool wh_device_room(const struct wh_checkpoint *o, const uint64_t need[WH_TENANT_DEVICES],
		    char *why, size_t size);

/* --- page_out.c --------------------------------------------------------------------------- */

/* Memory that a worker has for itself, in kiB. */
struct wh_paged {
	uint64_t out_kib;	/* in swap */
	uint64_t left_kib;	/* still in memory */
};

/* Has this machine swap? False with one line in err. */
bool wh_page_out_can(char *err, size_t err_size);
/*
 * Asks the kernel to write a suspended worker's own memory to swap, and adds what came of it to
 * @sum. checkpoint.c calls it for workers of which it knows that they live; it needs the rights to
 * look into them, and CAP_SYS_NICE.
 */
void wh_page_out(int pid, struct wh_paged *sum);

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
/* Tells workers and checkpoint.c the UUIDs of all devices, by a variable. */
bool wh_move_tell_devices(void);

#endif
