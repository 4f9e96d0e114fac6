/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations for `wormhole run`: run_program.c, run_user.c and run_terminal.c. */
#ifndef WORMHOLE_HOST_RUN_H
#define WORMHOLE_HOST_RUN_H

#include <pwd.h>
#include <sys/types.h>

struct wh_run_as {
	const struct passwd *pw;
	const char *tenant, *socket, *libraries;
	int keep;		/* the descriptor that the program inherits; -1: none */
	char **argv;
};

/*
 * Becomes the program, which is looked for as a shell does, or returns an exit status after a
 * message. `user`: as whom it would have run, for the message; or NULL.
 */
int wh_run_program(char **argv, const char *user);
/* Finds a user by name or number. Only root may call it. Returns NULL after a message. */
const struct passwd *wh_user_find(const char *name);
/*
 * Opens the three standard files if they are closed. Must be called before other files are
 * opened.
 */
void wh_user_standard_files(void);
/* Replaces the environment by the user's, and a list of variables from the caller's. */
void wh_user_environment(const struct passwd *pw);
/*
 * Becomes the program. At a terminal it waits for the program instead, and returns its exit
 * status.
 */
int wh_run_as(const struct wh_run_as *r);

/* --- run_terminal.c --------------------------------------------------------------------- */

/* Opens the caller's terminal and returns a new descriptor; -1: there is no terminal. */
int wh_terminal_of_caller(void);
/*
 * Calls @fn in a process of another session, with a terminal that belongs to @uid instead
 * of the caller's. It passes bytes between the two terminals until the process ends.
 * Returns the exit status of @fn, or of the program that it became. If a signal ended the
 * process, the same signal ends the caller.
 */
int wh_terminal_run(int tty, uid_t uid, int (*fn)(const void *arg), const void *arg);

#endif
