/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls of a session run at the same time, in different slots. Launches,
 * asynchronous copies, events, queries and waits run *together*: they read the session's
 * tables and change none. All others run *alone*. Which is which says the word `together`
 * of cuda-api/cuda.api. So no object ends and no memory is freed while a call that has
 * looked it up runs, whatever a client's threads do to each other.
 *
 * A call that may wait for the device (`waits`) is *outside* meanwhile: others go on, alone
 * ones, too, but none that ends something (wh_call_entry.ends), since what the call has
 * looked up is in use.
 *
 * With one slot it is the same: there is nobody to wait for.
 */
#ifndef WORMHOLE_GATE_H
#define WORMHOLE_GATE_H

#include "state/state.h"

enum {
	WH_GATE_NONE,
	WH_GATE_TOGETHER,
	WH_GATE_OUTSIDE,
};

/* The rest of the below. */
bool wh_gate_together_slowly(struct wh_session *s);
bool wh_gate_alone_slowly(struct wh_session *s, bool ends);
void wh_gate_open(struct wh_session *s);
bool wh_gate_step_out(struct wh_session *s);
void wh_gate_step_in(struct wh_session *s);
void wh_gate_pass(struct wh_session *s);

/*
 * `inside` is the word of the thread's slot. The exchange is before the look at `closed`, and
 * who closes looks at the slots after: one of the two sees the other.
 *
 * False, of this and of the next two: somebody else has been alone for too long to wait here, and
 * the client is to send the call again after WH_GATE_TURN_US. In a server VM only, where a
 * sleep would be a handoff and the other thread may wait for this one's CPU.
 */
static inline bool wh_gate_together_in(struct wh_session *s, uint32_t *inside)
{
	wh_self.alone = false;
	__atomic_exchange_n(inside, WH_GATE_TOGETHER, __ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&s->gate.closed, __ATOMIC_SEQ_CST), 0))
		return wh_gate_together_slowly(s);
	return true;
}

static inline bool wh_gate_together(struct wh_session *s)
{
	return wh_gate_together_in(s, &s->gate.slot[wh_self.slot].inside);
}

/* Short enough for a client to yield its CPU and no more. */
#define WH_GATE_TURN_US	1

/* ends: calls that are outside have to come back first. */
static inline bool wh_gate_alone(struct wh_session *s, bool ends)
{
	wh_self.alone = true;
	return wh_gate_alone_slowly(s, ends);
}

static inline void wh_gate_leave(struct wh_session *s)
{
	uint32_t *inside = &s->gate.slot[wh_self.slot].inside;

	if (!wh_self.alone)
		__atomic_store_n(inside, WH_GATE_NONE, __ATOMIC_RELEASE);
	else
		wh_gate_open(s);
}

/*
 * Around a driver's function that may wait for the device. False: somebody wants to end
 * things, and the handler returns WH_AGAIN, before it has changed anything.
 */
static inline bool wh_gate_out(struct wh_session *s)
{
	return wh_gate_step_out(s);
}

static inline void wh_gate_in(struct wh_session *s)
{
	wh_gate_step_in(s);
}

/* By WH_OUTSIDE(), after the call: arguments are evaluated first. */
static inline CUresult wh_gate_back(struct wh_session *s, CUresult res)
{
	wh_gate_in(s);
	return res;
}

/* The result of a driver's function that may wait for the device, or WH_AGAIN. */
#define WH_OUTSIDE(s, call)	(wh_gate_out(s) ? wh_gate_back(s, call) : WH_AGAIN)

/* Somebody waits for this call to leave: it may, by wh_gate_pass(), and looks up all again. */
static inline bool wh_gate_wanted(const struct wh_session *s)
{
	return __atomic_load_n(wh_self.alone ? &s->gate.wanted : &s->gate.closed, __ATOMIC_RELAXED);
}

/*
 * Around what may wait for another call of the same client, or for another client's: the call
 * is nowhere meanwhile, and nobody waits for it. It holds what it uses by itself, and looks up
 * all else again.
 */
static inline void wh_gate_depart(struct wh_session *s)
{
	wh_gate_leave(s);
}
void wh_gate_rejoin(struct wh_session *s);

void wh_gate_init(struct wh_gate *g);
void wh_gate_use(struct wh_session *s, uint32_t slot);	/* before its first call */
/* Before a call is done again that returned WH_AGAIN. */
void wh_gate_await_ends(struct wh_session *s);

#endif
