// SPDX-License-Identifier: Apache-2.0
/*
 * Slurm's second plugin (`TaskPlugin=task/wormhole'). A SPANK plugin is not told when a job is
 * suspended or resumed; a task plugin of the node's daemon is, before the job's processes are
 * stopped, and before they go on. The job's tenant leaves its device then, and comes back. Nothing
 * else of a task plugin is done here: Slurm runs several of them, one after the other.
 */
#include <pthread.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

#include "slurm.h"

const char plugin_name[] = "Wormhole: a suspended job leaves its GPU";
const char plugin_type[] = "task/wormhole";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* Where the SPANK plugin has said the server is. False: there is none, and no job has a tenant. */
static bool configure(struct ws_config *c)
{
	const char *dir = getenv(WS_DIR_VARIABLE);

	*c = (struct ws_config){ .device = -1 };
	if (!dir)
		return false;
	snprintf(c->dir, sizeof(c->dir), "%s", dir);
	ws_node_of_daemon(c->node);
	c->device = ws_device_of(c->node);
	return true;
}

/* --- A job that is to go on, and whose device has no room for it yet ----------------------- */

/* Slurm resumes several jobs at a time. Only the child that is forked under the lock reads it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ws_config wanted;
static uint32_t waits;

static void try_again(void)
{
	const struct timespec pause = { .tv_sec = 1 };
	char err[WS_ERROR];

	while (ws_tenant_is_suspended(&wanted, waits) && !ws_tenant_resume(&wanted, waits, err))
		nanosleep(&pause, NULL);
}

/* --- What Slurm calls ------------------------------------------------------------------- */

/*
 * Slurm takes no answer but in its log, and stops the job's processes all the same. A job that
 * keeps its memory of the device goes on with it later.
 */
int task_p_slurmd_suspend_job(uint32_t job)
{
	struct ws_config c;
	char err[WS_ERROR];

	if (!configure(&c) || ws_tenant_suspend(&c, job, err))
		return SLURM_SUCCESS;
	slurm_error("wormhole: job %u: it keeps its memory of the device: %s", job, err);
	return SLURM_ERROR;
}

/* The job's processes go on, and wait in their next call of CUDA until the tenant is back. */
int task_p_slurmd_resume_job(uint32_t job)
{
	struct ws_config c;
	char err[WS_ERROR];

	if (!configure(&c) || ws_tenant_resume(&c, job, err))
		return SLURM_SUCCESS;
	slurm_error("wormhole: job %u: its programs wait, and it is tried again: %s", job, err);
	pthread_mutex_lock(&lock);
	wanted = c;
	waits = job;
	ws_in_background(try_again);
	pthread_mutex_unlock(&lock);
	return SLURM_SUCCESS;
}

int init(void) { return SLURM_SUCCESS; }
int fini(void) { return SLURM_SUCCESS; }
int task_p_slurmd_batch_request(void *request) { (void)request; return SLURM_SUCCESS; }

int task_p_slurmd_launch_request(void *request, uint32_t node)
{
	(void)request;
	(void)node;
	return SLURM_SUCCESS;
}

int task_p_pre_setuid(void *step) { (void)step; return SLURM_SUCCESS; }
int task_p_pre_launch(void *step) { (void)step; return SLURM_SUCCESS; }

int task_p_pre_set_affinity(void *step, uint32_t task)
{
	(void)step;
	(void)task;
	return SLURM_SUCCESS;
}

int task_p_set_affinity(void *step, uint32_t task)
{
	return task_p_pre_set_affinity(step, task);
}

int task_p_post_set_affinity(void *step, uint32_t task)
{
	return task_p_pre_set_affinity(step, task);
}

int task_p_post_term(void *step, void *task) { (void)step; (void)task; return SLURM_SUCCESS; }
int task_p_post_step(void *step) { (void)step; return SLURM_SUCCESS; }
int task_p_add_pid(pid_t pid) { (void)pid; return SLURM_SUCCESS; }
