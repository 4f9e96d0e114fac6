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
#include "limits/limits.h"

/* Tests have a clock of their own. */
#ifndef WH_TSC
#define WH_TSC()	__builtin_ia32_rdtsc()
#endif

/* Tests have nobody to wake but what they look at themselves. */
#ifndef WH_FUTEX_WAKE
#define WH_FUTEX_WAKE(word)	wh_futex_wake(word)
#endif
void wh_futex_wake(const uint32_t *word);

#define WH_SM_MARKERS	128u	/* unfinished ones of a context */
#define WH_SM_STREAMS	32u
#define WH_SM_COVERED	64u
#define WH_SM_AWAITED	64u	/* pieces of work that a call may wait for, of all contexts */

/* An event in a stream: a span of work lies between two of them. */
struct wh_marker {
	CUevent event;
	uint16_t stream;	/* index */
	uint16_t launches;	/* since the stream's marker before */
	bool start;		/* begins a span instead of ending one */
	bool done;
	bool starved;		/* the device had caught up: it waited for launches meanwhile */
	uint64_t tsc;		/* when it was recorded */
	uint64_t own_tsc;	/* wh_sm_own_time() then */
};

struct wh_sm_stream {
	CUstream stream;
	bool used;
	bool chained;		/* the next marker's span begins at the last marker */
	uint64_t epoch;		/* of the session, at the last launch */
	bool posted;		/* that one was; when it came is not known */
	uint32_t unmarked;	/* launches behind the last marker */
	uint32_t pending;	/* markers not done */
	uint64_t last_launch, last_mark;	/* tsc */
	double end;		/* of the last marker that is done, ns */
};

/* Events belong to a context, and so does this. */
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
	struct wh_covered covered[WH_SM_COVERED];	/* in order, apart */
	unsigned int ncovered;
	uint32_t outstanding;	/* launches not known to be done */
	uint64_t est_ns;	/* of one launch, the latest ones more than others */
	uint32_t ahead;		/* how many launches may be outstanding */
	double done_ns;		/* when the device was done with what is known to be done */
	bool throttled;		/* its bucket was empty and is not filled yet */
	uint64_t acquired_tsc;	/* the turn */
	uint64_t renewed_tsc;
	uint64_t looked_tsc;	/* whether others wait for it: */
	bool contested;
	uint64_t ending_tsc;	/* of the turn that was waited for last; 0: not known */
	const struct wh_turn *held_by;	/* of another tenant; NULL: of none */
	/* under_way.c; these three are also read and written without the gate. */
	uint64_t launching_tsc;	/* since when a launch is inside of the driver; 0: none is */
	uint64_t progress_tsc;	/* when the work under way began, or some of it was seen done */
	uint64_t ahead_ns;	/* charged while it passed: of what is measured later, not again */
	bool finished;		/* since under_way.c looked last, */
	bool begun;		/* and something has begun and is not */
};

/* Work between two events; no `before`: what came before it is done. */
struct wh_sm_span {
	CUevent before, event;
	int device;
};

/* awaited.c */
struct wh_sm_awaited {
	pthread_mutex_t lock;	/* held while the driver is asked */
	CUcontext ctx;
	uint64_t since;		/* tsc */
	uint32_t n;		/* 0: nobody is inside, or nothing is under way */
	struct wh_sm_span span[WH_SM_AWAITED];
};

struct wh_sm_state {
	struct wh_sm_awaited awaited;
	struct wh_sm_context *contexts;
	struct wh_sm_device device[WH_TENANT_DEVICES];
	uint64_t origin;	/* tsc of the session's time 0 */
	uint64_t epoch;		/* counts calls that are no launches */
	uint64_t polled;	/* tsc */
	uint64_t waits_from;	/* tsc up to which a launch's wait is counted; 0: none waits */
	int waits_for;		/* this device */
	uint32_t batch;		/* launches for one marker */
	uint32_t batch_left;	/* launches until it may grow */
	uint32_t grow;		/* and how many those are */
	bool plenty;		/* the client need not wait for answers to launches */
	uint32_t grace;		/* posted launches that may still pass */
	uint32_t credit;	/* posted launches that may go without a look, */
	CUstream credit_stream;	/* into this stream */
	struct wh_sm_stream *credit_place;
	bool on_credit;		/* the launch is one of them */
	bool woken;		/* the launch had waited */
	bool skip;		/* the launch goes into a graph: nothing to charge */
	uint64_t entered;	/* tsc when a launch's begin or end was entered; 0: none is */
	uint64_t begun;		/* and when the last begin was left */
	uint64_t own_tsc;	/* that these have taken so far */
	uint64_t own_charged;	/* of these, what no span is made longer by any more */
};

/* What the engine itself has taken around launches until now. */
static inline uint64_t wh_sm_own_time(const struct wh_sm_state *m, uint64_t now)
{
	return m->own_tsc + (m->entered ? now - m->entered : 0);
}

/* --- gpu_time.c ---------------------------------------------------------------- */

/* The state for the session's current context; NULL when events do not work there. */
struct wh_sm_context *wh_gpu_context(struct wh_session *s);
/* Just before and just after a launch. False: no room for markers, try later. */
bool wh_gpu_has_stream(struct wh_session *s, CUstream stream);	/* of the current context */
bool wh_gpu_before(struct wh_session *s, struct wh_sm_context *c, CUstream stream);
void wh_gpu_after(struct wh_session *s, struct wh_sm_context *c, CUstream stream);
/* Instead of the two, for a launch of m->credit. */
void wh_gpu_credit(struct wh_session *s);
/* Put a marker behind whatever has none, */
void wh_gpu_mark_all(struct wh_session *s);
/* or only where no marker is under way any more. */
void wh_gpu_mark_last(struct wh_session *s);
/* Look which markers are done. Returns nothing; new GPU time goes to wh_sm_used(). */
void wh_gpu_poll(struct wh_session *s);
/* The device is not measured any more: what comes is in no span. */
void wh_gpu_end(struct wh_session *s, int device);
/* The context is gone: what it had under way counts until now. */
void wh_gpu_context_gone(struct wh_session *s, uint64_t ctx);
void wh_gpu_close(struct wh_session *s);
double wh_gpu_now(const struct wh_session *s, uint64_t tsc);
/* The length that [from, to) adds to what was covered before. */
double wh_gpu_cover(struct wh_sm_device *d, double from, double to);

/* --- under_way.c ---------------------------------------------------------------- */

/* A launch is about to be made, at this time; 0: it is made. */
void wh_busy_launch(struct wh_session *s, int device, uint64_t now);
/* The driver was asked what is done. Has work begun that is not? */
void wh_busy_polled(struct wh_session *s, int device, bool begun);
/* The device is not measured any more. */
void wh_busy_end(struct wh_session *s, int device);
/* The same of another thread, which knows it of the time since then; 0: nothing is at work. */
void wh_busy_asked(struct wh_session *s, int device, uint64_t since);
/* Of a span's length, what was not charged while it passed. */
double wh_busy_rest(struct wh_sm_device *d, double ns);

/* bucket.c: the device worked so much longer for this worker. */
void wh_sm_used(struct wh_session *s, int device, double ns);
/* What is in the bucket now; it fills with the time that passes. Without the gate, too. */
int64_t wh_sm_tokens(struct wh_session *s, int device);

#endif
