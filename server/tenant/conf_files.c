// SPDX-License-Identifier: Apache-2.0
/*
 * Where files of tenants are and who may write them. A server of root's gives other users devices
 * by what stands there, so a file that somebody else could have written, or put there by a link,
 * is refused and never read.
 */
#define _GNU_SOURCE
#include "tenant/conf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Reading ---------------------------------------------------------------------- */

static bool is_good(int fd, const char *label, bool own, char *err, size_t err_size)
{
	struct stat st;

	if (fstat(fd, &st)) {
		snprintf(err, err_size, "%s: %s", label, strerror(errno));
	} else if (S_ISDIR(st.st_mode)) {
		snprintf(err, err_size, "%s: a folder, and no file", label);
	} else if (!S_ISREG(st.st_mode) && own) {
		snprintf(err, err_size, "%s: no ordinary file (mode %06o)", label, st.st_mode);
	} else if (own && st.st_uid != geteuid()) {
		snprintf(err, err_size, "%s: belongs to user %u and not to the server's, %u; chown it", label,
			 st.st_uid, geteuid());
	} else if (own && st.st_mode & (S_IWGRP | S_IWOTH)) {
		snprintf(err, err_size, "%s: mode %04o lets others write to it; chmod go-w", label,
			 st.st_mode & 07777);
	} else if (S_ISREG(st.st_mode) && st.st_size > (off_t)WH_CONF_MOST) {
		snprintf(err, err_size, "%s: has %lld bytes; a file has at most %u", label,
			 (long long)st.st_size, WH_CONF_MOST);
	} else {
		return true;
	}
	return false;
}

/* Returns how much was read, at most WH_CONF_MOST + 1; -1: errno. */
static ssize_t read_all(int fd, char *text)
{
	size_t n = 0;
	ssize_t got;

	do {
		got = read(fd, text + n, WH_CONF_MOST + 1 - n);
		if (got > 0)
			n += (size_t)got;
	} while ((got > 0 && n <= WH_CONF_MOST) || (got < 0 && errno == EINTR));
	return got < 0 ? -1 : (ssize_t)n;
}

static bool parse_fd(struct wh_conf_file *f, int fd, const char *label, char *err, size_t err_size)
{
	char *text = malloc(WH_CONF_MOST + 1);
	ssize_t n = text ? read_all(fd, text) : -1;
	bool good = false;

	if (n < 0)
		snprintf(err, err_size, "%s: %s", label, strerror(errno));
	else if (n > (ssize_t)WH_CONF_MOST)
		snprintf(err, err_size, "%s: a file has at most %u bytes", label, WH_CONF_MOST);
	else
		good = wh_conf_parse(f, label, text, (size_t)n, err, err_size);
	free(text);
	return good;
}

bool wh_conf_read(struct wh_conf_file *f, int dir, const char *name, const char *label, bool own,
		  char *err, size_t err_size)
{
	/* A pipe that somebody put there must not hold up the server. */
	int careful = own ? O_NOFOLLOW | O_NONBLOCK : 0;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | careful);
	bool good;

	*f = (struct wh_conf_file){ .n = 0 };
	if (fd < 0) {
		snprintf(err, err_size, "%s: %s", label, own && errno == ELOOP ?
			 "a symbolic link; put the file itself there" : strerror(errno));
		return false;
	}
	good = is_good(fd, label, own, err, err_size) && parse_fd(f, fd, label, err, err_size);
	close(fd);
	return good;
}

static int is_conf(const struct dirent *e)
{
	size_t n = strlen(e->d_name), end = sizeof(WH_CONF_END) - 1;

	return e->d_name[0] != '.' && n > end && !strcmp(e->d_name + n - end, WH_CONF_END);
}

int wh_conf_folder(int dir, void (*fn)(const char *name, void *arg), void *arg)
{
	struct dirent **list;
	int n = scandirat(dir, ".", &list, is_conf, alphasort), i;

	for (i = 0; i < n; i++) {
		fn(list[i]->d_name, arg);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return n;
}

/* --- Users ------------------------------------------------------------------------ */

bool wh_conf_uid(const struct wh_conf *c, uid_t none_said, uid_t *uid, char *err, size_t err_size)
{
	const struct passwd *pw;
	unsigned long v;
	char *end;

	*uid = none_said;
	if (!c->user[0])
		return true;
	/* A number needs no entry: it is exact, and known before any service that has names. */
	errno = 0;
	v = strtoul(c->user, &end, 10);
	if (c->user[0] >= '0' && c->user[0] <= '9' && !*end) {
		*uid = (uid_t)v;
		if (!errno && v < UINT32_MAX)
			return true;
		snprintf(err, err_size, "tenant %s: user: '%.40s' is no user's number", c->name, c->user);
		return false;
	}
	pw = getpwnam(c->user);
	if (pw)
		*uid = pw->pw_uid;
	else
		snprintf(err, err_size, "tenant %s: user: there is no user '%.80s'", c->name, c->user);
	return pw;
}

/* --- Places ----------------------------------------------------------------------- */

#define ROOTS_DIR	"/run/wormhole"
#define ROOTS_CONF	"/etc/wormhole"
#define ROOTS_STATE	"/var/lib/wormhole"
#define TENANTS		"tenants.d"

/* A program that became another user may still have the home of the one before. */
static bool is_own_home(const char *home)
{
	struct stat st;

	return home && *home == '/' && !stat(home, &st) && st.st_uid == geteuid();
}

/* A folder of the XDG base directories: by its variable, else in the home. */
static bool base(char out[4096], const char *variable, const char *in_home, const char *rest)
{
	const char *dir = getenv(variable), *home = getenv("HOME");

	/* The specification has relative ones ignored. */
	if (dir && *dir == '/')
		return snprintf(out, 4096, "%s/wormhole%s", dir, rest) < 4096;
	return is_own_home(home) &&
	       snprintf(out, 4096, "%s/%s/wormhole%s", home, in_home, rest) < 4096;
}

static bool is_usual(const char *dir)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char own[4096];

	if (!geteuid() || !run || !*run)
		return !strcmp(dir, ROOTS_DIR);
	return snprintf(own, sizeof(own), "%s/wormhole", run) < (int)sizeof(own) && !strcmp(dir, own);
}

void wh_conf_places(struct wh_conf_places *p, const char *dir)
{
	bool usual = is_usual(dir);

	if (usual && !geteuid()) {
		strcpy(p->conf, ROOTS_CONF "/" TENANTS);
		strcpy(p->state, ROOTS_STATE);
		return;
	}
	if (!usual || !base(p->conf, "XDG_CONFIG_HOME", ".config", "/" TENANTS))
		snprintf(p->conf, sizeof(p->conf), "%s/" TENANTS, dir);
	if (!usual || !base(p->state, "XDG_STATE_HOME", ".local/state", ""))
		snprintf(p->state, sizeof(p->state), "%s/state", dir);
}
