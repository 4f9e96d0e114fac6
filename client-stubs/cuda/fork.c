// SPDX-License-Identifier: Apache-2.0
/*
 * A fork's child has nothing of its parent's pair. The transports do not map the part there,
 * and the socket is closed here. All that this library knows of the pair (WH_PAIR) is zero
 * again, so the child's first cuInit attaches it to a worker of its own, like a new process.
 * Nothing is sent: the parent notices nothing.
 *
 * Other threads of the parent may have been anywhere, in calls and with locks, and none of them
 * exists in the child. So everything is reset at once, by the child's one thread.
 */
#include "slots.h"
#include "order.h"
#include "stubs.h"

extern char __start_wh_pair[] WH_HIDDEN, __stop_wh_pair[] WH_HIDDEN;

static bool matters;		/* the process has begun to connect */
/* True for the thread that forks: it holds the list of registered memory. */
static __thread bool held __attribute__((tls_model("initial-exec")));
/* A signal handler on top of a call forked; the call goes on in the child. */
static bool on_top;

void wh_fork_matters(void)
{
	__atomic_store_n(&matters, true, __ATOMIC_RELAXED);
}

static bool in_a_call(const struct wh_holder *h)
{
	int id;

	for (id = 0; id < WH_LOCKS; id++)
		if (h->held[id])
			return true;
	return false;
}

static void before(void)
{
	held = wh_registered_hold(!in_a_call(&wh_thread.holder));
}

static void in_parent(void)
{
	if (held)
		wh_registered_release();
}

static void release(void)
{
	if (held)
		wh_registered_release_in_child();
}

/* A call under way must not find another pair when the handler returns to it. */
static void stay_without(void)
{
	release();
	on_top = true;
	wh_locks_after_fork(&wh_thread.holder);
	wh_slots_after_fork();
	wh_client.state = WH_FORKED;
}

static void forget(void)
{
	struct wh_link *l = &wh_client.link;

	if (held)
		wh_registered_after_fork();
	if (l->t && l->t->forked)
		l->t->forked(l);
	wh_thread_after_fork();
	memset(__start_wh_pair, 0, __stop_wh_pair - __start_wh_pair);
	wh_slots_after_fork();
	wh_managed_after_fork();
	wh_post_after_fork();
	wh_client.state = WH_FORKED;
}

static void in_child(void)
{
	if (!matters) {
		release();
		return;
	}
	if (in_a_call(&wh_thread.holder))
		stay_without();
	else
		forget();
}

bool wh_fork_may_connect(void)
{
	return !on_top;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before, in_parent, in_child);
}
