// SPDX-License-Identifier: Apache-2.0
/*
 * Brings the figures of jobs' tenants into the jobs' records. Each set of figures is kept
 * in a file, and a separate process brings the files to slurmdbd. A short job's record
 * appears seconds after the job has ended, and an epilog that waited for it would block the
 * node. One such process is enough for all jobs of a node.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slurm.h"

#define PATIENCE_S	120	/* of the process, after its last success */
#define KEEP_S		(7 * 86400)	/* how long figures of a job without a record are kept */
#define TEXT		512
#define LONG		(PATH_MAX + NAME_MAX + 32)

static bool fail(char err[WS_ERROR], const char *what)
{
	snprintf(err, WS_ERROR, "%.300s: %s", what, strerror(errno));
	return false;
}

static void path_of(char out[LONG], const char *dir, const char *name)
{
	snprintf(out, LONG, "%s/slurm.accounts/%s", dir, name);
}

/* --- Keeping them ------------------------------------------------------------------------ */

static void write_text(char out[TEXT], const char *node, const struct ws_figures *f)
{
	snprintf(out, TEXT, "wormhole:node=%.200s,gpu_s=%.3f,memory_peak_mib=%" PRIu64 ",throttled_s=%.3f",
		 node, (double)f->gpu_ns / 1e9, (f->memory_peak + (1 << 20) - 1) >> 20,
		 (double)f->throttled_ns / 1e9);
}

/* One server may serve several nodes, so the name contains the node. */
static bool keep(const struct ws_config *c, uint32_t job, const char *text, char err[WS_ERROR])
{
	char path[LONG], whole[LONG], name[NAME_MAX + 1];
	FILE *f;

	snprintf(name, sizeof(name), "%u.%lld.%.200s", job, (long long)time(NULL), c->node);
	path_of(whole, c->dir, name);
	snprintf(name, sizeof(name), "new.%u.%.200s", job, c->node);
	path_of(path, c->dir, name);
	f = fopen(path, "we");
	if (!f)
		return fail(err, path);
	fprintf(f, "%s\n", text);
	if (fclose(f) || rename(path, whole))
		return fail(err, whole);
	return true;
}

bool ws_account(const struct ws_config *c, uint32_t job, const struct ws_figures *figures,
		char err[WS_ERROR])
{
	char folder[LONG], text[TEXT];

	path_of(folder, c->dir, "");
	if (mkdir(folder, 0700) && errno != EEXIST)
		return fail(err, folder);
	write_text(text, c->node, figures);
	return keep(c, job, text, err);
}

/* --- Bringing them ------------------------------------------------------------------------- */

static bool read_text(const char *path, char out[TEXT])
{
	FILE *f = fopen(path, "re");
	bool done = f && fgets(out, TEXT, f);

	if (f)
		fclose(f);
	if (done)
		out[strcspn(out, "\n")] = 0;
	return done;
}

/* The action for each file. Returns false to stop. */
typedef bool each(void *arg, const char *dir, const char *name);

static void for_each(const char *dir, each *f, void *arg)
{
	char folder[LONG];
	struct dirent *e;
	DIR *d;

	path_of(folder, dir, "");
	d = opendir(folder);
	while (d && (e = readdir(d)))
		if (*e->d_name >= '0' && *e->d_name <= '9' && !f(arg, dir, e->d_name))
			break;
	if (d)
		closedir(d);
}

static bool count(void *n, const char *dir, const char *name)
{
	(void)dir;
	(void)name;
	++*(unsigned int *)n;
	return true;
}

static unsigned int left(const char *dir)
{
	unsigned int n = 0;

	for_each(dir, count, &n);
	return n;
}

static bool drop(void *arg, const char *dir, const char *name)
{
	char path[LONG];

	(void)arg;
	path_of(path, dir, name);
	unlink(path);
	return true;
}

/* Brings one file. Returns false if the database can do no more now. */
static bool bring(void *records, const char *dir, const char *name)
{
	char path[LONG], text[TEXT], err[WS_ERROR] = "its job has no record";
	enum ws_recorded how;
	long long t;
	uint32_t job;

	path_of(path, dir, name);
	if (sscanf(name, "%" SCNu32 ".%lld", &job, &t) != 2 || !read_text(path, text))
		return true;
	how = ws_record(records, job, (time_t)t, text, err);
	if (how == WS_NO_RECORD && time(NULL) - t < KEEP_S)
		return true;
	if (how != WS_RECORDED)
		slurm_error("wormhole: job %u: %s is not in its record: %s", job, text, err);
	if (how != WS_NO_DATABASE)
		unlink(path);
	return how != WS_NO_DATABASE;
}

/* Tries all files once, on a connection of its own. */
static void go(const char *dir, char err[WS_ERROR])
{
	bool wanted;
	struct ws_records *r = ws_records_open(&wanted, err);

	if (r)
		for_each(dir, bring, r);
	else if (!wanted)
		for_each(dir, drop, NULL);
	ws_records_close(r);
}

static int lock(const char *dir)
{
	char path[LONG];
	int fd;

	path_of(path, dir, "lock");
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * If another process works already, this one leaves its files to it: that process looks
 * once more after it has released the lock.
 */
void ws_account_rest(const char *dir)
{
	char err[WS_ERROR] = "their jobs have no records yet";
	unsigned int n = left(dir), before;
	time_t end = time(NULL) + PATIENCE_S;
	int fd;

	while (n && time(NULL) < end) {
		fd = lock(dir);
		if (fd < 0)
			return;
		go(dir, err);
		close(fd);
		before = n;
		n = left(dir);
		if (n < before)
			end = time(NULL) + PATIENCE_S;
		if (n)
			sleep(1);
	}
	if (n)
		slurm_error("wormhole: figures of %u jobs are kept for later: %s", n, err);
}
