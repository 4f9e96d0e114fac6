/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that workers of one tenant hand to each other: the driver's, of
 * memory that was exported. They are asked for on a socket of the owner's, whose
 * name is random and stands in the tenant's table.
 */
#ifndef WORMHOLE_IPC_FILES_H
#define WORMHOLE_IPC_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "tenant/tenant.h"

#define WH_IPC_NAME	64

/*
 * Has this process the sockets that it takes? They are made by the first call:
 * before the process loses the right to make any.
 */
bool wh_ipc_files_work(void);
/* Start answering; `name` is what others ask for. Once; afterwards the same name again. */
bool wh_ipc_files_start(const struct wh_tenant_usage *u, char name[WH_IPC_NAME]);
/* Takes fd over. A number that is offered already keeps the descriptor that it has. */
bool wh_ipc_files_offer(const uint64_t id[2], int fd);
void wh_ipc_files_withdraw(const uint64_t id[2]);
/* From the worker with this pid; -1: not there, or no longer. Waits seconds at most. */
int wh_ipc_files_fetch(const char name[WH_IPC_NAME], uint32_t pid, const uint64_t id[2]);
void wh_ipc_files_stop(void);

#endif
