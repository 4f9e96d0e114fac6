/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by the parts of wormhole-server: one process, one thread, one loop, below a
 * monitor. main.c owns the command line and the life of the process, monitor.c what lives on when
 * it is killed, children.c what it forks, loop.c its events,
 * tenants.c tenants and workers, control.c the control socket, probe.c what the devices are,
 * judge.c the driver's own figures.
 */
#ifndef WORMHOLE_SERVER_H
#define WORMHOLE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/un.h>

#include "daemon/worker.h"
#include "tenant/file.h"
#include "tenant/plan.h"
#include "tenant/spec.h"

#define WH_SOCKET_PATH	sizeof(((struct sockaddr_un *)0)->sun_path)
#define WH_MAX_TENANTS	256
#define WH_MAX_FILES	40960	/* the server's descriptors, at most */

struct wh_server {
	const char *self;	/* path of this program */
	char dir[WH_SOCKET_PATH];
	char socket[WH_SOCKET_PATH];
	/* folders of tenants that outlive the server (keep.c); NULL: the usual ones */
	const char *tenants, *state;
	const char *backend;
	size_t part_size;
	/* the library of the driver's figures; "none": none is read; NULL: the driver's own */
	const char *nvml;
	/* bytes beyond a tenant's limit that are tolerated, since nobody can undo them */
	uint64_t slack;
	unsigned int period_ms;	/* time between two readings of the figures */
	unsigned int keep_s;	/* seconds without a front (front.h) until it ends; 0: none */
	const char *scope;	/* of systemd's, in which the server runs then; NULL: none */
	const char *unit;	/* whose journal gets the messages; NULL: none */
	const char *worker_uid;	/* the first user of the tenants' own; "none"; NULL: chosen */
	uint64_t host_memory;	/* of a tenant without a limit of its own; bytes, 0: no limit */
	uint64_t max_kernel_ms;	/* the same for this limit; 0: no limit */
	/*
	 * --overcommit: how long a tenant stays on its devices that it was given room on; 0: off
	 */
	uint64_t overcommit_ms;
	uint32_t sm_group;	/* SMs of a group, for spatial limits; 0: each driver's own */
	/*
	 * Limits of the default tenant: from the administrator's variables, then the command line.
	 */
	struct wh_limit_list environment, limits;
	unsigned int devices;
	struct wh_device device[WH_TENANT_DEVICES];
};

extern struct wh_server wh_server;
struct wh_isolation;

/* --- children.c ------------------------------------------------------------------ */

/*
 * Forks a helper that ends without an exec. It has none of the server's descriptors above 2 but
 * `keep`; -1: none at all.
 */
pid_t wh_fork(int keep);
/*
 * The same for a job that goes on when the server is killed: wh_monitor_listen()'s function hears
 * of its end, of the server that there is then.
 */
pid_t wh_fork_lasting(int keep);
/* Closes all descriptors above 2 but this one; -1: all. */
void wh_close_others(int keep);
/*
 * Starts this program again, in another role. `argv` is without a program; `keep` is the one
 * descriptor that passes, as number 3. The child dies with this process. Returns its pid, or -1.
 */
pid_t wh_start(char *const argv[], int keep);
/* The same with the protections of a tenant's workers; NULL: none. */
pid_t wh_start_as(char *const argv[], int keep, const struct wh_isolation *as);
/* Call this in a child before its exec: sets signals as a program expects them. */
void wh_child_signals(void);
/*
 * Call this there, too: the child gets no terminal to type into, keeps none of the descriptors that
 * the server listens to, and leaves all others at its exec.
 */
void wh_close_in_child(void);
/* Call this there, too: only variables from a list of names stay (environment.c). */
void wh_environment_in_child(void);

/* --- log.c ---------------------------------------------------------------------- */

/* Prints one line on stderr: level, what, consequence. */
__attribute__((format(printf, 2, 3))) void wh_say(const char *level, const char *fmt, ...);
/*
 * The same for messages that clients or workers can cause as often as they like. For each format
 * and subject (a tenant) it prints some lines at once, then one a second, and the number of those
 * that were left out. The format is a literal.
 */
__attribute__((format(printf, 3, 4)))
void wh_say_of(const char *subject, const char *level, const char *fmt, ...);
/*
 * Until the server serves, who started it reads its lines as those of the command: they begin with
 * "wormhole: ".
 */
void wh_log_starts(bool now);
void wh_log_times(void);	/* from now on each line begins with the time */
void wh_log_levels(void);	/* from now on each begins with its level, for the journal */
void wh_log_stop(void);		/* reports left-out lines that are not reported yet */
void wh_log_flush(void);	/* the same, and begins of workers' lines */

/* The pipe into which the workers of a tenant write their messages. */
struct wh_log_pipe {
	const char *name;	/* the tenant's name */
	int in;			/* the standard error of workers; -1: not open */
	int fd[2];
	char line[300];
	unsigned int n;
};

bool wh_log_pipe_open(struct wh_log_pipe *p, const char *name);	/* false: errno */
/* Takes over a pipe that is open. False: errno. */
bool wh_log_pipe_take(struct wh_log_pipe *p, const char *name, int out, int in);
void wh_log_pipe_close(struct wh_log_pipe *p);

/* --- log_file.c ---------------------------------------------------------------- */

/* Makes DIR/server.log the standard error; `null` takes its place if it cannot be opened. */
void wh_log_file(int null);
void wh_log_file_taken(void);	/* it is that already, from the program before */
void wh_log_file_bound(void);	/* call this before each line */

/* --- service.c ------------------------------------------------------------------ */

/* Messages go to the journal of this unit; NULL: they do not. False with one line in err. */
bool wh_service_journal(const char *unit, char *err, size_t err_size);
void wh_service_ready(void);	/* tells systemd, if it asks for that */

/* --- admit.c -------------------------------------------------------------------- */

#define WH_STARTS		256	/* connections to a tenant at once, and loans of files */
#define WH_STARTS_A_SECOND	32	/* connections to a tenant per second in the long run */

struct wh_starts {
	uint64_t since_ns;	/* time by which used-up starts are counted; 0: all are at hand */
};

/* May a client connect now? If so, this uses up one start. */
bool wh_admit(struct wh_starts *s);

#define WH_NO_DESCRIPTOR	"the server has no file descriptor left: raise its limit of open files"

/* Call this once, before the first wh_accept(). */
void wh_accept_start(void);
/*
 * Accepts the next connection; -1: there is none. If no descriptor is left, the connection is given
 * to turn_away(), which should send WH_NO_DESCRIPTOR and close it.
 */
int wh_accept(int listener, void (*turn_away)(int conn, void *arg), void *arg);
/* Who has connected; nobody (user -1, process 0) if the kernel does not say. */
struct ucred wh_peer(int conn);

/* --- hang_up.c ------------------------------------------------------------------ */

/* May the next connection of a client be accepted? False: one before it has not ended yet. */
bool wh_hang_up_is_free(void);
/* Ends a connection of a client's that no process has but this one. It never waits. */
void wh_hang_up(int conn);
/* Ends a listener, and with it all connections that it has not accepted. */
void wh_hang_up_all(int listener);

/* --- loop.c ------------------------------------------------------------------- */

typedef void (*wh_event_fn)(int fd, void *arg);
/* Calls fn whenever fd can be read or has ended. False: errno; EUSERS: too many. */
bool wh_loop_add(int fd, wh_event_fn fn, void *arg);
void wh_loop_remove(int fd);
/*
 * Finds the descriptors with this function, one after the other. `*at` is 0 at first. Returns -1
 * when there is no more.
 */
int wh_loop_next(int *at, wh_event_fn fn, void **arg);
/* Pauses the calls for fd. Its place stays reserved, so that the end of the pause cannot fail. */
void wh_loop_pause(int fd, bool pause);
/*
 * Calls fn about every `ms` milliseconds; NULL: no more. There is only one such timer, which log.c
 * uses, because it needs no descriptor.
 */
void wh_loop_every(unsigned int ms, void (*fn)(void));
/* Makes a timer that calls fn, and does not run at first. -1: errno. */
int wh_timer_new(void (*fn)(void));
/* Has it call after `ms` milliseconds, once, or again and again; 0: no more. False: errno. */
bool wh_timer_set(int timer, uint64_t ms, bool again);
/* Call this in a child: closes what the loop listens to. */
void wh_loop_leave(void);
/* From now on this is called after each round of events. */
void wh_loop_after(void (*fn)(void));
void wh_loop_run(void);
void wh_loop_stop(void);

/* --- tenants.c ------------------------------------------------------------------ */

struct wh_tenant;

/* Options of a request, and its error text for the client that asked. */
struct wh_tenant_request {
	const char *name;	/* NULL or "": the server chooses */
	bool ephemeral;
	bool bounded;		/* its first limits are the most that it may have */
	bool kept;		/* a file has it, which holds with limits below a context's */
	uid_t uid;		/* the user that may connect, beside root */
	uint32_t devices;	/* bit i: it has device i; 0: it has all */
	struct wh_limit_list limits;
};

/* These return NULL or false with one line in err. */
struct wh_tenant *wh_tenant_create(const struct wh_tenant_request *r, char *err, size_t err_size);
/* `kept`: as in the request. */
bool wh_tenant_limit(struct wh_tenant *t, const struct wh_limit_list *l, bool kept, char *err,
		     size_t err_size);
/* `force`: also a tenant with living workers, which are killed. */
bool wh_tenant_delete(struct wh_tenant *t, bool force, char *err, size_t err_size);

bool wh_tenants_start(char *err, size_t err_size);	/* folder, default tenant */
void wh_tenants_stop(void);		/* kills all workers, removes all files */
struct wh_tenant *wh_tenant_find(const char *name);
/* A tenant of this name still exists only for its workers: nobody keeps it any more. */
bool wh_tenant_is_ending(const char *name);
struct wh_tenant *wh_tenant_next(const struct wh_tenant *after);	/* NULL: the first */
const char *wh_tenant_name(const struct wh_tenant *t);
const char *wh_tenant_socket(const struct wh_tenant *t);
bool wh_tenant_is_ephemeral(const struct wh_tenant *t);
uid_t wh_tenant_uid(const struct wh_tenant *t);
/* Returns the memory to which its workers write while somebody traces it. */
int wh_tenant_trace(const struct wh_tenant *t);
/* wh_tenant_release() ends what keeps an ephemeral tenant: see control.c. */
void wh_tenant_hold(struct wh_tenant *t);
void wh_tenant_release(struct wh_tenant *t);
/* Is this an address of a tenant's mapped files? May be called from a signal handler. */
bool wh_tenants_map(const void *address);
/* A worker, or another child of the monitor's, has ended. */
void wh_tenants_reap(pid_t pid, int status);
/* Is this one of theirs, or the process that gives back the memory of one? */
bool wh_tenants_have(pid_t pid);

/* --- control.c -------------------------------------------------------------------- */

/* For its answers (control_look.c): each adds what there is to one, and returns it. */
struct cJSON;
struct cJSON *wh_say_tenants(struct cJSON *out);
struct cJSON *wh_say_server(struct cJSON *out);
struct cJSON *wh_say_usage(struct cJSON *out);
bool wh_control_start(char *err, size_t err_size);
void wh_control_stop(void);
/* Returns the JSON text that make(with) returns, or NULL if memory ran out for a part of it. */
char *wh_control_whole(char *(*make)(int with), int with);
/* Last of all: who stands for the server (front.h) hears of its end. */
void wh_control_farewell(void);

/* --- sockets.c --------------------------------------------------------------------- */

/*
 * Opens a folder that belongs to the server's user, and that nobody else can write to or replace.
 * Returns its descriptor, or -1 with one line in err.
 */
int wh_open_dir(const char *path, char *err, size_t err_size);
/* The same; err names another option than --dir. */
int wh_open_dir_of(const char *option, const char *path, char *err, size_t err_size);
/* Takes the lock of an open file or folder, for which it waits a moment. 0, or -1 with errno. */
int wh_take_lock(int fd);
/*
 * Listens at the path with the mode; an existing file is taken as a dead server's. Returns the
 * descriptor, or -1 with errno.
 */
int wh_listen(const char *path, mode_t mode, uid_t uid);
/* Connects to such a socket. Returns the descriptor, or -1. */
int wh_dial(const char *path);
/* Takes the folder's lock: each folder has one living server. False with one line in err. */
bool wh_lock_dir(const char *dir, char *err, size_t err_size);
void wh_unlock_dir(void);

/* --- probe.c ------------------------------------------------------------------------ */

/*
 * Asks the backend which devices there are, in a process of its own, and where there are MIG
 * instances in one for each device.
 */
bool wh_probe(struct wh_server *s, char *err, size_t err_size);
/* `visible`: the UUID of the one device that is asked for; "": all. */
int wh_probe_main(const char *backend, const char *nvml, uint32_t sm_group, const char *visible,
		  enum wh_protect protect, int fd);

/* --- versions.c ----------------------------------------------------------------- */

/* Asks the libraries in $WORMHOLE_LIB_PATH for their versions, says them, and tells workers. */
bool wh_versions_start(char *err, size_t err_size);
void wh_versions_print(void *file);	/* "cudnn 9.19.0 PATH" a line, the newest of each first */
int wh_versions_main(const char *backend, enum wh_protect protect, int fd);

/* --- places.c ------------------------------------------------------------------- */

/*
 * Makes the names of the driver's library and the others absolute, in options and variables. False:
 * no memory.
 */
bool wh_places_from_root(void);

/* --- faults.c ------------------------------------------------------------------- */

/* From here on, a tenant's file that has lost memory does not end the server. */
void wh_faults_start(void);
bool wh_faults_seen(void);	/* since the last call */

/* --- notes.c -------------------------------------------------------------------- */

bool wh_notes_write(char *err, size_t err_size);
void wh_notes_remove(void);

/* --- contexts.c ------------------------------------------------------------------------ */

/* The driver's figures come, so contexts are charged. */
void wh_contexts_charged(void);
/* Would a program of the tenant have a context under these limits? False with one line in err. */
bool wh_contexts_fit(const struct wh_tenant *t, const struct wh_device_limit *limit, char *err,
		     size_t err_size);

/* --- judge.c --------------------------------------------------------------------------- */

bool wh_judge_start(void);
bool wh_judge_reap(pid_t pid, int status);	/* true: it was the reader */
void wh_judge_stop(void);
pid_t wh_judge_pid(void);	/* the process that reads the figures; 0: none */
/* What the driver last said of a device. */
const struct wh_device_figures *wh_judge_device(unsigned int device);

/* --- usage.c -------------------------------------------------------------------------- */

/* A child has ended. Call this before wh_tenants_reap(). */
void wh_usage_ended(pid_t pid, const struct rusage *u);
/* CPU time in ns: of all workers that the tenant has and had, and of the server itself. */
uint64_t wh_usage_of(const struct wh_tenant *t);
uint64_t wh_usage_own(void);

/* --- drain.c -------------------------------------------------------------------------- */

/* From now on no new program is taken, or all are again; with `end` the server ends then. */
void wh_drain(bool on, bool end);
unsigned int wh_drain_programs(void);	/* of all tenants */
bool wh_drain_ends(void);		/* with the last program */
void wh_drain_list(struct cJSON *all);	/* adds {tenant, programs, pids} for each tenant with any */
bool wh_drain_refuses(char *why, size_t size);	/* true: `why` is for the client */
/* False: programs run, and err says which, and what to do. */
bool wh_drain_allows_stop(char *err, size_t err_size);
void wh_drain_take(void);		/* at the start, after a handover */
void wh_drain_look(void);		/* call this when a worker has ended */

/* --- cdi.c: what `wormhole cdi` has written for a tenant goes with it ------------- */

void wh_cdi_remove(const char *folder, const char *tenant);

#endif
