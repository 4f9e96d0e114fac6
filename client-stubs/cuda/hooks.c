// SPDX-License-Identifier: Apache-2.0
/* Names the file that serves each hook of a call (client.h). Owns nothing. */
#include "stubs.h"

const struct wh_hooks wh_hooks = {
	.before = wh_managed_before,
	.sent = wh_managed_sent,
	.answered = wh_managed_answered,
	.missed = wh_managed_missed,
	.after = wh_managed_after,
	.capture_mode = wh_capture_mode_now,
	.output = wh_output_print,
	.failed = wh_logs_failed,
	.refused = wh_logs_refused,
	.logged = wh_logs_deliver,
	.long_end = wh_long_end,
	.thread_end = wh_drop_thread_streams,
};
