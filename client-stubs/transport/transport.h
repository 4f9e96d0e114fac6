/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a request gets from the client's stubs to its worker and back. A
 * transport maps the pair's window part, runs one request at a time on each
 * slot, and says when the worker is gone; it knows nothing about CUDA.
 */
#ifndef WORMHOLE_TRANSPORT_H
#define WORMHOLE_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"
#include "window.h"

struct wh_transport;

/* One slot of the pair: one thread at a time makes calls in it. */
struct wh_link_slot {
	uint8_t *msg;		/* its message area in the part */
	int deferred;		/* a posted call's CUresult, until somebody takes it */
	bool no_post;		/* the worker wants an answer to each call to be awaited */
	uint64_t posted;	/* number of the last posted call; others read it, too */
} __attribute__((aligned(64)));

struct wh_link {
	const struct wh_transport *t;
	uint32_t slots;
	size_t msg_size;	/* of each slot */
	size_t room;		/* of a message area, that posted calls leave alone */
	uint8_t *part;		/* window part, at WH_WINDOW_VA in client and worker */
	size_t part_size;
	uint8_t *data;		/* staging and cuMemAllocHost memory, same address in both worlds */
	size_t data_size;
	/*
	 * More memory that both sides have at one address, mostly holes: blocks
	 * are made and pinned one by one (whHostBlock). NULL: there is none.
	 */
	uint8_t *far;
	size_t far_size;
	int one_process;	/* the worker's code runs here: it sees all of our memory */
	void *priv;		/* the transport's own */
	struct wh_link_slot slot[WH_MAX_SLOTS];
};

/*
 * All but probe run on any thread; calls of different slots at the same time, those of
 * one slot one at a time: the stubs hold the slot's lock. Statuses are WH_* of
 * wormhole_abi.h.
 */
struct wh_transport {
	const char *name;
	/* Is it worth trying? Cheap, no side effect. */
	int (*probe)(void);
	/* Fill in the link from the control page. 0 or a negative status. */
	int (*open)(struct wh_link *l);
	/*
	 * The request is in the slot's msg. On 0 the response is there; a negative
	 * status means that no response came and that none will: the worker is
	 * gone (WH_EGONE) or broken, and so is the link from now on. Only
	 * WH_EBUSY changes nothing: a call is under way. A positive status:
	 * nothing was done, and the request, which is still in msg, is worth
	 * sending again after so many microseconds. The arguments are in the order of
	 * delegate_to_server() (trampoline/gate.asm), which finds them where they are.
	 */
	int (*call)(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot);
	/*
	 * The same again after the positive status 1, which says that the worker keeps the
	 * request until it is worth something: who waits sleeps at once. NULL: call.
	 */
	int (*call_patiently)(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot);
	/*
	 * The same without a response: `size` bytes in msg are taken, and run
	 * before any later call of the slot, whose `posted` is this call's number, which
	 * only rises; if the result is no success, the first such one
	 * is in `deferred` after some later call. 0, WH_ENOSYS when this one
	 * cannot be posted, or a status as above. NULL: none can.
	 */
	int (*post)(struct wh_link *l, uint32_t slot, uint32_t handler, size_t size);
	/* On any thread: wait until that call of the slot is done. NULL: nothing is posted. */
	int (*reached)(struct wh_link *l, uint32_t slot, uint64_t number);
	/* Wait until all posted calls of the slot are done: all of its message area is free. */
	int (*settle)(struct wh_link *l, uint32_t slot);
	/*
	 * A call may be under way whose caller's stack is gone. On 0 it is over
	 * and the link can be used again; a status as of call: it cannot.
	 * NULL: it never can.
	 */
	int (*abandon)(struct wh_link *l, uint32_t slot);
	void (*close)(struct wh_link *l);
	/*
	 * In a fork's child, whose parent goes on: what came along of the link goes, and
	 * nobody else is told. open() may follow. NULL: nothing to do, or done otherwise.
	 */
	void (*forked)(struct wh_link *l);
	/*
	 * The process ends: give the pair back, now. What the program has in
	 * the part stays accessible, with any content. NULL: nothing to do.
	 */
	void (*end)(struct wh_link *l);
};

extern const struct wh_transport wh_transport_vmfunc;	/* transport_vmfunc.c */
extern const struct wh_transport wh_transport_shm;
extern const struct wh_transport wh_transport_loopback;

/*
 * Fill part_size, slots and data of a link whose part is mapped,
 * after copying and checking the control page. 0, WH_EVERSION (one line on
 * stderr names both versions), or WH_EFAULT for a page that makes no sense.
 */
int wh_link_from_part(struct wh_link *l, void *part, size_t part_size);

#endif
