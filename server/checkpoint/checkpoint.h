/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that takes a tenant's workers off their devices, or brings them back, for who owns
 * the tenants (daemon/suspend.c, vm/suspend.c).
 */
#ifndef WORMHOLE_CHECKPOINT_H
#define WORMHOLE_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tenant/tenant.h"

/* --- checkpoint.c: in a process of its own ----------------------------------------------- */

struct wh_checkpoint_worker {
	unsigned int account;
	int pid;
};

/* A resumption brings a tenant that was left half way of a move back to where it was. */
/* FURTHER: more of the memory leaves that workers of a suspended tenant move themselves. */
enum wh_checkpoint_job { WH_JOB_SUSPEND, WH_JOB_RESUME, WH_JOB_MOVE, WH_JOB_FURTHER };

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
	/* no worker ever moves its memory itself: what they say of that is not heard */
	bool driver_only;
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

#endif
