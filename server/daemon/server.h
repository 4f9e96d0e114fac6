/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by the parts of wormhole-server: one process, one thread,
 * one loop. main.c owns the command line and the life of the process,
 * loop.c its events, tenants.c tenants and workers, control.c the control
 * socket, probe.c what the devices are, audit.c the driver's own figures.
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
#define WH_DEFAULT	"default"	/* the tenant of the server's own socket */

struct wh_server {
	const char *self;	/* path of this program */
	char dir[WH_SOCKET_PATH];
	char socket[WH_SOCKET_PATH];
	const char *backend;
	size_t part_size;
	const char *nvml;	/* tells the driver's figures; "none": nobody; NULL: the driver's own */
	uint64_t slack;		/* bytes of a tenant beyond its limit that nobody can undo */
	unsigned int period_ms;	/* of reading them */
	const char *worker_uid;	/* the first of the tenants' own users; "none"; NULL: chosen */
	uint64_t host_memory;	/* of a tenant about which nothing is said; bytes, 0: no limit */
	uint64_t max_kernel_ms;	/* the same; 0: no limit */
	uint32_t sm_group;	/* SMs of a group, for spatial limits; 0: each driver's own */
	/* Of the default tenant: the administrator's variables, then the command line. */
	struct wh_limit_list environment, limits;
	unsigned int devices;
	struct wh_device device[WH_TENANT_DEVICES];
};

extern struct wh_server wh_server;
struct wh_isolation;

/*
 * This program again, as another role: argv without a program, `keep` the one
 * descriptor that passes, as number 3. The child dies with this process. Its
 * pid, or -1.
 */
pid_t wh_start(char *const argv[], int keep);
/* The same with the protections of a tenant's workers; NULL: none. */
pid_t wh_start_as(char *const argv[], int keep, const struct wh_isolation *as);
/* In a child, before it becomes another program: signals as a program expects them. */
void wh_child_signals(void);
/* There, too: no terminal to type into, no descriptor that the server was started with. */
void wh_close_in_child(void);
/* There, too, and for good: of the environment a list of names alone (environment.c). */
void wh_environment_in_child(void);

/* --- log.c ---------------------------------------------------------------------- */

/* One line on stderr: level, what, consequence. */
__attribute__((format(printf, 2, 3))) void wh_say(const char *level, const char *fmt, ...);
/*
 * The same of what clients or workers can bring about as often as they like: of
 * each format and subject (a tenant) some lines at once, then one a second, and
 * the number of those that were left out. The format is a literal.
 */
__attribute__((format(printf, 3, 4)))
void wh_say_of(const char *subject, const char *level, const char *fmt, ...);
void wh_log_times(void);	/* from now on each line begins with the time */
void wh_log_stop(void);		/* says what was left out and is not said yet */

/* Where the workers of a tenant write what they have to say. */
struct wh_log_pipe {
	const char *name;	/* the tenant's */
	int in;			/* a worker's standard error; -1: not open */
	int fd[2];
	char line[300];
	unsigned int n;
};

bool wh_log_pipe_open(struct wh_log_pipe *p, const char *name);	/* false: errno */
void wh_log_pipe_close(struct wh_log_pipe *p);

/* --- admit.c -------------------------------------------------------------------- */

#define WH_STARTS		256	/* connections to a tenant at once, */
#define WH_STARTS_A_SECOND	32	/* and in the long run */

struct wh_starts {
	uint64_t since_ns;	/* 0: all are at hand */
};

/* May somebody connect once more now? */
bool wh_admit(struct wh_starts *s);

#define WH_NO_DESCRIPTOR	"the server has no file descriptor left: raise its limit of open files"

/* Once, before the first wh_accept(). */
void wh_accept_start(void);
/*
 * The next connection, or -1: none there. Where no descriptor is left the connection
 * is given to turn_away(), which is to say WH_NO_DESCRIPTOR, and closed.
 */
int wh_accept(int listener, void (*turn_away)(int conn, void *arg), void *arg);

/* --- loop.c ------------------------------------------------------------------- */

typedef void (*wh_event_fn)(int fd, void *arg);
/* Call fn whenever fd can be read or has ended. false: errno; EUSERS: too many. */
bool wh_loop_add(int fd, wh_event_fn fn, void *arg);
void wh_loop_remove(int fd);
/* Not called meanwhile; its place stays its own, so that the end of the pause cannot fail. */
void wh_loop_pause(int fd, bool pause);
/* Call fn about every ms; NULL: no more. One only: log.c has it. */
void wh_loop_every(unsigned int ms, void (*fn)(void));
void wh_loop_run(void);
void wh_loop_stop(void);

/* --- tenants.c ------------------------------------------------------------------ */

struct wh_tenant;

/* Options and the error of a request; text for the one who asked. */
struct wh_tenant_request {
	const char *name;	/* NULL or "": the server chooses */
	bool ephemeral;
	bool bounded;		/* its limits are the most that it will have */
	uid_t uid;		/* who may connect, beside root */
	uint32_t devices;	/* bit i: it has device i; 0: it has all */
	struct wh_limit_list limits;
};

/* All of these: NULL or false with one line in err. */
struct wh_tenant *wh_tenant_create(const struct wh_tenant_request *r, char *err, size_t err_size);
bool wh_tenant_limit(struct wh_tenant *t, const struct wh_limit_list *l, char *err,
		     size_t err_size);
/* force: also with living workers, which are killed. */
bool wh_tenant_delete(struct wh_tenant *t, bool force, char *err, size_t err_size);

bool wh_tenants_start(char *err, size_t err_size);	/* folder, default tenant */
void wh_tenants_stop(void);		/* kills all workers, removes all files */
struct wh_tenant *wh_tenant_find(const char *name);
/* One of this name is there still, for its workers: nobody keeps it any more. */
bool wh_tenant_is_ending(const char *name);
struct wh_tenant *wh_tenant_next(const struct wh_tenant *after);	/* NULL: the first */
const char *wh_tenant_name(const struct wh_tenant *t);
const char *wh_tenant_socket(const struct wh_tenant *t);
bool wh_tenant_is_ephemeral(const struct wh_tenant *t);
uid_t wh_tenant_uid(const struct wh_tenant *t);
/* What its workers write to while somebody traces it. */
int wh_tenant_trace(const struct wh_tenant *t);
/* The end of what keeps an ephemeral tenant: see control.c. */
void wh_tenant_hold(struct wh_tenant *t);
void wh_tenant_release(struct wh_tenant *t);
/* Is this an address of a tenant's mapped files? From a handler of signals, too. */
bool wh_tenants_map(const void *address);
/* A child of this process ended. */
void wh_tenants_reap(pid_t pid, int status);

/* --- control.c -------------------------------------------------------------------- */

bool wh_control_start(char *err, size_t err_size);
void wh_control_stop(void);

/* --- sockets.c --------------------------------------------------------------------- */

/*
 * A folder that is the server's user's and that nobody else can write to or put
 * another in place of: its descriptor, or -1 with one line in err.
 */
int wh_open_dir(const char *path, char *err, size_t err_size);
/*
 * Listen at path with the mode; a file that is there is taken for a dead
 * server's. The descriptor, or -1 with errno.
 */
int wh_listen(const char *path, mode_t mode, uid_t uid);
/* Take the folder's lock: one living server each. false with one line in err. */
bool wh_lock_dir(const char *dir, char *err, size_t err_size);
void wh_unlock_dir(void);

/* --- probe.c ------------------------------------------------------------------------ */

/* Ask the backend, in a process of its own, what devices there are. */
bool wh_probe(struct wh_server *s, char *err, size_t err_size);
int wh_probe_main(const char *backend, uint32_t sm_group, enum wh_protect protect, int fd);

/* --- versions.c ----------------------------------------------------------------- */

/* Asks the libraries in $WORMHOLE_LIB_PATH for their versions, says them, and tells workers. */
bool wh_versions_start(char *err, size_t err_size);
void wh_versions_print(void *file);	/* "cudnn 9.19.0 PATH" a line, the newest of each first */
int wh_versions_main(const char *backend, enum wh_protect protect, int fd);

/* --- places.c ------------------------------------------------------------------- */

/* Of the driver's library and the others', in options and variables. False: no memory. */
bool wh_places_from_root(void);

/* --- faults.c ------------------------------------------------------------------- */

/* From here on a tenant's file that has lost memory is no end of the server. */
void wh_faults_start(void);
bool wh_faults_seen(void);	/* since it was asked last */

/* --- notes.c -------------------------------------------------------------------- */

bool wh_notes_write(char *err, size_t err_size);
void wh_notes_remove(void);

/* --- audit.c --------------------------------------------------------------------------- */

bool wh_audit_start(void);
bool wh_audit_reap(pid_t pid, int status);	/* true: it was the reader */
void wh_audit_stop(void);
pid_t wh_audit_pid(void);	/* of the process that reads them; 0: none */

/* --- usage.c -------------------------------------------------------------------------- */

/* A child has ended: before wh_tenants_reap(). */
void wh_usage_ended(pid_t pid, const struct rusage *u);
/* CPU time in ns: of all workers that the tenant has and had; of the server itself. */
uint64_t wh_usage_of(const struct wh_tenant *t);
uint64_t wh_usage_own(void);

/* --- cdi.c: what `wormhole cdi` has written for a tenant goes with it ------------- */

void wh_cdi_remove(const char *folder, const char *tenant);

#endif
