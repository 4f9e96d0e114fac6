// SPDX-License-Identifier: Apache-2.0
/*
 * What the driver prints: device printf() on the standard output, assertions on
 * the standard error. Both are streams of this file's, so that nothing of it
 * makes a system call; each response says when there is something, and the
 * client fetches and prints it. The worker's own messages keep the real stream.
 */
#define _GNU_SOURCE
#include "session/output.h"
#include "session/handler.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_ROOM	(64UL << 10)
#define MAX_ROOM	(16UL << 20)	/* what a client leaves lying beyond is lost */

struct text {
	char *buf;
	size_t n, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct text text[2];
int wh_output_pending;

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

	pthread_mutex_lock(&lock);
	if (make_room(t, n)) {
		memcpy(t->buf + t->n, from, n);
		t->n += n;
	}
	__atomic_store_n(&wh_output_pending, 1, __ATOMIC_RELEASE);
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

#define FATBIN_MAGIC	0xba55ed50u
#define COMPRESSED	0xa000u		/* entry flags: LZ4 0x2000, zstd 0x8000 */

struct fatbin {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;
};

struct fatbin_entry {
	uint16_t kind, attributes;
	uint32_t header_size;
	uint64_t size;
	uint64_t unused[3];
	uint64_t flags;
};
_Static_assert(offsetof(struct fatbin_entry, flags) == 0x28, "as NVIDIA lays it out");

/* What is compressed cannot be looked into: it may. */
static bool has_compressed(const uint8_t *p, size_t n)
{
	const struct fatbin *h = (const struct fatbin *)p;
	struct fatbin_entry e;
	size_t at;

	if (n < sizeof(*h) || h->magic != FATBIN_MAGIC)
		return false;
	for (at = h->header_size; at <= n && n - at >= sizeof(e); at += e.header_size + e.size) {
		memcpy(&e, p + at, sizeof(e));
		if (e.flags & COMPRESSED)
			return true;
		if (!e.header_size || e.header_size > n - at || e.size > n - at - e.header_size)
			return false;
	}
	return false;
}

void wh_output_look_at(struct wh_session *s, const void *image, size_t size)
{
	s->prints = s->prints || has_compressed(image, size) ||
		    memmem(image, size, "vprintf", strlen("vprintf"));
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
	pthread_mutex_lock(&lock);
	r->out = give(f, &text[0]);
	r->err = give(f, &text[1]);
	__atomic_store_n(&wh_output_pending, text[0].n || text[1].n, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}
