/* SPDX-License-Identifier: Apache-2.0 */
/* Files that clients lend their workers: shared maps that they register (shm.h). */
#ifndef WORMHOLE_DAEMON_LEND_H
#define WORMHOLE_DAEMON_LEND_H

#include <stdbool.h>
#include <sys/types.h>

struct tenant_worker;
struct wh_tenant;

/* Makes the socket by which the worker of this account gets files. Its end, or -1 with errno. */
int wh_lend_open(struct wh_tenant *t, int account);
void wh_lend_close(struct tenant_worker *w);
/*
 * Did a client connect to lend its worker a file? Then a process of its own is started for that,
 * which has the connection (*has), or the client is told why there is none.
 */
bool wh_lend_on_client(struct wh_tenant *t, int conn, bool *has);
bool wh_lend_reap(pid_t pid);	/* was it such a process? It has ended */

#endif
