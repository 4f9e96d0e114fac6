/* SPDX-License-Identifier: Apache-2.0 */
/* A message to another process, with one descriptor beside it. */
#ifndef WORMHOLE_SEND_H
#define WORMHOLE_SEND_H

#include <sys/socket.h>

/* `file` < 0: there is no descriptor to send. The rest is as of sendmsg(), without SIGPIPE. */
ssize_t wh_send_with(int to, struct msghdr m, int file, int flags);

#endif
