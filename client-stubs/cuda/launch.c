// SPDX-License-Identifier: Apache-2.0
/*
 * Launches. CUDA takes an array of addresses, one for each parameter. The request has one block
 * of bytes, laid out as the kernel wants it. The worker is asked for the layout at a kernel's
 * first launch, and it is kept. A layout is read without a lock: it is replaced only when its
 * kernel has ended, and a program that launches the kernel meanwhile makes a mistake.
 */
#include "quick.h"
#include "stubs.h"

#include <stdlib.h>

struct layout {
	uint64_t function;
	uint32_t count;
	uint32_t total;
	struct wh_param param[];
};

/* Found by the handle's index. A handle that was reused differs in its other half. */
#define CHUNK		1024u
#define CHUNKS		1024u
static struct layout **chunk[CHUNKS] WH_PAIR;

static WH_INLINE struct layout **place(uint64_t function)
{
	uint32_t i = (uint32_t)function;
	struct layout **c;

	if (i >= CHUNK * CHUNKS)
		return NULL;
	c = __atomic_load_n(&chunk[i / CHUNK], __ATOMIC_ACQUIRE);
	return c ? &c[i % CHUNK] : NULL;
}

static struct layout **make_place(uint64_t function)
{
	uint32_t i = (uint32_t)function;

	if (i < CHUNK * CHUNKS && !chunk[i / CHUNK])
		__atomic_store_n(&chunk[i / CHUNK], calloc(CHUNK, sizeof(struct layout *)),
				 __ATOMIC_RELEASE);
	return place(function);
}

static WH_INLINE const struct layout *known_layout(uint64_t function)
{
	struct layout **p = place(function), *l;

	l = p ? __atomic_load_n(p, __ATOMIC_ACQUIRE) : NULL;
	return l && l->function == function ? l : NULL;
}

/* If another thread has kept a layout meanwhile, that one stays, since it may be in use. */
static CUresult put_layout(struct layout *l)
{
	static pthread_mutex_t lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
	CUresult res = CUDA_SUCCESS;
	struct layout **p, *old = l;

	pthread_mutex_lock(&lock);
	p = make_place(l->function);
	if (!p) {
		res = CUDA_ERROR_OUT_OF_MEMORY;
	} else if (!known_layout(l->function)) {
		old = *p;
		__atomic_store_n(p, l, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	free(old);
	return res;
}

/* Keeps the layout from the response in c. */
static CUresult keep_layout(struct wh_call *c, uint64_t function)
{
	const struct wh_rsp_whParamLayout *r = c->rsp;
	struct layout *l;
	uint32_t i;

	if (r->count > wh_client.link.msg_size / sizeof(*l->param))
		return CUDA_ERROR_UNKNOWN;
	l = malloc(sizeof(*l) + r->count * sizeof(*l->param));
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*l = (struct layout) { .function = function, .count = r->count, .total = r->total };
	c->pos = WH_WIRE_FIXED(*r);
	wh_reply_take(c, l->param, l->count, sizeof(*l->param));
	for (i = 0; i < l->count; i++)
		if (l->param[i].offset > l->total ||
		    l->param[i].size > l->total - l->param[i].offset)
			break;
	if (i < l->count) {
		free(l);
		return CUDA_ERROR_UNKNOWN;
	}
	return put_layout(l);
}

static CUresult ask_layout(uint64_t function)
{
	struct wh_req_whParamLayout *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_whParamLayout, sizeof(*q));
	if (!q)
		return c.result;
	q->function = function;
	res = wh_run(&c, sizeof(struct wh_rsp_whParamLayout));
	if (res == CUDA_SUCCESS)
		res = keep_layout(&c, function);
	wh_end(&c);
	return res;
}

/* --- Parameters ------------------------------------------------------------------------- */

/* Takes the parameters in one of the two forms that CUDA allows. */
CUresult wh_params_take(void **array, void **extra, struct wh_params *p)
{
	*p = (struct wh_params) { .array = array };
	if (!extra)
		return CUDA_SUCCESS;
	if (array)
		return CUDA_ERROR_INVALID_VALUE;
	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			p->buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			p->size = *(const size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	return p->size > WH_MAX_PARAM_BYTES || (p->size && !p->buffer) ? CUDA_ERROR_INVALID_VALUE :
									   CUDA_SUCCESS;
}

static inline void put_param(uint8_t *to, const void *from, uint32_t size)
{
	switch (size) {
	case 4:
		memcpy(to, from, 4);
		break;
	case 8:
		memcpy(to, from, 8);
		break;
	default:
		memcpy(to, from, size);
	}
}

static void pack(uint8_t *to, const struct layout *l, void **array)
{
	uint32_t i;

	for (i = 0; i < l->count; i++)
		put_param(to + l->param[i].offset, array[i], l->param[i].size);
}

size_t wh_params_pack(uint64_t function, const struct wh_params *p, uint8_t *to)
{
	const struct layout *l;

	if (!p->array) {
		memcpy(to, p->buffer ? p->buffer : "", p->size);
		return p->size;
	}
	l = known_layout(function);
	if (!l)
		return SIZE_MAX;
	pack(to, l, p->array);
	return l->total;
}

CUresult wh_params_ask(uint64_t function)
{
	return ask_layout(function);
}

/* --- Sending ------------------------------------------------------------------------------ */

struct launch {
	uint32_t call;
	uint64_t function;
	uint64_t stream;
	CUlaunchConfig config;
	struct wh_params params;
};

static WH_INLINE void fill(struct wh_req_whLaunch *q, const struct launch *l, uint32_t param_bytes)
{
	const CUlaunchConfig *k = &l->config;

	q->grid[0] = k->gridDimX;
	q->grid[1] = k->gridDimY;
	q->grid[2] = k->gridDimZ;
	q->block[0] = k->blockDimX;
	q->block[1] = k->blockDimY;
	q->block[2] = k->blockDimZ;
	q->shared = k->sharedMemBytes;
	q->param_bytes = param_bytes;
	q->stream = l->stream;
	q->function = l->function;
	q->attrs = k->numAttrs;
	q->resv = 0;
}

/* Sends a launch, or one of the two cluster queries, whose answer is a value. */
static CUresult send(const struct launch *l, const struct layout *lay, int *value)
{
	size_t head = WH_WIRE_FIXED(struct wh_req_whLaunch);
	size_t bytes = lay ? lay->total : l->params.size;
	struct wh_req_whLaunch *q;
	struct wh_call c;
	CUresult res;

	head += wh_wire_bytes(l->config.numAttrs, sizeof(CUlaunchAttribute));
	q = wh_begin(&c, l->call, head + WH_MAX_PARAM_BYTES);
	if (!q)
		return c.result;
	if (WH_UNLIKELY(wh_client.mirrors))
		wh_managed_launched(l->stream);
	fill(q, l, bytes);
	c.pos = WH_WIRE_FIXED(*q);
	if (l->config.numAttrs)
		wh_request_put(&c, l->config.attrs, l->config.numAttrs, sizeof(CUlaunchAttribute));
	if (lay)
		pack(c.msg + head, lay, l->params.array);
	else if (bytes)
		memcpy(c.msg + head, l->params.buffer, bytes);
	c.size = head + bytes;
	/* CUDA judges a launch without attributes by the fixed part alone. */
	if (!value && !q->attrs)
		res = wh_post(&c, sizeof(*q));
	else
		res = wh_run(&c, value ? sizeof(struct wh_rsp_cluster) : sizeof(struct wh_rsp));
	if (value && res == CUDA_SUCCESS)
		*value = ((const struct wh_rsp_cluster *)c.rsp)->value;
	wh_end(&c);
	return res;
}

/* Makes a launch of every kind. */
static CUresult launch(const struct launch *l, int *value)
{
	const struct layout *lay = NULL;
	CUresult res;

	if (l->params.array) {
		lay = known_layout(l->function);
		if (!lay) {
			res = ask_layout(l->function);
			if (res != CUDA_SUCCESS)
				return res;
			lay = known_layout(l->function);
		}
		if (!lay)
			return CUDA_ERROR_NOT_READY;
	}
	return send(l, lay, value);
}

static __attribute__((noinline)) CUresult launch_config(const CUlaunchConfig *config, CUfunction f,
							void **params, void **extra)
{
	struct launch l = { WH_CALL_whLaunch, (uint64_t)f, wh_stream(config->hStream), *config,
			    { 0 } };
	CUresult res = wh_params_take(params, extra, &l.params);

	return res ? res : launch(&l, NULL);
}

/* Finishes a launch whose request is already built, of a kernel whose layout is not known yet. */
static __attribute__((noinline, cold)) CUresult launch_unknown(struct wh_quick k, void **params)
{
	const struct wh_req_whLaunch *q = k.msg;
	CUfunction f = (CUfunction)q->function;
	const CUlaunchConfig config = {
		q->grid[0], q->grid[1], q->grid[2], q->block[0], q->block[1], q->block[2],
		q->shared, (CUstream)q->stream, NULL, 0,
	};

	wh_quick_drop(k);
	return launch_config(&config, f, params, NULL);
}

/*
 * Serves nearly all launches: parameters in an array or none, no attributes, and success as the
 * answer. Arguments in registers are stored in the request before the registers are needed for
 * the parameters. False: nothing was done.
 */
static WH_INLINE bool launch_quickly(const struct launch *l, CUresult *res)
{
	const size_t most = WH_WIRE_FIXED(struct wh_req_whLaunch) + WH_MAX_PARAM_BYTES;
	struct wh_quick k = wh_quick_begin(__builtin_frame_address(0), WH_CALL_whLaunch, most);
	struct wh_req_whLaunch *q = k.msg;
	const struct layout *lay;
	size_t bytes = 0;

	if (WH_UNLIKELY(!q))
		return false;
	fill(q, l, 0);
	if (l->params.array) {
		lay = known_layout(l->function);
		if (WH_UNLIKELY(!lay)) {
			*res = launch_unknown(k, l->params.array);
			return true;
		}
		q->param_bytes = bytes = lay->total;
		pack((uint8_t *)q + WH_WIRE_FIXED(*q), lay, l->params.array);
	}
	*res = wh_quick_post(k, WH_WIRE_FIXED(*q) + bytes, sizeof(*q));
	return true;
}

/* Takes the arguments where they are, since the fast path has no place of its own for them. */
static __attribute__((noinline)) CUresult
launch_slowly(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
	      unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
	      unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
	return launch_config(&(CUlaunchConfig) {
		gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
		sharedMemBytes, hStream, NULL, 0,
	}, f, kernelParams, extra);
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
			unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
			unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
			void **kernelParams, void **extra)
{
	const struct launch l = {
		WH_CALL_whLaunch, (uint64_t)f, wh_stream(hStream),
		{ gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
		  sharedMemBytes, hStream, NULL, 0 },
		{ .array = kernelParams },
	};
	CUresult res;

	if (WH_LIKELY(!extra && launch_quickly(&l, &res)))
		return res;
	return launch_slowly(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
			     sharedMemBytes, hStream, kernelParams, extra);
}

static WH_INLINE bool launch_config_quickly(const CUlaunchConfig *config, CUfunction f,
					    void **params, CUresult *res)
{
	const struct launch l = {
		WH_CALL_whLaunch, (uint64_t)f, wh_stream(config->hStream), *config,
		{ .array = params },
	};

	return launch_quickly(&l, res);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
			  void **extra)
{
	CUresult res;

	if (!config || config->numAttrs > WH_MAX_LAUNCH_ATTRS ||
	    (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	if (!extra && !config->numAttrs && launch_config_quickly(config, f, kernelParams, &res))
		return res;
	return launch_config(config, f, kernelParams, extra);
}

CUresult wh_per_thread_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f,
					void **kernelParams, void **extra)
{
	CUlaunchConfig c;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	c = *config;
	if (!c.hStream)
		c.hStream = CU_STREAM_PER_THREAD;
	return cuLaunchKernelEx(&c, f, kernelParams, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
				   unsigned int gridDimZ, unsigned int blockDimX,
				   unsigned int blockDimY, unsigned int blockDimZ,
				   unsigned int sharedMemBytes, CUstream hStream,
				   void **kernelParams)
{
	CUlaunchAttribute cooperative = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
					  .value.cooperative = 1 };
	const CUlaunchConfig config = {
		gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
		sharedMemBytes, hStream, &cooperative, 1,
	};

	return cuLaunchKernelEx(&config, f, kernelParams, NULL);
}

static CUresult cluster(uint32_t call, int *value, CUfunction func, const CUlaunchConfig *config)
{
	struct launch l = { .call = call, .function = (uint64_t)func };

	if (!value || !config || config->numAttrs > WH_MAX_LAUNCH_ATTRS ||
	    (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	l.stream = wh_stream(config->hStream);
	l.config = *config;
	return launch(&l, value);
}

CUresult cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
				      const CUlaunchConfig *config)
{
	return cluster(WH_CALL_cuOccupancyMaxActiveClusters, numClusters, func, config);
}

CUresult cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
					    const CUlaunchConfig *config)
{
	return cluster(WH_CALL_cuOccupancyMaxPotentialClusterSize, clusterSize, func, config);
}
