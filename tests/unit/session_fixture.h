/* SPDX-License-Identifier: Apache-2.0 */
/* A session over memory of this process, with the fake driver library. */
#ifndef WORMHOLE_TESTS_SESSION_FIXTURE_H
#define WORMHOLE_TESTS_SESSION_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tap.h"
#include "session/handler.h"
#include "session/session.h"

#define PART_SIZE	(4UL << 20)

static inline struct wh_session *open_session_of(const char *argv0, uint32_t slots)
{
	void *part = mmap(NULL, PART_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	char path[4096], err[256];
	struct wh_session *s;
	char *slash;

	snprintf(path, sizeof(path) - 16, "%s", argv0);
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "fake_cuda.so");
	if (!strchr(path, '/'))
		strcpy(path, "./fake_cuda.so");
	s = wh_session_open(part, PART_SIZE, slots, path, err, sizeof(err));
	if (!s) {
		printf("Bail out! %s\n", err);
		exit(1);
	}
	wh_session_ready(s);
	return s;
}

/* The session has as many slots as a worker of shm. */
static inline struct wh_session *open_session(const char *argv0)
{
	return open_session_of(argv0, WH_MAX_SLOTS);
}

/* The slot whose message area the following functions use; by default the first one. */
static uint32_t fixture_slot;

static inline void *msg(struct wh_session *s)
{
	return s->frame[fixture_slot].msg;
}

static inline const struct wh_rsp *rsp(struct wh_session *s)
{
	return msg(s);
}

/* Begins a request of `size` bytes with nothing but its number. */
static inline void *request(struct wh_session *s, uint32_t call, size_t size)
{
	struct wh_req *q = msg(s);

	memset(q, 0, size);
	q->call = call;
	return q;
}

static inline int64_t send(struct wh_session *s, size_t size)
{
	return wh_dispatch_slot(s, fixture_slot, WH_HANDLER_CUDA, size);
}

static inline void say_hello(struct wh_session *s)
{
	struct wh_req_whHello *q = request(s, WH_CALL_whHello, sizeof(*q));

	q->abi_version = WH_ABI_VERSION;
	q->api_hash = WH_API_HASH;
	send(s, sizeof(*q));
}

#endif
