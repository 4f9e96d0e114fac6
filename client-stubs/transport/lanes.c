// SPDX-License-Identifier: Apache-2.0
/*
 * Calls and posted calls through the words and cells of a part, as shm.h lays them out. The
 * transports shm and ring share this; how a side that sleeps is woken is theirs.
 */
#define _GNU_SOURCE
#include "lanes.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include "shm.h"
#include "shm_wait.h"
#include "window.h"

/* This side's state of a slot; one thread at a time uses it. */
struct lane {
	struct wh_slot *slot;
	uint32_t calls;
	uint32_t done;		/* how many of these were done at the last look */
	struct wh_shm_ring ring;	/* that is used now; without cells: nothing is posted */
	uint32_t longs;		/* number of calls that were too long for a cell */
	bool used;		/* the worker knows the slot */
	bool is_deep;
	struct wh_shm_spin spin;
	struct wh_shm_ring small, deep;	/* without cells: there is none */
	uint32_t long_call[WH_SHM_DEEP_LONGS];	/* the last call in each place */
} __attribute__((aligned(64)));

static struct {
	const struct wh_lane_ops *ops;
	struct lane lane[WH_MAX_SLOTS];
} lanes;

/* Returns where deep rings begin, or NULL. */
static uint8_t *deep_rings(const struct wh_link *l)
{
	uint64_t part = ((struct wh_ctl *)l->part)->part_size;

	return part < l->part_size &&
	       (l->part_size - part) / WH_SHM_DEEP_RING >= l->slots ? l->part + part : NULL;
}

void wh_lanes_open(struct wh_link *l, const struct wh_lane_ops *ops)
{
	uint8_t *first = l->part + ((struct wh_ctl *)l->part)->slot_offset, *deep = deep_rings(l);
	bool cells = l->msg_size >= 2 * WH_SHM_RING;
	uint32_t i;

	lanes.ops = ops;
	l->turns = false;
	if (cells)
		l->room = l->msg_size - WH_SHM_RING;
	for (i = 0; i < l->slots; i++) {
		struct wh_slot *slot = (struct wh_slot *)(first + i * WH_PAGE_SIZE);
		struct wh_shm_ring small = { .cell = NULL };

		if (cells)
			small = wh_shm_ring(l->slot[i].msg + l->msg_size);
		lanes.lane[i] = (struct lane) {
			.slot = slot,
			.ring = small,
			.small = small,
			.deep = cells && deep ? wh_shm_deep_ring(deep, i) :
						(struct wh_shm_ring) { .cell = NULL },
			/* CPUs of two machines have nothing to do with each other. */
			.spin = ops->one_machine ?
				(struct wh_shm_spin) { .mine = &slot->client_cpu,
						       .theirs = &slot->worker_cpu } :
				(struct wh_shm_spin) { .mine = NULL },
			.used = i == 0,
		};
	}
}

static uint32_t number_of(const struct lane *n)
{
	return (uint32_t)(n - lanes.lane);
}

/* Is this call done? The worker runs a slot's calls in order. */
static bool reached(struct lane *n, uint32_t call)
{
	n->done = __atomic_load_n(&n->slot->response, __ATOMIC_SEQ_CST);
	return (int32_t)(n->done - call) >= 0;
}

/* patient: the answer is known to take long. */
static int await_so(struct lane *n, uint32_t call, bool patient)
{
	struct wh_slot *s = n->slot;
	int rc = 0;

	while (!reached(n, call))
		if (patient ||
		    !wh_shm_spin(&n->spin, &s->response, n->done, false, WH_SHM_CLIENT_NS))
			goto sleep;
	return 0;
sleep:
	__atomic_store_n(&s->response_waiters, 1, __ATOMIC_SEQ_CST);
	while (!reached(n, call)) {
		rc = lanes.ops->sleep(number_of(n), &s->response, n->done);
		if (rc && !reached(n, call))
			return rc;
	}
	__atomic_store_n(&s->response_waiters, 0, __ATOMIC_RELAXED);
	return 0;
}

static int await(struct lane *n, uint32_t call)
{
	return await_so(n, call, false);
}

#define OTHERS_LOOKS	20000	/* before it sleeps */
#define OTHERS_YIELDS	1000	/* a yield after so many looks */
#define OTHERS_NAP_NS	20000	/* of the first sleep, */
#define OTHERS_MOST_NS	200000	/* and of the last ones: it may be the turn of another tenant */
#define OTHERS_GONE	64	/* sleeps between two looks at the worker */

static bool is_done(struct wh_link *l, uint32_t slot, uint64_t number)
{
	uint64_t last = __atomic_load_n(&l->slot[slot].posted, __ATOMIC_ACQUIRE);
	uint32_t done = __atomic_load_n(&lanes.lane[slot].slot->response, __ATOMIC_ACQUIRE);

	return (int64_t)(last + (int32_t)(done - (uint32_t)last) - number) >= 0;
}

/*
 * Waits for a call of a slot that other threads use. It changes nothing of the slot, so the
 * waiter polls and is not woken. The response may be that of a later call.
 */
int wh_lanes_reached(struct wh_link *l, uint32_t slot, uint64_t number)
{
	struct timespec nap = { .tv_nsec = OTHERS_NAP_NS };
	unsigned int n;

	for (n = 1; !is_done(l, slot, number); n++) {
		if (n < OTHERS_LOOKS) {
			__builtin_ia32_pause();
			if (n % OTHERS_YIELDS == 0)
				sched_yield();
			continue;
		}
		if (n % OTHERS_GONE == 0 && lanes.ops->gone())
			return WH_EGONE;
		nanosleep(&nap, NULL);
		nap.tv_nsec += nap.tv_nsec < OTHERS_MOST_NS ? nap.tv_nsec / 8 : 0;
	}
	return WH_OK;
}

static void send_call(struct lane *n, uint32_t call)
{
	struct wh_slot *s = n->slot;

	__atomic_store_n(&s->request, call, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->request_waiters, __ATOMIC_SEQ_CST))
		lanes.ops->wake(number_of(n), &s->request);
}

/*
 * No call is under way. The worker reads the word after the number of the next one. What waits in a
 * deep ring may be held back for long, and the worker says so.
 */
static void change_ring(struct lane *n, bool deep)
{
	n->is_deep = deep;
	n->ring = deep ? n->deep : n->small;
	n->spin.held = deep ? &n->slot->held : NULL;
	__atomic_store_n(&n->slot->deep, deep, __ATOMIC_RELAXED);
}

/* Takes what posted calls left behind: all of them are done now. */
static void look_back(struct wh_link *link, uint32_t slot, struct lane *n)
{
	struct wh_link_slot *l = &link->slot[slot];
	struct wh_slot *s = n->slot;
	uint64_t deferred = __atomic_load_n(&s->deferred, __ATOMIC_RELAXED);
	bool deep = __atomic_load_n(&s->wants_deep, __ATOMIC_RELAXED) && n->deep.cell;

	l->no_post = __atomic_load_n(&s->no_post, __ATOMIC_RELAXED);
	if (WH_UNLIKELY(deep != n->is_deep)) {
		change_ring(n, deep);
		__atomic_store_n(&link->turns, deep, __ATOMIC_RELAXED);
	}
	if (WH_LIKELY(!deferred))
		return;
	__atomic_store_n(&s->deferred, 0, __ATOMIC_RELAXED);
	if (!l->deferred)
		l->deferred = (int)deferred;
}

/*
 * Returns the full number of which `call` is the lower half, near `last`. Answered calls count,
 * too.
 */
static uint64_t long_number(uint64_t last, uint32_t call)
{
	return last + (uint32_t)(call - (uint32_t)last);
}

/* Other threads compare the lower halves, so the number that they see must not get too old. */
static void keep_up(struct wh_link_slot *o, uint32_t call)
{
	if (WH_UNLIKELY(call - (uint32_t)o->posted > 1u << 30))
		__atomic_store_n(&o->posted, long_number(o->posted, call), __ATOMIC_RELEASE);
}

static int call_and_wait(struct wh_link *l, uint32_t slot, uint32_t handler, uint64_t arg,
			 bool patient)
{
	struct lane *n = &lanes.lane[slot];
	struct wh_slot *s = n->slot;
	uint32_t call;
	int rc;

	if (WH_UNLIKELY(!n->used)) {
		if (lanes.ops->use(slot))
			return WH_EGONE;
		n->used = true;
	}
	call = ++n->calls;
	s->request_handler = handler;
	s->request_arg[0] = arg;
	s->request_arg[1] = call;
	send_call(n, call);
	rc = await_so(n, call, patient);
	if (rc)
		return rc;
	keep_up(&l->slot[slot], call);
	look_back(l, slot, n);
	return (int)s->response_status;
}

int wh_lanes_call(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot)
{
	return call_and_wait(l, slot, handler, arg, false);
}

int wh_lanes_call_patiently(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot)
{
	return call_and_wait(l, slot, handler, arg, true);
}

/*
 * Finds the place for the request. A place for a long request is used again only when the call
 * that it held is done.
 */
static int request_of(struct lane *n, struct wh_shm_cell *c, uint32_t call, size_t size,
		      uint8_t **to)
{
	uint32_t *held;
	int rc = 0;

	*to = c->request;
	if (WH_LIKELY(size <= sizeof(c->request)))
		return 0;
	c->place = n->longs++ % n->ring.longs;
	held = &n->long_call[c->place];
	if (call - *held <= n->ring.cells)
		rc = await(n, *held);
	*held = call;
	*to = wh_shm_long(&n->ring, c->place);
	return rc;
}

int wh_lanes_post(struct wh_link *l, uint32_t slot, uint32_t handler, size_t size)
{
	struct wh_link_slot *o = &l->slot[slot];
	struct lane *n = &lanes.lane[slot];
	struct wh_slot *s = n->slot;
	uint32_t call = n->calls + 1;
	struct wh_shm_cell *c = wh_shm_cell(&n->ring, call);
	uint8_t *to;
	int rc;

	if (!n->ring.cell || !n->used || size > WH_SHM_LONG)
		return WH_ENOSYS;
	/*
	 * It waits for half of the cells at a time, so that not each call waits for the other
	 * side's word.
	 */
	if ((int32_t)(call - n->done) > (int32_t)n->ring.cells) {
		rc = await(n, call - n->ring.cells / 2);
		if (rc)
			return rc;
		/* This word lies beside the response's number, which was just read. */
		o->no_post = __atomic_load_n(&s->no_post, __ATOMIC_RELAXED);
	}
	rc = request_of(n, c, call, size, &to);
	if (rc)
		return rc;
	c->size = size;
	c->handler = handler;
	c->alike = o->alike;
	memcpy(to, o->msg, size);
	n->calls = call;
	send_call(n, call);
	__atomic_store_n(&o->posted, long_number(o->posted, call), __ATOMIC_RELEASE);
	return 0;
}

int wh_lanes_settle(struct wh_link *l, uint32_t slot)
{
	(void)l;
	return await(&lanes.lane[slot], lanes.lane[slot].calls);
}

/* The worker finishes what it has begun; nobody reads the response. */
int wh_lanes_abandon(struct wh_link *l, uint32_t slot)
{
	struct lane *n = &lanes.lane[slot];
	uint32_t sent = __atomic_load_n(&n->slot->request, __ATOMIC_ACQUIRE);

	(void)l;
	change_ring(n, n->is_deep);	/* it may have been left in the middle of that */
	if (sent != n->calls) {	/* left before it was sent */
		n->calls = sent;
		return 0;
	}
	return await(n, sent);
}
