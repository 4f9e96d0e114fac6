/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of Slurm's plugin: which job it is, its tenant, what its processes see. */
#ifndef WORMHOLE_HOST_SLURM_H
#define WORMHOLE_HOST_SLURM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WS_NAME		64
#define WS_ERROR	400

/* plugstack.conf's arguments. */
struct ws_config {
	char dir[PATH_MAX];	/* dir=: the server's folder; %n is the node's name */
	char libs[PATH_MAX];	/* libs=: the client libraries */
};

/* What Slurm has given the job on this node. */
struct ws_grant {
	uint32_t job;
	uid_t uid;
	uint64_t memory;	/* bytes; 0: no GPU at all */
	unsigned int sm;	/* percent */
};

/* --- grant.c: false after a line in the log */
bool ws_grant(uint32_t job, struct ws_grant *out);

/* --- tenant.c: of the job; false with err */
void ws_tenant_name(uint32_t job, char out[WS_NAME]);
/* Makes it on the device that has the room, unless it is there. */
bool ws_tenant_ensure(const char *dir, const struct ws_grant *g, char err[WS_ERROR]);
bool ws_tenant_delete(const char *dir, uint32_t job, char err[WS_ERROR]);

/* --- view.c: in a process of the job that is root still; false with err */
bool ws_view(const char *dir, const struct ws_grant *g, char err[WS_ERROR]);

#endif
