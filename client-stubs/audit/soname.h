/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORMHOLE_AUDIT_SONAME_H
#define WORMHOLE_AUDIT_SONAME_H

#include <stdbool.h>
#include <stddef.h>

/* The name that the library in a file has for the loader (DT_SONAME); false: there is none. */
bool soname_of(const char *path, char *name, size_t size);

#endif
