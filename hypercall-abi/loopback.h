/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of a window in one process: what the loopback transport calls in
 * libwormhole-session.so, which it loads into a link namespace of its own.
 */
#ifndef WORMHOLE_LOOPBACK_H
#define WORMHOLE_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- A session: every kind of worker has it (session/session.h) ----------------- */

struct wh_session;

/*
 * Format the control page, `slots` slot pages and message areas of `part`, load the
 * backend (a libcuda.so.1, by path) and touch all memory that calls need.
 * NULL with one line in err on failure. The part's data area is not cleared:
 * it is new memory, or its owner clears it before the next client. The state
 * in the control page stays WH_CTL_FREE until wh_session_ready().
 */
struct wh_session *wh_session_open(void *part, size_t part_size, uint32_t slots,
				   const char *backend, char *err, size_t err_size);
/* Before a slot's first call, on any thread; slot 0 is ready. False: out of memory. */
bool wh_session_slot(struct wh_session *s, uint32_t slot);
/*
 * Shared memory besides the part, at the same address in the client, mostly
 * holes (size 0: none). one_process: the client is this process, and all of
 * its memory can be registered.
 */
void wh_session_far(struct wh_session *s, void *far, size_t size, bool one_process);
/*
 * The session works for a tenant, by its files DIR/NAME.limits, DIR/NAME.usage
 * and DIR/turns (which may be missing); call it before the first request. 0, or
 * -1 with a line in err. For loopback, where the client owns all of this and no
 * limit holds against anybody.
 */
int wh_session_join_tenant(struct wh_session *s, const char *dir_and_name, char *err,
			   size_t err_size);
/* By each thread besides the one that opened the session, before its first call. */
void wh_session_new_thread(struct wh_session *s);
/*
 * Run the request in the message area of a slot: one at a time there, those of different
 * slots at the same time. Returns 0 once a response is
 * there (CUDA's own errors are in it), or a negative WH_* when the request was
 * no request: unknown handler, bad size. A positive result: nothing was done,
 * the request is still there; send it again after that many microseconds.
 */
int64_t wh_dispatch_slot(struct wh_session *s, uint32_t slot, uint32_t handler, uint64_t arg);
/* Mark the part dead, drop what the client left behind, unload the backend. */
void wh_session_close(struct wh_session *s);

/* --- Threads ------------------------------------------------------------------------ */

/*
 * The namespace has a C library of its own, but the session runs on threads of the
 * program's: foreign ones, which this C library neither made nor sees end. What it
 * would do for a thread is done here (foreign.c).
 */

/* Before anything else is loaded into the namespace. False: out of keys. */
bool wh_foreign_init(void);

/* By each foreign thread before its first call, and when it ends. */
void wh_foreign_thread_begin(void);
void wh_foreign_thread_end(void);

#endif
