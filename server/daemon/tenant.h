/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant as its owner sees it. tenants.c writes the fields; a comment names other writers. */
#ifndef WORMHOLE_DAEMON_TENANT_H
#define WORMHOLE_DAEMON_TENANT_H

#include "daemon/isolation.h"
#include "daemon/server.h"
#include "figures/figures.h"
#include "tenant/seats.h"

/* What says of a tenant that it is there again after a restart. */
enum wh_kept {
	WH_KEPT_NOT,	/* nothing: it ends with the server, or before */
	WH_KEPT_STATE,	/* a file of the server's own, which follows `limit' and `delete' */
	WH_KEPT_FILE,	/* a file of the administrator's, which only he changes */
};

struct tenant_worker {
	pid_t pid;		/* 0: no worker lives */
	pid_t client;		/* whom it serves; 0: a process in another pid namespace */
	/*
	 * the file that it shares with its client (parts.c); 0 without a pid: the account is free
	 */
	int part;
	int lends;		/* socket to it, for its client's files (lend.c); 0: none */
	pid_t lender;		/* process of this server that lends it a file; 0: none */
	pid_t emptier;		/* process that gives the part back; 0: none yet */
	bool parks;		/* it says when a call waits; one of an older release does not */
	/* descriptor that ends when the worker serves its client; 0: it does */
	int started;
};

struct wh_tenant {
	char name[WH_TENANT_NAME];
	char socket[WH_SOCKET_PATH];
	uint64_t id;
	int slot;		/* index in the list; -1: not yet, or not any more */
	uid_t uid;
	int listener;
	bool ephemeral, dying;
	bool nccl;		/* its workers may meet by sockets */
	bool counters;		/* its programs may count by the hardware's counters */
	/* suspend.c */
	struct {
		enum wh_suspension state;
		uint32_t number;	/* counts the tenant's suspensions */
		bool drained;		/* for `wormhole drain --suspend': its end resumes it */
		bool page_out;		/* its workers' memory goes to swap, as the request says */
		bool all;		/* a part is on its way out, and the rest follows */
		pid_t pid;		/* the process that asks the driver; 0: none */
		int result;		/* descriptor on which it says how it went; 0: none */
		/* move.c */
		struct {
			bool on;	/* it is on its way, or was left half way */
			bool stays;	/* it was suspended before: if it fails, it is so again */
			uint8_t from, to;	/* numbers of devices */
			int places;	/* file that says where each worker is; 0: none */
		} move;
	} suspend;
	/* room.c */
	struct {
		bool parked;		/* overcommit suspends or resumes it, or has done */
		bool tight;		/* it found no room: others have to leave first */
		int64_t again_ms;	/* it is not resumed before, unless others leave */
		uint64_t calls;		/* its requests at the last look, */
		int64_t called_ms;	/* and when there were fewer; 0: it has no programs */
		int64_t on_ms;		/* since when it has been on its devices */
		int64_t stays_ms;	/* until then it is not parked */
		unsigned int further;	/* how often more of it was to leave since it is */
		unsigned int stuck;	/* how often in a row it could not be */
		int64_t idle_ms;	/* its idle time of this stay counts from here on */
		bool early;		/* it is being parked before its end, since it looks idle */
		unsigned int vain;	/* how often that failed in this stay */
		int64_t began_ms;	/* since when it comes back; 0: it does not */
		int64_t back_ms;	/* how long that took the last time */
		bool ahead;		/* in this stay it was looked at for a place in the host */
		bool placed;		/* its workers have such a place since before they left */
		uint64_t turn;		/* its place among those that wait; 0: none */
		int64_t since_ms;	/* since when it waits */
		uint64_t parkings;	/* how often it was parked */
		/* and how often by the driver's checkpoint, in part or all */
		uint64_t by_driver;
		uint64_t waited_ms;	/* for room, all its waits that are over */
	} room;
	bool gone;		/* deleted, and its files too: it waits for the last hold to end */
	unsigned int holds;	/* connections and processes that keep an ephemeral tenant */
	unsigned int workers;	/* living workers */
	unsigned int starting;	/* the workers of these that do not serve yet */
	struct wh_starts starts, loans;	/* loans of files to workers (lend.c) */
	struct wh_held held;	/* memory by the driver's account (figures/judge.c) */
	uint64_t host_memory;	/* bytes, 0: no limit */
	uint64_t loose;		/* of its cgroup, in pipes and sockets alone, in bytes (parts.c) */
	bool look_soon;		/* a worker of it has just ended (parts.c) */
	uint64_t max_kernel_ms;	/* 0: no limit */
	uint64_t cpu_ns;	/* CPU time of workers that have ended (usage.c) */
	struct wh_device_limit limit[WH_TENANT_DEVICES];
	/* the largest quota since it has had workers; 0: it was without */
	uint64_t had[WH_TENANT_DEVICES];
	struct wh_limit_list said;	/* all that requests and files have said of its limits */
	enum wh_kept kept;
	char *conf_file;	/* WH_KEPT_FILE: its path; else NULL */
	bool bounded;		/* no limit may exceed its first value */
	struct wh_device_limit most[WH_TENANT_DEVICES];
	struct wh_tenant_file file;
	int trace;		/* tenant/trace.h; -1: none */
	int seat;		/* seats.h; -1: none */
	struct wh_log_pipe log;
	struct wh_isolation isolation;
	struct tenant_worker worker[WH_TENANT_WORKERS];
};

extern struct wh_seats wh_tenant_seats;	/* of all tenants */
const char *wh_tenants_folder(void);	/* of their files */
/* Returns the last id that was given; from now on it is at least this one. */
uint64_t wh_tenants_last_id(uint64_t least);
/* Has no other tenant any of these groups of SMs of a device? */
bool wh_tenants_groups_free(const struct wh_tenant *t, unsigned int device, uint64_t groups);
/* Puts a tenant that is taken over into its place of the list. */
void wh_tenants_add(struct wh_tenant *t, int slot);

/* --- starts.c ------------------------------------------------------------------- */

/* The event of a tenant's socket: a client is there. */
void wh_start_on_client(int listener, void *tenant);
/* A worker that is taken over is still starting; the descriptor ends when it serves. */
void wh_start_under_way(struct wh_tenant *t, int account, int fd);
/* The worker of this account serves, or has ended. */
void wh_start_over(struct wh_tenant *t, int account);

#endif
