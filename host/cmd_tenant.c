// SPDX-License-Identifier: Apache-2.0
/* `wormhole tenant create, delete, list` and `wormhole limit`: requests to the server. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tenancy.h"
#include "views.h"
#include "wormhole.h"

#define GONE_TIMEOUT_MS	20000	/* a driver may need long to end a process */

struct tenant_args {
	const char *dir, *name, *user, *devices;
	struct wh_limit_list limits;
	bool force, json;
	bool takes_name, takes_limits, wants_limits, takes_devices;	/* of the command */
};

enum { KEY_USER = 0x300, KEY_FORCE };

/*
 * The commands have different options, but they share this parser. Where takes_name is set,
 * a name is required.
 */
static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct tenant_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->dir;
		if (a->takes_limits)
			state->child_inputs[1] = &a->limits;
		if (a->takes_devices)
			state->child_inputs[2] = &a->devices;
		return 0;
	case KEY_USER: a->user = arg; return 0;
	case KEY_FORCE: a->force = true; return 0;
	case 'j': a->json = true; return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num || !a->takes_name)
			return ARGP_ERR_UNKNOWN;
		a->name = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (a->takes_name)
			wh_usage_error(state, "name the tenant");
		return 0;
	case ARGP_KEY_SUCCESS:
		if (a->wants_limits && !wh_limit_said(&a->limits))
			wh_usage_error(state, "say what to limit: --mem, --sm, --sm-max, --sm-policy, --priority or --device");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child limit_children[] = {
	{ &wh_dir_argp, 0, NULL, 0 }, { &wh_limit_argp, 0, "Limits:", 1 },
	{ &wh_timeout_argp, 0, NULL, 0 }, { 0 }
};

static const struct argp_child all_children[] = {
	{ &wh_dir_argp, 0, NULL, 0 }, { &wh_limit_argp, 0, "Limits:", 1 },
	{ &wh_devices_argp, 0, NULL, 1 }, { 0 }
};

/* --- create, limit ---------------------------------------------------------------- */

static const struct argp_option create_options[] = {
	{ "user", KEY_USER, "USER", 0, "whose programs may be this tenant's (default: the server's user)", 0 },
	{ 0 }
};

static const struct argp create_argp = {
	create_options, parse, "NAME",
	"Make a tenant that stays until it is deleted, also when the server starts again; programs join it by name.",
	all_children, NULL, NULL
};

static int create(int argc, char **argv)
{
	struct tenant_args a = { .takes_name = true, .takes_limits = true, .takes_devices = true };
	const struct passwd *pw;
	cJSON *request;

	wh_parse(&create_argp, argc, argv, 0, &a);
	request = wh_request("create", a.name);
	cJSON_AddTrueToObject(request, "keep");
	wh_request_limits(request, &a.limits);
	wh_request_devices(request, a.devices);
	if (a.user) {
		pw = getpwnam(a.user);
		if (!pw) {
			wh_error("--user: there is no user '%s'", a.user);
			return EXIT_FAILED;
		}
		cJSON_AddNumberToObject(request, "uid", pw->pw_uid);
	}
	return wh_server_do(wh_server_dir(a.dir), request);
}

static const struct argp limit_argp = {
	NULL, parse, "TENANT|ID/WINDOW",
	"Change limits of a tenant while its programs run; what is not said stays as it is. "
	"Tenants of a server VM are its windows, such as 1/window0; its number alone is enough "
	"where it has one.",
	limit_children, NULL, NULL
};

int cmd_limit(int argc, char **argv)
{
	struct tenant_args a = { .takes_name = true, .takes_limits = true, .wants_limits = true };
	cJSON *request;

	wh_parse(&limit_argp, argc, argv, 0, &a);
	if (wh_is_window(a.name))
		return wh_vm_limit(a.name, &a.limits);
	request = wh_request("set", a.name);
	wh_request_limits(request, &a.limits);
	return wh_server_do(wh_server_dir(a.dir), request);
}

/* --- delete ----------------------------------------------------------------------- */

static const struct argp_option delete_options[] = {
	{ "force", KEY_FORCE, NULL, 0, "end its workers, too; their programs get errors", 0 },
	{ 0 }
};

static const struct argp delete_argp = {
	delete_options, parse, "TENANT",
	"Remove a tenant and its counters, and what the server has kept of it.", wh_dir_only, NULL, NULL
};

/* The server answers at once, but workers need some time to end. */
static int await_gone(const char *dir, const char *name)
{
	struct timespec pause = { .tv_nsec = 10000000 };
	char *path;
	int i;

	if (asprintf(&path, "%s/tenants/%s.limits", dir, name) < 0)
		wh_no_memory();
	for (i = 0; i < GONE_TIMEOUT_MS / 10 && !access(path, F_OK); i++)
		nanosleep(&pause, NULL);
	i = access(path, F_OK);
	free(path);
	if (i)
		return EXIT_DONE;
	wh_error("tenant %s has workers that do not end; see them by `wormhole stat %s'", name, name);
	return EXIT_FAILED;
}

static int delete(int argc, char **argv)
{
	struct tenant_args a = { .takes_name = true };
	cJSON *request;
	char *dir;
	int rc;

	wh_parse(&delete_argp, argc, argv, 0, &a);
	if (wh_refuse_window(a.name, "deleted"))
		return EXIT_FAILED;
	dir = wh_server_dir(a.dir);
	request = wh_request("delete", a.name);
	cJSON_AddBoolToObject(request, "force", a.force);
	rc = wh_server_do(dir, request);
	return rc ? rc : await_gone(dir, a.name);
}

/* --- list ------------------------------------------------------------------------- */

static const struct argp_option list_options[] = {
	{ "json", 'j', NULL, 0, "print a JSON array", 0 },
	{ 0 }
};

static const struct argp list_argp = {
	list_options, parse, NULL,
	"List the tenants of the server.", wh_dir_only, NULL, NULL
};

/* Says how long a tenant is there. */
static const char *life_of(const cJSON *e)
{
	const char *kept = cJSON_GetStringValue(cJSON_GetObjectItem(e, "kept"));

	if (cJSON_IsTrue(cJSON_GetObjectItem(e, "ephemeral")))
		return "with its program";
	if (!kept || !strcmp(kept, "state"))
		return "until deleted";
	return *kept ? kept : "with the server";
}

static void print_list(const cJSON *all)
{
	const struct passwd *pw;
	const cJSON *e;
	char number[16];
	uid_t uid;

	printf("%-24s %-12s %s\n", "TENANT", "USER", "LIFE");
	cJSON_ArrayForEach(e, all) {
		uid = (uid_t)cJSON_GetNumberValue(cJSON_GetObjectItem(e, "uid"));
		pw = getpwuid(uid);
		snprintf(number, sizeof(number), "%u", uid);
		printf("%-24s %-12s %s\n", cJSON_GetStringValue(cJSON_GetObjectItem(e, "tenant")),
		       pw ? pw->pw_name : number, life_of(e));
	}
}

static int list(int argc, char **argv)
{
	struct tenant_args a = { 0 };
	const cJSON *all;
	cJSON *answer;

	wh_parse(&list_argp, argc, argv, 0, &a);
	answer = wh_server_answer(wh_server_dir(a.dir), wh_request("list", NULL));
	if (!answer)
		return EXIT_FAILED;
	all = cJSON_GetObjectItem(answer, "tenants");
	if (a.json) {
		wh_json_print(all);
	} else {
		print_list(all);
	}
	cJSON_Delete(answer);
	return EXIT_DONE;
}

int cmd_tenant(int argc, char **argv)
{
	static const struct command table[] = {
		{ "create", create, "make a tenant that stays" },
		{ "delete", delete, "remove a tenant" },
		{ "list", list, "list the tenants" },
		{ "check", wh_tenant_check, "check files of tenants" },
		{ "export", wh_tenant_export, "print tenants as a file" },
		{ "import", wh_tenant_import, "make the tenants of a file" },
		{ NULL, NULL, NULL }
	};

	return wh_command_dispatch(table, argv[0], argc, argv);
}
