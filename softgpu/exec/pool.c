// SPDX-License-Identifier: Apache-2.0
/*
 * Distributes the clusters of a launch over threads; mostly each block is a cluster of its own.
 * They are given out in order, so a block may wait for an earlier one, as on a GPU. A fault ends
 * the launch as if the clusters ran one after the other: the lowest one that faults is reported,
 * and later ones stop at their next turn.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <xmmintrin.h>

#include "pool.h"

/* A grid with fewer threads is faster without helpers, since waking them costs time. */
#define MIN_THREADS	4096u

struct exec_pool {
	pthread_mutex_t lock;		/* protects all fields up to the atomics */
	pthread_cond_t work, idle;
	uint64_t job;			/* number of launches so far */
	uint32_t nhelpers, busy;
	struct exec_fault fault;	/* fault of cluster @bad */
	enum exec_status status;
	struct exec_launch l;
	void (*print)(void *ctx, const char *text, size_t len);
	void *print_ctx;
	uint64_t nclusters;
	atomic_uint_fast64_t next;	/* the next cluster */
	atomic_uint_fast64_t bad;	/* the lowest cluster that faulted; UINT64_MAX */
	pthread_mutex_t print_lock;
	struct exec_machine *helper[];
};

static void print_one_by_one(void *ctx, const char *text, size_t len)
{
	struct exec_pool *p = ctx;

	pthread_mutex_lock(&p->print_lock);
	p->print(p->print_ctx, text, len);
	pthread_mutex_unlock(&p->print_lock);
}

bool exec_pool_stop(const struct exec_machine *m)
{
	return atomic_load_explicit(&m->pool->bad, memory_order_relaxed) < m->turn;
}

static void note_fault(struct exec_pool *p, struct exec_machine *m, enum exec_status st)
{
	pthread_mutex_lock(&p->lock);
	if (m->turn < p->bad) {
		p->bad = m->turn;
		p->status = st;
		p->fault = m->fault;
	}
	pthread_mutex_unlock(&p->lock);
}

/* Takes clusters until none is left or one has faulted. */
static void take_clusters(struct exec_pool *p, struct exec_machine *m)
{
	enum exec_status st;

	while ((m->turn = atomic_fetch_add(&p->next, 1)) < p->nclusters && !exec_pool_stop(m)) {
		st = exec_one_cluster(m, m->turn);
		/*
		 * The cluster may have stopped for the fault of an earlier one, which is
		 * noted already.
		 */
		if (st != EXEC_OK && !exec_pool_stop(m))
			note_fault(p, m, st);
	}
}

static void help(struct exec_pool *p, struct exec_machine *m, const struct exec_launch *l)
{
	enum exec_status st;

	_mm_setcsr(0x1f80);
	m->turn = 0;
	st = exec_prepare(m, l);
	/* If there is no memory, the other threads do the work. */
	if (st == EXEC_OK)
		take_clusters(p, m);
}

struct helper_arg {
	struct exec_pool *pool;
	struct exec_machine *m;
};

static void *helper_main(void *arg_)
{
	struct helper_arg arg = *(struct helper_arg *)arg_;
	struct exec_pool *p = arg.pool;
	uint64_t seen = 0;

	free(arg_);
	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->job == seen)
			pthread_cond_wait(&p->work, &p->lock);
		seen = p->job;
		pthread_mutex_unlock(&p->lock);
		help(p, arg.m, &p->l);
		pthread_mutex_lock(&p->lock);
		if (!--p->busy)
			pthread_cond_signal(&p->idle);
	}
	return NULL;
}

static bool start_helper(struct exec_pool *p)
{
	struct helper_arg *arg = malloc(sizeof(*arg));
	struct exec_machine *m = exec_new();
	pthread_t t;

	if (arg && m) {
		m->pool = p;
		*arg = (struct helper_arg){ p, m };
		if (!pthread_create(&t, NULL, helper_main, arg)) {
			pthread_detach(t);
			p->helper[p->nhelpers++] = m;
			return true;
		}
	}
	free(arg);
	exec_free(m);
	return false;
}

uint32_t exec_set_threads(struct exec_machine *m, uint32_t n)
{
	struct exec_pool *p;
	sigset_t all, old;

	if (m->pool || n < 2)
		return m->pool ? m->pool->nhelpers + 1 : 1;
	p = calloc(1, sizeof(*p) + (n - 1) * sizeof(p->helper[0]));
	if (!p)
		return 1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->print_lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->idle, NULL);
	/* Signals must be delivered to the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (p->nhelpers < n - 1 && start_helper(p))
		;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	m->pool = p;
	return p->nhelpers + 1;
}

bool exec_pool_wanted(const struct exec_machine *m, uint64_t nclusters)
{
	return m->pool && m->pool->nhelpers && !m->l->cooperative && nclusters > 1 &&
	       nclusters * m->ncluster * m->nthreads >= MIN_THREADS;
}

enum exec_status exec_pool_run(struct exec_machine *m, uint64_t nclusters)
{
	struct exec_pool *p = m->pool;
	const struct exec_launch *l = m->l;

	p->l = *l;
	p->print = l->print;
	p->print_ctx = l->print_ctx;
	p->nclusters = nclusters;
	p->next = 0;
	p->bad = UINT64_MAX;
	p->status = EXEC_OK;
	if (l->print) {
		p->l.print = print_one_by_one;
		p->l.print_ctx = p;
	}
	pthread_mutex_lock(&p->lock);
	p->job++;
	p->busy = p->nhelpers;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	m->l = &p->l;
	take_clusters(p, m);
	pthread_mutex_lock(&p->lock);
	while (p->busy)
		pthread_cond_wait(&p->idle, &p->lock);
	pthread_mutex_unlock(&p->lock);
	m->l = l;
	if (p->status != EXEC_OK)
		m->fault = p->fault;
	return p->status;
}
