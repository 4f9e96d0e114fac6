/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transport brings a request from the client's stubs to the worker and the reply back. It
 * maps the pair's window part, runs one request at a time on each slot, and says when the
 * worker is gone. It knows nothing about CUDA.
 */
#ifndef WORMHOLE_TRANSPORT_H
#define WORMHOLE_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "compiler.h"
#include "log.h"
#include "window.h"

struct wh_transport;

/* One slot of the pair: one thread at a time makes calls in it. */
struct wh_link_slot {
	uint8_t *msg;		/* its message area in the part */
	int deferred;		/* a posted call's CUresult, until somebody takes it */
	bool no_post;		/* the worker wants an answer to each call to be awaited */
	uint64_t posted;	/* number of the last posted call; other threads read it, too */
	uint32_t alike;		/* of the call that is posted next: struct wh_shm_cell */
} __attribute__((aligned(64)));

struct wh_link {
	const struct wh_transport *t;
	uint32_t slots;
	size_t msg_size;	/* bytes of each slot's message area */
	size_t room;		/* bytes of it that posted calls leave alone */
	uint8_t *part;		/* window part, at WH_WINDOW_VA in client and worker */
	size_t part_size;
	/* Staging and cuMemAllocHost() memory, at the same address on both sides. */
	uint8_t *data;
	size_t data_size;
	/*
	 * More memory that both sides have at one address. Most of it are holes: blocks are
	 * made and pinned one by one (whHostBlock). NULL: there is none.
	 */
	uint8_t *far;
	size_t far_size;
	/*
	 * The worker takes turns with others' and runs calls of all slots one by one. What is
	 * posted in one slot waits there for its turn, and calls of other slots would wait for it.
	 */
	bool turns;
	int one_process;	/* the worker's code runs in this process and sees all our memory */
	void *priv;		/* the transport's own */
	struct wh_link_slot slot[WH_MAX_SLOTS];
};

/*
 * All functions but probe run on any thread. Calls of different slots run at the same time,
 * those of one slot one at a time: the stubs hold the slot's lock. Statuses are WH_* of
 * wormhole_abi.h.
 */
struct wh_transport {
	const char *name;
	/* Is the transport worth trying? It is cheap and has no side effect. */
	int (*probe)(void);
	/* Fills in the link from the control page. Returns 0 or a negative status. */
	int (*open)(struct wh_link *l);
	/*
	 * Runs the request in the slot's msg.
	 *
	 * 0: the response is there. A negative status: no response came and none will. The
	 * worker is gone (WH_EGONE) or broken, and so is the link from now on. Only WH_EBUSY
	 * changes nothing: a call is under way. A positive status: nothing was done, and the
	 * request, which is still in msg, is worth sending again after so many microseconds.
	 *
	 * The arguments are in the order of delegate_to_server() (trampoline/delegate.asm), which
	 * finds them where they are.
	 */
	int (*call)(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot);
	/*
	 * The same again after the positive status 1. That status says that the worker keeps
	 * the request until it can be served, so the caller's thread sleeps at once. NULL:
	 * call() is used.
	 */
	int (*call_patiently)(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot);
	/*
	 * Posts the `size` bytes in msg, which get no response. They run before any later call
	 * of the slot. The slot's `posted` becomes this call's number, which only rises. If
	 * results are no success, the first of them is in `deferred` after some later call.
	 * Returns 0, WH_ENOSYS if this call cannot be posted, or a status as above. NULL: no
	 * call can be posted.
	 */
	int (*post)(struct wh_link *l, uint32_t slot, uint32_t handler, size_t size);
	/* Waits, on any thread, until that call of the slot is done. NULL: nothing is posted. */
	int (*reached)(struct wh_link *l, uint32_t slot, uint64_t number);
	/*
	 * Waits until all posted calls of the slot are done. All of its message area is free
	 * then.
	 */
	int (*settle)(struct wh_link *l, uint32_t slot);
	/*
	 * Ends a call that may be under way though its caller's stack is gone. 0: the call is
	 * over and the link can be used again. A status as of call(): it cannot. NULL: it never
	 * can.
	 */
	int (*abandon)(struct wh_link *l, uint32_t slot);
	void (*close)(struct wh_link *l);
	/*
	 * In a fork's child, whose parent goes on: drops the child's share of the link, and
	 * tells nobody else. open() may follow. NULL: nothing is to be done, or it is done
	 * otherwise.
	 */
	void (*forked)(struct wh_link *l);
	/*
	 * Lends the worker the file behind a descriptor of this process, for whHostBlock. `number`
	 * is the caller's own. Returns enum wh_shm_lent of shm.h, or a negative status. NULL: no
	 * file can be lent.
	 */
	int (*lend)(struct wh_link *l, int file, uint64_t inode, uint32_t number);
	/*
	 * The process ends: gives the pair back at once. The program's memory in the part stays
	 * accessible, with any content. NULL: nothing is to be done.
	 */
	void (*end)(struct wh_link *l);
};

extern const struct wh_transport wh_transport_vmfunc;	/* transport_vmfunc.c */
extern const struct wh_transport wh_transport_ring;	/* transport_ring.c */
extern const struct wh_transport wh_transport_shm;
extern const struct wh_transport wh_transport_loopback;

/* Where the server is, as `wormhole run' says it. */
#define WH_TRANSPORT_ENV	"WORMHOLE_TRANSPORT"
#define WH_SOCKET_ENV		"WORMHOLE_SOCKET"
/*
 * Returns such a variable, or NULL. A program that has cleared its environment since (clearenv())
 * has both of those with which it was started, as it has a GPU natively; `room` is for that.
 */
const char *wh_transport_variable(const char *name, char *room, size_t size);

/*
 * Fills in part_size, slots and data of a link whose part is mapped, after it has copied and
 * checked the control page. Returns 0, WH_EVERSION (one line on stderr names both versions), or
 * WH_EFAULT for a page that makes no sense.
 */
int wh_link_from_part(struct wh_link *l, void *part, size_t part_size);

/*
 * Maps @size bytes of the file from @offset on at exactly @va, not for children of a fork. NULL:
 * that address is taken in this process.
 */
void *wh_link_map(uint64_t va, size_t size, int file, off_t offset);

#endif
