// SPDX-License-Identifier: Apache-2.0
/*
 * Files and folders that a server's user names from where he is, named from the root:
 * a worker may be elsewhere (ranks.c), and looks for them when a client needs them.
 */
#define _GNU_SOURCE
#include "daemon/server.h"
#include "session/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocated, or NULL: it is named so already, by a name alone, or there is none. */
static char *from_root(const char *file)
{
	return *file != '/' && strchr(file, '/') ? realpath(file, NULL) : NULL;
}

static void variable(const char *name)
{
	const char *value = getenv(name);
	char *path = value ? from_root(value) : NULL;

	if (path)
		setenv(name, path, 1);
	free(path);
}

/* Each of it is a folder, with a slash or without. */
static void list(const char *name)
{
	const char *value = getenv(name);
	char *copy = value ? strdup(value) : NULL, *rest = copy, *folder, *path, *all = NULL;
	size_t size;
	FILE *out = copy ? open_memstream(&all, &size) : NULL;

	while (out && (folder = strsep(&rest, ":"))) {
		path = *folder && *folder != '/' ? realpath(folder, NULL) : NULL;
		fprintf(out, "%s%s", path ? path : folder, rest ? ":" : "");
		free(path);
	}
	if (out && !fclose(out))
		setenv(name, all, 1);
	free(all);
	free(copy);
}

void wh_places_from_root(void)
{
	char name[WH_LIBRARY_VARIABLE], *backend = from_root(wh_server.backend);
	uint32_t i;

	if (backend)
		wh_server.backend = backend;
	list("WORMHOLE_LIB_PATH");
	for (i = 0; i < WH_LIBS; i++)
		if (wh_libraries[i]) {
			wh_library_variable(wh_libraries[i], name);
			variable(name);
		}
}
