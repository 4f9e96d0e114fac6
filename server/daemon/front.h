/* SPDX-License-Identifier: Apache-2.0 */
/* The process that stands for a server whose programs live through a restart of its service. */
#ifndef WORMHOLE_DAEMON_FRONT_H
#define WORMHOLE_DAEMON_FRONT_H

/*
 * Stands for the server at wh_server.dir until that ends, and returns the exit status of the
 * service. If there is one, it goes on with these words; else server() becomes one, in a child, and
 * writes a byte to `ready` when clients can connect.
 */
int wh_front(char **words, int (*server)(int ready));

/* --- In the server ----------------------------------------------------------------------- */

void wh_front_gone(void);	/* from now on the server waits for another one */
void wh_front_here(void);	/* there is one */

#endif
