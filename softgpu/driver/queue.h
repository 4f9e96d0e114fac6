/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device's queue (queue.c): work that has been submitted and not done yet. All of it runs
 * under the lock of driver.c, unless it is said otherwise.
 *
 * A piece of work has a ticket, which counts up. Pieces end in the order of their tickets, so
 * "all work up to this ticket has ended" is one comparison, and a stream or event has one number.
 */
#ifndef WORMHOLE_SOFTGPU_QUEUE_H
#define WORMHOLE_SOFTGPU_QUEUE_H

#include "driver.h"

struct sgpu_task {
	struct sgpu_task *next;
	uint64_t ticket;
	bool always;		/* it runs even if a kernel has faulted before */
	bool calls;		/* it runs functions of the program, in no thread of it */
	/* Does the work under the lock, in the device's thread or in one that waits. */
	void (*run)(struct sgpu_task *w);
};

/*
 * Reads WORMHOLE_SOFTGPU_ASYNC. If it is invalid, prints one line and returns false.
 * @prefault: the driver runs where no other thread may.
 */
bool sgpu_queue_wanted(bool prefault, bool *wanted);
/* Starts the device's thread. Until then, and without it, work is done when it is submitted. */
CUresult sgpu_queue_init(void);
/* Returns true if the device has a thread of its own. */
bool sgpu_queue_on(void);

/* Returns zeroed work of that many bytes, which begin with a struct sgpu_task; NULL: no memory. */
void *sgpu_task_new(size_t bytes, void (*run)(struct sgpu_task *w));
/*
 * Puts work at the end of the queue of its stream. The queue frees it. Returns its ticket. The
 * device's thread hears of it when the caller leaves, or waits.
 */
uint64_t sgpu_task_submit(struct sgpu_stream *s, struct sgpu_task *w);

/* Has all work up to this ticket ended? */
bool sgpu_queue_done(uint64_t ticket);
/*
 * Waits for that without the lock, so what was looked up before may have ended. The caller does
 * work of the queue meanwhile.
 */
void sgpu_queue_wait(uint64_t ticket);

/*
 * The same for calls that synchronize: writes what kernels have printed then, and returns the error
 * of a kernel that has faulted.
 */
CUresult sgpu_await(uint64_t ticket);

/*
 * The answer to a question for that work: NOT_READY, or the error of a kernel that has faulted. Who
 * asks in a loop sleeps for the work in between, so what was looked up before may have ended.
 */
CUresult sgpu_queue_ask(uint64_t ticket);

/* Waits until there is room for new work. */
void sgpu_queue_room(void);

/*
 * Is there work of which the device's thread has not heard? Who gives the lock back asks, and rings
 * then, without the lock: the thread would only wait for it.
 */
bool sgpu_queue_news(void);
void sgpu_queue_ring(void);

/*
 * Waits until the work that is queued now has ended, and no other runs. Work that runs a function
 * of the program does not count, nor what is behind it, since that function may wait for the
 * caller.
 */
void sgpu_queue_drain(void);

/*
 * The same in parts, where such a function does count. From its begin to its end the device does
 * no work that is submitted after the begin.
 */
struct sgpu_drain {
	struct sgpu_drain *next;
	uint64_t ticket;
};
void sgpu_drain_begin(struct sgpu_drain *d);
bool sgpu_drain_reached(const struct sgpu_drain *d);
void sgpu_drain_end(struct sgpu_drain *d);

/* The work of one stream that new work of it has to follow; 0: none. */
uint64_t sgpu_stream_behind(const struct sgpu_stream *s);
/* What is submitted to the stream from now on follows that work, too. */
void sgpu_stream_follow(struct sgpu_stream *s, uint64_t ticket);

/* Runs a function of the program, from work that `calls`, or where there is no thread. */
void sgpu_queue_call_out(void (*fn)(void *arg), void *arg);

/* May work that needs no kernel be done now, by the caller? */
static inline bool sgpu_stream_free(const struct sgpu_stream *s)
{
	return sgpu_queue_done(sgpu_stream_behind(s));
}

#endif
