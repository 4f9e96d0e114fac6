/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session: one client's state in its worker (handles, loaded backend,
 * request buffers). Every kind of worker opens one over its mapped part.
 */
#ifndef WORMHOLE_SESSION_H
#define WORMHOLE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dispatch.h"

/*
 * Format the control page, slot pages and message areas of `part`, load the
 * backend (a libcuda.so.1, by path) and touch all memory that calls need.
 * NULL with one line in err on failure. The part's data area is not cleared:
 * it is new memory, or its owner clears it before the next client. The state
 * in the control page stays WH_CTL_FREE until wh_session_ready().
 */
struct wh_session *wh_session_open(void *part, size_t part_size, const char *backend,
				   char *err, size_t err_size);
/*
 * Shared memory besides the part, at the same address in the client, mostly
 * holes (size 0: none). one_process: the client is this process, and all of
 * its memory can be registered.
 */
void wh_session_far(struct wh_session *s, void *far, size_t size, bool one_process);
/* Charge the part to the tenant's host memory; false: it has no room for it. */
bool wh_session_charge_part(struct wh_session *s, size_t bytes);
/* Start the driver and use it once, so that a client's first calls find it warm. */
void wh_session_warm(struct wh_session *s);
/*
 * Load libraries ("cublas,curand") before a client is there; later they come
 * with the client's first call to each. False with one line in err.
 */
bool wh_session_preload(struct wh_session *s, const char *names, char *err, size_t err_size);
/* Publish: the client may use the part from now on. */
void wh_session_ready(struct wh_session *s);
/* The next call comes on another thread than the last: what is current there is unknown. */
void wh_session_new_thread(struct wh_session *s);
/* Mark the part dead, drop what the client left behind, unload the backend. */
void wh_session_close(struct wh_session *s);

#endif
