// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises staged copies against a device that copies as late as it may: only
 * when its fence is waited for. A buffer that is used again too early shows as wrong
 * bytes.
 */
#include "tap.h"
#include "rest.h"
#include "stubs.h"

#define AREA	(32UL << 20)
#define SIZE	(9 * 1000 * 1000 + 7)

struct wh_client wh_client;
__thread struct wh_thread wh_thread;

/* --- The lazy device ----------------------------------------------------------- */

static uint8_t device[SIZE], message[4096];
static struct {
	struct wh_req_whStageCopy q;
	bool pending;
} later[WH_FENCES];
static uint64_t reached;
static int copies, waits, overtaken, fail_at = -1;

void *wh_data_alloc(size_t size, unsigned int flags, bool managed)
{
	(void)flags;
	(void)managed;
	return size <= AREA ? wh_client.link.data : NULL;
}

/* There is no managed variable. */
uint32_t wh_profile_begin_call(uint32_t call)
{
	(void)call;
	return 0;
}

void wh_profile_end(uint32_t before, int result)
{
	(void)before, (void)result;
}

void wh_managed_after(void)
{
	abort();
}

void *wh_begin(struct wh_call *c, uint32_t call, size_t size)
{
	(void)size;
	if (call != WH_CALL_whStageCopy)
		return NULL;
	c->rsp = c->msg = message;
	return message;
}

CUresult wh_post_copy(struct wh_call *c, size_t key)
{
	const struct wh_req_whStageCopy *q = (const void *)message;

	(void)c;
	(void)key;
	if (copies++ == fail_at)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	overtaken += later[q->fence].pending;
	later[q->fence].q = *q;
	later[q->fence].pending = true;
	return CUDA_SUCCESS;
}

void wh_end(struct wh_call *c)
{
	(void)c;
}

void wh_log(const char *fmt, ...)
{
	(void)fmt;
}

CUresult wh_graph_capture_copy(const struct wh_staged *c)
{
	(void)c;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

struct wh_rest_mark wh_rest_begin(void)
{
	return (struct wh_rest_mark) { 0, 0 };
}

void wh_rest_reached(struct wh_rest_mark m, uint64_t stream, bool waited)
{
	(void)stream;
	reached = waited ? m.own : 0;
}

bool wh_rest_empty(void)
{
	return false;
}

CUresult wh_wait_from(struct wh_rest_mark *m, uint32_t kind, uint64_t fence)
{
	const struct wh_req_whStageCopy *q = &later[fence].q;

	m->own++;
	waits += kind == WH_WAIT_FENCE;
	if (!later[fence].pending)
		return CUDA_SUCCESS;
	later[fence].pending = false;
	if (q->kind == WH_COPY_TO_DEVICE)
		memcpy(device + q->device, (void *)q->host, q->size);
	else
		memcpy((void *)q->host, device + q->device, q->size);
	return CUDA_SUCCESS;
}

/* Does what the program's own synchronisation does. */
static void finish_all(void)
{
	struct wh_rest_mark m = { 0, 0 };
	int i;

	for (i = 0; i < WH_FENCES; i++)
		wh_wait_from(&m, WH_WAIT_FENCE, i);
}

/* --- Copies ----------------------------------------------------------------------- */

static uint8_t *host;

static void fill(uint8_t *p, uint32_t seed)
{
	size_t i;

	for (i = 0; i < SIZE; i++)
		p[i] = (i * 2654435761u >> 11) + seed;
}

static int differs(const uint8_t *p, uint32_t seed)
{
	uint8_t *want = malloc(SIZE);
	int d;

	fill(want, seed);
	d = memcmp(p, want, SIZE) != 0;
	free(want);
	return d;
}

static CUresult copy(uint32_t kind, bool wait)
{
	const struct wh_staged c = { .kind = kind, .host = host, .size = SIZE, .wait = wait };

	return wh_staged_copy(&c);
}

static void test_in(void)
{
	fill(host, 1);
	ok_eq(copy(WH_COPY_TO_DEVICE, false), 0, "copy_to_the_device_starts");
	ok(later[0].pending || later[1].pending || later[2].pending || later[3].pending,
	   "and_returns_before_it_has_arrived");
	memset(host, 0, SIZE);
	finish_all();
	ok(!differs(device, 1), "source_may_change_as_soon_as_the_call_returns");
	fill(host, 2);
	copy(WH_COPY_TO_DEVICE, false);
	fill(host, 3);
	copy(WH_COPY_TO_DEVICE, false);
	finish_all();
	ok(!differs(device, 3), "copies_behind_each_other_keep_their_bytes");
	ok_eq(overtaken, 0, "no_buffer_is_used_before_its_fence");
}

static void test_out(void)
{
	fill(device, 4);
	memset(host, 0, SIZE);
	copies = waits = 0;
	ok(copy(WH_COPY_TO_HOST, true) == 0 && !differs(host, 4), "copy_to_the_host_is_whole_at_return");
	ok(copies && reached == (uint64_t)(copies + waits),
	   "its_stream_is_at_rest_after_as_many_requests_as_it_took");
	fill(host, 5);
	copy(WH_COPY_TO_DEVICE, true);
	finish_all();
	memset(host, 0, SIZE);
	ok(copy(WH_COPY_TO_HOST, true) == 0 && !differs(host, 5), "directions_mix");
}

static void test_failure(void)
{
	copies = 0;
	fail_at = 3;
	ok_eq(copy(WH_COPY_TO_DEVICE, false), CUDA_ERROR_ILLEGAL_ADDRESS, "error_of_a_piece_is_the_copys");
	ok_eq(copies, 4, "and_ends_it");
	copies = 0;
	ok_eq(copy(WH_COPY_TO_HOST, true), CUDA_ERROR_ILLEGAL_ADDRESS, "error_on_the_way_back_likewise");
	fail_at = -1;
	fill(device, 6);
	finish_all();
	fill(device, 6);
	ok(copy(WH_COPY_TO_HOST, true) == 0 && !differs(host, 6), "next_copy_works");
}

/* What waits for the legacy default stream need not wait for each fence of a copy into it. */
static void test_rest(void)
{
	const struct wh_staged c = { .kind = WH_COPY_TO_DEVICE, .host = host, .size = 4096 };
	struct wh_staged other = c;
	int i, before, passed;

	other.stream = 77;
	wh_thread.ctx = 5;
	finish_all();
	for (i = before = 0; i < 8; i++) {
		before = waits;
		wh_staged_copy(&c);
		finish_all();
		wh_staging_rests();
	}
	passed = waits - before - WH_FENCES;
	ok_eq(passed, 0, "buffers_of_a_stream_at_rest_are_used_again_at_once");
	for (i = 0; i < 4; i++)
		wh_staged_copy(i % 2 ? &c : &other);
	wh_thread.ctx = 6;
	wh_staging_rests();
	wh_thread.ctx = 5;
	overtaken = 0;
	for (i = 0; i < 4; i++)
		wh_staged_copy(&c);
	ok_eq(overtaken, 0, "those_of_another_context_wait_for_their_fences");
	for (i = 0; i < 4; i++)
		wh_staged_copy(&other);
	wh_staging_rests();
	for (i = 0; i < 4; i++)
		wh_staged_copy(&other);
	ok_eq(overtaken, 0, "and_so_do_those_of_another_stream");
}

int main(void)
{
	wh_client.link.data = malloc(AREA);
	wh_client.link.data_size = AREA;
	host = malloc(SIZE);
	tap_plan(16);
	ok(wh_staging_init(), "buffers_are_taken");
	test_in();
	test_out();
	test_failure();
	test_rest();
	free(host);
	free(wh_client.link.data);
	return tap_exit();
}
