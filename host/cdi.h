/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `wormhole cdi` have in common: tenants that are there, and shares. */
#ifndef WORMHOLE_HOST_CDI_H
#define WORMHOLE_HOST_CDI_H

#include <stdbool.h>
#include <sys/types.h>

#include "tenancy.h"

struct wh_cdi_device {
	const char *kind, *name;
	const char *host, *inside;	/* the socket, or the folder with it */
	const char *libraries;		/* on the host */
	cJSON *hooks;			/* becomes the specification's; NULL: none */
};

struct wh_cdi_share {
	const char *name, *user;
	struct wh_limit_list limits;
};

/* --- cmd_cdi.c ------------------------------------------------------------------------- */

cJSON *wh_cdi_specification(const struct wh_cdi_device *d);
/* A new file in the place of an old one, whole or not at all; a message if not. */
bool wh_cdi_write(const char *path, const char *text, mode_t mode);
/* The path of a specification in the folder, which is made; NULL after a message. */
char *wh_cdi_path(const char *folder, const char *prefix, const char *name);
/* Is there one at path that is not of what lies at host? After a message. */
bool wh_cdi_is_others(const char *path, const char *host);

/* --- cdi_share.c: false after a message --------------------------------------------------- */

bool wh_share_write(const struct wh_cdi_share *s, const char *cdi_dir, const char *dir,
		    const char *libraries);
bool wh_share_make(const char *name, const char *dir);
bool wh_share_remove(const char *name, const char *cdi_dir, const char *dir);

#endif
