// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the handlers that a call in a view runs (wh_handler()), in a session
 * with one slot and in one with four. It tests the straight way of a request, and the
 * requests that begin anew by the way of all calls.
 */
#include "session_fixture.h"
#include "session/dispatch.h"
#include "session/output.h"

#define DEVICE		0
#define CONTEXT		0x6000

static struct wh_session *s;
static uint32_t slots, slot;
static int launched;
static CUcontext current;
static CUlaunchConfig config;

static CUresult my_launch(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	(void)params, (void)extra;
	launched++;
	config = *c;
	return f == (CUfunction)0xbad0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult my_set_current(CUcontext c)
{
	current = c;
	return CUDA_SUCCESS;
}

static CUresult my_get_device(CUdevice *dev)
{
	*dev = DEVICE;
	return CUDA_SUCCESS;
}

/* --- Requests in the slot ------------------------------------------------------------- */

static void *area(void)
{
	return s->frame[slot].msg;
}

static int64_t handle(uint64_t size)
{
	return wh_handler(WH_HANDLER_CUDA)(s, slot, size, 0);
}

static struct wh_req_whLaunch *begin(uint64_t function)
{
	struct wh_req_whLaunch *q = area();

	memset(q, 0, WH_WIRE_FIXED(*q));
	q->hdr.call = WH_CALL_whLaunch;
	q->hdr.ctx = wh_handle_for(s, WH_H_CUcontext, (void *)CONTEXT, 0);
	q->hdr.capture_mode = wh_self.capture_mode;
	q->grid[0] = q->grid[1] = q->grid[2] = 1;
	q->block[0] = 32;
	q->block[1] = q->block[2] = 1;
	q->function = function;
	return q;
}

static int64_t send_launch(void)
{
	return handle(WH_WIRE_FIXED(struct wh_req_whLaunch));
}

static uint64_t new_function(uintptr_t real)
{
	return wh_new(s, WH_H_CUfunction, (void *)real, 0);
}

static void greet(void)
{
	struct wh_req_whHello *q = area();

	memset(q, 0, sizeof(*q));
	q->hdr.call = WH_CALL_whHello;
	q->abi_version = WH_ABI_VERSION;
	q->api_hash = WH_API_HASH;
	handle(sizeof(*q));
}

/* --- One after the other, in each kind of session --------------------------------------- */

static const char *named(const char *what)
{
	static char name[160];

	snprintf(name, sizeof(name), "%s_with_%s", what, slots == 1 ? "one_slot" : "four_slots");
	return name;
}

static void test_hello(uint64_t function)
{
	begin(function);
	ok_eq(send_launch(), WH_EPERM, named("no_launch_before_hello"));
	greet();
	begin(function);
	ok(send_launch() == WH_OK && launched == 1, named("launch_arrives_behind_it"));
}

static void test_launch(uint64_t function)
{
	const struct wh_worker_usage *a = s->limits.account;
	struct wh_worker_usage before = *a;
	const struct wh_rsp *r = area();
	struct wh_req_whLaunch *q = begin(function);

	q->grid[1] = 7;
	q->shared = 99;
	q->stream = wh_new(s, WH_H_CUstream, (void *)0xabc0, 0);
	ok(send_launch() == WH_OK && r->result == CUDA_SUCCESS && r->size == WH_WIRE_FIXED(*r) &&
	   config.gridDimX == 1 && config.gridDimY == 7 && config.blockDimX == 32 &&
	   config.sharedMemBytes == 99 && config.hStream == (CUstream)0xabc0 && !config.attrs &&
	   !config.numAttrs, named("configuration_is_the_requests"));
	ok(a->waited == before.waited + 1 && a->calls == before.calls + 1 &&
	   a->device[DEVICE].launches == before.device[DEVICE].launches + 1,
	   named("launch_is_counted_once"));
	begin(new_function(0xbad0));
	ok(send_launch() == WH_OK && r->result == CUDA_ERROR_INVALID_VALUE,
	   named("drivers_error_comes_back"));
}

static void test_context(uint64_t function)
{
	struct wh_req_whLaunch *q = begin(function);

	q->hdr.ctx = wh_handle_for(s, WH_H_CUcontext, (void *)(CONTEXT + 0x100), 0);
	ok(send_launch() == WH_OK && current == (CUcontext)(CONTEXT + 0x100),
	   named("another_context_is_entered_before_a_launch"));
	begin(function);
	ok(send_launch() == WH_OK && current == (CUcontext)CONTEXT, named("and_left_before_the_next"));
	q = begin(function);
	q->hdr.ctx = WH_CTX_UNKNOWN;
	ok_eq(send_launch(), WH_EINVAL, named("nobodys_context_is_refused"));
}

static void test_refused(uint64_t function)
{
	struct wh_req_whLaunch *q;
	int before = launched;

	begin(function);
	ok_eq(handle(sizeof(struct wh_req) - 1), WH_EINVAL, named("request_without_a_head_is_refused"));
	ok_eq(handle(s->frame[slot].max + 1), WH_EINVAL, named("request_longer_than_the_area_is_refused"));
	ok_eq(handle(sizeof(struct wh_req)) == WH_OK ? ((struct wh_rsp *)area())->result : -1,
	      CUDA_ERROR_INVALID_VALUE, named("launch_without_its_fields_is_refused"));
	q = begin(function);
	q->hdr.number = 1;
	ok_eq(send_launch(), WH_EINVAL, named("reserved_bits_are_refused"));
	q = begin(function);
	q->hdr.call = WH_CALLS;
	ok_eq(send_launch(), WH_ENOSYS, named("number_past_the_table_is_refused"));
	q->hdr.call = 0;
	ok_eq(send_launch(), WH_ENOSYS, named("number_without_a_call_is_refused"));
	ok_eq(wh_handler(WH_HANDLER_CUDA)(s, slots, sizeof(*q), 0), WH_EINVAL,
	      named("slot_that_there_is_not_is_refused"));
	ok_eq(launched, before, named("and_nothing_of_it_reaches_the_driver"));
}

static void test_output(uint64_t function)
{
	const struct wh_rsp *r = area();

	begin(function);
	wh_output_pending = WH_RSP_OUTPUT;
	ok(send_launch() == WH_OK && r->size == (WH_WIRE_FIXED(*r) | WH_RSP_OUTPUT),
	   named("answer_says_that_something_was_printed"));
	wh_output_pending = 0;
}

/* The page of a tenant whose limits change; without a tenant the page is all zeroes. */
static void test_limits(uint64_t function)
{
	static struct wh_tenant_limits page;
	const struct wh_tenant_limits *none = s->limits.page;
	int before = launched;

	s->limits.page = &page;
	page.sequence = 2;
	begin(function);
	ok(send_launch() == WH_OK && launched == before + 1 && s->limits.seen == 2,
	   named("limits_that_have_changed_are_read_before_a_launch"));
	s->limits.page = none;
	s->limits.seen = none->sequence;
}

static void test_gate(uint64_t function)
{
	int before = launched;

	s->callers.in_vm = true;
	s->callers.closed = 1;
	begin(function);
	ok(send_launch() == WH_CALLERS_TURN_US && launched == before,
	   "while_another_slot_is_alone_the_client_comes_again");
	s->callers.closed = 0;
	s->callers.in_vm = false;
	ok(send_launch() == WH_OK && launched == before + 1, "with_the_request_that_is_still_there");
}

static void test_session(const char *argv0, uint32_t n)
{
	uint64_t function;

	s = open_session_of(argv0, n);
	slots = n;
	slot = n - 1;
	launched = 0;
	wh_session_slot(s, slot);
	s->drv.cuLaunchKernelEx = my_launch;
	s->drv.cuCtxSetCurrent = my_set_current;
	s->drv.cuCtxGetDevice = my_get_device;
	function = new_function(0xf100);
	test_hello(function);
	test_launch(function);
	test_context(function);
	test_refused(function);
	test_output(function);
	test_limits(function);
	if (n > 1)
		test_gate(function);
	wh_session_close(s);
}

static void test_handlers(void)
{
	ok(wh_handler(WH_HANDLER_NULL) && wh_handler(WH_HANDLER_LIBRARY) &&
	   wh_handler(WH_HANDLER_LONG) && wh_handler(WH_HANDLER_CUDA) &&
	   !wh_handler(WH_HANDLERS),
	   "there_are_handlers_for_each_number_and_no_more");
}

int main(int argc, char **argv)
{
	(void)argc;
	tap_plan(39);
	test_handlers();
	test_session(argv[0], 1);
	test_session(argv[0], 4);
	return tap_exit();
}
