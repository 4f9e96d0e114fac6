// SPDX-License-Identifier: Apache-2.0
/* Reads the server's list of files; see choice.h. */
#include "session/choice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct found {
	uint32_t version;
	const char *path;
	size_t length;
};

/* Parses one line. False: it is another library's line, or is malformed. */
static bool parse(const char *line, size_t length, const char *name, struct found *out)
{
	size_t n = strlen(name);
	char *end;

	if (length <= n || strncmp(line, name, n) || line[n] != ' ')
		return false;
	out->version = (uint32_t)strtoul(line + n + 1, &end, 10);
	if (*end != ' ' || end >= line + length)
		return false;
	out->path = end + 1;
	out->length = line + length - out->path;
	return out->length > 0;
}

/* How well a version fits. The line with the best fit is taken, and of several the first. */
static int fits(uint32_t version, uint32_t wish)
{
	if (!wish)
		return 1;
	if (version == wish)
		return 4;
	if (version >> 12 == wish >> 12)
		return 3;
	return version >> 24 == wish >> 24 ? 2 : 1;
}

const char *wh_library_choose(const char *name, uint32_t wish, uint32_t *version, char *room,
			      size_t size)
{
	const char *line = getenv(WH_LIBRARIES_FOUND);
	struct found best = { 0 }, f;
	int how = 0, now;
	size_t n;

	for (; line && *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		if (!parse(line, n, name, &f))
			continue;
		now = fits(f.version, wish);
		if (now > how) {
			best = f;
			how = now;
		}
	}
	if (!how || best.length >= size)
		return NULL;
	memcpy(room, best.path, best.length);
	room[best.length] = 0;
	*version = best.version;
	return room;
}
