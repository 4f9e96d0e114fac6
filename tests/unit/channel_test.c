// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the supervisor's end of the port at which the host's command asks.
 * The news about the other end (that somebody has come or gone) and what that end sends
 * come by queues of their own, so either may be late. Here the test's port decides when
 * they come.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static int port_wait(int fd, struct epoll_event *e, int most, int timeout);
static ssize_t port_read(int fd, void *to, size_t size);
static ssize_t port_write(int fd, const void *from, size_t size);

#define epoll_wait	port_wait
#define read		port_read
#define write		port_write
#include "../../server/vm/channel.c"
#undef epoll_wait
#undef read
#undef write

#include "tap.h"

/* --- The port ---------------------------------------------------------------------------- */

static struct {
	bool connected;		/* the guest has heard of somebody at the other end */
	char sent[4096], got[4096];
	size_t nsent, ngot;	/* by the host, by the guest */
	const struct request *late;	/* arrives once the guest has looked */
} at;

static void arrives(const void *what, size_t size)
{
	memcpy(at.sent + at.nsent, what, size);
	at.nsent += size;
}

static int port_wait(int fd, struct epoll_event *e, int most, int timeout)
{
	(void)fd, (void)most, (void)timeout;
	e->events = (at.connected ? EPOLLOUT : EPOLLHUP) | (at.nsent ? EPOLLIN : 0);
	if (at.late)
		arrives(at.late, sizeof(at.late->head));
	at.late = NULL;
	return 1;
}

static ssize_t port_read(int fd, void *to, size_t size)
{
	size_t n = size < at.nsent ? size : at.nsent;

	(void)fd;
	if (!n) {
		errno = EAGAIN;
		return at.connected ? -1 : 0;
	}
	memcpy(to, at.sent, n);
	memmove(at.sent, at.sent + n, at.nsent -= n);
	return (ssize_t)n;
}

static ssize_t port_write(int fd, const void *from, size_t size)
{
	(void)fd;
	if (!at.connected) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(at.got + at.ngot, from, size);
	at.ngot += size;
	return (ssize_t)size;
}

/* --- What is behind it -------------------------------------------------------------------- */

void *wh_windows_look(uint32_t *size)
{
	*size = 4;
	return strdup("all");
}

bool wh_window_change(const struct wh_channel_limit *l, char *err, size_t size)
{
	(void)l, (void)err, (void)size;
	return true;
}

bool wh_suspend_window(const struct wh_channel_suspend *r, char *err, size_t size)
{
	(void)r, (void)err, (void)size;
	return true;
}

bool wh_suspend_look(uint32_t window, struct wh_channel_suspended *out, char *err, size_t size)
{
	(void)err, (void)size;
	*out = (struct wh_channel_suspended){ .settled = window };
	return true;
}

/* --- Points ------------------------------------------------------------------------------- */

static struct request asks(uint64_t nonce)
{
	return (struct request){ .head = {
		.magic = WH_CHANNEL_MAGIC, .nonce = nonce, .version = WH_CHANNEL_VERSION,
		.what = WH_CHANNEL_LOOK,
	} };
}

/* Are the answers that have come those to these two requests? 0 means no request. */
static bool answered(uint64_t first, uint64_t second)
{
	const size_t one = sizeof(struct wh_channel_head) + 4;
	size_t want = one * ((first != 0) + (second != 0));
	struct wh_channel_head h;
	bool good = at.ngot == want;

	if (first && good) {
		memcpy(&h, at.got, sizeof(h));
		good = h.nonce == first && h.what == (WH_CHANNEL_LOOK | WH_CHANNEL_ANSWER);
	}
	if (second && good) {
		memcpy(&h, at.got + one, sizeof(h));
		good = h.nonce == second;
	}
	if (!good)
		diag("%zu bytes came, not %zu, or of another", at.ngot, want);
	return good;
}

static void begin(bool connected)
{
	forget_answer();
	port.got = 0;
	memset(&at, 0, sizeof(at));
	at.connected = connected;
}

static void asked(const struct request *r)
{
	arrives(&r->head, sizeof(r->head));
	wh_channel_serve();
}

static void turns_up(bool connected)
{
	at.connected = connected;
	wh_channel_serve();
}

int main(void)
{
	struct request r = asks(1), other = asks(2);

	tap_plan(6);

	begin(true);
	asked(&r);
	ok(answered(1, 0), "request_is_answered");

	begin(false);
	asked(&r);
	turns_up(true);
	ok(answered(1, 0), "request_that_is_here_before_its_sender_is_answered");

	begin(false);
	at.late = &r;
	wh_channel_serve();
	wh_channel_serve();
	turns_up(true);
	ok(answered(1, 0), "also_if_it_came_while_the_port_was_looked_at");

	begin(true);
	arrives(&r.head, sizeof(r.head) / 2);
	wh_channel_serve();
	turns_up(false);
	at.connected = true;
	asked(&other);
	ok(answered(2, 0), "half_a_request_of_one_who_went_is_forgotten");

	begin(false);
	asked(&r);
	at.connected = true;
	asked(&other);
	ok(answered(2, 0), "answer_of_one_who_went_gives_way_to_the_next_ones");

	begin(false);
	asked(&r);
	turns_up(true);
	asked(&other);
	ok(answered(1, 2), "or_comes_before_it");
	forget_answer();
	return tap_exit();
}
