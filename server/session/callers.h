/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which calls of a session run at the same time, in different slots. Launches, asynchronous
 * copies, events, queries and waits run *together*: they read the session's tables and change none.
 * All others run *alone*. The word `together` of cuda-api/cuda.api marks the former. So no object
 * ends and no memory is freed while a call that has looked it up runs, whatever a client's threads
 * do to each other.
 *
 * A call that may wait for the device (`waits`) is *outside* meanwhile. Others go on, also those
 * that run alone, but none that ends something (wh_call_entry.ends), since what the waiting call
 * has looked up is in use.
 *
 * With one slot it is the same: there is nobody to wait for.
 */
#ifndef WORMHOLE_CALLERS_H
#define WORMHOLE_CALLERS_H

#include "state/state.h"

enum {
	WH_CALLERS_NONE,
	WH_CALLERS_TOGETHER,
	WH_CALLERS_OUTSIDE,
};

/* The slow parts of the functions below. */
bool wh_callers_together_slowly(struct wh_session *s);
bool wh_callers_alone_slowly(struct wh_session *s, bool ends);
void wh_callers_open(struct wh_session *s);
bool wh_callers_step_out(struct wh_session *s);
void wh_callers_step_in(struct wh_session *s);
void wh_callers_pass(struct wh_session *s);

/*
 * `inside` is the word of the thread's slot. The exchange comes before the look at `closed`, and
 * the thread that closes looks at the slots after it has closed: one of the two sees the other.
 *
 * False, from this and the next two functions: another call has been alone for too long to wait for
 * it here, and the client has to send the call again after WH_CALLERS_TURN_US. This happens only in
 * a server VM, where a sleep would be a handoff and the other thread may wait for this one's CPU.
 */
static inline bool wh_callers_together_in(struct wh_session *s, uint32_t *inside)
{
	wh_self.alone = false;
	__atomic_exchange_n(inside, WH_CALLERS_TOGETHER, __ATOMIC_SEQ_CST);
	if (WH_UNLIKELY(__atomic_load_n(&s->callers.closed, __ATOMIC_SEQ_CST)))
		return wh_callers_together_slowly(s);
	return true;
}

static inline bool wh_callers_together(struct wh_session *s)
{
	return wh_callers_together_in(s, &s->callers.slot[wh_self.slot].inside);
}

/* So short that a client yields its CPU and does no more. */
#define WH_CALLERS_TURN_US	1
/* Of a suspended tenant in a server VM: a client asks a hundred times a second. */
#define WH_CALLERS_HELD_US	10000

/* `ends`: calls that are outside have to come back first. */
static inline bool wh_callers_alone(struct wh_session *s, bool ends)
{
	wh_self.alone = true;
	return wh_callers_alone_slowly(s, ends);
}

static inline void wh_callers_leave(struct wh_session *s)
{
	uint32_t *inside = &s->callers.slot[wh_self.slot].inside;

	if (!wh_self.alone)
		__atomic_store_n(inside, WH_CALLERS_NONE, __ATOMIC_RELEASE);
	else
		wh_callers_open(s);
}

/*
 * Call these around a driver's function that may wait for the device. False: another call wants to
 * end things; the handler returns WH_AGAIN before it has changed anything.
 */
static inline bool wh_callers_out(struct wh_session *s)
{
	return wh_callers_step_out(s);
}

static inline void wh_callers_in(struct wh_session *s)
{
	wh_callers_step_in(s);
}

/* WH_OUTSIDE() calls this after the driver's call, since arguments are evaluated first. */
static inline CUresult wh_callers_back(struct wh_session *s, CUresult res)
{
	wh_callers_in(s);
	return res;
}

/* Gives the result of a driver's function that may wait for the device, or WH_AGAIN. */
#define WH_OUTSIDE(s, call)	(wh_callers_out(s) ? wh_callers_back(s, call) : WH_AGAIN)

/*
 * True if somebody waits for this call to leave. It may leave by wh_callers_pass(), and must then
 * look up everything again.
 */
static inline bool wh_callers_wanted(const struct wh_session *s)
{
	const struct wh_callers *g = &s->callers;

	return __atomic_load_n(wh_self.alone ? &g->wanted : &g->closed, __ATOMIC_RELAXED);
}

/*
 * Is the tenant suspended? Asked inside, after the call went in: then it leaves, waits by
 * wh_callers_await_resume() or at its client, and goes in again. It costs a look at a word that
 * each call looks at, since a suspension is a change of the limits.
 */
static inline bool wh_callers_held(const struct wh_session *s)
{
	const struct wh_limits *l = &s->limits;

	return WH_UNLIKELY(l->seen != __atomic_load_n(&l->page->sequence, __ATOMIC_ACQUIRE)) &&
	       __atomic_load_n(&l->page->suspension, __ATOMIC_ACQUIRE);
}

/* Sleeps until the tenant is not suspended any more. The caller is not inside. */
void wh_callers_await_resume(struct wh_session *s);
/*
 * For a thread that serves no slot: waits until no call is inside or outside, and is alone then.
 * From then on no call begins before the suspension of this number ends. False: it has ended first,
 * and the thread is not alone.
 */
bool wh_callers_rest(struct wh_session *s, uint32_t number);

/*
 * Call these around code that may wait for another call of the same client, or of another client.
 * Meanwhile the call is not among the callers, and nobody waits for it. It must hold what it uses
 * by itself, and look up everything else again.
 */
static inline void wh_callers_depart(struct wh_session *s)
{
	wh_callers_leave(s);
}
void wh_callers_rejoin(struct wh_session *s);

void wh_callers_init(struct wh_callers *g);
void wh_callers_use(struct wh_session *s, uint32_t slot);	/* before its first call */
/* Call this before a call that returned WH_AGAIN is run again. */
void wh_callers_await_ends(struct wh_session *s);

#endif
