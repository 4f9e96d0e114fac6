// SPDX-License-Identifier: Apache-2.0
/*
 * The memory limit for memory that the driver keeps by itself: pools of stream-ordered allocation,
 * and the memory of graphs. A pool is charged for what it has reserved from the device, not for
 * what programs hold of it, because nobody else can have the reserved memory. A pool grows by more
 * than was asked for, so a growth that turns out to be too much is undone before the client hears
 * of it.
 */
#include "limits/ipc.h"
#include "limits/memory.h"

/*
 * Reads how much memory a pool has of its device. False: it cannot be read, and nothing is known.
 */
static bool reserved(struct wh_session *s, CUmemoryPool pool, uint64_t *bytes)
{
	cuuint64_t value = 0;

	if (!s->drv.cuMemPoolGetAttribute ||
	    s->drv.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value) !=
	    CUDA_SUCCESS)
		return false;
	*bytes = value;
	return true;
}

/* A pool that no client made is a device's default pool. */
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

/*
 * Gives back memory of a pool or of graphs. If it held less than was charged, it has hidden what
 * others took unseen, since the charge is the greater of the two figures. So the driver is asked
 * again before anybody takes more.
 */
static void give_measured(struct wh_session *s, int device, uint64_t bytes)
{
	wh_mem_give(s, device, bytes);
	s->limits.mem->figure_tsc = 0;
}

/*
 * Makes the charge follow what is reserved. A growth is never refused here, since it has happened
 * already.
 */
static void follow(struct wh_session *s, struct wh_mem_entry *e, uint64_t now)
{
	if (e->device < 0)
		return;
	if (e->type == WH_H_CUmemoryPool)
		now = wh_ipc_pool_has(s, e->key, now);
	if (now > e->bytes)
		wh_mem_note_taken(s, e->device, now - e->bytes);
	else if (now < e->bytes)
		give_measured(s, e->device, e->bytes - now);
	e->bytes = now;
}

/* Reads how much memory the graphs of a device have reserved. False as in reserved(). */
static bool graph_bytes(struct wh_session *s, int device, uint64_t *bytes)
{
	cuuint64_t value = 0;

	if (!s->drv.cuDeviceGetGraphMemAttribute ||
	    s->drv.cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
						&value) != CUDA_SUCCESS)
		return false;
	*bytes = value;
	return true;
}

/*
 * An empty pool has no parts any more: parts that ended with their context were not freed one by
 * one.
 */
static void forget_parts(struct wh_mem_state *m, struct wh_mem_entry *pool)
{
	uint32_t i;

	pool->inside = 0;
	for (i = 0; i < m->size; i++)
		if (m->table[i].used == 1 && m->table[i].type == WH_MEM_POOLED &&
		    m->table[i].inside == pool->type && m->table[i].object == pool->key)
			wh_mem_remove(m, &m->table[i]);
}

/* False: it cannot be read, and the old charge stays. */
static bool refresh(struct wh_session *s, struct wh_mem_entry *e)
{
	uint64_t now;

	if (e->type == WH_MEM_GRAPHS ? !graph_bytes(s, (int)e->key, &now) :
				       !reserved(s, (CUmemoryPool)e->key, &now))
		return false;
	if (!now && e->inside)
		forget_parts(s->limits.mem, e);
	follow(s, e, now);
	return true;
}

bool wh_pools_changed(const struct wh_session *s)
{
	return s->limits.mem && (s->limits.mem->pools_dirty || s->limits.mem->freeing);
}

void wh_pools_refresh(struct wh_session *s)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e;
	bool all = true;
	uint32_t i;

	if (!wh_pools_changed(s))
		return;
	if (m->freeing)
		wh_mem_settle(s);
	m->freeing = false;
	for (i = 0; i < m->size; i++) {
		e = &m->table[i];
		if (e->used == 1 && (e->type == WH_H_CUmemoryPool || e->type == WH_MEM_GRAPHS))
			all = refresh(s, e) && all;
	}
	m->pools_dirty = !all;
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
 * Can the pool most likely serve the request from what it has? This uses a count of our own, since
 * the driver's forgets what cuMemFree() frees.
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
	if (e) {
		e->object = key;
		e->bytes = bytes;
		e->inside = WH_H_CUmemoryPool;
	}
	/*
	 * Adding may have moved the entry. If a part has no entry, the pool never gets rid of it.
	 */
	pool = wh_mem_find(s->limits.mem, WH_H_CUmemoryPool, key);
	if (pool)
		pool->inside += bytes;
}

/*
 * The driver keeps a destroyed pool until its last part is freed, and answers nothing about it any
 * more. So all memory that it had stays charged until then, under another name: the driver may give
 * the next pool the same handle.
 */
void wh_pool_destroyed(struct wh_session *s, struct wh_mem_entry *pool)
{
	struct wh_mem_state *m = s->limits.mem;
	uint64_t key = pool->key, name = ++m->destroyed;
	struct wh_mem_entry gone = *pool, *e;
	uint32_t i;

	wh_mem_remove(m, pool);
	if (!gone.inside) {
		give_measured(s, gone.device, gone.bytes);
		return;
	}
	for (i = 0; i < m->size; i++) {
		e = &m->table[i];
		if (e->used != 1 || e->type != WH_MEM_POOLED || e->object != key ||
		    e->inside != WH_H_CUmemoryPool)
			continue;
		e->inside = WH_MEM_DESTROYED;
		e->object = name;
	}
	e = wh_mem_add(m, WH_MEM_DESTROYED, name);
	/* Without memory for an entry it stays charged until the worker ends. */
	if (!e)
		return;
	e->device = gone.device;
	e->bytes = gone.bytes;
	e->inside = gone.inside;
}

bool wh_pool_freed(struct wh_session *s, CUdeviceptr address)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e = wh_mem_find(m, WH_MEM_POOLED, address), *pool;

	if (!e)
		return false;
	pool = wh_mem_find(m, (uint32_t)e->inside, e->object);
	if (pool)
		pool->inside -= e->bytes < pool->inside ? e->bytes : pool->inside;
	wh_mem_remove(m, e);
	if (!pool || pool->type != WH_MEM_DESTROYED || pool->inside)
		return true;
	wh_mem_remove(m, pool);
	/* Its parts may have been freed in the order of several streams. */
	wh_mem_give_in_order(s, pool->device, pool->bytes, NULL);
	return true;
}

/* --- Threads without a context ------------------------------------------------------- */

/*
 * If a thread has no context, the driver takes the stream's context, and answers nothing about a
 * pool. So the call runs in the context of its stream.
 */
static bool enter(struct wh_session *s, struct wh_charge *c, CUstream stream)
{
	CUcontext ctx = NULL;
	CUdevice dev;

	if (wh_self.device >= 0)
		return true;
	if (!stream || !s->drv.cuStreamGetCtx || !s->drv.cuCtxSetCurrent ||
	    s->drv.cuStreamGetCtx(stream, &ctx) != CUDA_SUCCESS || !ctx ||
	    s->drv.cuCtxSetCurrent(ctx) != CUDA_SUCCESS)
		return false;
	c->entered = true;
	if (s->drv.cuCtxGetDevice(&dev) == CUDA_SUCCESS && dev >= 0 && dev < WH_TENANT_DEVICES)
		wh_self_on(s, dev);
	return wh_self.device >= 0;
}

static CUresult leave(struct wh_session *s, struct wh_charge *c, CUresult res)
{
	if (!c->entered)
		return res;
	s->drv.cuCtxSetCurrent(NULL);
	c->entered = false;
	wh_self_on(s, -1);
	return res;
}

/* Has the machine one device? Their number never changes while the driver is loaded. */
static bool one_device(struct wh_session *s)
{
	static int devices;	/* 0: not asked yet */
	int n = __atomic_load_n(&devices, __ATOMIC_RELAXED);

	if (!n && s->drv.cuDeviceGetCount && s->drv.cuDeviceGetCount(&n) == CUDA_SUCCESS)
		__atomic_store_n(&devices, n, __ATOMIC_RELAXED);
	return n == 1;
}

/*
 * Returns the device of a stream: without a pool's name the driver takes the current pool of that
 * device, whatever context is current. Where there is one device the driver is not asked: a call
 * less, and none on a stream that captures.
 */
static int device_of_stream(struct wh_session *s, CUstream stream)
{
	CUdevice dev = wh_self.device;
	CUcontext ctx = NULL;

	if ((uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD)
		return dev;
	if (one_device(s))
		return 0;
	if (s->drv.cuStreamGetDevice && s->drv.cuStreamGetDevice(stream, &dev) == CUDA_SUCCESS)
		return dev;
	/* A driver before CUDA 12.8. */
	if (s->drv.cuStreamGetCtx && s->drv.cuStreamGetCtx(stream, &ctx) == CUDA_SUCCESS)
		dev = wh_device_of_context(s, ctx);
	return dev < 0 ? wh_self.device : dev;
}

/* Returns by how much a pool will grow for `bytes`: in steps, once a step was seen. */
static uint64_t growth(struct wh_session *s, uint64_t bytes)
{
	uint64_t step = s->limits.mem->pool_step;

	bytes = wh_mem_round(bytes, WH_MEM_BLOCK);
	return step && bytes < UINT64_MAX - step ? (bytes + step - 1) / step * step : bytes;
}

/*
 * Learns the step by which pools grow. If at most half of the growth was asked for, the size was
 * the pool's own choice.
 */
static void learn_step(struct wh_mem_state *m, uint64_t bytes, uint64_t grown)
{
	if (bytes <= grown / 2 && (!m->pool_step || grown < m->pool_step))
		m->pool_step = grown;
}

/*
 * Notes an allocation that becomes a node of a graph. The graph's launch will take the memory, from
 * the pool's device.
 */
static void captured(struct wh_session *s, CUmemoryPool pool, CUstream stream, uint64_t bytes)
{
	struct wh_mem_entry *e = pool ? entry_of(s, pool) : NULL;

	wh_graph_needs(s, captured_graph(s, stream), e ? e->device : device_of_stream(s, stream),
		       bytes);
}

/* Reserves what the pool will grow by. */
static CUresult reserve(struct wh_session *s, struct wh_charge *c, uint64_t bytes, bool again)
{
	struct wh_mem_entry *e = entry_of(s, c->pool);

	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!reserved(s, c->pool, &c->before)) {
		s->limits.mem->pools_dirty = true;
		return refuse(s, c->device);
	}
	follow(s, e, c->before);
	c->bytes = !again && has_idle(e, c->before, c->asked) ? 0 : growth(s, bytes);
	wh_mem_look(s, c->device, c->bytes);
	return wh_mem_take(s, c->device, c->bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult pool_charge(struct wh_session *s, struct wh_charge *c, CUmemoryPool pool,
			    CUstream stream, uint64_t bytes)
{
	struct wh_mem_entry *e;

	if (!enter(s, c, stream))
		return CUDA_SUCCESS;
	if (wh_capturing(s, stream)) {
		captured(s, pool, stream, bytes);
		c->captured = true;
		return CUDA_SUCCESS;
	}
	if (!pool && (!s->drv.cuDeviceGetMemPool ||
		      s->drv.cuDeviceGetMemPool(&pool, device_of_stream(s, stream)) !=
			      CUDA_SUCCESS))
		return CUDA_SUCCESS;
	e = entry_of(s, pool);
	if (!e || e->device < 0)
		return e ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	c->device = e->device;
	c->pool = pool;
	c->asked = bytes > UINT64_MAX - WH_MEM_ALIGN ? bytes :
		   (bytes + WH_MEM_ALIGN - 1) & ~(WH_MEM_ALIGN - 1);
	if (reserve(s, c, bytes, false) == CUDA_SUCCESS)
		return CUDA_SUCCESS;
	wh_mem_make_room(s, c->device);
	return reserve(s, c, bytes, true) == CUDA_SUCCESS ? CUDA_SUCCESS : refuse(s, c->device);
}

CUresult wh_pool_charge(struct wh_session *s, struct wh_charge *c, CUmemoryPool pool,
			CUstream stream, uint64_t bytes)
{
	CUresult res;

	*c = (struct wh_charge) { .device = -1 };
	s->pools = true;
	if (!s->limits.mem)
		return CUDA_SUCCESS;
	if (pool && wh_ipc_pool_imported(s, pool))
		return CUDA_ERROR_INVALID_VALUE;
	res = pool_charge(s, c, pool, stream, bytes);
	return res == CUDA_SUCCESS ? res : leave(s, c, res);
}

/* Gives the memory back to the device, and its charge. */
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

/* If nothing is known of the pool or its device, the driver should have refused the call. */
static CUresult unknown(struct wh_session *s, CUdeviceptr address, CUstream stream)
{
	if (s->drv.cuMemFreeAsync)
		s->drv.cuMemFreeAsync(address, stream);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult pool_charged(struct wh_session *s, struct wh_charge *c, CUresult res,
			     CUdeviceptr address, CUstream stream)
{
	struct wh_mem_entry *e;
	uint64_t now, grown;

	e = entry_of(s, c->pool);
	/* If it cannot be read, take as much as was reserved. */
	if (!reserved(s, c->pool, &now))
		now = c->before + c->bytes;
	grown = now > c->before ? now - c->before : 0;
	if (!e)
		return res;
	if (!s->limits.mem->pool_step)
		learn_step(s->limits.mem, c->bytes, grown);
	/* The reservation becomes the pool's charge. What the pool took beyond it must fit, too. */
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

CUresult wh_pool_charged(struct wh_session *s, struct wh_charge *c, CUresult res,
			 CUdeviceptr address, CUstream stream)
{
	wh_note_refused(c, res);
	if (c->device >= 0)
		res = pool_charged(s, c, res, address, stream);
	else if (res == CUDA_SUCCESS && !c->captured && s->limits.mem && wh_mem_any_quota(s))
		res = unknown(s, address, stream);
	return leave(s, c, res);
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

/*
 * The needs of a graph's memory nodes are entries of the table, one for each device. The table has
 * room for any number of them. If one cannot be kept, no graph is launched any more.
 */
static struct wh_mem_entry *need_of(struct wh_mem_state *m, int device, void *graph)
{
	return m->needing & 1u << device ?
	       wh_mem_find(m, WH_MEM_NEED + (uint32_t)device, (uintptr_t)graph) : NULL;
}

/* Forgets the needs: the driver may give the next graph the same address. */
void wh_graph_gone(struct wh_session *s, void *graph)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e;
	int d;

	for (d = 0; m && m->needing && d < WH_TENANT_DEVICES; d++) {
		e = need_of(m, d, graph);
		if (e)
			wh_mem_remove(m, e);
	}
}

/* Programs may name impossible sizes, and any number of them: the sum must not wrap. */
static void add_need(struct wh_mem_state *m, void *graph, int device, uint64_t bytes)
{
	struct wh_mem_entry *e = need_of(m, device, graph);

	m->needing |= 1u << device;
	if (!e)
		e = wh_mem_add(m, WH_MEM_NEED + (uint32_t)device, (uintptr_t)graph);
	if (e)
		e->bytes = bytes > UINT64_MAX - e->bytes ? UINT64_MAX : e->bytes + bytes;
	else
		m->needs_lost = true;
}

void wh_graph_needs(struct wh_session *s, CUgraph graph, int device, uint64_t bytes)
{
	struct wh_mem_state *m = s->limits.mem;

	/* A capture that was invalidated has no graph that could be launched. */
	if (!m || !graph)
		return;
	if (device < 0 || device >= WH_TENANT_DEVICES)
		m->needs_lost = true;
	else
		add_need(m, graph, device, wh_mem_round(bytes, WH_MEM_BLOCK));
}

/* A clone, a parent graph or an executable graph needs what the first graph needs. */
void wh_graph_copied(struct wh_session *s, void *from, void *to)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e;
	int d;

	for (d = 0; m && m->needing && d < WH_TENANT_DEVICES; d++) {
		e = need_of(m, d, from);
		if (e && e->bytes)
			add_need(m, to, d, e->bytes);
	}
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
 * Graphs of a device share the memory that is reserved for them, one after the other. Memory that a
 * graph needed once stays for it until it is trimmed. The driver reports all of it as used. So a
 * graph's first launch reserves its full need, and the part that it did not need is given back when
 * the driver says so.
 */
static CUresult charge_need(struct wh_session *s, int device, uint64_t bytes)
{
	struct wh_mem_entry *e = graphs_of(s, device);
	uint64_t more = growth(s, bytes);

	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	refresh(s, e);
	wh_mem_look(s, device, more);
	if (!wh_mem_take(s, device, more)) {
		wh_mem_make_room(s, device);
		if (!wh_mem_take(s, device, more))
			return refuse(s, device);
	}
	e->bytes += more;
	return CUDA_SUCCESS;
}

CUresult wh_graph_charge(struct wh_session *s, void *exec)
{
	struct wh_mem_state *m = s->limits.mem;
	CUresult res = CUDA_SUCCESS;
	struct wh_mem_entry *e;
	int d;

	if (m && m->needs_lost && wh_mem_any_quota(s))
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (d = 0; m && m->needing && d < WH_TENANT_DEVICES && res == CUDA_SUCCESS; d++) {
		e = need_of(m, d, exec);
		if (e && e->inside != m->trims)
			res = charge_need(s, d, e->bytes);
	}
	/* Memory of another device may have been reserved already. */
	if (res != CUDA_SUCCESS)
		m->pools_dirty = true;
	return res;
}

void wh_graph_charged(struct wh_session *s, void *exec, CUresult res)
{
	struct wh_mem_state *m = s->limits.mem;
	bool any = false;
	struct wh_mem_entry *e;
	int d;

	for (d = 0; m && m->needing && d < WH_TENANT_DEVICES; d++) {
		e = need_of(m, d, exec);
		if (!e || e->inside == m->trims)
			continue;
		any = true;
		if (res == CUDA_SUCCESS)
			e->inside = m->trims;
	}
	if (!any)
		return;
	m->pools_dirty = true;
	wh_pools_refresh(s);
}
