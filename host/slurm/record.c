// SPDX-License-Identifier: Apache-2.0
/*
 * A job's record in Slurm's database, through slurmdbd. The figures of the job's tenant are
 * appended to the admin comment. The controller itself changes no job that has ended, and a
 * cancelled job has ended before its last process has.
 */
#include <errno.h>
#include <inttypes.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "slurm.h"

#define COMMENT		16384	/* maximum of a record's comment */
#define TRIES		20	/* attempts, if several nodes write into one record */

struct ws_records {
	void *db;
	char *cluster;
};

/* --- The connection -------------------------------------------------------------------- */

static bool ask_controller(struct ws_records *r, bool *wanted, char err[WS_ERROR])
{
	slurm_conf_t *conf = NULL;

	if (slurm_load_ctl_conf(0, &conf)) {
		snprintf(err, WS_ERROR, "the controller does not say where its records are: %s",
			 slurm_strerror(slurm_get_errno()));
		return false;
	}
	*wanted = conf->accounting_storage_type &&
		  !strcmp(conf->accounting_storage_type, "accounting_storage/slurmdbd");
	r->cluster = strdup(conf->cluster_name);
	slurm_free_ctl_conf(conf);
	return *wanted && r->cluster;
}

struct ws_records *ws_records_open(bool *wanted, char err[WS_ERROR])
{
	struct ws_records *r = calloc(1, sizeof(*r));

	*wanted = true;
	snprintf(err, WS_ERROR, "no memory");
	if (!r || !ask_controller(r, wanted, err)) {
		ws_records_close(r);
		return NULL;
	}
	errno = 0;
	r->db = slurmdb_connection_get(NULL);
	if (r->db && !errno)
		return r;
	snprintf(err, WS_ERROR, "slurmdbd does not answer: %s", slurm_strerror(errno));
	ws_records_close(r);
	return NULL;
}

void ws_records_close(struct ws_records *r)
{
	if (r && r->db)
		slurmdb_connection_close(&r->db);
	if (r)
		free(r->cluster);
	free(r);
}

/* --- Records of a job ----------------------------------------------------------------------- */

/* Selects records, and holds the lists that the condition points to. */
struct choice {
	slurmdb_job_cond_t cond;
	slurm_selected_step_t job;
};

/* Selects a job by its number, or one task of an array. All tasks share the array's number. */
static void choose(struct choice *c, const struct ws_records *r, uint32_t job, uint32_t task)
{
	*c = (struct choice){ .cond = { .db_flags = SLURMDB_JOB_FLAG_NOTSET },
			      .job = { task, NO_VAL, { job, NO_VAL, NO_VAL } } };
	c->cond.flags = JOBCOND_FLAG_NO_DEFAULT_USAGE | JOBCOND_FLAG_NO_STEP |
			JOBCOND_FLAG_NO_TRUNC | JOBCOND_FLAG_NO_WHOLE_HETJOB;
	c->cond.step_list = slurm_list_create(NULL);
	c->cond.cluster_list = slurm_list_create(NULL);
	slurm_list_append(c->cond.step_list, &c->job);
	slurm_list_append(c->cond.cluster_list, r->cluster);
}

static void unchoose(struct choice *c)
{
	slurm_list_destroy(c->cond.step_list);
	slurm_list_destroy(c->cond.cluster_list);
}

/* One run of a job. A job that was put back into the queue has a record for each run. */
struct run {
	time_t start, end;
	uint32_t state;
	uint32_t array, task;	/* NO_VAL: the job is no task of an array */
	int nodes;
	char comment[COMMENT];
};

static int count(const char *nodes)
{
	hostlist_t l = slurm_hostlist_create(nodes);
	int n = l ? slurm_hostlist_count(l) : 0;

	if (l)
		slurm_hostlist_destroy(l);
	return n;
}

static void take_run(struct run *run, const slurmdb_job_rec_t *rec, uint32_t job, time_t t)
{
	if (rec->jobid != job || !rec->start || rec->start > t || rec->start < run->start)
		return;
	run->start = rec->start;
	run->end = rec->end;
	run->state = rec->state;
	run->array = rec->array_job_id;
	run->task = rec->array_task_id;
	run->nodes = count(rec->nodes);
	snprintf(run->comment, sizeof(run->comment), "%s", rec->admin_comment ? rec->admin_comment : "");
}

/*
 * Finds the last run that had begun by then. It must have its end: after that the
 * controller no longer writes to it.
 */
static enum ws_recorded find_run(struct ws_records *r, uint32_t job, time_t t, struct run *run,
				 char err[WS_ERROR])
{
	slurmdb_job_rec_t *rec;
	struct choice c;
	ListIterator i;
	List all;

	run->start = run->end = 0;
	choose(&c, r, job, NO_VAL);
	c.cond.flags |= JOBCOND_FLAG_DUP;
	all = slurmdb_jobs_get(r->db, &c.cond);
	unchoose(&c);
	/* The commit makes the next look see what others have written meanwhile. */
	slurmdb_connection_commit(r->db, false);
	if (!all) {
		snprintf(err, WS_ERROR, "slurmdbd does not show the job: %s", slurm_strerror(errno));
		return WS_NO_DATABASE;
	}
	i = slurm_list_iterator_create(all);
	while ((rec = slurm_list_next(i)))
		take_run(run, rec, job, t);
	slurm_list_iterator_destroy(i);
	slurm_list_destroy(all);
	return run->end ? WS_RECORDED : WS_NO_RECORD;
}

static enum ws_recorded write_run(struct ws_records *r, uint32_t job, const struct run *run,
				  char *text)
{
	slurmdb_job_rec_t rec = {
		.admin_comment = text, .array_task_id = NO_VAL, .derived_ec = NO_VAL,
		.state = JOB_PENDING, .requid = (uint32_t)-1, .lft = NO_VAL, .resvid = NO_VAL,
	};
	struct choice c;
	char state[16];
	List changed;
	int n = -1;

	choose(&c, r, run->task == NO_VAL ? job : run->array, run->task);
	/* The state and the second of the end exclude the other runs of the job. */
	snprintf(state, sizeof(state), "%" PRIu32, run->state);
	c.cond.state_list = slurm_list_create(NULL);
	slurm_list_append(c.cond.state_list, state);
	c.cond.usage_start = c.cond.usage_end = run->end;
	changed = slurmdb_job_modify(r->db, &c.cond, &rec);
	slurm_list_destroy(c.cond.state_list);
	unchoose(&c);
	if (changed) {
		n = slurm_list_count(changed);
		slurm_list_destroy(changed);
	}
	if (slurmdb_connection_commit(r->db, n == 1) || n < 0)
		return WS_NO_DATABASE;
	return n == 1 ? WS_RECORDED : WS_NO_RECORD;
}

static enum ws_recorded append(struct ws_records *r, uint32_t job, const struct run *run,
			       const char *text, char err[WS_ERROR])
{
	static char whole[COMMENT];
	int n = snprintf(whole, sizeof(whole), "%s%s%s", run->comment, *run->comment ? ";" : "", text);
	enum ws_recorded done;

	if (n >= (int)sizeof(whole)) {
		snprintf(err, WS_ERROR, "its comment is full");
		return WS_NO_RECORD;
	}
	done = write_run(r, job, run, whole);
	if (done != WS_RECORDED)
		snprintf(err, WS_ERROR, "slurmdbd does not change the job: %s", slurm_strerror(errno));
	return done;
}

/* The pause is longer than the time from reading to writing, and random, so that nodes differ. */
static void pause_a_while(void)
{
	static bool seeded;

	if (!seeded)
		srandom((unsigned int)getpid() ^ (unsigned int)time(NULL));
	seeded = true;
	usleep(1000000 + (useconds_t)(random() % 2000000));
}

/*
 * The nodes of a job write into one comment, and nothing prevents one from overwriting what
 * another wrote after the first had read. So each node looks again some time after it
 * wrote.
 */
enum ws_recorded ws_record(struct ws_records *r, uint32_t job, time_t t, const char *text,
			   char err[WS_ERROR])
{
	static struct run run;
	enum ws_recorded done;
	int i;

	for (i = 0; i < TRIES; i++) {
		done = find_run(r, job, t, &run, err);
		if (done != WS_RECORDED || strstr(run.comment, text))
			return done;
		done = append(r, job, &run, text, err);
		if (done != WS_RECORDED || run.nodes < 2)
			return done;
		pause_a_while();
	}
	snprintf(err, WS_ERROR, "other nodes of the job wrote over it");
	return WS_NO_DATABASE;
}
