// SPDX-License-Identifier: Apache-2.0
/*
 * A variant pack points to device memory, and for tensors that are "by value" to one element in
 * host memory, which cuDNN reads when the pack is executed. That memory is this process's.
 *
 * If the client keeps the pack (pack.c), the element is sent with the execution. If the worker
 * has the pack, the element is copied into the data area, where the worker's library finds it,
 * at setting and again before each use. Owns these copies, one list for each of a few buckets
 * of packs.
 */
#include "cudnn_stub.h"

#include <pthread.h>
#include <stdlib.h>

#define SLAB_VALUES	1024
#define BUCKETS		256
#define PAGE		4096

struct value {
	struct value *next;
	uint64_t pack;
	const void *from;	/* in the program's memory */
	uint8_t *to;		/* in the data area */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct value *bucket[BUCKETS], *unused;

/* The values lie in the parent's part. */
WH_IN_CHILD(pthread_mutex_init(&lock, NULL); memset(bucket, 0, sizeof(bucket)); unused = NULL)

static struct value **bucket_of(uint64_t pack)
{
	return &bucket[(uint32_t)pack % BUCKETS];
}

/*
 * Only the tensor knows the element's size. So it copies as many bytes as an element can have,
 * but none beyond the page, where nothing may be mapped; an aligned element never goes beyond.
 * It copies byte by byte, so that checkers of the program's memory do not see it.
 */
void wh_cudnn_copy_value(uint8_t *to, const void *p)
{
	const volatile uint8_t *from = p;
	size_t n = PAGE - (uintptr_t)p % PAGE, i;

	for (i = 0; i < WH_CUDNN_VALUE && i < n; i++)
		to[i] = from[i];
}

/*
 * Adds a slab of the data area. It is never freed. Programs have no other pinned memory than
 * the data area.
 */
static bool more(void)
{
	struct value *v = calloc(SLAB_VALUES, sizeof(*v));
	void *slab;
	int i;

	if (!v || cuMemAllocHost_v2(&slab, SLAB_VALUES * WH_CUDNN_VALUE) != CUDA_SUCCESS) {
		free(v);
		return false;
	}
	for (i = 0; i < SLAB_VALUES; i++, v++) {
		v->to = (uint8_t *)slab + i * WH_CUDNN_VALUE;
		v->next = unused;
		unused = v;
	}
	return true;
}

bool wh_cudnn_by_value(uint64_t pack, const void *p, uint64_t *out)
{
	struct value *v;

	*out = (uintptr_t)p;
	if (!p || wh_range_has((uintptr_t)p) || wh_library_in_data(p, 1))
		return true;
	pthread_mutex_lock(&lock);
	if (unused || more()) {
		v = unused;
		unused = v->next;
		v->pack = pack;
		v->from = p;
		v->next = *bucket_of(pack);
		*bucket_of(pack) = v;
		wh_cudnn_copy_value(v->to, v->from);
		*out = (uintptr_t)v->to;
		pthread_mutex_unlock(&lock);
		return true;
	}
	pthread_mutex_unlock(&lock);
	return false;
}

void wh_cudnn_refresh(uint64_t pack)
{
	struct value *v;

	if (!__atomic_load_n(bucket_of(pack), __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	for (v = *bucket_of(pack); v; v = v->next)
		if (v->pack == pack)
			wh_cudnn_copy_value(v->to, v->from);
	pthread_mutex_unlock(&lock);
}

void wh_cudnn_forget_values(uint64_t pack)
{
	struct value **at = bucket_of(pack), *v;

	if (!__atomic_load_n(at, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	while ((v = *at)) {
		if (v->pack != pack) {
			at = &v->next;
			continue;
		}
		*at = v->next;
		v->next = unused;
		unused = v;
	}
	pthread_mutex_unlock(&lock);
}
