// SPDX-License-Identifier: Apache-2.0
/*
 * Activities: which kinds of records the program wants, and when it gets them. The worker makes
 * records of what the device does; records of calls are made here.
 */
#include "cupti_stub.h"

/* Records of the program's calls; and of NVTX, which gives marks and ranges, and no names. */
#define OF_CALLS	(WH_CUPTI_KIND(DRIVER) | WH_CUPTI_KIND(RUNTIME) | \
			 WH_CUPTI_KIND(EXTERNAL_CORRELATION))
#define OF_NVTX		(WH_CUPTI_KIND(NAME) | WH_CUPTI_KIND(MARKER) | WH_CUPTI_KIND(MARKER_DATA))

/* Of all that follows and of the other files' state: one call of the profiler at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t kinds, ever;
static bool told;		/* the worker makes records, and expects numbers */
static size_t dropped;

static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	kinds = ever = 0;
	told = false;
	cu_calls_forget();
	cu_records_forget();
	cu_clock_forget();
}
WH_IN_CHILD(in_child())

uint64_t cu_kinds(void)
{
	return __atomic_load_n(&kinds, __ATOMIC_RELAXED);
}

uint64_t cu_kinds_ever(void)
{
	return ever;
}

bool cu_profiling(void)
{
	return __atomic_load_n(&told, __ATOMIC_ACQUIRE);
}

/* What the worker has to record for these: any of its kinds makes it follow calls, too. */
static uint64_t for_worker(uint64_t k)
{
	return k & WH_CUPTI_KINDS;
}

static CUptiResult tell_worker(uint64_t k)
{
	struct wh_req_whCuptiKinds *q;
	struct wh_call c;
	CUptiResult res;

	q = wh_cupti_begin(&c, WH_CALL_whCuptiKinds, sizeof(*q));
	if (!q)
		return wh_cupti_lost(c.result);
	q->kinds = k;
	res = wh_cupti_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

/* Nothing is enabled: what was recorded until now comes with the next flush. */
static void stop(void)
{
	wh_profile(NULL);
	__atomic_store_n(&told, false, __ATOMIC_RELEASE);
	cu_watch();
}

static CUptiResult start(void)
{
	CUptiResult res = CUPTI_SUCCESS;

	if (!for_worker(ever)) {
		cu_calls_forget();
		cu_records_forget();
		cu_clock_forget();
		res = cu_clock_compare();
	}
	if (res == CUPTI_SUCCESS)
		wh_profile(&cu_profiler);
	return res;
}

static CUptiResult change(uint64_t to)
{
	CUptiResult res = CUPTI_SUCCESS;

	if (for_worker(to) != for_worker(kinds))
		res = tell_worker(for_worker(to));
	if (res != CUPTI_SUCCESS)
		return res;
	/* Only a worker that records expects numbers. */
	if (for_worker(to) && !told) {
		res = start();
		if (res != CUPTI_SUCCESS)
			return res;
		__atomic_store_n(&told, true, __ATOMIC_RELEASE);
		cu_watch();
	} else if (!for_worker(to) && told) {
		stop();
	}
	__atomic_store_n(&kinds, to, __ATOMIC_RELAXED);
	ever |= to;
	if (to)
		cu_buffer_ready();
	return CUPTI_SUCCESS;
}

static CUptiResult enable(CUpti_ActivityKind kind, bool on)
{
	uint64_t bit;
	CUptiResult res;

	if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return cu_ret(CUPTI_ERROR_INVALID_KIND);
	bit = 1ULL << kind;
	if (!(bit & (WH_CUPTI_KINDS | OF_CALLS | OF_NVTX))) {
		wh_log("cuptiActivityEnable: records of kind %d are not supported", (int)kind);
		return cu_ret(on ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS);
	}
	pthread_mutex_lock(&lock);
	res = change(on ? kinds | bit : kinds & ~bit);
	pthread_mutex_unlock(&lock);
	return cu_ret(res);
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return enable(kind, true);
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return enable(kind, false);
}

CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	(void)context;
	return enable(kind, true);
}

CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	(void)context;
	return enable(kind, false);
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
					   CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
	if (!funcBufferRequested || !funcBufferCompleted)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&lock);
	cu_buffer_functions(funcBufferRequested, funcBufferCompleted);
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

/* --- Flushes ------------------------------------------------------------------------------- */

static CUptiResult flush_worker(uint32_t flag)
{
	struct wh_req_whCuptiFlush *q;
	struct wh_call c;
	CUptiResult res;

	q = wh_cupti_begin(&c, WH_CALL_whCuptiFlush, sizeof(*q));
	if (!q)
		return wh_cupti_lost(c.result);
	q->flag = flag;
	q->resv = 0;
	res = wh_cupti_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

static CUptiResult worker_records(uint32_t flag)
{
	CUptiResult res;

	/* Nothing was ever enabled, or all of it has been given out. */
	if (!for_worker(ever))
		return CUPTI_SUCCESS;
	res = cu_clock_compare();
	if (res == CUPTI_SUCCESS)
		res = flush_worker(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	if (res == CUPTI_SUCCESS)
		res = cu_records_fetch();
	return res;
}

static CUptiResult flush(uint32_t flag)
{
	CUptiResult res = worker_records(flag);

	cu_markers_tell();
	dropped += cu_calls_dropped() + cu_records_dropped() + cu_markers_dropped() +
		   cu_buffer_dropped();
	cu_buffer_complete();
	if (kinds)
		cu_buffer_ready();
	else if (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
		ever = 0;
	return res;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	CUptiResult res;

	if (!cu_buffer_usable())
		return cu_ret(CUPTI_ERROR_INVALID_OPERATION);
	pthread_mutex_lock(&lock);
	res = flush(flag);
	pthread_mutex_unlock(&lock);
	return cu_ret(res);
}

CUptiResult cuptiActivityFlush(CUcontext context, uint32_t streamId, uint32_t flag)
{
	(void)context, (void)streamId;
	return cuptiActivityFlushAll(flag);
}

/* Records come with a flush of the program; there is no thread here that would flush. */
CUptiResult cuptiActivityFlushPeriod(uint32_t time)
{
	if (time)
		wh_log("cuptiActivityFlushPeriod(%u): only cuptiActivityFlushAll() brings records",
		       time);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId, size_t *n)
{
	(void)context, (void)streamId;
	if (!n)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	*n = __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize(void)
{
	CUptiResult res;

	pthread_mutex_lock(&lock);
	res = change(0);
	pthread_mutex_unlock(&lock);
	cu_subscriber_forget();
	return cu_ret(res);
}

/* --- Attributes: hints about CUPTI's own memory ------------------------------------------- */

#define ATTRIBUTES	32u

static struct {
	size_t size;
	uint8_t value[16];
} attribute[ATTRIBUTES];

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
	if ((unsigned int)attr >= ATTRIBUTES || !valueSize || !value)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	if (*valueSize > sizeof(attribute[0].value))
		return cu_ret(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	attribute[attr].size = *valueSize;
	memcpy(attribute[attr].value, value, *valueSize);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
	if ((unsigned int)attr >= ATTRIBUTES || !valueSize || !value)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	if (*valueSize < attribute[attr].size)
		return cu_ret(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	*valueSize = attribute[attr].size ? attribute[attr].size : *valueSize;
	memset(value, 0, *valueSize);
	memcpy(value, attribute[attr].value, attribute[attr].size);
	return CUPTI_SUCCESS;
}
