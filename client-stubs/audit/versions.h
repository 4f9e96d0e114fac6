/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORMHOLE_AUDIT_VERSIONS_H
#define WORMHOLE_AUDIT_VERSIONS_H

#include <link.h>

#define VERSIONS_LIBC	"libc.so.6"

/* The newest version of the C library that a library of ours needs and this one lacks, or NULL. */
const char *versions_lacking(const struct link_map *ours, const struct link_map *libc);

#endif
