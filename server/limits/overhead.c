// SPDX-License-Identifier: Apache-2.0
/*
 * The memory limit for calls that do not say how much memory they take: contexts, code, and what
 * kernels need beside their parameters. Memory that is known before the call is reserved before.
 * The rest is seen in the driver's own figure right after the call; if it is too much, the call is
 * undone.
 */
#define _GNU_SOURCE
#include "limits/memory.h"

#include <string.h>

#define NOT_KNOWN	UINT64_MAX

/* Without the driver's figure for the process, the device's free memory has to serve. */
static uint64_t taken_of_device(struct wh_session *s)
{
	size_t free = 0, total = 0;

	if (!s->drv.cuMemGetInfo_v2 || s->drv.cuMemGetInfo_v2(&free, &total) != CUDA_SUCCESS)
		return NOT_KNOWN;
	return total - free;
}

void wh_reconcile_begin(struct wh_session *s, struct wh_charge *c)
{
	uint64_t unused;

	*c = (struct wh_charge) { .device = -1 };
	if (!s->limits.mem)
		return;
	c->device = wh_self.device;
	wh_mem_taking(s);
	if (c->device >= 0 && !wh_mem_driver(s, c->device, &unused))
		c->before = taken_of_device(s);
}

static bool over(struct wh_session *s, int device)
{
	uint64_t quota = wh_mem_quota(s, device);

	return quota && wh_tenant_memory(s->limits.usage, (unsigned int)device) > quota;
}

/* Reads the figure: does this worker hold more than before, and does that exceed the quota? */
static bool too_much(struct wh_session *s, int device, uint64_t before)
{
	if (!wh_mem_follow(s, device) || s->limits.account->device[device].memory <= before ||
	    !over(s, device))
		return false;
	s->limits.account->device[device].refused++;
	return true;
}

/*
 * Looks at all devices, since a context may be on another device. To read the figure may take
 * longer than the call did: 14 us on an H100. Without a quota the figure is only for the books, so
 * there an old one has to serve.
 */
static bool follow_all(struct wh_session *s)
{
	struct wh_mem_state *m = s->limits.mem;
	bool old, fits = true;
	int d;

	if (!m)
		return true;
	wh_mem_prepare(s);
	old = wh_mem_figure_is_old(s);
	for (d = 0; m->figure && d < WH_TENANT_DEVICES; d++)
		if (old || wh_mem_quota(s, d))
			fits = !too_much(s, d, s->limits.account->device[d].memory) && fits;
	if (old)
		m->figure_tsc = __builtin_ia32_rdtsc();
	return fits;
}

bool wh_reconciled(struct wh_session *s, struct wh_charge *c)
{
	(void)c;
	return follow_all(s);
}

/*
 * Without the driver's figure, the memory by which the device has less now is charged to the
 * object. Under a quota, an object whose memory cannot be measured is refused.
 */
bool wh_reconciled_as(struct wh_session *s, struct wh_charge *c, unsigned int type, uint64_t key)
{
	struct wh_charge part = *c;
	uint64_t now, bytes;

	if (c->device < 0)
		return true;
	if (wh_mem_driver(s, c->device, &now))
		return wh_reconciled(s, c);
	now = taken_of_device(s);
	if (now == NOT_KNOWN || c->before == NOT_KNOWN)
		return !wh_mem_limited(s);
	bytes = now > c->before ? now - c->before : 0;
	if (!bytes)
		return true;
	return wh_charge(s, &part, type, c->device, bytes) == CUDA_SUCCESS &&
	       wh_charged(s, &part, CUDA_SUCCESS, key, type == WH_H_CUmodule ? wh_self.ctx : 0) ==
	       CUDA_SUCCESS;
}

/* --- Reservations of what the figure will show ----------------------------------------- */

static CUresult reserve(struct wh_session *s, struct wh_charge *c, int device, uint64_t bytes)
{
	c->device = device;
	c->bytes = bytes;
	wh_mem_taking(s);
	wh_mem_look(s, device, bytes);
	if (wh_mem_take(s, device, bytes))
		return CUDA_SUCCESS;
	wh_mem_make_room(s, device);
	if (wh_mem_take(s, device, bytes))
		return CUDA_SUCCESS;
	s->limits.account->device[device].refused++;
	c->device = -1;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Turns the reservation into what the driver really took. False: that is too much. */
static bool settle(struct wh_session *s, struct wh_charge *c, CUresult res)
{
	uint64_t before = s->limits.account->device[c->device].memory;

	if (res != CUDA_SUCCESS) {
		wh_mem_give(s, c->device, c->bytes);
		return true;
	}
	s->limits.mem->device[c->device].extra += c->bytes;
	return !too_much(s, c->device, before);
}

/* --- Contexts: all of a device take the same, as one of the tenant's workers has seen --- */

static uint64_t context_bytes(const struct wh_session *s, int device)
{
	const struct wh_tenant_usage *u = s->limits.usage;
	uint64_t most = u->ended.device[device].context, one;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		one = __atomic_load_n(&u->worker[i].device[device].context, __ATOMIC_RELAXED);
		most = one > most ? one : most;
	}
	return most;
}

/*
 * On a part of the SMs, a client's context is the primary one with a small one of its own. Such
 * contexts are measured each time.
 */
static bool is_spatial(const struct wh_session *s, int device)
{
	const struct wh_device_limit *l = &s->limits.limit[device];

	return l->sm_percent && l->sm_percent < 100 && l->sm_policy & WH_SM_SPATIAL;
}

CUresult wh_context_charge(struct wh_session *s, struct wh_charge *c, int device)
{
	struct wh_mem_state *m = s->limits.mem;

	*c = (struct wh_charge) { .device = -1 };
	if (!m || device < 0 || device >= WH_TENANT_DEVICES)
		return CUDA_SUCCESS;
	wh_mem_prepare(s);
	if (!m->figure)
		return CUDA_SUCCESS;
	wh_mem_driver(s, device, &c->before);
	return reserve(s, c, device, is_spatial(s, device) ? 0 : context_bytes(s, device));
}

bool wh_context_charged(struct wh_session *s, struct wh_charge *c, CUresult res)
{
	uint64_t now;
	bool fits;

	if (c->device < 0)
		return true;
	wh_note_refused(c, res);
	fits = settle(s, c, res);
	if (res == CUDA_SUCCESS && !is_spatial(s, c->device) &&
	    wh_mem_driver(s, c->device, &now) && now > c->before)
		__atomic_store_n(&s->limits.account->device[c->device].context, now - c->before,
				 __ATOMIC_RELAXED);
	return fits;
}

int wh_unless_active(struct wh_session *s, CUdevice dev)
{
	unsigned int flags;
	int active = 0;

	if (!s->drv.cuDevicePrimaryCtxGetState ||
	    s->drv.cuDevicePrimaryCtxGetState(dev, &flags, &active) != CUDA_SUCCESS || active)
		return -1;
	return dev;
}

void wh_undo_context(struct wh_session *s, CUcontext ctx)
{
	CUresult res;

	if (!wh_sms_destroy(s, ctx, &res) && s->drv.cuCtxDestroy_v2)
		s->drv.cuCtxDestroy_v2(ctx);
}

/* --- Stacks and heaps -------------------------------------------------------------------- */

/* The number of threads that the device can hold. Each of them has a stack. */
static uint64_t threads_of(struct wh_session *s, int device)
{
	int sms = 0, threads = 0;

	s->drv.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	s->drv.cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
				    device);
	return (uint64_t)sms * threads;
}

/* Memory that earlier launches took care of may be needed again. */
static void forget_launches(struct wh_session *s)
{
	struct wh_mem_entry *e = wh_mem_find(s->limits.mem, WH_MEM_STACK, wh_self.ctx);

	memset(s->limits.mem->launched, 0, sizeof(s->limits.mem->launched));
	if (e)
		wh_mem_remove(s->limits.mem, e);
}

/*
 * Checks a change of a context's limit. A bigger stack is taken at once for every thread that the
 * device can hold, and a heap by the first kernel that uses it. A change that does not fit is
 * refused before it is tried, because the driver would take the memory from others. Buffers of
 * printf are host memory.
 */
CUresult wh_limit_fits(struct wh_session *s, CUlimit limit, uint64_t value)
{
	struct wh_mem_state *m = s->limits.mem;
	int dev = wh_self.device;
	uint64_t room, quota, per, more;
	size_t old = 0;

	if (!m || dev < 0 || !s->drv.cuCtxGetLimit || !s->drv.cuDeviceGetAttribute ||
	    s->drv.cuCtxGetLimit(&old, limit) != CUDA_SUCCESS)
		return CUDA_SUCCESS;
	m->old_limit = old;
	forget_launches(s);
	if (limit != CU_LIMIT_STACK_SIZE && limit != CU_LIMIT_MALLOC_HEAP_SIZE)
		return CUDA_SUCCESS;
	per = limit == CU_LIMIT_STACK_SIZE ? threads_of(s, dev) : 1;
	wh_mem_room(s, dev, &room, &quota);
	if (value <= old || quota == UINT64_MAX)
		return CUDA_SUCCESS;
	if (!__builtin_mul_overflow(value - old, per, &more) && more <= room)
		return CUDA_SUCCESS;
	s->limits.account->device[dev].refused++;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void wh_undo_limit(struct wh_session *s, CUlimit limit)
{
	if (s->limits.mem)
		s->drv.cuCtxSetLimit(limit, s->limits.mem->old_limit);
}

static void undo_exec(struct wh_session *s, CUgraphExec exec)
{
	size_t size;

	if (s->drv.cuGraphExecDestroy)
		s->drv.cuGraphExecDestroy(exec);
	/* When the stack size is set again, stacks shrink to that size. */
	if (s->limits.mem && s->drv.cuCtxGetLimit && s->drv.cuCtxSetLimit &&
	    s->drv.cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS) {
		s->drv.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, size);
		forget_launches(s);
	}
}

bool wh_exec_fits(struct wh_session *s, CUgraphExec exec)
{
	struct wh_charge unused;
	bool fits = follow_all(s);

	if (!fits) {
		undo_exec(s, exec);
		wh_reconciled(s, &unused);
	}
	return fits;
}

/* --- Code ---------------------------------------------------------------------------------- */

/*
 * Memory that a context takes for printf() and malloc() of kernels, from the first code on that
 * calls them: measured on an H200, driver 580.159, whatever the limits say.
 */
#define FOR_PRINTF	(64ull << 20)
#define FOR_MALLOC	(138ull << 20)

/* Notes a property of the current context, for as long as the context lives. */
static struct wh_mem_entry *note(struct wh_session *s, uint32_t type)
{
	struct wh_mem_entry *e = wh_mem_find(s->limits.mem, type, wh_self.ctx);

	if (!e)
		e = wh_mem_add(s->limits.mem, type, wh_self.ctx);
	if (e)
		e->ctx = wh_self.ctx;
	return e;
}

bool wh_mem_limited(struct wh_session *s)
{
	return s->limits.mem && wh_self.device >= 0 && wh_mem_quota(s, wh_self.device);
}

/* Compressed code hides these names; then the memory is seen afterwards. */
void wh_look_at_code(struct wh_session *s, const void *image, size_t size)
{
	struct wh_mem_state *m = s->limits.mem;

	if (!m)
		return;
	m->code_prints = memmem(image, size, "vprintf", strlen("vprintf"));
	m->code_mallocs = memmem(image, size, "malloc", strlen("malloc"));
	m->mallocs = m->mallocs || m->code_mallocs;
}

CUresult wh_code_charge(struct wh_session *s, struct wh_charge *c)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_charge calls;
	uint64_t bytes = 0;
	CUresult res;

	wh_reconcile_begin(s, c);
	if (!wh_mem_limited(s) || !m->figure)
		return CUDA_SUCCESS;
	if (m->code_prints && !wh_mem_find(m, WH_MEM_PRINTS, wh_self.ctx))
		bytes += FOR_PRINTF;
	if (m->code_mallocs && !wh_mem_find(m, WH_MEM_MALLOCS, wh_self.ctx))
		bytes += FOR_MALLOC;
	if (!bytes)
		return CUDA_SUCCESS;
	res = reserve(s, &calls, wh_self.device, bytes);
	c->bytes = calls.bytes;
	return res;
}

void wh_code_charged(struct wh_session *s, struct wh_charge *c, CUresult res)
{
	struct wh_mem_state *m = s->limits.mem;

	if (c->device < 0 || !c->bytes)
		return;
	if (res == CUDA_SUCCESS) {
		/* The caller reads the figure next, which contains this memory. */
		m->device[c->device].extra += c->bytes;
		if (m->code_prints)
			note(s, WH_MEM_PRINTS);
		if (m->code_mallocs)
			note(s, WH_MEM_MALLOCS);
	} else {
		wh_mem_give(s, c->device, c->bytes);
	}
	c->bytes = 0;
}

/* --- The first launch of a kernel ---------------------------------------------------------- */

static struct wh_mem_launched *place_of(struct wh_mem_state *m, const void *function)
{
	uint64_t hash = (uintptr_t)function * 0x9e3779b97f4a7c15ULL;

	return &m->launched[hash >> 32 & (WH_MEM_LAUNCHED - 1)];
}

/*
 * A call that runs together with others uses only limits that were read already. The launch itself
 * checks whether they have changed (wh_launch_begin()), and then runs again, alone.
 */
static bool charges_kernels(struct wh_session *s, int device)
{
	if (device < 0 || !s->limits.mem->figure || !s->drv.cuCtxGetLimit ||
	    !s->drv.cuDeviceGetAttribute)
		return false;
	return wh_self.alone ? wh_mem_quota(s, device) : s->limits.limit[device].memory;
}

bool wh_kernel_known(struct wh_session *s, const void *function)
{
	struct wh_mem_launched *l = place_of(s->limits.mem, function);

	return (l->function == function && l->ctx == wh_self.ctx) ||
	       !charges_kernels(s, wh_self.device);
}

static uint64_t local_bytes(struct wh_session *s, CUfunction f, bool kernel, int device)
{
	const CUfunction_attribute which = CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
	CUresult res = CUDA_ERROR_NOT_SUPPORTED;
	int v = 0;

	if (kernel && s->drv.cuKernelGetAttribute)
		res = s->drv.cuKernelGetAttribute(&v, which, (CUkernel)f, device);
	else if (!kernel && s->drv.cuFuncGetAttribute)
		res = s->drv.cuFuncGetAttribute(&v, which, f);
	return res == CUDA_SUCCESS && v > 0 ? (uint64_t)v : 0;
}

/*
 * The stack of a thread grows by this step, and all stacks together by whole blocks, as seen on an
 * H200.
 */
#define STACK_STEP	16

static uint64_t stack_had(struct wh_session *s)
{
	const struct wh_mem_entry *e = wh_mem_find(s->limits.mem, WH_MEM_STACK, wh_self.ctx);

	return e ? e->object : 0;
}

/*
 * Returns how much more memory the stacks of all threads take for a kernel with `local` bytes for
 * each thread. The largest kernel so far is remembered here: the driver may or may not set the
 * limit back to its old value.
 */
static uint64_t stack_growth(struct wh_session *s, uint64_t local, int device)
{
	uint64_t more, had = stack_had(s);
	size_t limit = 0;

	if (!local || s->drv.cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE) != CUDA_SUCCESS)
		return 0;
	had = had > limit ? had : limit;
	if (local <= had)
		return 0;
	/* A value larger than any device becomes a number to which others can still be added. */
	if (__builtin_mul_overflow(local - had, threads_of(s, device), &more) ||
	    more > UINT64_MAX / 4)
		return UINT64_MAX / 4;
	return more;
}

/*
 * The heap is made with the first kernel whose code has malloc(), and takes a block more than its
 * size.
 */
static uint64_t heap_growth(struct wh_session *s)
{
	size_t limit = 0;

	if (!s->limits.mem->mallocs || wh_mem_find(s->limits.mem, WH_MEM_HEAP, wh_self.ctx) ||
	    s->drv.cuCtxGetLimit(&limit, CU_LIMIT_MALLOC_HEAP_SIZE) != CUDA_SUCCESS)
		return 0;
	return wh_mem_round(limit, WH_MEM_BLOCK) + WH_MEM_BLOCK;
}

/* Stacks are charged one block more than they need: the driver's blocks may begin elsewhere. */
CUresult wh_kernel_charge(struct wh_session *s, struct wh_charge *c, void *function, bool kernel,
			  CUstream stream)
{
	int device = wh_self.device;
	uint64_t stack, heap;

	if (!charges_kernels(s, device) || wh_capturing(s, stream))
		return CUDA_SUCCESS;
	c->stack = local_bytes(s, function, kernel, device) + STACK_STEP - 1;
	c->stack -= c->stack % STACK_STEP;
	stack = stack_growth(s, c->stack, device);
	stack = stack ? wh_mem_round(stack, WH_MEM_BLOCK) + WH_MEM_BLOCK : 0;
	heap = heap_growth(s);
	c->pool = function;
	wh_mem_driver(s, device, &c->before);
	return reserve(s, c, device, stack > UINT64_MAX - heap ? stack : stack + heap);
}

void wh_kernel_charged(struct wh_session *s, struct wh_charge *c, CUresult res)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e;
	uint64_t now = 0;
	size_t heap = 0;

	settle(s, c, res);
	if (res != CUDA_SUCCESS)
		return;
	*place_of(m, c->pool) = (struct wh_mem_launched) { c->pool, wh_self.ctx };
	e = c->stack ? note(s, WH_MEM_STACK) : NULL;
	if (e && c->stack > e->object)
		e->object = c->stack;
	if (m->mallocs && s->drv.cuCtxGetLimit(&heap, CU_LIMIT_MALLOC_HEAP_SIZE) == CUDA_SUCCESS &&
	    wh_mem_driver(s, c->device, &now) && now >= c->before + heap)
		note(s, WH_MEM_HEAP);
}
