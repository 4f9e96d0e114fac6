/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORMHOLE_AUDIT_SONAME_H
#define WORMHOLE_AUDIT_SONAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads the name by which the loader knows the library in a file (DT_SONAME). False: it has
 * none.
 */
bool soname_of(const char *path, char *name, size_t size);

#endif
