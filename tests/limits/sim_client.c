// SPDX-License-Identifier: Apache-2.0
/*
 * The clients of sim_client.h: how long a launch takes them, and when their worker looks
 * after it.
 */
#include "sim_client.h"

/* These times were measured on an H200 over shm. */
#define POST_NS		1000	/* of the client for a launch that it posts */
#define ANSWERED_NS	5500.0		/* a launch whose answer it awaits needlessly */
#define POSTS		32		/* calls that it may be ahead of the answers */
#define YIELD_NS	3000.0		/* a wait so short that the client only yields */
#define SLEEP_NS	60e3		/* the delay at the end of a sleep */
#define COLD_NS		40e3		/* what the first launch costs more after a pause of */
#define COLD_AFTER_NS	3e6
#define COLD_NEXT_NS	300.0		/* what later launches cost more, as many as */
#define COLD_LAUNCHES	500
#define HICCUP_NS	60e3		/* the client stands still once in so many launches */
#define HICCUP_LAUNCHES	6000
#define WAKE_NS		30e3	/* from the end of a turn until its sleeper runs */
#define STEP_NS		2e6	/* the length of one such sleep */
#define NEAR_NS		20e3	/* in shorter waits the worker looks, for */
#define LOOK_NS		200e3
#define LOOKED_NS	300.0	/* and sees an end after */
#define IDLE_NS		40e3		/* the pause after which the worker looks after work, */
#define IDLE_STEP_NS	1e3
#define IDLE_MOST_NS	1e6		/* and for how long it does */

struct wh_board board;
struct wh_seat seat[SIM_PROCESSES];	/* of each tenant */
static struct wh_tenant_usage usage[SIM_PROCESSES];
struct client client[SIM_PROCESSES];
static int clients;
static bool watching;

#define RESTART_NS	100e6	/* from the end of a process until its next one launches */

/* This replaces join.c, without the files. */
void wh_limits_reread(struct wh_session *s)
{
	struct wh_limits *l = &s->limits;
	uint32_t had = l->temporal;
	unsigned int p;

	memcpy(l->limit, l->page->device, sizeof(l->limit));
	l->seen = l->page->sequence;
	p = l->limit[0].sm_percent;
	l->watched = l->temporal = p && p < 100;
	wh_sm_share_gone(s, had & ~l->temporal);
}

/* This also works without the files. */
const struct wh_seat *wh_turn_map(struct wh_turns *v, uint64_t tenant_id)
{
	(void)v;
	return &seat[tenant_id - 1];
}

void wh_turn_unmap(const struct wh_seat *page)
{
	(void)page;
}

double fixed(struct client *c, uint64_t n)
{
	(void)n;
	return c->ns;
}

double mixed(struct client *c, uint64_t n)
{
	static const double ns[] = { 3e3, 1e5, 3e3, 2e6, 3e3, 3e3, 1e5, 3e3 };

	(void)c;
	return n % 400 == 399 ? 50e6 : ns[n % 8];
}

/* The folder session/ defines this; nothing else of that folder is here. */
__thread struct wh_self wh_self;

void begin(void)
{
	sim_reset();
	memset(&board, 0, sizeof(board));
	memset(seat, 0, sizeof(seat));
	memset(usage, 0, sizeof(usage));
	clients = 0;
	watching = false;
}

void set_percent(struct client *c, unsigned int percent)
{
	c->limits.device[0].sm_percent = percent;
	c->limits.device[0].sm_policy = WH_SM_TEMPORAL;
	c->limits.sequence += 2;
	board.seat[c->tenant].percent[0] = percent < 100 ? percent : 0;
}

void set_ceiling(struct client *c, unsigned int most, unsigned int class)
{
	c->limits.device[0].sm_max = most;
	c->limits.device[0].sm_class = class;
	board.class[c->tenant][0] = (uint8_t)class;
	c->limits.sequence += 2;
}

struct client *add(int tenant, unsigned int percent,
		   double (*kernel)(struct client *, uint64_t), double ns)
{
	struct client *c = &client[clients];

	memset(c, 0, sizeof(*c));
	c->kernel = kernel;
	c->ns = ns;
	c->streams = 1;
	c->s.tsc_per_us = 1000;
	c->s.nslots = 1;
	sim_driver(&c->s.drv);
	c->tenant = tenant;
	c->turns = (struct wh_turns){ .board = &board, .own = &seat[tenant], .seat = tenant,
				      .limits = &c->limits };
	board.seat[tenant].tenant_id = tenant + 1;
	board.top = SIM_PROCESSES;
	c->s.limits = (struct wh_limits) {
		.page = &c->limits, .usage = &usage[tenant], .turns = &c->turns,
		.account = &usage[tenant].worker[clients], .turn_id = clients + 1,
	};
	set_percent(c, percent);
	wh_limits_reread(&c->s);
	clients++;
	return c;
}

/* Runs the client's worker while the client does nothing. */
static void look_after(struct client *c)
{
	bool end = sim_now() > c->idle_end;

	c->idle = wh_sm_idle(&c->s, end) && !end;
	c->next = c->idle ? sim_now() + IDLE_STEP_NS : c->resume;
	if (c->next >= c->resume) {
		c->next = c->resume;
		c->idle = false;
	}
}

/* The client does something in @ns nanoseconds. */
static void go_on(struct client *c, double ns)
{
	double after = c->watched ? IDLE_STEP_NS : IDLE_NS;

	c->next = sim_now() + ns;
	if (!c->shm || !c->s.limits.temporal || ns <= after)
		return;
	c->idle = true;
	c->resume = c->next;
	c->idle_end = sim_now() + IDLE_MOST_NS;
	c->next = sim_now() + after;
}

/* Returns the time of a launch besides the time in the engine. */
static double issue(struct client *c)
{
	double ns = c->shm && !c->posted ? ANSWERED_NS : ISSUE_NS;

	if (!c->shm)
		return ns;
	if (sim_now() - c->last > COLD_AFTER_NS) {
		ns += COLD_NS;
		c->cold = COLD_LAUNCHES;
	} else if (c->cold) {
		ns += COLD_NEXT_NS;
		c->cold--;
	}
	return ns;
}

static void wait_for_device(struct client *c)
{
	if (c->s.limits.temporal)
		wh_sm_look(&c->s);
	c->waiting = !sim_idle((int)(c - client));
	c->next = sim_now() + 2000;
	if (!c->waiting && c->s.limits.temporal)
		wh_sm_look(&c->s);
	if (!c->waiting && c->rest > 0)
		go_on(c, c->rest);
}

static CUstream stream_of(const struct client *c)
{
	return (CUstream)(uintptr_t)(c->launched % c->streams);
}

/* The client prepares its next launch while this one waits, as far as it has cells. */
static void go_on_posting(struct client *c)
{
	double pause = c->pause ? c->pause(c, c->launched - 1) : 0, room = 0;
	double *cell = &c->taken[c->launched % WH_SHM_DEEP_CELLS];

	pause += c->launched % HICCUP_LAUNCHES == 0 ? HICCUP_NS : 0;
	room = c->launched >= WH_SHM_DEEP_CELLS ? *cell : 0;
	*cell = sim_now();
	c->made = (c->made ? c->made : sim_now()) + pause + POST_NS;
	c->made = c->made > room ? c->made : room;
	go_on(c, c->made > sim_now() ? c->made - sim_now() : 0);
}

/* The device has the launch when the driver's call is done. */
static void launched(struct client *c)
{
	c->issuing = false;
	sim_launch(stream_of(c), c->kernel(c, c->launched));
	c->last = sim_now();
	wh_launch_end(&c->s, stream_of(c));
	c->posted = false;
	if (!c->s.limits.temporal || !wh_sm_wants_answers(&c->s))
		c->unseen = 0;
	else
		c->unseen += c->unseen < POSTS;
	c->launched++;
	c->tried = 0;
	if (c->calls && c->launched % c->calls == 0 && c->s.limits.temporal)
		wh_sm_other_call(&c->s);
	if (c->deep) {
		go_on_posting(c);
		return;
	}
	go_on(c, (c->pause ? c->pause(c, c->launched - 1) : 0) +
		 (c->shm && c->launched % HICCUP_LAUNCHES == 0 ? HICCUP_NS : 0));
	c->waiting = c->sync;
	if (c->waiting && c->s.limits.temporal)
		wh_sm_other_call(&c->s);
}

/* Anything up to twice the mean, the same in each run. */
static double late(const struct client *c)
{
	return c->late * (double)((c->refused + 1) * 2654435761u % 2001) / 1000;
}

/* The worker waits in its client's place (server/limits/hold.c, server/daemon/worker.c). */
static void keep(struct client *c, double us)
{
	c->kept = true;
	c->looks = us * 1e3 <= NEAR_NS;
	c->hold = wh_sm_held();
	c->next = sim_now() + late(c) + (c->looks ? LOOK_NS : STEP_NS);
	c->refused++;
}

/* A word on which somebody sleeps has changed. */
static void wake(void)
{
	double soon;
	int i;

	for (i = 0; i < clients; i++) {
		if (!client[i].kept || !client[i].hold.word ||
		    *client[i].hold.word == client[i].hold.seen)
			continue;
		soon = sim_now() + late(&client[i]) + (client[i].looks ? LOOKED_NS : WAKE_NS);
		client[i].next = soon < client[i].next ? soon : client[i].next;
		client[i].hold.word = NULL;
	}
}

/* Becomes a thread of the client's worker, alone in it, with the one device current. */
static void become(const struct client *c, bool posted)
{
	wh_self = (struct wh_self) { .ctx = 1, .alone = true, .posted = posted,
				     .deep = c->deep };
	wh_self_on(&c->s, 0);
	if (c->kinds)
		wh_self.alike = 1 + (uint32_t)c->kernel((struct client *)c, c->launched);
}

/* Makes one step of a client: a launch, a look, or nothing. */
static void act(struct client *c)
{
	CUresult res;
	double us;

	become(c, c->posted);
	if (c->issuing) {
		launched(c);
		return;
	}
	if (c->idle) {
		look_after(c);
		return;
	}
	if (c->waiting) {
		wait_for_device(c);
		return;
	}
	/* The driver's queue is finite. */
	if (sim_queued(stream_of(c)) > 1000) {
		c->next = sim_now() + 10e3;
		return;
	}
	c->tried = c->tried ? c->tried : sim_now();
	wh_self.posted = c->posted = c->shm && (c->deep || c->unseen < POSTS);
	res = wh_launch_begin(&c->s, stream_of(c));
	if ((uint32_t)res >= WH_RETRY) {
		us = (uint32_t)res - WH_RETRY;
		c->posted = false;
		if (c->shm && wh_sm_held().word) {
			keep(c, us);
			return;
		}
		c->refused++;
		if (c->deep) {
			c->next = sim_now() + (us < 60 ? us * 1e3 : us * 1e3 + SLEEP_NS);
			return;
		}
		go_on(c, us < 60 ? YIELD_NS : us * 1e3 + SLEEP_NS);
		return;
	}
	c->kept = false;
	c->issuing = true;
	c->next = sim_now() + issue(c);
}

static struct wh_worker_usage *account_of(struct client *c)
{
	return &usage[c->tenant].worker[c - client];
}

/*
 * Does the part of the server's work that follows the end of a worker: tenants.c,
 * seats.c, tenant.c.
 */
void end_process(struct client *c, double after_ns)
{
	struct wh_turn *t = &seat[c->tenant].device[0];

	wh_tenant_charge_rest(&usage[c->tenant], account_of(c), sim_tsc());
	if (t->holder == c->s.limits.turn_id)
		t->since_tsc = t->holder = 0;
	sim_drop((int)(c - client));
	wh_sm_close(&c->s);
	account_of(c)->device[0].busy_tsc = 0;
	c->waiting = c->issuing = c->idle = c->kept = c->posted = false;
	c->unseen = 0;
	c->ended++;
	c->next = sim_now() + after_ns;
}

void end_context(struct client *c)
{
	sim_choose((int)(c - client));
	sim_drop((int)(c - client));
	wh_sm_context_gone(&c->s, 1);
}

void watch_all(double max_kernel_ns)
{
	int i;

	watching = true;
	for (i = 0; i < clients; i++)
		client[i].limits.max_kernel_ns = (uint64_t)max_kernel_ns;
}

/* Looks as a thread of the worker does, and as the thread of a slot that waits for its client. */
static void look_out(struct client *c)
{
	unsigned int again;

	become(c, false);
	if (wh_sm_watch(&c->s, &again))
		end_process(c, RESTART_NS);
	else if (!c->issuing && wh_sm_under_way(&c->s))
		wh_sm_idle(&c->s, true);
	c->watch_at = sim_now() + again * 1e6;
}

/* Returns when something happens to the client next. */
static double next_of(const struct client *c)
{
	return watching && c->watch_at < c->next ? c->watch_at : c->next;
}

void run(double ns)
{
	double end = sim_now() + ns;
	struct client *c;
	int i;

	while (sim_now() < end) {
		for (c = NULL, i = 0; i < clients; i++)
			if (!client[i].stop && (!c || next_of(&client[i]) < next_of(c)))
				c = &client[i];
		/* Another client's calls have taken time: it is not earlier than now. */
		sim_advance_to(next_of(c) < end ? next_of(c) : end);
		if (next_of(c) > end)
			break;
		sim_choose((int)(c - client));
		if (watching && c->watch_at < c->next)
			look_out(c);
		else
			act(c);
		wake();
	}
}

void run_and_measure(double ns, double *share)
{
	double start = sim_now();
	int i;

	for (i = 0; i < clients; i++)
		client[i].from_used = sim_process(i)->used_ns;
	run(ns);
	for (i = 0; i < clients; i++)
		share[i] = (sim_process(i)->used_ns - client[i].from_used) /
			   (sim_now() - start) * 100;
}

void finish(void)
{
	int i;

	for (i = 0; i < clients; i++)
		wh_sm_close(&client[i].s);
}
