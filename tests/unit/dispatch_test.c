// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the decoding of requests: a malformed request never reaches the
 * driver, and a well-formed one reaches it with the right arguments. One thing is wrong
 * at a time.
 */
#include "session_fixture.h"

static int calls;		/* calls that reached the driver */
static CUresult fail_with;
static struct {
	uint64_t a[8];
	char text[64];
} seen;

/* --- A driver that writes down what it gets ------------------------------------- */

static CUresult my_alloc(CUdeviceptr *p, size_t n)
{
	calls++;
	seen.a[0] = n;
	if (p)
		*p = 0x7000;
	return p ? fail_with : CUDA_ERROR_INVALID_VALUE;
}

static CUresult my_stream_create(CUstream *s, unsigned int flags)
{
	calls++;
	seen.a[0] = flags;
	*s = (CUstream)0xabc0;
	return CUDA_SUCCESS;
}

static CUresult my_stream_query(CUstream s)
{
	calls++;
	seen.a[0] = (uintptr_t)s;
	return CUDA_SUCCESS;
}

static CUresult my_stream_destroy(CUstream s)
{
	(void)s;
	calls++;
	return CUDA_SUCCESS;
}

static CUresult my_event_create(CUevent *e, unsigned int flags)
{
	calls++;
	seen.a[0] = flags;
	*e = (CUevent)(uintptr_t)(0xe000 + calls * 16);
	return fail_with;
}

static CUresult my_event_destroy(CUevent e)
{
	(void)e;
	return CUDA_SUCCESS;
}

static CUresult my_event_query(CUevent e)
{
	seen.a[0] = (uintptr_t)e;
	return CUDA_SUCCESS;
}

static CUresult my_get_function(CUfunction *f, CUmodule m, const char *name)
{
	calls++;
	seen.a[0] = (uintptr_t)m;
	snprintf(seen.text, sizeof(seen.text), "%s", name);
	*f = (CUfunction)0xf000;
	return CUDA_SUCCESS;
}

static CUresult my_copy(CUdeviceptr d, const void *h, size_t n)
{
	calls++;
	seen.a[0] = d;
	seen.a[1] = (uintptr_t)h;
	seen.a[2] = n;
	return CUDA_SUCCESS;
}

static CUresult my_nodes(CUgraph g, CUgraphNode *nodes, size_t *n)
{
	size_t i;

	(void)g;
	calls++;
	for (i = 0; nodes && i < *n && i < 3; i++)
		nodes[i] = (CUgraphNode)(0x5000 + i * 16);
	*n = 3;
	return CUDA_SUCCESS;
}

static CUresult my_add_deps(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	(void)g;
	calls++;
	seen.a[0] = n;
	seen.a[1] = n ? (uintptr_t)from[0] : 0;
	seen.a[2] = n ? (uintptr_t)to[n - 1] : 0;
	return CUDA_SUCCESS;
}

static CUresult my_launch(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	calls++;
	seen.a[0] = (uintptr_t)f;
	seen.a[1] = c->gridDimX * 100 + c->gridDimY * 10 + c->gridDimZ;
	seen.a[2] = c->blockDimX * 100 + c->blockDimY * 10 + c->blockDimZ;
	seen.a[3] = c->sharedMemBytes;
	seen.a[4] = (uintptr_t)c->hStream;
	seen.a[5] = params ? 1 : extra ? *(size_t *)extra[3] : 0;
	seen.a[6] = extra ? *(uint64_t *)extra[1] : 0;
	return CUDA_SUCCESS;
}

static CUresult my_set_current(CUcontext c)
{
	seen.a[7] = (uintptr_t)c;
	return c == (CUcontext)0xdead ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

/* --- The envelope ------------------------------------------------------------------ */

static void test_envelope(struct wh_session *s)
{
	struct wh_req *q;

	ok_eq(wh_dispatch_slot(s, 0, WH_HANDLER_NULL, 0), 0, "null_call_returns");
	ok_eq(wh_dispatch_slot(s, 0, 99, 0), WH_ENOSYS, "unknown_handler_is_refused");
	ok_eq(wh_dispatch_slot(s, WH_MAX_SLOTS, WH_HANDLER_NULL, 0), WH_EINVAL,
	      "unknown_slot_is_refused");
	request(s, WH_CALL_cuMemAlloc_v2, 64);
	ok_eq(send(s, sizeof(struct wh_req_cuMemAlloc_v2)), WH_EPERM, "no_call_before_hello");
	say_hello(s);
	ok_eq(rsp(s)->result, 0, "hello_succeeds");
	request(s, WH_CALL_cuMemAlloc_v2, 64);
	ok_eq(send(s, 8), WH_EINVAL, "request_shorter_than_its_header_is_refused");
	request(s, WH_CALL_cuMemAlloc_v2, 64);
	ok_eq(send(s, sizeof(struct wh_req)), WH_EINVAL, "request_shorter_than_its_struct_is_refused");
	ok_eq(send(s, s->frame[0].max + 1), WH_EINVAL, "request_longer_than_the_area_is_refused");
	ok_eq(send(s, UINT64_MAX), WH_EINVAL, "request_of_all_memory_is_refused");
	request(s, WH_CALLS, 64);
	ok_eq(send(s, 64), WH_ENOSYS, "call_number_past_the_table_is_refused");
	request(s, 0, 64);
	ok_eq(send(s, 64), WH_ENOSYS, "call_number_without_a_call_is_refused");
	q = request(s, WH_CALL_cuMemAlloc_v2, 64);
	q->number = 1;
	ok_eq(send(s, sizeof(struct wh_req_cuMemAlloc_v2)), WH_EINVAL, "number_of_a_client_that_never_profiled_is_refused");
	ok_eq(calls, 0, "nothing_of_this_reached_the_driver");
}

static void test_hello(struct wh_session *s)
{
	struct wh_req_whHello *q = request(s, WH_CALL_whHello, sizeof(*q));

	q->abi_version = WH_ABI_VERSION;
	q->api_hash = WH_API_HASH ^ 1;
	send(s, sizeof(*q));
	ok_eq(rsp(s)->result, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "other_description_is_refused");
	setenv("LD_PRELOAD_TEST", "old", 1);
	q = request(s, WH_CALL_whHello, sizeof(*q) + 128);
	q->abi_version = WH_ABI_VERSION;
	q->api_hash = WH_API_HASH;
	memcpy((char *)q + WH_WIRE_FIXED(*q), "LD_PRELOAD_TEST=x\0CUDA_MODULE_LOADING=EAGER\0", 44);
	q->env_size = 44;
	send(s, WH_WIRE_FIXED(*q) + 48);
	ok(rsp(s)->result == 0 && !strcmp(getenv("CUDA_MODULE_LOADING"), "EAGER"),
	   "variables_of_the_driver_are_taken");
	ok(!strcmp(getenv("LD_PRELOAD_TEST"), "old"), "other_variables_are_not");
	q = request(s, WH_CALL_whHello, sizeof(*q));
	q->abi_version = WH_ABI_VERSION;
	q->api_hash = WH_API_HASH;
	q->env_size = 4000;
	send(s, sizeof(*q));
	ok_eq(rsp(s)->result, CUDA_ERROR_INVALID_VALUE, "environment_longer_than_the_request_is_refused");
}

/* --- Numbers of requests, while a client profiles --------------------------------------- */

static uint32_t numbers[8];
static int numbers_seen;

static void note_number(uint32_t number)
{
	numbers[numbers_seen++ % 8] = number;
}

static void test_numbers(struct wh_session *s)
{
	struct wh_req_cuMemAlloc_v2 *q = request(s, WH_CALL_cuMemAlloc_v2, sizeof(*q));
	int before = calls;

	s->profile = note_number;
	q->bytesize = 64;
	q->hdr.number = 4711;
	send(s, sizeof(*q));
	ok(rsp(s)->result == 0 && calls == before + 1, "request_with_a_number_runs_once");
	ok(numbers_seen == 2 && numbers[0] == 4711 && !numbers[1],
	   "its_number_is_told_before_and_its_end_after");
	q = request(s, WH_CALL_cuMemAlloc_v2, sizeof(*q));
	q->bytesize = 64;
	send(s, sizeof(*q));
	ok(rsp(s)->result == 0 && numbers_seen == 2, "request_without_one_tells_nothing");
	s->profile = NULL;
}

/* --- Scalars, outputs, handles ---------------------------------------------------------- */

static void test_outputs(struct wh_session *s)
{
	struct wh_req_cuMemAlloc_v2 *q = request(s, WH_CALL_cuMemAlloc_v2, sizeof(*q));
	const struct wh_rsp_cuMemAlloc_v2 *r = msg(s);

	q->bytesize = 0x1234567890;
	send(s, sizeof(*q));
	ok(r->hdr.result == 0 && r->dptr == 0x7000 && seen.a[0] == 0x1234567890,
	   "scalars_arrive_and_outputs_return");
	q = request(s, WH_CALL_cuMemAlloc_v2, sizeof(*q));
	q->hdr.null = 1;
	send(s, sizeof(*q));
	ok_eq(rsp(s)->result, CUDA_ERROR_INVALID_VALUE, "null_output_is_null_for_the_driver");
	fail_with = CUDA_ERROR_OUT_OF_MEMORY;
	request(s, WH_CALL_cuMemAlloc_v2, sizeof(*q));
	send(s, sizeof(*q));
	ok_eq(rsp(s)->result, CUDA_ERROR_OUT_OF_MEMORY, "error_of_the_driver_travels_unchanged");
	fail_with = CUDA_SUCCESS;
	request(s, WH_CALL_cuMemAllocPitch_v2, sizeof(struct wh_req_cuMemAllocPitch_v2));
	send(s, sizeof(struct wh_req_cuMemAllocPitch_v2));
	ok_eq(rsp(s)->result, CUDA_ERROR_NOT_SUPPORTED, "function_that_the_backend_lacks_is_not_supported");
}

static uint64_t create_stream(struct wh_session *s)
{
	struct wh_req_cuStreamCreate *q = request(s, WH_CALL_cuStreamCreate, sizeof(*q));

	q->Flags = 1;
	send(s, sizeof(*q));
	return ((const struct wh_rsp_cuStreamCreate *)msg(s))->phStream;
}

static int query(struct wh_session *s, uint64_t stream)
{
	struct wh_req_cuStreamQuery *q = request(s, WH_CALL_cuStreamQuery, sizeof(*q));

	q->hStream = stream;
	send(s, sizeof(*q));
	return rsp(s)->result;
}

static void test_handles(struct wh_session *s)
{
	uint64_t id = create_stream(s);
	struct wh_req_cuStreamDestroy_v2 *q;
	int before;

	ok(id && id != 0xabc0, "client_never_sees_the_drivers_address");
	ok(query(s, id) == 0 && seen.a[0] == 0xabc0, "handle_becomes_the_drivers_object");
	ok(query(s, 0) == 0 && seen.a[0] == 0, "null_stream_stays_null");
	ok(query(s, (uintptr_t)CU_STREAM_LEGACY) == 0 && seen.a[0] == (uintptr_t)CU_STREAM_LEGACY,
	   "legacy_stream_keeps_its_number");
	before = calls;
	ok_eq(query(s, 0xabc0), CUDA_ERROR_INVALID_HANDLE, "drivers_address_is_no_handle");
	ok_eq(query(s, id ^ 1ULL << 40), CUDA_ERROR_INVALID_HANDLE, "forged_generation_is_no_handle");
	ok_eq(calls, before, "bad_handles_never_reach_the_driver");
	q = request(s, WH_CALL_cuStreamDestroy_v2, sizeof(*q));
	q->hStream = id;
	send(s, sizeof(*q));
	ok_eq(query(s, id), CUDA_ERROR_INVALID_HANDLE, "destroyed_handle_is_no_handle");
}

/* A reserved handle, or 0: an answer has one, and `spares` more behind it. */
static CUresult create_event(struct wh_session *s, uint64_t event, uint32_t spares)
{
	struct wh_req_whEventCreate *q = request(s, WH_CALL_whEventCreate, sizeof(*q));

	q->flags = CU_EVENT_DISABLE_TIMING;
	q->event = event;
	q->spares = spares;
	send(s, sizeof(*q));
	return rsp(s)->result;
}

static CUresult query_event(struct wh_session *s, uint64_t event)
{
	struct wh_req_cuEventQuery *q = request(s, WH_CALL_cuEventQuery, sizeof(*q));

	q->hEvent = event;
	send(s, sizeof(*q));
	return rsp(s)->result;
}

static void test_events(struct wh_session *s)
{
	const struct wh_rsp_whEventCreate *r = msg(s);
	uint64_t spare[2], made;
	int before;

	ok(create_event(s, 0, 2) == 0 && r->event && r->spares == 2 &&
	   seen.a[0] == CU_EVENT_DISABLE_TIMING, "event_comes_with_reserved_handles");
	made = r->event;
	memcpy(spare, (const char *)r + WH_WIRE_FIXED(*r), sizeof(spare));
	ok_eq(query_event(s, spare[0]), CUDA_ERROR_INVALID_HANDLE, "a_reserved_one_names_nothing");
	ok(create_event(s, spare[0], 0) == 0 && query_event(s, spare[0]) == 0 &&
	   seen.a[0] == 0xe000 + (unsigned int)calls * 16, "an_event_gets_it");
	before = calls;
	ok_eq(create_event(s, spare[0], 0), CUDA_ERROR_INVALID_HANDLE, "once");
	ok_eq(create_event(s, made, 0), CUDA_ERROR_INVALID_HANDLE, "handle_in_use_is_no_reserved_one");
	ok_eq(create_event(s, spare[1] ^ 1ULL << 40, 0), CUDA_ERROR_INVALID_HANDLE,
	      "nor_is_a_forged_one");
	ok_eq(create_event(s, 0, WH_EVENT_SPARES + 1), CUDA_ERROR_INVALID_VALUE,
	      "more_than_so_many_are_not_reserved");
	ok_eq(calls, before, "none_of_these_reaches_the_driver");
	fail_with = CUDA_ERROR_OUT_OF_MEMORY;
	ok_eq(create_event(s, spare[1], 0), CUDA_ERROR_OUT_OF_MEMORY, "a_failure_is_the_drivers");
	fail_with = CUDA_SUCCESS;
	ok(create_event(s, spare[1], 0) == 0 && query_event(s, spare[1]) == 0,
	   "and_leaves_the_handle_reserved");
}

static void test_context(struct wh_session *s)
{
	uint64_t ctx = wh_new(s, WH_H_CUcontext, (void *)0xc0c0, 0);
	uint64_t dead = wh_new(s, WH_H_CUcontext, (void *)0xdead, 0);
	struct wh_req *q = request(s, WH_CALL_cuStreamQuery, 64);

	q->ctx = ctx;
	send(s, sizeof(struct wh_req_cuStreamQuery));
	ok_eq(seen.a[7], 0xc0c0, "callers_context_is_made_current");
	q = request(s, WH_CALL_cuStreamQuery, 64);
	q->ctx = dead;
	send(s, sizeof(struct wh_req_cuStreamQuery));
	ok_eq(seen.a[7], 0, "dead_context_leaves_none_current");
	q = request(s, WH_CALL_cuStreamQuery, 64);
	q->ctx = 0x4141414141414141;
	send(s, sizeof(struct wh_req_cuStreamQuery));
	ok_eq(seen.a[7], 0, "forged_context_leaves_none_current");
}

/* --- Strings and arrays --------------------------------------------------------------------- */

static int get_function(struct wh_session *s, uint64_t mod, const char *name, uint64_t size,
			size_t sent)
{
	struct wh_req_cuModuleGetFunction *q = request(s, WH_CALL_cuModuleGetFunction,
						       WH_WIRE_FIXED(*q) + 256);

	q->hmod = mod;
	q->name_size = size;
	memcpy((char *)q + WH_WIRE_FIXED(*q), name, strlen(name) + 1);
	send(s, WH_WIRE_FIXED(*q) + sent);
	return rsp(s)->result;
}

static void test_strings(struct wh_session *s)
{
	uint64_t mod = wh_new(s, WH_H_CUmodule, (void *)0x3000, 0);
	int before;

	ok(get_function(s, mod, "kernel", 7, 16) == 0 && !strcmp(seen.text, "kernel"),
	   "string_arrives");
	before = calls;
	ok_eq(get_function(s, mod, "kernel", 6, 16), CUDA_ERROR_INVALID_VALUE,
	      "string_without_its_end_is_refused");
	ok_eq(get_function(s, mod, "kernel", 17, 16), CUDA_ERROR_INVALID_VALUE,
	      "string_longer_than_the_request_is_refused");
	ok_eq(get_function(s, mod, "kernel", UINT64_MAX, 16), CUDA_ERROR_INVALID_VALUE,
	      "string_of_all_memory_is_refused");
	ok_eq(calls, before, "bad_strings_never_reach_the_driver");
}

static int add_deps(struct wh_session *s, uint64_t graph, const uint64_t *ids, size_t count,
		    size_t sent)
{
	struct wh_req_cuGraphAddDependencies *q =
		request(s, WH_CALL_cuGraphAddDependencies, WH_WIRE_FIXED(*q) + 256);

	q->hGraph = graph;
	q->numDependencies = count;
	memcpy((char *)q + WH_WIRE_FIXED(*q), ids, 2 * sizeof(*ids));
	memcpy((char *)q + WH_WIRE_FIXED(*q) + 16, ids, 2 * sizeof(*ids));
	send(s, WH_WIRE_FIXED(*q) + sent);
	return rsp(s)->result;
}

static void test_arrays(struct wh_session *s)
{
	uint64_t graph = wh_new(s, WH_H_CUgraph, (void *)0x4000, 0);
	uint64_t ids[2] = {
		wh_new(s, WH_H_CUgraphNode, (void *)0x4100, graph),
		wh_new(s, WH_H_CUgraphNode, (void *)0x4200, graph),
	};
	int before;

	ok(add_deps(s, graph, ids, 2, 32) == 0 && seen.a[0] == 2 && seen.a[1] == 0x4100 &&
	   seen.a[2] == 0x4200, "array_of_handles_becomes_objects");
	before = calls;
	ok_eq(add_deps(s, graph, ids, 3, 32), CUDA_ERROR_INVALID_VALUE,
	      "array_longer_than_the_request_is_refused");
	ok_eq(add_deps(s, graph, ids, SIZE_MAX / 4, 32), CUDA_ERROR_INVALID_VALUE,
	      "count_that_overflows_is_refused");
	ids[1] = 0x4200;
	ok_eq(add_deps(s, graph, ids, 2, 32), CUDA_ERROR_INVALID_HANDLE,
	      "one_bad_handle_in_an_array_is_refused");
	ok_eq(calls, before, "bad_arrays_never_reach_the_driver");
}

static void test_out_arrays(struct wh_session *s)
{
	uint64_t graph = wh_new(s, WH_H_CUgraph, (void *)0x4000, 0);
	struct wh_req_cuGraphGetNodes *q = request(s, WH_CALL_cuGraphGetNodes, sizeof(*q));
	const struct wh_rsp_cuGraphGetNodes *r = msg(s);
	const uint64_t *node;

	q->hGraph = graph;
	q->numNodes = 5;
	send(s, sizeof(*q));
	node = (const uint64_t *)((char *)msg(s) + WH_WIRE_FIXED(*r));
	ok(r->hdr.result == 0 && r->numNodes == 3 &&
	   wh_handles_get(&s->handles, node[2], WH_H_CUgraphNode) == (void *)0x5020 && !node[3],
	   "array_of_objects_becomes_handles");
	q = request(s, WH_CALL_cuGraphGetNodes, sizeof(*q));
	q->hGraph = graph;
	q->numNodes = 1 << 20;
	send(s, sizeof(*q));
	ok_eq(rsp(s)->result, CUDA_ERROR_INVALID_VALUE, "answer_larger_than_the_area_is_refused");
}

/* --- Host addresses and launches ------------------------------------------------------ */

static int copy_in(struct wh_session *s, uint64_t host, uint64_t n)
{
	struct wh_req_cuMemcpyHtoD_v2 *q = request(s, WH_CALL_cuMemcpyHtoD_v2, sizeof(*q));

	q->hdr.ctx = wh_handle_for(s, WH_H_CUcontext, (void *)0x6000, 0);
	q->dstDevice = 0x7000;
	q->srcHost = host;
	q->ByteCount = n;
	send(s, sizeof(*q));
	return rsp(s)->result;
}

static void test_host(struct wh_session *s)
{
	uint64_t data = (uintptr_t)s->data, size = s->data_size;
	int before;

	ok(copy_in(s, data + 64, 128) == 0 && seen.a[1] == data + 64, "data_area_address_arrives");
	ok_eq(copy_in(s, data, size), 0, "whole_data_area_is_in_range");
	before = calls;
	ok_eq(copy_in(s, data, size + 1), CUDA_ERROR_INVALID_VALUE, "one_byte_past_the_area_is_refused");
	ok_eq(copy_in(s, data - 1, 1), CUDA_ERROR_INVALID_VALUE, "one_byte_before_the_area_is_refused");
	ok_eq(copy_in(s, data + size, UINT64_MAX), CUDA_ERROR_INVALID_VALUE, "wrapping_range_is_refused");
	ok_eq(copy_in(s, (uintptr_t)s, 8), CUDA_ERROR_INVALID_VALUE, "workers_own_memory_is_refused");
	ok_eq(calls, before, "bad_addresses_never_reach_the_driver");
}

static int launch(struct wh_session *s, uint64_t f, uint32_t bytes, size_t sent, uint32_t attrs)
{
	struct wh_req_whLaunch *q = request(s, WH_CALL_whLaunch, WH_WIRE_FIXED(*q) + 256);
	uint64_t param = 0x1122334455667788;

	q->function = f;
	q->grid[0] = 1;
	q->grid[1] = 2;
	q->grid[2] = 3;
	q->block[0] = 4;
	q->block[1] = 5;
	q->block[2] = 6;
	q->shared = 77;
	q->param_bytes = bytes;
	q->attrs = attrs;
	memcpy((char *)q + WH_WIRE_FIXED(*q), &param, sizeof(param));
	send(s, WH_WIRE_FIXED(*q) + sent);
	return rsp(s)->result;
}

static void test_launch(struct wh_session *s)
{
	uint64_t f = wh_new(s, WH_H_CUfunction, (void *)0xf100, 0);
	uint64_t k = wh_new(s, WH_H_CUkernel, (void *)0xf200, 0);
	int before;

	ok(launch(s, f, 8, 8, 0) == 0 && seen.a[0] == 0xf100 && seen.a[1] == 123 &&
	   seen.a[2] == 456 && seen.a[3] == 77 && seen.a[5] == 8 && seen.a[6] == 0x1122334455667788,
	   "launch_arrives_whole");
	ok(launch(s, f, 256, 256, 0) == 0 && seen.a[5] == 256 && seen.a[6] == 0x1122334455667788,
	   "launch_with_many_parameters_arrives_whole");
	ok(launch(s, k, 0, 0, 0) == 0 && seen.a[0] == 0xf200 && seen.a[5] == 0,
	   "kernel_handle_can_be_launched_without_parameters");
	before = calls;
	ok_eq(launch(s, f, 64, 8, 0), CUDA_ERROR_INVALID_VALUE, "parameters_not_sent_are_refused");
	ok_eq(launch(s, f, 8, 0, 0), CUDA_ERROR_INVALID_VALUE,
	      "parameters_that_only_lie_behind_the_request_are_refused");
	ok_eq(launch(s, f, UINT32_MAX, 8, 0), CUDA_ERROR_INVALID_VALUE, "parameters_too_large_are_refused");
	ok_eq(launch(s, f, 0, 8, 33), CUDA_ERROR_INVALID_VALUE, "too_many_attributes_are_refused");
	ok_eq(launch(s, 0xf100, 8, 8, 0), CUDA_ERROR_INVALID_HANDLE, "forged_function_is_refused");
	ok_eq(calls, before, "bad_launches_never_reach_the_driver");
}

static int upload(struct wh_session *s, uint64_t total, uint64_t offset, uint64_t addr,
		  uint64_t size)
{
	struct wh_req_whUpload *q = request(s, WH_CALL_whUpload, sizeof(*q));

	q->total = total;
	q->offset = offset;
	q->addr = addr;
	q->size = size;
	send(s, sizeof(*q));
	return rsp(s)->result;
}

static void test_upload(struct wh_session *s)
{
	uint64_t data = (uintptr_t)s->data;

	memcpy(s->data, "image bytes", 12);
	ok_eq(upload(s, 12, 0, data, 12), 0, "image_is_uploaded");
	memset(s->data, 'X', 12);
	ok(s->upload.got == 12 && !strcmp((char *)s->upload.buf, "image bytes"),
	   "client_cannot_change_an_uploaded_image");
	ok_eq(upload(s, 8, 0, data, 9), CUDA_ERROR_INVALID_VALUE, "piece_past_the_total_is_refused");
	upload(s, 16, 0, data, 8);
	ok_eq(upload(s, 16, 4, data, 8), CUDA_ERROR_INVALID_VALUE, "piece_out_of_order_is_refused");
	ok_eq(upload(s, 1ULL << 40, 0, data, 8), CUDA_ERROR_INVALID_VALUE, "upload_of_a_terabyte_is_refused");
	ok_eq(upload(s, 8, 0, data - 8, 8), CUDA_ERROR_INVALID_VALUE,
	      "upload_from_outside_the_data_area_is_refused");
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);

	(void)argc;
	s->drv.cuMemAlloc_v2 = my_alloc;
	s->drv.cuStreamCreate = my_stream_create;
	s->drv.cuStreamQuery = my_stream_query;
	s->drv.cuStreamDestroy_v2 = my_stream_destroy;
	s->drv.cuModuleGetFunction = my_get_function;
	s->drv.cuMemcpyHtoD_v2 = my_copy;
	s->drv.cuEventCreate = my_event_create;
	s->drv.cuEventDestroy_v2 = my_event_destroy;
	s->drv.cuEventQuery = my_event_query;
	s->drv.cuGraphGetNodes = my_nodes;
	s->drv.cuGraphAddDependencies = my_add_deps;
	s->drv.cuLaunchKernelEx = my_launch;
	s->drv.cuCtxSetCurrent = my_set_current;
	tap_plan(79);
	test_envelope(s);
	test_hello(s);
	test_numbers(s);
	test_outputs(s);
	test_handles(s);
	test_events(s);
	test_context(s);
	test_strings(s);
	test_arrays(s);
	test_out_arrays(s);
	test_host(s);
	test_launch(s);
	test_upload(s);
	wh_session_close(s);
	return tap_exit();
}
