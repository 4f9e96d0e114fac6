// SPDX-License-Identifier: Apache-2.0
/*
 * Callbacks of cuFFT: code of the program's that the library's kernels call. A routine is an
 * address of the device's, which is the same in the worker. Code to be linked travels whole.
 */
#include "cufft_stub.h"

/*
 * The genuine library takes routines in its static form alone, which needs nothing of this
 * project's; the worker's shared one says so by its own status.
 */
cufftResult cufftXtSetCallback(cufftHandle plan, void **callback_routine,
			       cufftXtCallbackType cbType, void **caller_info)
{
	struct wh_req_cufftXtSetCallback *q;
	struct wh_obj_cufftHandle o;
	struct wh_call c;
	cufftResult res;

	if (!callback_routine || !callback_routine[0])
		return CUFFT_INVALID_VALUE;
	if (!wh_pack_cufftHandle(plan, &o))
		return CUFFT_INVALID_PLAN;
	if (wh_cufft_gpus(plan) > 1)
		return wh_cufft_refuse("cufftXtSetCallback on several GPUs");
	q = wh_cufft_begin(&c, WH_CALL_cufftXtSetCallback, sizeof(*q));
	if (!q)
		return wh_cufft_lost(c.result);
	q->plan = o;
	q->routine = (uintptr_t)callback_routine[0];
	q->has_info = !!caller_info;
	q->caller_info = caller_info ? (uintptr_t)caller_info[0] : 0;
	q->type = cbType;
	res = wh_cufft_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

static size_t bytes_of(const char *name, size_t code_size)
{
	size_t size = WH_WIRE_FIXED(struct wh_req_cufftXtSetJITCallback);

	size = wh_wire_more(size, wh_string_bytes(name));
	return wh_wire_more(size, wh_wire_bytes(code_size, 1));
}

/*
 * The code is a fatbin or LTO-IR, of at most 64 MiB with the name. The library takes a callback
 * without a name, and refuses the plan. CUDA 12's library has an older function of this name,
 * which takes no name of the code: its arguments are others.
 */
cufftResult cufftXtSetJITCallback(cufftHandle plan, const char *lto_callback_symbol_name,
				  const void *lto_callback_fatbin, size_t lto_callback_fatbin_size,
				  cufftXtCallbackType type, void **caller_info)
{
	struct wh_req_cufftXtSetJITCallback *q;
	struct wh_obj_cufftHandle o;
	struct wh_call c;
	cufftResult res;

	if (strstr(wh_soname, ".so.11"))
		return wh_cufft_refuse("cufftXtSetJITCallback");
	if (!lto_callback_fatbin || !lto_callback_fatbin_size ||
	    lto_callback_fatbin_size > WH_CUFFT_CODE_MAX)
		return CUFFT_INVALID_VALUE;
	if (!wh_pack_cufftHandle(plan, &o))
		return CUFFT_INVALID_PLAN;
	if (wh_cufft_gpus(plan) > 1)
		return wh_cufft_refuse("cufftXtSetJITCallback on several GPUs");
	q = wh_cufft_begin_long(&c, WH_CALL_cufftXtSetJITCallback,
				bytes_of(lto_callback_symbol_name, lto_callback_fatbin_size),
				sizeof(struct wh_rsp));
	if (!q)
		return wh_cufft_lost(c.result);
	q->plan = o;
	q->code_size = lto_callback_fatbin_size;
	q->has_info = !!caller_info;
	q->caller_info = caller_info ? (uintptr_t)caller_info[0] : 0;
	q->type = type;
	c.pos = WH_WIRE_FIXED(struct wh_req_cufftXtSetJITCallback);
	q->name_size = wh_request_put_string(&c, lto_callback_symbol_name);
	wh_request_put(&c, lto_callback_fatbin, lto_callback_fatbin_size, 1);
	res = wh_cufft_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}
