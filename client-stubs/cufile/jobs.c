// SPDX-License-Identifier: Apache-2.0
/*
 * The library's own threads. Operations of streams have one, and batches have a few: an operation
 * of a stream, for which the program's host functions wait, is never behind a batch. Threads wait
 * for work until the process ends.
 */
#include "cufile_stub.h"

#include <signal.h>

struct crew {
	struct wh_job *first, **last;	/* work that no thread has begun */
	unsigned int threads, free;	/* free: threads that wait for work */
	pthread_cond_t work;
};

/* wh_cufile_lock guards them. */
static struct crew crews[WH_FORS];

static void start_anew(void)
{
	int i;

	for (i = 0; i < WH_FORS; i++) {
		crews[i] = (struct crew) { .last = &crews[i].first };
		pthread_cond_init(&crews[i].work, NULL);
	}
}

__attribute__((constructor)) static void start(void)
{
	start_anew();
}

/* A child has no thread but its own. */
WH_IN_CHILD(start_anew())

/*
 * What the program captures forbids this thread's calls nothing, and these end no capture. The mode
 * is of a thread that may have begun before the driver has started, so each job asks for it.
 */
static void leave_captures_alone(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	cuThreadExchangeStreamCaptureMode(&mode);
}

static void *serve(void *arg)
{
	struct crew *c = arg;
	struct wh_job *job;

	pthread_mutex_lock(&wh_cufile_lock);
	for (;;) {
		while (!c->first) {
			c->free++;
			pthread_cond_wait(&c->work, &wh_cufile_lock);
			c->free--;
		}
		job = c->first;
		c->first = job->next;
		if (!c->first)
			c->last = &c->first;
		pthread_mutex_unlock(&wh_cufile_lock);
		leave_captures_alone();
		job->run(job);
		pthread_mutex_lock(&wh_cufile_lock);
	}
	return NULL;
}

/* Starts a thread that takes none of the program's signals. The caller holds the lock. */
static void add_thread(struct crew *c)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_create(&thread, &attr, serve, c))
		c->threads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

bool wh_job_add(enum wh_bounce_for use, struct wh_job *job, unsigned int threads)
{
	struct crew *c = &crews[use];
	bool added;

	pthread_mutex_lock(&wh_cufile_lock);
	if ((!c->free || c->first) && c->threads < threads)
		add_thread(c);
	added = c->threads;
	if (added) {
		job->next = NULL;
		*c->last = job;
		c->last = &job->next;
		pthread_cond_signal(&c->work);
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	return added;
}

bool wh_job_take_back(enum wh_bounce_for use, struct wh_job *job)
{
	struct crew *c = &crews[use];
	struct wh_job **at;

	for (at = &c->first; *at && *at != job; at = &(*at)->next)
		;
	if (!*at)
		return false;
	*at = job->next;
	if (!*at)
		c->last = at;
	return true;
}
