// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole cdi --share`: a device whose tenant is made when the first container that names
 * it starts. The specification's hook makes it (`wormhole cdi --make`). The container and
 * the hook share a folder, DIR/shares/NAME, which the container has from its start. The
 * engine mounts before hooks run, so a socket that the hook makes could not be mounted
 * itself; the hook gives it a second name in the folder. The request for the server is
 * beside the folder, where no container sees it.
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cdi.h"
#include "tenant/control.h"
#include "wormhole.h"

#define KIND		"wormhole/share"
#define PREFIX		"/wormhole-share-"
#define FOLDER_INSIDE	"/run/wormhole"
#define SOCKET_NAME	"tenant.sock"
#define HOOK_S		30
#define STATE_MS	1000

__attribute__((format(printf, 1, 2)))
static char *text(const char *fmt, ...)
{
	char *out;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&out, fmt, ap) < 0)
		wh_no_memory();
	va_end(ap);
	return out;
}

/* The name becomes a file's name before the server has checked it. */
static bool name_is_good(const char *name)
{
	size_t n = strlen(name), i;
	bool good = n && n < WH_TENANT_NAME && isalpha((unsigned char)name[0]) &&
		    isalnum((unsigned char)name[n - 1]);

	for (i = 0; good && i < n; i++)
		good = isalnum((unsigned char)name[i]) || strchr("._-", name[i]);
	if (!good)
		wh_error("'%s' is no name of a device and a tenant: it begins with a letter, ends with a letter or digit, and has '.', '_' and '-' between",
			 name);
	return good;
}

/* --- The tenant that is wanted ------------------------------------------------------------- */

/* Returns the request that `wormhole tenant create` would make, or NULL after a message. */
static cJSON *request_of(const struct wh_cdi_share *s)
{
	cJSON *request = wh_request("create", s->name);
	const struct passwd *pw;

	wh_request_limits(request, &s->limits);
	if (!s->user)
		return request;
	pw = getpwnam(s->user);
	if (pw) {
		cJSON_AddNumberToObject(request, "uid", pw->pw_uid);
		return request;
	}
	wh_error("--user: there is no user '%s'", s->user);
	cJSON_Delete(request);
	return NULL;
}

static cJSON *read_request(const char *path, const char *name)
{
	static char buf[WH_CONTROL_PACKET];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(buf, 1, sizeof(buf) - 1, f) : 0;
	cJSON *request;

	if (f)
		fclose(f);
	buf[n] = 0;
	request = cJSON_Parse(buf);
	if (!request)
		wh_error("there is no share '%s' at %s; make it by `wormhole cdi --share'", name, path);
	return request;
}

static bool make_folder(const char *path, mode_t mode)
{
	if (!mkdir(path, mode) || errno == EEXIST)
		return true;
	wh_error("%s: %s", path, strerror(errno));
	return false;
}

/* --- The device ----------------------------------------------------------------------------- */

static cJSON *hooks_of(const char *name, const char *dir)
{
	char *self = realpath("/proc/self/exe", NULL), *where = text("--dir=%s", dir);
	const char *const words[] = { "wormhole", "cdi", "--make", name, where };
	cJSON *hooks = cJSON_CreateArray(), *hook = cJSON_CreateObject();

	cJSON_AddItemToArray(hooks, hook);
	cJSON_AddStringToObject(hook, "hookName", "createRuntime");
	cJSON_AddStringToObject(hook, "path", wh_must(self));
	cJSON_AddItemToObject(hook, "args", cJSON_CreateStringArray(words, 5));
	cJSON_AddNumberToObject(hook, "timeout", HOOK_S);
	free(self);
	free(where);
	return hooks;
}

static bool write_all(const struct wh_cdi_share *s, const char *path, const char *dir,
		      const char *libraries, const char *wanted)
{
	char *shares = text("%s/shares", dir), *folder = text("%s/%s", shares, s->name);
	char *request = text("%s.json", folder), *spec = NULL;
	const struct wh_cdi_device d = {
		.kind = KIND, .name = s->name, .host = folder, .inside = FOLDER_INSIDE,
		.libraries = libraries, .hooks = hooks_of(s->name, dir),
	};
	cJSON *o = wh_cdi_specification(&d);
	bool done;

	spec = wh_must(cJSON_Print(o));
	done = !wh_cdi_is_others(path, folder) && make_folder(shares, 0711) &&
	       make_folder(folder, 0755) &&
	       wh_cdi_write(request, wanted, 0600) && wh_cdi_write(path, spec, 0644);
	if (done)
		printf(KIND "=%s\n", s->name);
	cJSON_Delete(o);
	free(spec);
	free(request);
	free(folder);
	free(shares);
	return done;
}

bool wh_share_write(const struct wh_cdi_share *s, const char *cdi_dir, const char *dir,
		    const char *libraries)
{
	char *path, *wanted, *real = realpath(dir, NULL);
	cJSON *request;
	bool done;

	if (!real)
		wh_error("%s: %s; start a server by `wormhole serve', or name its --dir", dir, strerror(errno));
	if (!real || !name_is_good(s->name))
		return false;
	request = request_of(s);
	path = request ? wh_cdi_path(cdi_dir, PREFIX, s->name) : NULL;
	if (!path) {
		cJSON_Delete(request);
		return false;
	}
	wanted = wh_must(cJSON_PrintUnformatted(request));
	done = write_all(s, path, real, libraries, wanted);
	cJSON_Delete(request);
	free(wanted);
	free(path);
	free(real);
	return done;
}

/* --- The hook ------------------------------------------------------------------------------- */

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

/* Gives the socket a second name, which replaces that of an earlier server. */
static bool show(const char *socket, const char *as)
{
	char *draft = text("%s.%d", as, getpid());
	bool done;

	unlink(draft);
	done = !link(socket, draft) && !rename(draft, as);
	if (!done)
		wh_error("%s: %s", as, strerror(errno));
	/* rename() does nothing if both are the same file, so the draft must be removed. */
	unlink(draft);
	free(draft);
	return done;
}

/* Another container's hook may be faster. It is enough that the tenant exists. */
static bool create(const char *dir, const char *wanted, const char *name, const char *socket)
{
	cJSON *request = read_request(wanted, name), *answer = NULL;
	int fd = request ? wh_server_connect(dir) : -1;

	if (fd >= 0)
		answer = wh_server_ask(fd, request);
	else
		cJSON_Delete(request);
	if (fd >= 0)
		close(fd);
	cJSON_Delete(answer);
	return answer || !access(socket, F_OK);
}

/*
 * The engine writes the container's state to its hook. A hook that does not read it counts
 * as failed.
 */
static void read_state(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	struct stat st;
	char buf[4096];

	if (fstat(STDIN_FILENO, &st) || !S_ISFIFO(st.st_mode))
		return;
	while (poll(&p, 1, STATE_MS) == 1 && read(STDIN_FILENO, buf, sizeof(buf)) > 0)
		;
}

bool wh_share_make(const char *name, const char *dir)
{
	char *socket, *as, *wanted;
	bool done;

	read_state();
	if (!name_is_good(name))
		return false;
	socket = text("%s/tenants/%s.sock", dir, name);
	as = text("%s/shares/%s/" SOCKET_NAME, dir, name);
	wanted = text("%s/shares/%s.json", dir, name);
	/* A user's engine runs the hook as the user, who may only check that the work is done. */
	done = same_file(socket, as) ||
	       ((!access(socket, F_OK) || create(dir, wanted, name, socket)) && show(socket, as));
	free(wanted);
	free(as);
	free(socket);
	return done;
}

/* --- Its end -------------------------------------------------------------------------------- */

bool wh_share_remove(const char *name, const char *cdi_dir, const char *dir)
{
	char *shares, *folder, *as, *wanted, *path;
	bool done;

	if (!name_is_good(name))
		return false;
	shares = text("%s/shares", dir);
	folder = text("%s/%s", shares, name);
	as = text("%s/" SOCKET_NAME, folder);
	wanted = text("%s.json", folder);
	path = text("%s" PREFIX "%s.json", cdi_dir, name);
	done = !unlink(path);
	if (!done)
		wh_error("%s: %s", path, strerror(errno));
	unlink(as);
	unlink(wanted);
	rmdir(folder);
	rmdir(shares);		/* if that was the last share */
	free(path);
	free(wanted);
	free(as);
	free(folder);
	free(shares);
	return done;
}
