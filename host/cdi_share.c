// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole cdi --share`: a device whose tenant is made when the first container that names
 * it starts. The specification's hook makes it (`wormhole cdi --make`). The container and
 * the hook share a folder, DIR/shares/NAME, which the container has from its start. The
 * engine mounts before hooks run, so a socket that the hook makes could not be mounted
 * itself; the hook gives it a second name in the folder. The request for the server is
 * beside the folder, where no container sees it. With --hami, each container has a tenant of its
 * own (cdi_contain.c), whose socket is mounted over an empty file in the folder.
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
#define HOOK_S		30
#define STATE_MS	1000

char *wh_cdi_text(const char *fmt, ...)
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
	wh_request_devices(request, s->devices);
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

static cJSON *hooks_of(const struct wh_cdi_share *s, const char *dir)
{
	char *self = realpath("/proc/self/exe", NULL), *where = wh_cdi_text("--dir=%s", dir);
	const char *const words[] = { "wormhole", "cdi", s->hami ? "--contain" : "--make", s->name, where };
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
	char *shares = wh_cdi_text("%s/shares", dir), *folder = wh_cdi_text("%s/%s", shares, s->name);
	char *request = wh_cdi_text("%s.json", folder), *spec = NULL;
	char *place = wh_cdi_text("%s/" WH_SHARE_SOCKET, folder);
	const struct wh_cdi_device d = {
		.kind = KIND, .name = s->name, .host = folder, .inside = WH_SHARE_INSIDE,
		.libraries = libraries, .hooks = hooks_of(s, dir),
	};
	cJSON *o = wh_cdi_specification(&d);
	bool done;

	spec = wh_must(cJSON_Print(o));
	done = !wh_cdi_is_others(path, folder) && make_folder(shares, 0711) &&
	       make_folder(folder, 0755) &&
	       (!s->hami || wh_cdi_write(place, "", 0444)) &&
	       wh_cdi_write(request, wanted, 0600) && wh_cdi_write(path, spec, 0644);
	if (done)
		printf(KIND "=%s\n", s->name);
	cJSON_Delete(o);
	free(spec);
	free(place);
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
	if (s->hami && strlen(s->name) + 1 + WH_CONTAINER_ID >= WH_TENANT_NAME) {
		wh_error("'%s': %d characters are most for a share with --hami, whose tenants have a container's id behind it",
			 s->name, WH_TENANT_NAME - WH_CONTAINER_ID - 2);
		return false;
	}
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
	char *draft = wh_cdi_text("%s.%d", as, getpid());
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
	cJSON *request = read_request(wanted, name);
	cJSON *answer = request ? wh_server_answer(dir, request) : NULL;

	cJSON_Delete(answer);
	return answer || !access(socket, F_OK);
}

/*
 * The engine writes the container's state to its hook. A hook that does not read it counts
 * as failed. Returns the state.
 */
static char *read_state(void)
{
	static char state[256 * 1024];
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	struct stat st;
	size_t at = 0;
	ssize_t n = 1;

	if (fstat(STDIN_FILENO, &st) || !S_ISFIFO(st.st_mode))
		return state;
	while (n > 0 && at < sizeof(state) - 1 && poll(&p, 1, STATE_MS) == 1) {
		n = read(STDIN_FILENO, state + at, sizeof(state) - 1 - at);
		at += n > 0 ? (size_t)n : 0;
	}
	state[at] = 0;
	return state;
}

bool wh_share_hook(const char *name, const char *dir)
{
	const char *state = read_state();
	char *folder, *wanted;
	cJSON *request;
	bool done;

	if (!name_is_good(name))
		return false;
	folder = wh_cdi_text("%s/shares/%s", dir, name);
	wanted = wh_cdi_text("%s.json", folder);
	request = read_request(wanted, name);
	done = request && wh_share_contain(name, request, state, folder, dir);
	free(wanted);
	free(folder);
	return done;
}

bool wh_share_make(const char *name, const char *dir)
{
	char *socket, *as, *wanted;
	bool done;

	read_state();
	if (!name_is_good(name))
		return false;
	socket = wh_cdi_text("%s/tenants/%s.sock", dir, name);
	as = wh_cdi_text("%s/shares/%s/" WH_SHARE_SOCKET, dir, name);
	wanted = wh_cdi_text("%s/shares/%s.json", dir, name);
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
	shares = wh_cdi_text("%s/shares", dir);
	folder = wh_cdi_text("%s/%s", shares, name);
	as = wh_cdi_text("%s/" WH_SHARE_SOCKET, folder);
	wanted = wh_cdi_text("%s.json", folder);
	path = wh_cdi_text("%s" PREFIX "%s.json", cdi_dir, name);
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
