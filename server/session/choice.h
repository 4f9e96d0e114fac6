/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses which of several files of one library a worker loads. The server has asked each file for
 * its version (daemon/versions.c), the newest first, and tells workers by a variable.
 */
#ifndef WORMHOLE_CHOICE_H
#define WORMHOLE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Each line is "NAME VERSION PATH"; the version is wh_version()'s, in decimal digits. */
#define WH_LIBRARIES_FOUND	"WORMHOLE_LIBRARIES_FOUND"
#define WH_VERSION_TEXT		24

static inline uint32_t wh_version(unsigned int major, unsigned int minor, unsigned int patch)
{
	return (major & 0xff) << 24 | (minor & 0xfff) << 12 | (patch & 0xfff);
}

/* For example "9.19.0". */
static inline const char *wh_version_text(uint32_t v, char out[WH_VERSION_TEXT])
{
	snprintf(out, WH_VERSION_TEXT, "%u.%u.%u", v >> 24, v >> 12 & 0xfff, v & 0xfff);
	return out;
}

/*
 * Returns the file whose version fits the wish: to the patch, or else to the minor version, or else
 * the newest of that major. Otherwise, and if `wish` is 0, returns the newest. NULL: none was
 * found. *version is the file's.
 */
const char *wh_library_choose(const char *name, uint32_t wish, uint32_t *version, char *room,
			      size_t size);

#endif
