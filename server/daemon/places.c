// SPDX-License-Identifier: Apache-2.0
/*
 * Turns names of files and folders that are relative to the current folder of the server's user
 * into names from the root. A worker may be in another folder (ranks.c), and looks for them when a
 * client needs them.
 */
#define _GNU_SOURCE
#include "daemon/server.h"
#include "session/library.h"
#include "tenant/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * *out is the allocated name, or NULL if the name means the same everywhere, or names nothing that
 * exists. False: no memory.
 */
static bool from_root(const char *file, bool folder, char **out)
{
	bool relative = *file && *file != '/' && (folder || strchr(file, '/'));

	errno = 0;
	*out = relative ? realpath(file, NULL) : NULL;
	return *out || errno != ENOMEM;
}

static bool variable(const char *name)
{
	const char *value = getenv(name);
	char *path = NULL;
	bool good = !value || from_root(value, false, &path);

	if (path)
		good = !setenv(name, path, 1);
	free(path);
	return good;
}

static bool add_folder(FILE *out, const char *folder, bool last)
{
	char *path;

	if (!from_root(folder, true, &path))
		return false;
	fprintf(out, "%s%s", path ? path : folder, last ? "" : ":");
	free(path);
	return true;
}

/* Turns a list of folders, which may or may not contain a slash, into names from the root. */
static bool list(const char *name)
{
	const char *value = getenv(name);
	char *copy = value ? strdup(value) : NULL, *rest = copy, *folder, *all = NULL;
	struct wh_text text;
	FILE *out = copy ? wh_text_open(&text) : NULL;
	bool good = out || !value;

	while (out && good && (folder = strsep(&rest, ":")))
		good = add_folder(out, folder, !rest);
	if (out) {
		all = wh_text_close(out, &text);
		good = all && good && !setenv(name, all, 1);
	}
	free(all);
	free(copy);
	return good;
}

bool wh_places_from_root(void)
{
	char name[WH_LIBRARY_VARIABLE], *backend;
	uint32_t i;

	if (!from_root(wh_server.backend, false, &backend) || !list("WORMHOLE_LIB_PATH"))
		return false;
	if (backend)
		wh_server.backend = backend;
	for (i = 0; i < WH_LIBS; i++)
		if (wh_libraries[i]) {
			wh_library_variable(wh_libraries[i], name);
			if (!variable(name))
				return false;
		}
	return true;
}
