// SPDX-License-Identifier: Apache-2.0
/*
 * Fetches what the driver printed in the worker (device printf(), assertions) when a response
 * says that there is some. It prints it as the driver would have here: on this process's stdout
 * and stderr, in order with what the process prints itself.
 */
#include "stubs.h"

#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t print_lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;

static void print(FILE *f, const char *buf, uint32_t n)
{
	if (!n)
		return;
	fwrite(buf, 1, n, f);
	fflush(f);
}

static bool fetch(char *buf, size_t size)
{
	const struct wh_rsp_whOutput *r;
	uint32_t out = 0, err = 0;
	struct wh_call c;

	if (!wh_begin(&c, WH_CALL_whOutput, sizeof(struct wh_req)))
		return false;
	if (wh_run(&c, sizeof(*r)) == CUDA_SUCCESS) {
		r = c.rsp;
		out = r->out <= size ? r->out : 0;
		err = r->err <= size - out ? r->err : 0;
		c.pos = WH_WIRE_FIXED(*r);
		wh_reply_take(&c, buf, out, 1);
		wh_reply_take(&c, buf + out, err, 1);
	}
	wh_end(&c);
	/* It prints without the slot, since the reader of a pipe may be slow. */
	print(stdout, buf, out);
	print(stderr, buf + out, err);
	return out || err;
}

/* If another thread is already printing, it takes all there is. */
void wh_output_print(void)
{
	char *buf;

	if (pthread_mutex_trylock(&print_lock))
		return;
	buf = malloc(wh_client.link.msg_size);
	while (buf && fetch(buf, wh_client.link.msg_size))
		;
	free(buf);
	pthread_mutex_unlock(&print_lock);
}
