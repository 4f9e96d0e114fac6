// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole run` for a program of this machine: asks the server for a tenant with the
 * limits, then becomes the program, with our libraries and the tenant's socket. Signals,
 * exit status and terminal are the program's own; another user's program at a terminal is a
 * child (run_user.c). An ephemeral tenant lives as long as this process, or as any process
 * that inherited the connection on which it was made.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"
#include "tenancy.h"
#include "tenant/control.h"
#include "tenant/hami.h"
#include "trace.h"
#include "wormhole.h"

#define PRELOAD	"libwormhole-preload.so"
#define AUDIT	"libwormhole-audit.so"

extern char **environ;

/* --- The program's environment ---------------------------------------------------- */

/*
 * Puts our value first and keeps the old value after it. A program inside another `wormhole
 * run' may have ours already.
 */
static void prepend(const char *name, const char *value, const char *separator)
{
	const char *old = getenv(name);
	size_t n = strlen(value);
	char *text;

	if (!old || !*old) {
		wh_setenv(name, value);
		return;
	}
	if (!strncmp(old, value, n) && (!old[n] || old[n] == *separator))
		return;
	if (asprintf(&text, "%s%s%s", value, separator, old) < 0)
		wh_no_memory();
	wh_setenv(name, text);
	free(text);
}

static void prepend_file(const char *name, const char *folder, const char *file,
			 const char *separator)
{
	char *path;

	if (asprintf(&path, "%s/%s", folder, file) < 0)
		wh_no_memory();
	if (!access(path, R_OK))
		prepend(name, path, separator);
	free(path);
}

/* Only a server uses these variables, but a user may expect an effect on the program. */
static void warn_of_variables(void)
{
	static const char *const names[] = {
		"CUDA_DEVICE_MEMORY_LIMIT", "CUDA_DEVICE_SM_LIMIT", "GPU_CORE_UTILIZATION_POLICY",
	};
	char idle[200];
	size_t i, n;
	char **e;

	for (e = environ; *e; e++)
		for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
			n = strlen(names[i]);
			if (strncmp(*e, names[i], n) || ((*e)[n] != '=' && (*e)[n] != '_'))
				continue;
			wh_warn("%.*s has no effect on a program; use --mem and --sm, or set it for `wormhole serve'",
				(int)strcspn(*e, "="), *e);
		}
	if (wh_hami_idle(environ, idle, sizeof(idle)))
		wh_warn(WH_HAMI_IDLE, idle);
}

static void set_environment(const char *libraries, const char *socket)
{
	prepend("LD_LIBRARY_PATH", libraries, ":");
	/* This is for programs with a static CUDA runtime; it changes no others. */
	prepend_file("LD_PRELOAD", libraries, PRELOAD, " ");
	/* This is for libraries that are searched elsewhere first, or by their paths. */
	prepend_file("LD_AUDIT", libraries, AUDIT, ":");
	wh_setenv("WORMHOLE_TRANSPORT", "shm");
	wh_setenv("WORMHOLE_SOCKET", socket);
}

/* --- The tenant ------------------------------------------------------------------- */

/* Returns a socket that may be used without a request to the server, or NULL if there is none. */
static char *usable_socket(const char *dir, const char *tenant)
{
	char *path;
	int n;

	if (strcmp(tenant, WH_DEFAULT))
		n = asprintf(&path, "%s/tenants/%s.sock", dir, tenant);
	else
		n = asprintf(&path, "%s/server.sock", dir);
	if (n < 0)
		wh_no_memory();
	if (!access(path, W_OK))
		return path;
	free(path);
	return NULL;
}

/* The tenant that the program gets, and how to reach it. */
struct place {
	char *name, *socket;	/* allocated */
	int connection;		/* keeps the tenant alive; -1: not needed */
};

/* The connection keeps the tenant alive, so it stays open across exec. */
static bool ask_for_place(const char *dir, cJSON *request, struct place *p)
{
	int fd = wh_server_connect(dir);
	cJSON *answer;

	if (fd < 0) {
		cJSON_Delete(request);
		return false;
	}
	answer = wh_server_ask(fd, request);
	if (!answer)
		return false;
	p->socket = wh_must(strdup(cJSON_GetStringValue(cJSON_GetObjectItem(answer, "socket"))));
	p->name = wh_must(strdup(cJSON_GetStringValue(cJSON_GetObjectItem(answer, "tenant"))));
	p->connection = cJSON_IsFalse(cJSON_GetObjectItem(answer, "ephemeral")) ? -1 : fd;
	cJSON_Delete(answer);
	if (p->connection >= 0)
		return !fcntl(fd, F_SETFD, 0);
	/* A tenant that stays needs nobody; another user's program must not have a way to order. */
	close(fd);
	return true;
}

static bool create_tenant(const struct wh_run_tenant *r, const char *dir, uid_t uid,
			  struct place *p)
{
	cJSON *request = wh_request("create", r->tenant);

	cJSON_AddTrueToObject(request, "ephemeral");
	cJSON_AddNumberToObject(request, "uid", uid);
	wh_request_limits(request, &r->limits);
	wh_request_devices(request, r->devices);
	return ask_for_place(dir, request, p);
}

/* Only the server knows whether a tenant with a socket is about to end. */
static bool may_control(const char *dir)
{
	char *path;
	bool may;

	if (asprintf(&path, "%s/" WH_CONTROL_SOCKET, dir) < 0)
		wh_no_memory();
	may = !access(path, W_OK);
	free(path);
	return may;
}

static void explain_no_socket(const char *tenant, const char *dir)
{
	const struct passwd *pw = getpwuid(geteuid());
	const char *user = pw ? pw->pw_name : "USER";

	if (tenant && strcmp(tenant, WH_DEFAULT) && wh_server_is_in(dir))
		wh_error("there is no tenant '%s' at %s that you may use; ask who runs that server for it "
			 "(`wormhole tenant create %s --user %s')", tenant, dir, tenant, user);
	else if (wh_server_is_in(dir))
		wh_error("the server at %s is not yours, and its tenant `default' is not open to you; ask who runs it for a "
			 "tenant (`wormhole tenant create NAME --user %s'), then name that: --tenant NAME", dir,
			 user);
	else
		wh_error("no server's socket at %s%s that you may use; start one by `wormhole serve', or name its --dir",
			 dir, wh_server_dir_else());
}

static bool find_place(const struct wh_run_tenant *r, const char *dir, uid_t uid,
		       struct place *p)
{
	bool limited = wh_limit_said(&r->limits) || r->devices;
	const char *name = r->tenant ? r->tenant : WH_DEFAULT;
	char *socket;

	if (limited)
		return create_tenant(r, dir, uid, p);
	if (strcmp(name, WH_DEFAULT) && may_control(dir))
		return ask_for_place(dir, wh_request("join", name), p);
	socket = usable_socket(dir, name);
	if (!socket)
		explain_no_socket(r->tenant, dir);
	*p = (struct place){ wh_must(strdup(name)), socket, -1 };
	return socket;
}

/* --- The program ------------------------------------------------------------------ */

/* Runs in the child if there is one. */
static int become_program(const struct wh_run_tenant *r, const struct passwd *pw,
			  const struct place *p)
{
	char *libraries = wh_layout_find("client-stubs");
	const struct wh_run_as as = { pw, p->name, p->socket, libraries, p->connection, r->argv };

	if (!libraries) {
		wh_error("client-stubs/ with the client libraries is not beside this command; build it by `make'");
		return EXIT_FAILED;
	}
	if (pw)
		wh_user_environment(pw);
	set_environment(libraries, p->socket);
	if (pw)
		return wh_run_as(&as);
	return wh_run_program(r->argv, NULL);
}

/* Runs the program as a child, since this process has to read the trace. */
static int run_traced(const struct wh_run_tenant *r, const char *dir, const struct passwd *pw,
		      const struct place *p)
{
	struct wh_tracing *t = wh_trace_start(dir, p->name, r->trace, r->trace_size);
	pid_t child;

	if (!t)
		return EXIT_FAILED;
	child = fork();
	if (!child)
		_exit(become_program(r, pw, p));
	if (child < 0)
		wh_no_memory();
	return wh_trace_while(t, child);
}

int wh_run_tenant(const struct wh_run_tenant *r)
{
	const struct passwd *pw = r->user ? wh_user_find(r->user) : NULL;
	char *dir = wh_server_dir(r->dir);
	struct place p;

	if (r->user && !pw)
		return EXIT_FAILED;
	if (pw)
		wh_user_standard_files();
	warn_of_variables();
	if (!find_place(r, dir, pw ? pw->pw_uid : geteuid(), &p))
		return EXIT_FAILED;
	return r->trace ? run_traced(r, dir, pw, &p) : become_program(r, pw, &p);
}
