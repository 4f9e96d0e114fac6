/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of programs is two processes. The server itself serves. The monitor above it is the
 * parent of the server and of all workers, shares the server's open files, and holds the last state
 * that the server has saved (handover.h). When the server is killed, the monitor starts another,
 * which goes on from there: workers notice nothing. The monitor has no work but this, so that there
 * is little by which it could end. If it ends, server and workers end with it.
 */
#ifndef WORMHOLE_DAEMON_MONITOR_H
#define WORMHOLE_DAEMON_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

/* --- In the process that was started ----------------------------------------------------- */

/* Exit status of a server that could not go on from the state, and has ended nothing. */
#define WH_MONITOR_AGAIN	75

/*
 * Becomes the monitor of a process that runs server(), and returns the server's exit status. After
 * WH_MONITOR_AGAIN it starts another one, for some seconds.
 * `state` is the file that wh_monitor_become() of the program before was given, or -1; it is
 * closed. Call it with one thread.
 */
int wh_monitor(int (*server)(void), int state);

/* --- In the server ----------------------------------------------------------------------- */

struct wh_ended {
	pid_t pid;
	int status;
	struct rusage usage;
};

pid_t wh_monitor_pid(void);
/* The signal that ended the server before this one; 0: there was none. */
int wh_monitor_died(void);
/*
 * Forks a child of the monitor's, which a killed server does not take with it. `cgroup` is the
 * folder of the cgroup that it begins in, or -1. Returns as fork() does.
 */
pid_t wh_monitor_fork(int cgroup);
/* From now on the loop calls this for each such child that has ended. False: errno. */
bool wh_monitor_listen(void (*ended)(const struct wh_ended *e));
/* Waits until one of these children has ended. False: the monitor does not say so any more. */
bool wh_monitor_next(struct wh_ended *e);
/* The same for this child; the loop hears of the others that end meanwhile. */
void wh_monitor_wait(pid_t pid);
/* Kills this child, unless it has ended: its pid may be another process's then. */
void wh_monitor_kill(pid_t pid);

/* --- In one that goes on after another one ----------------------------------------------- */

/* The server before may have been told of this child's end: then the loop hears of it, too. */
void wh_monitor_missing(pid_t pid);
/* Kills all of the monitor's children that the server does not know, and waits for their end. */
void wh_monitor_kill_unknown(bool (*known)(pid_t pid));

/* --- What outlives a server ---------------------------------------------------------------- */

void wh_monitor_ready(void);	/* clients can connect */
/*
 * What a next server would have to know has changed. Not so if something has only ended: the next
 * server finds by itself that a file is closed, or a process gone.
 */
void wh_monitor_changed(void);
/* Saves it, if so: after this, the change outlives the server. */
void wh_monitor_save(void);
/* Saves this text as the state. False: errno. */
bool wh_monitor_put(const char *text);
/* The state that the server before has saved; NULL: there was none. */
const char *wh_monitor_state(void);
bool wh_monitor_has(int fd);	/* the file is not of the state, and stays open all the same */
/*
 * Exits: the monitor runs the installed program with the state in this file (handover.c). If it
 * cannot, it starts another server, which finds the reason by wh_monitor_failure().
 */
__attribute__((noreturn)) void wh_monitor_become(int state);
/* Why the installed program could not be run; 0: it was not tried. */
int wh_monitor_failure(void);

#endif
