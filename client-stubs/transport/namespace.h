/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link namespace for the session of the loopback transport. NVIDIA's libraries
 * look for their driver by its soname, which in the program's namespace is the
 * client's stub. A namespace has a C library of its own, and the program's threads
 * come and go in both.
 */
#ifndef WORMHOLE_CLIENT_NAMESPACE_H
#define WORMHOLE_CLIENT_NAMESPACE_H

/* The library for dlsym(), or NULL with the reason said. Once per process and fork. */
void *wh_namespace_load(const char *path);

/* By each thread before it calls into the namespace; what it does once is done once. */
void wh_namespace_enter(void);

/* In a fork's child: its thread leaves the parent's, and another one can be loaded. */
void wh_namespace_forked(void);

#endif
