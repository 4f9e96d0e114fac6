// SPDX-License-Identifier: Apache-2.0
/*
 * Tenants that outlive the server. There are two folders of files (tenant/conf.h): one is the
 * administrator's, which the server reads at its start and never writes; in the other it keeps
 * what was made and changed at run time. What stands in both is the administrator's. A tenant of a
 * bad file is not made, rather than with less limits than were wanted.
 */
#define _GNU_SOURCE
#include "daemon/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/handover.h"
#include "daemon/server.h"
#include "daemon/tenant.h"
#include "tenant/conf.h"
#include "tenant/control.h"
#include "tenant/text.h"

#define TENANTS	"tenants.d"
#define NOBODYS	"none"		/* --state none: nothing is kept */

static struct {
	bool started;
	struct wh_conf_places path;
	int conf;		/* the administrator's folder; -1: there is none */
	int state, tenants;	/* the server's own, and TENANTS in it; -1: not open */
} keep = { .conf = -1, .state = -1, .tenants = -1 };

/* --- Writing ---------------------------------------------------------------------- */

static bool write_draft(int dir, const char *draft, const char *text, size_t n, bool sync)
{
	int fd, saved;
	ssize_t done = 0, more = 0;
	bool good;

	unlinkat(dir, draft, 0);
	fd = openat(dir, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	while ((size_t)done < n && (more = write(fd, text + done, n - (size_t)done)) > 0)
		done += more;
	good = (size_t)done == n && !(sync && fsync(fd));
	saved = errno;
	if (close(fd) && good)
		good = false;
	else
		errno = saved;
	return good;
}

bool wh_keep_write(int dir, const char *name, const char *text, size_t n, bool sync)
{
	char draft[NAME_MAX + 1];
	bool good;
	int saved;

	if (snprintf(draft, sizeof(draft), ".%s.new", name) >= (int)sizeof(draft)) {
		errno = ENAMETOOLONG;
		return false;
	}
	good = write_draft(dir, draft, text, n, sync) && !renameat(dir, draft, dir, name);
	saved = errno;
	if (!good)
		unlinkat(dir, draft, 0);
	errno = saved;
	return good && !(sync && fsync(dir));
}

/* --- The server's own folder -------------------------------------------------------- */

static bool make_way(const char *path)
{
	char part[PATH_MAX], *slash;

	snprintf(part, sizeof(part), "%s", path);
	for (slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(part, 0700) && errno != EEXIST)
			return false;
		*slash = '/';
	}
	return !mkdir(part, 0700) || errno == EEXIST;
}

static bool open_tenants(char *err, size_t err_size)
{
	char path[sizeof(keep.path.state) + sizeof("/" TENANTS)];

	snprintf(path, sizeof(path), "%s/" TENANTS, keep.path.state);
	if (mkdirat(keep.state, TENANTS, 0700) && errno != EEXIST)
		snprintf(err, err_size, "%.300s: %s", path, strerror(errno));
	else
		keep.tenants = wh_open_dir_of("--state", path, err, err_size);
	return keep.tenants >= 0;
}

/* Two servers that kept tenants in one folder would undo each other's work. */
static bool open_state(char *err, size_t err_size)
{
	keep.state = wh_open_dir_of("--state", keep.path.state, err, err_size);
	if (keep.state < 0)
		return false;
	if (!wh_take_lock(keep.state) && open_tenants(err, err_size))
		return true;
	if (keep.tenants < 0 && errno == EWOULDBLOCK)
		snprintf(err, err_size, "%.300s: another server keeps its tenants there; give this one a folder of "
			 "its own by --state", keep.path.state);
	wh_keep_leave();
	return false;
}

int wh_keep_state(bool make, char *err, size_t err_size)
{
	*err = 0;
	if (keep.state >= 0 || !keep.path.state[0])
		return keep.state;
	if (access(keep.path.state, F_OK) && errno == ENOENT && !make)
		return -1;
	if (make && !make_way(keep.path.state)) {
		snprintf(err, err_size, "%.300s: %s; give a folder of yours by --state, or --state none",
			 keep.path.state, strerror(errno));
		return -1;
	}
	errno = 0;
	return open_state(err, err_size) ? keep.state : -1;
}

void wh_keep_leave(void)
{
	if (keep.state >= 0)
		close(keep.state);
	if (keep.tenants >= 0)
		close(keep.tenants);
	keep.state = keep.tenants = -1;
}

/* --- A tenant as text ---------------------------------------------------------------- */

static void name_user(struct wh_conf *c, uid_t uid, bool names)
{
	const struct passwd *pw = names ? getpwuid(uid) : NULL;

	/* The server's own user is another one on another machine, and is not said then. */
	if (pw && strlen(pw->pw_name) < sizeof(c->user))
		strcpy(c->user, uid == geteuid() ? "" : pw->pw_name);
	else
		snprintf(c->user, sizeof(c->user), "%u", uid);
}

/* By their UUIDs where they have any: a device may have another number after a boot. */
static void name_devices(struct wh_conf *c, uint32_t hidden)
{
	unsigned int d;
	size_t n = 0;

	for (d = 0; hidden && d < wh_server.devices; d++) {
		if (hidden & 1u << d)
			continue;
		n += (size_t)snprintf(c->devices + n, sizeof(c->devices) - n, "%s", n ? "," : "");
		if (wh_server.device[d].uuid[0])
			n += (size_t)snprintf(c->devices + n, sizeof(c->devices) - n, "%s",
					      wh_server.device[d].uuid);
		else
			n += (size_t)snprintf(c->devices + n, sizeof(c->devices) - n, "%u", d);
	}
}

static void print_section(FILE *out, const struct wh_tenant *t, bool names)
{
	struct wh_conf c = { .limits = t->said };

	strcpy(c.name, t->name);
	name_user(&c, t->uid, names);
	name_devices(&c, wh_hidden_places(t->file.limits));
	wh_conf_print(out, &c);
}

char *wh_keep_text(const struct wh_tenant *t, bool names)
{
	struct wh_text text;
	FILE *f = wh_text_open(&text);

	if (!f)
		return NULL;
	print_section(f, t, names);
	return wh_text_close(f, &text);
}

static void file_of(char out[WH_TENANT_NAME + sizeof(WH_CONF_END)], const char *tenant)
{
	snprintf(out, WH_TENANT_NAME + sizeof(WH_CONF_END), "%s" WH_CONF_END, tenant);
}

static bool write_tenant(const struct wh_tenant *t, char *err, size_t err_size)
{
	char name[WH_TENANT_NAME + sizeof(WH_CONF_END)], *whole = NULL;
	struct wh_text text;
	FILE *out;
	bool good;

	file_of(name, t->name);
	out = wh_text_open(&text);
	if (out) {
		fputs("# Kept by the server. `wormhole limit' and `wormhole tenant delete' change it.\n", out);
		print_section(out, t, false);
		whole = wh_text_close(out, &text);
	}
	good = whole && wh_keep_write(keep.tenants, name, whole, text.n, true);
	if (!good)
		snprintf(err, err_size, "%.250s/" TENANTS "/%s: %s", keep.path.state, name, strerror(errno));
	free(whole);
	return good;
}

/* --- Files of the administrator's ----------------------------------------------------- */

static void conf_path(char out[PATH_MAX], const char *folder, const char *name)
{
	snprintf(out, PATH_MAX, "%.3800s/%s", folder, name);
}

static bool has(const struct wh_conf_file *f, const char *tenant)
{
	unsigned int i;

	for (i = 0; i < f->n; i++)
		if (!strcmp(f->tenant[i].name, tenant))
			return true;
	return false;
}

struct search {
	const char *tenant;
	char *found;		/* path, allocated */
};

static void search_file(const char *name, void *arg)
{
	char err[WH_CONF_ERROR], path[PATH_MAX];
	struct search *s = arg;
	struct wh_conf_file f;

	conf_path(path, keep.path.conf, name);
	if (s->found || !wh_conf_read(&f, keep.conf, name, path, true, err, sizeof(err)))
		return;
	if (has(&f, s->tenant))
		s->found = strdup(path);
	wh_conf_free(&f);
}

/* Returns the allocated path of the file that has the tenant now; NULL: none. */
static char *find_file(const char *tenant)
{
	struct search s = { .tenant = tenant };

	if (keep.conf >= 0)
		wh_conf_folder(keep.conf, search_file, &s);
	return s.found;
}

/* --- What is asked for --------------------------------------------------------------- */

static void say_whose(const struct wh_tenant *t, char *note, size_t note_size)
{
	snprintf(note, note_size, "this holds until the server ends; then %.250s says what tenant %s has",
		 t->conf_file, t->name);
}

bool wh_keep_add(struct wh_tenant *t, char *err, size_t err_size)
{
	t->conf_file = find_file(t->name);
	if (t->conf_file) {
		t->kept = WH_KEPT_FILE;
		say_whose(t, err, err_size);
		return true;
	}
	if (wh_keep_state(true, err, err_size) < 0)
		return !*err;
	if (!write_tenant(t, err, err_size))
		return false;
	t->kept = WH_KEPT_STATE;
	return true;
}

bool wh_keep_or_delete(struct wh_tenant *t, char *err, size_t err_size)
{
	char ignored[WH_CONTROL_ERROR];

	if (wh_keep_add(t, err, err_size))
		return true;
	wh_tenant_delete(t, true, ignored, sizeof(ignored));
	return false;
}

void wh_keep_changed(struct wh_tenant *t, char *note, size_t note_size)
{
	char err[WH_CONTROL_ERROR];

	*note = 0;
	if (t->kept == WH_KEPT_FILE)
		say_whose(t, note, note_size);
	else if (t->kept == WH_KEPT_STATE && !write_tenant(t, err, sizeof(err)))
		snprintf(note, note_size, "this holds until the server ends, since it cannot be kept: %.250s", err);
}

bool wh_keep_may_delete(const struct wh_tenant *t, char *err, size_t err_size)
{
	char *now = t->kept == WH_KEPT_FILE ? find_file(t->name) : NULL;

	if (!now)
		return true;
	snprintf(err, err_size, "tenant %s stands in %.250s, so the next server would make it again; take it out of "
		 "there first", t->name, now);
	free(now);
	return false;
}

bool wh_keep_forget(const char *name, char *err, size_t err_size)
{
	char file[WH_TENANT_NAME + sizeof(WH_CONF_END)];

	file_of(file, name);
	if (keep.tenants < 0 || (unlinkat(keep.tenants, file, 0) && errno == ENOENT) ||
	    !fsync(keep.tenants))
		return true;
	snprintf(err, err_size, "tenant %s is deleted, but the next server makes it again: %.200s/" TENANTS "/%s: "
		 "%s; remove that file", name, keep.path.state, file, strerror(errno));
	return false;
}

const char *wh_keep_by(const struct wh_tenant *t)
{
	return t->kept == WH_KEPT_FILE ? t->conf_file : t->kept == WH_KEPT_STATE ? "state" : "";
}

/* --- Start ---------------------------------------------------------------------------- */

struct loading {
	int dir;
	const char *folder;
	enum wh_kept kept;
	bool again;		/* tenants that are there get the limits that their files say now */
	unsigned int made, left_out;
};

static bool request_of(const struct wh_conf *c, struct wh_tenant_request *r, char *err,
		       size_t err_size)
{
	char copy[WH_CONF_DEVICES], *save = NULL, *word;
	double number;

	*r = (struct wh_tenant_request){ .name = c->name, .kept = true, .limits = c->limits };
	if (!wh_conf_uid(c, geteuid(), &r->uid, err, err_size))
		return false;
	strcpy(copy, c->devices);
	for (word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		number = word[strspn(word, "0123456789")] ? -1 : strtod(word, NULL);
		if (!wh_devices_add(&r->devices, number < 0 ? word : NULL, number, err, err_size))
			return false;
	}
	return true;
}

/* What the list does not say is as for a new tenant. */
static bool set_limits(struct wh_tenant *t, const struct wh_limit_list *said, char *err,
		       size_t err_size)
{
	struct wh_limit_list all = { .has_host = 1, .host = wh_server.host_memory, .has_kernel = 1,
				     .kernel_ms = wh_server.max_kernel_ms,
				     .counters = WH_COUNTERS_NO };
	const struct wh_limit_list before = t->said;

	wh_limit_parse(&all, "mem=none,sm=none", err, err_size);
	wh_limit_merge(&all, said);
	t->said = (struct wh_limit_list){ .n = 0 };
	if (!wh_tenant_limit(t, &all, true, err, err_size)) {
		t->said = before;
		return false;
	}
	t->said = *said;
	return true;
}

static bool make_tenant(struct loading *l, const char *path, const struct wh_conf *c, char *err,
			size_t err_size)
{
	struct wh_tenant *there = wh_tenant_find(c->name);
	struct wh_tenant_request r;
	struct wh_tenant *t;
	char *path_of_other;

	if (there && l->again && there->kept == l->kept)
		return set_limits(there, &c->limits, err, err_size);
	if (there) {
		snprintf(err, err_size, "tenant %s stands in %.250s already", c->name,
			 there->conf_file ? there->conf_file : "another file");
		return false;
	}
	/* The administrator's tenant of that name was left out. No other comes in its place. */
	path_of_other = l->kept == WH_KEPT_STATE ? find_file(c->name) : NULL;
	if (path_of_other) {
		snprintf(err, err_size, "it stands in %.250s", path_of_other);
		free(path_of_other);
		return false;
	}
	if (!request_of(c, &r, err, err_size))
		return false;
	t = wh_tenant_create(&r, err, err_size);
	if (!t)
		return false;
	t->kept = l->kept;
	t->conf_file = l->kept == WH_KEPT_FILE ? strdup(path) : NULL;
	if (t->conf_file || l->kept == WH_KEPT_STATE)
		return true;
	snprintf(err, err_size, "out of memory");
	wh_tenant_delete(t, true, err, err_size);
	return false;
}

/* A file of the server's own is found again by its tenant's name. */
static bool is_named_so(const struct wh_conf_file *f, const char *name)
{
	char file[WH_TENANT_NAME + sizeof(WH_CONF_END)];

	if (f->n != 1)
		return false;
	file_of(file, f->tenant[0].name);
	return !strcmp(file, name);
}

static void load_file(const char *name, void *arg)
{
	char err[WH_CONF_ERROR], path[PATH_MAX];
	struct loading *l = arg;
	struct wh_conf_file f;
	unsigned int i;

	conf_path(path, l->folder, name);
	if (!wh_conf_read(&f, l->dir, name, path, true, err, sizeof(err))) {
		wh_say("error", "%s; no tenant of this file is made", err);
		l->left_out++;
		return;
	}
	if (l->kept == WH_KEPT_STATE && !is_named_so(&f, name)) {
		wh_say("error", "%s: has not the one tenant that its name says; it is left out", path);
		l->left_out++;
		f.n = 0;
	}
	for (i = 0; i < f.n; i++) {
		if (make_tenant(l, path, &f.tenant[i], err, sizeof(err))) {
			l->made++;
			continue;
		}
		wh_say("error", "%s:%u: tenant %s is not made: %s", path, f.tenant[i].line,
		       f.tenant[i].name, err);
		l->left_out++;
	}
	wh_conf_free(&f);
}

static void load(int dir, const char *folder, enum wh_kept kept, bool again)
{
	struct loading l = { .dir = dir, .folder = folder, .kept = kept, .again = again };

	if (wh_conf_folder(dir, load_file, &l) < 0)
		wh_say("error", "%s: %s; none of its tenants is made", folder, strerror(errno));
	if (l.made || l.left_out)
		wh_say("info", "%s: %u tenants %s, %u left out", folder, l.made, again ? "read" : "made",
		       l.left_out);
}

static bool choose_places(char *err, size_t err_size)
{
	wh_conf_places(&keep.path, wh_server.dir);
	if (wh_server.tenants)
		snprintf(keep.path.conf, sizeof(keep.path.conf), "%s", wh_server.tenants);
	if (wh_server.state)
		snprintf(keep.path.state, sizeof(keep.path.state), "%s",
			 strcmp(wh_server.state, NOBODYS) ? wh_server.state : "");
	if (access(keep.path.conf, F_OK) && errno == ENOENT && !wh_server.tenants)
		return true;
	keep.conf = wh_open_dir_of("--tenants", keep.path.conf, err, err_size);
	return keep.conf >= 0;
}

bool wh_keep_start(char *err, size_t err_size)
{
	bool handed = wh_handed("lock");
	char folder[PATH_MAX];

	if ((!choose_places(err, err_size) ||
	     (wh_keep_state(false, err, err_size) < 0 && *err))) {
		if (!handed)
			return false;
		/* No program ends for it. Whoever makes a tenant that is to stay hears of it. */
		wh_say("warn", "%s; what is changed of tenants is not kept meanwhile", err);
	}
	if (keep.conf >= 0 && !handed)
		load(keep.conf, keep.path.conf, WH_KEPT_FILE, false);
	conf_path(folder, keep.path.state, TENANTS);
	if (keep.tenants >= 0 && !handed)
		load(keep.tenants, folder, WH_KEPT_STATE, false);
	wh_shares_start(handed);
	keep.started = true;
	return true;
}

void wh_keep_again(void)
{
	struct wh_limit_list said = wh_server.environment;
	char err[300];

	wh_limit_merge(&said, &wh_server.limits);
	if (!set_limits(wh_tenant_find(WH_DEFAULT), &said, err, sizeof(err)))
		wh_say("error", "tenant " WH_DEFAULT ": %s; its limits are as they were", err);
	if (keep.conf >= 0)
		load(keep.conf, keep.path.conf, WH_KEPT_FILE, true);
}

/* Workers that were killed have not said what their last work took. */
static void end_accounts(struct wh_tenant *t)
{
	unsigned int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		wh_tenant_account_clear(t->file.usage, i);
}

void wh_keep_stop(void)
{
	struct wh_tenant *t = NULL;

	if (!keep.started)
		return;
	while ((t = wh_tenant_next(t)))
		end_accounts(t);
	wh_shares_save(true);
	keep.started = false;
}
