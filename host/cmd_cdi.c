// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole cdi`: a specification of the Container Device Interface for each tenant, by which
 * podman and others give a container the client libraries, what leads programs to them, and the
 * tenant's socket. A note beside the tenant's files (tenant/tenant.h) says where the specification
 * lies: the server removes both with the tenant.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenancy.h"
#include "tenant/control.h"
#include "wormhole.h"

#define KIND		"wormhole/tenant"
/* The oldest that has all that is used: podman 4.3 refuses a later one. */
#define CDI_VERSION	"0.5.0"
#define CDI_FOLDER	"/run/cdi"
#define INSIDE		"/usr/lib/wormhole/client-stubs"
#define SOCKET_INSIDE	"/run/wormhole/tenant.sock"

enum { KEY_CDI_DIR = 0x300, KEY_PRINT, KEY_OPTIONS };

struct cdi_args {
	const char *dir, *cdi_dir;
	char **names;
	int n;
	bool print, options;
};

/* What a program's environment gets; the image's other variables stay. */
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

static cJSON *specification(const char *tenant, const char *socket, const char *libraries)
{
	cJSON *spec = cJSON_CreateObject(), *device = cJSON_CreateObject(), *edits, *mounts;

	cJSON_AddStringToObject(spec, "cdiVersion", CDI_VERSION);
	cJSON_AddStringToObject(spec, "kind", KIND);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(spec, "devices"), device);
	cJSON_AddStringToObject(device, "name", tenant);
	edits = cJSON_AddObjectToObject(device, "containerEdits");
	cJSON_AddItemToObject(edits, "env", cJSON_CreateStringArray(variables, VARIABLES));
	mounts = cJSON_AddArrayToObject(edits, "mounts");
	add_mount(mounts, libraries, INSIDE);
	add_mount(mounts, socket, SOCKET_INSIDE);
	return spec;
}

/* The same for those that cannot read CDI, or not where a user may write. */
static void print_options(const char *socket, const char *libraries)
{
	size_t i;

	for (i = 0; i < VARIABLES; i++)
		printf("--env=%s\n", variables[i]);
	printf("--volume=%s:%s:ro\n--volume=%s:%s:ro\n", libraries, INSIDE, socket, SOCKET_INSIDE);
}

/* --- Files -------------------------------------------------------------------------------- */

/* A new file in the place of an old one, whole or not at all. */
static bool write_file(const char *path, const char *text, mode_t mode)
{
	char *draft = format(path, ".new", "", "");
	size_t n = strlen(text);
	bool done;
	int fd;

	unlink(draft);
	fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	done = fd >= 0 && write(fd, text, n) == (ssize_t)n && !fchmod(fd, mode) &&
	       !rename(draft, path);
	if (!done) {
		wh_error("%s: %s", path, strerror(errno));
		unlink(draft);
	}
	if (fd >= 0)
		close(fd);
	free(draft);
	return done;
}

/* Does a specification at path name another socket, of a server with a folder of its own? */
static bool is_others(const char *path, const char *socket)
{
	static char text[64 * 1024];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	char *quoted = format("\"", socket, "\"", "");
	bool others;

	if (f)
		fclose(f);
	text[n] = 0;
	others = f && !strstr(text, quoted);
	free(quoted);
	return others;
}

/* The note is there first, and a tenant that ends meanwhile takes both with it, or we do. */
static bool write_both(const char *dir, const char *tenant, const char *path, const char *text)
{
	char *note = format(dir, "/tenants/", tenant, WH_CDI_NOTE);
	char *limits = format(dir, "/tenants/", tenant, ".limits");
	bool done = write_file(note, path, 0600) && write_file(path, text, 0644);

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

static bool write_specification(const struct cdi_args *a, const char *dir, const char *tenant,
				const char *socket, const cJSON *spec)
{
	char *folder, *path, *text;
	bool done = false;

	if (mkdir(a->cdi_dir, 0755) && errno != EEXIST) {
		wh_error("%s: %s; podman reads specifications there and in /etc/cdi, which are root's: as a user, give the options of --options to `podman run'",
			 a->cdi_dir, strerror(errno));
		return false;
	}
	folder = realpath(a->cdi_dir, NULL);
	path = format(folder ? folder : a->cdi_dir, "/wormhole-", tenant, ".json");
	text = wh_must(cJSON_Print(spec));
	if (is_others(path, socket))
		wh_error("%s is of another server's tenant; give this one another name", path);
	else
		done = write_both(dir, tenant, path, text);
	if (done)
		printf(KIND "=%s\n", tenant);
	free(folder);
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
	spec = specification(tenant, socket, libraries);
	if (a->print)
		wh_json_print(spec);
	else if (a->options)
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

/* All that stay, if none is named: a program's own ends with it. */
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
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cdi_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &a->dir; return 0;
	case KEY_CDI_DIR: a->cdi_dir = arg; return 0;
	case KEY_PRINT: a->print = true; return 0;
	case KEY_OPTIONS: a->options = true; return 0;
	case ARGP_KEY_ARGS:
		a->names = state->argv + state->next;
		a->n = state->argc - state->next;
		return 0;
	case ARGP_KEY_END:
		if (a->print && a->options)
			argp_error(state, "--print or --options, not both");
		if ((a->print || a->options) && a->n != 1)
			argp_error(state, "name one tenant");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &wh_dir_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
	options, parse, "[TENANT...]",
	"Let containers be a tenant's clients: write a specification of the Container Device "
	"Interface for each tenant that is named, or for all that stay. It goes with the tenant.",
	children, NULL, NULL
};

int cmd_cdi(int argc, char **argv)
{
	struct cdi_args a = { .cdi_dir = CDI_FOLDER };
	char *dir, *libraries;
	cJSON *answer;
	bool done;
	int fd;

	wh_parse(&argp, argc, argv, 0, &a);
	libraries = wh_layout_find("client-stubs");
	if (!libraries) {
		wh_error("client-stubs/ with the client libraries is not beside this command; build it by `make'");
		return EXIT_FAILED;
	}
	dir = wh_server_dir(a.dir);
	fd = wh_server_connect(dir);
	answer = fd < 0 ? NULL : wh_server_ask(fd, wh_request("list", NULL));
	done = answer && each(&a, dir, cJSON_GetObjectItem(answer, "tenants"), libraries);
	cJSON_Delete(answer);
	return done ? EXIT_DONE : EXIT_FAILED;
}
