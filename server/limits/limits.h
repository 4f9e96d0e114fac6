/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session calls over its life. charge.h is for its handlers; memory.h, bucket.h, turns.h and
 * ipc.h are for this folder itself.
 */
#ifndef WORMHOLE_LIMITS_H
#define WORMHOLE_LIMITS_H

#include "state/state.h"

/* join.c: for every session, with a tenant or without. */
bool wh_limits_init(struct wh_session *s);
void wh_limits_free(struct wh_session *s);
void wh_limits_reread(struct wh_session *s);
bool wh_mem_open(struct wh_session *s);
void wh_mem_prepare(struct wh_session *s);
/* Call this after a call in which `risen' was set: the current charge is now held. */
void wh_mem_note_peak(struct wh_session *s);
void wh_mem_close(struct wh_session *s);
void wh_sm_close(struct wh_session *s);
void wh_sms_close(struct wh_session *s);
/* limits/host.c: host memory that the driver keeps in place. False: beyond the limit. */
bool wh_host_take(struct wh_session *s, uint64_t bytes);
void wh_host_give(struct wh_session *s, uint64_t bytes);

#endif
