// SPDX-License-Identifier: Apache-2.0
/*
 * How often a tenant's clients may connect. Each connection starts a process, which loads a driver:
 * without a bound, one program's loop takes the machine from all others. A tenant has a number of
 * starts at hand, which fills again at a steady rate. A client that comes when none is left is
 * refused at once, at the cost of an answer. The count is the tenant's and not the user's:
 * containers usually run everything as root, and no program may use up the starts of others.
 *
 * This file also handles a server that has no descriptor left to accept a connection with: a
 * descriptor that is kept for this case lets the server say so. Otherwise the connection would wait
 * without an answer, and the server would ask for it without end.
 */
#define _GNU_SOURCE
#include "daemon/server.h"
#include "tenant/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS		1000000000ull	/* nanoseconds of a second */
#define FULL_NS		((uint64_t)WH_STARTS * NS / WH_STARTS_A_SECOND)

bool wh_admit(struct wh_starts *s)
{
	const uint64_t one = NS / WH_STARTS_A_SECOND;
	uint64_t now = wh_now_ns(), full = now - FULL_NS;

	/* Starts come back over time, but no more of them than the full number. */
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
	} else {
		/*
		 * The limit was lowered below the number of open descriptors. The client waits on.
		 */
		nanosleep(&pause, NULL);
	}
	wh_accept_start();
	return -1;
}

struct ucred wh_peer(int conn)
{
	struct ucred cred = { .uid = (uid_t)-1 };
	socklen_t n = sizeof(cred);

	getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &cred, &n);
	return cred;
}
