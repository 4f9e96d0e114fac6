/* SPDX-License-Identifier: Apache-2.0 */
/* The file to which a worker's own messages go. */
#ifndef WORMHOLE_MESSAGES_H
#define WORMHOLE_MESSAGES_H

#include <stdio.h>

/* It is stderr, until another file takes its place. */
FILE *wh_messages(void);
void wh_messages_to(FILE *f);

#endif
