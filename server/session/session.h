/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session: one client's state in its worker (handles, loaded backend,
 * request buffers). Every kind of worker opens one over its mapped part, as
 * loopback.h says.
 */
#ifndef WORMHOLE_SESSION_H
#define WORMHOLE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/dispatch.h"
#include "loopback.h"

/* Charge the part to the tenant's host memory; false: it has no room for it. */
bool wh_session_charge_part(struct wh_session *s, size_t bytes);
/* Start the driver and use it once, so that a client's first calls find it warm. */
void wh_session_warm(struct wh_session *s);
/*
 * Load libraries ("cublas,curand", or "all" in the folders of $WORMHOLE_LIB_PATH) before a client is there; later they come
 * with the client's first call to each. False with one line in err.
 */
bool wh_session_preload(struct wh_session *s, const char *names, char *err, size_t err_size);
/*
 * A launch has lasted too long: the process ends, and its client finds why in the control
 * page. Of sessions of a process of their own, which say so by the second.
 */
void wh_session_out_of_time(struct wh_session *s) __attribute__((noreturn));
void wh_session_may_end(struct wh_session *s);
/* Publish: the client may use the part from now on. */
void wh_session_ready(struct wh_session *s);

#endif
