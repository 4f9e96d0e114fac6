// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole tenant check, export, import`: tenants as files (tenant/conf.h). `check' asks no
 * server, and looks at a folder in the same way as a server does at its start.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenancy.h"
#include "tenant/conf.h"
#include "wormhole.h"

struct conf_args {
	const char *dir;
	char **name;	/* what the command is about, `n' of them */
	int n;
	int least, most;
	bool asks;	/* a server */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct conf_args *a = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		if (a->asks)
			state->child_inputs[0] = &a->dir;
		return 0;
	case ARGP_KEY_ARGS:
		a->name = state->argv + state->next;
		a->n = state->argc - state->next;
		if (a->n > a->most)
			wh_usage_error(state, "'%s': one argument too many", a->name[a->most]);
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (a->least)
			wh_usage_error(state, "name a file");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* --- check ------------------------------------------------------------------------ */

static const struct argp check_argp = {
	NULL, parse, "[FILE|DIR...]",
	"Check files of tenants, or the files of a folder as a server of yours would read them at its "
	"start, without a server (default: the folder of the usual server of yours).", NULL, NULL, NULL
};

struct check {
	int dir;
	const char *folder;
	bool own;
	unsigned int files, bad;
	/* the tenants of all files so far; `line' has the index of the file */
	struct wh_conf_file all;
	char **path;
};

/* Says which file has the tenant already. */
static bool is_new(struct check *c, const struct wh_conf *t, const char *path)
{
	unsigned int i;

	for (i = 0; i < c->all.n; i++)
		if (!strcmp(c->all.tenant[i].name, t->name)) {
			wh_error("%s:%u: tenant %s stands in %s already", path, t->line, t->name,
				 c->path[c->all.tenant[i].line]);
			return false;
		}
	c->all.tenant = wh_must(reallocarray(c->all.tenant, c->all.n + 1, sizeof(*t)));
	c->all.tenant[c->all.n] = *t;
	c->all.tenant[c->all.n++].line = c->files;
	return true;
}

static bool check_tenant(struct check *c, const struct wh_conf *t, const char *path)
{
	char err[WH_CONF_ERROR];
	uid_t uid;

	if (wh_conf_uid(t, geteuid(), &uid, err, sizeof(err)))
		return is_new(c, t, path);
	wh_error("%s:%u: %s", path, t->line, err);
	return false;
}

static void check_file(const char *name, void *arg)
{
	struct check *c = arg;
	char err[WH_CONF_ERROR], *path;
	struct wh_conf_file f;
	bool good = true;
	unsigned int i;

	if (c->folder && asprintf(&path, "%s/%s", c->folder, name) < 0)
		wh_no_memory();
	if (!c->folder)
		path = wh_must(strdup(name));
	c->path = wh_must(reallocarray(c->path, c->files + 1, sizeof(*c->path)));
	c->path[c->files] = path;
	if (!wh_conf_read(&f, c->dir, name, path, c->own, err, sizeof(err))) {
		wh_error("%s", err);
		good = false;
	}
	for (i = 0; i < f.n; i++)
		good &= check_tenant(c, &f.tenant[i], path);
	if (good)
		printf("%s: %u tenants\n", path, f.n);
	wh_conf_free(&f);
	c->files++;
	c->bad += !good;
}

static void check_folder(struct check *c, const char *path)
{
	c->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	c->folder = path;
	c->own = true;
	if (c->dir < 0 || wh_conf_folder(c->dir, check_file, c) < 0) {
		wh_error("%s: %s", path, strerror(errno));
		c->bad++;
	}
	if (c->dir >= 0)
		close(c->dir);
}

static void check_path(struct check *c, const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		check_folder(c, path);
		return;
	}
	c->dir = AT_FDCWD;
	c->folder = NULL;
	c->own = false;
	check_file(path, c);
}

int wh_tenant_check(int argc, char **argv)
{
	struct conf_args a = { .most = 1 << 20 };
	struct wh_conf_places places;
	struct check c = { 0 };
	int i;

	wh_parse(&check_argp, argc, argv, 0, &a);
	for (i = 0; i < a.n; i++)
		check_path(&c, a.name[i]);
	if (!a.n) {
		wh_conf_places(&places, wh_serve_dir(NULL));
		check_path(&c, places.conf);
	}
	while (c.files)
		free(c.path[--c.files]);
	free(c.path);
	wh_conf_free(&c.all);
	return c.bad ? EXIT_FAILED : EXIT_DONE;
}

/* --- export ----------------------------------------------------------------------- */

static const struct argp export_argp = {
	NULL, parse, "[TENANT]",
	"Print a tenant, or all that outlive the server, as a file that makes them again.",
	wh_dir_only, NULL, NULL
};

static bool export_one(int fd, const char *tenant, const char *before)
{
	cJSON *answer = wh_server_ask(fd, wh_request("export", tenant));

	if (!answer)
		return false;
	printf("%s%s", before, cJSON_GetStringValue(cJSON_GetObjectItem(answer, "text")));
	cJSON_Delete(answer);
	return true;
}

static bool export_all(int fd)
{
	cJSON *answer = wh_server_ask(fd, wh_request("list", NULL));
	const char *before = "";
	bool good = answer;
	const cJSON *e;

	cJSON_ArrayForEach(e, cJSON_GetObjectItem(answer, "tenants")) {
		if (!good || !*cJSON_GetStringValue(cJSON_GetObjectItem(e, "kept")))
			continue;
		good = export_one(fd, cJSON_GetStringValue(cJSON_GetObjectItem(e, "tenant")), before);
		before = "\n";
	}
	cJSON_Delete(answer);
	return good;
}

int wh_tenant_export(int argc, char **argv)
{
	struct conf_args a = { .most = 1, .asks = true };
	bool good;
	int fd;

	wh_parse(&export_argp, argc, argv, 0, &a);
	fd = wh_server_connect(wh_server_dir(a.dir));
	if (fd < 0)
		return EXIT_FAILED;
	good = a.n ? export_one(fd, a.name[0], "") : export_all(fd);
	close(fd);
	return good ? EXIT_DONE : EXIT_FAILED;
}

/* --- import ----------------------------------------------------------------------- */

static const struct argp import_argp = {
	NULL, parse, "FILE",
	"Make the tenants of a file; each stays until it is deleted. If one cannot be made, the others are.",
	wh_dir_only, NULL, NULL
};

static bool import_one(int fd, const struct wh_conf *t, const char *path)
{
	char err[WH_CONF_ERROR];
	cJSON *request, *answer;
	uid_t uid;

	if (!wh_conf_uid(t, geteuid(), &uid, err, sizeof(err))) {
		wh_error("%s:%u: %s", path, t->line, err);
		return false;
	}
	request = wh_request("create", t->name);
	cJSON_AddTrueToObject(request, "keep");
	wh_request_limits(request, &t->limits);
	wh_request_devices(request, t->devices[0] ? t->devices : NULL);
	if (t->user[0])
		cJSON_AddNumberToObject(request, "uid", uid);
	answer = wh_server_ask(fd, request);
	if (!answer)
		wh_error("%s:%u: tenant %s is not made", path, t->line, t->name);
	cJSON_Delete(answer);
	return answer;
}

int wh_tenant_import(int argc, char **argv)
{
	struct conf_args a = { .least = 1, .most = 1, .asks = true };
	char err[WH_CONF_ERROR];
	struct wh_conf_file f;
	bool good = true;
	unsigned int i;
	int fd;

	wh_parse(&import_argp, argc, argv, 0, &a);
	/* What is wrong with the file is said before anything is made of it. */
	if (!wh_conf_read(&f, AT_FDCWD, a.name[0], a.name[0], false, err, sizeof(err))) {
		wh_error("%s", err);
		return EXIT_FAILED;
	}
	fd = wh_server_connect(wh_server_dir(a.dir));
	for (i = 0; fd >= 0 && i < f.n; i++)
		good &= import_one(fd, &f.tenant[i], a.name[0]);
	if (fd >= 0)
		close(fd);
	wh_conf_free(&f);
	return fd >= 0 && good ? EXIT_DONE : EXIT_FAILED;
}
