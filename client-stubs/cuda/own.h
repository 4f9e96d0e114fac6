/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORMHOLE_OWN_H
#define WORMHOLE_OWN_H

#include <stddef.h>
#include <stdint.h>

#define WH_LIB_VERSION(major, minor, patch)	((uint32_t)(major) << 24 | (minor) << 12 | (patch))

/*
 * Returns the version of the library that the program came with and that ours replaces, and its
 * file. 0: there is none, or it cannot be known. It may open files, and takes the loader's
 * lock.
 */
uint32_t wh_own_version(const char *soname, char *file, size_t size);

#endif
