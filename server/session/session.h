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

/*
 * Charges the whole part to the tenant's host memory, since the driver keeps it in place once there
 * is a context. False with one line in err: there is no room for it.
 */
bool wh_session_charge_part(struct wh_session *s, size_t bytes, char *err, size_t size);
/*
 * The socket on which the server hands on files that the client lends (daemon/lend.h). Call it
 * before the filter of system calls.
 */
void wh_session_lent(struct wh_session *s, int from);
/* Starts the driver and uses it once, so that a client's first calls find it warm. */
void wh_session_warm(struct wh_session *s);
/*
 * Loads libraries before a client is there: "cublas,curand", or "all" in the folders of
 * $WORMHOLE_LIB_PATH. Other libraries are loaded at the client's first call to each. False with one
 * line in err.
 */
bool wh_session_preload(struct wh_session *s, const char *names, char *err, size_t err_size);
/*
 * wh_session_out_of_time(): a launch has lasted too long. The process ends, and its client finds
 * the reason in the control page. Only sessions in a process of their own do this; they allow it by
 * wh_session_may_end().
 */
void wh_session_out_of_time(struct wh_session *s) __attribute__((noreturn));
void wh_session_may_end(struct wh_session *s);
/* Where the slots' messages are in the part, in bytes. Any thread may ask. */
struct wh_session_place {
	uint64_t msg_offset, msg_size;	/* of slot 0; those of the others follow */
	uint32_t slots;
};
struct wh_session_place wh_session_place(const struct wh_session *s);
/* Publishes the part: the client may use it from now on. */
void wh_session_ready(struct wh_session *s);

#endif
