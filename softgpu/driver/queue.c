// SPDX-License-Identifier: Apache-2.0
/*
 * The device's thread, and the queue of what it has to do. One thread does all queued work, in
 * the order in which it was submitted. That order keeps each promise of streams, events and the
 * legacy stream. What a stream has to follow is one ticket, so a copy to a stream that has nothing
 * to follow is done by its caller, beside a kernel of another stream.
 *
 * A thread that waits for queued work does it itself, piece by piece, unless a piece is under way.
 * So whoever launches and then waits pays for no turn of another thread. Functions of the program
 * run in the device's thread alone, since a waiting thread may hold what they want.
 *
 * Whoever does a piece gives the lock back while a kernel or a function of the program runs. Calls
 * that end something drain the queue first (sgpu_enter()). What is submitted while they wait, or is
 * behind a function of the program, does not keep them. So work looks up what it uses once more.
 *
 * Where there is no such thread the queue is always empty, and nobody ever waits for it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"

/*
 * Pieces of work. Whoever submits one more waits for half of them: to wait for one would take a
 * turn of both threads for each piece from then on.
 */
#define ROOM	1024u

/*
 * A thread that asks for work again and again, in vain and in a row, sleeps for it from some
 * question on, longer each time. On a busy machine the device's thread may wait long for a CPU that
 * such a thread has, and a yield may cost its caller a turn of all others.
 */
#define IN_VAIN		32u
#define FIRST_NAP_US	100u
#define LONGEST_NAP_US	1000u

static __thread unsigned int asked_in_vain __attribute__((tls_model("initial-exec")));

static struct {
	bool on;
	bool running;		/* the first piece is under way */
	bool calling;		/* it runs a function of the program */
	bool news;		/* the device's thread has to be told of work */
	unsigned int n;
	struct sgpu_drain *drains;
	uint64_t given, done;	/* the last tickets */
	uint64_t awaited;	/* the first ticket that a thread sleeps for */
	struct sgpu_task *first, **end;
	pthread_cond_t filled;
} queue = {
	.end = &queue.first, .awaited = UINT64_MAX, .filled = PTHREAD_COND_INITIALIZER,
};

bool sgpu_queue_wanted(bool prefault, bool *wanted)
{
	const char *text = getenv("WORMHOLE_SOFTGPU_ASYNC");
	bool set = text && *text;

	if (set && strcmp(text, "0") && strcmp(text, "1")) {
		sgpu_complain("WORMHOLE_SOFTGPU_ASYNC=%s is neither 0 nor 1", text);
		return false;
	}
	*wanted = !prefault && !(set && *text == '0');
	return true;
}

bool sgpu_queue_on(void)
{
	return queue.on;
}

/* ---- submitting ---- */

void *sgpu_task_new(size_t bytes, void (*run)(struct sgpu_task *w))
{
	struct sgpu_task *w = calloc(1, bytes);

	if (w)
		w->run = run;
	return w;
}

static bool is_legacy(const struct sgpu_stream *s)
{
	return s == s->ctx->legacy;
}

static bool is_blocking(const struct sgpu_stream *s)
{
	return !(s->flags & CU_STREAM_NON_BLOCKING);
}

uint64_t sgpu_stream_behind(const struct sgpu_stream *s)
{
	uint64_t other = is_legacy(s) ? s->ctx->last_blocking :
			 is_blocking(s) ? s->ctx->legacy->last : 0;

	return s->last > other ? s->last : other;
}

static void follow(uint64_t *ticket, uint64_t to)
{
	if (*ticket < to)
		*ticket = to;
}

void sgpu_stream_follow(struct sgpu_stream *s, uint64_t ticket)
{
	follow(&s->last, ticket);
	follow(&s->ctx->last, ticket);
	if (is_blocking(s))
		follow(&s->ctx->last_blocking, ticket);
	/* To synchronize a primary context is to synchronize its green contexts. */
	if (s->ctx->parent)
		follow(&s->ctx->parent->last, ticket);
}

uint64_t sgpu_task_submit(struct sgpu_stream *s, struct sgpu_task *w)
{
	w->ticket = ++queue.given;
	*queue.end = w;
	queue.end = &w->next;
	queue.n++;
	sgpu_stream_follow(s, w->ticket);
	queue.news = true;
	asked_in_vain = 0;
	return w->ticket;
}

/* ---- doing it ---- */

bool sgpu_queue_done(uint64_t ticket)
{
	return ticket <= queue.done;
}

void sgpu_queue_call_out(void (*fn)(void *arg), void *arg)
{
	queue.calling = true;
	sgpu_changed();
	sgpu_call_out(fn, arg);
	queue.calling = false;
}

/* Threads that sleep for later work are left alone. */
static void tell_waiters(void)
{
	if (queue.done < queue.awaited && !queue.drains)
		return;
	queue.awaited = UINT64_MAX;
	sgpu_changed();
}

/* After a fault the work that is left does nothing. */
static void run_first(void)
{
	struct sgpu_task *w = queue.first;

	queue.running = true;
	if (w->always || !sgpu_health())
		w->run(w);
	queue.running = false;
	queue.first = w->next;
	if (!queue.first)
		queue.end = &queue.first;
	queue.n--;
	queue.done = w->ticket;
	free(w);
	tell_waiters();
}

/* A thread whose turn has come to be alone goes first. */
static bool may_run(void)
{
	const struct sgpu_drain *d = queue.drains;

	while (d && !sgpu_queue_done(d->ticket))
		d = d->next;
	return queue.first && !queue.running && !d;
}

bool sgpu_queue_news(void)
{
	bool news = queue.news && may_run();

	queue.news = false;
	return news;
}

void sgpu_queue_ring(void)
{
	pthread_cond_signal(&queue.filled);
}

/* ---- waiting ---- */

static void be_told_of(uint64_t ticket)
{
	if (ticket < queue.awaited)
		queue.awaited = ticket;
}

/* Does the next piece of work, or else sleeps for this ticket. */
static void help_or_sleep(uint64_t ticket)
{
	if (may_run() && !queue.first->calls) {
		run_first();
		/* The device's thread may have come meanwhile, and have gone to sleep again. */
		queue.news = true;
		return;
	}
	be_told_of(ticket);
	sgpu_await_change();
}

void sgpu_queue_wait(uint64_t ticket)
{
	while (!sgpu_queue_done(ticket))
		help_or_sleep(ticket);
}

CUresult sgpu_await(uint64_t ticket)
{
	sgpu_queue_wait(ticket);
	sgpu_print_flush();
	return sgpu_health();
}

/* It does none of the work: that might wait for what the caller does between its questions. */
static void nap(uint64_t ticket)
{
	unsigned int us = FIRST_NAP_US << (asked_in_vain - IN_VAIN);

	if (us < LONGEST_NAP_US)
		asked_in_vain++;
	be_told_of(ticket);
	sgpu_await_change_for(us < LONGEST_NAP_US ? us : LONGEST_NAP_US);
}

CUresult sgpu_queue_ask(uint64_t ticket)
{
	if (!sgpu_queue_done(ticket)) {
		if (asked_in_vain < IN_VAIN)
			asked_in_vain++;
		else
			nap(ticket);
	}
	if (!sgpu_queue_done(ticket))
		return CUDA_ERROR_NOT_READY;
	asked_in_vain = 0;
	return sgpu_health();
}

void sgpu_queue_room(void)
{
	while (queue.n >= ROOM)
		sgpu_queue_wait(queue.first->ticket + ROOM / 2);
}

void sgpu_drain_begin(struct sgpu_drain *d)
{
	d->ticket = queue.given;
	d->next = queue.drains;
	queue.drains = d;
}

bool sgpu_drain_reached(const struct sgpu_drain *d)
{
	return sgpu_queue_done(d->ticket) && !queue.running;
}

void sgpu_drain_end(struct sgpu_drain *d)
{
	struct sgpu_drain **p = &queue.drains;

	while (*p != d)
		p = &(*p)->next;
	*p = d->next;
	queue.news = true;
}

void sgpu_queue_drain(void)
{
	struct sgpu_drain d;

	if (!queue.n)
		return;
	sgpu_drain_begin(&d);
	while (!queue.calling && !sgpu_drain_reached(&d))
		help_or_sleep(d.ticket);
	sgpu_drain_end(&d);
}

/* ---- the device's thread ---- */

/*
 * In a program of the ordinary class its thread is of the batch class, which is no privilege: a
 * thread of that class does not interrupt the one that wakes it. On one CPU each launch would cost
 * two turns else. In any other program the thread has the program's class: an idle program has no
 * thread that takes time from others.
 */
static void give_way(void)
{
	struct sched_param none = { 0 };

	if (sched_getscheduler(0) == SCHED_OTHER)
		sched_setscheduler(0, SCHED_BATCH, &none);
}

static void *device(void *unused)
{
	give_way();
	sgpu_lock();
	for (;;) {
		while (!may_run())
			sgpu_sleep(&queue.filled);
		run_first();
	}
	return unused;
}

CUresult sgpu_queue_init(void)
{
	sigset_t all, old;
	pthread_t t;
	int rc;

	/* Signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&t, NULL, device, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_detach(t);
	queue.on = true;
	return CUDA_SUCCESS;
}
