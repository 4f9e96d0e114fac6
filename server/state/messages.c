// SPDX-License-Identifier: Apache-2.0
/* Messages of the worker itself, which differ from what the driver prints for the client. */
#include "state/state.h"

__thread struct wh_self wh_self;

static FILE *messages;

void wh_messages_to(FILE *f)
{
	messages = f;
}

FILE *wh_messages(void)
{
	return messages ? messages : stderr;
}

CUresult wh_missing(struct wh_session *s, const char *name)
{
	static int lines;

	/* A client can ask in a loop, and must not fill the log. */
	if (__atomic_load_n(&lines, __ATOMIC_RELAXED) < 32)
		fprintf(wh_messages(), "warn: worker: backend has no %s; the call is refused\n", name);
	__atomic_fetch_add(&lines, 1, __ATOMIC_RELAXED);
	(void)s;
	return CUDA_ERROR_NOT_SUPPORTED;
}
