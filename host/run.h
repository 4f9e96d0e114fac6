/* SPDX-License-Identifier: Apache-2.0 */
/* `wormhole run --user`: run_user.c and run_terminal.c. */
#ifndef WORMHOLE_HOST_RUN_H
#define WORMHOLE_HOST_RUN_H

#include <pwd.h>
#include <sys/types.h>

struct wh_run_as {
	const struct passwd *pw;
	const char *tenant, *socket, *libraries;
	int keep;		/* the one descriptor that the program gets; -1: none */
	char **argv;
};

/* By name or number; NULL after a message. Only for root. */
const struct passwd *wh_user_find(const char *name);
/* Before anything is opened: the standard three are. */
void wh_user_standard_files(void);
/* From here on the environment is the user's, and a list of names of the caller's. */
void wh_user_environment(const struct passwd *pw);
/* Becomes the program, or waits for it at a terminal: then its exit status. */
int wh_run_as(const struct wh_run_as *r);

/* --- run_terminal.c --------------------------------------------------------------------- */

/* A descriptor of its own for the caller's terminal; -1: he has none. */
int wh_terminal_of_caller(void);
/*
 * Calls fn in a process of another session, with a terminal of uid's in the place of the
 * caller's, and passes on between the two until it has ended: the exit status of fn or what
 * it has become. Who ended by a signal is followed by the same.
 */
int wh_terminal_run(int tty, uid_t uid, int (*fn)(const void *arg), const void *arg);

#endif
