/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker of transport_test.c: one slot, one thread. The switch changes the world
 * page, and leads to a function of the same process.
 */
#ifndef WORMHOLE_TESTS_FAKE_WORKER_H
#define WORMHOLE_TESTS_FAKE_WORKER_H

#include "fake_host.h"

void wh_log(const char *fmt, ...)
{
	(void)fmt;
}

static char complaint[512];	/* the last one */

void wh_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(complaint, sizeof(complaint), fmt, ap);
	va_end(ap);
}

/* Does what client-stubs/transport/transport.c does, without the hash of the API. */
int wh_link_from_part(struct wh_link *l, void *part, size_t part_size)
{
	struct wh_ctl c;

	if (host.in_link)
		host.in_link();
	memcpy(&c, part, sizeof(c));
	l->part_size = part_size;
	l->slot[0].msg = (uint8_t *)part + c.msg_offset;
	l->data = (uint8_t *)part + c.data_offset;
	return 0;
}

/* --- The worker: the same process after a switch ----------------------------------- */

int64_t fake_handler_result;
struct regs fake_at_handler;
uint64_t fake_handler_runs;
static struct wh_link l;
static int64_t nested_status;
static int nest;
static uint64_t handled[4];
static char stack[16384] __attribute__((aligned(16)));

static int64_t handler(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	handled[0] = (uint64_t)session;
	handled[1] = slot;
	handled[2] = arg0;
	handled[3] = arg1;
	return arg0 == 99 ? WH_EINVAL : WH_OK;
}

static void become(uint64_t word)
{
	struct wh_slot_view *v = (struct wh_slot_view *)WH_SLOT_VA;
	struct wh_world *w = (struct wh_world *)WH_WORLD_VA;

	mprotect(w, WH_PAGE_SIZE, PROT_READ | PROT_WRITE);
	memset(w, 0, sizeof(*w));
	w->world = word;
	if (word == WH_WORLD_SERVER) {
		w->nslots = 1;
		w->nhandlers = 2;
		w->session = 0x5e55;
		w->handlers[1] = (uint64_t)handler;
		w->slots[0].stack_top = (uint64_t)stack + sizeof(stack);
		w->slots[0].fs_base = ((struct wh_slot *)(WH_WINDOW_VA + WH_PAGE_SIZE))->client.fs;
		w->slots[0].mxcsr = 0x1f80;
		w->slots[0].fcw = 0x037f;
	}
	mprotect(w, WH_PAGE_SIZE, PROT_READ);
	mprotect(v, WH_PAGE_SIZE, PROT_READ | PROT_WRITE);
	v->view = word == WH_WORLD_SERVER ? WH_SLOT_VIEW : 0;
	mprotect(v, WH_PAGE_SIZE, PROT_READ);
}

int64_t fake_switch_c(struct regs *r)
{
	if ((uint32_t)r->gpr[RCX] && r->gpr[RCX] != EPTP_INDEX)
		return WH_ENOENT;
	/* The nested call stands for a signal handler that comes just before the switch. */
	if (r->gpr[RCX] && nest)
		nested_status = l.t->call(&l, 1, 1, 0);
	become(r->gpr[RCX] ? WH_WORLD_SERVER : WH_WORLD_CLIENT);
	return 0;
}

int64_t fake_continue_c(struct regs *r)
{
	(void)r;
	return WH_EFATAL;
}

static uint32_t part_here(void)
{
	return ((struct wh_ctl *)WH_WINDOW_VA)->part;
}

/* Begins with a host that was asked nothing yet, and no link. */
static void begin_afresh(void)
{
	fresh_host();
	memset(&l, 0, sizeof(l));
}

#endif
