/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The temporal SM limit inside of a session: bucket.c, which decides, over
 * gpu_time.c, which measures. Times are nanoseconds of the session's own clock
 * unless they are called tsc.
 */
#ifndef WORMHOLE_BUCKET_H
#define WORMHOLE_BUCKET_H

#include <pthread.h>

#include "limits/charge.h"
#include "limits/kinds.h"
#include "limits/limits.h"

/* Tests define a clock of their own. */
#ifndef WH_TSC
#define WH_TSC()	__builtin_ia32_rdtsc()
#endif

/* Tests wake nobody: they look at the word themselves. */
#ifndef WH_FUTEX_WAKE
#define WH_FUTEX_WAKE(word)	wh_futex_wake(word)
#endif
void wh_futex_wake(const uint32_t *word);

#define WH_SM_MARKERS	128u	/* unfinished markers of a context */
#define WH_SM_STREAMS	32u
#define WH_SM_COVERED	64u
#define WH_SM_AWAITED	64u	/* pieces of work that a call may wait for, of all contexts */

/* An event in a stream: a span of work lies between two of them. */
struct wh_marker {
	CUevent event;
	uint16_t stream;	/* index */
	uint16_t launches;	/* since the stream's previous marker */
	uint32_t first;		/* number of the first of these in the stream's row */
	struct wh_sm_work work;	/* what these were expected to take */
	bool start;		/* begins a span instead of ending one */
	bool done;
	bool starved;		/* the device had done all work before, and waited for launches */
	uint64_t tsc;		/* when it was recorded */
	uint64_t own_tsc;	/* wh_sm_own_time() at that time */
	uint32_t company;	/* of the device, and 1; 0: others were at work */
};

struct wh_sm_stream {
	CUstream stream;
	bool used;
	bool chained;		/* the next marker's span begins at the last marker */
	uint64_t epoch;		/* the session's epoch at the last launch */
	bool posted;		/* the last launch was posted, so its time is not known */
	uint32_t unmarked;	/* launches behind the last marker, which have none */
	struct wh_sm_work work;	/* what these should take */
	struct wh_sm_recent recent;
	uint32_t pending;	/* markers not done */
	uint64_t last_launch, last_mark;	/* tsc */
	double end;		/* time of the last marker that is done, ns */
	uint32_t company;	/* of that marker */
};

/* The measuring state of one context, to which its events belong. */
struct wh_sm_context {
	struct wh_sm_context *next;
	uint64_t ctx;
	int device;
	CUevent base;
	double base_ns;		/* the base event's time */
	double pair_ns;		/* what an empty pair of events measures */
	struct wh_sm_stream stream[WH_SM_STREAMS];
	struct wh_marker marker[WH_SM_MARKERS];
	uint32_t head, tail;	/* free running */
	CUevent spare[WH_SM_MARKERS + 2];
	uint32_t spares;
};

/* A stretch of time that was charged already. */
struct wh_covered {
	double from, to;
};

struct wh_sm_device {
	struct wh_covered covered[WH_SM_COVERED];	/* in order, and not touching each other */
	unsigned int ncovered;
	struct wh_sm_kinds kinds;
	uint32_t outstanding;	/* launches not known to be done */
	struct wh_sm_work work;	/* what these should take */
	double room_ns;		/* how much work may be outstanding */
	double done_ns;		/* when the last work that is known to be done was done */
	bool throttled;		/* its bucket was empty and is not filled yet */
	uint64_t acquired_tsc;	/* when this worker got the turn */
	uint64_t renewed_tsc;
	uint64_t looked_tsc;	/* when this worker last looked whether others wait for the turn */
	bool contested;		/* they did at that time */
	bool hurried;		/* somebody waits who does not want to wait for a long turn */
	bool quick;		/* so was the last turn of this worker */
	uint64_t yielded_tsc;	/* how long quick ones had the device while this worker waits */
	bool deep;		/* its program prepares the next turn meanwhile (shm.h) */
	/* when the turn that was last waited for should end; 0: not known */
	uint64_t ending_tsc;
	const struct wh_turn *held_by;	/* the other tenant that has the device; NULL: none */
	/* guarantee.c decides these three, and turns.c claims the device accordingly */
	uint8_t rank;		/* WH_RANK_* */
	bool firm;		/* the work is within the guarantee */
	bool open;		/* the tenant has no ceiling */
	/* turns.c: what it saw of the others at the last look */
	bool ranked;		/* somebody claims with a rank */
	bool overtaken;		/* somebody goes first, whatever is left of the turn */
	bool brief;		/* a higher class was there within the last second */
	bool guarded;		/* for spare work: somebody with short turns was there */
	bool crowded;		/* others were at work on the device, too */
	bool warm;		/* nobody else has worked for a while */
	uint64_t others;	/* changes when others have worked */
	uint64_t others_tsc;	/* when that was seen last */
	uint32_t company;	/* grows while others are at work on the device */
	/* guarantee.c: work that was measured alone, and the launches in it */
	double alone_ns, alone_launches;
	double pauses_ns;	/* what of alone_ns were pauses of the program */
	double longer_ns;	/* spans were so much longer than their cost; pays for later ones */
	double probed_ns;	/* what alone_ns has to gain until the probe ends; 0: none */
	uint64_t probe_tsc;	/* when the probe began */
	/* guarantee.c: how long others held the tenant back, beyond what is theirs */
	double held_ns;
	uint64_t judged_tsc;	/* up to when */
	bool refused;		/* a launch waits for the turn since then */
	/* under_way.c; also reads and writes the next four, and is no caller. */
	uint64_t launching_tsc;	/* since when a launch is inside the driver; 0: none is */
	uint64_t progress_tsc;	/* when the work under way began, or some of it was seen done */
	/* time that was charged while it passed, and is not charged again when it is measured */
	uint64_t ahead_ns;
	/* work that is done cost so much less than was charged while it passed; pays for more */
	uint64_t over_ns;
	bool finished;		/* some work was finished since under_way.c looked last */
	bool begun;		/* some work has begun and is not finished */
};

/* Work between two events. `before` NULL: the work before it is done already. */
struct wh_sm_span {
	CUevent before, event;
	int device;
};

/* awaited.c */
struct wh_sm_awaited {
	pthread_mutex_t lock;	/* held while the driver is asked */
	CUcontext ctx;
	uint64_t since;		/* tsc */
	/* number of spans; 0: no call is inside the driver, or nothing is under way */
	uint32_t n;
	struct wh_sm_span span[WH_SM_AWAITED];
};

struct wh_sm_state {
	struct wh_sm_awaited awaited;
	struct wh_sm_context *contexts;
	struct wh_sm_device device[WH_TENANT_DEVICES];
	uint64_t origin;	/* tsc of the session's time 0 */
	uint64_t epoch;		/* counts calls that are no launches */
	uint64_t polled;	/* tsc */
	uint64_t waits_from;	/* up to this tsc the wait of a launch is counted; 0: none waits */
	int waits_for;		/* the device for which it waits */
	uint32_t batch;		/* launches for one marker */
	uint32_t batch_left;	/* launches until the batch may grow */
	uint32_t grow;		/* start value of batch_left */
	bool plenty;		/* the client need not wait for answers to launches */
	uint32_t grace;		/* posted launches that may still pass */
	uint32_t credit;	/* posted launches that may go without a look, */
	double credit_ns;	/* and how long they may take */
	CUstream credit_stream;	/* these go into this stream */
	struct wh_sm_stream *credit_place;
	bool on_credit;		/* the launch is one of them */
	bool woken;		/* the launch had waited */
	bool skip;		/* the launch goes into a graph: nothing to charge */
	/* tsc when the begin or end of a launch was entered; 0: none is inside */
	uint64_t entered;
	uint64_t begun;		/* tsc when the last begin was left */
	uint64_t own_tsc;	/* tsc ticks that these have taken so far */
	uint64_t own_charged;	/* the part of own_tsc that was already subtracted from spans */
};

/* The time that the engine itself has spent around launches until now, in ticks of the TSC. */
static inline uint64_t wh_sm_own_time(const struct wh_sm_state *m, uint64_t now)
{
	return m->own_tsc + (m->entered ? now - m->entered : 0);
}

/* --- gpu_time.c ---------------------------------------------------------------- */

/* The state for the session's current context; NULL if events do not work there. */
struct wh_sm_context *wh_gpu_context(struct wh_session *s);
/*
 * Call these just before and just after a launch. wh_gpu_before() returns false if there is no room
 * for markers; try later.
 */
bool wh_gpu_has_stream(struct wh_session *s, CUstream stream);	/* of the current context */
bool wh_gpu_before(struct wh_session *s, struct wh_sm_context *c, CUstream stream);
void wh_gpu_after(struct wh_session *s, struct wh_sm_context *c, CUstream stream);
/* Call this instead of the two for a launch that goes on m->credit. */
void wh_gpu_credit(struct wh_session *s);
/* Puts a marker behind all launches of the current context that have none. */
void wh_gpu_mark_all(struct wh_session *s);
/* Does the same, but only in streams where no marker is under way any more. */
void wh_gpu_mark_last(struct wh_session *s);
/* Looks which markers are done. New GPU time goes to wh_sm_used(). */
void wh_gpu_poll(struct wh_session *s);
/* The device is not measured any more: later work is in no span. */
void wh_gpu_end(struct wh_session *s, int device);
/* The context is gone. Its work under way counts until now. */
void wh_gpu_context_gone(struct wh_session *s, uint64_t ctx);
void wh_gpu_close(struct wh_session *s);
double wh_gpu_now(const struct wh_session *s, uint64_t tsc);
/* The length that [from, to) adds to what was covered before. */
double wh_gpu_cover(struct wh_sm_device *d, double from, double to);

/* --- under_way.c ---------------------------------------------------------------- */

/* A launch is about to be made at the time `now`; 0: the launch has been made. */
void wh_busy_launch(struct wh_session *s, int device, uint64_t now);
/* The driver was asked which work is done. `begun`: some work has begun and is not done. */
void wh_busy_polled(struct wh_session *s, int device, bool begun);
/* The device is not measured any more. */
void wh_busy_end(struct wh_session *s, int device);
/*
 * Another thread has asked the driver. `since`: since then the device has been at work, as far as
 * that thread knows; 0: nothing is at work.
 */
void wh_busy_asked(struct wh_session *s, int device, uint64_t since);
/*
 * Work is done that took `ns` and costs `cost`. Returns the part of the cost that is not charged
 * yet. For the caller of the session's calls, as the next one.
 */
double wh_busy_rest(struct wh_sm_device *d, double ns, double cost);
/* What was charged too much pays for nothing any more. */
void wh_busy_forget(struct wh_sm_device *d);

/* --- guarantee.c ------------------------------------------------------------------ */

/* Decides how the next launch claims the device, by the time that is left of the guarantee. */
void wh_rank_choose(struct wh_session *s, int device, int64_t tokens);
/* Returns the part of the guarantee's time that is forgotten after `ns` more. */
int64_t wh_rank_leak(const struct wh_device_limit *l, int64_t tokens, uint64_t ns);
/*
 * Returns what a span of work costs that was measured as `ns`. `alone`: nobody else was at work
 * meanwhile.
 */
double wh_rank_cost(struct wh_sm_device *d, bool alone, double ns, uint32_t launches);
/* The tenant's next launch of a row came so long after its work before that was done. */
void wh_rank_gap(struct wh_sm_device *d, bool alone, double ns);

/* bucket.c: charges the tenant for so much work of the device for this worker. */
void wh_sm_used(struct wh_session *s, int device, double ns);
/*
 * Returns the tokens in the bucket, which fills with the time that passes. A thread that is none of
 * the session's callers may call this, too.
 */
int64_t wh_sm_tokens(struct wh_session *s, int device);
/* Returns what is left below the ceiling; call wh_sm_tokens() before. INT64_MAX: no ceiling. */
int64_t wh_sm_allowed(const struct wh_session *s, int device);
#define WH_SM_CAP_NS	250000000ll	/* most unused time that is kept, times the share */

#endif
