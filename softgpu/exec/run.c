/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch from its checks to its end: scratch memory, blocks, turns of the warps, and
 * faults. The blocks of a cluster are present at once; mostly a cluster is one block. Clusters
 * run one after the other with the same memory, or several threads run them, each with its own
 * memory (pool.c). In a cooperative launch all blocks are present at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "pool.h"

/* Local memory of a thread, if recursion leaves the need open. */
#define DEFAULT_STACK	(16u << 10)
/* Size of a warp's register stack in that case, in frames of the largest function. */
#define OPEN_FRAMES	96u
#define OPEN_REGS	(1u << 20)
/* Memory of all blocks that are present at once. */
#define MAX_PRESENT_BYTES	(1ull << 30)

struct exec_machine *exec_new(void)
{
	return calloc(1, sizeof(struct exec_machine));
}

void exec_free(struct exec_machine *m)
{
	if (!m)
		return;
	free(m->clusters.p);
	free(m->ctas.p);
	free(m->warps.p);
	free(m->regs.p);
	free(m->local.p);
	free(m->shared.p);
	free(m->text.p);
	free(m);
}

/*
 * Provides at least @size bytes, and an address even if @size is 0. Growing loses the old
 * contents.
 */
bool exec_scratch(struct scratch *s, size_t size)
{
	size = (size + !size + 127) & ~(size_t)127;
	if (size <= s->size)
		return true;
	free(s->p);
	s->size = 0;
	s->p = aligned_alloc(128, size);
	if (!s->p)
		return false;
	memset(s->p, 0, size);
	s->size = size;
	return true;
}

const char *exec_status_name(enum exec_status status)
{
	static const char *const names[] = {
		[EXEC_OK] = "ok",
		[EXEC_BAD_LAUNCH] = "bad launch",
		[EXEC_ILLEGAL_ADDRESS] = "illegal address",
		[EXEC_MISALIGNED] = "misaligned address",
		[EXEC_TRAP] = "trap",
		[EXEC_ASSERT] = "assertion failed",
		[EXEC_ILLEGAL_INSTRUCTION] = "illegal instruction",
		[EXEC_STACK_OVERFLOW] = "stack overflow",
		[EXEC_DEADLOCK] = "deadlock",
		[EXEC_CANCELLED] = "cancelled",
		[EXEC_NOMEM] = "out of memory",
	};

	return (size_t)status < sizeof(names) / sizeof(names[0]) ?
	       names[status] : "unknown";
}

/* ---- faults ---- */

static const char *func_of_line(struct exec_machine *m, const struct insn *in)
{
	uint32_t pc = in - m->img->code;

	for (uint32_t i = 0; i < m->img->mod.nfuncs; i++) {
		const struct ptx_func *f = &m->img->mod.funcs[i];

		if (pc >= f->code->first && pc < f->code->end)
			return f->name;
	}
	return m->l->fn->name;
}

int exec_fault(struct warp *w, enum exec_status st, const struct insn *in,
	       uint32_t lane, uint64_t addr)
{
	struct exec_fault *f = &w->m->fault;

	f->status = st;
	f->addr = addr;
	f->line = in->line;
	f->func = func_of_line(w->m, in);
	for (int i = 0; i < 3; i++) {
		f->ctaid[i] = w->cta->id[i];
		f->tid[i] = w->tid[i][lane];
	}
	snprintf(f->msg, sizeof(f->msg),
		 "%s in '%s', PTX line %u, block (%u,%u,%u), thread (%u,%u,%u)"
		 ", address 0x%llx", exec_status_name(st), f->func, f->line,
		 f->ctaid[0], f->ctaid[1], f->ctaid[2], f->tid[0], f->tid[1],
		 f->tid[2], (unsigned long long)addr);
	return 1;
}

static enum exec_status refuse(struct exec_machine *m, enum exec_status st,
			       const char *why)
{
	m->fault.status = st;
	m->fault.func = m->l->fn->name;
	snprintf(m->fault.msg, sizeof(m->fault.msg), "%s", why);
	return st;
}

/* ---- memory ---- */

const struct exec_range *exec_find(struct exec_machine *m, uint64_t addr)
{
	struct exec_range r, *slot;

	for (int i = 0; i < NRANGES; i++)
		if (addr - m->range[i].base < m->range[i].size)
			return &m->range[i];
	if (addr - (uintptr_t)&m->ws < sizeof(m->ws) && m->l->cooperative)
		r = (struct exec_range){ (uintptr_t)&m->ws, sizeof(m->ws),
					 true };
	else if (!m->l->mem->find(m->l->mem->ctx, addr, &r) ||
		 addr - r.base >= r.size)
		return NULL;
	slot = &m->range[m->next_range++ % NRANGES];
	*slot = r;
	return slot;
}

static uint8_t *in_window(uint8_t *base, uint64_t size, uint64_t off,
			  uint64_t bytes)
{
	return off <= size && size - off >= bytes ? base + off : NULL;
}

uint8_t *exec_generic(struct warp *w, uint32_t lane, uint64_t addr,
		      uint64_t size, bool write)
{
	const struct exec_launch *l = w->m->l;
	uint64_t off = addr & ~WIN_MASK;
	const struct exec_range *r;

	switch (addr & WIN_MASK) {
	case WIN_SHARED:
		return exec_shared(w, off, size);
	case WIN_LOCAL:
		return in_window(lane_local(w, lane), w->m->local_size, off,
				 size);
	case WIN_PARAM:
		return write ? NULL : in_window((uint8_t *)l->params,
						l->fn->param_bytes, off, size);
	}
	r = exec_find(w->m, addr);
	if (!r || (write && !r->writable) || r->size - (addr - r->base) < size)
		return NULL;
	return (uint8_t *)(uintptr_t)addr;
}

/* ---- the shape of a launch ---- */

static const char *bad_shape(const struct exec_launch *l)
{
	const struct ptx_func *f = l->fn;
	uint64_t n = 1;

	for (int i = 0; i < 3; i++) {
		if (!l->grid[i] || !l->block[i] || l->block[i] > 1024)
			return "a dimension of the launch is out of range";
		if (f->reqntid[0] && f->reqntid[i] != l->block[i])
			return "the kernel requires another block shape";
		n *= l->block[i];
	}
	if (n > EXEC_MAX_THREADS || (f->max_threads && n > f->max_threads))
		return "too many threads per block";
	if (f->param_bytes && !l->params)
		return "no parameters";
	return NULL;
}

/* Takes the shape of a cluster from the launch, or else from the kernel. */
static const char *size_cluster(struct exec_machine *m)
{
	const struct exec_launch *l = m->l;
	const uint32_t *kernel = l->fn->cluster, *c = l->cluster[0] ? l->cluster : kernel;
	uint64_t n = 1;

	m->explicit_cluster = c[0];
	if (!c[0] && l->fn->explicit_cluster)
		return "the kernel requires clusters";
	for (int i = 0; i < 3; i++) {
		m->cluster[i] = m->explicit_cluster ? c[i] : 1;
		if (!m->cluster[i] || m->cluster[i] > EXEC_MAX_CLUSTER ||
		    l->grid[i] % m->cluster[i])
			return "the grid does not consist of clusters";
		if (kernel[0] && kernel[i] != m->cluster[i])
			return "the kernel requires another cluster shape";
		n *= m->cluster[i];
	}
	if (n > EXEC_MAX_CLUSTER || (l->fn->max_cluster && n > l->fn->max_cluster))
		return "too many blocks per cluster";
	m->ncluster = n;
	return NULL;
}

static uint32_t largest_frame(const struct ptx_module *m)
{
	uint32_t max = 0;

	for (uint32_t i = 0; i < m->nfuncs; i++)
		if (m->funcs[i].code->frame_bytes > max)
			max = m->funcs[i].code->frame_bytes;
	return max;
}

static void size_stacks(struct exec_machine *m)
{
	const struct ptx_code *c = m->code;
	uint32_t want = m->l->stack_bytes, frame;

	m->regs_size = c->stack_regs;
	m->local_size = c->stack_local;
	if (!c->stack_regs) {
		frame = largest_frame(&m->img->mod);
		m->regs_size = frame > OPEN_REGS / OPEN_FRAMES ? OPEN_REGS :
			       frame * OPEN_FRAMES;
		if (m->regs_size < 8 * frame)
			m->regs_size = 8 * frame;
		m->local_size += want ? want : DEFAULT_STACK;
	}
	/* The distance is an odd number of cache lines, so that lanes do not share cache sets. */
	m->local_size = (m->local_size + 63) & ~63u;
	if (m->local_size && !(m->local_size & 64))
		m->local_size += 64;
	m->regs_size = (m->regs_size + 127) & ~127u;
}

static const char *size_shared(struct exec_machine *m)
{
	uint32_t align = m->img->dyn_align, st = m->l->fn->static_shared;
	uint64_t base = ((uint64_t)st + align - 1) & ~(uint64_t)(align - 1);
	uint64_t all = m->l->dyn_shared ? base + m->l->dyn_shared : st;

	if (all > EXEC_MAX_SHARED)
		return "too much shared memory";
	m->dyn_base = base;
	m->shared_size = all;
	return NULL;
}

static void start_warp_ids(struct exec_machine *m, struct warp *w)
{
	const uint32_t *b = m->l->block;

	for (uint32_t l = 0; l < WARP_LANES; l++) {
		uint32_t t = w->index * WARP_LANES + l;

		w->tid[0][l] = t % b[0];
		w->tid[1][l] = t / b[0] % b[1];
		w->tid[2][l] = t / b[0] / b[1];
	}
}

/*
 * Allocates memory for the blocks of @nclusters clusters that are present at once, and sets
 * what never changes.
 */
static bool place_blocks(struct exec_machine *m, uint32_t nclusters)
{
	uint32_t n = nclusters * m->ncluster;
	size_t nw = (size_t)n * m->nwarps;
	size_t shared = (m->shared_size + 127) & ~(size_t)127;
	size_t local = (size_t)m->local_size * WARP_LANES;

	if (!exec_scratch(&m->clusters, nclusters * sizeof(struct cluster)) ||
	    !exec_scratch(&m->ctas, n * sizeof(struct cta)) ||
	    !exec_scratch(&m->warps, nw * sizeof(struct warp)) ||
	    !exec_scratch(&m->regs, nw * m->regs_size) ||
	    !exec_scratch(&m->local, nw * local) ||
	    !exec_scratch(&m->shared, n * shared + 128))
		return false;
	for (size_t i = 0; i < nw; i++) {
		struct warp *w = (struct warp *)m->warps.p + i;

		w->m = m;
		w->index = i % m->nwarps;
		w->cta = (struct cta *)m->ctas.p + i / m->nwarps;
		w->regs = m->regs.p + i * m->regs_size;
		w->local = m->local.p + i * local;
		w->bank[1] = m->img->consts;
		start_warp_ids(m, w);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct cta *c = (struct cta *)m->ctas.p + i;

		c->nwarps = m->nwarps;
		c->warps = (struct warp *)m->warps.p + (size_t)i * m->nwarps;
		c->shared = m->shared.p + i * shared;
		c->shared_size = m->shared_size;
		c->cluster = (struct cluster *)m->clusters.p + i / m->ncluster;
		c->rank = i % m->ncluster;
		if (!c->rank)
			c->cluster->ctas = c;
	}
	return true;
}

/* Splits a number into three coordinates, of which the first runs fastest. */
static void coordinates(uint64_t index, uint64_t x, uint64_t y, uint32_t out[3])
{
	out[0] = index % x;
	out[1] = index / x % y;
	out[2] = index / x / y;
}

static void start_block(struct exec_machine *m, struct cta *c)
{
	uint32_t in_cluster[3];

	coordinates(c->rank, m->cluster[0], m->cluster[1], in_cluster);
	for (int i = 0; i < 3; i++)
		c->id[i] = c->cluster->id[i] * m->cluster[i] + in_cluster[i];
	c->number = m->started++;
	c->live = m->nthreads;
	memset(c->bar, 0, sizeof(c->bar));
	c->used = 0;
	for (uint32_t i = 0; i < c->nwarps; i++) {
		uint32_t left = m->nthreads - i * WARP_LANES;

		warp_start(&c->warps[i], m->code, left >= WARP_LANES ?
			   WARP_FULL : (1u << left) - 1);
	}
}

static void start_cluster(struct exec_machine *m, struct cluster *cl, uint64_t index)
{
	const uint32_t *g = m->l->grid;

	coordinates(index, g[0] / m->cluster[0], g[1] / m->cluster[1], cl->id);
	cl->arrived = 0;
	cl->live = m->ncluster * m->nthreads;
	for (uint32_t i = 0; i < m->ncluster; i++)
		start_block(m, &cl->ctas[i]);
}

/* ---- running ---- */

static bool cancelled(struct exec_machine *m)
{
	if (m->pooled && exec_pool_stop(m))
		return true;
	if (!m->l->cancel || !*m->l->cancel)
		return false;
	refuse(m, EXEC_CANCELLED, "cancelled");
	return true;
}

/* Gives each warp of a block one turn. */
static enum exec_status turn(struct exec_machine *m, struct cta *c,
			     bool *moved)
{
	for (uint32_t i = 0; i < c->nwarps; i++) {
		struct warp *w = &c->warps[i];
		uint32_t live = w->live;
		enum run r;

		if (!live)
			continue;
		r = warp_run(w, moved);
		if (r == RUN_FAULT)
			return m->fault.status;
		if (r == RUN_YIELD && cancelled(m))
			return EXEC_CANCELLED;
	}
	return EXEC_OK;
}

static enum exec_status deadlock(struct exec_machine *m, struct cta *c)
{
	for (uint32_t i = 0; i < c->nwarps; i++) {
		struct warp *w = &c->warps[i];

		if (!w->live)
			continue;
		exec_fault(w, EXEC_DEADLOCK, &m->img->code[w->g[0].pc],
			   __builtin_ctz(w->g[0].mask), 0);
		return EXEC_DEADLOCK;
	}
	return EXEC_DEADLOCK;
}

/* Runs @n blocks in turns. */
static enum exec_status run_blocks(struct exec_machine *m, struct cta *c, uint64_t n)
{
	bool live = true;

	while (live) {
		struct cta *stuck = NULL;
		bool moved = false;

		live = false;
		for (uint64_t i = 0; i < n; i++) {
			enum exec_status st;

			if (!c[i].live)
				continue;
			st = turn(m, &c[i], &moved);
			if (st != EXEC_OK)
				return st;
			live |= c[i].live;
			stuck = c[i].live ? &c[i] : stuck;
		}
		if (!moved && stuck)
			return deadlock(m, stuck);
	}
	return EXEC_OK;
}

static enum exec_status run_all_at_once(struct exec_machine *m, uint64_t nclusters)
{
	struct cluster *cl = (struct cluster *)m->clusters.p;

	for (uint64_t i = 0; i < nclusters; i++)
		start_cluster(m, &cl[i], i);
	return run_blocks(m, (struct cta *)m->ctas.p, nclusters * m->ncluster);
}

enum exec_status exec_one_cluster(struct exec_machine *m, uint64_t index)
{
	struct cluster *cl = (struct cluster *)m->clusters.p;
	enum exec_status st;

	start_cluster(m, cl, index);
	st = run_blocks(m, cl->ctas, m->ncluster);
	return st == EXEC_OK && cancelled(m) ? EXEC_CANCELLED : st;
}

static enum exec_status run_in_order(struct exec_machine *m, uint64_t n)
{
	enum exec_status st = EXEC_OK;

	for (uint64_t i = 0; st == EXEC_OK && i < n; i++)
		st = exec_one_cluster(m, i);
	return st;
}

static enum exec_status count_clusters(struct exec_machine *m, uint64_t *clusters)
{
	const struct exec_launch *l = m->l;
	uint64_t n = (uint64_t)l->grid[0] * l->grid[1];
	uint64_t present;

	if (n > UINT64_MAX / l->grid[2])
		return refuse(m, EXEC_BAD_LAUNCH, "too many blocks");
	n *= l->grid[2];
	present = l->cooperative ? n : m->ncluster;
	/* The product could overflow. */
	if (present > 1 && present > MAX_PRESENT_BYTES / m->nwarps /
	    (m->regs_size + 32ull * m->local_size + m->shared_size + 1024))
		return refuse(m, EXEC_BAD_LAUNCH, "too much memory for blocks that are there at once");
	*clusters = n / m->ncluster;
	return EXEC_OK;
}

static enum exec_status run_grid(struct exec_machine *m)
{
	bool coop = m->l->cooperative;
	enum exec_status st;
	uint64_t nclusters;

	st = count_clusters(m, &nclusters);
	if (st != EXEC_OK)
		return st;
	if (!place_blocks(m, coop ? nclusters : 1))
		return refuse(m, EXEC_NOMEM, "out of memory");
	m->ws = (struct grid_workspace){ .size = sizeof(m->ws) };
	m->pooled = exec_pool_wanted(m, nclusters);
	return coop ? run_all_at_once(m, nclusters) :
	       m->pooled ? exec_pool_run(m, nclusters) : run_in_order(m, nclusters);
}

static enum exec_status prepare(struct exec_machine *m,
				const struct exec_launch *l)
{
	const char *why;

	m->l = l;
	memset(&m->fault, 0, sizeof(m->fault));
	memset(m->range, 0, sizeof(m->range));
	if (!l->fn || !l->fn->entry || !l->fn->code->defined)
		return EXEC_BAD_LAUNCH;
	m->code = l->fn->code;
	m->img = (const struct ptx_image *)l->fn->module;
	why = bad_shape(l);
	if (!why)
		why = size_cluster(m);
	if (!why)
		why = size_shared(m);
	if (why)
		return refuse(m, EXEC_BAD_LAUNCH, why);
	m->nthreads = l->block[0] * l->block[1] * l->block[2];
	m->nwarps = (m->nthreads + WARP_LANES - 1) / WARP_LANES;
	m->started = 0;
	size_stacks(m);
	return EXEC_OK;
}

/* Prepares a helper thread for a launch that the launch's own thread has checked already. */
enum exec_status exec_prepare(struct exec_machine *m, const struct exec_launch *l)
{
	enum exec_status st = prepare(m, l);

	if (st == EXEC_OK && !place_blocks(m, 1))
		st = EXEC_NOMEM;
	m->pooled = true;
	return st;
}

static enum exec_status done(struct exec_machine *m, enum exec_status st, struct exec_fault *fault)
{
	if (st != EXEC_OK && fault) {
		*fault = m->fault;
		fault->status = st;
	}
	return st;
}

enum exec_status exec_check(struct exec_machine *m, const struct exec_launch *l,
			    struct exec_fault *fault)
{
	enum exec_status st = prepare(m, l);
	uint64_t n;

	if (st == EXEC_OK)
		st = count_clusters(m, &n);
	return done(m, st, fault);
}

/* Handlers need default rounding and subnormals, but the caller may have set MXCSR otherwise. */
enum exec_status exec_run(struct exec_machine *m, const struct exec_launch *l,
			  struct exec_fault *fault)
{
	unsigned int csr = _mm_getcsr();
	enum exec_status st;

	_mm_setcsr(0x1f80);
	st = prepare(m, l);
	if (st == EXEC_OK)
		st = run_grid(m);
	_mm_setcsr(csr);
	return done(m, st, fault);
}
