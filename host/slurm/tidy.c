// SPDX-License-Identifier: Apache-2.0
/*
 * Removes tenants whose jobs are no longer on this node. If the controller took a node for
 * lost, jobs may have ended or run elsewhere when the node returns, and the node gets no
 * epilog for them.
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm.h"

#define PATIENCE_S	300	/* how long to wait for a controller that does not answer */

/* --- Which node this is --------------------------------------------------------------- */

/* Finds the node by the machine's name, which may differ from the node's. */
static void ask_node(char out[WS_NODE])
{
	node_info_msg_t *m = NULL;
	char host[WS_NODE] = "";
	uint32_t i;

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = 0;
	if (slurm_load_node(0, &m, SHOW_ALL))
		return;
	for (i = 0; i < m->record_count; i++) {
		const node_info_t *node = &m->node_array[i];

		if (node->name && node->node_hostname && !strcmp(node->node_hostname, host))
			snprintf(out, WS_NODE, "%s", node->name);
	}
	slurm_free_node_info_msg(m);
}

/* --- Its jobs ---------------------------------------------------------------------------- */

enum where { HERE, GONE, UNKNOWN };

static bool is_on(const char *nodes, const char *node)
{
	hostlist_t l = slurm_hostlist_create(nodes);
	bool found = l && slurm_hostlist_find(l, node) >= 0;

	if (l)
		slurm_hostlist_destroy(l);
	return found;
}

/* A job that is completing on this node still gets its epilog, so it counts as here. */
static enum where look_at(const slurm_job_info_t *j, const char *node)
{
	uint32_t state = j->job_state & JOB_STATE_BASE;

	if (state > JOB_SUSPENDED && !(j->job_state & JOB_COMPLETING))
		return GONE;
	if (state == JOB_PENDING && !(j->job_state & JOB_COMPLETING))
		return GONE;
	return !*node || is_on(j->nodes, node) ? HERE : GONE;
}

static enum where find(uint32_t job, const char *node)
{
	job_info_msg_t *m = NULL;
	enum where w = GONE;
	uint32_t i;

	if (slurm_load_job(&m, job, SHOW_ALL))
		return slurm_get_errno() == ESLURM_INVALID_JOB_ID ? GONE : UNKNOWN;
	for (i = 0; i < m->record_count; i++)
		if (m->job_array[i].job_id == job)
			w = look_at(&m->job_array[i], node);
	slurm_free_job_info_msg(m);
	return w;
}

static enum where tidy_one(const struct ws_config *c, uint32_t job)
{
	enum where w = find(job, c->node);
	char err[WS_ERROR];

	if (w != GONE)
		return w;
	slurm_info("wormhole: job %u is no longer here: its tenant goes", job);
	if (!ws_job_end(c, job, err))
		slurm_error("wormhole: job %u: %s", job, err);
	return w;
}

/*
 * The tenants are listed first, and the controller is asked after that. So a job that
 * starts meanwhile is not removed.
 */
void ws_tidy(struct ws_config *c)
{
	uint32_t jobs[WS_JOBS];
	unsigned int i, n = ws_tenant_jobs(c, jobs);
	time_t end = time(NULL) + PATIENCE_S;

	if (n && !*c->node)
		ask_node(c->node);
	for (i = 0; i < n; i++)
		while (tidy_one(c, jobs[i]) == UNKNOWN && time(NULL) < end)
			sleep(1);
}
