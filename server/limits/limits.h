/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session asks of the limits in its life; charge.h is what its handlers ask,
 * memory.h, bucket.h, turns.h and ipc.h are the room's own.
 */
#ifndef WORMHOLE_LIMITS_H
#define WORMHOLE_LIMITS_H

#include "state/state.h"

/* limits.c: of every session, with a tenant or without. */
bool wh_limits_init(struct wh_session *s);
void wh_limits_free(struct wh_session *s);
void wh_limits_reread(struct wh_session *s);
bool wh_mem_open(struct wh_session *s);
void wh_mem_prepare(struct wh_session *s);
/* After a call in which `risen' was set: what is charged now is held. */
void wh_mem_note_peak(struct wh_session *s);
void wh_mem_close(struct wh_session *s);
void wh_sm_close(struct wh_session *s);
void wh_sms_close(struct wh_session *s);
/* limits/host.c: host memory that the driver keeps in place. false: beyond the limit. */
bool wh_host_take(struct wh_session *s, uint64_t bytes);
void wh_host_give(struct wh_session *s, uint64_t bytes);

#endif
