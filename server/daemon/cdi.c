// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole cdi` writes the specification by which containers become a tenant's clients, and leaves
 * a note beside the tenant's files. Only root and the server's user can write there: the path in
 * the note is one that they could remove as well as this process can.
 */
#define _GNU_SOURCE
#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tenant/control.h"

void wh_cdi_remove(const char *folder, const char *tenant)
{
	char note[PATH_MAX], path[PATH_MAX];
	ssize_t n;
	int fd;

	if (snprintf(note, sizeof(note), "%s/%s" WH_CDI_NOTE, folder, tenant) >= (int)sizeof(note))
		return;
	fd = open(note, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, path, sizeof(path) - 1);
	close(fd);
	path[n > 0 ? n : 0] = 0;
	if (path[0] == '/' && unlink(path) && errno != ENOENT)
		wh_say("warn", "tenant %s: its specification for containers, %s: %s", tenant, path,
		       strerror(errno));
	unlink(note);
}
