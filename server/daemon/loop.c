// SPDX-License-Identifier: Apache-2.0
/*
 * The server's events: descriptors with a function each, and one timer. Owns none of the
 * descriptors. A function may add and remove any, itself included. The loop uses epoll: poll(2)
 * takes no more descriptors than the limit of open files, and that may be lowered below the number
 * that is open.
 */
#define _GNU_SOURCE
#include "daemon/server.h"
#include "tenant/clock.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MAX_EVENTS	2048	/* tenants, their processes, connections */
#define AT_ONCE		64

/* These stand in place of a descriptor; a removed event is free in the next round. */
enum { FREE = -1, REMOVED = -2 };

static struct event {
	int fd;
	wh_event_fn fn;
	void *arg;
} events[MAX_EVENTS];
static int nevents;		/* all events from this one on are free */
static int epoll = -1;
static bool stopping;

static struct {
	unsigned int ms;
	void (*fn)(void);
	int64_t due;
} timer;

static int free_event(void)
{
	int i;

	for (i = 0; i < nevents; i++)
		if (events[i].fd == FREE)
			return i;
	return nevents;
}

bool wh_loop_add(int fd, wh_event_fn fn, void *arg)
{
	int i = free_event();
	struct epoll_event e = { .events = EPOLLIN, .data.fd = i };

	if (i == MAX_EVENTS) {
		errno = EUSERS;
		return false;
	}
	if (epoll < 0)
		epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e))
		return false;
	events[i] = (struct event){ fd, fn, arg };
	if (i == nevents)
		nevents++;
	return true;
}

void wh_loop_remove(int fd)
{
	int i;

	for (i = 0; i < nevents; i++)
		if (events[i].fd == fd) {
			epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
			events[i].fd = REMOVED;
		}
}

int wh_loop_next(int *at, wh_event_fn fn, void **arg)
{
	const struct event *e;

	while (*at < nevents) {
		e = &events[(*at)++];
		if (e->fd >= 0 && e->fn == fn) {
			*arg = e->arg;
			return e->fd;
		}
	}
	return -1;
}

void wh_loop_leave(void)
{
	int i;

	for (i = 0; i < nevents; i++)
		if (events[i].fd >= 0)
			close(events[i].fd);
	nevents = 0;
	if (epoll >= 0)
		close(epoll);
	epoll = -1;
}

void wh_loop_pause(int fd, bool pause)
{
	struct epoll_event e = { .events = pause ? 0 : EPOLLIN };

	for (e.data.fd = 0; e.data.fd < nevents; e.data.fd++)
		if (events[e.data.fd].fd == fd)
			epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &e);
}

static void free_removed(void)
{
	int i;

	for (i = 0; i < nevents; i++)
		if (events[i].fd == REMOVED)
			events[i].fd = FREE;
	while (nevents && events[nevents - 1].fd == FREE)
		nevents--;
}

void wh_loop_every(unsigned int ms, void (*fn)(void))
{
	timer.ms = ms;
	timer.fn = fn;
	timer.due = wh_now_ms() + ms;
}

static void on_timer(int fd, void *arg)
{
	void (*fn)(void) = (void (*)(void))arg;
	uint64_t times;

	if (read(fd, &times, sizeof(times)) == sizeof(times))
		fn();
}

int wh_timer_new(void (*fn)(void))
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), error;

	if (fd < 0 || wh_loop_add(fd, on_timer, (void *)fn))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

bool wh_timer_set(int fd, uint64_t ms, bool again)
{
	struct itimerspec when = {
		.it_value = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 },
	};

	if (again)
		when.it_interval = when.it_value;
	return !timerfd_settime(fd, 0, &when, NULL);
}

static void (*after)(void);

void wh_loop_after(void (*fn)(void))
{
	after = fn;
}

void wh_loop_stop(void)
{
	stopping = true;
}

static int timeout(void)
{
	int64_t left = timer.due - wh_now_ms();

	if (!timer.fn)
		return -1;
	return left < 0 ? 0 : (int)left;
}

static void run_timer(void)
{
	if (!timer.fn || wh_now_ms() < timer.due)
		return;
	timer.due = wh_now_ms() + timer.ms;
	timer.fn();
}

/*
 * An event that was removed during a round is not called any more; one that was added is called
 * from the next round on.
 */
void wh_loop_run(void)
{
	struct epoll_event now[AT_ONCE];
	const struct event *e;
	int i, n;

	while (!stopping) {
		free_removed();
		n = epoll_wait(epoll, now, AT_ONCE, timeout());
		if (n < 0 && errno != EINTR)
			return;
		run_timer();
		for (i = 0; i < n && !stopping; i++) {
			e = &events[now[i].data.fd];
			if (e->fd >= 0)
				e->fn(e->fd, e->arg);
		}
		if (after)
			after();
	}
}
