// SPDX-License-Identifier: Apache-2.0
/*
 * Contexts: creation and destruction, the stack of each thread, the primary context of each
 * device, flags and limits. A stack entry remembers the id of its context, so it is
 * noticed if another thread destroyed the context and its slot was used again. The files
 * that own a context's memory, streams, events and modules release them in their drop_ctx
 * functions.
 */
#include <pthread.h>
#include <stdlib.h>

#include "queue.h"

#define MAX_STACK	(512u << 10)
#define MIN_PRINTF	(512u << 10)
#define MIN_HEAP	(4u << 20)

#define TLS __thread __attribute__((tls_model("initial-exec")))

struct entry {
	struct sgpu_ctx *ctx;
	uint64_t id;
};

struct stack {
	struct entry *entries;
	unsigned int depth, room;
};

static TLS struct stack stack;

static struct primary {
	struct sgpu_ctx *ctx;
	unsigned int retained;
	unsigned int flags;
} primaries[SGPU_DEVICES];

static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

/* Frees a thread's stack when the thread ends. */
static void stack_make_key(void)
{
	pthread_key_create(&stack_key, free);
}

static CUresult stack_push(struct sgpu_ctx *ctx)
{
	if (stack.depth == stack.room) {
		unsigned int room = stack.room ? 2 * stack.room : 16;
		struct entry *grown;

		grown = realloc(stack.entries, room * sizeof(*grown));
		if (!grown)
			return CUDA_ERROR_OUT_OF_MEMORY;
		pthread_once(&stack_once, stack_make_key);
		pthread_setspecific(stack_key, grown);
		stack.entries = grown;
		stack.room = room;
	}
	stack.entries[stack.depth++] = (struct entry){ ctx, ctx->obj.id };
	return CUDA_SUCCESS;
}

static struct entry *stack_top(void)
{
	return stack.depth ? &stack.entries[stack.depth - 1] : NULL;
}

/* Slots are used again, but ids are not, so the id tells whether the context still lives. */
static bool entry_alive(const struct entry *e)
{
	return e->ctx->obj.type == SGPU_CTX && e->ctx->obj.id == e->id &&
	       e->ctx->alive;
}

CUresult sgpu_ctx_current(struct sgpu_ctx **ctx)
{
	struct entry *top = stack_top();

	if (!top)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ctx = top->ctx;
	return entry_alive(top) ? CUDA_SUCCESS :
				  CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static bool is_primary(const struct sgpu_ctx *ctx)
{
	return ctx == primaries[ctx->device].ctx;
}

static const size_t default_limit[SGPU_NLIMITS] = {
	[CU_LIMIT_STACK_SIZE] = 1024,
	[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
	[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
	[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
	[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
	[CU_LIMIT_SHMEM_SIZE] = SGPU_SHARED_OPTIN,
};

/* Sets up what every living context has. */
static bool ctx_start(struct sgpu_ctx *ctx, int device, unsigned int flags)
{
	ctx->device = device;
	ctx->flags = flags;
	ctx->cache = CU_FUNC_CACHE_PREFER_NONE;
	for (int i = 0; i < SGPU_NLIMITS; i++)
		ctx->limit[i] = default_limit[i];
	ctx->legacy = sgpu_stream_new(ctx, 0, 0, true);
	ctx->per_thread = sgpu_stream_new(ctx, 0, 0, true);
	ctx->alive = ctx->legacy && ctx->per_thread;
	if (!ctx->alive)
		sgpu_stream_drop_ctx(ctx);
	return ctx->alive;
}

/* Releases everything that a context owns. The caller frees the handle itself. */
static void ctx_stop(struct sgpu_ctx *ctx)
{
	sgpu_print_flush();
	sgpu_module_drop_ctx(ctx);
	sgpu_event_drop_ctx(ctx);
	sgpu_stream_drop_ctx(ctx);
	sgpu_texture_drop_ctx(ctx);
	sgpu_array_drop_ctx(ctx);
	sgpu_ipc_drop_ctx(ctx);
	sgpu_mem_drop_ctx(ctx);
	sgpu_host_drop_ctx(ctx);
	ctx->alive = false;
}

static bool flags_ok(unsigned int flags)
{
	unsigned int sched = flags & CU_CTX_SCHED_MASK;

	return !(flags & ~CU_CTX_FLAGS_MASK) &&
	       (sched == CU_CTX_SCHED_AUTO || sched == CU_CTX_SCHED_SPIN ||
		sched == CU_CTX_SCHED_YIELD ||
		sched == CU_CTX_SCHED_BLOCKING_SYNC);
}

static CUresult ctx_create(CUcontext *out, unsigned int flags, CUdevice dev)
{
	struct sgpu_ctx *ctx;
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

	if (!out || !flags_ok(flags))
		return CUDA_ERROR_INVALID_VALUE;
	if (!sgpu_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = sgpu_obj_new(SGPU_CTX);
	if (ctx && ctx_start(ctx, dev, flags))
		rc = stack_push(ctx);
	if (!rc) {
		*out = (CUcontext)ctx;
	} else if (ctx) {
		ctx_stop(ctx);
		sgpu_obj_free(ctx);
	}
	return rc;
}

CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice dev)
{
	CUresult rc = sgpu_beside_healthy();

	return rc ? rc : sgpu_leave(ctx_create(out, flags, dev));
}

CUresult cuCtxCreate(CUcontext *out, unsigned int flags, CUdevice dev)
	__attribute__((alias("cuCtxCreate_v2")));

/* Execution affinity needs MPS, which softgpu does not have. */
CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *params,
			int nparams, unsigned int flags, CUdevice dev)
{
	if (nparams || params)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return cuCtxCreate_v2(out, flags, dev);
}

CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params,
			unsigned int flags, CUdevice dev)
{
	if (params && params->numExecAffinityParams)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	if (params && params->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	return cuCtxCreate_v2(out, flags, dev);
}

static CUresult ctx_destroy(CUcontext handle)
{
	struct sgpu_ctx *ctx = sgpu_obj_get(SGPU_CTX, handle);
	struct sgpu_ctx *current;

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx || is_primary(ctx) || ctx->parent)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!sgpu_ctx_current(&current) && current == ctx)
		stack.depth--;
	ctx_stop(ctx);
	sgpu_obj_free(ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	CUresult rc = sgpu_enter_global();

	return rc ? rc : sgpu_leave(ctx_destroy(ctx));
}

CUresult cuCtxDestroy(CUcontext ctx) __attribute__((alias("cuCtxDestroy_v2")));

static CUresult ctx_push(CUcontext handle)
{
	struct sgpu_ctx *ctx = sgpu_obj_get(SGPU_CTX, handle);

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	return ctx ? stack_push(ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	CUresult rc = sgpu_beside_global();

	return rc ? rc : sgpu_leave(ctx_push(ctx));
}

CUresult cuCtxPushCurrent(CUcontext ctx)
	__attribute__((alias("cuCtxPushCurrent_v2")));

CUresult cuCtxPopCurrent_v2(CUcontext *out)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	rc = sgpu_ctx_current(&ctx);
	if (rc == CUDA_ERROR_INVALID_CONTEXT)
		return sgpu_leave(rc);
	stack.depth--;
	if (out)
		*out = (CUcontext)ctx;	/* even if the context is destroyed */
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuCtxPopCurrent(CUcontext *out)
	__attribute__((alias("cuCtxPopCurrent_v2")));

/* Replaces the top of the stack; NULL takes the top away. */
static CUresult ctx_set(CUcontext handle)
{
	struct sgpu_ctx *ctx = NULL;

	if (handle) {
		ctx = sgpu_obj_get(SGPU_CTX, handle);
		if (!ctx)
			return CUDA_ERROR_INVALID_CONTEXT;
	}
	if (stack.depth)
		stack.depth--;
	return ctx ? stack_push(ctx) : CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	CUresult rc = sgpu_beside_global();

	return rc ? rc : sgpu_leave(ctx_set(ctx));
}

CUresult cuCtxGetCurrent(CUcontext *out)
{
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!out)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*out = stack_top() ? (CUcontext)stack_top()->ctx : NULL;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetDevice(CUdevice *dev)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!dev)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = sgpu_ctx_current(&ctx);
	if (!rc)
		*dev = ctx->device;
	return sgpu_leave(rc);
}

/* Finds a context by its handle. A NULL handle means the current context. */
static CUresult ctx_resolve(CUcontext handle, struct sgpu_ctx **ctx)
{
	if (!handle)
		return sgpu_ctx_current(ctx);
	*ctx = sgpu_obj_get(SGPU_CTX, handle);
	if (!*ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	return (*ctx)->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cuCtxGetDevice_v2(CUdevice *dev, CUcontext handle)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!dev)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = ctx_resolve(handle, &ctx);
	if (!rc)
		*dev = ctx->device;
	return sgpu_leave(rc);
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!id)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = ctx_resolve(handle, &ctx);
	if (!rc)
		*id = ctx->obj.id;
	return sgpu_leave(rc);
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!version)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = ctx_resolve(handle, &ctx);
	if (!rc)
		*version = 3020;	/* version of the _v2 functions, as NVIDIA's driver */
	return sgpu_leave(rc);
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (!flags)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = ctx->flags;
	if (is_primary(ctx))		/* NVIDIA's driver sets the flag for the primary context */
		*flags |= CU_CTX_MAP_HOST;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuCtxSetFlags(unsigned int flags)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (!flags_ok(flags))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	ctx->flags = flags;
	if (is_primary(ctx))
		primaries[ctx->device].flags = flags;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuCtxSynchronize(void)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	rc = sgpu_capture_unsafe();
	return sgpu_leave(rc ? rc : sgpu_await(ctx->last));
}

CUresult cuCtxSynchronize_v2(CUcontext handle)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside_healthy();

	if (rc)
		return rc;
	rc = ctx_resolve(handle, &ctx);
	return sgpu_leave(rc ? rc : sgpu_await(ctx->last));
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return sgpu_leave(CUDA_SUCCESS);
}

static bool limit_known(CUlimit limit)
{
	return limit != CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH &&
	       limit != CU_LIMIT_PERSISTING_L2_CACHE_SIZE &&
	       limit != CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED;
}

static CUresult limit_check(CUlimit limit)
{
	if ((unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	return limit_known(limit) ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	rc = value ? limit_check(limit) : CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		*value = ctx->limit[limit];
	return sgpu_leave(rc);
}

static CUresult limit_set(struct sgpu_ctx *ctx, CUlimit limit, size_t value)
{
	CUresult rc = limit_check(limit);

	if (rc)
		return rc;
	if (limit == CU_LIMIT_SHMEM_SIZE || limit == CU_LIMIT_CIG_ENABLED)
		return CUDA_ERROR_NOT_PERMITTED;
	if (limit == CU_LIMIT_STACK_SIZE && value > MAX_STACK)
		return CUDA_ERROR_INVALID_VALUE;
	if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128)
		return CUDA_ERROR_INVALID_VALUE;
	if (limit == CU_LIMIT_STACK_SIZE)
		value = (value + 15) & ~(size_t)15;
	if (limit == CU_LIMIT_PRINTF_FIFO_SIZE && value < MIN_PRINTF)
		value = MIN_PRINTF;
	if (limit == CU_LIMIT_MALLOC_HEAP_SIZE && value < MIN_HEAP)
		value = MIN_HEAP;
	ctx->limit[limit] = value;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	return rc ? rc : sgpu_leave(limit_set(ctx, limit, value));
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (!config)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*config = ctx->cache;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if ((unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	ctx->cache = config;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (!config)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return sgpu_leave(CUDA_SUCCESS);
}

/* The width of shared memory banks is fixed, as on every device since Maxwell. */
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if ((unsigned int)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuCtxResetPersistingL2Cache(void)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	return rc ? rc : sgpu_leave(CUDA_SUCCESS);
}

/* ---- the primary context ---- */

static CUresult primary_retain(CUcontext *out, CUdevice dev)
{
	struct primary *p;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sgpu_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	p = &primaries[dev];
	if (!p->ctx)
		p->ctx = sgpu_obj_new(SGPU_CTX);
	if (!p->ctx || (!p->ctx->alive && !ctx_start(p->ctx, dev, p->flags)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->retained++;
	*out = (CUcontext)p->ctx;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev)
{
	CUresult rc = sgpu_beside_healthy();

	return rc ? rc : sgpu_leave(primary_retain(out, dev));
}

/* The greens of a primary context are counted. */
struct greens {
	const struct sgpu_ctx *of;
	unsigned int n;
};

static void count_green(void *object, void *arg)
{
	const struct sgpu_ctx *ctx = object;
	struct greens *g = arg;

	g->n += ctx->parent && ctx->parent == g->of && ctx->alive;
}

/*
 * Does a green context need the primary one? Green contexts depend on it, and NVIDIA's driver
 * refuses to end it under them, by a reset or by the last release (580.159).
 */
static bool primary_needed(CUdevice dev)
{
	struct greens g = { .of = primaries[dev].ctx };

	sgpu_obj_each(SGPU_CTX, count_green, &g);
	return g.n;
}

/* Its handle stays the same. */
static void primary_drop(CUdevice dev)
{
	struct sgpu_ctx *ctx = primaries[dev].ctx;

	if (ctx && ctx->alive)
		ctx_stop(ctx);
}

static CUresult primary_release(CUdevice dev)
{
	if (!sgpu_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!primaries[dev].retained)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (primaries[dev].retained == 1 && primary_needed(dev))
		return CUDA_ERROR_NOT_PERMITTED;
	if (!--primaries[dev].retained)
		primary_drop(dev);
	return CUDA_SUCCESS;
}

CUresult sgpu_ctx_green(int device, uint64_t sms, struct sgpu_ctx **out)
{
	struct sgpu_ctx *ctx;
	CUcontext held;
	CUresult rc = primary_retain(&held, device);

	if (rc)
		return rc;
	ctx = sgpu_obj_new(SGPU_CTX);
	if (ctx && ctx_start(ctx, device, primaries[device].flags)) {
		ctx->sms = sms;
		ctx->parent = primaries[device].ctx;
		*out = ctx;
		return CUDA_SUCCESS;
	}
	if (ctx)
		sgpu_obj_free(ctx);
	primary_release(device);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void sgpu_ctx_green_end(struct sgpu_ctx *ctx)
{
	int device = ctx->device;

	if (ctx->alive)
		ctx_stop(ctx);
	sgpu_obj_free(ctx);
	primary_release(device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	CUresult rc = sgpu_enter_global();

	return rc ? rc : sgpu_leave(primary_release(dev));
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
	__attribute__((alias("cuDevicePrimaryCtxRelease_v2")));

/* Each thread that retained the context must still release it. The next retain revives it. */
static CUresult primary_reset(CUdevice dev)
{
	if (!sgpu_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (primary_needed(dev))
		return CUDA_ERROR_NOT_PERMITTED;
	primary_drop(dev);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	CUresult rc = sgpu_enter_global();

	return rc ? rc : sgpu_leave(primary_reset(dev));
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
	__attribute__((alias("cuDevicePrimaryCtxReset_v2")));

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags,
				    int *active)
{
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!sgpu_device_ok(dev))
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	if (!flags || !active)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = primaries[dev].flags;
	*active = primaries[dev].ctx && primaries[dev].ctx->alive;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!sgpu_device_ok(dev))
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	if (!flags_ok(flags))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	primaries[dev].flags = flags;
	if (primaries[dev].ctx)
		primaries[dev].ctx->flags = flags;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
	__attribute__((alias("cuDevicePrimaryCtxSetFlags_v2")));
