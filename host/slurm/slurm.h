/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of Slurm's plugin: the job's grant, its tenant, and the view of its processes. */
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
#define WS_DIR_VARIABLE	"WORMHOLE_SLURM_DIR"	/* tells task.c in slurmd the server's folder */

/* Arguments of plugstack.conf. */
struct ws_config {
	char dir[PATH_MAX];	/* dir=: the server's folder; %n is the node's name */
	char libs[PATH_MAX];	/* libs=: the client libraries */
	uint32_t ceiling;	/* sm-max=: of each share, in percent; 0: the share itself */
	uint32_t class;		/* priority=: the highest that a job may have, WH_CLASS_* */
	char node[WS_NODE];
	int device;		/* the server's only device that is this node's; -1: all are */
};

/* What Slurm has given the job on this node. */
struct ws_grant {
	uint32_t job;
	uid_t uid;
	uint64_t memory;	/* bytes; 0: no GPU */
	unsigned int sm;	/* percent */
	uint32_t class;		/* WH_CLASS_*, as the user asked and the cluster allows */
	bool waits;		/* it was put back into the queue */
};

/* The job's tenant's use of the node's device, as its workers counted it. */
struct ws_figures {
	bool known;		/* false: there was no tenant */
	uint64_t gpu_ns, throttled_ns;
	uint64_t memory_peak;	/* bytes */
};

/* --- grant.c: functions return false after a line in the log */
bool ws_grant(uint32_t job, struct ws_grant *out);
/* Puts the job back into the queue, if it is a batch job that may be started again. */
bool ws_requeue(uint32_t job);

/* --- tenant.c: the tenant of a job; functions return false with err */
void ws_tenant_name(const struct ws_config *c, uint32_t job, char out[WS_NAME]);
enum ws_made {
	WS_MADE,
	WS_NO_ROOM,	/* no single device has the room, though all together may have */
	WS_FAILED,
};

/* Makes the tenant on the device that has the room, unless the tenant exists. */
enum ws_made ws_tenant_ensure(const struct ws_config *c, const struct ws_grant *g,
			      char err[WS_ERROR]);
/* Lists the jobs of this node that have tenants. Returns their number. */
unsigned int ws_tenant_jobs(const struct ws_config *c, uint32_t jobs[WS_JOBS]);
/* Deletes the tenant with its workers. @figures are the final counts of the workers. */
bool ws_tenant_delete(const struct ws_config *c, uint32_t job, struct ws_figures *figures,
		      char err[WS_ERROR]);

/*
 * The tenant leaves its device, or comes back. True also if the job has no tenant, or one that is
 * as wanted. They last as long as the driver takes.
 */
bool ws_tenant_suspend(const struct ws_config *c, uint32_t job, char err[WS_ERROR]);
bool ws_tenant_resume(const struct ws_config *c, uint32_t job, char err[WS_ERROR]);
/* True also if the server is there and does not say. */
bool ws_tenant_is_suspended(const struct ws_config *c, uint32_t job);

/* --- record.c: the record in Slurm's database, if there is one */
enum ws_recorded {
	WS_RECORDED,
	WS_NO_RECORD,	/* the job has no record yet */
	WS_NO_DATABASE,	/* no database answers; err says why */
};
struct ws_records;	/* a connection to the database */

/* Sets *wanted to false if the cluster keeps no records. Returns NULL with err. */
struct ws_records *ws_records_open(bool *wanted, char err[WS_ERROR]);
void ws_records_close(struct ws_records *r);
/* Adds text, which no other node has, to the record of the job's run at time t. */
enum ws_recorded ws_record(struct ws_records *r, uint32_t job, time_t t, const char *text,
			   char err[WS_ERROR]);

/* --- account.c */
/* Keeps the figures until they are in the job's record; a separate process brings them there. */
bool ws_account(const struct ws_config *c, uint32_t job, const struct ws_figures *figures,
		char err[WS_ERROR]);
void ws_account_rest(const char *dir);

/* --- background.c: runs @work in a process that outlives its starter; nobody waits for it */
void ws_in_background(void (*work)(void));

/* --- node.c */
/*
 * Finds the name under which slurmd was started; slurmd tells only steps. "": the machine's
 * name.
 */
void ws_node_of_daemon(char out[WS_NODE]);
/*
 * HOST-gpuN is device N of its machine, the form of `wormhole slurm conf`. Any other name means all
 * devices: -1.
 */
int ws_device_of(const char *node);

/* --- tidy.c: runs when a node's daemon starts */
void ws_tidy(struct ws_config *c);

/* --- plugin.c: removes the job's tenant, and keeps its figures for the job's record */
bool ws_job_end(const struct ws_config *c, uint32_t job, char err[WS_ERROR]);

/* --- view.c: runs in a process of the job that is still root; false with err */
bool ws_view(const struct ws_config *c, const struct ws_grant *g, char err[WS_ERROR]);

#endif
