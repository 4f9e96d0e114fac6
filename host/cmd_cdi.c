// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole cdi`: writes a specification of the Container Device Interface for each tenant.
 * With it podman and other engines give a container the client libraries, the settings that
 * make programs use them, and the tenant's socket. A note beside the tenant's files
 * (tenant/tenant.h) names the specification: the server removes both with the tenant.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cdi.h"
#include "tenant/control.h"
#include "wormhole.h"

#define KIND		"wormhole/tenant"
/* The oldest version with everything that is used here. podman 4.3 refuses later versions. */
#define CDI_VERSION	"0.5.0"
#define CDI_FOLDER	"/run/cdi"
#define INSIDE		"/usr/lib/wormhole/client-stubs"
#define SOCKET_INSIDE	"/run/wormhole/tenant.sock"
#define PREFIX		"/wormhole-"
/* JAX looks for such a file before it asks CUDA. Here it is empty, and opens for nobody. */
#define NODE		"/dev/nvidiactl"
#define NO_NODE		"/dev/null"

enum {
	KEY_CDI_DIR = 0x300, KEY_PRINT, KEY_OPTIONS, KEY_SHARE, KEY_MAKE, KEY_CONTAIN, KEY_REMOVE,
	KEY_HAMI, KEY_USER
};

struct cdi_args {
	const char *dir, *cdi_dir;
	char **names;
	int n;
	int what;		/* KEY_PRINT to KEY_REMOVE; 0: write for existing tenants */
	struct wh_cdi_share share;
};

/* A program gets these variables; the image's other variables stay. */
static const char *const variables[] = {
	("LD_AUDIT=" INSIDE "/libwormhole-audit.so"),
	("LD_PRELOAD=" INSIDE "/libwormhole-preload.so"),
	"WORMHOLE_TRANSPORT=shm",
	("WORMHOLE_SOCKET=" SOCKET_INSIDE),
};
#define VARIABLES (sizeof(variables) / sizeof(*variables))

/* --- What a container gets ------------------------------------------------------------ */

static char *format(const char *a, const char *b, const char *c, const char *d)
{
	char *text;

	if (asprintf(&text, "%s%s%s%s", a, b, c, d) < 0)
		wh_no_memory();
	return text;
}

static char *socket_of(const char *dir, const char *tenant)
{
	char *path = strcmp(tenant, "default") ? format(dir, "/tenants/", tenant, ".sock") :
						 format(dir, "/server.sock", "", "");
	char *real = realpath(path, NULL);

	if (!real)
		wh_error("tenant %s: %s: %s", tenant, path, strerror(errno));
	free(path);
	return real;
}

static void add_mount(cJSON *mounts, const char *host, const char *inside)
{
	static const char *const options[] = { "ro", "nosuid", "nodev", "bind" };
	cJSON *m = cJSON_CreateObject();

	cJSON_AddStringToObject(m, "hostPath", host);
	cJSON_AddStringToObject(m, "containerPath", inside);
	cJSON_AddItemToObject(m, "options", cJSON_CreateStringArray(options, 4));
	cJSON_AddItemToArray(mounts, m);
}

cJSON *wh_cdi_specification(const struct wh_cdi_device *d)
{
	cJSON *spec = cJSON_CreateObject(), *device = cJSON_CreateObject(), *edits, *mounts;

	cJSON_AddStringToObject(spec, "cdiVersion", CDI_VERSION);
	cJSON_AddStringToObject(spec, "kind", d->kind);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(spec, "devices"), device);
	cJSON_AddStringToObject(device, "name", d->name);
	edits = cJSON_AddObjectToObject(device, "containerEdits");
	cJSON_AddItemToObject(edits, "env", cJSON_CreateStringArray(variables, VARIABLES));
	mounts = cJSON_AddArrayToObject(edits, "mounts");
	add_mount(mounts, d->libraries, INSIDE);
	add_mount(mounts, d->host, d->inside);
	add_mount(mounts, NO_NODE, NODE);
	if (d->hooks)
		cJSON_AddItemToObject(edits, "hooks", d->hooks);
	return spec;
}

/*
 * Prints options with the same effect, for engines that cannot read CDI, or not from a
 * folder that a user may write.
 */
static void print_options(const char *socket, const char *libraries)
{
	size_t i;

	for (i = 0; i < VARIABLES; i++)
		printf("--env=%s\n", variables[i]);
	printf("--volume=%s:%s:ro\n--volume=%s:%s:ro\n", libraries, INSIDE, socket, SOCKET_INSIDE);
	printf("--volume=" NO_NODE ":" NODE ":ro\n");
}

/* --- Files -------------------------------------------------------------------------------- */

bool wh_cdi_write(const char *path, const char *text, mode_t mode)
{
	char *draft;
	FILE *f = wh_draft_open(path, mode, &draft);

	if (f)
		fputs(text, f);
	if (f && wh_draft_done(f, draft, path))
		return true;
	wh_error("%s: %s", path, strerror(errno));
	return false;
}

/* Such a specification was written by a server with another folder. */
bool wh_cdi_is_others(const char *path, const char *host)
{
	static char text[64 * 1024];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	char *quoted = format("\"", host, "\"", "");
	bool others;

	if (f)
		fclose(f);
	text[n] = 0;
	others = f && !strstr(text, quoted);
	free(quoted);
	if (others)
		wh_error("%s is of another server's; give this one another name", path);
	return others;
}

/*
 * The note is written first: if the tenant ends meanwhile, the server removes both, or this
 * does.
 */
static bool write_both(const char *dir, const char *tenant, const char *path, const char *text)
{
	char *note = format(dir, "/tenants/", tenant, WH_CDI_NOTE);
	char *limits = format(dir, "/tenants/", tenant, ".limits");
	bool done = wh_cdi_write(note, path, 0600) && wh_cdi_write(path, text, 0644);

	if (access(limits, F_OK)) {
		wh_error("tenant %s has ended", tenant);
		done = false;
	}
	if (!done) {
		unlink(path);
		unlink(note);
	}
	free(note);
	free(limits);
	return done;
}

char *wh_cdi_path(const char *folder, const char *prefix, const char *name)
{
	char *real, *path, *file = format(prefix, name, ".json", "");

	if (mkdir(folder, 0755) && errno != EEXIST) {
		wh_error("%s: %s; podman reads specifications there and in /etc/cdi, which are root's: as a user, give the options of --options to `podman run'",
			 folder, strerror(errno));
		free(file);
		return NULL;
	}
	real = realpath(folder, NULL);
	path = format(real ? real : folder, file, "", "");
	free(real);
	free(file);
	return path;
}

static bool write_specification(const struct cdi_args *a, const char *dir, const char *tenant,
				const char *socket, const cJSON *spec)
{
	char *path = wh_cdi_path(a->cdi_dir, PREFIX, tenant), *text;
	bool done;

	if (!path)
		return false;
	text = wh_must(cJSON_Print(spec));
	done = !wh_cdi_is_others(path, socket) && write_both(dir, tenant, path, text);
	if (done)
		printf(KIND "=%s\n", tenant);
	free(path);
	free(text);
	return done;
}

/* --- Tenants -------------------------------------------------------------------------------- */

static bool one(const struct cdi_args *a, const char *dir, const char *tenant,
		const char *libraries)
{
	char *socket, last = tenant[strlen(tenant) - 1];
	cJSON *spec;
	bool done = true;

	if (last == '.' || last == '_' || last == '-') {
		wh_error("tenant %s: a device's name ends with a letter or digit; no specification for it",
			 tenant);
		return false;
	}
	socket = socket_of(dir, tenant);
	if (!socket)
		return false;
	spec = wh_cdi_specification(&(struct wh_cdi_device){
		.kind = KIND, .name = tenant, .host = socket, .inside = SOCKET_INSIDE,
		.libraries = libraries,
	});
	if (a->what == KEY_PRINT)
		wh_json_print(spec);
	else if (a->what == KEY_OPTIONS)
		print_options(socket, libraries);
	else
		done = write_specification(a, dir, tenant, socket, spec);
	cJSON_Delete(spec);
	free(socket);
	return done;
}

static bool named(const cJSON *all, const char *tenant)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, all)
		if (!strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(e, "tenant")), tenant))
			return true;
	wh_error("there is no tenant '%s'; `wormhole tenant list' shows those there are", tenant);
	return false;
}

/* If no tenant is named, all permanent ones are taken: a program's own tenant ends with it. */
static bool each(const struct cdi_args *a, const char *dir, const cJSON *all, const char *libraries)
{
	const cJSON *e;
	bool done = true;
	int i;

	for (i = 0; i < a->n; i++)
		done = named(all, a->names[i]) && one(a, dir, a->names[i], libraries) && done;
	if (a->n)
		return done;
	cJSON_ArrayForEach(e, all)
		if (!cJSON_IsTrue(cJSON_GetObjectItem(e, "ephemeral")))
			done = one(a, dir, cJSON_GetStringValue(cJSON_GetObjectItem(e, "tenant")),
				   libraries) && done;
	return done;
}

/* --- The command ---------------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "cdi-dir", KEY_CDI_DIR, "DIR", 0, "where container engines look for specifications (default: " CDI_FOLDER ")", 0 },
	{ "print", KEY_PRINT, NULL, 0, "print the specification of the one tenant that is named, and write none", 0 },
	{ "options", KEY_OPTIONS, NULL, 0, "print options for `podman run' that do the same, and write nothing", 0 },
	{ "share", KEY_SHARE, NULL, 0, "a device for a tenant that is made when the first container that names it starts; it stays until it is removed", 0 },
	{ "remove", KEY_REMOVE, NULL, 0, "remove the share that is named; its tenant stays", 0 },
	{ "user", KEY_USER, "USER", 0, "of a share: whose programs may be its tenant's (default: the server's user)", 0 },
	{ "hami", KEY_HAMI, NULL, 0, "of a share: each container has a tenant of its own, which ends with it; HAMi's variables in the container's configuration say its limits, at most those of the share", 0 },
	{ "make", KEY_MAKE, NULL, 0, "make the tenant of a share if it is missing: what containers' engines call as a hook", 0 },
	{ "contain", KEY_CONTAIN, NULL, 0, "make a container's tenant by a share with --hami: what containers' engines call as a hook, with the container's state on standard input", 0 },
	{ 0 }
};

/* Sets the action. Only one action is allowed, with one name. */
static void set_what(struct cdi_args *a, int what, struct argp_state *state)
{
	if (a->what)
		wh_usage_error(state, "one of --print, --options, --share, --remove, --make and --contain");
	a->what = what;
}

static void check(struct cdi_args *a, struct argp_state *state)
{
	const struct wh_limit_list *l = &a->share.limits;
	bool limits = wh_limit_said(l) || a->share.devices;

	if (a->what && a->n != 1)
		wh_usage_error(state, "name one %s", a->what < KEY_SHARE ? "tenant" : "share");
	if (a->what == KEY_SHARE && !limits)
		wh_usage_error(state, "say what the share is: --mem, --sm, --device or --devices");
	if (a->what != KEY_SHARE && (limits || a->share.user || a->share.hami))
		wh_usage_error(state, "limits, --user and --hami are of a --share; `wormhole limit' changes a tenant's");
	if (a->what >= KEY_SHARE)
		a->share.name = a->names[0];
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cdi_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->dir;
		state->child_inputs[1] = &a->share.limits;
		state->child_inputs[2] = &a->share.devices;
		return 0;
	case KEY_CDI_DIR: a->cdi_dir = arg; return 0;
	case KEY_USER: a->share.user = arg; return 0;
	case KEY_HAMI: a->share.hami = true; return 0;
	case KEY_PRINT:
	case KEY_OPTIONS:
	case KEY_SHARE:
	case KEY_REMOVE:
	case KEY_MAKE:
	case KEY_CONTAIN: set_what(a, key, state); return 0;
	case ARGP_KEY_ARGS:
		a->names = state->argv + state->next;
		a->n = state->argc - state->next;
		return 0;
	case ARGP_KEY_END: check(a, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &wh_dir_argp, 0, NULL, 0 }, { &wh_limit_argp, 0, "Limits of a share:", 1 },
	{ &wh_devices_argp, 0, NULL, 1 }, { 0 }
};

static const struct argp argp = {
	options, parse, "[TENANT...|SHARE]",
	"Let containers be a tenant's clients: write a specification of the Container Device "
	"Interface for each tenant that is named, or for all that stay, which goes with the tenant; "
	"or for a share, whose tenant is made when a container starts.",
	children, NULL, NULL
};

static bool tenants(const struct cdi_args *a, const char *dir, const char *libraries)
{
	cJSON *answer = wh_server_answer(dir, wh_request("list", NULL));
	bool done = answer && each(a, dir, cJSON_GetObjectItem(answer, "tenants"), libraries);

	cJSON_Delete(answer);
	return done;
}

int cmd_cdi(int argc, char **argv)
{
	struct cdi_args a = { .cdi_dir = CDI_FOLDER };
	char *dir, *libraries;
	bool done;

	wh_parse(&argp, argc, argv, 0, &a);
	dir = wh_server_dir(a.dir);
	if (a.what == KEY_MAKE)
		return wh_share_make(a.share.name, dir) ? EXIT_DONE : EXIT_FAILED;
	if (a.what == KEY_CONTAIN)
		return wh_share_hook(a.share.name, dir) ? EXIT_DONE : EXIT_FAILED;
	if (a.what == KEY_REMOVE)
		return wh_share_remove(a.share.name, a.cdi_dir, dir) ? EXIT_DONE : EXIT_FAILED;
	libraries = wh_layout_find("client-stubs");
	if (!libraries) {
		wh_error("client-stubs/ with the client libraries is not beside this command; build it by `make'");
		return EXIT_FAILED;
	}
	done = a.what == KEY_SHARE ? wh_share_write(&a.share, a.cdi_dir, dir, libraries) :
				     tenants(&a, dir, libraries);
	return done ? EXIT_DONE : EXIT_FAILED;
}
