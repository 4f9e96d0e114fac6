/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link namespace for the session of the loopback transport. NVIDIA's libraries look for their
 * driver by its soname, which is the client's stub in the program's namespace. A namespace has
 * a C library of its own, and the program's threads are known to both.
 */
#ifndef WORMHOLE_CLIENT_NAMESPACE_H
#define WORMHOLE_CLIENT_NAMESPACE_H

/*
 * Returns the library for dlsym(), or NULL after a message with the reason. It is called once
 * per process, and again after a fork.
 */
void *wh_namespace_load(const char *path);

/* Each thread calls this before it calls into the namespace. Later calls of a thread do nothing. */
void wh_namespace_enter(void);

/* In a fork's child: its thread leaves the parent's namespace, and another one can be loaded. */
void wh_namespace_forked(void);

#endif
