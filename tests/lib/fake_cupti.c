// SPDX-License-Identifier: Apache-2.0
/*
 * A CUPTI over softgpu: real records of what softgpu's device has done, in buffers of the caller,
 * with external ids and a record of the driver's call before each. Its clock is none of the
 * system's, so that times that nobody translated show.
 */
#include <cupti.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "fake_library.h"
#include "fake_cupti.h"

#define AHEAD	1000000000000ULL	/* how far the clock is before CLOCK_MONOTONIC */
#define DEPTH	16
#define KINDS	(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 + 1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static uint8_t *buffer;
static size_t size, used;
static uint64_t kinds;
static uint32_t correlation = 70000;
static __thread uint64_t stack[KINDS][DEPTH];
static __thread unsigned int depth[KINDS];

static size_t size_of(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
	case CUPTI_ACTIVITY_KIND_KERNEL:
		return sizeof(CUpti_ActivityKernel10);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(CUpti_ActivityMemcpy6);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(CUpti_ActivityMemset4);
	case CUPTI_ACTIVITY_KIND_DRIVER:
		return sizeof(CUpti_ActivityAPI);
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		return sizeof(CUpti_ActivityExternalCorrelation);
	default:
		return 0;
	}
}

static int on(CUpti_ActivityKind kind)
{
	return kinds >> kind & 1;
}

/* The lock is held. */
static void put(const void *record)
{
	size_t n = size_of(((const CUpti_Activity *)record)->kind), most;

	if (buffer && size - used < n) {
		complete(NULL, 0, buffer, size, used);
		buffer = NULL;
	}
	if (!buffer && request) {
		used = 0;
		request(&buffer, &size, &most);
	}
	if (!buffer)
		return;
	memcpy(buffer + used, record, n);
	used += n;
}

static uint64_t clock_of(uint64_t ns)
{
	return ns + AHEAD;
}

static uint32_t stream_number(CUstream stream)
{
	return stream ? 13 : 7;
}

static void put_kernel(const struct sgpu_seen *s)
{
	CUpti_ActivityKernel10 k = {
		.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		.start = clock_of(s->start_ns), .end = clock_of(s->end_ns),
		.deviceId = s->device, .contextId = 1, .streamId = stream_number(s->stream),
		.gridX = s->grid[0], .gridY = s->grid[1], .gridZ = s->grid[2],
		.blockX = s->block[0], .blockY = s->block[1], .blockZ = s->block[2],
		.dynamicSharedMemory = s->shared, .correlationId = correlation,
		.name = s->name, .reserved0 = &correlation,
	};

	if (on(k.kind))
		put(&k);
}

static void put_copy(const struct sgpu_seen *s)
{
	static const uint8_t side[] = {
		CUPTI_ACTIVITY_MEMORY_KIND_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
	};
	int in = s->to == CU_MEMORYTYPE_DEVICE, out = s->from == CU_MEMORYTYPE_DEVICE;
	CUpti_ActivityMemcpy6 c = {
		.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
		.copyKind = in && out ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD :
			    in ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
		.srcKind = side[out], .dstKind = side[in],
		.bytes = s->bytes, .start = clock_of(s->start_ns), .end = clock_of(s->end_ns),
		.deviceId = s->device, .contextId = 1, .streamId = stream_number(s->stream),
		.correlationId = correlation,
	};

	if (on(c.kind))
		put(&c);
}

static void put_fill(const struct sgpu_seen *s)
{
	CUpti_ActivityMemset4 m = {
		.kind = CUPTI_ACTIVITY_KIND_MEMSET, .bytes = s->bytes,
		.start = clock_of(s->start_ns), .end = clock_of(s->end_ns),
		.deviceId = s->device, .contextId = 1, .streamId = stream_number(s->stream),
		.correlationId = correlation, .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
	};

	if (on(m.kind))
		put(&m);
}

static void put_call(const struct sgpu_seen *s)
{
	CUpti_ActivityExternalCorrelation e = {
		.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, .correlationId = correlation,
	};
	CUpti_ActivityAPI api = {
		.kind = CUPTI_ACTIVITY_KIND_DRIVER, .cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
		.start = clock_of(s->start_ns), .end = clock_of(s->end_ns),
		.processId = getpid(), .correlationId = correlation,
	};
	int k;

	if (!on(CUPTI_ACTIVITY_KIND_DRIVER))
		return;
	for (k = 1; k < KINDS && on(e.kind); k++) {
		if (!depth[k])
			continue;
		e.externalKind = k;
		e.externalId = stack[k][depth[k] - 1];
		put(&e);
	}
	put(&api);
}

static void seen(const struct sgpu_seen *s)
{
	pthread_mutex_lock(&lock);
	fake_count(s);
	correlation++;
	put_call(s);
	switch (s->work) {
	case SGPU_DID_KERNEL:
		put_kernel(s);
		break;
	case SGPU_DID_COPY:
		put_copy(s);
		break;
	case SGPU_DID_FILL:
		put_fill(s);
		break;
	}
	pthread_mutex_unlock(&lock);
}

/* --- The library's functions ------------------------------------------------------------------ */

CUptiResult fake_watch(void)
{
	CUresult (*get)(const void **, const CUuuid *);
	const struct sgpu_watch_table *table = NULL;
	CUuuid id;
	void *driver;

	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver)
		return CUPTI_ERROR_NOT_INITIALIZED;
	*(void **)&get = dlsym(driver, "cuGetExportTable");
	memcpy(&id, SGPU_WATCH_ID, sizeof(id));
	if (!get || get((const void **)&table, &id) != CUDA_SUCCESS)
		return CUPTI_ERROR_NOT_INITIALIZED;
	table->watch(kinds || fake_counts() ? seen : NULL);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
					   CUpti_BuffersCallbackCompleteFunc completed)
{
	request = requested;
	complete = completed;
	return CUPTI_SUCCESS;
}

/* Over softgpu there are no counters of overhead. */
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	note("enable %d", (int)kind);
	if (kind == CUPTI_ACTIVITY_KIND_CUDA_EVENT)
		return CUPTI_ERROR_NOT_COMPATIBLE;
	kinds |= 1ULL << kind;
	return fake_watch();
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	note("disable %d", (int)kind);
	kinds &= ~(1ULL << kind);
	return fake_watch();
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	uint8_t *b;
	size_t n, all;

	pthread_mutex_lock(&lock);
	b = flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED ? buffer : NULL;
	n = used;
	all = size;
	if (b)
		buffer = NULL;
	pthread_mutex_unlock(&lock);
	if (b)
		complete(NULL, 0, b, all, n);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *from, size_t valid, CUpti_Activity **record)
{
	uint8_t *at = *record ? (uint8_t *)*record + size_of((*record)->kind) : from;

	if (at >= from + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)at;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	stack[kind][depth[kind]++ % DEPTH] = id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
						  uint64_t *last)
{
	if (!depth[kind])
		return CUPTI_ERROR_QUEUE_EMPTY;
	depth[kind]--;
	*last = stack[kind][depth[kind] % DEPTH];
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	*timestamp = clock_of(t.tv_sec * 1000000000ULL + t.tv_nsec);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
	*id = context ? 1 : 0;
	return CUPTI_SUCCESS;
}

/* As the genuine one, it takes an executable graph for a graph. Numbers are given in turn. */
CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	static CUgraph seen[8];
	uint32_t i;

	for (i = 0; i < 7 && seen[i] && seen[i] != graph; i++)
		;
	seen[i] = graph;
	*id = 31 + i;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graph, uint32_t *id)
{
	return cuptiGetGraphId((CUgraph)graph, id);
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t own, uint32_t *id)
{
	(void)context, (void)own;
	*id = stream_number(stream);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
	(void)result;
	*text = "fake";
	return CUPTI_SUCCESS;
}
