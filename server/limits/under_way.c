// SPDX-License-Identifier: Apache-2.0
/*
 * Work that is under way: it is charged while it passes, and ended when it lasts too long.
 *
 * The time of a launch is measured when the launch is done (gpu_time.c). A kernel that never ends
 * would then be free, and so would be the work of a process that is killed. So the account says
 * since when the device has been busy without a charge: since a look saw that work has begun and is
 * not done. Time older than LATE is charged by the clock, and the measured length is charged less
 * by that much. When the account of a worker that has ended is cleared, what is left is charged.
 *
 * The clock may charge more than the work costs: a look came late, or others worked at the same
 * time (guarantee.c). That much of what follows is paid, both by the clock and when it is measured.
 * So it is never more than the clock has charged for one stretch of work.
 *
 * A launch that holds the device for longer than the administrator allows (--max-kernel) ends with
 * its program, as under the watchdog of a display. It ends if somebody else waits for the device,
 * or if the tenant owes that much time.
 *
 * A thread of the worker looks at all this even while a call is stuck inside a launch, so what it
 * touches is atomic.
 */
#include "limits/bucket.h"
#include "limits/turns.h"

#define LATE_NS		20000000u
#define LOOK_MS		10u	/* between looks while work is under way */
#define IDLE_MS		50u	/* under a share without work */
#define NO_SHARE_MS	1000u	/* without a share, which may come at any time */

static uint64_t *busy_of(struct wh_session *s, int device)
{
	return &s->limits.account->device[device].busy_tsc;
}

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static void store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

/* Takes up to `ns` from what is there, and returns how much that was. */
static double take(uint64_t *from, double ns)
{
	uint64_t old = load(from), part;

	do {
		part = ns > 0 && (double)old > ns ? (uint64_t)ns : old;
		part = ns > 0 ? part : 0;
	} while (part && !__atomic_compare_exchange_n(from, &old, old - part, false,
						      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return (double)part;
}

static void add(uint64_t *to, double ns)
{
	__atomic_fetch_add(to, (uint64_t)ns, __ATOMIC_RELAXED);
}

static uint64_t ns_between(const struct wh_session *s, uint64_t from, uint64_t to)
{
	if ((int64_t)(to - from) <= 0)
		return 0;
	return (uint64_t)((double)(to - from) * 1000 / s->tsc_per_us);
}

void wh_busy_launch(struct wh_session *s, int device, uint64_t now)
{
	store(&s->limits.sm->device[device].launching_tsc, now);
}

/*
 * A poll has said whether work has begun. Measured work may have ended before this look: the rest
 * of that time is in its span.
 */
void wh_busy_polled(struct wh_session *s, int device, bool begun)
{
	struct wh_sm_device *d = &s->limits.sm->device[device];
	uint64_t now;

	/* Nothing is left that was charged ahead: the looks came later than the work ended. */
	if (!begun && load(&d->ahead_ns))
		add(&d->over_ns, take(&d->ahead_ns, (double)load(&d->ahead_ns)));
	if (begun == (load(busy_of(s, device)) != 0) && !d->finished)
		return;
	d->finished = false;
	now = begun ? WH_TSC() : 0;
	store(&d->progress_tsc, now);
	store(busy_of(s, device), now);
}

void wh_busy_asked(struct wh_session *s, int device, uint64_t since)
{
	struct wh_sm_device *d = &s->limits.sm->device[device];
	uint64_t none = 0;

	if (!since) {
		store(&d->progress_tsc, 0);
		store(busy_of(s, device), 0);
	} else if (__atomic_compare_exchange_n(busy_of(s, device), &none, since, false,
					       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		store(&d->progress_tsc, since);
	}
}

void wh_busy_end(struct wh_session *s, int device)
{
	struct wh_sm_device *d = &s->limits.sm->device[device];

	store(&d->launching_tsc, 0);
	store(&d->progress_tsc, 0);
	store(busy_of(s, device), 0);
}

double wh_busy_rest(struct wh_sm_device *d, double ns, double cost)
{
	double rest = cost - take(&d->ahead_ns, ns);

	if (rest > 0)
		return rest - take(&d->over_ns, rest);
	add(&d->over_ns, -rest);
	return 0;
}

void wh_busy_forget(struct wh_sm_device *d)
{
	store(&d->over_ns, 0);
}

/*
 * If a driver lets a launch wait, its queue is full, or it runs the work in the call. Nobody has
 * polled since then, but the device is at work.
 */
static void note_launch(struct wh_session *s, int device, uint64_t now)
{
	struct wh_sm_device *d = &s->limits.sm->device[device];
	uint64_t since = load(&d->launching_tsc), none = 0;

	if (!since || load(busy_of(s, device)) || ns_between(s, since, now) < LATE_NS)
		return;
	store(&d->progress_tsc, since);
	__atomic_compare_exchange_n(busy_of(s, device), &none, since, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

/* The thread that moves the time stamp charges the time between, so nothing is charged twice. */
static void charge(struct wh_session *s, int device, uint64_t now)
{
	struct wh_sm_device *d = &s->limits.sm->device[device];
	uint64_t since = load(busy_of(s, device)), ns;

	if (!since)
		return;
	ns = ns_between(s, since, now);
	if (ns < LATE_NS || !__atomic_compare_exchange_n(busy_of(s, device), &since, now, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	add(&d->ahead_ns, (double)ns);
	wh_sm_used(s, device, (double)ns - take(&d->over_ns, (double)ns));
}

/* Has the work held the device for longer than it may? */
static bool too_long(struct wh_session *s, int device, uint64_t now)
{
	uint64_t since = load(&s->limits.sm->device[device].progress_tsc);
	uint64_t most = load(&s->limits.page->max_kernel_ns);

	if (!most || !since || !load(busy_of(s, device)) || ns_between(s, since, now) <= most)
		return false;
	if (wh_turn_awaited(s, device))
		return true;
	wh_sm_tokens(s, device);
	return wh_sm_allowed(s, device) < -(int64_t)most;
}

bool wh_sm_watch(struct wh_session *s, unsigned int *again)
{
	uint32_t shares = __atomic_load_n(&s->limits.temporal, __ATOMIC_RELAXED);
	uint64_t now = WH_TSC();
	bool over = false;
	int d;

	*again = shares ? IDLE_MS : NO_SHARE_MS;
	if (!__atomic_load_n(&s->limits.sm, __ATOMIC_ACQUIRE))
		return false;
	if (wh_sm_under_way(s))
		*again = LOOK_MS;
	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		if (!(shares & 1u << d))
			continue;
		note_launch(s, d, now);
		if (load(&s->limits.sm->device[d].launching_tsc))
			*again = LOOK_MS;
		if (!load(busy_of(s, d)))
			continue;
		*again = LOOK_MS;
		charge(s, d, now);
		over |= too_long(s, d, now);
	}
	return over;
}
