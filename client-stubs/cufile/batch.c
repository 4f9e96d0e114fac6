// SPDX-License-Identifier: Apache-2.0
/*
 * Batches: reads and writes that threads of the library's run, in any order. A batch has room for
 * a number of operations. One leaves it when the program has read its end
 * (cuFileBatchIOGetStatus).
 */
#include "cufile_stub.h"

#include <errno.h>
#include <time.h>

struct entry {
	struct wh_job job;
	struct entry *next;
	struct batch *batch;
	struct wh_transfer t;
	CUfileOpError asked;	/* what is wrong with its buffer */
	void *cookie;
	CUfileStatus_t status;
	ssize_t moved;
};

struct batch {
	struct batch *next;
	uintptr_t handle;
	unsigned int room, taken, ended;	/* ended: of those taken, and not read yet */
	unsigned int waiting;			/* threads of the program in it */
	struct entry *first, **last;
	pthread_cond_t progress;
};

/* wh_cufile_lock guards them. */
static struct batch *batches;
static uintptr_t last_handle;

WH_IN_CHILD(batches = NULL)

static struct batch **place_of(CUfileBatchHandle_t handle)
{
	struct batch **at;

	for (at = &batches; *at; at = &(*at)->next)
		if ((*at)->handle == (uintptr_t)handle)
			return at;
	return NULL;
}

static struct batch *batch_of(CUfileBatchHandle_t handle)
{
	struct batch **at = place_of(handle);

	return at ? *at : NULL;
}

/* --- Making ------------------------------------------------------------------------ */

static struct batch *make(unsigned int nr)
{
	struct batch *b = calloc(1, sizeof(*b));
	pthread_condattr_t attr;

	if (!b)
		return NULL;
	b->room = nr;
	b->last = &b->first;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&b->progress, &attr);
	pthread_condattr_destroy(&attr);
	return b;
}

static CUfileOpError set_up(CUfileBatchHandle_t *out, unsigned int nr)
{
	struct batch *b = make(nr);
	size_t most;

	if (!b)
		return CU_FILE_NOMEM_ERROR;
	pthread_mutex_lock(&wh_cufile_lock);
	most = wh_cufile_size(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE);
	if (nr <= most) {
		b->handle = ++last_handle;
		b->next = batches;
		batches = b;
		*out = (CUfileBatchHandle_t)b->handle;
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	if (nr <= most)
		return CU_FILE_SUCCESS;
	free(b);
	return CU_FILE_INVALID_VALUE;
}

/* A batch has room for at most CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE operations. */
CUfileError_t cuFileBatchIOSetUp(CUfileBatchHandle_t *batch_idp, unsigned nr)
{
	CUfileOpError err;

	if (!batch_idp || !nr)
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	err = wh_cufile_enter();
	if (err)
		return wh_cufile_error(err);
	err = set_up(batch_idp, nr);
	if (err)
		wh_cufile_leave();	/* a batch keeps the session from being closed */
	return wh_cufile_error(err);
}

/* --- Submitting -------------------------------------------------------------------- */

static void end_entry(struct entry *e, CUfileStatus_t status)
{
	e->status = status;
	e->batch->ended++;
	pthread_cond_broadcast(&e->batch->progress);
}

static void run(struct wh_job *job)
{
	struct entry *e = (struct entry *)job;
	ssize_t moved;

	moved = e->asked ? -(ssize_t)e->asked : wh_transfer_run(&e->t, WH_FOR_BATCH);
	if (moved == -1)
		moved = -errno;
	wh_file_put(e->t.file);
	pthread_mutex_lock(&wh_cufile_lock);
	e->moved = moved;
	end_entry(e, moved < 0 ? CUFILE_FAILED : CUFILE_COMPLETE);
	pthread_mutex_unlock(&wh_cufile_lock);
}

static bool is_good(const CUfileIOParams_t *p)
{
	return p->mode == CUFILE_BATCH && (p->opcode == CUFILE_READ || p->opcode == CUFILE_WRITE) &&
	       p->u.batch.devPtr_base;
}

static struct entry *entry_of(const CUfileIOParams_t *p)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->job.run = run;
	e->cookie = p->cookie;
	e->status = CUFILE_PENDING;
	e->t = (struct wh_transfer) {
		.file = wh_file_get(p->fh),
		.base = p->u.batch.devPtr_base,
		.size = p->u.batch.size,
		.file_offset = p->u.batch.file_offset,
		.buf_offset = p->u.batch.devPtr_offset,
		.write = p->opcode == CUFILE_WRITE,
	};
	return e;
}

static void drop_entries(struct entry *e)
{
	struct entry *next;

	for (; e; e = next) {
		next = e->next;
		if (e->t.file)
			wh_file_put(e->t.file);
		free(e);
	}
}

/* Makes all entries, or none. */
static CUfileOpError make_entries(unsigned int nr, const CUfileIOParams_t *p, struct entry **out)
{
	struct entry *e;
	unsigned int i;

	*out = NULL;
	for (i = nr; i--;) {
		if (!is_good(&p[i]))
			return CU_FILE_INVALID_VALUE;
		e = entry_of(&p[i]);
		if (!e)
			return CU_FILE_NOMEM_ERROR;
		e->next = *out;
		*out = e;
		e->asked = wh_transfer_ask(&e->t, true);
		if (!e->t.file)
			return CU_FILE_HANDLE_NOT_REGISTERED;
	}
	return CU_FILE_SUCCESS;
}

/* Puts the entries into the batch, if it has room. */
static CUfileOpError take_in(CUfileBatchHandle_t handle, unsigned int nr, struct entry *e,
			     unsigned int *threads)
{
	CUfileOpError err = CU_FILE_SUCCESS;
	struct batch *b;

	pthread_mutex_lock(&wh_cufile_lock);
	b = batch_of(handle);
	if (!b)
		err = CU_FILE_INVALID_VALUE;
	else if (nr > b->room - b->taken)
		err = CU_FILE_BATCH_FULL;
	if (!err) {
		b->taken += nr;
		*b->last = e;
		for (; e; e = e->next) {
			e->batch = b;
			b->last = &e->next;
		}
		/* Until all have been given to threads, the batch stays. */
		b->waiting++;
		*threads = wh_cufile_size(CUFILE_PARAM_EXECUTION_MAX_IO_THREADS);
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	return err;
}

/* Ends a use of the batch by a thread of the program. The caller holds the lock. */
static void leave(struct batch *b)
{
	b->waiting--;
	pthread_cond_broadcast(&b->progress);
}

/* An entry may end, and be read and freed by another thread, as soon as it was given. */
static void give(unsigned int nr, struct entry *e, unsigned int threads)
{
	struct batch *b = e->batch;
	struct entry *next;

	for (; nr--; e = next) {
		next = e->next;
		if (wh_job_add(WH_FOR_BATCH, &e->job, threads))
			continue;
		wh_file_put(e->t.file);
		pthread_mutex_lock(&wh_cufile_lock);
		e->moved = -CU_FILE_NOMEM_ERROR;
		end_entry(e, CUFILE_FAILED);
		pthread_mutex_unlock(&wh_cufile_lock);
	}
	pthread_mutex_lock(&wh_cufile_lock);
	leave(b);
	pthread_mutex_unlock(&wh_cufile_lock);
}

/* Submits all operations, or none. `flags` is 0. */
CUfileError_t cuFileBatchIOSubmit(CUfileBatchHandle_t batch_idp, unsigned nr,
				  CUfileIOParams_t *iocbp, unsigned int flags)
{
	unsigned int threads;
	struct entry *e = NULL;
	CUfileOpError err;

	if (!nr || !iocbp || flags)
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	err = wh_cufile_enter();
	if (err)
		return wh_cufile_error(err);
	err = make_entries(nr, iocbp, &e);
	if (!err)
		err = take_in(batch_idp, nr, e, &threads);
	if (err)
		drop_entries(e);
	else
		give(nr, e, threads);
	wh_cufile_leave();
	return wh_cufile_error(err);
}

/* --- Status ------------------------------------------------------------------------ */

#define LONGEST_S	(1L << 40)	/* a clock counts no time that is farther away */

static struct timespec until(const struct timespec *timeout)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += timeout->tv_sec < LONGEST_S ? timeout->tv_sec : LONGEST_S;
	t.tv_nsec += timeout->tv_nsec;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* Takes an ended entry out of the batch. The caller holds the lock. */
static void read_entry(struct batch *b, struct entry **at, CUfileIOEvents_t *event)
{
	struct entry *e = *at;

	*event = (CUfileIOEvents_t) { .cookie = e->cookie, .status = e->status, .ret = e->moved };
	*at = e->next;
	if (b->last == &e->next)
		b->last = at;
	free(e);
	b->taken--;
	b->ended--;
}

static unsigned int read_entries(struct batch *b, unsigned int most, CUfileIOEvents_t *events)
{
	struct entry **at = &b->first;
	unsigned int n = 0;

	while (*at && n < most)
		if ((*at)->status == CUFILE_PENDING)
			at = &(*at)->next;
		else
			read_entry(b, at, &events[n++]);
	return n;
}

/* Waits until `least` have ended, or all that there are. The caller holds the lock. */
static void wait_for(struct batch *b, unsigned int least, const struct timespec *timeout)
{
	struct timespec end;
	int rc = 0;

	if (timeout)
		end = until(timeout);
	while (b->ended < least && b->ended < b->taken && rc != ETIMEDOUT)
		rc = timeout ? pthread_cond_timedwait(&b->progress, &wh_cufile_lock, &end) :
			       pthread_cond_wait(&b->progress, &wh_cufile_lock);
}

static bool is_time(const struct timespec *t)
{
	return !t || (t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < 1000000000);
}

/*
 * Reads at most *nr ends, and says in *nr how many. It waits for min_nr, for the time that is
 * given if any. `ret` of a failed operation is a negative errno or CUfileOpError.
 */
CUfileError_t cuFileBatchIOGetStatus(CUfileBatchHandle_t batch_idp, unsigned min_nr, unsigned *nr,
				     CUfileIOEvents_t *iocbp, struct timespec *timeout)
{
	struct batch *b;

	if (!nr || !*nr || !iocbp || min_nr > *nr || !is_time(timeout))
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	pthread_mutex_lock(&wh_cufile_lock);
	b = batch_of(batch_idp);
	if (b) {
		b->waiting++;
		wait_for(b, min_nr, timeout);
		*nr = read_entries(b, *nr, iocbp);
		leave(b);
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	return wh_cufile_error(b ? CU_FILE_SUCCESS : CU_FILE_INVALID_VALUE);
}

/* --- The end ----------------------------------------------------------------------- */

/* Takes back what no thread has begun. The caller holds the lock. */
static void cancel(struct batch *b)
{
	struct entry *e;

	for (e = b->first; e; e = e->next)
		if (e->status == CUFILE_PENDING && wh_job_take_back(WH_FOR_BATCH, &e->job)) {
			wh_file_drop(e->t.file);
			end_entry(e, CUFILE_CANCELED);
		}
}

/* What a thread has begun goes on. */
CUfileError_t cuFileBatchIOCancel(CUfileBatchHandle_t batch_idp)
{
	struct batch *b;

	pthread_mutex_lock(&wh_cufile_lock);
	b = batch_of(batch_idp);
	if (b)
		cancel(b);
	pthread_mutex_unlock(&wh_cufile_lock);
	return wh_cufile_error(b ? CU_FILE_SUCCESS : CU_FILE_INVALID_VALUE);
}

/* Waits for what a thread has begun. No other call may use the batch then. */
void cuFileBatchIODestroy(CUfileBatchHandle_t batch_idp)
{
	struct batch **at, *b = NULL;
	struct entry *e;

	pthread_mutex_lock(&wh_cufile_lock);
	at = place_of(batch_idp);
	if (at) {
		b = *at;
		*at = b->next;
		cancel(b);
		while (b->ended < b->taken || b->waiting)
			pthread_cond_wait(&b->progress, &wh_cufile_lock);
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	if (!b)
		return;
	while (b->first) {
		e = b->first;
		b->first = e->next;
		free(e);
	}
	pthread_cond_destroy(&b->progress);
	free(b);
	wh_cufile_leave();
}
