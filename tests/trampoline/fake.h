/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trampoline under test, with a fake switch. It has the same source, but in place of
 * VMFUNC it calls a hook, which changes the word that says which world this is. One
 * address space plays both worlds.
 */
#ifndef WORMHOLE_TESTS_FAKE_H
#define WORMHOLE_TESTS_FAKE_H

#include <stdint.h>

#include "trampoline.h"
#include "window.h"

/* fake.asm has the same structure. */
enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15 };
struct regs {
	uint64_t gpr[16];
	uint64_t rflags;
	uint64_t fs;
	uint64_t gs;
	uint32_t mxcsr;
	uint16_t fcw;
	uint16_t fsw;		/* of keep.out only */
};

struct keep {
	struct regs in;		/* what the caller holds */
	struct regs out;	/* what it finds after the call */
};

#define RFLAGS_AC	(1UL << 18)
#define RFLAGS_DF	(1UL << 10)
#define FSW_ES		(1U << 7)	/* an unmasked x87 exception is pending */
#define FAKE_INDEX	5u
#define FAKE_HANDLER	1u	/* its number; 0 and 2 are holes */
#define FAKE_HANDLERS	3u
#define FAKE_SLOT	1u	/* slot 0 has no stack, 2 is out of range */
#define FAKE_SLOTS	2u
#define FAKE_STATUS	0x123456789abcdefLL

extern struct wh_world *fake_world;
extern struct wh_slot *fake_slot;	/* a page of its own */
/* Says which slot the view is, where there is a view. */
extern struct wh_slot_view *fake_view;
extern struct wh_tramp_hdr *fake_page;

/* Every switch of the last call, with the registers that it found. */
extern struct regs fake_seen[8];
extern int fake_switches;
/* The action of the switch: 0 switches; another value leaves the world and returns that value. */
extern int64_t fake_refuse;
/* Suspends the call at its first switch. The function is called just before, if it is not NULL. */
extern int fake_suspends;
extern void (*fake_before_suspend)(void);
/* The world word after a switch there, if not 0. */
extern uint64_t fake_arrive;
/* The answer of CONTINUE, and how often it was asked. */
extern int64_t fake_continue_status;
extern int fake_continues;
extern struct regs fake_seen_continue;

extern struct regs fake_at_handler;
extern int64_t fake_handler_result;
extern uint64_t fake_handler_runs;

/* Maps page, world and slot. Returns why this machine cannot run the tests, or NULL. */
const char *fake_setup(void);
/* Makes fresh records, a fresh slot, and callee-saved registers with patterns. */
void fake_reset(struct keep *k);

int64_t fake_call(struct keep *k, wh_delegate_fn *fn, struct wh_slot *slot, uint32_t index,
		  uint64_t handler, const uint64_t arg[2]);
/* Calls delegate_to_server() by fake_call(), with the slot, index and arguments above. */
int64_t fake_delegate(struct keep *k, uint64_t handler);

/* Does the caller find everything that a callee must keep? Says what it does not find. */
int fake_kept(const struct keep *k);

extern const uint64_t fake_args[2];
uint64_t fake_stack_top(void);
uint64_t fake_worker_fs(void);
uint64_t fake_worker_gs(void);

#endif
