// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole run` for a program of this machine: asks the server for a tenant
 * with the limits, then becomes the program, whose libraries are ours and whose
 * socket is the tenant's. Signals, exit status and terminal are the program's
 * own. An ephemeral tenant lives as long as this process, which the program
 * now is, or anybody who inherited the connection that asked for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenancy.h"
#include "trace.h"
#include "wormhole.h"

#define PRELOAD	"libwormhole-preload.so"
#define AUDIT	"libwormhole-audit.so"

extern char **environ;

/* --- The program's environment ---------------------------------------------------- */

/* Ours first, what was there behind it. In a program of another `wormhole run' it may be there. */
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

/* These mean something to a server only; somebody may think otherwise. */
static void warn_of_variables(void)
{
	static const char *const names[] = { "CUDA_DEVICE_MEMORY_LIMIT", "CUDA_DEVICE_SM_LIMIT" };
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
}

static int set_environment(const char *socket)
{
	char *libraries = wh_layout_find("client-stubs");

	if (!libraries) {
		wh_error("client-stubs/ with the client libraries is not beside this command; build it by `make'");
		return -1;
	}
	prepend("LD_LIBRARY_PATH", libraries, ":");
	/* For programs with a static CUDA runtime; leaves all others alone. */
	prepend_file("LD_PRELOAD", libraries, PRELOAD, " ");
	/* For libraries that are looked for elsewhere before, or by their paths. */
	prepend_file("LD_AUDIT", libraries, AUDIT, ":");
	wh_setenv("WORMHOLE_TRANSPORT", "shm");
	wh_setenv("WORMHOLE_SOCKET", socket);
	free(libraries);
	return 0;
}

/* --- The tenant ------------------------------------------------------------------- */

/* A socket that we may use without asking the server for anything; NULL: there is none. */
static char *usable_socket(const char *dir, const char *tenant)
{
	char *path;
	int n;

	if (tenant && strcmp(tenant, "default"))
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

static const struct passwd *user_of(const struct wh_run_tenant *r)
{
	const struct passwd *pw = getpwnam(r->user);

	if (!pw)
		wh_error("--user: there is no user '%s'", r->user);
	else if (geteuid())
		wh_error("--user: only root can run a program as another user");
	else
		return pw;
	return NULL;
}

/* The connection stays open across exec: it keeps the tenant. */
static char *create_tenant(const struct wh_run_tenant *r, const char *dir, uid_t uid, char **name)
{
	cJSON *request = wh_request("create", r->tenant), *answer;
	int fd = wh_server_connect(dir);
	char *socket = NULL;

	cJSON_AddTrueToObject(request, "ephemeral");
	cJSON_AddNumberToObject(request, "uid", uid);
	wh_request_limits(request, &r->limits);
	wh_request_devices(request, r->devices);
	if (fd < 0) {
		cJSON_Delete(request);
		return NULL;
	}
	answer = wh_server_ask(fd, request);
	if (answer) {
		socket = wh_must(strdup(cJSON_GetStringValue(cJSON_GetObjectItem(answer, "socket"))));
		*name = wh_must(strdup(cJSON_GetStringValue(cJSON_GetObjectItem(answer, "tenant"))));
		fcntl(fd, F_SETFD, 0);
	}
	cJSON_Delete(answer);
	return socket;
}

/* *name: of the tenant, allocated. */
static char *find_socket(const struct wh_run_tenant *r, const char *dir, uid_t uid, char **name)
{
	bool limited = wh_limit_said(&r->limits) || r->devices;
	char *socket = usable_socket(dir, r->tenant);

	/* One of this name may be there and about to end: the server knows. */
	if (limited || (r->tenant && !socket)) {
		free(socket);
		return create_tenant(r, dir, uid, name);
	}
	if (!socket)
		wh_error("no server's socket at %s that you may use; start one by `wormhole serve', or name its --dir",
			 dir);
	*name = wh_must(strdup(r->tenant ? r->tenant : "default"));
	return socket;
}

/* --- The program ------------------------------------------------------------------ */

static int become_user(const struct passwd *pw)
{
	if (initgroups(pw->pw_name, pw->pw_gid) || setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid)) {
		wh_error("--user '%s': %s", pw->pw_name, strerror(errno));
		return -1;
	}
	wh_setenv("HOME", pw->pw_dir);
	wh_setenv("USER", pw->pw_name);
	wh_setenv("LOGNAME", pw->pw_name);
	return 0;
}

/* In the child, where there is one. */
static int become_program(const struct wh_run_tenant *r, const struct passwd *pw,
			  const char *socket)
{
	if (set_environment(socket) || (pw && become_user(pw)))
		return EXIT_FAILED;
	execvp(r->argv[0], r->argv);
	wh_error("cannot run '%s': %s", r->argv[0], strerror(errno));
	return EXIT_FAILED;
}

/* The program is a child then: somebody has to read. */
static int run_traced(const struct wh_run_tenant *r, const char *dir, const char *name,
		      const struct passwd *pw, const char *socket)
{
	struct wh_tracing *t = wh_trace_start(dir, name, r->trace, r->trace_size);
	pid_t child;

	if (!t)
		return EXIT_FAILED;
	child = fork();
	if (!child)
		_exit(become_program(r, pw, socket));
	if (child < 0)
		wh_no_memory();
	return wh_trace_while(t, child);
}

int wh_run_tenant(const struct wh_run_tenant *r)
{
	const struct passwd *pw = r->user ? user_of(r) : NULL;
	char *dir = wh_server_dir(r->dir), *socket, *name;

	if (r->user && !pw)
		return EXIT_FAILED;
	warn_of_variables();
	socket = find_socket(r, dir, pw ? pw->pw_uid : geteuid(), &name);
	if (!socket)
		return EXIT_FAILED;
	return r->trace ? run_traced(r, dir, name, pw, socket) : become_program(r, pw, socket);
}
