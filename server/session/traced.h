/* SPDX-License-Identifier: Apache-2.0 */
/* Runs calls while somebody traces (limits/trace.h). */
#ifndef WORMHOLE_SERVER_TRACED_H
#define WORMHOLE_SERVER_TRACED_H

#include "session/handler.h"
#include "session/library.h"

/* Runs a handler, the driver's or a library's, and records what it was and when it ran. */
int32_t wh_run_traced(struct wh_session *s, struct wh_frame *f, const struct wh_call_entry *e,
		      const struct wh_library_entry *l);

#endif
