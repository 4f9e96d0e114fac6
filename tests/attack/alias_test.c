// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a client which takes back registered memory gains nothing. Its
 * graphs may still name the memory, but find there neither the worker's memory nor a
 * place to write a callback to. The session runs in this process, with a far area.
 */
#define _GNU_SOURCE
#include "session_fixture.h"
#include "hostblock.h"

#include <errno.h>
#include <unistd.h>

#define PAGE	WH_PAGE_SIZE
#define AREA	(16 * (uint64_t)WH_CALLBACK_AREA)

static uint64_t far, at;

static CUresult fine(void)
{
	return CUDA_SUCCESS;
}

static int32_t block(struct wh_session *s, uint32_t op, uint64_t addr, uint64_t size, uint64_t to)
{
	struct wh_req_whHostBlock *q = request(s, WH_CALL_whHostBlock, sizeof(*q));

	return send(s, host_block(q, op, addr, size, to)) ? -1 : rsp(s)->result;
}

static bool is_free(uint64_t addr)
{
	void *p = mmap((void *)addr, PAGE, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	munmap(p, PAGE);
	return true;
}

/* The kernel reads there, because a read by this program would end it. */
static bool is_nothing(uint64_t addr)
{
	int pair[2];
	bool nothing;

	if (pipe(pair))
		return false;
	nothing = write(pair[1], (void *)addr, 1) < 0 && errno == EFAULT;
	close(pair[0]);
	close(pair[1]);
	return nothing;
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

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);

	(void)argc;
	tap_plan(10);
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
	ok(callback_at(s, at + 64), "it_holds_no_gate");
	ok(!callback_at(s, aligned((uintptr_t)s->data) + 64), "the_data_area_does");
	block(s, WH_HOST_UNPIN, far, 0, 0);
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
