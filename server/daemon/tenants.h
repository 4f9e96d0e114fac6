/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant as its owner sees it. tenants.c writes the fields, where said others. */
#ifndef WORMHOLE_TENANTS_H
#define WORMHOLE_TENANTS_H

#include "daemon/isolation.h"
#include "daemon/server.h"
#include "figures/figures.h"

struct tenant_worker {
	pid_t pid;		/* 0: none lives */
	int part;		/* what it shares with its client (parts.c); 0 and no pid: free */
	pid_t emptier;		/* gives the part back; 0: nobody yet */
	int started;		/* ends when it serves its client; 0: it does */
};

struct wh_tenant {
	char name[WH_TENANT_NAME];
	char socket[WH_SOCKET_PATH];
	uint64_t id;
	int slot;		/* in the list; -1: not yet, or no more */
	uid_t uid;
	int listener;
	bool ephemeral, dying;
	bool nccl;		/* its workers may meet by sockets */
	bool gone;		/* deleted, its files with it: it waits for the last hold to end */
	unsigned int holds;	/* what keeps an ephemeral tenant: a connection, a process */
	unsigned int workers;	/* living */
	unsigned int starting;	/* of these: not serving yet */
	struct wh_starts starts;
	struct wh_held held;	/* by the driver's account (figures/judge.c) */
	uint64_t host_memory;	/* bytes, 0: no limit */
	uint64_t max_kernel_ms;	/* 0: no limit */
	uint64_t cpu_ns;	/* of workers that have ended (usage.c) */
	struct wh_device_limit limit[WH_TENANT_DEVICES];
	bool bounded;		/* no limit goes beyond what it began with */
	struct wh_device_limit most[WH_TENANT_DEVICES];
	struct wh_tenant_file file;
	int trace;		/* tenant/trace.h; -1: none */
	int seat;		/* seats.h; -1: none */
	struct wh_log_pipe log;
	struct wh_isolation isolation;
	struct tenant_worker worker[WH_TENANT_WORKERS];
};

#endif
