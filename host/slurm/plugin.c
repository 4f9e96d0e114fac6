// SPDX-License-Identifier: Apache-2.0
/*
 * Slurm's plugin (SPANK). A job with `--gres=gpumem:MIB,gpusm:PERCENT` gets a tenant of the
 * node's server before its first task starts. The job's processes reach a device through
 * it, and it ends with the job. The controller says what the job was given, and a mount
 * namespace (view.c) decides which socket its processes have: their environment and their
 * options play no part. The class alone is an option, which the cluster bounds (priority=).
 */
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm.h"
#include "tenant/spec.h"

SPANK_PLUGIN(wormhole, 1)

static struct ws_config config;
static struct ws_grant grant;	/* grant of the step that this process runs */

/* --gpu-priority: what the user asked for, WH_CLASS_*; -1: nothing */
static int asked_class = -1;

/* --- Arguments of plugstack.conf ------------------------------------------------------- */

/* Replaces %n by the node's name, for machines that act as several nodes. */
static void expand(char out[PATH_MAX], const char *text)
{
	const char *mark = strstr(text, "%n");

	if (mark && *config.node)
		snprintf(out, PATH_MAX, "%.*s%s%s", (int)(mark - text), text, config.node, mark + 2);
	else
		snprintf(out, PATH_MAX, "%s", text);
}

/* Returns false after a line that names what is wrong with the argument. */
static bool take_argument(const char *a)
{
	const char *why = NULL;

	if (!strncmp(a, "dir=", 4)) {
		expand(config.dir, a + 4);
	} else if (!strncmp(a, "libs=", 5)) {
		expand(config.libs, a + 5);
	} else if (!strncmp(a, "sm-max=", 7)) {
		if (wh_limit_ceiling(a + 7, &config.ceiling))
			why = wh_limit_ceiling_why(a + 7);
	} else if (!strncmp(a, "priority=", 9)) {
		if (wh_limit_class(a + 9, &config.class))
			why = wh_limit_class_why(a + 9);
	} else {
		why = "it is none of dir=DIR, libs=DIR, sm-max=PERCENT and priority=CLASS";
	}
	if (why)
		slurm_error("wormhole: plugstack.conf: '%s': %s", a, why);
	return !why;
}

/* Takes every argument that is right, also if another one is wrong; -1: one was. */
static int configure(int argc, char **argv)
{
	const char *node = getenv("SLURMD_NODENAME");
	int i, rc = 0;

	if (spank_context() == S_CTX_SLURMD)
		ws_node_of_daemon(config.node);
	else
		snprintf(config.node, sizeof(config.node), "%s", node ? node : "");
	config.device = ws_device_of(config.node);
	strcpy(config.dir, "/run/wormhole");
	for (i = 0; i < argc; i++)
		if (!take_argument(argv[i]))
			rc = -1;
	return rc;
}

static int refuse(uint32_t job, const char *err)
{
	slurm_error("wormhole: job %u: %s", job, err);
	return -1;
}

/* --- srun --gpu-mem=4G --gpu-sm=30 --gpu-priority=low ----------------------------------- */

enum { MEM, SM, PRIORITY };

static bool above(uint32_t class)
{
	return wh_class_order(class) > wh_class_order(config.class);
}

/* Says no at once, where the job is asked for. */
static int check_class(const char *text)
{
	uint32_t class;

	if (wh_limit_class(text, &class))
		slurm_error("--gpu-priority: %s", wh_limit_class_why(text));
	else if (above(class))
		slurm_error("--gpu-priority: this cluster's jobs have '%s' at most, not '%s'; its administrator may say more (priority= in plugstack.conf)",
			    wh_limit_class_name(config.class), text);
	else
		return 0;
	return -1;
}

/*
 * cli_filter.lua writes memory and share into the request to Slurm; here these options are only
 * declared and checked. The class is brought to the job's node by Slurm as the option of a plugin.
 * There the user's environment may have made it, so that it may be anything. A wrong one must not
 * fail the job, since Slurm takes a node out of service when a batch job fails in a plugin.
 */
static int take_option(int which, const char *text, int remote)
{
	uint32_t class;
	char *end;
	unsigned long long v = strtoull(text ? text : "", &end, 10);

	if (which == PRIORITY) {
		if (!remote)
			return check_class(text ? text : "");
		if (!wh_limit_class(text ? text : "", &class))
			asked_class = (int)class;
		else
			slurm_error("wormhole: --gpu-priority: %s; it counts for nothing",
				    wh_limit_class_why(text ? text : ""));
		return 0;
	}
	if (remote)
		return 0;
	if (which == MEM && v && (!*end || (strchr("MGTmgt", *end) && !end[1])))
		return 0;
	if (which == SM && v && v <= 100 && !*end)
		return 0;
	slurm_error(which == SM ? "--gpu-sm: '%s' is not a percentage from 1 to 100" :
		    "--gpu-mem: '%s' is not a size such as 4G or 512M", text ? text : "");
	return -1;
}

static struct spank_option options[] = {
	{ "gpu-mem", "SIZE", "device memory of one GPU on each node, such as 4G", 1, MEM, take_option },
	{ "gpu-sm", "PERCENT", "share of that GPU's computing power", 1, SM, take_option },
	{ "gpu-priority", "CLASS", "low, normal or high: among shares the higher goes first", 1, PRIORITY,
	  take_option },
	SPANK_OPTIONS_TABLE_END
};

/* Who asks for nothing has the normal class, or the cluster's if that is lower. */
static uint32_t class_of(uint32_t job)
{
	uint32_t class = asked_class < 0 ? WH_CLASS_NORMAL : (uint32_t)asked_class;

	if (!above(class))
		return class;
	if (asked_class >= 0)
		slurm_error("wormhole: job %u: it asked for the class '%s' beyond this cluster's: it has '%s'",
			    job, wh_limit_class_name(class), wh_limit_class_name(config.class));
	return config.class;
}

/* --- The job ----------------------------------------------------------------------------- */

/*
 * Slurm takes a node out of service if a batch job fails here. If the node has several
 * devices and none has the room, the job is therefore put back into the queue. Until the
 * controller has ended it here, it has no tenant and no task.
 */
static int begin(uint32_t job, struct ws_grant *g)
{
	char err[WS_ERROR];
	enum ws_made made;

	if (!ws_grant(job, g))
		return -1;
	g->class = class_of(job);
	if (!g->memory)
		return 0;
	made = ws_tenant_ensure(&config, g, err);
	if (made == WS_MADE)
		return 0;
	refuse(job, err);
	if (made == WS_FAILED || !ws_requeue(job))
		return -1;
	g->waits = true;
	return 0;
}

bool ws_job_end(const struct ws_config *c, uint32_t job, char err[WS_ERROR])
{
	struct ws_figures figures;

	if (!ws_tenant_delete(c, job, &figures, err))
		return false;
	/* The job's end does not fail if the figures cannot be kept. */
	if (figures.known && !ws_account(c, job, &figures, err))
		slurm_error("wormhole: job %u: what it has used is lost: %s", job, err);
	return true;
}

static void bring_figures(void)
{
	ws_account_rest(config.dir);
}

static void tidy(void)
{
	ws_tidy(&config);
	ws_account_rest(config.dir);
}

int slurm_spank_job_epilog(spank_t sp, int argc, char **argv)
{
	char err[WS_ERROR];
	uint32_t job;
	bool done;

	/* The tenant goes whatever else is wrong there, since no later epilog would remove it. */
	configure(argc, argv);
	if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS)
		return -1;
	done = ws_job_end(&config, job, err);
	ws_in_background(bring_figures);
	return done ? 0 : refuse(job, err);
}

/* --- What Slurm loads --------------------------------------------------------------- */

int slurm_spank_init(spank_t sp, int argc, char **argv)
{
	int i;

	if (spank_context() == S_CTX_SLURMD) {
		if (configure(argc, argv))
			return -1;
		setenv(WS_DIR_VARIABLE, config.dir, 1);
		ws_in_background(tidy);
		return 0;
	}
	/* The options are checked by what plugstack.conf says. */
	if (!spank_remote(sp) && configure(argc, argv))
		return -1;
	for (i = 0; options[i].name; i++)
		if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS)
			return -1;
	return 0;
}

/* --- A step: before its first task, as root ---------------------------------------------- */

static void prepend(spank_t sp, const char *name, const char *value, char separator)
{
	char old[16384], text[20480];

	if (spank_getenv(sp, name, old, sizeof(old)) == ESPANK_SUCCESS && *old)
		snprintf(text, sizeof(text), "%s%c%s", value, separator, old);
	else
		snprintf(text, sizeof(text), "%s", value);
	spank_setenv(sp, name, text, 1);
}

static void lead(spank_t sp)
{
	char path[PATH_MAX + 32];

	if (*config.libs) {
		prepend(sp, "LD_LIBRARY_PATH", config.libs, ':');
		snprintf(path, sizeof(path), "%s/libwormhole-preload.so", config.libs);
		prepend(sp, "LD_PRELOAD", path, ' ');
		snprintf(path, sizeof(path), "%s/libwormhole-audit.so", config.libs);
		prepend(sp, "LD_AUDIT", path, ':');
	}
	snprintf(path, sizeof(path), "%s/server.sock", config.dir);
	spank_setenv(sp, "WORMHOLE_TRANSPORT", "shm", 1);
	spank_setenv(sp, "WORMHOLE_SOCKET", path, 1);
}

/*
 * The step that only contains the job's other processes (PrologFlags=Contain) comes first and
 * without the job's options, so that the tenant is not its.
 */
static bool is_extern(spank_t sp)
{
	uint32_t step;

	return spank_get_item(sp, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
	       step == SLURM_EXTERN_CONT;
}

int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv)
{
	uint32_t job;

	if (!spank_remote(sp) || is_extern(sp))
		return 0;
	if (configure(argc, argv) || spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    begin(job, &grant))
		return -1;
	return 0;
}

int slurm_spank_user_init(spank_t sp, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (grant.memory)
		lead(sp);
	return 0;
}

int slurm_spank_task_init_privileged(spank_t sp, int argc, char **argv)
{
	char err[WS_ERROR];

	(void)sp;
	(void)argc;
	(void)argv;
	if (grant.waits)
		return refuse(grant.job, "back in the queue");
	return ws_view(&config, &grant, err) ? 0 : refuse(grant.job, err);
}
