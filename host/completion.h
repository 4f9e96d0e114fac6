/* SPDX-License-Identifier: Apache-2.0 */
/* How commands list themselves instead of running (completion.c). */
#ifndef WORMHOLE_HOST_COMPLETION_H
#define WORMHOLE_HOST_COMPLETION_H

#include "wormhole.h"

/* Are commands run only to be listed? Then these two do it, the first in place of parsing. */
bool wh_listing(void);
__attribute__((noreturn)) void wh_list_argp(const struct argp *argp);
void wh_list_commands(const struct command *table, const char *path);

/* All of them, as a script for bash. */
void wh_completion_print(const struct command *commands);

#endif
