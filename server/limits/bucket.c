// SPDX-License-Identifier: Apache-2.0
/*
 * The temporal SM limit: a share of a device's time. Each tenant has one bucket for a device,
 * shared by all its workers: it fills with the share of the time that passes and is emptied by the
 * time that the device really worked for the tenant (gpu_time.c). While it is empty no launch goes
 * to the driver: the client is told to come again, and waits outside of its slot, so that its other
 * threads and calls go on. The cost of a launch is known only when the launch is done. So a bucket
 * can go below zero, and the tenant waits until the debt is paid: in the long run the share is
 * exact whatever the length of the kernels. How far ahead a client may launch depends on how long
 * its launches take, so that debts stay short. The tenant does not pay for the time that this
 * engine itself takes while the device waits for it.
 *
 * Posted launches of a few microseconds come as fast as the driver takes them, and half a
 * microsecond more for each would be noticeable. So only one in 32 is looked at, and the others go
 * on its credit.
 *
 * Tenants that have a share take turns on a device (turns.c), so that the measured time of one
 * contains no work of another.
 */
#include "limits/bucket.h"
#include "limits/turns.h"

#include <math.h>
#include <stdlib.h>

#define START_NS	20000000ull	/* content of a new bucket, times the share */
#define FORGIVEN_NS	(-20000000ll)	/* the most that idle time which was used makes owe */
#define REFILL_NS	20000u		/* a bucket is refilled at most this often */
#define AHEAD_NS	4000000u	/* most work that may be under way */
#define BRIEF_NS	400000u		/* the same where a higher class may come at any time */
#define GUARDED_NS	1000000u	/* of spare work, where others may be owed the device */
#define AHEAD_LAUNCHES	512u
#define LONG_NS		20000000u	/* launches this long go one at a time */
#define OLD_NS		4000000.0	/* work older than this is waited for */
#define OLD_OPEN_NS	40000000.0	/* the same where others work at the same time */
#define FIRST_EST_NS	2000000u	/* estimate before anything was measured */
#define POLL_US		20u
#define POLL_PLENTY_US	500u		/* for posted launches, whose markers are seen anyway */
#define SHORT_NS	30000u		/* launches this long may be posted */
#define POSTS		32u		/* posted launches that a client may have under way */
#define CREDIT		31u		/* the launches of these that go without a look */
#define RESUME_NS	6000000		/* short launches go on when this much is there */
#define COLD_MAX_US	100u		/* free for the first launch after a wait */
#define TURN_NEAR_US	400		/* so near the end, those who wait ask without pause */
#define TURN_UNKNOWN_US	100u		/* pause if the end is not known */
#define TURN_MAX_US	1000		/* longest wait for a turn: it may end early */
#define LINGER_US	300u		/* the device stays a higher class's after work */
#define WAIT_MIN_US	20u
#define WAIT_MAX_US	10000u
#define WORK_MIN_US	200u		/* shortest pause if nobody waits for the work */
#define BRIEF_WAIT_US	50u		/* longest pause of work that may have to stop at once */
#define WORK_MAX_US	1000u		/* longest pause between two looks at any work */
#define DEEP_MAX_US	250u		/* the same while launches wait in a deep ring for room */

/* --- The bucket ----------------------------------------------------------------------- */

static uint64_t tsc_to_ns(const struct wh_session *s, uint64_t tsc)
{
	return (uint64_t)((double)tsc * 1000.0 / s->tsc_per_us);
}

static void add_tokens(int64_t *tokens, int64_t ns, int64_t cap)
{
	int64_t old = __atomic_load_n(tokens, __ATOMIC_RELAXED), new;

	do
		/* Nothing is added above the cap, but tokens that are there already stay. */
		new = old + ns > cap ? (old > cap ? old : cap) : old + ns;
	while (!__atomic_compare_exchange_n(tokens, &old, new, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
}

/* True in exactly one of the tenant's workers: the limits have changed since the last refill. */
static bool changed(struct wh_session *s, struct wh_sm_bucket *b)
{
	uint64_t then = __atomic_load_n(&b->sequence, __ATOMIC_RELAXED);

	return then != s->limits.seen &&
	       __atomic_compare_exchange_n(&b->sequence, &then, s->limits.seen, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void forgive(int64_t *tokens, int64_t least)
{
	int64_t old = __atomic_load_n(tokens, __ATOMIC_RELAXED);

	while (old < least && !__atomic_compare_exchange_n(tokens, &old, least, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/*
 * A debt that was made under a higher ceiling held nobody back there, and may have grown for long.
 * A lower ceiling would make the tenant wait for all of it, so at most as much as a bucket can hold
 * remains. Only the server lowers ceilings, so no program gets rid of a debt by itself.
 */
static void new_ceiling(struct wh_sm_bucket *b, unsigned int percent, unsigned int most)
{
	if (__atomic_exchange_n(&b->ceiling, most, __ATOMIC_RELAXED) <= most)
		return;
	forgive(&b->tokens_ns, -WH_SM_CAP_NS * percent / 100);
	forgive(&b->ceiling_ns, -WH_SM_CAP_NS * most / 100);
}

/*
 * Adds the tokens of the time since the last refill. Only the worker that moves the time stamp adds
 * them, so nothing is added twice. A new share counts from now on: time that passed before it is
 * not saved up.
 */
static int64_t refill(struct wh_session *s, struct wh_sm_bucket *b,
		      const struct wh_device_limit *l)
{
	unsigned int percent = l->sm_percent, most = wh_ceiling(l);
	uint64_t last = __atomic_load_n(&b->refilled_tsc, __ATOMIC_RELAXED), now = WH_TSC();
	uint64_t ns = tsc_to_ns(s, now - last);
	bool anew = changed(s, b);
	int64_t fresh;

	if (anew)
		new_ceiling(b, percent, most);
	if (last && now > last && ns < REFILL_NS && !anew)
		return __atomic_load_n(&b->tokens_ns, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(&b->refilled_tsc, &last, now, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED)) {
		/* At a first fill, or if the clock went back, no time has passed. */
		ns = !last ? START_NS : now > last && !anew ? ns : 0;
		fresh = (int64_t)(ns * percent / 100);
		fresh -= last ? wh_rank_leak(l, b->tokens_ns, ns) : 0;
		add_tokens(&b->tokens_ns, fresh, WH_SM_CAP_NS * percent / 100);
		add_tokens(&b->ceiling_ns, (int64_t)(ns * most / 100), WH_SM_CAP_NS * most / 100);
		add_tokens(&b->guarantee_ns, (int64_t)(ns * percent / 100),
			   WH_SM_CAP_NS * percent / 100);
	}
	return __atomic_load_n(&b->tokens_ns, __ATOMIC_RELAXED);
}

/*
 * Takes time that nobody else wanted: no more of it is owed than FORGIVEN_NS, so that whoever used
 * what was idle has its guarantee as soon as others come.
 */
static void take_spare(int64_t *tokens, int64_t ns)
{
	int64_t old = __atomic_load_n(tokens, __ATOMIC_RELAXED), new;

	do
		new = old - ns > FORGIVEN_NS ? old - ns : old < FORGIVEN_NS ? old : FORGIVEN_NS;
	while (!__atomic_compare_exchange_n(tokens, &old, new, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
}

/*
 * Takes work from the guarantee, and returns the part of it that was beyond: what a tenant takes of
 * idle time while its guarantee is used up.
 */
static int64_t beyond(int64_t *guarantee, int64_t ns, bool spare)
{
	int64_t old = __atomic_load_n(guarantee, __ATOMIC_RELAXED), taken;

	do
		taken = !spare || ns < old ? ns : old > 0 ? old : 0;
	while (!__atomic_compare_exchange_n(guarantee, &old, old - taken, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return ns - taken;
}

void wh_sm_used(struct wh_session *s, int device, double ns)
{
	struct wh_sm_bucket *b = &s->limits.usage->bucket[device];
	struct wh_device_usage *u = &s->limits.account->device[device];
	int64_t ns_beyond;
	bool spare;

	__atomic_fetch_add(&u->gpu_ns, (uint64_t)ns, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&b->ceiling_ns, (int64_t)ns, __ATOMIC_RELAXED);
	spare = s->limits.sm && s->limits.sm->device[device].rank & WH_RANK_SPARE;
	ns_beyond = beyond(&b->guarantee_ns, (int64_t)ns, spare);
	__atomic_fetch_add(&u->gpu_beyond_ns, (uint64_t)ns_beyond, __ATOMIC_RELAXED);
	if (spare && !wh_turn_owed(s, device))
		take_spare(&b->tokens_ns, (int64_t)ns);
	else
		__atomic_fetch_sub(&b->tokens_ns, (int64_t)ns, __ATOMIC_RELAXED);
}

int64_t wh_sm_tokens(struct wh_session *s, int device)
{
	return refill(s, &s->limits.usage->bucket[device], &s->limits.limit[device]);
}

int64_t wh_sm_allowed(const struct wh_session *s, int device)
{
	const struct wh_sm_bucket *b = &s->limits.usage->bucket[device];
	const struct wh_device_limit *l = &s->limits.limit[device];

	if (wh_ceiling(l) >= WH_SM_NO_CEILING)
		return INT64_MAX;
	return __atomic_load_n(wh_ceiling(l) > l->sm_percent ? &b->ceiling_ns : &b->tokens_ns,
			       __ATOMIC_RELAXED);
}

static uint64_t us(const struct wh_session *s, uint64_t n)
{
	return n * s->tsc_per_us;
}

/* --- How far ahead ------------------------------------------------------------------------ */

/* How much work may be under way. */
static double room(const struct wh_sm_device *d)
{
	return d->brief ? BRIEF_NS : d->guarded ? GUARDED_NS : AHEAD_NS;
}

/*
 * Is so much under way that the next launch, which takes that long, has to wait? One more than the
 * device works on may always be there, unless it is long: otherwise the device would stand still.
 */
static bool is_full(const struct wh_sm_device *d, double next_ns)
{
	if (d->outstanding < 2)
		return d->outstanding && next_ns > LONG_NS;
	return d->outstanding >= AHEAD_LAUNCHES ||
	       wh_work_ns(&d->kinds, &d->work) + next_ns > d->room_ns;
}

static double next_ns(struct wh_sm_device *d)
{
	return wh_kind_ns(&d->kinds, wh_kind_of(&d->kinds, wh_self.alike));
}

/* How long the oldest unfinished work has been under way. */
static double oldest(struct wh_session *s, const struct wh_sm_context *c)
{
	uint32_t i;

	for (i = c->head; i != c->tail; i++)
		if (!c->marker[i % WH_SM_MARKERS].done)
			return wh_gpu_now(s, WH_TSC()) -
			       wh_gpu_now(s, c->marker[i % WH_SM_MARKERS].tsc);
	return 0;
}

/* How long the device has worked on it: since the work before it was done. */
static double at_work(struct wh_session *s, const struct wh_sm_context *c)
{
	double old = oldest(s, c);
	double since = wh_gpu_now(s, WH_TSC()) - s->limits.sm->device[c->device].done_ns;

	return since > 0 && since < old ? since : old;
}

static void poll_if_due(struct wh_session *s, bool due)
{
	uint64_t now = WH_TSC();

	if (!due && now - s->limits.sm->polled <
		    us(s, wh_self.posted && s->limits.sm->grace ? POLL_PLENTY_US : POLL_US))
		return;
	wh_gpu_poll(s);
}

/*
 * Short launches are as fast as without a limit only when they come posted, many
 * in a row. So an empty bucket fills up a little before they go on. (One round
 * trip for each of them would leave the device idle between them, at the
 * tenant's cost.)
 */
static int64_t resume_level(struct wh_session *s, int device)
{
	int64_t half = WH_SM_CAP_NS * wh_ceiling(&s->limits.limit[device]) / 200;

	if (s->limits.sm->device[device].kinds.mean_ns > SHORT_NS)
		return 0;
	/* Wait for at most half of what the bucket can hold. */
	return RESUME_NS < half ? RESUME_NS : half;
}

static bool has_time(struct wh_session *s, int device, int64_t tokens)
{
	struct wh_sm_device *d = &s->limits.sm->device[device];

	if (tokens <= 0)
		d->throttled = true;
	else if (d->throttled)
		d->throttled = tokens < resume_level(s, device);
	return !d->throttled;
}

/* The reason why a launch must wait. */
enum obstacle { NOTHING, NO_TIME, NO_ROOM, NO_TURN };

static enum obstacle obstacle(struct wh_session *s, const struct wh_sm_context *c, int device)
{
	struct wh_sm_device *d = &s->limits.sm->device[device];
	double old, next = next_ns(d);

	d->room_ns = room(d);
	poll_if_due(s, is_full(d, next));
	wh_rank_choose(s, device, wh_sm_tokens(s, device));
	d->refused = false;
	if (!has_time(s, device, wh_sm_allowed(s, device)))
		return NO_TIME;
	old = d->rank & (WH_RANK_OPEN | WH_RANK_PEER) && !d->brief && !d->guarded ?
	      OLD_OPEN_NS : OLD_NS;
	if (is_full(d, next) || (d->outstanding && oldest(s, c) > old))
		return NO_ROOM;
	d->refused = !wh_turn_hold(s, device);
	return d->refused ? NO_TURN : NOTHING;
}

/*
 * Launches that were posted before the client could know that it has to wait may pass: at most a
 * millisecond of work. If they were held back, they would stop the client's other threads. In a
 * deep ring they are held back: the client prepares its next turn there meanwhile.
 */
static bool passes(struct wh_session *s, int device, enum obstacle o)
{
	struct wh_sm_device *d = &s->limits.sm->device[device];
	struct wh_sm_state *m = s->limits.sm;

	m->plenty = o == NOTHING && d->kinds.mean_ns <= SHORT_NS;
	if (m->plenty || wh_self.deep)
		m->grace = m->plenty ? POSTS : 0;
	m->credit = m->plenty && wh_self.posted ? CREDIT : 0;
	m->credit_ns = d->room_ns / 4;
	if (o == NOTHING)
		return true;
	if (!wh_self.posted || !m->grace || is_full(d, next_ns(d)) || d->overtaken ||
	    !wh_turn_held(s, device))
		return false;
	m->grace--;
	return true;
}

/* What the last launch that this thread held back waits for. */
static __thread struct wh_hold wh_hold;

struct wh_hold wh_sm_held(void)
{
	return wh_hold;
}

/* --- How long to wait ----------------------------------------------------------------------- */

/*
 * Returns how long to wait until the work under way may be done: the time that it should still
 * take. If that time is over, the wait grows with the time that the work has already taken. A
 * launch that only has no room needs half of the work done. Launches without a marker get one here,
 * since nobody would ever see them end. The estimate is of launches before: where many short ones
 * come after long ones, the device would stand still in a long pause. A worker with a deep ring
 * looks more often, since nobody else is asked.
 */
static uint64_t wait_for_work(struct wh_session *s, const struct wh_sm_context *c, enum obstacle o)
{
	struct wh_sm_device *d = &s->limits.sm->device[c->device];
	bool awaited;
	double age, left;
	uint64_t most, wait;

	/* Work that others come to is not measured as if it were alone. */
	if (d->open)
		wh_turn_look(s, c->device);
	if (o == NO_ROOM)
		wh_gpu_mark_last(s);
	else
		wh_gpu_mark_all(s);
	age = at_work(s, c);
	left = wh_work_ns(&d->kinds, &d->work) - age;
	wh_turn_keep(s, c->device, left);
	awaited = o != NO_ROOM && wh_turn_contested(s, c->device);
	/* Others wait for the end of this work, so it must not be missed. */
	if (awaited && fabs(left) < TURN_NEAR_US / 8 * 1000.0)
		return WAIT_MIN_US;
	if (awaited)
		left = left * 3 / 4;
	else if (o == NO_ROOM || left > WORK_MAX_US * 1000.0)
		left /= 2;
	left = left > 0 ? left : age / 32;
	most = o == NO_ROOM && wh_self.deep ? DEEP_MAX_US : WORK_MAX_US;
	wait = left < most * 1000.0 ? (uint64_t)(left / 1000) + 1 : most;
	/* With so little under way a sleep would outlast it. */
	if (d->brief)
		return wait < BRIEF_WAIT_US ? wait : BRIEF_WAIT_US;
	return awaited || wait > WORK_MIN_US ? wait : WORK_MIN_US;
}

/* To wait off a debt needs no device, so the turn is passed on to others. */
static uint64_t wait_for_time(struct wh_session *s, int device)
{
	int64_t tokens = wh_sm_allowed(s, device) - resume_level(s, device);

	wh_turn_release(s, device);
	return (tokens < 0 ? (uint64_t)-tokens / 10 / wh_ceiling(&s->limits.limit[device]) : 0) +
	       WAIT_MIN_US;
}

/*
 * Returns how long to wait for a turn: until shortly before the holder's turn should end. From then
 * on the client asks without a pause, so that the device does not stand still between two turns. A
 * worker that can sleep on the holder's word also does that (wh_sm_hold()).
 */
static uint64_t wait_for_turn(struct wh_session *s, int device)
{
	uint64_t ending = wh_turn_ending(s, device), now = WH_TSC();
	int64_t left = (int64_t)(ending - now) / (int64_t)s->tsc_per_us;

	if (!ending)
		return TURN_UNKNOWN_US;
	if (left < -TURN_NEAR_US)
		return TURN_UNKNOWN_US;
	if (left <= TURN_NEAR_US)
		return WAIT_MIN_US;
	left -= TURN_NEAR_US;
	return left < TURN_MAX_US ? (uint64_t)left : TURN_MAX_US;
}

static uint64_t how_long(struct wh_session *s, const struct wh_sm_context *c, int device,
			 enum obstacle o)
{
	wh_hold = (struct wh_hold) { .word = NULL };
	if (o == NO_TURN && !s->limits.sm->device[device].outstanding)
		wh_hold.word = wh_turn_word(s, device, &wh_hold.seen);
	if (s->limits.sm->device[device].outstanding)
		return wait_for_work(s, c, o);
	return o == NO_TIME ? wait_for_time(s, device) :
	       o == NO_TURN ? wait_for_turn(s, device) : WAIT_MIN_US;
}

/* --- The two ends of a launch ---------------------------------------------------------------- */

/* Counts a wait up to now, so that a reader of the counter never sees more time than has passed. */
static void count_wait(struct wh_session *s, uint64_t now)
{
	struct wh_sm_state *m = s->limits.sm;

	if (m->waits_from)
		s->limits.account->device[m->waits_for].throttled_ns +=
			tsc_to_ns(s, now - m->waits_from);
	m->waits_from = now;
}

static CUresult later(struct wh_session *s, int device, uint64_t wait_us)
{
	struct wh_sm_state *m = s->limits.sm;

	/* If the launch has waited before, count up to the known time at which it came again. */
	count_wait(s, m->waits_from ? m->entered : WH_TSC());
	m->waits_for = device;
	wait_us = wait_us < WAIT_MIN_US ? WAIT_MIN_US : wait_us;
	return wh_retry(wait_us < WAIT_MAX_US ? wait_us : WAIT_MAX_US);
}

static void go(struct wh_session *s)
{
	struct wh_sm_state *m = s->limits.sm;

	if (!m->waits_from)
		return;
	count_wait(s, WH_TSC());
	m->waits_from = 0;
	m->woken = true;
}

/*
 * Once the state exists, it stays: the thread that looks after work under way is none of the
 * session's callers (under_way.c).
 */
static bool open_state(struct wh_session *s)
{
	struct wh_sm_state *m;
	int d;

	if (s->limits.sm)
		return true;
	m = calloc(1, sizeof(*m));
	if (!m)
		return false;
	if (pthread_mutex_init(&m->awaited.lock, NULL)) {
		free(m);
		return false;
	}
	m->origin = WH_TSC();
	m->batch = 1;
	m->grow = m->batch_left = 1;
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		m->device[d].kinds.mean_ns = FIRST_EST_NS;
	s->limits.account->tsc_per_us = s->tsc_per_us;
	/* A thread that is none of the callers must find the whole state. */
	__atomic_store_n(&s->limits.sm, m, __ATOMIC_RELEASE);
	return true;
}

bool wh_sm_wants_answers(const struct wh_session *s)
{
	return !wh_self.deep && (!s->limits.sm || !s->limits.sm->plenty);
}

/* Returns 0, or an error for the launch to return. */
static CUresult begin(struct wh_session *s, struct wh_sm_context *c, CUstream stream)
{
	int device = wh_self.device;
	enum obstacle o = obstacle(s, c, device);

	if (!passes(s, device, o))
		return later(s, device, how_long(s, c, device, o));
	if (!wh_gpu_before(s, c, stream))
		return later(s, device, WAIT_MIN_US);
	go(s);
	return CUDA_SUCCESS;
}

static void enter(struct wh_sm_state *m)
{
	m->entered = WH_TSC();
}

/* For a launch that has to wait nothing is counted, since it does not keep the device from work. */
static void leave(struct wh_sm_state *m, bool count)
{
	uint64_t now = WH_TSC();

	if (count)
		m->own_tsc += now - m->entered;
	m->begun = now;
	m->entered = 0;
}

/*
 * After a wait caches, CPU and device are cold, and the first launch takes the
 * driver ten times as long as those that follow.
 */
static void after_wait(struct wh_session *s, uint64_t now)
{
	struct wh_sm_state *m = s->limits.sm;
	uint64_t usual = us(s, m->device[wh_self.device].kinds.mean_ns) / 1000;
	uint64_t more = now - m->begun > usual ? now - m->begun - usual : 0;

	m->woken = false;
	m->own_tsc += more < us(s, COLD_MAX_US) ? more : us(s, COLD_MAX_US);
}

/* True if only launches like the one before have come since that one was looked at. */
static bool has_credit(struct wh_session *s, CUstream stream)
{
	struct wh_sm_state *m = s->limits.sm;

	if (!m || !m->credit)
		return false;
	m->credit_ns -= next_ns(&m->device[wh_self.device]);
	m->on_credit = wh_self.posted && stream == m->credit_stream && m->credit_ns >= 0;
	m->credit = m->on_credit ? m->credit - 1 : 0;
	return m->on_credit;
}

/*
 * Follows a launch into a stream of another context than the current one. The driver allows this
 * (580.159, if the function is of that context, too). The events that measure the launch belong to
 * that context, so it is made there, and the next call goes back.
 */
static void follow_stream(struct wh_session *s, CUstream stream)
{
	CUcontext ctx = NULL;
	CUdevice dev;

	if ((uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD || wh_gpu_has_stream(s, stream) ||
	    !s->drv.cuStreamGetCtx || s->drv.cuStreamGetCtx(stream, &ctx) != CUDA_SUCCESS || !ctx ||
	    ctx == wh_handles_get(&s->handles, wh_self.ctx, WH_H_CUcontext) ||
	    !wh_handles_find(&s->handles, ctx, WH_H_CUcontext) ||
	    s->drv.cuCtxSetCurrent(ctx) != CUDA_SUCCESS)
		return;
	wh_self.ctx = wh_handles_put(&s->handles, ctx, WH_H_CUcontext, 0);
	s->limits.ctx = wh_self.ctx;
	if (s->drv.cuCtxGetDevice(&dev) == CUDA_SUCCESS && dev >= 0 && dev < WH_TENANT_DEVICES)
		wh_self_on(s, dev);
}

CUresult wh_sm_begin(struct wh_session *s, CUstream stream)
{
	struct wh_sm_context *c;
	bool captures;
	CUresult res;

	if (s->limits.seen != __atomic_load_n(&s->limits.page->sequence, __ATOMIC_ACQUIRE))
		wh_limits_reread(s);
	else if (has_credit(s, stream))
		return CUDA_SUCCESS;
	/* A library might choose a context by itself, and nothing could be measured there. */
	if (wh_self.device < 0)
		return s->limits.temporal ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
	if (!s->limits.temporal)
		return CUDA_SUCCESS;
	if (!open_state(s))
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* The stream may be of another device, and only that one may have a share. */
	captures = wh_capture_of(s, stream) != WH_CAPTURE_NONE;
	if (!captures)
		follow_stream(s, stream);
	if (!(s->limits.temporal & 1u << wh_self.device))
		return CUDA_SUCCESS;
	c = captures ? NULL : wh_gpu_context(s);
	/* Without a context, or events, the launch fails by itself or cannot be held back. */
	s->limits.sm->skip = !c;
	if (!c)
		return CUDA_SUCCESS;
	enter(s->limits.sm);
	res = begin(s, c, stream);
	leave(s->limits.sm, res == CUDA_SUCCESS);
	return res;
}

void wh_sm_end(struct wh_session *s, CUstream stream)
{
	struct wh_sm_state *m = s->limits.sm;
	struct wh_sm_context *c;

	if (m && m->on_credit) {
		m->on_credit = false;
		wh_gpu_credit(s);
		return;
	}
	if (!m || m->skip || wh_self.device < 0 || !(s->limits.temporal & 1u << wh_self.device))
		return;
	c = wh_gpu_context(s);
	if (!c)
		return;
	enter(m);
	if (m->woken)
		after_wait(s, m->entered);
	wh_gpu_after(s, c, stream);
	leave(m, true);
}

/* --- Other calls ------------------------------------------------------------------------ */

void wh_sm_other_call(struct wh_session *s)
{
	struct wh_sm_state *m = s->limits.sm;

	if (!m)
		return;
	m->epoch++;
	m->credit = 0;
	wh_gpu_mark_all(s);
}

/* How long the work under way in the current context should still take. */
static double left(struct wh_session *s, int device)
{
	struct wh_sm_context *c = wh_self.device == device ? wh_gpu_context(s) : NULL;
	struct wh_sm_device *d = &s->limits.sm->device[device];

	return c ? wh_work_ns(&d->kinds, &d->work) - at_work(s, c) : 0;
}

/*
 * A higher class keeps the device for a moment although its work is done: a program that prepares
 * its next launch would wait for the lower one's work otherwise, each time. So does who is owed
 * time without a ceiling: it would get the device back later than it loses it, and be owed time for
 * ever. And in a probe others would work in each pause.
 */
static bool lingers(const struct wh_session *s, int device)
{
	const struct wh_sm_state *m = s->limits.sm;
	const struct wh_sm_device *d = &m->device[device];
	uint64_t now;

	if (!s->limits.limit[device].sm_class && !(d->rank & WH_RANK_LONG))
		return false;
	now = WH_TSC();
	return (now - m->begun < us(s, LINGER_US) ||
		wh_gpu_now(s, now) - d->done_ns < LINGER_US * 1000.0) &&
	       (d->probed_ns > 0 || wh_turn_above(s, device));
}

static bool any_lingers(const struct wh_session *s)
{
	int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		if (s->limits.temporal & 1u << d && lingers(s, d))
			return true;
	return false;
}

bool wh_sm_idle(struct wh_session *s, bool end)
{
	bool busy;
	int d;

	if (!s->limits.sm)
		return false;
	s->limits.sm->credit = 0;
	if (end)
		wh_gpu_mark_all(s);
	else
		wh_gpu_mark_last(s);
	busy = wh_sm_look(s);
	if (!end)
		return busy || any_lingers(s);
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		if (s->limits.temporal & 1u << d && !s->limits.sm->device[d].outstanding)
			wh_turn_release(s, d);
	return busy;
}

bool wh_sm_under_way(const struct wh_session *s)
{
	const struct wh_sm_state *m = __atomic_load_n(&s->limits.sm, __ATOMIC_ACQUIRE);
	int d;

	for (d = 0; m && d < WH_TENANT_DEVICES; d++)
		if (__atomic_load_n(&m->device[d].outstanding, __ATOMIC_RELAXED))
			return true;
	return false;
}

bool wh_sm_look(struct wh_session *s)
{
	struct wh_sm_state *m = s->limits.sm;
	unsigned int again;
	bool busy = false;
	int d;

	if (!m)
		return false;
	poll_if_due(s, false);
	/* In a session without a thread that looks at the work, calls have to do it. */
	if (wh_sm_watch(s, &again) && s->out_of_time)
		s->out_of_time(s);
	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		if (!(s->limits.temporal & 1u << d))
			continue;
		busy |= m->device[d].outstanding;
		if (m->device[d].outstanding)
			wh_turn_keep(s, d, left(s, d));
		else if (!lingers(s, d))
			wh_turn_release(s, d);
	}
	return busy;
}

CUresult wh_launch_begin_slowly(struct wh_session *s, CUstream stream)
{
	const struct wh_limits *l = &s->limits;
	CUresult res = CUDA_SUCCESS;

	if (l->temporal || l->seen != __atomic_load_n(&l->page->sequence, __ATOMIC_RELAXED))
		res = wh_self.alone ? wh_sm_begin(s, stream) : WH_ALONE;
	if (res == CUDA_SUCCESS)
		wh_trace_device_begin(s, stream);
	return res;
}

void wh_launch_end_slowly(struct wh_session *s, CUstream stream)
{
	if (wh_self.pair)
		wh_trace_device_end(s, stream);
	if (s->limits.temporal)
		wh_sm_end(s, stream);
	/* The trace has ended, so launches are quick again. */
	if (!wh_self.traced)
		__atomic_store_n(&s->limits.watched, s->limits.temporal, __ATOMIC_RELAXED);
}

void wh_sm_share_gone(struct wh_session *s, uint32_t devices)
{
	struct wh_sm_state *m = s->limits.sm;
	int d;

	if (!m || !devices)
		return;
	m->credit = 0;
	if (m->waits_from && devices & 1u << m->waits_for) {
		count_wait(s, WH_TSC());
		m->waits_from = 0;
	}
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		if (devices & 1u << d) {
			wh_gpu_end(s, d);
			wh_busy_end(s, d);
		}
}

void wh_sm_context_gone(struct wh_session *s, uint64_t ctx)
{
	if (s->limits.sm)
		wh_gpu_context_gone(s, ctx);
}

void wh_sm_close(struct wh_session *s)
{
	int d;

	if (!s->limits.sm)
		return;
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		wh_turn_release(s, d);
	wh_gpu_close(s);
	free(s->limits.sm);
	s->limits.sm = NULL;
}
