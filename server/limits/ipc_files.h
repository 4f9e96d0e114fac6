/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that workers of one tenant hand to each other: those of the driver for exported
 * memory. A worker asks for them on a socket of the owner, whose name is random and stands in the
 * tenant's table.
 */
#ifndef WORMHOLE_IPC_FILES_H
#define WORMHOLE_IPC_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "tenant/tenant.h"

#define WH_IPC_NAME	64

/*
 * Has this process the sockets that are needed? The first call makes them: call it before the
 * process loses the right to make any.
 */
bool wh_ipc_files_work(void);
/*
 * Starts answering, once; `name` is the name under which others ask. Later calls return the same
 * name.
 */
bool wh_ipc_files_start(const struct wh_tenant_usage *u, char name[WH_IPC_NAME]);
/* Takes `fd` over. A number that is offered already keeps its descriptor. */
bool wh_ipc_files_offer(const uint64_t id[2], int fd);
void wh_ipc_files_withdraw(const uint64_t id[2]);
/*
 * Fetches a descriptor from the worker with this pid. -1: it does not exist, or not any more. Waits
 * at most a few seconds.
 */
int wh_ipc_files_fetch(const char name[WH_IPC_NAME], uint32_t pid, const uint64_t id[2]);
void wh_ipc_files_stop(void);

#endif
