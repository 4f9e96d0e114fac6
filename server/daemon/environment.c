// SPDX-License-Identifier: Apache-2.0
/*
 * The environment of workers, and of processes that load vendors' libraries as workers do. A client
 * that can run code there reads it. Of the server's variables only those with these names pass,
 * which say how the driver and the libraries work. Variables that tell who started the server, or
 * where that user's folders are, do not pass, nor do secrets.
 */
#define _GNU_SOURCE
#include "daemon/server.h"

#include "gen_libraries.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The administrator's list of more names, with colons between them. */
#define MORE	"WORMHOLE_WORKER_ENV"

/* All names that begin like this; LD_LIBRARY_PATH is a full name. */
#define OF_LIBRARY(name, variable)	variable "_",
static const char *const known[] = {
	"LD_LIBRARY_PATH=", "WORMHOLE_", "CUDA_", "NVIDIA_", WH_EACH_LIBRARY(OF_LIBRARY)
};

static bool is_in(const char *list, const char *entry)
{
	size_t n = strcspn(entry, "="), m;

	for (; list && *list; list += m + (list[m] == ':')) {
		m = strcspn(list, ":");
		if (m == n && n && !strncmp(list, entry, n))
			return true;
	}
	return false;
}

static bool passes(const char *entry, const char *more)
{
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(entry, known[i], strlen(known[i])))
			return true;
	return is_in(more, entry);
}

void wh_environment_in_child(void)
{
	const char *more = getenv(MORE);
	char **from, **to = environ;

	for (from = environ; from && *from; from++)
		if (passes(*from, more))
			*to++ = *from;
	if (to)
		*to = NULL;
}
