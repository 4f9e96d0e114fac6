// SPDX-License-Identifier: Apache-2.0
/*
 * The target is the ring: the worker's own loop (server/daemon/worker.c), and a client
 * that posts and asks, and writes what it likes into cells, slot and control page.
 * Whenever the worker would wait, the client goes on until it has sent something, so that
 * the same input always does the same. Changes by a client while the worker reads are not
 * tried here (tests/attack/ring_test.sh and the session's copies:
 * server/session/dispatch.c).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <unistd.h>

#include "shm_wait.h"
#define send	send_request	/* the fixture's send(), not the system's */
#include "world.h"
#undef send

static int64_t count_posted(struct wh_session *s, uint32_t number, uint32_t handler,
			    const void *from, uint32_t size, int *res);
static bool wait_for_client(const uint32_t *word, uint32_t last);
static int give_up_soon(void);

/* These replace what costs time, and the calls that the test counts. */
#define wh_shm_spin(s, word, last, equal, limit)	((void)(s), wait_for_client(word, last))
#define wh_dispatch_posted	count_posted
#define usleep(us)		((void)(us), give_up_soon())
#include "../../server/daemon/worker.c"
#undef wh_dispatch_posted
#undef usleep

#define MOST		64	/* turns of the client */
#define RETRIES		20

static struct wh_session *session;
static struct wh_slot *slot;
static struct wh_shm_ring small, deep, *ring;	/* the client uses the last one */
static uint32_t calls;		/* the number of the client's last call */
static unsigned int posted, retries;
static bool ended;		/* the worker serves no more */
static sem_t workers_turn, clients_turn;
static jmp_buf out;

/* --- The worker's side ---------------------------------------------------------------- */

static bool wait_for_client(const uint32_t *word, uint32_t last)
{
	posted = 0;
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == last) {
		sem_post(&clients_turn);
		while (sem_wait(&workers_turn))
			;
	}
	return true;
}

/*
 * The worker runs more posted calls than the ring holds, without a look at what was sent:
 * nobody sent those.
 */
static int64_t count_posted(struct wh_session *s, uint32_t number, uint32_t handler,
			    const void *from, uint32_t size, int *res)
{
	if (!retries && ++posted > (wh_self.deep ? deep : small).cells + 1)
		abort();
	return wh_dispatch_posted(s, number, handler, from, size, res);
}

/* A posted call may have to wait for ever, because its client is free to leave. */
static int give_up_soon(void)
{
	if (++retries > RETRIES)
		longjmp(out, 1);
	return 0;
}

/* --- The client's side ---------------------------------------------------------------- */

static uint64_t pick(uint64_t below)
{
	return fuzz_pick(fuzz_input, below);
}

/* Lets the worker run until it waits again. */
static void hand_over(void)
{
	if (ended)
		return;
	sem_post(&workers_turn);
	while (sem_wait(&clients_turn))
		;
}

static void announce(uint32_t number)
{
	__atomic_store_n(&slot->request, number, __ATOMIC_SEQ_CST);
	hand_over();
}

static bool ask_in_ring(struct wh_session *s, uint32_t number, uint32_t handler, size_t size)
{
	(void)s, (void)number;
	calls++;
	slot->request_handler = pick(32) ? handler : pick(8);
	slot->request_arg[0] = size;
	slot->request_arg[1] = pick(32) ? calls : pick(0);
	announce(calls);
	return !ended && slot->response == calls && !slot->response_status;
}

/* Posts a request. Nobody waits for it, so the function returns as if the request had no result. */
static bool post_in_ring(struct wh_session *s, uint32_t number, uint32_t handler, size_t size)
{
	struct wh_shm_cell *c = wh_shm_cell(ring, calls + 1);

	if (size > WH_SHM_LONG)
		return false;
	calls++;
	c->place = pick(32) ? calls % ring->longs : pick(0);
	if (size > sizeof(c->request) && c->place < ring->longs)
		memcpy(wh_shm_long(ring, c->place), s->frame[number].msg, size);
	else if (size <= sizeof(c->request))
		memcpy(c->request, s->frame[number].msg, size);
	c->size = pick(32) ? size : pick(8192);
	c->handler = pick(32) ? handler : pick(8);
	slot->request_arg[1] = 0;
	if (pick(2))
		announce(calls);
	return false;
}

static void scribble(void)
{
	uint8_t *const areas[] = { (uint8_t *)slot, (uint8_t *)ring->cell, session->part,
				   session->frame[protocol_slot].msg };
	const size_t sizes[] = { sizeof(*slot), ring->cells * sizeof(*ring->cell),
				 sizeof(struct wh_ctl), 4096 };
	unsigned int which = pick(4);
	uint64_t value = pick(0);

	memcpy(areas[which] + pick(sizes[which] / 4 - 1) * 4, &value, pick(2) ? 4 : 8);
}

/* Mostly as it should be: when the worker has done all. */
static void change_ring(void)
{
	if (slot->response != calls && pick(8))
		return;
	ring = ring == &small ? &deep : &small;
	slot->deep = ring == &deep;
}

static void turn(void)
{
	switch (pick(8)) {
	case 0:
		if (pick(2))
			change_ring();
		else
			scribble();
		break;
	case 1:
		announce(pick(4) ? calls + (uint32_t)pick(64) - 16 : (uint32_t)pick(1ULL << 32));
		break;
	case 2:
		announce(calls);
		break;
	case 3:
	case 4:
	case 5:
		protocol_send = post_in_ring;
		protocol_step();
		break;
	default:
		protocol_send = ask_in_ring;
		protocol_step();
	}
}

static void *client(void *arg)
{
	int i;

	while (sem_wait(&clients_turn))
		;
	for (i = 0; i < MOST && !ended && fuzz_input->at < fuzz_input->end; i++)
		turn();
	/* This ends any session; if it does not, that is a find. */
	for (i = 0; i < 8 && !ended; i++)
		announce(slot->request + 0x40000000);
	if (!ended)
		abort();
	return arg;
}

/*
 * Puts a call that asks for nothing into each cell: the worker would run, and count, what
 * nobody sent.
 */
static void fill_cells(const struct wh_shm_ring *r)
{
	uint32_t i;

	for (i = 0; i < r->cells; i++) {
		r->cell[i].size = sizeof(struct wh_req_cuCtxGetFlags);
		r->cell[i].handler = WH_HANDLER_CUDA;
		((struct wh_req *)r->cell[i].request)->call = WH_CALL_cuCtxGetFlags;
	}
}

/* Chooses the slot that this process serves. */
static void choose_slot(int number)
{
	protocol_slot = number;
	slot = (struct wh_slot *)(session->part + WH_PAGE_SIZE * (1 + number));
	small = wh_shm_ring(session->frame[number].msg + place.msg_size);
	deep = wh_shm_deep_ring(deep_rings, number);
	ring = &small;
	fill_cells(&small);
	fill_cells(&deep);
}

static void run(struct fuzz_input *in)
{
	pthread_t t;

	fuzz_input = in;
	choose_slot(pick(PROTOCOL_SLOTS));
	if (pthread_create(&t, NULL, client, NULL))
		_exit(0);
	if (!setjmp(out))
		serve_slot(protocol_slot);
	ended = true;
	sem_post(&clients_turn);
	pthread_join(t, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	session = make_world();
	life.session = session;
	life.part = session->part;
	place = wh_session_place(session);
	deep_rings = aligned_alloc(WH_PAGE_SIZE, PROTOCOL_SLOTS * WH_SHM_DEEP_RING);
	if (!deep_rings)
		abort();
	sem_init(&workers_turn, 0, 0);
	sem_init(&clients_turn, 0, 0);
	fuzz_share_counters();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_in_process(run, data, size);
	return 0;
}
