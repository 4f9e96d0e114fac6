// SPDX-License-Identifier: Apache-2.0
/*
 * The server's events: descriptors with a function each, and one timer. Owns
 * no descriptor. A function may add and remove any, itself included.
 */
#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#define MAX_EVENTS	2048	/* tenants, their processes, connections */

struct event {
	wh_event_fn fn;
	void *arg;
};

/* Both in the same order; a removed one has fd -1 until the next round. */
static struct pollfd fds[MAX_EVENTS];
static struct event events[MAX_EVENTS];
static int nevents;
static bool stopping;

static struct {
	unsigned int ms;
	void (*fn)(void);
	int64_t due;
} timer;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

bool wh_loop_add(int fd, wh_event_fn fn, void *arg)
{
	if (nevents == MAX_EVENTS)
		return false;
	fds[nevents] = (struct pollfd){ .fd = fd, .events = POLLIN };
	events[nevents++] = (struct event){ fn, arg };
	return true;
}

void wh_loop_remove(int fd)
{
	int i;

	for (i = 0; i < nevents; i++)
		if (fds[i].fd == fd)
			fds[i] = (struct pollfd){ .fd = -1 };
}

static void compact(void)
{
	int i, n = 0;

	for (i = 0; i < nevents; i++) {
		if (fds[i].fd < 0)
			continue;
		fds[n] = fds[i];
		events[n++] = events[i];
	}
	nevents = n;
}

void wh_loop_every(unsigned int ms, void (*fn)(void))
{
	timer.ms = ms;
	timer.fn = fn;
	timer.due = now_ms() + ms;
}

void wh_loop_stop(void)
{
	stopping = true;
}

static int timeout(void)
{
	int64_t left = timer.due - now_ms();

	if (!timer.fn)
		return -1;
	return left < 0 ? 0 : (int)left;
}

static void run_timer(void)
{
	if (!timer.fn || now_ms() < timer.due)
		return;
	timer.due = now_ms() + timer.ms;
	timer.fn();
}

/* What is added meanwhile waits for the next round. */
void wh_loop_run(void)
{
	int i, n;

	while (!stopping) {
		compact();
		n = nevents;
		if (poll(fds, n, timeout()) < 0 && errno != EINTR)
			return;
		run_timer();
		for (i = 0; i < n && !stopping; i++)
			if (fds[i].fd >= 0 && fds[i].revents)
				events[i].fn(fds[i].fd, events[i].arg);
	}
}
