// SPDX-License-Identifier: Apache-2.0
/*
 * The waiting part of callers.h. Calls are short, so a thread looks and yields before it sleeps.
 * Sleeps are short and nobody wakes the sleeper, so no wake-up can be lost.
 *
 * In a server VM a sleep is a handoff, and a yield is none (server/vm/interpose.c). So there a
 * thread whose call has not begun leaves instead of sleeping, and the client's kernel lets another
 * thread run. A thread that cannot leave any more yields for a long time: longer than a thread that
 * was interrupted in its call takes to get its next turn.
 */
#define _GNU_SOURCE
#include "session/callers.h"

#include <sched.h>
#include <time.h>

#include "hypercall.h"

#define LOOKS	200u
#define YIELDS	50u
#define YIELDS_IN_VM	10000000u
#define NAP_NS	50000
#define REST_NAP_NS	1000000	/* who waits for this has time */

void wh_callers_init(struct wh_callers *g)
{
	uint32_t version;

	g->in_vm = wh_detect(&version) == WH_ROLE_SERVER;
}

static void wait_a_moment(const struct wh_callers *g, unsigned int *n)
{
	static const struct timespec nap = { .tv_nsec = NAP_NS };

	if (*n < LOOKS)
		__builtin_ia32_pause();
	else if (*n < LOOKS + (g->in_vm ? YIELDS_IN_VM : YIELDS))
		sched_yield();
	else
		nanosleep(&nap, NULL);
	++*n;
}

static uint32_t *own(struct wh_session *s)
{
	return &s->callers.slot[wh_self.slot].inside;
}

static uint32_t look(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/*
 * Waits until the word is 0. Waiters are counted, so that a call that is alone for long lets others
 * in. False: the word is not 0 yet, and the caller, which may leave, has to.
 */
static bool await_zero(struct wh_callers *g, const uint32_t *word, bool may_leave)
{
	unsigned int n = 0;
	bool leave = false;

	may_leave = may_leave && g->in_vm;
	__atomic_fetch_add(&g->wanted, 1, __ATOMIC_RELAXED);
	while (look(word) && !leave) {
		wait_a_moment(g, &n);
		leave = may_leave && n >= LOOKS + YIELDS;
	}
	__atomic_fetch_sub(&g->wanted, 1, __ATOMIC_RELAXED);
	return !leave;
}

static bool go_together(struct wh_session *s, bool may_leave)
{
	struct wh_callers *g = &s->callers;

	do {
		__atomic_store_n(own(s), WH_CALLERS_NONE, __ATOMIC_SEQ_CST);
		if (!await_zero(g, &g->closed, may_leave))
			return false;
		__atomic_store_n(own(s), WH_CALLERS_TOGETHER, __ATOMIC_SEQ_CST);
	} while (look(&g->closed));
	return true;
}

bool wh_callers_together_slowly(struct wh_session *s)
{
	return go_together(s, true);
}

static bool close_callers(struct wh_callers *g, bool may_leave)
{
	uint32_t open = 0;

	while (!__atomic_compare_exchange_n(&g->closed, &open, 1, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED)) {
		if (!await_zero(g, &g->closed, may_leave))
			return false;
		open = 0;
	}
	return true;
}

/*
 * Waits until all that were inside have left or are outside. Returns whether somebody is outside. A
 * slot that is used for the first time is counted before it looks at `closed`.
 */
static bool await_others(struct wh_session *s)
{
	struct wh_callers *g = &s->callers;
	bool outside = false;
	unsigned int n;
	uint32_t i;

	for (i = 0; i < look(&s->callers.used); i++) {
		if (i == wh_self.slot)
			continue;
		for (n = 0; look(&g->slot[i].inside) == WH_CALLERS_TOGETHER; )
			wait_a_moment(g, &n);
		outside |= look(&g->slot[i].inside) == WH_CALLERS_OUTSIDE;
	}
	return outside;
}

static void await_those_outside(struct wh_session *s)
{
	struct wh_callers *g = &s->callers;
	unsigned int n;
	uint32_t i;

	for (i = 0; i < look(&g->used); i++)
		for (n = 0; i != wh_self.slot && look(&g->slot[i].inside) == WH_CALLERS_OUTSIDE; )
			wait_a_moment(g, &n);
}

/*
 * A call that is outside comes back only while callers are let in. So a call that ends something
 * lets callers in again and waits; meanwhile nobody else steps out (`ending`).
 */
static bool be_alone(struct wh_session *s, bool ends, bool may_leave)
{
	struct wh_callers *g = &s->callers;
	bool closed;

	if (ends)
		__atomic_fetch_add(&g->ending, 1, __ATOMIC_SEQ_CST);
	while ((closed = close_callers(g, may_leave)) && await_others(s) && ends) {
		wh_callers_open(s);
		await_those_outside(s);
	}
	if (ends)
		__atomic_fetch_sub(&g->ending, 1, __ATOMIC_SEQ_CST);
	return closed;
}

bool wh_callers_alone_slowly(struct wh_session *s, bool ends)
{
	return be_alone(s, ends, true);
}

void wh_callers_open(struct wh_session *s)
{
	__atomic_store_n(&s->callers.closed, 0, __ATOMIC_SEQ_CST);
}

bool wh_callers_step_out(struct wh_session *s)
{
	struct wh_callers *g = &s->callers;

	__atomic_store_n(own(s), WH_CALLERS_OUTSIDE, __ATOMIC_SEQ_CST);
	if (WH_UNLIKELY(look(&g->ending))) {
		__atomic_store_n(own(s), wh_self.alone ? WH_CALLERS_NONE : WH_CALLERS_TOGETHER,
				 __ATOMIC_SEQ_CST);
		return false;
	}
	if (wh_self.alone)
		wh_callers_open(s);
	return true;
}

/*
 * Goes from outside back to the state before. A call that is alone and ends nothing does not wait
 * for us.
 */
void wh_callers_step_in(struct wh_session *s)
{
	struct wh_callers *g = &s->callers;

	if (wh_self.alone) {
		close_callers(g, false);
		__atomic_store_n(own(s), WH_CALLERS_NONE, __ATOMIC_SEQ_CST);
		await_others(s);
		return;
	}
	for (;;) {
		__atomic_store_n(own(s), WH_CALLERS_TOGETHER, __ATOMIC_SEQ_CST);
		if (WH_LIKELY(!look(&g->closed)))
			return;
		__atomic_store_n(own(s), WH_CALLERS_OUTSIDE, __ATOMIC_SEQ_CST);
		await_zero(g, &g->closed, false);
	}
}

void wh_callers_use(struct wh_session *s, uint32_t slot)
{
	uint32_t *at = &s->callers.used, used = look(at);

	while (used <= slot && !__atomic_compare_exchange_n(at, &used, slot + 1, false,
							    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

void wh_callers_await_resume(struct wh_session *s)
{
	const uint32_t *word = &s->limits.page->suspension;
	uint32_t number;

	while ((number = look(word))) {
		/* A tenant that is parked is resumed by this (daemon/room.c). */
		__atomic_store_n(&s->limits.account->called, number, __ATOMIC_RELEASE);
		wh_tenant_await(word, number, 0);
	}
}

static bool nobody_is_inside(const struct wh_callers *g)
{
	uint32_t i;

	for (i = 0; i < look(&g->used); i++)
		if (look(&g->slot[i].inside) != WH_CALLERS_NONE)
			return false;
	return true;
}

/* It closes only for a look at a time: a call that is outside must be able to come back. */
bool wh_callers_rest(struct wh_session *s, uint32_t number)
{
	static const struct timespec nap = { .tv_nsec = REST_NAP_NS };
	struct wh_callers *g = &s->callers;
	uint32_t open;

	wh_self.alone = true;
	while (look(&s->limits.page->suspension) == number) {
		open = 0;
		if (__atomic_compare_exchange_n(&g->closed, &open, 1, false, __ATOMIC_SEQ_CST,
						__ATOMIC_RELAXED)) {
			if (nobody_is_inside(g))
				return true;
			wh_callers_open(s);
		}
		nanosleep(&nap, NULL);
	}
	return false;
}

static void rejoin(struct wh_session *s)
{
	if (wh_self.alone)
		be_alone(s, false, false);
	else
		go_together(s, false);
}

void wh_callers_rejoin(struct wh_session *s)
{
	for (rejoin(s); wh_callers_held(s); rejoin(s)) {
		wh_callers_leave(s);
		wh_callers_await_resume(s);
	}
}

void wh_callers_pass(struct wh_session *s)
{
	wh_callers_leave(s);
	sched_yield();
	wh_callers_rejoin(s);
}

void wh_callers_await_ends(struct wh_session *s)
{
	await_zero(&s->callers, &s->callers.ending, false);
}
