/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tenants as files: what an administrator writes, what the server keeps, what `wormhole tenant
 * export` prints. A file has a section for each tenant, with the options of `wormhole tenant
 * create` as its keys:
 *
 *	[team]
 *	user = alice
 *	mem = 16G
 *	sm = 30
 *
 * docs/tenants.md has all keys. A file is good as a whole or not at all.
 */
#ifndef WORMHOLE_TENANT_CONF_H
#define WORMHOLE_TENANT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "tenant/spec.h"

#define WH_CONF_END	".conf"
#define WH_CONF_MOST	(256u << 10)	/* bytes of a file */
#define WH_CONF_TENANTS	256u		/* tenants of a file */
#define WH_CONF_USER	256
#define WH_CONF_DEVICES	800		/* 16 UUIDs with commas */
#define WH_CONF_ERROR	1200		/* a path, a line's number and what is wrong there */

struct wh_conf {
	char name[WH_TENANT_NAME];
	char user[WH_CONF_USER];	/* name or number; "": the server's user */
	char devices[WH_CONF_DEVICES];	/* numbers or UUIDs with commas; "": all */
	struct wh_limit_list limits;
	unsigned int line;		/* of its heading */
};

struct wh_conf_file {
	struct wh_conf *tenant;
	unsigned int n;
};

/*
 * Reads `n` bytes. False with one line in err: `label`, the number of the line, the value and what
 * is wrong with it. wh_conf_free() frees what was read.
 */
bool wh_conf_parse(struct wh_conf_file *f, const char *label, const char *text, size_t n,
		   char *err, size_t err_size);
void wh_conf_free(struct wh_conf_file *f);

/*
 * Reads a file of the folder `dir`. With `own` it must belong to this process's user, and nobody
 * else may be able to write to it; it is never reached by a link.
 */
bool wh_conf_read(struct wh_conf_file *f, int dir, const char *name, const char *label, bool own,
		  char *err, size_t err_size);
/*
 * Calls fn with the names of the folder's files NAME.conf, in their order. Returns how many there
 * are; -1: errno.
 */
int wh_conf_folder(int dir, void (*fn)(const char *name, void *arg), void *arg);

/* Writes a section that wh_conf_parse() reads as the same tenant. */
void wh_conf_print(FILE *out, const struct wh_conf *c);

/* Finds the tenant's user; without one it is `none_said`. False with one line in err. */
bool wh_conf_uid(const struct wh_conf *c, uid_t none_said, uid_t *uid, char *err, size_t err_size);

/* Where a server finds such files, and keeps its own. */
struct wh_conf_places {
	char conf[4096], state[4096];
};

/*
 * Those of this user's server in the folder `dir`. A server in the usual folder has the usual
 * places; any other one has its places in its folder, so that two servers never share them.
 */
void wh_conf_places(struct wh_conf_places *p, const char *dir);

#endif
