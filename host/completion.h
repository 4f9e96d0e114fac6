/* SPDX-License-Identifier: Apache-2.0 */
/* Lists commands instead of running them (completion.c). */
#ifndef WORMHOLE_HOST_COMPLETION_H
#define WORMHOLE_HOST_COMPLETION_H

#include "wormhole.h"

/*
 * wh_listing() returns true if commands run only to be listed. Then wh_list_argp() is
 * called instead of parsing.
 */
bool wh_listing(void);
__attribute__((noreturn)) void wh_list_argp(const struct argp *argp);
void wh_list_commands(const struct command *table, const char *path);

/* Prints the options of all commands as a script for bash. */
void wh_completion_print(const struct command *commands);

#endif
