// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that the worker survives random requests for every call, with living
 * handles and plausible counts strewn in, against a driver that accepts everything. The
 * sanitizers find the faults. The seed is printed, and WH_SEED repeats it.
 */
#include "fuzz.h"

#define ROUNDS_PER_CALL	1500

/* --- A driver that accepts everything ----------------------------------------------- */

static CUresult any(void)
{
	return next() % 8 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static CUresult launch(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	(void)f;
	(void)params;
	touch(c->attrs, c->numAttrs * sizeof(*c->attrs));
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

static CUresult load(CUmodule *m, const void *image, unsigned int n, CUjit_option *keys,
		     void **values)
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

/* Answers for a node that was made without parameters. */
static CUresult kernel_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *k)
{
	(void)node;
	*k = (CUDA_KERNEL_NODE_PARAMS_v2) { .func = (CUfunction)(next() & ~15ULL) };
	return any();
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
	s->drv.cuPointerGetAttributes = fuzz_attributes;
	s->drv.cuLaunchKernelEx = launch;
	s->drv.cuGraphAddDependencies = add_deps;
	s->drv.cuModuleGetFunction = get_function;
	s->drv.cuDeviceGetPCIBusId = get_name;
	s->drv.cuModuleLoadDataEx = load;
	s->drv.cuFuncGetParamInfo = param_info;
	s->drv.cuKernelGetParamInfo = (void *)param_info;
	s->drv.cuGraphKernelNodeGetParams_v2 = kernel_params;
	/* The driver's function returns memory of its own, of which there is none here. */
	s->drv.cuLinkComplete = (void *)never;
}

/* --- Requests ------------------------------------------------------------------------------ */

static void make_handles(struct wh_session *s)
{
	unsigned int type, i;

	for (type = 1; type < WH_H_TYPES; type++)
		for (i = 0; i < 3; i++)
			keep_handle(wh_handle_for(s, type,
					   (void *)(uintptr_t)(0x100000 + type * 256 + i * 16),
					   any_handle()));
}

static void one(struct wh_session *s, uint32_t call)
{
	size_t size = fuzz_fill(s, wh_calls[call].min_size);
	struct wh_req *q = msg(s);

	q->call = call;
	q->null = next() % 4 ? 0 : next();
	q->ctx = next() % 3 ? 0 : any_handle();
	q->capture_mode = next() % 3;
	q->number = next() % 64 ? 0 : 1;
	send(s, size);
	if (next() % 64 == 0)
		make_handles(s);
}

/* Skips calls that wait for somebody who is not there, or replace the environment. */
static int skipped(uint32_t call)
{
	return call == WH_CALL_whHello || call == WH_CALL_whWait;
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);
	uint32_t call, rounds, sent = 0;

	(void)argc;
	tap_plan(1);
	fuzz_start();
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
