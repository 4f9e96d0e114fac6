/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's channel to this server VM: a port that QEMU has a socket for, whose clients are root
 * of the host. tenant/channel.h says what goes through it.
 */
#ifndef WORMHOLE_VM_CHANNEL_H
#define WORMHOLE_VM_CHANNEL_H

#include <stdbool.h>

/*
 * `file` is the port; NULL: the port of this VM that has the name. Returns a descriptor that can be
 * read when there is something to do; -1: there is no such port, or errno.
 */
int wh_channel_open(const char *file);
/* Serves all requests. Returns true if the host has looked, or changed a limit. */
bool wh_channel_serve(void);

#endif
