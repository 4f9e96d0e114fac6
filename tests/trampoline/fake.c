// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the one address space that plays both worlds: the page with the fake switch, the
 * world page, the slot, the worker's stack and bases.
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake.h"
#include "gen_fake_trampoline.h"

#define PAGE	4096
#define CALL_STACK	(4 * PAGE)

struct wh_world *fake_world;
struct wh_slot *fake_slot;
struct wh_slot_view *fake_view;
struct wh_tramp_hdr *fake_page;
struct regs fake_seen[8], fake_at_handler, fake_seen_continue;
int fake_switches, fake_continues, fake_suspends;
void (*fake_before_suspend)(void);
int64_t fake_refuse, fake_continue_status, fake_handler_result;
uint64_t fake_arrive, fake_handler_runs;
const uint64_t fake_args[2] = { 0xa0a0a0a0a0a0a0a0, 0xa1a1a1a1a1a1a1a1 };

static char client_gs[64];
static char worker_area[2 * PAGE] __attribute__((aligned(PAGE)));
static char call_stack[CALL_STACK] __attribute__((aligned(16)));

void fake_switch(void);
void fake_continue(void);
void fake_handler(void);
void fake_suspend(void *pending, uint64_t index, uint64_t slot, uint64_t rsp)
	__attribute__((noreturn));
int64_t fake_switch_c(struct regs *r);
int64_t fake_continue_c(struct regs *r);

uint64_t fake_stack_top(void)
{
	return (uint64_t)call_stack + CALL_STACK;
}

uint64_t fake_worker_fs(void)
{
	return (uint64_t)worker_area;
}

uint64_t fake_worker_gs(void)
{
	return (uint64_t)worker_area + PAGE;
}

static void set_world(uint64_t word)
{
	fake_world->world = word;
	fake_view->view = word == WH_WORLD_SERVER ? WH_SLOT_VIEW : 0;
}

__attribute__((noreturn)) static void suspend(uint64_t index)
{
	void *pending = (char *)fake_page + fake_page->pending;
	uint64_t slot = fake_slot->slot, rsp = fake_slot->client.rsp;

	if (fake_before_suspend)
		fake_before_suspend();
	fake_suspend(pending, index, slot, rsp);
}

int64_t fake_switch_c(struct regs *r)
{
	if (fake_switches < 8)
		fake_seen[fake_switches] = *r;
	fake_switches++;
	if (r->gpr[RAX])
		return WH_EINVAL;	/* not leaf 0: not EPT switching */
	if (!(uint32_t)r->gpr[RCX]) {
		set_world(WH_WORLD_CLIENT);
		return 0;
	}
	if (fake_refuse)
		return fake_refuse;
	if (fake_suspends)
		suspend(r->gpr[RCX]);
	set_world(fake_arrive ? fake_arrive : WH_WORLD_SERVER);
	return 0;
}

int64_t fake_continue_c(struct regs *r)
{
	fake_seen_continue = *r;
	fake_continues++;
	return fake_continue_status;
}

static void fill_world(void)
{
	struct wh_world_slot *s = &fake_world->slots[FAKE_SLOT];

	fake_world->world = WH_WORLD_CLIENT;
	fake_world->nslots = FAKE_SLOTS;
	fake_world->nhandlers = FAKE_HANDLERS;
	fake_world->session = 0x5e55105e55105e55;
	fake_world->handlers[FAKE_HANDLER] = (uint64_t)fake_handler;
	fake_world->handlers[FAKE_HANDLERS] = (uint64_t)fake_handler;	/* behind the end */
	s->stack_top = fake_stack_top();
	s->fs_base = fake_worker_fs();
	s->gs_base = fake_worker_gs();
	s->mxcsr = 0x1f80;
	s->fcw = 0x037f;
}

static int map_pages(void)
{
	const int rw = PROT_READ | PROT_WRITE, anon = MAP_PRIVATE | MAP_ANONYMOUS;
	void **hooks;
	char *p;

	p = mmap((void *)WH_TRAMPOLINE_VA, 3 * PAGE, rw, anon | MAP_FIXED_NOREPLACE, -1, 0);
	fake_slot = mmap(NULL, PAGE, rw, anon, -1, 0);
	fake_view = mmap((void *)WH_SLOT_VA, PAGE, rw, anon | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == MAP_FAILED || fake_slot == MAP_FAILED || fake_view == MAP_FAILED)
		return -1;
	memcpy(p, gen_trampoline, PAGE);
	fake_page = (struct wh_tramp_hdr *)p;
	fake_world = (struct wh_world *)(p + PAGE);
	hooks = (void **)(p + 2 * PAGE);
	hooks[0] = fake_switch;
	hooks[1] = fake_continue;
	return mprotect(p, PAGE, PROT_READ | PROT_EXEC);
}

const char *fake_setup(void)
{
	if (!(getauxval(AT_HWCAP2) & 2))
		return "this machine runs without FSGSBASE";
	if (map_pages()) {
		printf("Bail out! cannot map the trampoline\n");
		exit(1);
	}
	fill_world();
	return NULL;
}

void fake_reset(struct keep *k)
{
	int i;

	memset(fake_slot, 0, sizeof(*fake_slot));
	fake_slot->slot = FAKE_SLOT;
	fake_view->slot = FAKE_SLOT;
	memset(fake_seen, 0, sizeof(fake_seen));
	memset(&fake_at_handler, 0, sizeof(fake_at_handler));
	fake_switches = fake_continues = 0;
	fake_refuse = 0;
	fake_suspends = 0;
	fake_before_suspend = NULL;
	fake_arrive = 0;
	fake_continue_status = WH_EGONE;
	fake_handler_runs = 0;
	fake_handler_result = FAKE_STATUS;
	set_world(WH_WORLD_CLIENT);

	memset(k, 0, sizeof(*k));
	for (i = 0; i < 16; i++)
		k->in.gpr[i] = 0x0101010101010101ULL * (uint64_t)(i + 1) ^ 0xdeadbeefcafef00d;
	k->in.rflags = 0x202;
	k->in.mxcsr = 0x1f80;
	k->in.fcw = 0x037f;
	syscall(SYS_arch_prctl, ARCH_GET_FS, &k->in.fs);
	k->in.gs = (uint64_t)client_gs;
	syscall(SYS_arch_prctl, ARCH_SET_GS, k->in.gs);
}

int64_t fake_delegate(struct keep *k, uint64_t handler)
{
	return fake_call(k, wh_trampoline_delegate(fake_page), fake_slot, FAKE_INDEX, handler,
			 fake_args);
}

static int same(const char *what, uint64_t got, uint64_t want)
{
	if (got == want)
		return 1;
	printf("# %s: expected 0x%llx, got 0x%llx\n", what, (unsigned long long)want,
	     (unsigned long long)got);
	return 0;
}

int fake_kept(const struct keep *k)
{
	static const int kept[] = { RBX, RBP, RSP, R12, R13, R14, R15 };
	const struct regs *in = &k->in, *out = &k->out;
	int good = 1;
	size_t i;

	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		good &= same("callee-saved", out->gpr[kept[i]], in->gpr[kept[i]]);
	good &= same("MXCSR", out->mxcsr, in->mxcsr);
	good &= same("x87 control word", out->fcw, in->fcw);
	good &= same("pending x87 exception", out->fsw & FSW_ES, 0);
	good &= same("AC and DF", out->rflags & (RFLAGS_AC | RFLAGS_DF),
		     in->rflags & RFLAGS_AC);
	good &= same("FS base", out->fs, in->fs);
	good &= same("GS base", out->gs, in->gs);
	return good;
}
