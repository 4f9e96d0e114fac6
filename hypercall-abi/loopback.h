/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of a window in one process: the functions of libwormhole-session.so that the
 * loopback transport calls. The transport loads the library into a link namespace of its
 * own.
 */
#ifndef WORMHOLE_LOOPBACK_H
#define WORMHOLE_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- A session: every kind of worker has one (session/session.h) ----------------- */

struct wh_session;

/*
 * Formats the control page and `slots` slot pages and message areas of `part`, loads the
 * backend (the path of a libcuda.so.1) and touches all memory that calls need. Returns NULL
 * with one line in err on failure. The part's data area is not cleared: it is new memory,
 * or its owner clears it before the next client. The state in the control page stays
 * WH_CTL_FREE until wh_session_ready().
 */
struct wh_session *wh_session_open(void *part, size_t part_size, uint32_t slots,
				   const char *backend, char *err, size_t err_size);
/*
 * Must be called before a slot's first call, on any thread; slot 0 is ready. Returns false
 * if memory is missing.
 */
bool wh_session_slot(struct wh_session *s, uint32_t slot);
/*
 * Tells the session about shared memory besides the part. It has the same address in the
 * client and is mostly holes (size 0: there is none). one_process: the client is this
 * process, and all of its memory can be registered.
 */
void wh_session_far(struct wh_session *s, void *far, size_t size, bool one_process);
/*
 * Makes the session work for a tenant, with its files DIR/NAME.limits, DIR/NAME.usage and
 * DIR/turns (which may be missing). Must be called before the first request. Returns 0, or
 * -1 with a line in err. It is for loopback, where the client owns all of this, so a limit
 * protects against nobody.
 */
int wh_session_join_tenant(struct wh_session *s, const char *dir_and_name, char *err,
			   size_t err_size);
/* Must be called by each thread except the one that opened the session, before its first call. */
void wh_session_new_thread(struct wh_session *s);
/*
 * Runs the request in a slot's message area. A slot takes one request at a time; different
 * slots may run at the same time. Returns 0 if there is a response, which may hold an error
 * of CUDA. Returns a negative WH_* if it was no valid request: unknown handler, bad size. A
 * positive result means that nothing was done and the request is still there: send it again
 * after that many microseconds.
 */
int64_t wh_dispatch_slot(struct wh_session *s, uint32_t slot, uint32_t handler, uint64_t arg);
/* Marks the part dead, drops what the client left behind, and unloads the backend. */
void wh_session_close(struct wh_session *s);

/* --- Threads ------------------------------------------------------------------------ */

/*
 * The namespace has a C library of its own, but the session runs on threads of the program.
 * To this C library they are foreign: it neither made them nor sees them end. The functions
 * below do what it would do for a thread (foreign.c).
 */

/*
 * Must be called before anything else is loaded into the namespace. Returns false if no key
 * is left.
 */
bool wh_foreign_init(void);

/* Must be called by each foreign thread before its first call, and when it ends. */
void wh_foreign_thread_begin(void);
void wh_foreign_thread_end(void);

#endif
