// SPDX-License-Identifier: Apache-2.0
/*
 * Finds what Slurm has given a job. It asks the controller: the user controls the job's
 * environment and its options, so they are not used.
 */
#include <inttypes.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
#include <stdlib.h>
#include <string.h>

#include "slurm.h"

#define GRES_MEMORY	"gpumem"	/* MiB */
#define GRES_SM		"gpusm"		/* percent */

/*
 * Reads a count from a list like "gres:gpumem(CNT:4096),gpusm:30". Returns 0 if the name is
 * not there.
 */
static uint64_t count_of(const char *list, const char *name)
{
	size_t n = strlen(name);
	const char *p = list;

	while (p && (p = strstr(p, name))) {
		if ((p == list || strchr(",:", p[-1])) && strchr(":(=", p[n]) && p[n]) {
			p += n + strcspn(p + n, "0123456789,");
			return strtoull(p, NULL, 10);
		}
		p += n;
	}
	return 0;
}

/* The values are the same on each of the job's nodes, since Slurm's requests are per node. */
static void take(const slurm_job_info_t *j, struct ws_grant *out)
{
	const char *list = j->gres_detail_cnt ? j->gres_detail_str[0] : NULL;

	out->uid = j->user_id;
	out->memory = count_of(list, GRES_MEMORY) << 20;
	out->sm = (unsigned int)count_of(list, GRES_SM);
}

bool ws_grant(uint32_t job, struct ws_grant *out)
{
	job_info_msg_t *m = NULL;
	bool found = false;
	uint32_t i;

	*out = (struct ws_grant){ .job = job };
	if (slurm_load_job(&m, job, SHOW_DETAIL)) {
		slurm_error("wormhole: job %u: the controller does not say what it was given: %s", job,
			    slurm_strerror(slurm_get_errno()));
		return false;
	}
	for (i = 0; i < m->record_count && !found; i++) {
		found = m->job_array[i].job_id == job;
		if (found)
			take(&m->job_array[i], out);
	}
	slurm_free_job_info_msg(m);
	if (!found)
		slurm_error("wormhole: job %u: the controller does not know it", job);
	return found;
}

bool ws_requeue(uint32_t job)
{
	if (!slurm_requeue(job, 0))
		return true;
	slurm_error("wormhole: job %u is not put back into the queue: %s", job,
		    slurm_strerror(slurm_get_errno()));
	return false;
}
