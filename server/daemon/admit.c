// SPDX-License-Identifier: Apache-2.0
/*
 * How often a tenant's clients may connect. Each connection starts a process, which loads a
 * driver: without a bound one program's loop takes the machine from all others. A tenant has
 * a number of starts at hand, which fills again at a steady rate; who comes when none is left
 * is turned away at once, at the cost of an answer. Of a tenant and not of a user: all that
 * containers run is root's, as a rule, and no program is to use up what others' have at hand.
 *
 * And what happens when the server has no descriptor left to accept a connection
 * with: one that is kept for this lets it say so. Otherwise the connection would
 * wait without a word, and the server ask for it without end.
 */
#define _GNU_SOURCE
#include "daemon/server.h"
#include "tenant/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS		1000000000ull	/* of a second */
#define FULL_NS		((uint64_t)WH_STARTS * NS / WH_STARTS_A_SECOND)

bool wh_admit(struct wh_starts *s)
{
	const uint64_t one = NS / WH_STARTS_A_SECOND;
	uint64_t now = wh_now_ns(), full = now - FULL_NS;

	/* Since when what is at hand has come back. */
	if (s->since_ns < full || s->since_ns > now)
		s->since_ns = full;
	if (now - s->since_ns < one)
		return false;
	s->since_ns += one;
	return true;
}

/* --- Descriptors ------------------------------------------------------------------- */

static int spare = -1;

void wh_accept_start(void)
{
	if (spare < 0)
		spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int wh_accept(int listener, void (*turn_away)(int conn, void *arg), void *arg)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (conn >= 0 || (errno != EMFILE && errno != ENFILE))
		return conn;
	if (spare >= 0)
		close(spare);
	spare = -1;
	conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (conn >= 0) {
		turn_away(conn, arg);
		close(conn);
	} else {
		/* The limit was lowered below what is open. Whoever waits there waits on. */
		nanosleep(&pause, NULL);
	}
	wh_accept_start();
	return -1;
}
