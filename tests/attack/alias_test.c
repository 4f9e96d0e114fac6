// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a client which takes back registered memory gains nothing. Its
 * graphs may still name the memory, but find there neither the worker's memory nor a
 * place to write a callback to. The session runs in this process, with a far area.
 */
#define _GNU_SOURCE
#include "session_block.h"

#define AREA	(16 * (uint64_t)WH_CALLBACK_AREA)

static uint64_t far, at;

static CUresult fine(void)
{
	return CUDA_SUCCESS;
}

static int32_t callback_at(struct wh_session *s, uint64_t callback)
{
	struct wh_req_whHostFunc *q = request(s, WH_CALL_whHostFunc, sizeof(*q));

	q->callback = callback;
	return send(s, sizeof(*q)) ? -1 : rsp(s)->result;
}

static uint64_t aligned(uint64_t addr)
{
	return (addr + WH_CALLBACK_AREA - 1) & ~(uint64_t)(WH_CALLBACK_AREA - 1);
}

/* Registers bytes of what is mapped at the client's addresses, and ends mappings below them. */
static void tests_of_bytes(struct wh_session *s)
{
	const uint64_t end = at + WH_CALLBACK_AREA;

	ok(!block(s, WH_HOST_PIN, at + 100, PAGE, 0) && !block(s, WH_HOST_PIN, at + 20, 80, 0),
	   "bytes_of_it_are_registered");
	ok(block(s, WH_HOST_PIN, at + 99, 1, 0) &&
	   block(s, WH_HOST_PIN, at + 100 + PAGE - 1, 9, 0) &&
	   block(s, WH_HOST_PIN, at, end - at, 0), "but_none_of_them_twice");
	ok(block(s, WH_HOST_PIN, end - 1, 2, 0) && block(s, WH_HOST_PIN, at - 1, 2, 0) &&
	   block(s, WH_HOST_PIN, at + 9 * PAGE, -1, 0) && block(s, WH_HOST_PIN, (uintptr_t)s, 8, 0),
	   "and_none_of_the_workers_own");
	ok(block(s, WH_HOST_UNALIAS, far, PAGE, 0) &&
	   block(s, WH_HOST_UNALIAS, far + PAGE, PAGE, 0) &&
	   block(s, WH_HOST_UNALIAS, far, WH_CALLBACK_AREA, 0),
	   "pages_of_registered_bytes_stay_mapped");
	ok(block(s, WH_HOST_UNALIAS, far + 3 * PAGE, WH_CALLBACK_AREA, 0) &&
	   block(s, WH_HOST_UNALIAS, far + 3 * PAGE, 1, 0) &&
	   block(s, WH_HOST_UNALIAS, far + 3 * PAGE + 1, PAGE, 0) &&
	   block(s, WH_HOST_UNALIAS, far + WH_CALLBACK_AREA, PAGE, 0),
	   "strange_parts_of_a_mapping_are_refused");
	ok(!block(s, WH_HOST_UNALIAS, far + 3 * PAGE, PAGE, 0) && is_nothing(at + 3 * PAGE) &&
	   !is_nothing(at + 2 * PAGE) && !is_nothing(at + 4 * PAGE) &&
	   block(s, WH_HOST_PIN, at + 3 * PAGE - 1, 2, 0), "a_page_in_the_middle_is_taken_back_alone");
	block(s, WH_HOST_UNPIN, at + 100, 0, 0);
	block(s, WH_HOST_UNPIN, at + 20, 0, 0);
	ok(!block(s, WH_HOST_UNALIAS, far, 3 * PAGE, 0) &&
	   !block(s, WH_HOST_UNALIAS, far + 4 * PAGE, WH_CALLBACK_AREA - 4 * PAGE, 0) &&
	   block(s, WH_HOST_UNALIAS, far, PAGE, 0), "the_rest_is_taken_back_from_both_sides");
	ok(!block(s, WH_HOST_ALIAS, far, WH_CALLBACK_AREA, at), "all_of_it_is_mapped_again");
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);

	(void)argc;
	tap_plan(18);
	far = (uintptr_t)mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			      0);
	at = (uintptr_t)mmap(NULL, AREA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap((void *)at, AREA);
	at = aligned(at);
	wh_session_far(s, (void *)far, AREA, false);
	say_hello(s);
	s->drv.cuMemHostRegister_v2 = (void *)fine;
	s->drv.cuMemHostUnregister = (void *)fine;
	s->drv.cuLaunchHostFunc = (void *)fine;
	ok(!block(s, WH_HOST_ALIAS, far, WH_CALLBACK_AREA, at), "memory_is_registered_at_its_address");
	*(volatile uint64_t *)far = 0x1234;
	ok_eq(*(volatile uint64_t *)at, 0x1234, "and_is_the_same_there");
	tests_of_bytes(s);
	ok(callback_at(s, at + 64), "it_holds_no_gate");
	ok(!callback_at(s, aligned((uintptr_t)s->data) + 64), "the_data_area_does");
	block(s, WH_HOST_UNALIAS, far, WH_CALLBACK_AREA, 0);
	ok(!is_free(at) && !is_free(at + WH_CALLBACK_AREA - PAGE),
	   "taken_back_its_address_is_not_the_workers");
	ok(is_nothing(at), "and_nothing_is_there");
	ok(is_free(at + WH_CALLBACK_AREA), "what_follows_is_free");
	ok(!block(s, WH_HOST_ALIAS, far, 2 * WH_CALLBACK_AREA, at) &&
	   *(volatile uint64_t *)at == 0x1234, "it_can_be_registered_again_with_more");
	ok(block(s, WH_HOST_ALIAS, far + 2 * WH_CALLBACK_AREA, PAGE, at + PAGE),
	   "but_not_over_what_is_registered");
	ok(block(s, WH_HOST_ALIAS, far + 2 * WH_CALLBACK_AREA, PAGE, (uintptr_t)s & ~(PAGE - 1)),
	   "and_not_over_the_workers_memory");
	return tap_exit();
}
