// SPDX-License-Identifier: Apache-2.0
/*
 * The memory limit where the driver keeps memory of its own accord: pools of
 * stream-ordered allocation, and the memory of graphs. Charged is what a pool
 * has reserved from the device, not what programs hold of it: that is what
 * nobody else can have. A pool grows by more than was asked for, so a growth that
 * turns out to be too much is undone before the client hears of it.
 */
#include "limits/memory.h"

static uint64_t attribute(struct wh_session *s, CUmemoryPool pool, CUmemPool_attribute attr)
{
	cuuint64_t value = 0;

	if (!s->drv.cuMemPoolGetAttribute ||
	    s->drv.cuMemPoolGetAttribute(pool, attr, &value) != CUDA_SUCCESS)
		return 0;
	return value;
}

/* A pool that nobody made is a device's default one. */
static int device_of(struct wh_session *s, CUmemoryPool pool)
{
	CUmemoryPool p;
	int d, n = 0;

	if (!s->drv.cuDeviceGetDefaultMemPool || !s->drv.cuDeviceGetCount ||
	    s->drv.cuDeviceGetCount(&n) != CUDA_SUCCESS)
		return wh_self.device;
	for (d = 0; d < n && d < WH_TENANT_DEVICES; d++)
		if (s->drv.cuDeviceGetDefaultMemPool(&p, d) == CUDA_SUCCESS && p == pool)
			return d;
	return wh_self.device;
}

static struct wh_mem_entry *entry_of(struct wh_session *s, CUmemoryPool pool)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e = wh_mem_find(m, WH_H_CUmemoryPool, (uintptr_t)pool);

	if (e)
		return e;
	e = wh_mem_add(m, WH_H_CUmemoryPool, (uintptr_t)pool);
	if (e)
		e->device = (int16_t)device_of(s, pool);
	return e;
}

/* The charge follows what is reserved; more is never refused here, it is there already. */
static void follow(struct wh_session *s, struct wh_mem_entry *e, uint64_t now)
{
	if (e->device < 0)
		return;
	if (now > e->bytes)
		wh_mem_note_taken(s, e->device, now - e->bytes);
	else if (now < e->bytes)
		wh_mem_give(s, e->device, e->bytes - now);
	e->bytes = now;
}

static uint64_t graph_bytes(struct wh_session *s, int device, CUgraphMem_attribute attr)
{
	cuuint64_t value = 0;

	if (!s->drv.cuDeviceGetGraphMemAttribute ||
	    s->drv.cuDeviceGetGraphMemAttribute(device, attr, &value) != CUDA_SUCCESS)
		return 0;
	return value;
}

bool wh_pools_changed(const struct wh_session *s)
{
	return s->limits.mem && s->limits.mem->pools_dirty;
}

void wh_pools_refresh(struct wh_session *s)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e;
	uint32_t i;

	if (!wh_pools_changed(s))
		return;
	m->pools_dirty = false;
	for (i = 0; i < m->size; i++) {
		e = &m->table[i];
		if (e->used != 1)
			continue;
		if (e->type == WH_H_CUmemoryPool)
			follow(s, e, attribute(s, (CUmemoryPool)e->key,
					       CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
		else if (e->type == WH_MEM_GRAPHS)
			follow(s, e, graph_bytes(s, (int)e->key,
						 CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT));
	}
}

/* --- One allocation from a pool ------------------------------------------------------ */

static CUgraph captured_graph(struct wh_session *s, CUstream stream)
{
	CUstreamCaptureStatus status;
	const CUgraphNode *nodes;
	CUgraph graph = NULL;
	cuuint64_t id;
	size_t n;

	if (s->drv.cuStreamGetCaptureInfo_v2)
		s->drv.cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &n);
	return graph;
}

static CUresult refuse(struct wh_session *s, int device)
{
	s->limits.account->device[device].refused++;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/*
 * Will the pool most likely serve it from what it has? By own count: the driver's
 * forgets what cuMemFree() frees.
 */
static bool has_idle(const struct wh_mem_entry *pool, uint64_t reserved, uint64_t bytes)
{
	return reserved > pool->inside && reserved - pool->inside >= bytes;
}

static void note_part(struct wh_session *s, struct wh_mem_entry *pool, CUdeviceptr address,
		      uint64_t bytes)
{
	uint64_t key = pool->key;
	struct wh_mem_entry *e;

	wh_pool_freed(s, address);
	e = wh_mem_add(s->limits.mem, WH_MEM_POOLED, address);
	if (!e)
		return;
	e->object = key;
	e->bytes = bytes;
	/* Adding may have moved it. */
	pool = wh_mem_find(s->limits.mem, WH_H_CUmemoryPool, key);
	if (pool)
		pool->inside += bytes;
}

bool wh_pool_freed(struct wh_session *s, CUdeviceptr address)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e = wh_mem_find(m, WH_MEM_POOLED, address), *pool;

	if (!e)
		return false;
	pool = wh_mem_find(m, WH_H_CUmemoryPool, e->object);
	if (pool)
		pool->inside -= e->bytes < pool->inside ? e->bytes : pool->inside;
	wh_mem_remove(m, e);
	return true;
}

/* By how much a pool will grow for `bytes`: in steps, once one was seen. */
static uint64_t growth(struct wh_session *s, uint64_t bytes)
{
	uint64_t step = s->limits.mem->pool_step;

	bytes = wh_mem_round(bytes, WH_MEM_BLOCK);
	return step && bytes < UINT64_MAX - step ? (bytes + step - 1) / step * step : bytes;
}

/* Of what was asked for at most half: the pool's own choice. */
static void learn_step(struct wh_mem_state *m, uint64_t bytes, uint64_t grown)
{
	if (bytes <= grown / 2 && (!m->pool_step || grown < m->pool_step))
		m->pool_step = grown;
}

CUresult wh_pool_charge(struct wh_session *s, struct wh_charge *c, CUmemoryPool pool,
			CUstream stream, uint64_t bytes)
{
	struct wh_mem_entry *e;

	*c = (struct wh_charge) { .device = -1 };
	s->pools = true;
	if (!s->limits.mem || wh_self.device < 0)
		return CUDA_SUCCESS;
	if (wh_capturing(s, stream)) {
		wh_graph_needs(s, captured_graph(s, stream), bytes);
		return CUDA_SUCCESS;
	}
	if (!pool && (!s->drv.cuDeviceGetMemPool ||
		      s->drv.cuDeviceGetMemPool(&pool, wh_self.device) != CUDA_SUCCESS))
		return CUDA_SUCCESS;
	e = entry_of(s, pool);
	if (!e || e->device < 0)
		return e ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	c->before = attribute(s, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
	follow(s, e, c->before);
	c->device = e->device;
	c->pool = pool;
	c->asked = bytes > UINT64_MAX - WH_MEM_ALIGN ? bytes :
		   (bytes + WH_MEM_ALIGN - 1) & ~(WH_MEM_ALIGN - 1);
	c->bytes = has_idle(e, c->before, c->asked) ? 0 : growth(s, bytes);
	wh_mem_look(s, c->device, c->bytes);
	if (wh_mem_take(s, c->device, c->bytes))
		return CUDA_SUCCESS;
	wh_mem_make_room(s, c->device);
	c->before = attribute(s, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
	c->bytes = growth(s, bytes);
	return wh_mem_take(s, c->device, c->bytes) ? CUDA_SUCCESS : refuse(s, c->device);
}

/* Give the memory back to the device, and the charge with it. */
static CUresult undo(struct wh_session *s, struct wh_charge *c, CUdeviceptr address,
		     CUstream stream)
{
	if (s->drv.cuMemFreeAsync && s->drv.cuStreamSynchronize && s->drv.cuMemPoolTrimTo) {
		s->drv.cuMemFreeAsync(address, stream);
		s->drv.cuStreamSynchronize(stream);
		s->drv.cuMemPoolTrimTo(c->pool, 0);
	}
	s->limits.mem->pools_dirty = true;
	wh_pools_refresh(s);
	return refuse(s, c->device);
}

CUresult wh_pool_charged(struct wh_session *s, struct wh_charge *c, CUresult res,
			 CUdeviceptr address, CUstream stream)
{
	struct wh_mem_entry *e;
	uint64_t now, grown;

	if (c->device < 0)
		return res;
	e = entry_of(s, c->pool);
	now = attribute(s, c->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
	grown = now > c->before ? now - c->before : 0;
	if (!e)
		return res;
	if (!s->limits.mem->pool_step)
		learn_step(s->limits.mem, c->bytes, grown);
	/* The reservation becomes the pool's; what it took beyond must fit, too. */
	if (grown <= c->bytes) {
		wh_mem_give(s, c->device, c->bytes - grown);
	} else if (!wh_mem_take(s, c->device, grown - c->bytes)) {
		e->bytes += c->bytes;
		return res == CUDA_SUCCESS ? undo(s, c, address, stream) : res;
	}
	e->bytes += grown;
	follow(s, e, now);
	if (res == CUDA_SUCCESS)
		note_part(s, e, address, c->asked);
	return res;
}

void wh_pool_trimmed(struct wh_session *s)
{
	if (!s->limits.mem)
		return;
	s->limits.mem->pools_dirty = true;
	wh_pools_refresh(s);
}

void wh_graphs_trimmed(struct wh_session *s)
{
	if (s->limits.mem)
		s->limits.mem->trims++;
	wh_pool_trimmed(s);
}

/* --- Graphs ------------------------------------------------------------------------------ */

static struct wh_mem_note *note_of(struct wh_mem_state *m, void *graph)
{
	unsigned int i;

	for (i = 0; i < m->notes; i++)
		if (m->note[i].graph == graph)
			return &m->note[i];
	return NULL;
}

/* Too many graphs with memory: the last note stands for all further ones, and grows. */
static struct wh_mem_note *make_note(struct wh_mem_state *m, void *graph)
{
	struct wh_mem_note *n = note_of(m, graph);

	if (n)
		return n;
	if (m->notes < WH_MEM_NOTES)
		m->note[m->notes++] = (struct wh_mem_note) { .graph = graph };
	n = &m->note[m->notes - 1];
	n->graph = graph;
	return n;
}

/* The driver may give the next graph the same address. */
void wh_graph_gone(struct wh_session *s, void *graph)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_note *n = m ? note_of(m, graph) : NULL;

	if (n)
		*n = m->note[--m->notes];
}

/* Sizes that no device has may come in any number: the sum must not wrap. */
static void add_need(struct wh_mem_note *n, uint64_t bytes)
{
	n->bytes = bytes > UINT64_MAX - n->bytes ? UINT64_MAX : n->bytes + bytes;
}

void wh_graph_needs(struct wh_session *s, CUgraph graph, uint64_t bytes)
{
	if (s->limits.mem)
		add_need(make_note(s->limits.mem, graph), wh_mem_round(bytes, WH_MEM_BLOCK));
}

/* A clone, a child, an executable: it needs what the first needs. */
void wh_graph_copied(struct wh_session *s, void *from, void *to)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_note *n = m ? note_of(m, from) : NULL;
	uint64_t bytes = n ? n->bytes : 0;

	if (bytes)
		add_need(make_note(m, to), bytes);
}

static struct wh_mem_entry *graphs_of(struct wh_session *s, int device)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e = wh_mem_find(m, WH_MEM_GRAPHS, (uint64_t)device);

	if (e)
		return e;
	e = wh_mem_add(m, WH_MEM_GRAPHS, (uint64_t)device);
	if (e)
		e->device = (int16_t)device;
	return e;
}

/*
 * Graphs of a device share what is reserved for them, one after the other; what
 * a graph needed once stays for it until it is trimmed. The driver calls all of
 * it used, so a graph's first launch is reserved for in full, and what it did
 * not need is given back when the driver says so.
 */
CUresult wh_graph_charge(struct wh_session *s, void *exec)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_note *n = m ? note_of(m, exec) : NULL;
	int device = wh_self.device;
	struct wh_mem_entry *e;
	uint64_t more;

	if (!n || device < 0 || n->trims == m->trims)
		return CUDA_SUCCESS;
	e = graphs_of(s, device);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	follow(s, e, graph_bytes(s, device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT));
	more = growth(s, n->bytes);
	wh_mem_look(s, device, more);
	if (!wh_mem_take(s, device, more)) {
		wh_mem_make_room(s, device);
		if (!wh_mem_take(s, device, more))
			return refuse(s, device);
	}
	e->bytes += more;
	return CUDA_SUCCESS;
}

void wh_graph_charged(struct wh_session *s, void *exec, CUresult res)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_note *n = m ? note_of(m, exec) : NULL;

	if (!n || n->trims == m->trims)
		return;
	if (res == CUDA_SUCCESS)
		n->trims = m->trims;
	m->pools_dirty = true;
	wh_pools_refresh(s);
}
