/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages on the Unix socket of the shm transport. The client connects. A worker that
 * serves only this client answers with one struct wh_shm_welcome and, if status is 0, the
 * part's memfd and, where the kernel has them, its own pidfd. After that the worker sends nothing
 * more, and the client sends which slots it uses. The socket also tells each side whether the
 * other one lives. A client that ends shuts its side down and waits for the end of the worker, so
 * that the tenant has its memory again when the program has ended, as natively. Calls use the
 * words in struct wh_slot.
 */
#ifndef WORMHOLE_SHM_H
#define WORMHOLE_SHM_H

#include <stdint.h>

#define WH_SHM_MAGIC	0x5748534dU	/* "WHSM" */
#define WH_SHM_VERSION	4	/* version of this header, besides WH_ABI_VERSION */
#define WH_SHM_SOCKET	"wormhole/server.sock"
#define WH_SHM_RUN	"/run/" WH_SHM_SOCKET

struct wh_shm_welcome {
	uint32_t magic;
	uint32_t abi_version;
	int32_t status;		/* 0 or WH_* */
	uint32_t shm_version;
	uint64_t part_size;
	uint64_t far_size;	/* bytes of the file after the part, see WH_SHM_FAR_VA */
	char error[200];	/* reason of a failure, for the client's user */
};

/*
 * A client whose part must lie in memory of its own binds its socket, before it connects, to an
 * abstract name that begins so. After that it sends an offer with the descriptor of the file: a
 * memfd that is sealed against shrinking. The worker uses that in place of the memfd that it has.
 * There is no far area, and the welcome brings the offered file back. The relay of a VM does this
 * (host/relay.c): the file is what the guest sees as a device's memory.
 */
#define WH_SHM_BRINGS	"wormhole-brings-part/"

struct wh_shm_offer {
	uint32_t magic;
	uint32_t shm_version;
	uint64_t offset;	/* bytes, whole pages; the part in the file */
	uint64_t size;
};

/*
 * A client that registers a shared map (a memfd, or a file of tmpfs) lends its worker that file. It
 * connects once more, from a socket whose abstract name begins so. No descriptor is sent: to close
 * one of a file system that a program serves may wait for that program for ever. A helper of the
 * server's says a secret, and the client names one of its descriptors. The helper opens that file
 * as the client itself could, and only if it is the kernel's memory. Then it hands it to the
 * worker, which maps it when the client asks for it by its number (WH_HOST_FILE).
 */
#define WH_SHM_LENDS	"wormhole-lends-map/"

enum wh_shm_lent {
	WH_SHM_LENT,
	WH_SHM_LENT_BUSY,	/* the worker is being lent another one: it is worth trying again */
	WH_SHM_LENT_NO_MEMORY,	/* the file is neither a memfd nor on tmpfs */
	WH_SHM_LENT_NO_RIGHT,	/* the user may not open it, or the server may not ask for it */
	WH_SHM_LENT_NOBODY,	/* there is no such descriptor, or no worker that could have it */
};

/* The helper's two messages; the first one has the secret. */
struct wh_shm_lend_answer {
	uint32_t magic;
	uint32_t status;	/* enum wh_shm_lent */
	uint64_t secret[2];
};

struct wh_shm_lend {
	uint32_t magic;
	uint32_t number;	/* the client's own */
	uint64_t secret[2];
	uint64_t inode;		/* what the descriptor should be of */
	int32_t file;
	uint32_t resv;
};

/*
 * The client sends this before its first call in a slot other than 0: the worker makes a
 * thread for it.
 */
struct wh_shm_use {
	uint32_t magic;
	uint32_t slot;
};

/*
 * Posted calls: calls that nobody waits for (client-stubs/cuda/post.c). Calls are numbered,
 * and the worker runs them in that order. Call n is a posted one unless request_arg[1] of
 * the slot is n. The request of a posted call is in cell n % WH_SHM_CELLS at the end of the
 * message area. If it is too long for a cell, it is in one of the WH_SHM_LONGS places
 * before the first cell. The client may overwrite either once call n is done. The number in
 * `response` says which call is done; of consecutive posted calls it does not name each
 * one. A posted call gets no response. The first result that is no success stays in
 * `deferred` of the slot until the client takes it, and the client looks only when a call
 * has been answered.
 *
 * Deep rings. A tenant with a share of time is held back at times, and its program could prepare
 * work meanwhile. So where the file has room behind the part as its control page has it, each slot
 * has a second, larger ring there. The worker asks for its use (`wants_deep`). The client changes
 * the ring, and the slot's word `deep`, while none of the slot's calls is under way. The small ring
 * is the faster one: both CPUs keep all of it in their caches.
 */
#define WH_SHM_CELLS	32
#define WH_SHM_CELL	512
#define WH_SHM_LONGS	3
#define WH_SHM_LONG	4672	/* a launch with 4 KiB of parameters, in whole cache lines */
#define WH_SHM_RING	(WH_SHM_CELLS * WH_SHM_CELL + WH_SHM_LONGS * WH_SHM_LONG)
#define WH_SHM_TOGETHER	8	/* each eighth is reported as done, and the last one */
#define WH_SHM_DEEP_CELLS	2048	/* some steps of a training */
#define WH_SHM_DEEP_LONGS	64
#define WH_SHM_DEEP_TOGETHER	64
#define WH_SHM_DEEP_RING	((WH_SHM_DEEP_CELLS * WH_SHM_CELL + \
				  WH_SHM_DEEP_LONGS * WH_SHM_LONG + 4095) & ~4095)
#define WH_SHM_DEEP_LEAST	(64u << 20)	/* bytes of a file that has room for deep rings */
#define WH_SHM_UNKNOWN	999	/* in deferred: the request was invalid (CUDA_ERROR_UNKNOWN) */

struct wh_shm_cell {
	uint32_t size;		/* bytes of the request */
	uint32_t handler;
	uint32_t place;		/* index of the place of a longer request */
	/* Calls of one number differ in addresses and kernels' parameters alone; 0: unknown. */
	uint32_t alike;
	uint8_t request[WH_SHM_CELL - 16];
};

/* A slot's posted calls, as each side has them. */
struct wh_shm_ring {
	struct wh_shm_cell *cell;
	uint32_t cells;		/* a power of two */
	uint32_t longs;		/* places of longer requests, before the first cell */
};

/* The small ring of a message area that ends there. */
static inline struct wh_shm_ring wh_shm_ring(uint8_t *end)
{
	return (struct wh_shm_ring) { (struct wh_shm_cell *)end - WH_SHM_CELLS, WH_SHM_CELLS,
				      WH_SHM_LONGS };
}

/* The deep ring of a slot, of those that begin at @deep. */
static inline struct wh_shm_ring wh_shm_deep_ring(uint8_t *deep, uint32_t slot)
{
	uint8_t *end = deep + (slot + 1) * (uint64_t)WH_SHM_DEEP_RING;

	return (struct wh_shm_ring) { (struct wh_shm_cell *)end - WH_SHM_DEEP_CELLS,
				      WH_SHM_DEEP_CELLS, WH_SHM_DEEP_LONGS };
}

static inline struct wh_shm_cell *wh_shm_cell(const struct wh_shm_ring *r, uint32_t call)
{
	return &r->cell[call & (r->cells - 1)];
}

static inline uint8_t *wh_shm_long(const struct wh_shm_ring *r, uint32_t place)
{
	return (uint8_t *)r->cell - (r->longs - place) * WH_SHM_LONG;
}

/* How long each side polls before it sleeps, see shm_wait.h. */
#define WH_SHM_CLIENT_NS	10000000	/* during a call */
#define WH_SHM_WORKER_NS	1000000		/* between two calls */

/*
 * Where both processes map the part. It lies below where Linux loads programs and their heaps, in
 * what AddressSanitizer and ThreadSanitizer leave to a program's mappings. AddressSanitizer's heap
 * is at WH_WINDOW_VA, and ThreadSanitizer lets no program map anything there.
 */
#define WH_SHM_PART_VA	0x550000000000ULL

/*
 * The rest of the part's file, in both processes. It ends before the next top-level entry
 * of the page table.
 */
#define WH_SHM_FAR_VA	(WH_SHM_PART_VA + WH_MAX_PART_SIZE)
#define WH_SHM_FAR_MAX	(256ULL << 30)

#endif
