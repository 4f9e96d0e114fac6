// SPDX-License-Identifier: Apache-2.0
/*
 * How often a user may connect. Each connection starts a process, which loads a
 * driver: without a bound one user's loop takes the machine from all others. A
 * user has a number of starts at hand, which fills again at a steady rate; who has
 * none left is turned away at once, at the cost of an answer.
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

#define USERS	256

struct user {
	uid_t uid;
	bool used;
	double left;		/* starts at hand */
	double seen;		/* seconds */
};

static struct user users[USERS];

/* Of too many users the one that has not come for longest is forgotten: it has all again. */
static struct user *user_of(uid_t uid, double now)
{
	struct user *u, *oldest = users;

	for (u = users; u < users + USERS; u++) {
		if (u->used && u->uid == uid)
			return u;
		if (!u->used || (oldest->used && u->seen < oldest->seen))
			oldest = u;
	}
	*oldest = (struct user){ .uid = uid, .used = true, .left = WH_STARTS, .seen = now };
	return oldest;
}

bool wh_admit(uid_t uid)
{
	double now = (double)wh_now_ns() / 1e9;
	struct user *u = user_of(uid, now);

	u->left += (now - u->seen) * WH_STARTS_A_SECOND;
	u->left = u->left < WH_STARTS ? u->left : WH_STARTS;
	u->seen = now;
	if (u->left < 1)
		return false;
	u->left--;
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
