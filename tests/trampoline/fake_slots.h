/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker of slots_test.c: several slots, and a thread of the client in each. A
 * landing finds only one thing of its own, KVM's page with the slot's number. In one
 * address space that page is the same for all, so threads land one after the other, from
 * the switch to the handler. The worlds differ in no other page that is looked at, so
 * every thread is in both. `wrong` counts here what only one thread may do in a slot, and
 * what nobody may do any more.
 *
 * Signals come as under KVM: none in a view, but where a call is suspended, on the
 * client's stack at the trampoline's `pending`. CONTINUE is where a handler waits.
 */
#ifndef WORMHOLE_TESTS_FAKE_SLOTS_H
#define WORMHOLE_TESTS_FAKE_SLOTS_H

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include "fake_host.h"
#include "stubs.h"

/* --- Requests ------------------------------------------------------------------------ */

enum { OP_MIX, OP_MEET, OP_STAY };

#define GATES	8
struct op {
	struct wh_req head;
	uint64_t op, arg, value;
};

struct answer {
	struct wh_rsp head;
	uint64_t value, slot;
};

/* The words by which the client and its worker talk beside calls. */
static uint32_t news;			/* counts all changes of these */
static uint32_t arrived[GATES], opened[GATES];
static int wrong;			/* things that must never happen */

static void tell(uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&news, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &news, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static uint32_t told(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void await(const uint32_t *word, uint32_t at_least)
{
	uint32_t seen;

	for (seen = told(&news); told(word) < at_least; seen = told(&news))
		syscall(SYS_futex, &news, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void is_wrong(const char *what)
{
	diag("%s", what);
	__atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST);
}

static uint64_t mixed(uint64_t v)
{
	v = (v ^ v >> 33) * 0xff51afd7ed558ccd;
	return v ^ v >> 29;
}

/* --- Slots --------------------------------------------------------------------------- */

static struct view {
	int calls;		/* calls in this slot now */
	bool gone;		/* its call was cancelled */
	bool waits;		/* it waits for news after `seen` */
	uint32_t seen;
	void *handler[5];	/* where the handler goes on */
	sigset_t mask;		/* the client's mask */
	char stack[32768] __attribute__((aligned(64)));
} view[WH_MAX_SLOTS];

static int owner;		/* the process that attached */
static uint32_t landing;	/* a lock */

int64_t fake_handler_result;
struct regs fake_at_handler;
uint64_t fake_handler_runs;
void fake_suspend(void *pending, uint64_t index, uint64_t slot, uint64_t rsp)
	__attribute__((noreturn));

static struct wh_slot *slot_page(uint64_t n)
{
	return (struct wh_slot *)(WH_WINDOW_VA + (1 + n) * WH_PAGE_SIZE);
}

static void without_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

static void land(void)
{
	while (__atomic_exchange_n(&landing, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void landed(void)
{
	__atomic_store_n(&landing, 0, __ATOMIC_RELEASE);
}

/* --- Handlers ------------------------------------------------------------------------ */

/* Does what an interrupt of the client does: its signal handlers run now. */
__attribute__((noinline)) static void interrupt(struct view *v)
{
	struct wh_tramp_hdr *h = (struct wh_tramp_hdr *)WH_TRAMPOLINE_VA;
	uint64_t n = (uint64_t)(v - view);
	uint32_t mxcsr;
	uint16_t fcw;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m" (mxcsr), "=m" (fcw));
	if (!__builtin_setjmp(v->handler))
		fake_suspend((char *)h + h->pending, EPTP_INDEX + n, n, slot_page(n)->client.rsp);
	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m" (mxcsr), "m" (fcw));
}

static void wait_in(struct view *v, const uint32_t *word, uint32_t at_least)
{
	for (v->seen = told(&news); told(word) < at_least; v->seen = told(&news)) {
		v->waits = true;
		interrupt(v);
	}
	v->waits = false;
}

/* Waits until so many calls are in their handlers before one returns. */
static void meet(struct view *v, uint32_t calls)
{
	tell(&arrived[0]);
	wait_in(v, &arrived[0], calls);
}

static void stay(struct view *v, uint64_t gate)
{
	tell(&arrived[gate]);
	wait_in(v, &opened[gate], 1);
}

/* Delays as the value says, by both kinds of delay. */
static void delay(struct view *v, uint64_t value)
{
	uint64_t n = mixed(value) % 16;

	while (n > 8 && n-- % 3)
		sched_yield();
	if (n % 4 == 1)
		interrupt(v);
}

static int64_t handler(void *session, uint64_t slot, uint64_t size, uint64_t unused)
{
	struct answer *a = (struct answer *)(WH_WINDOW_VA + AT_MSG + slot * MSG);
	struct view *v = &view[slot];
	struct op o;

	(void)session;
	(void)unused;
	landed();
	memcpy(&o, a, sizeof(o));
	if (size != sizeof(o))
		is_wrong("a request of another size");
	if (o.op == OP_MEET)
		meet(v, (uint32_t)o.arg);
	else if (o.op == OP_STAY)
		stay(v, o.arg);
	else
		delay(v, o.value);
	*a = (struct answer) { { CUDA_SUCCESS, sizeof(*a) }, mixed(o.value), slot };
	return WH_OK;
}

/* --- Switches ------------------------------------------------------------------------ */

static int64_t arrive(struct regs *r, uint64_t n)
{
	struct wh_slot_view *page = (struct wh_slot_view *)WH_SLOT_VA;
	struct wh_world *w = (struct wh_world *)WH_WORLD_VA;
	sigset_t before;

	without_signals(&before);
	land();
	if (r->gpr[RDI] != (uint64_t)slot_page(n) || host.detaches)
		is_wrong(host.detaches ? "a call after the pair was given back" :
			 "a call with another slot's page");
	if (__atomic_exchange_n(&view[n].calls, 1, __ATOMIC_SEQ_CST))
		is_wrong("two calls in a slot");
	view[n].mask = before;
	w->slots[n].stack_top = (uint64_t)view[n].stack + sizeof(view[n].stack);
	w->slots[n].fs_base = r->fs;
	w->slots[n].gs_base = r->gs;
	page->slot = (uint32_t)n;
	return WH_OK;
}

/* The thread's own number is gone with its registers, but for what KVM gets. */
static int64_t come_home(uint64_t n)
{
	sigset_t mask = view[n].mask;

	__atomic_store_n(&view[n].calls, 0, __ATOMIC_SEQ_CST);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return WH_OK;
}

/* In a child there is no pair, so its switch leads nowhere. */
static int64_t refuse(void)
{
	((struct wh_slot_view *)WH_SLOT_VA)->view = 0;
	return WH_ENOENT;
}

int64_t fake_switch_c(struct regs *r)
{
	uint32_t index = (uint32_t)r->gpr[RCX];

	if (getpid() != owner)
		return refuse();
	if (!index)
		return come_home(r->gpr[RSI]);
	if (index < EPTP_INDEX || index >= EPTP_INDEX + host.slots)
		abort();
	return arrive(r, index - EPTP_INDEX);
}

int64_t fake_continue_c(struct regs *r)
{
	struct view *v = &view[r->gpr[RDI] - EPTP_INDEX];
	uint32_t seen = v->seen;
	sigset_t mask = v->mask;
	bool waits = v->waits;

	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	/* Signal handlers run here, and may never return. */
	if (waits && getpid() == owner)
		syscall(SYS_futex, &news, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	else
		sched_yield();
	if (getpid() != owner)
		return WH_EGONE;
	without_signals(&mask);
	if (v->gone)
		is_wrong("a cancelled call goes on");
	v->mask = mask;
	__builtin_longjmp(v->handler, 1);
}

/* --- The host's part ----------------------------------------------------------------- */

static void fill_world(struct wh_world *w)
{
	uint32_t i;

	w->nslots = host.slots;
	w->nhandlers = WH_HANDLER_CUDA + 1;
	w->handlers[WH_HANDLER_CUDA] = (uint64_t)handler;
	for (i = 0; i < host.slots; i++) {
		w->slots[i].mxcsr = 0x1f80;
		w->slots[i].fcw = 0x037f;
	}
}

static void attached(void)
{
	uint32_t i;

	mprotect((void *)WH_WORLD_VA, WH_PAGE_SIZE, PROT_READ | PROT_WRITE);
	mprotect((void *)WH_SLOT_VA, WH_PAGE_SIZE, PROT_READ | PROT_WRITE);
	fill_world((struct wh_world *)WH_WORLD_VA);
	((struct wh_slot_view *)WH_SLOT_VA)->view = WH_SLOT_VIEW;
	for (i = 0; i < WH_MAX_SLOTS; i++)
		view[i].calls = view[i].gone = 0;
	landing = 0;
	host.detaches = 0;
	owner = getpid();
}

/* Does what KVM does: there is a call, and it is suspended. */
static void cancelled(uint32_t slot)
{
	view[slot].gone = true;
	if (!__atomic_exchange_n(&view[slot].calls, 0, __ATOMIC_SEQ_CST))
		is_wrong("a slot without a call was cancelled");
}

#endif
