// SPDX-License-Identifier: Apache-2.0
/*
 * Kernel launches: check the grid and the parameters as NVIDIA's driver documents it, pack
 * the parameters, and run the grid: when its turn comes, or where there is no queue (queue.h) at
 * once. A fault of a kernel is not the launch's own error: each later call returns it. What kernels
 * print is kept here until the next synchronization.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "watch.h"

#define PRINT_ROOM	(1u << 16)
#define MAX_LAUNCH_ATTRS 64u
#define MAX_THREADS	64

static struct exec_machine *machine;
static struct exec_machine *checker;	/* runs nothing */
static uint64_t grids;
/* These are used under the lock only, by one launch at a time. */
static char packed[SGPU_MAX_PARAM_BYTES];
static char printed[PRINT_ROOM];
static size_t printed_len;

/*
 * Returns one thread for each CPU. With WORMHOLE_SOFTGPU_PREFAULT it returns one thread
 * only, since launches then run where no system call may happen, and waking a thread is
 * one.
 */
static uint32_t threads_by_default(void)
{
	cpu_set_t cpus;
	int n;

	if (sgpu_env_flag("WORMHOLE_SOFTGPU_PREFAULT") ||
	    sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	n = CPU_COUNT(&cpus);
	return n > MAX_THREADS ? MAX_THREADS : n;
}

bool sgpu_threads_wanted(uint32_t *threads)
{
	const char *text = getenv("WORMHOLE_SOFTGPU_THREADS");
	unsigned long n;
	char *end;

	if (!text || !*text) {
		*threads = threads_by_default();
		return true;
	}
	/* strtoul() would accept a sign, and blanks before it. */
	n = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && n >= 1 && n <= MAX_THREADS) {
		*threads = n;
		return true;
	}
	sgpu_complain("WORMHOLE_SOFTGPU_THREADS=%s is not a number of threads from 1 to %d",
		      text, MAX_THREADS);
	return false;
}

CUresult sgpu_launch_init(uint32_t threads)
{
	/* These buffers are touched once here, so that the first launches cause no page fault. */
	memset(packed, 0, sizeof(packed));
	memset(printed, 0, sizeof(printed));
	machine = exec_new();
	checker = exec_new();
	if (!machine || !checker)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec_set_threads(machine, threads);
	return CUDA_SUCCESS;
}

/* ---- device printf() ---- */

void sgpu_print_flush(void)
{
	if (!printed_len)
		return;
	fwrite(printed, 1, printed_len, stdout);
	fflush(stdout);
	printed_len = 0;
}

static void print(void *ctx, const char *text, size_t len)
{
	(void)ctx;
	while (len) {
		size_t n = PRINT_ROOM - printed_len;

		if (n > len)
			n = len;
		memcpy(printed + printed_len, text, n);
		printed_len += n;
		text += n;
		len -= n;
		if (printed_len == PRINT_ROOM)
			sgpu_print_flush();
	}
}

static void print_beside(void *ctx, const char *text, size_t len)
{
	sgpu_lock();
	print(ctx, text, len);
	sgpu_unlock();
}

/* ---- checks ---- */

static bool dims_ok(const uint32_t d[3], uint32_t x, uint32_t y, uint32_t z)
{
	return d[0] && d[1] && d[2] && d[0] <= x && d[1] <= y && d[2] <= z;
}

static CUresult shape_check(const struct sgpu_launch *l)
{
	const struct ptx_func *f = l->func->ptx;
	uint64_t threads;

	if (!dims_ok(l->grid, SGPU_MAX_GRID_X, SGPU_MAX_GRID_YZ,
		     SGPU_MAX_GRID_YZ) ||
	    !dims_ok(l->block, SGPU_MAX_BLOCK_THREADS, SGPU_MAX_BLOCK_THREADS,
		     SGPU_MAX_BLOCK_Z))
		return CUDA_ERROR_INVALID_VALUE;
	threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	if (threads > SGPU_MAX_BLOCK_THREADS ||
	    (f->max_threads && threads > f->max_threads))
		return CUDA_ERROR_INVALID_VALUE;
	if (f->reqntid[0] && memcmp(f->reqntid, l->block, sizeof(l->block)))
		return CUDA_ERROR_INVALID_VALUE;
	if (l->shared > sgpu_max_dyn_shared(l->func))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* All blocks of a cooperative grid must fit on the device at once. */
static CUresult cooperative_check(const struct sgpu_ctx *ctx, const struct sgpu_launch *l)
{
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	int threads = l->block[0] * l->block[1] * l->block[2];
	uint64_t most = sgpu_occupancy(l->func, threads, l->shared);

	return blocks > most * sgpu_device_sms(ctx->device) ?
	       CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

/* ---- parameters ---- */

static CUresult pack_params(const struct ptx_func *f, void **params)
{
	for (uint32_t i = 0; i < f->nparams; i++) {
		if (!params[i])
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(packed + f->params[i].offset, params[i],
		       f->params[i].size);
	}
	return CUDA_SUCCESS;
}

static CUresult pack_extra(const struct ptx_func *f, void **extra)
{
	const void *buffer = NULL;
	const size_t *size = NULL;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!f->param_bytes)
		return CUDA_SUCCESS;
	if (!buffer || !size)
		return CUDA_ERROR_INVALID_VALUE;
	if (*size > f->param_bytes)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	/*
	 * NVIDIA's driver accepts a buffer that is too short, but refuses extra bytes, even
	 * padding.
	 */
	memset(packed, 0, f->param_bytes);
	memcpy(packed, buffer, *size < f->param_bytes ? *size : f->param_bytes);
	return CUDA_SUCCESS;
}

static CUresult pack(const struct sgpu_launch *l)
{
	const struct ptx_func *f = l->func->ptx;

	if (f->param_bytes > sizeof(packed))
		return CUDA_ERROR_INVALID_VALUE;
	if (l->params && l->extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->extra)
		return pack_extra(f, l->extra);
	if (l->params)
		return pack_params(f, l->params);
	return f->nparams ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* ---- running ---- */

/* Translates a fault to the context's error. The launch itself has succeeded. */
static CUresult fault_code(enum exec_status status)
{
	switch (status) {
	case EXEC_ILLEGAL_ADDRESS:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case EXEC_MISALIGNED:
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	case EXEC_ASSERT:
		return CUDA_ERROR_ASSERT;
	case EXEC_ILLEGAL_INSTRUCTION:
		return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	case EXEC_STACK_OVERFLOW:
		return CUDA_ERROR_HARDWARE_STACK_ERROR;
	case EXEC_DEADLOCK:
	case EXEC_CANCELLED:
		return CUDA_ERROR_LAUNCH_TIMEOUT;
	default:
		return CUDA_ERROR_LAUNCH_FAILED;
	}
}

static void report(const struct exec_fault *fault)
{
	if (fault->status == EXEC_ASSERT)
		fprintf(stderr, "%s\n", fault->msg);
	sgpu_log("%s in %s: address %#llx, block (%u,%u,%u), "
		 "thread (%u,%u,%u), line %u: %s",
		 exec_status_name(fault->status),
		 fault->func ? fault->func : "?",
		 (unsigned long long)fault->addr, fault->ctaid[0],
		 fault->ctaid[1], fault->ctaid[2], fault->tid[0],
		 fault->tid[1], fault->tid[2], fault->line, fault->msg);
}

static void tell(struct sgpu_ctx *ctx, const struct sgpu_launch *l, struct sgpu_seen *seen)
{
	seen->ctx = (CUcontext)ctx;
	seen->stream = l->stream;
	seen->device = ctx->device;
	seen->name = l->func->ptx->name;
	seen->shared = l->shared;
	memcpy(seen->grid, l->grid, sizeof(seen->grid));
	memcpy(seen->block, l->block, sizeof(seen->block));
	sgpu_watch_stop(seen);
	if (l->seen)
		*l->seen = *seen;
	else
		sgpu_watch_tell(seen);
}

/* All that a launch has of its function and context, which may change before its turn. */
static struct exec_launch describe(struct sgpu_ctx *ctx, const struct sgpu_launch *l,
				   const void *bytes)
{
	bool beside = sgpu_queue_on();

	return (struct exec_launch){
		.fn = l->func->ptx,
		.grid = { l->grid[0], l->grid[1], l->grid[2] },
		.block = { l->block[0], l->block[1], l->block[2] },
		.cluster = { l->shape[0], l->shape[1], l->shape[2] },
		.dyn_shared = l->shared,
		.params = bytes,
		.mem = beside ? &sgpu_exec_mem_beside : &sgpu_exec_mem,
		.nsm = sgpu_device_sms(ctx->device),
		.sms = ctx->sms,
		.stack_bytes = ctx->limit[CU_LIMIT_STACK_SIZE],
		.cooperative = l->cooperative,
		.print = beside ? print_beside : print,
		.condition = beside ? sgpu_cond_set_beside : sgpu_cond_set,
	};
}

static enum exec_status run(const struct exec_launch *e, struct exec_fault *fault)
{
	enum exec_status status;

	if (!sgpu_queue_on())
		return exec_run(machine, e, fault);
	sgpu_unlock();
	status = exec_run(machine, e, fault);
	sgpu_lock();
	return status;
}

static CUresult run_described(struct sgpu_ctx *ctx, const struct sgpu_launch *l,
			      struct exec_launch *e)
{
	struct exec_fault fault = { 0 };
	struct sgpu_seen seen = {
		.work = SGPU_DID_KERNEL, .start_ns = sgpu_watch_begin(),
	};
	enum exec_status status;

	e->grid_id = ++grids;
	status = run(e, &fault);
	if (seen.start_ns)
		tell(ctx, l, &seen);
	switch (status) {
	case EXEC_OK:
		return CUDA_SUCCESS;
	case EXEC_BAD_LAUNCH:
		sgpu_log("launch refused: %s", fault.msg);
		return CUDA_ERROR_INVALID_VALUE;
	case EXEC_NOMEM:
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	default:
		report(&fault);
		sgpu_poison(fault_code(status));
		return CUDA_SUCCESS;
	}
}

CUresult sgpu_launch_run(struct sgpu_ctx *ctx, const struct sgpu_launch *l,
			 const void *bytes)
{
	struct exec_launch e = describe(ctx, l, bytes);

	return run_described(ctx, l, &e);
}

CUresult sgpu_launch_check(struct sgpu_ctx *ctx, const void *handle,
			   struct sgpu_launch *l, const char **bytes)
{
	CUresult rc = sgpu_func_get(ctx, handle, &l->func);

	if (!rc)
		rc = shape_check(l);
	if (!rc)
		rc = sgpu_cluster_check(l);
	if (!rc && l->cooperative)
		rc = cooperative_check(ctx, l);
	if (!rc)
		rc = pack(l);
	if (!rc)
		sgpu_cluster_shape(l, l->shape);
	*bytes = packed;
	return rc;
}

/* ---- launches that are queued ---- */

struct queued {
	struct sgpu_task work;
	struct sgpu_ctx *ctx;
	uint64_t ctx_id, func_id;
	struct sgpu_launch l;
	struct exec_launch e;
	char bytes[];
};

/* What it uses may have ended while a function of the program ran. */
static bool still_there(const struct queued *q)
{
	return sgpu_obj_get(SGPU_CTX, q->ctx) && q->ctx->obj.id == q->ctx_id && q->ctx->alive &&
	       sgpu_obj_get(SGPU_FUNC, q->l.func) && q->l.func->obj.id == q->func_id;
}

/* The launch has returned already, so the calls that follow return its error. */
static void run_queued(struct sgpu_task *w)
{
	struct queued *q = (struct queued *)w;
	CUresult rc = still_there(q) ? run_described(q->ctx, &q->l, &q->e) :
				       CUDA_ERROR_LAUNCH_FAILED;

	if (rc)
		sgpu_poison(rc);
}

/* While a profiler watches, a launch waits for its end, to tell of it from its own thread. */
static CUresult submit(struct sgpu_stream *s, struct sgpu_ctx *ctx, const struct sgpu_launch *l,
		       const char *bytes)
{
	struct exec_launch e = describe(ctx, l, bytes);
	size_t n = l->func->ptx->param_bytes;
	struct exec_fault fault = { 0 };
	struct sgpu_seen seen = { 0 };
	struct queued *q;
	uint64_t ticket, id = l->func->obj.id;

	if (exec_check(checker, &e, &fault) != EXEC_OK) {
		sgpu_log("launch refused: %s", fault.msg);
		return CUDA_ERROR_INVALID_VALUE;
	}
	q = sgpu_task_new(sizeof(*q) + n, run_queued);
	if (!q)
		return CUDA_ERROR_OUT_OF_MEMORY;
	q->ctx = ctx;
	q->ctx_id = ctx->obj.id;
	q->func_id = id;
	q->l = *l;
	q->l.params = q->l.extra = NULL;
	q->e = e;
	q->e.params = q->bytes;
	memcpy(q->bytes, bytes, n);
	if (!sgpu_watch_begin()) {
		sgpu_task_submit(s, &q->work);
		return CUDA_SUCCESS;
	}
	q->l.seen = &seen;
	ticket = sgpu_task_submit(s, &q->work);
	sgpu_queue_wait(ticket);
	/* The kernel's name ends with its module, which others could unload while this waited. */
	if (sgpu_obj_get(SGPU_FUNC, l->func) && l->func->obj.id == id)
		sgpu_watch_tell(&seen);
	return CUDA_SUCCESS;
}

static CUresult launch(struct sgpu_ctx *ctx, const void *handle,
		       struct sgpu_launch *l)
{
	struct sgpu_stream *s = sgpu_stream_get(ctx, l->stream), *capturing;
	const char *bytes;
	CUresult rc;

	if (!s)
		return CUDA_ERROR_INVALID_HANDLE;
	rc = sgpu_capture_stream(ctx, l->stream, &capturing);
	if (rc)
		return rc;
	if (capturing)
		return sgpu_capture_kernel(capturing, handle, l);
	rc = sgpu_launch_check(s->ctx, handle, l, &bytes);
	if (rc)
		return rc;
	return sgpu_queue_on() ? submit(s, ctx, l, bytes) : sgpu_launch_run(ctx, l, bytes);
}

/* ---- exported ---- */

static CUresult launch_now(const void *handle, struct sgpu_launch *l)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_submit(&ctx);

	return rc ? rc : sgpu_leave(launch(ctx, handle, l));
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy,
			unsigned int gz, unsigned int bx, unsigned int by,
			unsigned int bz, unsigned int shared, CUstream stream,
			void **params, void **extra)
{
	struct sgpu_launch l = {
		.grid = { gx, gy, gz }, .block = { bx, by, bz },
		.shared = shared, .stream = stream,
		.params = params, .extra = extra,
	};

	return launch_now(f, &l);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx,
				   unsigned int gy, unsigned int gz,
				   unsigned int bx, unsigned int by,
				   unsigned int bz, unsigned int shared,
				   CUstream stream, void **params)
{
	struct sgpu_launch l = {
		.grid = { gx, gy, gz }, .block = { bx, by, bz },
		.shared = shared, .stream = stream, .params = params,
		.cooperative = true,
	};

	return launch_now(f, &l);
}

CUresult sgpu_launch_attribute(struct sgpu_launch *l, const CUlaunchAttribute *a)
{
	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		l->cooperative = a->value.cooperative;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		l->cluster[0] = a->value.clusterDim.x;
		l->cluster[1] = a->value.clusterDim.y;
		l->cluster[2] = a->value.clusterDim.z;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		l->done = a->value.launchCompletionEvent.event;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		l->done = a->value.programmaticEvent.event;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
	case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult sgpu_launch_config(struct sgpu_launch *l, const CUlaunchConfig *config)
{
	CUresult rc = CUDA_SUCCESS;

	if (!config || config->numAttrs > MAX_LAUNCH_ATTRS ||
	    (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	l->grid[0] = config->gridDimX;
	l->grid[1] = config->gridDimY;
	l->grid[2] = config->gridDimZ;
	l->block[0] = config->blockDimX;
	l->block[1] = config->blockDimY;
	l->block[2] = config->blockDimZ;
	l->shared = config->sharedMemBytes;
	l->stream = config->hStream;
	for (unsigned int i = 0; !rc && i < config->numAttrs; i++)
		rc = sgpu_launch_attribute(l, &config->attrs[i]);
	return rc;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f,
			  void **params, void **extra)
{
	struct sgpu_launch l = { .params = params, .extra = extra };
	CUresult rc = sgpu_launch_config(&l, config);

	if (!rc)
		rc = launch_now(f, &l);
	if (!rc && l.done)
		rc = cuEventRecord(l.done, l.stream);
	return rc;
}

/* The twin finds the stream inside its configuration. */
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f,
			       void **params, void **extra)
{
	CUlaunchConfig copy;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	copy = *config;
	copy.hStream = sgpu_per_thread(config->hStream);
	return cuLaunchKernelEx(&copy, f, params, extra);
}
