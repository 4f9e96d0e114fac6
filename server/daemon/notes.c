// SPDX-License-Identifier: Apache-2.0
/*
 * Writes what a server has found out at its start into files, for readers such as `wormhole stat'.
 */
#define _GNU_SOURCE
#include "daemon/isolation.h"
#include "daemon/keep.h"
#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	void (*print)(void *file);
} notes[] = { { "protection", wh_isolation_print }, { "libraries", wh_versions_print },
	    { "devices", wh_devices_print } };
#define NOTES (sizeof(notes) / sizeof(*notes))

void wh_notes_remove(void)
{
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < NOTES; i++)
		if (snprintf(path, sizeof(path), "%s/%s", wh_server.dir, notes[i].name) < PATH_MAX)
			unlink(path);
}

static bool write_note(size_t i, char *err, size_t err_size)
{
	char path[PATH_MAX];
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", wh_server.dir, notes[i].name);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (f)
		notes[i].print(f);
	if (f && !fclose(f))
		return true;
	snprintf(err, err_size, "%s: %s", path, strerror(errno));
	if (fd >= 0 && !f)
		close(fd);
	return false;
}

bool wh_notes_write(char *err, size_t err_size)
{
	size_t i;

	for (i = 0; i < NOTES; i++)
		if (!write_note(i, err, err_size))
			return false;
	return true;
}
