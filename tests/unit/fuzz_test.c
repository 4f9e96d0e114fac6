// SPDX-License-Identifier: Apache-2.0
/*
 * Random requests for every call, with living handles and plausible counts
 * strewn in, against a driver that accepts everything. The sanitizers judge;
 * the seed is printed, and WH_SEED repeats it.
 */
#include "session_fixture.h"

#include <time.h>

#define ROUNDS_PER_CALL	1500

static uint64_t state;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* --- A driver that accepts everything ----------------------------------------------- */

static CUresult any(void)
{
	return next() % 8 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

/* Arrays that a handler passes on are read to their last byte, so that a wrong count shows. */
static volatile uint8_t sink;

static void touch(const void *p, size_t n)
{
	const uint8_t *b = p;

	if (b && n)
		sink = b[0] ^ b[n - 1];
}

static CUresult launch(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
		       unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
		       CUstream s, void **params, void **extra)
{
	(void)f; (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)s;
	(void)params;
	if (extra)
		touch(extra[1], *(size_t *)extra[3]);
	return any();
}

static CUresult add_deps(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	(void)g;
	touch(from, n * sizeof(*from));
	touch(to, n * sizeof(*to));
	return any();
}

static CUresult get_function(CUfunction *f, CUmodule m, const char *name)
{
	(void)m;
	touch(name, name ? strlen(name) : 0);
	if (f)
		*f = (CUfunction)(next() & ~15ULL);
	return any();
}

static CUresult get_name(char *name, int len, CUdevice dev)
{
	(void)dev;
	if (name && len > 0)
		memset(name, 'n', len);
	return any();
}

static CUresult load(CUmodule *m, const void *image, unsigned int n, CUjit_option *keys, void **values)
{
	unsigned int i;

	touch(image, 16);
	for (i = 0; i < n; i++)
		if (keys[i] == CU_JIT_ERROR_LOG_BUFFER)
			memset(values[i], 'e', (size_t)values[i + 1]);
	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	*m = (CUmodule)(next() & ~15ULL);
	return any();
}

static CUresult param_info(CUfunction f, size_t i, size_t *offset, size_t *size)
{
	(void)f;
	if (!offset || !size)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = i * 8;
	*size = 8;
	return i < next() % 6000 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult never(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static void fill_driver(struct wh_session *s)
{
	const struct wh_driver_symbol *d;

	for (d = wh_driver_symbols; d->name; d++)
		*(void **)((char *)&s->drv + d->offset) = any;
	s->drv.cuLaunchKernel = launch;
	s->drv.cuGraphAddDependencies = add_deps;
	s->drv.cuModuleGetFunction = get_function;
	s->drv.cuDeviceGetPCIBusId = get_name;
	s->drv.cuModuleLoadDataEx = load;
	s->drv.cuFuncGetParamInfo = param_info;
	s->drv.cuKernelGetParamInfo = (void *)param_info;
	/* Returns memory of its own; there is none. */
	s->drv.cuLinkComplete = (void *)never;
}

/* --- Requests ------------------------------------------------------------------------------ */

static uint64_t handle[256];
static unsigned int handles;

static void make_handles(struct wh_session *s)
{
	unsigned int type, i;

	for (type = 1; type < WH_H_TYPES; type++)
		for (i = 0; i < 3; i++)
			handle[handles++ % 256] = wh_put(s, type, (void *)(uintptr_t)(0x100000 + type * 256 + i * 16),
							 handle[next() % 64]);
}

static uint64_t word(const struct wh_session *s)
{
	switch (next() % 12) {
	case 0: case 1: case 2:
		return handle[next() % 256];
	case 3: case 4:
		return next() % 9;
	case 5:
		return (uintptr_t)s->data + next() % s->data_size;
	case 6:
		return next() % s->frame[0].max;
	case 7:
		return UINT64_MAX - next() % 32;
	case 8:
		return next();
	default:
		return 0;
	}
}

static void one(struct wh_session *s, uint32_t call)
{
	size_t size = wh_calls[call].min_size + next() % 3 * (next() % 600), i;
	struct wh_req *q = msg(s);
	uint64_t *w = msg(s);

	if (next() % 50 == 0)
		size = next() % (s->frame[0].max + 2);
	for (i = 0; i < size / 8 + 1 && i < s->frame[0].max / 8; i++)
		w[i] = word(s);
	q->call = call;
	q->null = next() % 4 ? 0 : next();
	q->ctx = next() % 3 ? 0 : handle[next() % 256];
	q->capture_mode = next() % 3;
	q->resv = next() % 64 ? 0 : 1;
	send(s, size);
	if (next() % 64 == 0)
		make_handles(s);
}

/* Calls that wait for somebody who is not there, or replace the environment. */
static int skipped(uint32_t call)
{
	return call == WH_CALL_whHello || call == WH_CALL_whWait;
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);
	const char *seed = getenv("WH_SEED");
	uint32_t call, rounds, sent = 0;

	(void)argc;
	state = seed ? strtoull(seed, NULL, 0) : 0x9e3779b97f4a7c15ULL;
	tap_plan(1);
	diag("WH_SEED=0x%llx", (unsigned long long)state);
	say_hello(s);
	fill_driver(s);
	make_handles(s);
	for (rounds = 0; rounds < ROUNDS_PER_CALL; rounds++)
		for (call = 0; call < WH_CALLS; call++)
			if (wh_calls[call].run && !skipped(call)) {
				one(s, call);
				sent++;
			}
	wh_session_close(s);
	diag("%u requests", sent);
	ok(sent > 100000, "random_requests_do_no_harm");
	return tap_exit();
}
