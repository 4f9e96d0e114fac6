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

struct wh_tenant;

/* --- checkpoint.c: in a process of its own ----------------------------------------------- */

struct wh_checkpoint_worker {
	unsigned int account;
	int pid;
};

struct wh_checkpoint {
	bool resume;
	const char *backend;
	const char *workers;	/* "ACCOUNT:PID,ACCOUNT:PID" */
	uint32_t number;	/* of the suspension: workers say it when they are at rest */
	unsigned int wait_ms;	/* how long calls and work under way may last */
	pid_t parent;		/* of the workers */
	int usage, result;	/* descriptors: the tenant's counters; where the result goes */
};

/* One packet in a pipe. */
struct wh_checkpoint_result {
	int32_t failed;
	int32_t stays;	/* a suspension has failed, and could not be taken back */
	int32_t pid;	/* the worker that failed; 0: none of them did */
	int32_t code;	/* CUresult */
	char text[300];
};

/* Returns the exit status. */
int wh_checkpoint_main(const struct wh_checkpoint *o);

/* --- suspend.c: in the server ------------------------------------------------------------ */

/*
 * Begins to suspend or to resume a tenant. False with one line in err. Otherwise *done says whether
 * that was all; if not, wh_control_settled() is called at the end.
 */
bool wh_suspend(struct wh_tenant *t, unsigned int wait_ms, bool *done, char *err, size_t err_size);
bool wh_resume(struct wh_tenant *t, bool *done, char *err, size_t err_size);
bool wh_suspend_is_under_way(const struct wh_tenant *t);	/* or a resumption */
const char *wh_suspension_name(const struct wh_tenant *t);
/* May no program start in the tenant now? `why` is for the client. */
bool wh_suspend_refuses(const struct wh_tenant *t, char *why, size_t size);
/* False: a tenant whose programs would never end is suspended; err names it. */
bool wh_suspend_allows_idle_stop(char *err, size_t err_size);
/* The tenant ends. */
void wh_suspend_close(struct wh_tenant *t);
bool wh_suspend_has(pid_t pid);		/* the process asks the driver for a tenant */
bool wh_suspend_reap(pid_t pid);	/* the same, and it has ended */
/* Over a handover. */
void wh_suspend_leave(cJSON *o, const struct wh_tenant *t);
void wh_suspend_take(struct wh_tenant *t, const cJSON *o);

/* control.c: tells those who wait for the end of it. `why` NULL: it was done. */
void wh_control_settled(const struct wh_tenant *t, const char *why);

#endif
