// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that no order of requests for host memory, at whatever addresses, makes two
 * things of one page: a page of the far area is registered, kept, placed or mapped once, is found
 * at the addresses that it was given and nowhere else, and counts once. The session runs in this
 * process. The driver is this file: it knows what is registered, and refuses nothing. WH_SEED
 * repeats a run.
 */
#define _GNU_SOURCE
#include "session_block.h"
#include "random.h"

#include <time.h>

#define FAR	16			/* pages of the far area */
#define OWN	8			/* pages at the client's addresses, and as many reserved */
#define STEPS	4000
#define PINS	1024

enum kind { FREE, PINNED, KEPT, PLACED, MAPPED };

/* What the test expects of each page of the far area. */
static struct {
	enum kind kind;
	uint64_t first;			/* the page where its block begins */
	uint64_t at;			/* of what is placed or mapped */
} page[FAR];

/* What the driver has registered. */
static struct {
	uint64_t at, size;
} pins[PINS];
static size_t pinned;

static uint64_t far, own, space;
static bool wrong;			/* the driver was asked for something that must not be */
static unsigned int done[WH_HOST_BACK + 1];

static CUresult pin(void *p, size_t size, unsigned int flags)
{
	uint64_t at = (uintptr_t)p;
	size_t i;

	(void)flags;
	wrong |= is_nothing(at) || is_nothing(at + size - 1) || pinned == PINS;
	for (i = 0; i < pinned; i++)
		wrong |= at < pins[i].at + pins[i].size && pins[i].at < at + size;
	if (pinned < PINS) {
		pins[pinned].at = at;
		pins[pinned++].size = size;
	}
	return CUDA_SUCCESS;
}

static CUresult unpin(void *p)
{
	size_t i;

	for (i = 0; i < pinned && pins[i].at != (uintptr_t)p; i++)
		;
	if (i < pinned)
		pins[i] = pins[--pinned];
	else
		wrong = true;
	return CUDA_SUCCESS;
}

/* --- What is expected ------------------------------------------------------------------- */

/* Pages of one kind become another one. False: one of them was of no such kind. */
static bool change(uint64_t first, uint64_t n, enum kind from, enum kind to, uint64_t at)
{
	uint64_t i;

	if (n > FAR || first > FAR - n)
		return false;
	for (i = first; i < first + n; i++) {
		if (page[i].kind != from)
			return false;
		page[i].kind = to;
		page[i].first = first;
		page[i].at = at ? at + (i - first) * PAGE : 0;
	}
	return n > 0;
}

static uint64_t length(uint64_t first)
{
	uint64_t n = 0;

	while (first + n < FAR && page[first + n].kind == page[first].kind &&
	       page[first + n].first == first)
		n++;
	return n;
}

/* A request has succeeded. False: it must not have. */
static bool follow(uint32_t op, uint64_t addr, uint64_t size, uint64_t at)
{
	uint64_t i = (addr - far) / PAGE, n = size / PAGE;
	bool in_far = addr - far < FAR * PAGE;

	if (!in_far)		/* bytes that are mapped: the driver looks at them */
		return (op == WH_HOST_PIN || op == WH_HOST_UNPIN) && addr - own < OWN * PAGE;
	if (addr % PAGE)
		return false;
	switch (op) {
	case WH_HOST_PIN:
		return change(i, n, FREE, PINNED, 0);
	case WH_HOST_KEEP:
		return change(i, n, FREE, KEPT, 0);
	case WH_HOST_ALIAS:
		return at - own < OWN * PAGE && change(i, n, FREE, MAPPED, at);
	case WH_HOST_UNALIAS:
		return change(i, n, MAPPED, FREE, 0);
	case WH_HOST_PLACE:
		return at - space < OWN * PAGE && page[i].first == i && length(i) == n &&
		       change(i, n, KEPT, PLACED, at);
	case WH_HOST_BACK:
		return page[i].first == i && change(i, length(i), PLACED, KEPT, 0);
	}
	return page[i].first == i && page[i].kind != FREE && page[i].kind != MAPPED &&
	       change(i, length(i), page[i].kind, FREE, 0);
}

/* Is at this address the page that is expected there, or nothing? */
static bool shows(uint64_t at)
{
	size_t i, n = 0, there = 0;

	for (i = 0; i < FAR; i++)
		if (page[i].at == at) {
			there = i;
			n++;
		}
	if (n != 1)
		return n == 0 && is_nothing(at);
	return !is_nothing(at) && *(volatile uint64_t *)at == there;
}

static uint64_t held(const struct wh_session *s)
{
	return s->limits.account->host_memory;
}

static bool as_expected(const struct wh_session *s, uint64_t before)
{
	uint64_t bytes = 0;
	bool good = !wrong;
	size_t i;

	for (i = 0; i < FAR; i++)
		bytes += page[i].kind != FREE ? PAGE : 0;
	for (i = 0; i < pinned; i++)
		good &= !is_nothing(pins[i].at) && !is_nothing(pins[i].at + pins[i].size - 1);
	for (i = 0; i < OWN; i++)
		good &= shows(own + i * PAGE) && shows(space + i * PAGE);
	return good && held(s) - before == bytes;
}

/* --- Requests ------------------------------------------------------------------------------ */

static uint64_t any_address(void)
{
	const uint64_t base[] = { far, far, far, own, own, space };
	uint64_t at = base[any(6)] + any(FAR) * PAGE;

	return any(4) ? at : at + any(2 * PAGE) - PAGE;
}

static bool step(struct wh_session *s)
{
	uint32_t op = any(WH_HOST_BACK + 1);
	uint64_t addr = any(3) ? far + any(FAR) * PAGE : any_address();
	uint64_t size = any(4) ? (1 + any(3)) * PAGE : any(3 * PAGE) - any(2) * PAGE;
	uint64_t at = any(8) ? (op == WH_HOST_PLACE ? space : own) + any(OWN) * PAGE :
				 any_address();

	size_t i = any(FAR);

	if (op == WH_HOST_UNPIN && pinned && any(2))
		addr = pins[any(pinned)].at;
	if (op == WH_HOST_PIN && page[i].kind == MAPPED) {
		addr = page[i].at + any(PAGE);
		size = 1 + any(PAGE);
	}
	if (block(s, op, addr, size, at))
		return true;
	done[op]++;
	return follow(op, addr, size, at);
}

/* A context that ends takes all registrations along. They are made again. */
static bool reset(struct wh_session *s)
{
	size_t before = pinned;

	pinned = 0;
	wh_host_register_again(s);
	return pinned == before;
}

static void test_steps(struct wh_session *s, uint64_t before)
{
	bool good = true, all = true, again = true;
	unsigned int i;

	for (i = 0; i < STEPS && good; i++) {
		good = step(s) && as_expected(s, before);
		again &= i % 64 || reset(s);
	}
	if (!good)
		diag("step %u", i - 1);
	ok(good, "each_page_is_used_once_and_counts_once");
	ok(again && !wrong, "registrations_are_made_again_after_a_reset");
	for (i = 0; i <= WH_HOST_BACK; i++)
		all &= done[i] > 0;
	ok(all, "each_operation_has_succeeded");
}

/* A placed block is ended by UNPIN, too. */
static void test_end(struct wh_session *s, uint64_t before)
{
	bool good = true;
	size_t i;

	for (i = 0; i < FAR; i++)
		if (page[i].kind != MAPPED && page[i].kind != FREE && page[i].first == i)
			good &= !block(s, WH_HOST_UNPIN, far + i * PAGE, 0, 0) &&
				follow(WH_HOST_UNPIN, far + i * PAGE, 0, 0);
	while (pinned && good)
		good = !block(s, WH_HOST_UNPIN, pins[0].at, 0, 0);
	for (i = 0; i < FAR; i++)
		if (page[i].kind == MAPPED)
			good &= !block(s, WH_HOST_UNALIAS, far + i * PAGE, PAGE, 0) &&
				follow(WH_HOST_UNALIAS, far + i * PAGE, PAGE, 0);
	ok(good && as_expected(s, before) && held(s) == before, "all_of_it_can_be_ended");
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);
	const char *one = getenv("WH_SEED");
	uint64_t seed = one ? strtoull(one, NULL, 0) : (uint64_t)time(NULL), before, i;
	struct wh_req_cuMemAddressReserve *q;

	(void)argc;
	tap_plan(4);
	diag("WH_SEED=%llu", (unsigned long long)seed);
	random_state = seed * 0x9e3779b97f4a7c15ULL | 1;
	far = (uintptr_t)mmap(NULL, FAR * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			      -1, 0);
	/* The client's addresses are free; pages that are nobody's lie around both places. */
	own = (uintptr_t)mmap(NULL, 4 * OWN * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) +
	      PAGE;
	munmap((void *)own, OWN * PAGE);
	reserve_at = space = own + 2 * OWN * PAGE;
	wh_session_far(s, (void *)far, FAR * PAGE, false);
	say_hello(s);
	s->drv.cuMemHostRegister_v2 = pin;
	s->drv.cuMemHostUnregister = unpin;
	s->drv.cuMemAddressReserve = reserve;
	q = request(s, WH_CALL_cuMemAddressReserve, sizeof(*q));
	q->size = OWN * PAGE;
	send(s, sizeof(*q));
	for (i = 0; i < FAR; i++)
		*(volatile uint64_t *)(far + i * PAGE) = i;
	before = held(s);
	test_steps(s, before);
	test_end(s, before);
	return tap_exit();
}
