// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole drain`, `reload` and `stop`: a server that takes no new programs, becomes another
 * program, or ends.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tenancy.h"
#include "wormhole.h"

#define LOOK_MS	200	/* while the server waits for its last programs */

struct stop_args {
	const char *dir;
	bool when_idle, force, off, json, suspend;
	uint64_t wait_ms;	/* 0: not said */
};

enum { KEY_WHEN_IDLE = 0x500, KEY_FORCE, KEY_OFF, KEY_SUSPEND, KEY_WAIT };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stop_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &a->dir; return 0;
	case KEY_SUSPEND: a->suspend = true; return 0;
	case KEY_WAIT: a->wait_ms = wh_suspend_wait(state, arg); return 0;
	case KEY_WHEN_IDLE: a->when_idle = true; return 0;
	case KEY_FORCE: a->force = true; return 0;
	case KEY_OFF: a->off = true; return 0;
	case 'j': a->json = true; return 0;
	case ARGP_KEY_SUCCESS:
		if (a->when_idle && a->force)
			wh_usage_error(state, "--when-idle and --force: say one of them");
		if (a->suspend && a->off)
			wh_usage_error(state, "--suspend and --off: say one of them");
		if (a->wait_ms && !a->suspend)
			wh_usage_error(state, "--wait is for --suspend");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* --- Programs that are left ------------------------------------------------------------- */

static unsigned int number(const cJSON *o)
{
	return (unsigned int)cJSON_GetNumberValue(o);
}

static unsigned int programs_of(const cJSON *answer)
{
	unsigned int n = 0;
	const cJSON *e;

	cJSON_ArrayForEach(e, cJSON_GetObjectItem(answer, "programs"))
		n += number(cJSON_GetObjectItem(e, "programs"));
	return n;
}

static void print_pids(FILE *out, const cJSON *e)
{
	const cJSON *pids = cJSON_GetObjectItem(e, "pids"), *pid;
	unsigned int n = number(cJSON_GetObjectItem(e, "programs"));

	cJSON_ArrayForEach(pid, pids)
		fprintf(out, " %u", number(pid));
	if ((int)n > cJSON_GetArraySize(pids))
		fprintf(out, " and %u more", n - (unsigned int)cJSON_GetArraySize(pids));
	fputc('\n', out);
}

static void print_programs(FILE *out, const cJSON *answer)
{
	const cJSON *e;

	if (!programs_of(answer))
		return;
	fprintf(out, "%-20s %8s  %s\n", "TENANT", "PROGRAMS", "PIDS");
	cJSON_ArrayForEach(e, cJSON_GetObjectItem(answer, "programs")) {
		fprintf(out, "%-20s %8u ", cJSON_GetStringValue(cJSON_GetObjectItem(e, "tenant")),
			number(cJSON_GetObjectItem(e, "programs")));
		print_pids(out, e);
	}
}

/* --- drain ------------------------------------------------------------------------------ */

static const struct argp_option drain_options[] = {
	{ "off", KEY_OFF, NULL, 0,
	  "take new programs again, and do not end with the last one; resume what --suspend has suspended", 0 },
	{ "suspend", KEY_SUSPEND, NULL, 0, "suspend all tenants that have programs, so that devices are empty", 0 },
	{ "wait", KEY_WAIT, "TIME", 0, "with --suspend: how long a tenant's calls and work under way may last", 0 },
	{ "json", 'j', NULL, 0, "print JSON", 0 },
	{ 0 }
};

static const struct argp drain_argp = {
	drain_options, parse, NULL,
	"Let the server take no new programs, and say which are left. Those run on, or with --suspend "
	"they wait.", wh_dir_only, NULL, NULL
};

static int print_drained(const struct stop_args *a, const cJSON *answer)
{
	char *text;

	if (a->json) {
		text = cJSON_Print(cJSON_GetObjectItem(answer, "programs"));
		if (!text || puts(text) < 0)
			return EXIT_FAILED;
		cJSON_free(text);
		return EXIT_DONE;
	}
	if (!a->off && !programs_of(answer))
		puts("no program runs");
	if (!a->off)
		print_programs(stdout, answer);
	return EXIT_DONE;
}

static const char *text_of(const cJSON *o, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(o, name));
}

static bool has_programs(const cJSON *answer, const char *tenant)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, cJSON_GetObjectItem(answer, "programs"))
		if (!strcmp(text_of(e, "tenant"), tenant))
			return true;
	return false;
}

/*
 * Suspends each tenant that runs programs, or resumes those that this has suspended. One that fails
 * has said why, and the others are not left out for it.
 */
static int suspend_all(const struct stop_args *a, const cJSON *programs)
{
	cJSON *all = wh_server_answer(wh_server_dir(a->dir), wh_request("list", NULL)), *request;
	const char *tenant, *state;
	int rc = all ? EXIT_DONE : EXIT_FAILED;
	const cJSON *t;

	cJSON_ArrayForEach(t, cJSON_GetObjectItem(all, "tenants")) {
		tenant = text_of(t, "tenant");
		state = text_of(t, "state");
		if (a->off ? !cJSON_IsTrue(cJSON_GetObjectItem(t, "drained")) :
			     !strcmp(state, "suspended") || !has_programs(programs, tenant))
			continue;
		request = wh_request(a->off ? "resume" : "suspend", tenant);
		if (a->suspend)
			cJSON_AddTrueToObject(request, "drain");
		if (a->wait_ms)
			cJSON_AddNumberToObject(request, "wait_ms", (double)a->wait_ms);
		if (wh_suspend_ask(a->dir, request) != EXIT_DONE)
			rc = EXIT_FAILED;
	}
	cJSON_Delete(all);
	return rc;
}

int cmd_drain(int argc, char **argv)
{
	struct stop_args a = { 0 };
	cJSON *request, *answer;
	int rc;

	wh_parse(&drain_argp, argc, argv, 0, &a);
	request = wh_request("drain", NULL);
	cJSON_AddBoolToObject(request, "on", !a.off);
	answer = wh_server_answer(wh_server_dir(a.dir), request);
	rc = answer && (a.suspend || a.off) ? suspend_all(&a, answer) : EXIT_DONE;
	if (!answer || print_drained(&a, answer) != EXIT_DONE)
		rc = EXIT_FAILED;
	cJSON_Delete(answer);
	return rc;
}

/* --- reload ----------------------------------------------------------------------------- */

static const struct argp reload_argp = {
	NULL, parse, NULL,
	"Let the server become the program that is installed now, with its options and its tenants. "
	"Programs run on.", wh_dir_only, NULL, NULL
};

int cmd_reload(int argc, char **argv)
{
	struct stop_args a = { 0 };

	wh_parse(&reload_argp, argc, argv, 0, &a);
	return wh_server_do(wh_server_dir(a.dir), wh_request("reload", NULL));
}

/* --- stop ------------------------------------------------------------------------------- */

static const struct argp_option stop_options[] = {
	{ "when-idle", KEY_WHEN_IDLE, NULL, 0,
	  "take no new programs, and end with the last one that runs; wait for that", 0 },
	{ "force", KEY_FORCE, NULL, 0, "end the programs that run", 0 },
	{ 0 }
};

static const struct argp stop_argp = {
	stop_options, parse, NULL,
	"End the server. While programs run it does not end, unless one of the options is given.",
	wh_dir_only, NULL, NULL
};

/* The connection ends when the server ends, which is after its workers have ended. */
static int await_end(int fd)
{
	char end;

	if (recv(fd, &end, 1, 0) < 0 && errno == EAGAIN) {
		wh_error("the server does not end; its workers may hang in the driver");
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

static void say_left(unsigned int n, const cJSON *answer)
{
	wh_info("the server ends with the last of %u program%s; `wormhole drain --off' lets it stay",
		n, n > 1 ? "s" : "");
	print_programs(stderr, answer);
}

/*
 * Has the server ended, since the connection has? If it was killed, another one goes on, and the
 * connection is one to that.
 */
static bool has_ended(const char *dir, int *fd)
{
	int again;
	char end;

	if (recv(*fd, &end, 1, MSG_DONTWAIT) < 0)
		return false;
	again = wh_server_reach(dir);
	if (again < 0)
		return true;
	close(*fd);
	*fd = again;
	return false;
}

/*
 * Waits until the server ends with its last program, and says which are left whenever their
 * number has changed. @fd is a connection to it.
 */
static int await_programs(const char *dir, int *fd, unsigned int before)
{
	const struct timespec pause = { 0, LOOK_MS * 1000000L };
	unsigned int n;
	cJSON *answer;
	bool stays;

	while (!has_ended(dir, fd)) {
		nanosleep(&pause, NULL);
		answer = wh_server_glance(dir, "programs", 10 * LOOK_MS);
		if (!answer)
			continue;
		n = programs_of(answer);
		stays = cJSON_IsFalse(cJSON_GetObjectItem(answer, "ends"));
		if (!stays && n && n != before)
			say_left(n, answer);
		cJSON_Delete(answer);
		if (stays) {
			wh_error("somebody said `wormhole drain --off': the server does not end");
			return EXIT_FAILED;
		}
		before = n;
	}
	return EXIT_DONE;
}

int cmd_stop(int argc, char **argv)
{
	struct stop_args a = { 0 };
	cJSON *request, *answer;
	unsigned int left;
	const char *dir;
	int fd, rc;

	wh_parse(&stop_argp, argc, argv, 0, &a);
	dir = wh_server_dir(a.dir);
	fd = wh_server_connect(dir);
	if (fd < 0)
		return EXIT_FAILED;
	request = wh_request("stop", NULL);
	if (a.when_idle)
		cJSON_AddTrueToObject(request, "when_idle");
	if (a.force)
		cJSON_AddTrueToObject(request, "force");
	answer = wh_server_ask(fd, request);
	if (!answer)
		return EXIT_FAILED;
	left = programs_of(answer);
	if (a.when_idle && left)
		say_left(left, answer);
	cJSON_Delete(answer);
	rc = a.when_idle && left ? await_programs(dir, &fd, left) : await_end(fd);
	close(fd);
	return rc;
}
