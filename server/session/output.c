// SPDX-License-Identifier: Apache-2.0
/*
 * What the driver prints: device printf() goes to the standard output, assertions to the standard
 * error. Both are replaced by streams of this file, so that printing makes no system call. Each
 * response says when there is text, and the client fetches and prints it. The worker's own messages
 * keep the real stream.
 */
#define _GNU_SOURCE
#include "session/output.h"
#include "session/handler.h"
#include "session/image.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_ROOM	(64UL << 10)
#define MAX_ROOM	(16UL << 20)	/* text beyond this that a client does not fetch is lost */

struct text {
	char *buf;
	size_t n, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct text text[2];
uint32_t wh_output_pending;

/*
 * In a server VM a sleep would be a handoff, and a yield is none (server/vm/interpose.c). So a
 * thread looks for the lock. The number of looks is finite, since the holder may have been stopped.
 */
#define LOOKS	10000000u

static void take_lock(void)
{
	uint32_t n;

	for (n = 0; n < LOOKS; n++) {
		if (!pthread_mutex_trylock(&lock))
			return;
		sched_yield();
	}
	pthread_mutex_lock(&lock);
}

static bool make_room(struct text *t, size_t n)
{
	size_t room = t->room ? t->room : FIRST_ROOM;
	char *buf;

	while (room - t->n < n && room < MAX_ROOM)
		room *= 2;
	if (room - t->n < n)
		return false;
	if (room == t->room)
		return true;
	buf = realloc(t->buf, room);
	if (!buf)
		return false;
	t->buf = buf;
	t->room = room;
	return true;
}

static ssize_t keep(void *cookie, const char *from, size_t n)
{
	struct text *t = cookie;

	take_lock();
	if (make_room(t, n)) {
		memcpy(t->buf + t->n, from, n);
		t->n += n;
	}
	__atomic_store_n(&wh_output_pending, WH_RSP_OUTPUT, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	return n;
}

static FILE *open_text(struct text *t)
{
	const cookie_io_functions_t io = { .write = keep };
	FILE *f = make_room(t, 1) ? fopencookie(t, "w", io) : NULL;

	if (f)
		setvbuf(f, NULL, _IONBF, 0);
	return f;
}

bool wh_output_capture(void)
{
	FILE *out = open_text(&text[0]), *err = open_text(&text[1]);

	if (!out || !err)
		return false;
	wh_messages_to(stderr);
	stdout = out;
	stderr = err;
	return true;
}

/* --- Which images may print ----------------------------------------------------------- */

/* Returns the major numbers of the existing devices, a bit each; 0 if one is not known. */
static uint64_t majors(struct wh_session *s)
{
	const CUdevice_attribute attribute = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
	uint64_t all = 0;
	int i, major, n = 0;

	if (!s->drv.cuDeviceGetCount || !s->drv.cuDeviceGetAttribute || s->drv.cuDeviceGetCount(&n))
		return 0;
	for (i = 0; i < n; i++) {
		if (s->drv.cuDeviceGetAttribute(&major, attribute, i) || major < 1 || major > 63)
			return 0;
		all |= 1ULL << major;
	}
	return all;
}

void wh_output_look_at(struct wh_session *s, const void *image, size_t size)
{
	s->prints = s->prints || wh_image_may_have(image, size, "vprintf", majors(s));
}

/* --- To the client ----------------------------------------------------------------------- */

static uint32_t give(struct wh_frame *f, struct text *t)
{
	size_t used = f->rsp_size + WH_WIRE_ALIGN, room = f->max > used ? f->max - used : 0;
	size_t n = t->n < room ? t->n : room;
	void *to;

	if (!n || !wh_room(f, n, 1, &to))
		return 0;
	memcpy(to, t->buf, n);
	memmove(t->buf, t->buf + n, t->n - n);
	t->n -= n;
	return n;
}

CUresult wh_do_whOutput(struct wh_session *s, struct wh_frame *f)
{
	struct wh_rsp_whOutput *r = wh_reply(f, sizeof(*r));

	(void)s;
	take_lock();
	r->out = give(f, &text[0]);
	r->err = give(f, &text[1]);
	__atomic_store_n(&wh_output_pending, text[0].n || text[1].n ? WH_RSP_OUTPUT : 0,
			 __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}
