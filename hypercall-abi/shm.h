/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes over the Unix socket of the shm transport. The client connects;
 * a worker of its own answers with one struct wh_shm_welcome and, if status is
 * 0, the part's memfd. After that the worker sends nothing more, and the client which
 * slots it uses; the socket tells each side that the other one lives. Calls use the words
 * in struct wh_slot.
 */
#ifndef WORMHOLE_SHM_H
#define WORMHOLE_SHM_H

#include <stdint.h>

#define WH_SHM_MAGIC	0x5748534dU	/* "WHSM" */
#define WH_SHM_VERSION	1	/* of what this header says, beside WH_ABI_VERSION */
#define WH_SHM_SOCKET	"wormhole/server.sock"
#define WH_SHM_RUN	"/run/" WH_SHM_SOCKET

struct wh_shm_welcome {
	uint32_t magic;
	uint32_t abi_version;
	int32_t status;		/* 0 or WH_* */
	uint32_t shm_version;
	uint64_t part_size;
	uint64_t far_size;	/* of the file behind the part, see WH_SHM_FAR_VA */
	char error[200];	/* why not, for the client's user */
};

/* Before its first call in a slot other than 0: the worker makes a thread for it. */
struct wh_shm_use {
	uint32_t magic;
	uint32_t slot;
};

/*
 * Calls that nobody waits for (client-stubs/cuda/post.c). Calls are numbered; the
 * worker runs them in that order. Call n is a posted one unless request_arg[1]
 * of the slot is n. Its request then lies in cell n % WH_SHM_CELLS at the end of the message
 * area, or where it is too long for a cell, in one of the WH_SHM_LONGS places before the first.
 * The client may overwrite either once call n is done, as the number in
 * `response` says; of posted calls that stand in a row not each one is said there.
 * No response to one is written: the first result that is no success stays in
 * `deferred` of the slot until the client takes it, and only an answered call lets
 * the client look.
 */
#define WH_SHM_CELLS	32
#define WH_SHM_CELL	512
#define WH_SHM_LONGS	3
#define WH_SHM_LONG	4672	/* a launch with 4 KiB of parameters, and whole lines of a cache */
#define WH_SHM_RING	(WH_SHM_CELLS * WH_SHM_CELL + WH_SHM_LONGS * WH_SHM_LONG)
#define WH_SHM_TOGETHER	8	/* each such call is said to be done, and the last one */
#define WH_SHM_UNKNOWN	999	/* deferred: the request was no request (CUDA_ERROR_UNKNOWN) */

struct wh_shm_cell {
	uint32_t size;		/* of the request */
	uint32_t handler;
	uint32_t place;		/* of a longer one */
	uint32_t resv;
	uint8_t request[WH_SHM_CELL - 16];
};

/* Both are the same message area's, whose cells begin there. */
static inline uint8_t *wh_shm_long(const struct wh_shm_cell *first, uint32_t place)
{
	return (uint8_t *)first - (WH_SHM_LONGS - place) * WH_SHM_LONG;
}

/* How long each side looks before it sleeps, see shm_wait.h. */
#define WH_SHM_CLIENT_NS	10000000	/* a call */
#define WH_SHM_WORKER_NS	1000000		/* from a call to the next */

/* The rest of the part's file, in both processes. It ends before the next top-level entry. */
#define WH_SHM_FAR_VA	(WH_WINDOW_VA + WH_MAX_PART_SIZE)
#define WH_SHM_FAR_MAX	(256ULL << 30)

#endif
