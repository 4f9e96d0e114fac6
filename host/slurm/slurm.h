/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of Slurm's plugin: which job it is, its tenant, what its processes see. */
#ifndef WORMHOLE_HOST_SLURM_H
#define WORMHOLE_HOST_SLURM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define WS_NAME		64
#define WS_ERROR	400
#define WS_JOBS	4096
#define WS_NODE	256

/* plugstack.conf's arguments. */
struct ws_config {
	char dir[PATH_MAX];	/* dir=: the server's folder; %n is the node's name */
	char libs[PATH_MAX];	/* libs=: the client libraries */
	char node[WS_NODE];
	int device;		/* the only one of the server's that is this node's; -1: all */
};

/* What Slurm has given the job on this node. */
struct ws_grant {
	uint32_t job;
	uid_t uid;
	uint64_t memory;	/* bytes; 0: no GPU at all */
	unsigned int sm;	/* percent */
	bool waits;		/* put back into the queue */
};

/* What the job's tenant has used of the node's device, as its workers counted. */
struct ws_figures {
	bool known;		/* false: there was no tenant */
	uint64_t gpu_ns, throttled_ns;
	uint64_t memory_peak;	/* bytes */
};

/* --- grant.c: false after a line in the log */
bool ws_grant(uint32_t job, struct ws_grant *out);
/* Back into the queue, where the job is a batch job that may be started again. */
bool ws_requeue(uint32_t job);

/* --- tenant.c: of the job; false with err */
void ws_tenant_name(const struct ws_config *c, uint32_t job, char out[WS_NAME]);
enum ws_made {
	WS_MADE,
	WS_NO_ROOM,	/* on any one device, though there may be on all together */
	WS_FAILED,
};

/* Makes it on the device that has the room, unless it is there. */
enum ws_made ws_tenant_ensure(const struct ws_config *c, const struct ws_grant *g,
			      char err[WS_ERROR]);
/* Those of this node that the server has tenants of; their number. */
unsigned int ws_tenant_jobs(const struct ws_config *c, uint32_t jobs[WS_JOBS]);
/* With its workers; figures are what they have counted to their end. */
bool ws_tenant_delete(const struct ws_config *c, uint32_t job, struct ws_figures *figures,
		      char err[WS_ERROR]);

/* --- record.c: in Slurm's database, where it has one */
enum ws_recorded {
	WS_RECORDED,
	WS_NO_RECORD,	/* of this job, yet */
	WS_NO_DATABASE,	/* answers; err says why */
};
struct ws_records;	/* a connection */

/* *wanted is false where the cluster keeps no records. NULL with err. */
struct ws_records *ws_records_open(bool *wanted, char err[WS_ERROR]);
void ws_records_close(struct ws_records *r);
/* Puts text, which no other node has, into the record of the job's run at time t. */
enum ws_recorded ws_record(struct ws_records *r, uint32_t job, time_t t, const char *text,
			   char err[WS_ERROR]);

/* --- account.c */
/* Keeps the figures until they are in the job's record; who does that is a process of its own. */
bool ws_account(const struct ws_config *c, uint32_t job, const struct ws_figures *figures,
		char err[WS_ERROR]);
void ws_account_rest(const char *dir);

/* --- background.c: in a process that nobody waits for, and that outlives who began it */
void ws_in_background(void (*work)(void));

/* --- tidy.c: as a node's daemon starts */
/* The name that slurmd was started under, of which it tells steps alone; "": that of the machine. */
void ws_node_of_daemon(char out[WS_NODE]);
void ws_tidy(struct ws_config *c);

/* --- plugin.c: the job's tenant goes, and its figures into the job's record */
bool ws_job_end(const struct ws_config *c, uint32_t job, char err[WS_ERROR]);

/* --- view.c: in a process of the job that is root still; false with err */
bool ws_view(const struct ws_config *c, const struct ws_grant *g, char err[WS_ERROR]);

#endif
