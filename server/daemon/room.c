// SPDX-License-Identifier: Apache-2.0
/*
 * `serve --overcommit': the quotas of tenants may sum up to more than a device has. A tenant whose
 * memory the driver refuses asks for room (session/room.c). Then another one that has memory there
 * is parked: suspended as by `wormhole suspend', until one of its calls waits. To resume it, others
 * may have to be parked. Its workers move its memory themselves as far as they can, which is faster
 * than the driver's checkpoint and leaves some of it on the device (limits/paging.c). Only so much
 * leaves as who waits may want of the device. What a parked tenant has left there goes before
 * another one is parked.
 *
 * Who is taken: lower classes first, then who has not called for longest. A tenant that was
 * resumed, or was given room, stays for a time that the administrator says, as long as it calls. So
 * tenants that compute all the time and do not fit together take turns of at least that time.
 *
 * What is asked stands in the workers' accounts until it is answered. So the server looks there,
 * and a server that is killed leaves nothing unheard. The words are the workers' own: a worker that
 * lies gets no more than one that asks all the time, and its tenant pays with its own turn.
 *
 * Nobody counts what a device has free, since the driver alone knows. It is asked again each time
 * that a tenant has left; one tenant is on its way at a time.
 */
#define _GNU_SOURCE
#include "daemon/suspend.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/handover.h"
#include "daemon/monitor.h"
#include "daemon/parts.h"
#include "daemon/tenant.h"
#include "tenant/clock.h"
#include "tenant/control.h"

#define LOOK_MS		50	/* between two looks */
#define IDLE_MS		1000	/* who has not called for so long is idle */
#define IDLE_WAIT_MS	1000	/* so long an idle tenant's calls may last when it is parked; */
#define BUSY_WAIT_MS	30000	/* so long a busy one's, */
#define PATIENCE_MS	30000	/* and so long, beside one stay, somebody waits for room */
#define MAX_STAY_MS	300000	/* of one that could not be parked */
#define MAX_VAIN	8	/* tries to end a stay before its time */
#define SPARE		8	/* this part of free memory stays so where a place is made ahead */
#define MOST_FURTHER	4	/* times that more of a parked tenant leaves; the last is all */
#define AGAIN_MS	1000	/* until a tenant that found no room on its devices tries again */

static int timer = -1;

/* --- What workers say ------------------------------------------------------------------- */

static uint32_t said(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static struct wh_worker_usage *account(const struct wh_tenant *t, int i)
{
	return t->worker[i].pid ? &t->file.usage->worker[i] : NULL;
}

static uint64_t requests(const struct wh_tenant *t)
{
	const struct wh_worker_usage *w;
	uint64_t sum = 0;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = account(t, i);
		if (w)
			sum += __atomic_load_n(&w->waited, __ATOMIC_RELAXED) +
			       __atomic_load_n(&w->posted, __ATOMIC_RELAXED);
	}
	return sum;
}

/* Does a call wait for the end of the tenant's suspension? */
static bool is_called(const struct wh_tenant *t)
{
	const struct wh_worker_usage *w;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = account(t, i);
		if (w && said(&w->called) == t->suspend.number)
			return true;
	}
	return false;
}

/* Only these may it make others leave, or be in others' way on, whatever its workers say. */
static uint32_t own_devices(const struct wh_tenant *t)
{
	return ~wh_hidden_places(t->file.limits);
}

/* The devices of which the tenant's workers want room, as bits, by the server's numbers. */
static uint32_t asked_for(const struct wh_tenant *t)
{
	const struct wh_worker_usage *w;
	uint32_t word, devices = 0;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = account(t, i);
		word = w ? said(&w->room) : 0;
		if (WH_ROOM_STATE(word) == WH_ROOM_ASKED)
			devices |= 1u << wh_device_place(t->file.limits, WH_ROOM_DEVICE(word));
	}
	return devices & own_devices(t);
}

static void answer(const struct wh_tenant *t, uint32_t devices, uint32_t how)
{
	struct wh_worker_usage *w;
	uint32_t word, place;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = account(t, i);
		word = w ? said(&w->room) : 0;
		place = wh_device_place(t->file.limits, WH_ROOM_DEVICE(word));
		if (WH_ROOM_STATE(word) != WH_ROOM_ASKED || !(devices >> place & 1))
			continue;
		if (__atomic_compare_exchange_n(&w->room, &word, (word & ~3u) | how, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			wh_tenant_wake(&w->room);
	}
}

static bool has_memory(const struct wh_tenant *t, uint32_t devices)
{
	unsigned int d;

	devices &= own_devices(t);
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		if (devices >> wh_device_place(t->file.limits, d) & 1 &&
		    wh_tenant_memory(t->file.usage, d))
			return true;
	return false;
}

bool wh_room_has_rest(const struct wh_tenant *t, uint32_t devices)
{
	const struct wh_worker_usage *w;
	unsigned int d;
	int i;

	devices &= own_devices(t);
	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = account(t, i);
		for (d = 0; w && d < WH_TENANT_DEVICES; d++)
			if (devices >> wh_device_place(t->file.limits, d) & 1 &&
			    said(&w->device[d].can_leave))
				return true;
	}
	return false;
}

/* Has the driver's checkpoint its memory, while its tenant is parked? */
static bool is_the_drivers(const struct wh_worker_usage *w)
{
	uint64_t own = 0;
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		own |= __atomic_load_n(&w->device[d].paged, __ATOMIC_RELAXED) |
		       said(&w->device[d].can_leave);
	return !own;
}

/* What a parked tenant has away of a device, by its own number; no more than `most'. */
static uint64_t away_of(const struct wh_tenant *t, unsigned int device, uint64_t most)
{
	const struct wh_worker_usage *w;
	const struct wh_device_usage *u;
	uint64_t sum = 0, bytes;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = account(t, i);
		if (!w)
			continue;
		u = &w->device[device];
		bytes = __atomic_load_n(is_the_drivers(w) ? &u->memory : &u->paged,
					__ATOMIC_RELAXED);
		sum = bytes < most - sum ? sum + bytes : most;
	}
	return sum;
}

/* --- Each look -------------------------------------------------------------------------- */

static bool is_away(const struct wh_tenant *t)
{
	return t->room.parked && t->suspend.state == WH_SUSPENDED && !t->suspend.move.on;
}

static bool waits(const struct wh_tenant *t)
{
	if (is_away(t))
		return !t->workers || is_called(t);
	return t->suspend.state == WH_RUNS && asked_for(t);
}

static void note_calls(struct wh_tenant *t, int64_t now)
{
	uint64_t calls = requests(t);

	if (!t->workers) {
		t->room.called_ms = t->room.on_ms = 0;
		t->room.ahead = t->room.placed = false;
	} else if (!t->room.called_ms || calls != t->room.calls) {
		t->room.called_ms = now;
		if (!t->room.on_ms)
			t->room.on_ms = now;
	}
	t->room.calls = calls;
}

static void note_wait(struct wh_tenant *t, int64_t now)
{
	static uint64_t turns;
	bool is_over = !waits(t);

	/* A resumption that is under way may still fail. */
	if (is_over && t->room.parked && wh_suspend_is_under_way(t))
		return;
	if (is_over && t->room.turn) {
		t->room.waited_ms += (uint64_t)(now - t->room.since_ms);
		t->room.turn = 0;
		wh_monitor_changed();
	} else if (!is_over && !t->room.turn) {
		t->room.turn = ++turns;
		t->room.since_ms = now;
	}
}

/* --- How much leaves ---------------------------------------------------------------------- */

/*
 * What it needs free of a device of its own, as WH_WANTED_* or bytes: what is to come back, and
 * what it may allocate there, so that it need not ask again at once. It says itself what it has.
 * Without a quota nobody knows.
 */
static uint64_t need_of(const struct wh_tenant *t, unsigned int device)
{
	uint64_t quota = t->file.limits->device[device].memory, charged, away = 0, need;

	if (is_away(t)) {
		away = away_of(t, device, quota ? quota : UINT64_MAX);
		if (!away)
			return WH_WANTED_NOTHING;
	}
	charged = wh_tenant_memory(t->file.usage, device);
	need = charged < quota ? quota - charged : 0;
	need = away < quota - need ? need + away : quota;
	return need || !quota ? need : 1;
}

/* It leaves these devices of the server's, as far as `for_whom' needs them. */
static void want(const struct wh_tenant *t, const struct wh_tenant *for_whom, uint32_t devices)
{
	unsigned int d, place;
	uint64_t bytes;

	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		place = wh_device_place(t->file.limits, d);
		/* Nobody asks it for more after the last time. */
		bytes = t->room.further + 1 >= MOST_FURTHER ? 0 :
			!(devices >> place & 1) ? WH_WANTED_NOTHING :
			need_of(for_whom, wh_device_index(for_whom->file.limits, place));
		wh_tenant_want(t->file.limits, d, bytes);
	}
}

void wh_room_want(const struct wh_tenant *t, uint64_t bytes)
{
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		wh_tenant_want(t->file.limits, d, bytes);
}

/* --- Who leaves ------------------------------------------------------------------------- */

/* The class that it has on these devices, the highest of them. */
static int class_on(const struct wh_tenant *t, uint32_t devices)
{
	int class = -1, of;
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		of = wh_class_order(t->limit[d].sm_class);
		if (devices >> d & 1 && of > class)
			class = of;
	}
	return class;
}

static bool is_idle(const struct wh_tenant *t, int64_t now)
{
	return now - t->room.called_ms >= IDLE_MS;
}

/* Might it ever leave these devices for others? */
static bool is_in_the_way(const struct wh_tenant *t, uint32_t devices)
{
	return (t->suspend.state == WH_RUNS || wh_suspend_is_under_way(t)) &&
	       has_memory(t, devices);
}

static bool all_park(const struct wh_tenant *t)
{
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (account(t, i) && !t->worker[i].parks)
			return false;
	return t->workers;
}

/*
 * A stay is for a tenant that computes. One that does nothing gives it up when it has been idle for
 * as long as its next way to the host and back may take, so it loses no more by that than it has
 * wasted. One that waits for room is not idle. Who is in a call for long looks idle, and does not
 * come to rest: the next try is after twice the time.
 */
static bool gives_up_stay(const struct wh_tenant *t, int64_t now)
{
	int64_t least = 2 * t->room.back_ms > IDLE_MS ? 2 * t->room.back_ms : IDLE_MS;
	int64_t since = t->room.called_ms > t->room.idle_ms ? t->room.called_ms : t->room.idle_ms;

	return !t->room.stuck && !t->room.turn && t->room.vain < MAX_VAIN &&
	       now - since >= least << t->room.vain;
}

static bool could_leave(const struct wh_tenant *t, const struct wh_tenant *for_whom,
			uint32_t devices)
{
	return wh_server.overcommit_ms && t != for_whom && t->suspend.state == WH_RUNS &&
	       is_in_the_way(t, devices) && all_park(t);
}

static bool may_leave(const struct wh_tenant *t, const struct wh_tenant *for_whom, uint32_t devices,
		      int64_t now)
{
	if (!could_leave(t, for_whom, devices))
		return false;
	if (now < t->room.stays_ms)
		return gives_up_stay(t, now);
	return is_idle(t, now) ||
	       (now - t->room.on_ms >= (int64_t)wh_server.overcommit_ms &&
		class_on(t, devices) <= class_on(for_whom, devices));
}

/* Of one that is parked more may leave, as often as it may be asked for that. */
static bool may_go_further(const struct wh_tenant *t, const struct wh_tenant *for_whom,
			   uint32_t devices)
{
	return wh_server.overcommit_ms && t != for_whom && is_away(t) &&
	       t->room.further < MOST_FURTHER && wh_room_has_rest(t, devices);
}

static bool goes_before(const struct wh_tenant *a, const struct wh_tenant *b, uint32_t devices)
{
	int x = class_on(a, devices), y = class_on(b, devices);

	return x != y ? x < y : a->room.called_ms < b->room.called_ms;
}

/* Who is parked already computes nothing, so what it has left is taken first. */
static struct wh_tenant *who_leaves(const struct wh_tenant *for_whom, uint32_t devices, int64_t now)
{
	struct wh_tenant *t = NULL, *best = NULL;

	while ((t = wh_tenant_next(t)))
		if (may_go_further(t, for_whom, devices) &&
		    (!best || goes_before(t, best, devices)))
			best = t;
	if (best)
		return best;
	while ((t = wh_tenant_next(t)))
		if (may_leave(t, for_whom, devices, now) &&
		    (!best || goes_before(t, best, devices)))
			best = t;
	return best;
}

static bool anybody_is_in_the_way(const struct wh_tenant *for_whom, uint32_t devices)
{
	struct wh_tenant *t = NULL;

	while ((t = wh_tenant_next(t)))
		if (t != for_whom && is_in_the_way(t, devices))
			return true;
	return false;
}

/*
 * While one does not come to rest, others are not parked, nor brought back. So one that has not, as
 * often as it was tried, is tried more and more seldom.
 */
static void stay(struct wh_tenant *t, int64_t from)
{
	int64_t ms = (int64_t)wh_server.overcommit_ms;
	unsigned int i;

	for (i = 0; i < t->room.stuck && ms < MAX_STAY_MS; i++)
		ms = 2 * ms < MAX_STAY_MS ? 2 * ms : MAX_STAY_MS;
	t->room.stays_ms = from + ms;
	t->room.vain = 0;
	/* What was before is no idleness: it had to wait. */
	t->room.idle_ms = from;
}

/* --- On the way ------------------------------------------------------------------------- */

static bool go_further(struct wh_tenant *t)
{
	char err[WH_CONTROL_ERROR];

	if (wh_suspend_further(t, err, sizeof(err)))
		return true;
	wh_say_of(t->name, "warn", "%s", err);
	return false;
}

/* Only so much of it leaves as `for_whom' wants of these devices. */
static bool park(struct wh_tenant *t, const struct wh_tenant *for_whom, uint32_t devices,
		 int64_t now)
{
	char err[WH_CONTROL_ERROR];

	want(t, for_whom, devices);
	if (is_away(t))
		return go_further(t);
	/* Workers that have made their place keep it, also if another one does not come to rest. */
	t->room.parked = t->room.placed = true;
	t->room.early = now < t->room.stays_ms;
	if (wh_suspend_park(t, is_idle(t, now) ? IDLE_WAIT_MS : BUSY_WAIT_MS, err, sizeof(err)))
		return true;
	wh_say_of(t->name, "warn", "%s", err);
	return false;
}

static bool unpark(struct wh_tenant *t)
{
	char err[WH_CONTROL_ERROR];

	t->room.began_ms = wh_now_ms();
	if (wh_suspend_unpark(t, err, sizeof(err)))
		return true;
	wh_say_of(t->name, "warn", "%s", err);
	t->room.again_ms = wh_now_ms() + AGAIN_MS;
	return false;
}

static bool has_patience(const struct wh_tenant *t, int64_t now)
{
	return now - t->room.since_ms < (int64_t)wh_server.overcommit_ms + PATIENCE_MS;
}

/* The devices of the server's that it has left; all of its own, if its workers do not say. */
static uint32_t left_by(const struct wh_tenant *t)
{
	uint32_t devices = 0;
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		if (away_of(t, d, UINT64_MAX))
			devices |= 1u << wh_device_place(t->file.limits, d);
	devices &= own_devices(t);
	return devices ? devices : own_devices(t);
}

/* Those on which it waits for room. */
static uint32_t devices_of(const struct wh_tenant *t)
{
	return is_away(t) ? left_by(t) : asked_for(t);
}

/* --- Before somebody leaves -------------------------------------------------------------- */

/* Has the machine memory for all of the tenant's that is to leave, and some to spare? */
static bool host_has_room(const struct wh_tenant *t)
{
	uint64_t need = 0, room = 0, wanted, charged;
	unsigned int d;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		wanted = t->file.limits->device[d].wanted;
		charged = wh_tenant_memory(t->file.usage, d);
		if (wanted != WH_WANTED_NOTHING)
			need += wanted && wanted < charged ? wanted : charged;
	}
	while (f && !room && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &room) == 1)
			room <<= 10;
	if (f)
		fclose(f);
	return need < room - room / SPARE;
}

/* From then on it leaves also if it computes. */
static int64_t leaves_at(const struct wh_tenant *t)
{
	int64_t at = t->room.on_ms + (int64_t)wh_server.overcommit_ms;

	return at > t->room.stays_ms ? at : t->room.stays_ms;
}

/* Of those that compute, who has to leave first. */
static struct wh_tenant *next_to_leave(const struct wh_tenant *for_whom, uint32_t devices)
{
	struct wh_tenant *t = NULL, *first = NULL;

	while ((t = wh_tenant_next(t)))
		if (could_leave(t, for_whom, devices) &&
		    class_on(t, devices) <= class_on(for_whom, devices) &&
		    (!first || leaves_at(t) < leaves_at(first)))
			first = t;
	return first;
}

/*
 * Who stays will have to leave for somebody who waits already. Its workers make the place for its
 * memory meanwhile, once in a stay, so that it leaves sooner. Where the machine has little memory,
 * that has time until they leave.
 */
static void make_place(const struct wh_tenant *for_whom, uint32_t devices)
{
	struct wh_tenant *t = next_to_leave(for_whom, devices);

	if (!t || t->room.ahead)
		return;
	t->room.ahead = true;
	want(t, for_whom, devices);
	if (!host_has_room(t))
		return;
	t->room.placed = true;
	wh_parts_bound(t);
	wh_suspend_order(t, WH_PAGE_AHEAD);
}

/* Brings a tenant back, or makes room for that. False: nothing can be done now. */
static bool bring(struct wh_tenant *t, int64_t now)
{
	struct wh_tenant *other;

	if (!t->room.tight)
		return now >= t->room.again_ms && unpark(t);
	other = who_leaves(t, devices_of(t), now);
	if (other)
		return park(other, t, devices_of(t), now);
	make_place(t, devices_of(t));
	/* Somebody may have freed memory. */
	t->room.tight = now < t->room.again_ms;
	return false;
}

static bool give(struct wh_tenant *t, int64_t now)
{
	uint32_t devices = devices_of(t);
	struct wh_tenant *other = who_leaves(t, devices, now);

	if (other)
		return park(other, t, devices, now);
	make_place(t, devices);
	if (!anybody_is_in_the_way(t, devices) || !has_patience(t, now))
		answer(t, devices, WH_ROOM_NONE);
	return false;
}

static struct wh_tenant *next_in_turn(uint64_t after)
{
	struct wh_tenant *t = NULL, *best = NULL;

	while ((t = wh_tenant_next(t)))
		if (t->room.turn > after && (!best || t->room.turn < best->room.turn))
			best = t;
	return best;
}

static bool somebody_is_on_the_way(void)
{
	struct wh_tenant *t = NULL;

	while ((t = wh_tenant_next(t)))
		if (t->room.parked && wh_suspend_is_under_way(t))
			return true;
	return false;
}

/*
 * Who has waited for longest is first. What becomes free of its devices is not for those who are to
 * come back after it, unless it waits in vain.
 */
static void serve(int64_t now)
{
	struct wh_tenant *t;
	uint32_t devices, kept = 0;

	for (t = next_in_turn(0); t; t = next_in_turn(t->room.turn)) {
		if (!waits(t))
			continue;
		devices = devices_of(t);
		if (is_away(t) ? !(devices & kept) && bring(t, now) : give(t, now))
			return;
		if (has_patience(t, now))
			kept |= devices;
	}
}

static void look(void)
{
	int64_t now = wh_now_ms();
	struct wh_tenant *t = NULL;

	while ((t = wh_tenant_next(t))) {
		answer(t, ~own_devices(t), WH_ROOM_NONE);
		note_calls(t, now);
		note_wait(t, now);
	}
	if (!somebody_is_on_the_way())
		serve(now);
}

/* --- What has become of it ---------------------------------------------------------------- */

/* What ended before its time goes on: a try that was in vain costs the others none of theirs. */
static void goes_on(struct wh_tenant *t, bool stuck, int64_t now)
{
	if (stuck && t->room.early) {
		t->room.vain++;
		t->room.idle_ms = now;
		return;
	}
	t->room.stuck = stuck ? t->room.stuck + 1 : 0;
	t->room.on_ms = now;
	if (t->room.began_ms)
		t->room.back_ms = now - t->room.began_ms;
	t->room.began_ms = 0;
	stay(t, now);
}

void wh_room_runs(struct wh_tenant *t, bool stuck)
{
	int64_t now = wh_now_ms();

	/* Also one that could not be parked, so that others are tried. */
	if (t->room.parked)
		goes_on(t, stuck, now);
	else
		t->room.on_ms = now;
	t->room.parked = t->room.tight = t->room.early = t->room.ahead = false;
	t->room.further = 0;
}

/*
 * A tenant has left its devices, or left them further. All that wait for these ask the driver
 * again. Who takes more from one that waits itself gets no longer stay by that, so the wait has an
 * end.
 */
static void left(struct wh_tenant *gone)
{
	uint32_t devices = own_devices(gone), asked;
	bool gives_stays = !gone->room.further || !waits(gone);
	int64_t now = wh_now_ms();
	struct wh_tenant *t = NULL;

	gone->room.parkings += gone->room.parked && !gone->room.further;
	/* Its own calls that want room wait for its resumption from now on. */
	answer(gone, UINT32_MAX, WH_ROOM_MADE);
	while ((t = wh_tenant_next(t))) {
		t->room.tight = false;
		t->room.again_ms = 0;
		asked = t->suspend.state == WH_RUNS ? asked_for(t) & devices : 0;
		if (!asked)
			continue;
		if (gives_stays)
			stay(t, now);
		answer(t, asked, WH_ROOM_MADE);
	}
}

void wh_room_goes_no_further(struct wh_tenant *t)
{
	t->room.further = MOST_FURTHER;
	left(t);
}

void wh_room_settled(struct wh_tenant *t, enum wh_park_end end)
{
	if (t->suspend.state != WH_SUSPENDED)
		return;
	/* Also if the administrator has suspended it meanwhile: its memory is free all the same. */
	if (end == WH_PARK_DONE) {
		left(t);
		return;
	}
	if (!t->room.parked)
		return;
	t->room.began_ms = 0;
	t->room.tight = end == WH_PARK_FULL;
	t->room.again_ms = wh_now_ms() + AGAIN_MS;
}

/* --- Start, and over a handover ------------------------------------------------------------ */

/* Without --overcommit there is no more of it to do than to resume what is parked. */
static bool is_needed(void)
{
	struct wh_tenant *t = NULL;

	while (!wh_server.overcommit_ms && (t = wh_tenant_next(t)))
		if (t->room.parked)
			return true;
	return wh_server.overcommit_ms;
}

bool wh_room_start(void)
{
	if (!is_needed())
		return true;
	timer = wh_timer_new(look);
	return timer >= 0 && wh_timer_set(timer, LOOK_MS, true);
}

void wh_room_say(cJSON *o, const struct wh_tenant *t)
{
	uint64_t now = t->room.turn ? (uint64_t)(wh_now_ms() - t->room.since_ms) : 0;

	cJSON_AddNumberToObject(o, "parkings", (double)t->room.parkings);
	cJSON_AddNumberToObject(o, "driver_parkings", (double)t->room.by_driver);
	cJSON_AddNumberToObject(o, "room_waited_ms", (double)(t->room.waited_ms + now));
}

void wh_room_leave(cJSON *o, const struct wh_tenant *t)
{
	cJSON_AddBoolToObject(o, "parked", t->room.parked);
	cJSON_AddBoolToObject(o, "placed", t->room.placed);
	cJSON_AddNumberToObject(o, "further", t->room.further);
	cJSON_AddNumberToObject(o, "parkings", (double)t->room.parkings);
	cJSON_AddNumberToObject(o, "driver_parkings", (double)t->room.by_driver);
	cJSON_AddNumberToObject(o, "room_waited_ms", (double)t->room.waited_ms);
}

void wh_room_take(struct wh_tenant *t, const cJSON *o)
{
	int64_t now = wh_now_ms();

	t->room.parked = wh_taken_flag(o, "parked");
	t->room.placed = wh_taken_flag(o, "placed");
	t->room.further = (unsigned int)wh_taken_number(o, "further");
	t->room.parkings = wh_taken_number(o, "parkings");
	t->room.by_driver = wh_taken_number(o, "driver_parkings");
	t->room.waited_ms = wh_taken_number(o, "room_waited_ms");
	/* Nobody remembers since when it has been there. */
	t->room.on_ms = now;
	stay(t, now);
}
