// SPDX-License-Identifier: Apache-2.0
/*
 * The program's own calls while it profiles: which, when, in which thread, and under which external
 * ids. A call's number is its correlation id, and goes with its requests to the worker.
 */
#include "cupti_stub.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK	4096u
#define CHUNKS	256u	/* of calls, until a flush with nothing enabled */
#define DEPTH	64u		/* of external ids of a kind, in a thread */
#define KINDS	(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 + 1)
#define CBIDS	1024u

static struct cu_call *chunk[CHUNKS];
static uint32_t next = 1, base = 1, told;	/* numbers, and how many from `base` on were told */
static size_t lost;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t unwanted[2][CBIDS];	/* of the runtime and of the driver */

/* What a thread has pushed. */
struct stack {
	uint32_t system, own;	/* the thread's numbers: the system's, and pthread_self() cut */
	uint32_t depth[KINDS];
	uint64_t id[KINDS][DEPTH];
};
static __thread struct stack *stack __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* What ends with the thread after this may call CUDA again. */
static void end_thread(void *p)
{
	stack = NULL;
	free(p);
}

static void make_key(void)
{
	pthread_key_create(&key, end_thread);
}

static struct stack *own_stack(void)
{
	if (!stack) {
		pthread_once(&once, make_key);
		stack = calloc(1, sizeof(*stack));
		if (!stack)
			return NULL;
		stack->system = syscall(SYS_gettid);
		stack->own = (uint32_t)pthread_self();
		pthread_setspecific(key, stack);
	}
	return stack;
}

/* Locks and threads of the parent are not the child's, and the worker is another. */
static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	if (stack)
		stack->system = syscall(SYS_gettid);
}
WH_IN_CHILD(in_child())

/* --- Numbers of threads --------------------------------------------------------------------- */

static CUpti_ActivityThreadIdType type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;

static uint32_t thread_of(const struct stack *s)
{
	return type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM ? s->system : s->own;
}

uint32_t cu_thread_number(void)
{
	const struct stack *s = own_stack();

	return s ? thread_of(s) : 0;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType to)
{
	if (to != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT &&
	    to != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	type = to;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *out)
{
	if (!out)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	*out = type;
	return CUPTI_SUCCESS;
}

/* --- External ids ------------------------------------------------------------------------ */

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	struct stack *s = own_stack();

	if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= KINDS)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	if (!s)
		return cu_ret(CUPTI_ERROR_OUT_OF_MEMORY);
	/* Deeper ones are counted, so that pops match. */
	if (s->depth[kind] < DEPTH)
		s->id[kind][s->depth[kind]] = id;
	s->depth[kind]++;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
						  uint64_t *lastId)
{
	struct stack *s = own_stack();

	if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= KINDS)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	if (!s || !s->depth[kind])
		return cu_ret(CUPTI_ERROR_QUEUE_EMPTY);
	s->depth[kind]--;
	if (lastId)
		*lastId = s->depth[kind] < DEPTH ? s->id[kind][s->depth[kind]] : 0;
	return CUPTI_SUCCESS;
}

static void note_externals(struct cu_call *c, const struct stack *s)
{
	unsigned int k, d;

	c->externals = 0;
	for (k = CUPTI_EXTERNAL_CORRELATION_KIND_INVALID + 1; k < KINDS; k++) {
		d = s->depth[k] < DEPTH ? s->depth[k] : DEPTH;
		if (!d || c->externals == CU_EXTERNALS)
			continue;
		c->external_kind[c->externals] = k;
		c->external_id[c->externals++] = s->id[k][d - 1];
	}
}

/* --- Which functions are wanted ------------------------------------------------------------ */

static uint8_t *wanted_word(uint32_t kind, uint32_t cbid)
{
	return cbid < CBIDS ? &unwanted[kind == CUPTI_ACTIVITY_KIND_DRIVER][cbid] : NULL;
}

bool cu_call_wanted(uint32_t kind, uint32_t cbid)
{
	const uint8_t *w = wanted_word(kind, cbid);

	return !w || !*w;
}

static CUptiResult want(uint32_t kind, CUpti_CallbackId cbid, uint8_t enable)
{
	uint8_t *w = wanted_word(kind, cbid);

	if (!w || !cbid)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	*w = !enable;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return want(CUPTI_ACTIVITY_KIND_RUNTIME, cbid, enable);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return want(CUPTI_ACTIVITY_KIND_DRIVER, cbid, enable);
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* NULL: there is no room for it. */
static struct cu_call *place_of(uint32_t number, bool make)
{
	uint32_t i = number - __atomic_load_n(&base, __ATOMIC_ACQUIRE);
	struct cu_call *c;

	if (i / CHUNK >= CHUNKS)
		return NULL;
	c = __atomic_load_n(&chunk[i / CHUNK], __ATOMIC_ACQUIRE);
	if (!c && make) {
		pthread_mutex_lock(&lock);
		c = chunk[i / CHUNK];
		if (!c) {
			c = calloc(CHUNK, sizeof(*c));
			__atomic_store_n(&chunk[i / CHUNK], c, __ATOMIC_RELEASE);
		}
		pthread_mutex_unlock(&lock);
	}
	return c ? &c[i % CHUNK] : NULL;
}

static uint32_t new_number(void)
{
	uint32_t n = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) & (WH_CUPTI_OF_LIBRARY - 1);

	return n ? n : 1;
}

uint32_t cu_call_number(void)
{
	return new_number();
}

void cu_call_begin(uint32_t number, uint32_t kind, uint32_t cbid)
{
	struct cu_call *c = place_of(number, true);
	struct stack *s = own_stack();

	if (!c || !s) {
		__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
		return;
	}
	if (!cbid || !(cu_kinds() >> kind & 1) || !cu_call_wanted(kind, cbid))
		kind = 0;
	*c = (struct cu_call) {
		.number = number, .cbid = cbid, .thread = thread_of(s), .kind = kind,
	};
	note_externals(c, s);
	c->start = cu_now();
}

void cu_call_without_record(uint32_t number)
{
	struct cu_call *c = place_of(number, true);

	if (c)
		*c = (struct cu_call) { .number = number, .state = CU_CALL_TOLD };
}

/* A request of a library's stub: no function of the runtime or the driver was called. */
static uint32_t begin(uint32_t call)
{
	uint32_t number = new_number();

	cu_call_begin(number, CUPTI_ACTIVITY_KIND_DRIVER, cu_driver_cbid(call));
	return number;
}

void cu_call_end(uint32_t number, int result)
{
	struct cu_call *c = place_of(number, false);

	if (!c || c->number != number)
		return;
	c->result = result;
	c->end = cu_now();
	__atomic_store_n(&c->state, CU_CALL_ENDED, __ATOMIC_RELEASE);
}

static void sent(uint32_t number, uint32_t call)
{
	struct cu_call *c = place_of(number, false);

	if (c && c->number == number && cu_is_staged(call))
		c->staged = true;
}

const struct wh_profiler cu_profiler = {
	.begin = begin,
	.end = cu_call_end,
	.sent = sent,
	.of_library = WH_CUPTI_OF_LIBRARY,
	.library = WH_LIB_cupti,
};

struct cu_call *cu_call_find(uint32_t number)
{
	struct cu_call *c = number ? place_of(number, false) : NULL;

	return c && c->number == number ? c : NULL;
}

void cu_calls_tell(void (*tell)(const struct cu_call *c))
{
	uint32_t end_of = __atomic_load_n(&next, __ATOMIC_ACQUIRE), i;
	bool all = true;
	struct cu_call *c;

	for (i = told; base + i != end_of && i < CHUNK * CHUNKS; i++) {
		c = place_of(base + i, false);
		if (c && c->number == base + i &&
		    __atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == CU_CALL_ENDED) {
			c->state = CU_CALL_TOLD;
			tell(c);
		}
		all = all && c && c->number == base + i && c->state == CU_CALL_TOLD;
		if (all)
			told = i + 1;
	}
}

void cu_calls_forget(void)
{
	__atomic_store_n(&base, __atomic_load_n(&next, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
	told = 0;
}

size_t cu_calls_dropped(void)
{
	return __atomic_exchange_n(&lost, 0, __ATOMIC_RELAXED);
}
