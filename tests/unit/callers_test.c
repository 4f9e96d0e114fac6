// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises who is let in at the same time to a session with several slots
 * (session/callers.h). A thread for each slot does at random what calls do, and checks which other
 * threads are where.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "session/callers.h"

#define SLOTS	4
#define ROUNDS	20000

static struct wh_session *s;
static struct wh_tenant_limits page;
static atomic_int together, alone, outside;
static atomic_int broken_alone, broken_end, broken_return;
/*
 * The table is like one of the session's: one thread changes it alone, all others read
 * it. Its only lock is the order of the callers.
 */
static long table[2];

static void look(void)
{
	if (table[0] != table[1])
		broken_alone++;
}

static void change(void)
{
	look();
	table[0]++;
	if (together || alone != 1)
		broken_alone++;
	table[1]++;
}

static void run_together(unsigned int *seed)
{
	wh_callers_together(s);
	together++;
	if (alone)
		broken_alone++;
	look();
	if (rand_r(seed) % 8 == 0 && wh_callers_wanted(s)) {
		together--;
		wh_callers_pass(s);
		together++;
	}
	together--;
	wh_callers_leave(s);
}

static void run_alone(bool ends)
{
	wh_callers_alone(s, ends);
	alone++;
	change();
	if (ends && outside)
		broken_end++;
	alone--;
	wh_callers_leave(s);
}

/* Does what a call does that waits for the device, of either kind. */
static void run_outside(bool is_alone, unsigned int *seed)
{
	int i, n = rand_r(seed) % 200;

	if (is_alone)
		wh_callers_alone(s, false);
	else
		wh_callers_together(s);
	look();
	if (!wh_callers_out(s)) {
		wh_callers_leave(s);
		wh_callers_await_ends(s);
		return;
	}
	/*
	 * The count holds only while nobody may end things: from when the thread is outside until
	 * it is back.
	 */
	outside++;
	for (i = 0; i < n; i++)
		__builtin_ia32_pause();
	outside--;
	wh_callers_in(s);
	if (is_alone)
		alone++;
	else
		together++;
	if (is_alone)
		change();
	else if (alone)
		broken_return++;
	if (is_alone)
		alone--;
	else
		together--;
	wh_callers_leave(s);
}

static pthread_barrier_t all_inside;

static void *calls(void *slot)
{
	unsigned int seed = (uintptr_t)slot;
	int i;

	wh_self.slot = (uintptr_t)slot;
	wh_callers_together(s);
	pthread_barrier_wait(&all_inside);
	wh_callers_leave(s);
	for (i = 0; i < ROUNDS; i++) {
		switch (rand_r(&seed) % 8) {
		case 0:
			run_alone(false);
			break;
		case 1:
			run_alone(true);
			break;
		case 2:
			run_outside(false, &seed);
			break;
		case 3:
			run_outside(true, &seed);
			break;
		default:
			run_together(&seed);
		}
	}
	return NULL;
}

static void test_suspended(void)
{
	ok(!wh_callers_held(s), "without_a_suspension_no_call_is_held");
	wh_tenant_suspend(&page, 1);
	ok(wh_callers_held(s), "a_call_of_a_suspended_tenant_is_held");
	ok(wh_callers_rest(s, 1) && s->callers.closed,
	   "who_comes_to_rest_is_alone_when_nobody_is_inside");
	wh_callers_leave(s);
	ok(!wh_callers_rest(s, 2), "a_suspension_that_has_ended_is_not_waited_for");
	wh_tenant_suspend(&page, 0);
	ok(!wh_callers_held(s), "a_call_of_a_resumed_tenant_is_not_held");
}

int main(void)
{
	pthread_t t[SLOTS];
	uintptr_t i;

	s = aligned_alloc(_Alignof(struct wh_session), sizeof(*s));
	memset(s, 0, sizeof(*s));
	s->nslots = SLOTS;
	s->limits.page = &page;
	wh_callers_use(s, SLOTS - 1);
	tap_plan(10);
	pthread_barrier_init(&all_inside, NULL, SLOTS);
	for (i = 0; i < SLOTS; i++)
		pthread_create(&t[i], NULL, calls, (void *)i);
	for (i = 0; i < SLOTS; i++)
		pthread_join(t[i], NULL);
	ok(true, "all_were_inside_at_the_same_time");
	ok_eq(broken_alone, 0, "nothing_changes_while_others_read");
	ok_eq(broken_end, 0, "nothing_ends_while_a_call_that_looked_it_up_runs");
	ok_eq(broken_return, 0, "who_was_outside_comes_back_among_those_that_read");
	ok(!s->callers.closed && !s->callers.ending && !s->callers.wanted, "nobody_is_left_waiting");
	test_suspended();
	free(s);
	return tap_exit();
}
