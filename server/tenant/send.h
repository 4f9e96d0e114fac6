/* SPDX-License-Identifier: Apache-2.0 */
/* A message to another process, with descriptors beside it. */
#ifndef WORMHOLE_SEND_H
#define WORMHOLE_SEND_H

#include <stddef.h>
#include <sys/socket.h>

#define WH_SEND_MAX	2

/* n: of descriptors, WH_SEND_MAX at most. The rest is as of sendmsg(), without SIGPIPE. */
ssize_t wh_send_with(int to, struct msghdr m, const int *files, size_t n, int flags);

#endif
