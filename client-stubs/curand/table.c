// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of cuRAND in host memory: tables that programs read, fetched from the worker once
 * and kept; and versions, asked for once.
 */
#include "curand_stub.h"
#include "../property.h"

#include <pthread.h>
#include <stdlib.h>

static curandStatus_t fetch_piece(uint32_t source, uint64_t offset, void *to, size_t size)
{
	struct wh_req_whCurandFetch *q;
	curandStatus_t res;
	struct wh_call c;

	q = wh_curand_begin(&c, WH_CALL_whCurandFetch, sizeof(*q));
	if (!q)
		return wh_curand_lost(c.result);
	q->to = (uintptr_t)to;
	q->offset = offset;
	q->size = size;
	q->source = source;
	q->resv = 0;
	res = wh_curand_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

curandStatus_t wh_curand_fetch(uint32_t source, void *to, size_t size)
{
	curandStatus_t res = CURAND_STATUS_SUCCESS;
	size_t room, done, n;
	uint8_t *buf;
	CUresult err;

	err = wh_library_prepare(&wh_curand_library);
	if (err == CUDA_SUCCESS)
		err = wh_staging_get(&buf, &room);
	if (err != CUDA_SUCCESS)
		return wh_curand_lost(err);
	for (done = 0; done < size && res == CURAND_STATUS_SUCCESS; done += n) {
		n = size - done < room ? size - done : room;
		res = fetch_piece(source, done, buf, n);
		if (res == CURAND_STATUS_SUCCESS)
			memcpy((uint8_t *)to + done, buf, n);
	}
	wh_staging_put();
	return res;
}

/* --- Tables --------------------------------------------------------------------------- */

static struct table {
	uint32_t source;
	void *data;
} tables[] = {
	{ CURAND_DIRECTION_VECTORS_32_JOEKUO6, NULL },
	{ CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6, NULL },
	{ CURAND_DIRECTION_VECTORS_64_JOEKUO6, NULL },
	{ CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6, NULL },
	{ WH_CURAND_CONSTANTS32, NULL },
	{ WH_CURAND_CONSTANTS64, NULL },
};

#define TABLES	(sizeof(tables) / sizeof(*tables))

static curandStatus_t fill(struct table *t)
{
	size_t size = wh_curand_table(t->source);
	void *data = malloc(size);
	curandStatus_t res;

	if (!data)
		return CURAND_STATUS_ALLOCATION_FAILED;
	res = wh_curand_fetch(t->source, data, size);
	if (res == CURAND_STATUS_SUCCESS)
		t->data = data;
	else
		free(data);
	return res;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
WH_IN_CHILD(pthread_mutex_init(&lock, NULL))

static curandStatus_t table(uint32_t source, void **out)
{
	curandStatus_t res = CURAND_STATUS_OUT_OF_RANGE;
	size_t i;

	if (!out)
		return CURAND_STATUS_OUT_OF_RANGE;
	pthread_mutex_lock(&lock);
	for (i = 0; i < TABLES; i++) {
		if (tables[i].source != source)
			continue;
		res = tables[i].data ? CURAND_STATUS_SUCCESS : fill(&tables[i]);
		*out = tables[i].data;
	}
	pthread_mutex_unlock(&lock);
	return res;
}

curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t *vectors[],
					   curandDirectionVectorSet_t set)
{
	if (set != CURAND_DIRECTION_VECTORS_32_JOEKUO6 &&
	    set != CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6)
		return CURAND_STATUS_OUT_OF_RANGE;
	return table(set, (void **)vectors);
}

curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t *vectors[],
					   curandDirectionVectorSet_t set)
{
	if (set != CURAND_DIRECTION_VECTORS_64_JOEKUO6 &&
	    set != CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6)
		return CURAND_STATUS_OUT_OF_RANGE;
	return table(set, (void **)vectors);
}

curandStatus_t curandGetScrambleConstants32(unsigned int **constants)
{
	return table(WH_CURAND_CONSTANTS32, (void **)constants);
}

curandStatus_t curandGetScrambleConstants64(unsigned long long **constants)
{
	return table(WH_CURAND_CONSTANTS64, (void **)constants);
}

/* --- Versions ---------------------------------------------------------------------------- */

WH_GET_PROPERTY(curandStatus_t, curandGetProperty, CURAND_STATUS_OUT_OF_RANGE)

curandStatus_t curandGetVersion(int *version)
{
	static int answer;
	curandStatus_t res;
	int v;

	if (!version)
		return CURAND_STATUS_OUT_OF_RANGE;
	v = __atomic_load_n(&answer, __ATOMIC_RELAXED);
	if (!v) {
		res = wh_raw_curandGetVersion(&v);
		if (res != CURAND_STATUS_SUCCESS)
			return res;
		__atomic_store_n(&answer, v, __ATOMIC_RELAXED);
	}
	*version = v;
	return CURAND_STATUS_SUCCESS;
}
