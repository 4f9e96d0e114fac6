/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the parts of `wormhole cdi` share: for existing tenants, and for shares. */
#ifndef WORMHOLE_HOST_CDI_H
#define WORMHOLE_HOST_CDI_H

#include <stdbool.h>
#include <sys/types.h>

#include "tenancy.h"

struct wh_cdi_device {
	const char *kind, *name;
	const char *host, *inside;	/* the socket, or the folder that contains it */
	const char *libraries;		/* their folder on the host */
	cJSON *hooks;			/* the specification takes it over; NULL: none */
};

struct wh_cdi_share {
	const char *name, *user;
	const char *devices;	/* as --devices has them; NULL: all */
	struct wh_limit_list limits;
	bool hami;	/* a tenant for each container, with limits as HAMi's variables say */
};

/* Of a container's id, as engines show it, its tenant's name has so many letters and digits. */
#define WH_CONTAINER_ID	12
#define WH_SHARE_INSIDE	"/run/wormhole"	/* a share's folder in its containers */
#define WH_SHARE_SOCKET	"tenant.sock"	/* in it */

/* --- cmd_cdi.c ------------------------------------------------------------------------- */

cJSON *wh_cdi_specification(const struct wh_cdi_device *d);
/* Replaces a file completely or not at all. Returns false after a message. */
bool wh_cdi_write(const char *path, const char *text, mode_t mode);
/* Makes the folder, and returns the path of a specification in it. Returns NULL after a message. */
char *wh_cdi_path(const char *folder, const char *prefix, const char *name);
/* Returns true after a message if the specification at path exists and does not name @host. */
bool wh_cdi_is_others(const char *path, const char *host);

/* --- cdi_share.c: functions return false after a message --------------------------------- */

bool wh_share_write(const struct wh_cdi_share *s, const char *cdi_dir, const char *dir,
		    const char *libraries);
bool wh_share_make(const char *name, const char *dir);
/* Reads the state of a container on standard input, and gives it its tenant. */
bool wh_share_hook(const char *name, const char *dir);
bool wh_share_remove(const char *name, const char *cdi_dir, const char *dir);
/* Returns allocated text. */
__attribute__((format(printf, 1, 2))) char *wh_cdi_text(const char *fmt, ...);

/* --- cdi_contain.c --------------------------------------------------------------------- */

/*
 * Makes a tenant by the share's request, which it frees, for the container of @state, and shows
 * its socket in the share's folder there. Returns false after a message.
 */
bool wh_share_contain(const char *name, cJSON *request, const char *state, const char *folder,
		      const char *dir);

#endif
