/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORMHOLE_AUDIT_VERSIONS_H
#define WORMHOLE_AUDIT_VERSIONS_H

#include <link.h>

#define VERSIONS_LIBC	"libc.so.6"

/*
 * Returns the newest version of the C library that a library of ours needs and this one lacks,
 * or NULL if none is lacking.
 */
const char *versions_lacking(const struct link_map *ours, const struct link_map *libc);

#endif
