// SPDX-License-Identifier: Apache-2.0
/*
 * Bounce buffers: pairs of pinned memory with a stream for their copies. A pair belongs to a
 * context, whose number no later context has. It is kept for the next transfer. A pair whose
 * context has ended has no memory any more.
 */
#include "cufile_stub.h"

static struct wh_bounce *idle;	/* wh_cufile_lock guards it */
static size_t in_use;		/* bytes of pairs that transfers have */
static pthread_cond_t given_back = PTHREAD_COND_INITIALIZER;

WH_IN_CHILD(idle = NULL; in_use = 0; pthread_cond_init(&given_back, NULL))

static size_t chunk_size(void)
{
	size_t kib = wh_cufile_size(CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB);
	size_t most = wh_cufile_size(CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB);

	return (kib < most ? kib : most) * 1024;
}

/*
 * Operations of streams never wait: the transfers that have all pairs may wait for these streams.
 * The caller holds the lock.
 */
static void await_room(enum wh_bounce_for use, size_t chunk)
{
	size_t most = wh_cufile_size(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB) * 1024;

	while (use != WH_FOR_STREAM && in_use && in_use + 2 * chunk > most)
		pthread_cond_wait(&given_back, &wh_cufile_lock);
}

/*
 * Takes an idle pair, or returns NULL. For a stream its size does not matter, since none can be
 * made while the stream waits. The caller holds the lock.
 */
static struct wh_bounce *take(unsigned long long ctx_id, enum wh_bounce_for use, size_t chunk)
{
	struct wh_bounce **at, *b;

	for (at = &idle; *at; at = &(*at)->next)
		if ((*at)->ctx_id == ctx_id && (*at)->use == use &&
		    (use == WH_FOR_STREAM || (*at)->chunk == chunk))
			break;
	b = *at;
	if (b)
		*at = b->next;
	return b;
}

static void give_leave_back(size_t chunk)
{
	pthread_mutex_lock(&wh_cufile_lock);
	in_use -= 2 * chunk;
	pthread_cond_broadcast(&given_back);
	pthread_mutex_unlock(&wh_cufile_lock);
}

/* The context is current. What there is none of is NULL. */
static void drop(struct wh_bounce *b)
{
	int i;

	for (i = 0; i < 2; i++)
		if (b->event[i])
			cuEventDestroy(b->event[i]);
	if (b->stream)
		cuStreamDestroy(b->stream);
	if (b->pinned)
		cuMemFreeHost(b->pinned);
	free(b);
}

static CUresult fill(struct wh_bounce *b)
{
	size_t each = b->chunk + WH_FILE_ALIGN, skew;
	CUresult res;
	int i;

	res = cuMemHostAlloc((void **)&b->pinned, 2 * each + WH_FILE_ALIGN, 0);
	if (res)
		return res;
	skew = -(uintptr_t)b->pinned % WH_FILE_ALIGN;
	for (i = 0; i < 2 && !res; i++) {
		b->buf[i] = b->pinned + skew + i * each;
		res = cuEventCreate(&b->event[i], CU_EVENT_DISABLE_TIMING);
	}
	if (!res)
		res = cuStreamCreate(&b->stream, b->use == WH_FOR_CALL ? CU_STREAM_DEFAULT :
				     CU_STREAM_NON_BLOCKING);
	return res;
}

static CUresult make(CUcontext ctx, unsigned long long ctx_id, enum wh_bounce_for use, size_t chunk,
		     struct wh_bounce **out)
{
	struct wh_bounce *b = calloc(1, sizeof(*b));
	CUresult res;

	if (!b)
		return CUDA_ERROR_OUT_OF_MEMORY;
	b->ctx = ctx;
	b->ctx_id = ctx_id;
	b->use = use;
	b->chunk = chunk;
	res = fill(b);
	if (res)
		drop(b);
	else
		*out = b;
	return res;
}

CUresult wh_bounce_get(CUcontext ctx, unsigned long long ctx_id, enum wh_bounce_for use,
		       struct wh_bounce **out)
{
	CUresult res;
	size_t chunk;

	pthread_mutex_lock(&wh_cufile_lock);
	chunk = chunk_size();
	await_room(use, chunk);
	*out = take(ctx_id, use, chunk);
	in_use += 2 * (*out ? (*out)->chunk : chunk);
	pthread_mutex_unlock(&wh_cufile_lock);
	if (*out)
		return CUDA_SUCCESS;
	res = make(ctx, ctx_id, use, chunk, out);
	if (res)
		give_leave_back(chunk);
	return res;
}

void wh_bounce_put(struct wh_bounce *b)
{
	pthread_mutex_lock(&wh_cufile_lock);
	in_use -= 2 * b->chunk;
	b->next = idle;
	idle = b;
	pthread_cond_broadcast(&given_back);
	pthread_mutex_unlock(&wh_cufile_lock);
}

bool wh_bounce_idle(unsigned long long ctx_id, enum wh_bounce_for use)
{
	const struct wh_bounce *b;

	pthread_mutex_lock(&wh_cufile_lock);
	for (b = idle; b && (b->ctx_id != ctx_id || b->use != use); b = b->next)
		;
	pthread_mutex_unlock(&wh_cufile_lock);
	return b;
}

/* A context that has ended took its memory, streams and events along. */
static void end(struct wh_bounce *b)
{
	unsigned long long id;
	CUcontext popped;

	if (cuCtxGetId(b->ctx, &id) || id != b->ctx_id || cuCtxPushCurrent(b->ctx)) {
		free(b);
		return;
	}
	drop(b);
	cuCtxPopCurrent(&popped);
}

void wh_bounces_end(void)
{
	struct wh_bounce *all, *b;

	pthread_mutex_lock(&wh_cufile_lock);
	all = idle;
	idle = NULL;
	pthread_mutex_unlock(&wh_cufile_lock);
	while (all) {
		b = all;
		all = b->next;
		end(b);
	}
}
