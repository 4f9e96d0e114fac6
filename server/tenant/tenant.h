/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the processes of one tenant share: the server that sets limits, the workers that keep
 * to them, and readers that look. There are two files for each tenant:
 *
 *      NAME.limits     struct wh_tenant_limits. Only the server writes it; workers
 *                      and readers map it read-only, so that no worker, hijacked
 *                      or not, changes a limit.
 *      NAME.usage      struct wh_tenant_usage. Workers write their own account, the
 *                      server clears the accounts of the dead; readers map it
 *                      read-only and need no lock.
 *
 * A tenant's use is the sum over the accounts of its living workers and is kept nowhere else. What
 * a worker held is given back, once, by clearing its account, however the worker ended. All
 * counters only grow while an account lives, except where said. An account is torn only between two
 * of its words; a reader that must not see that reads `generation` before and after.
 *
 * A hijacked worker can write what it likes wherever workers can write. So the server reads none of
 * it to decide, but for the least limit that makes sense (docs/security.md), and cleans up after a
 * tenant's last worker.
 */
#ifndef WORMHOLE_TENANT_H
#define WORMHOLE_TENANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WH_TENANT_LIMITS_MAGIC	0x54494d494c544857ULL	/* "WHTLIMIT" */
#define WH_TENANT_USAGE_MAGIC	0x4547415355544857ULL	/* "WHTUSAGE" */
/* Bumped on every change that an old reader would misread. */
#define WH_TENANT_VERSION	8
#define WH_TENANT_NAME		64	/* with its NUL; letters, digits, '.', '_', '-' */
#define WH_TENANT_DEVICES	16
#define WH_TENANT_WORKERS	64	/* living workers of one tenant */
#define WH_UUID			48	/* "GPU-" or "MIG-", and 36 characters */
#define WH_COMMAND		16	/* of /proc/PID/comm, with a NUL */
#define WH_TENANT_SHARED	4096	/* memory and events that workers share with each other */

/* --- Limits: written by the server, under `sequence` (odd: being written) ---- */

#define WH_SM_TEMPORAL		1u	/* a share of the device's time */
#define WH_SM_SPATIAL		2u	/* a share of its SMs, by green contexts */

struct wh_device_limit {
	uint64_t memory;	/* bytes, 0 for no limit */
	uint32_t sm_percent;	/* 1..100; 0 and 100 are no limit */
	uint32_t sm_policy;	/* WH_SM_*, which count only with a limit; both may be set */
	uint64_t sm_groups;	/* spatial: bit i is the i-th group of the split; 0: any */
	uint32_t sm_group_size;	/* SMs of a group; 0: the driver was not asked */
	uint32_t sm_group_loose;	/* as in struct wh_sm_split */
	/*
	 * The most of the time that it may have: sm_percent is guaranteed. 0: no more than that;
	 * WH_SM_NO_CEILING: all that is left
	 */
	uint32_t sm_max;
	uint32_t sm_class;	/* WH_CLASS_*: who goes first, of those with a share of the time */
	/*
	 * Of overcommit, changed as one word: so much is to be free on the device when the tenant
	 * has left it. 0: all that can leave does.
	 */
	uint64_t wanted;
	uint64_t resv[2];
};

/* Nothing has to leave; and what came back last leaves again, as it was away before. */
#define WH_WANTED_NOTHING	UINT64_MAX
#define WH_WANTED_BEFORE	(UINT64_MAX - 1)

#define WH_SM_NO_CEILING	100u

/* Normal is 0, so that who says nothing of classes is of that one. */
enum { WH_CLASS_NORMAL, WH_CLASS_HIGH, WH_CLASS_LOW, WH_CLASSES };

/* Is there a limit of this policy (WH_SM_*)? */
static inline bool wh_has_share(const struct wh_device_limit *l, uint32_t policy)
{
	return l->sm_percent && l->sm_percent < 100 && l->sm_policy & policy;
}

/* Returns a number that is larger, the higher the class is; 0: normal, or no class. */
static inline int wh_class_order(uint32_t class)
{
	return class == WH_CLASS_HIGH ? 1 : class == WH_CLASS_LOW ? -1 : 0;
}

/* Returns the most percent of the time that a tenant with a share of it may have. */
static inline uint32_t wh_ceiling(const struct wh_device_limit *l)
{
	return l->sm_max > l->sm_percent ? l->sm_max : l->sm_percent;
}

/*
 * While a tenant is suspended, what its workers have charged is in memory of the host, and nothing
 * of it on a device. One that is parked may have left some of it there (`paged').
 */
enum wh_suspension {
	WH_RUNS, WH_SUSPENDING, WH_SUSPENDED, WH_RESUMING,
	WH_PARKED,	/* the same as suspended, and its next call resumes it (daemon/room.c) */
};

/* Beside the state: workers may ask the server for room (session/room.c). */
#define WH_MAKES_ROOM	0x100u

static inline enum wh_suspension wh_suspension_in(uint32_t state)
{
	return (enum wh_suspension)(state & ~WH_MAKES_ROOM);
}

struct wh_tenant_limits {
	uint64_t magic;
	uint32_t version;
	uint32_t size;		/* bytes of this struct */
	uint32_t sequence;
	uint32_t devices;	/* number of devices that the server knows; limits beyond are 0 */
	char name[WH_TENANT_NAME];
	uint64_t tenant_id;	/* unique in a server's life */
	uint32_t seat;		/* number of its seat on the board, see below */
	/* bit i: device i, as its workers number them, is not the tenant's. Never changes */
	uint32_t hidden;
	uint64_t host_memory;	/* bytes, 0 for no limit; changed as one word */
	/* how long one launch may hold a device, 0 for no limit; changed as one word */
	uint64_t max_kernel_ns;
	/* bytes of parts whose workers have ended but whose programs have not */
	uint64_t host_kept;
	struct wh_device_limit device[WH_TENANT_DEVICES];
	/*
	 * Not 0: workers take on no call. Counts the suspensions of the tenant, and changes under
	 * `sequence`, so that calls that look at that alone see it. Workers sleep on it.
	 */
	uint32_t suspension;
	uint32_t state;		/* enum wh_suspension, for readers, and WH_MAKES_ROOM */
	/*
	 * Workers keep their numbers of devices when the tenant moves to another one: their device
	 * i is device i ^ moved[i] of the server (wh_device_place()). All tables of the tenant's
	 * own go by the workers' numbers, and what tenants share by the server's. Changes only
	 * while no call is under way (daemon/move.c). Where there are MIG instances, the tenant's
	 * devices have the first numbers from the start (daemon/devices.c).
	 */
	uint8_t moved[WH_TENANT_DEVICES];
	/* Not 0: its programs may count by the hardware's counters; changed as one word */
	uint32_t counters;
	uint32_t resv;
};

/* Returns the server's number of a worker's device. */
static inline unsigned int wh_device_place(const struct wh_tenant_limits *l, unsigned int device)
{
	return (device ^ l->moved[device % WH_TENANT_DEVICES]) % WH_TENANT_DEVICES;
}

/* Returns the workers' number of a device of the server's. */
static inline unsigned int wh_device_index(const struct wh_tenant_limits *l, unsigned int number)
{
	unsigned int d = 0;

	while (d < WH_TENANT_DEVICES - 1 && wh_device_place(l, d) != number)
		d++;
	return d;
}

/* Returns what `hidden` says, by the server's numbers. */
static inline uint32_t wh_hidden_places(const struct wh_tenant_limits *l)
{
	uint32_t out = l->hidden & ~((1u << WH_TENANT_DEVICES) - 1);
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		out |= (l->hidden >> d & 1) << wh_device_place(l, d);
	return out;
}

#define WH_MIG	"MIG-"	/* the UUID of a MIG instance begins so, and that of a GPU with "GPU-" */

/* Is this the UUID of a MIG instance, of which a process has one at most? */
static inline bool wh_is_instance(const char *uuid)
{
	return !strncmp(uuid, WH_MIG, sizeof(WH_MIG) - 1);
}

/* Copies UUID number `n` of a list "UUID,UUID,..." (WH_DEVICES_VARIABLE). False: it has none. */
bool wh_uuid_of(const char *list, unsigned int n, char out[WH_UUID]);

/*
 * Is the device another tenant's? A tenant without all devices has none beyond those that have a
 * bit.
 */
static inline bool wh_is_hidden(uint32_t hidden, int device)
{
	return device >= 0 && hidden && (device >= 32 || hidden >> device & 1);
}

/* --- Usage: one account for each worker --------------------------------------- */

struct wh_device_usage {
	uint64_t memory;	/* bytes charged now: goes up and down */
	uint64_t memory_peak;
	uint64_t memory_driver;	/* the driver's own figure for the process, last read */
	uint64_t refused;	/* allocations refused because of the limit */
	uint64_t gpu_ns;	/* with a share: time that the device worked for this worker */
	uint64_t throttled_ns;	/* time that calls waited for the SM share */
	uint64_t launches;
	uint32_t sms_granted;	/* spatial: SMs really given; 0: all */
	/* of a tenant that is parked: MiB that the worker could still move to the host */
	uint32_t can_leave;
	/* without a share: the same by the driver's sampling; written by the server */
	uint64_t gpu_ns_driver;
	uint64_t context;	/* bytes that a context takes of the device, measured; 0: not yet */
	/*
	 * With a share: since when work has been under way (a count of the time stamp counter); all
	 * time before that is in gpu_ns. 0: there is none.
	 */
	uint64_t busy_tsc;
	uint64_t gpu_beyond_ns;	/* the part of gpu_ns that was beyond the tenant's guarantee */
	uint64_t paged;		/* bytes of `memory` that the worker has moved to the host itself */
};

/* Time that the device worked for this worker, with a share of time and without. */
static inline uint64_t wh_gpu_ns(const struct wh_device_usage *u)
{
	return __atomic_load_n(&u->gpu_ns, __ATOMIC_RELAXED) +
	       __atomic_load_n(&u->gpu_ns_driver, __ATOMIC_RELAXED);
}

struct wh_worker_usage {
	uint32_t pid;		/* of the worker; 0: the account is free. Written by the server */
	uint32_t client_pid;	/* 0 if the client is in another VM */
	uint64_t generation;	/* counts the workers that had this account */
	uint64_t started_ns;	/* CLOCK_REALTIME */
	uint64_t calls;		/* API calls that the worker has made */
	uint64_t waited;	/* requests that a client waits for */
	uint64_t bytes_to_device;
	uint64_t bytes_from_device;
	uint64_t host_memory;	/* bytes charged now: the part, and what is pinned besides */
	uint64_t host_refused;	/* requests for more host memory that the limit refused */
	uint64_t posted;	/* requests that nobody waits for */
	uint64_t tsc_per_us;	/* unit of busy_tsc; 0: not known */
	/* 1: a call is under way whose memory the handlers see only when it has returned. */
	uint64_t taking;
	/* Of the client, when it connected; the server writes them, to show them. */
	uint32_t client_uid;
	/* The last suspension for which no call is under way any more; who waits sleeps on it. */
	uint32_t at_rest;
	char command[WH_COMMAND];	/* its own words, any bytes; empty: not known */
	/* The last suspension that a call has waited for, and what is asked of daemon/room.c. */
	uint32_t called;
	uint32_t room;		/* WH_ROOM_*; who waits for an answer sleeps on it */
	/* Of overcommit: what the worker is to do with its memory, how it stands (WH_PAGE_*). */
	uint32_t order, obeyed;
	/* What it has moved to the host and back, and how long that took. */
	uint64_t paged_out_bytes, paged_out_ns, paged_in_bytes, paged_in_ns;
	struct wh_device_usage device[WH_TENANT_DEVICES];
};

/*
 * `room`, one question at a time: a number that counts the questions, the worker's device, and how
 * it stands. The worker asks, and the server answers.
 */
enum { WH_ROOM_ASKED = 1, WH_ROOM_MADE, WH_ROOM_NONE };
#define WH_ROOM_STATE(word)	((word) & 3)
#define WH_ROOM_DEVICE(word)	((word) >> 2 & 15)
#define WH_ROOM_NEXT(word, device)	(((word) & ~63u) + 64 + (device) * 4 + WH_ROOM_ASKED)
_Static_assert(WH_TENANT_DEVICES <= 16, "four bits for a device");

/*
 * `order`, to a worker at rest: a number that counts the orders, and what is to be done. `obeyed`
 * has the number of the order and how it stands. Who asks the driver for the server writes the one
 * (checkpoint/checkpoint.c), and the worker the other; each sleeps on the other's. AHEAD is for a
 * worker that runs and will have to move its memory soon: it makes the place for it, and answers
 * nothing.
 */
enum { WH_PAGE_NOTHING, WH_PAGE_OUT, WH_PAGE_IN, WH_PAGE_AHEAD };
#define WH_PAGE_STATE(word)	((word) & 15)
#define WH_PAGE_NUMBER(word)	((word) & ~15u)
#define WH_PAGE_NEXT(word, what)	(WH_PAGE_NUMBER(word) + 16 + (what))
enum wh_paging {
	WH_PAGING_MOVES = 1,	/* the devices are idle, and memory is on its way */
	WH_PAGING_DONE,
	WH_PAGING_FULL,		/* the device has no room for what is to come back */
	WH_PAGING_BUSY,		/* its work did not end before the next order */
	WH_PAGING_UNABLE,	/* all is as it was: the driver has to do it */
};

/*
 * The bucket of the temporal SM limit, one for each tenant and device, shared by all its workers.
 * Owned by server/limits/bucket.c, which explains it. Times are raw counts of the time stamp
 * counter, since a worker may run where no clock can be read.
 */
struct wh_sm_bucket {
	int64_t tokens_ns;	/* GPU time that may be used now; negative: a debt */
	uint64_t refilled_tsc;	/* time of the last refill; 0: never */
	uint64_t sequence;	/* sequence of the limits at the last refill */
	/* With a ceiling above the guarantee: the same as tokens_ns for the ceiling. */
	int64_t ceiling_ns;
	uint64_t probed_tsc;	/* when work was last measured alone (guarantee.c); 0: never */
	/* The same as tokens_ns, for gpu_beyond_ns: work beyond the guarantee leaves no debt. */
	int64_t guarantee_ns;
	uint64_t ceiling;	/* percent, at the last change of the limits; 0: there was none */
	uint64_t state[9];	/* for the controller itself */
};

/*
 * An object that one worker of the tenant has given to the others (CUDA IPC): the driver's own
 * handle, which no client ever sees, and a random number, which clients hand to each other. Owned
 * by server/limits/ipc.c; changed under `lock`. An entry ends with its owner or with the object.
 * Workers that still have such memory open keep it on the device: until the last one closes it or
 * ends, the tenant is charged for it (wh_tenant_orphans()).
 */
#define WH_SHARED_MEMORY	1u
#define WH_SHARED_EVENT		2u
#define WH_SHARED_ALLOCATION	3u	/* `real` is the owner's socket (ipc_files.h) */
#define WH_SHARED_POOL		4u	/* the same; `bytes` follows what the pool has */
#define WH_SHARED_POOLED	5u	/* memory of a pool, whose bytes the pool's entry has */
#define WH_SHARED_PAGED		6u	/* MEMORY of limits/paged.c; `real` is as of ALLOCATION */

struct wh_shared {
	uint64_t id[2];		/* both 0: free. Written last, cleared first */
	uint32_t kind;		/* WH_SHARED_* */
	int16_t device;		/* device of memory */
	uint8_t owner;		/* account of the owner */
	uint8_t gone;		/* its owner has freed it */
	uint64_t generation;	/* generation of the owner's account */
	uint64_t key;		/* the owner's address or handle */
	uint64_t ctx;		/* the owner's context, with which the entry ends */
	uint64_t bytes;		/* bytes that the memory takes of the device */
	uint64_t openers;	/* bit i: the worker in account i has it open */
	uint8_t real[64];
};

struct wh_shared_table {
	uint64_t lock[16];	/* robust mutex */
	uint32_t top;		/* entries from here on are free */
	uint32_t resv[15];
	struct wh_shared entry[WH_TENANT_SHARED];
};

struct wh_tenant_usage {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
	uint64_t tenant_id;
	/*
	 * Sums of what workers that have ended had counted: calls, bytes, GPU time. They change
	 * while `generation` is odd; a reader that also reads living workers waits for that.
	 */
	struct wh_worker_usage ended;
	uint64_t lock[16];	/* server/limits/memory.c: robust mutex around check and charge */
	struct wh_sm_bucket bucket[WH_TENANT_DEVICES];
	struct wh_worker_usage worker[WH_TENANT_WORKERS];
	struct wh_shared_table shared;
};

/* --- Turns: who may put work on a device now ----------------------------------- */

/*
 * Tenants that have a share of a device's time take turns on it: two at a time would be
 * time-sliced, and the measured time of each would contain the other's. Each tenant has a seat, a
 * file that its own workers write and those of others read. The text of a seat is a claim, and
 * limits/turns.c, which owns it, believes it for no longer than the tenant's share allows. The
 * board, which only the server writes, says which seats there are and what their shares are.
 */
#define WH_SEAT_MAGIC		0x5441455354574857ULL	/* "WHWTSEAT" */
#define WH_BOARD_MAGIC		0x4452414f42544857ULL	/* "WHTBOARD" */
#define WH_SEATS		256u
#define WH_SEAT_NAME		24	/* bytes of its file's name, with the NUL */

struct wh_turn {
	uint64_t holder;	/* account + 1 of the tenant's worker that has the turn; 0: none */
	/* account + 1 of the worker that gets it next; 0: none of them waits */
	uint64_t next;
	uint64_t next_tsc;	/* when that worker last asked */
	/* The other tenants read the words below. */
	uint64_t since_tsc;	/* since when the tenant has its turn; 0: it has none */
	uint64_t renewed_tsc;	/* until when others are asked to wait for the turn's end */
	uint64_t ending_tsc;	/* when its last work should be done; 0: not known */
	uint64_t waiting_tsc;	/* since when it waits for its turn */
	/* when it last asked; if that is long ago, it does not wait any more */
	uint64_t asked_tsc;
};

/* How a tenant claims a device, as bits. 0: within its guarantee. */
#define WH_RANK_DEEP	0x01u	/* its launches wait in it, so others' turns may be long */
#define WH_RANK_QUICK	0x02u	/* its work is soon done, so it should not wait for long */
#define WH_RANK_SPARE	0x04u	/* beyond its guarantee, in time that nobody within his wants */
#define WH_RANK_OPEN	0x08u	/* with SPARE: others that are open may work at the same time */
#define WH_RANK_LATE	0x10u	/* it waits for so long that higher classes do not go first */
#define WH_RANK_LONG	0x20u	/* within its guarantee, for long turns: it has no ceiling */
#define WH_RANK_PEER	0x40u	/* with LONG: others that are so may work at the same time */

struct wh_seat {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
	uint8_t rank[WH_TENANT_DEVICES];	/* WH_RANK_*: a claim, as all here */
	uint64_t resv[4];
	struct wh_turn device[WH_TENANT_DEVICES];
};

struct wh_board {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
	uint32_t top;		/* seats from this one on are free */
	uint32_t resv0;
	uint64_t resv[5];
	struct {
		uint64_t tenant_id;	/* 0: the seat is free. Names the seat's file */
		uint8_t percent[WH_TENANT_DEVICES];	/* share of the time; 0: takes no turns */
	} seat[WH_SEATS];
	uint8_t class[WH_SEATS][WH_TENANT_DEVICES];	/* WH_CLASS_* */
};

/* --- tenant.c: what the server and tests do to the files ---------------------- */

/* Initialise zeroed, writable mappings of at least the struct's size. 0 or -1 (errno). */
int wh_tenant_limits_init(struct wh_tenant_limits *l, const char *name, uint64_t tenant_id);
int wh_tenant_usage_init(struct wh_tenant_usage *u, uint64_t tenant_id);
/*
 * Maps `size` bytes of a file at `page` again, with all their blocks: some may have been taken out
 * of the file, or of this mapping (faults.c). 0, or a negative errno; then the old mapping stays.
 */
int wh_tenant_map_again(void *page, size_t size, int fd);
/*
 * Call this when no worker of the tenant lives: nothing that an earlier worker wrote may hold up
 * the next one. Locks are free, no account is taken, nothing is shared, and buckets are cut to what
 * a share can have saved up or owe. The sums of ended workers stay.
 */
int wh_tenant_usage_restart(struct wh_tenant_usage *u, uint64_t tenant_id);
/*
 * What the bucket of a share of `percent` has after `ns` without work, with `tokens` before: it
 * fills, and no credit or debt is beyond what a share can have.
 */
int64_t wh_bucket_after(int64_t tokens, uint64_t ns, uint32_t percent);
/* Frees all accounts that do not belong to these workers (a bit each). */
void wh_tenant_accounts_only(struct wh_tenant_usage *u, uint64_t workers);
void wh_seat_init(struct wh_seat *s);
void wh_board_init(struct wh_board *b);
/* Writes the name of a seat's file beside the board. */
void wh_seat_name(char name[WH_SEAT_NAME], uint64_t tenant_id);
/* Changes one device's limit; workers see it at their next call. */
void wh_tenant_limits_set(struct wh_tenant_limits *l, unsigned int device,
			  const struct wh_device_limit *limit);
/* Sets the limit of host memory; 0: none. */
void wh_tenant_host_limit(struct wh_tenant_limits *l, uint64_t bytes);
/* Sets the host memory that counts besides what living workers hold. */
void wh_tenant_host_kept(struct wh_tenant_limits *l, uint64_t bytes);
/* Sets how long one launch may hold a device under a share of time; 0: no limit. */
#define WH_MAX_KERNEL_NS	2000000000ull	/* if nothing else is configured */
void wh_tenant_kernel_limit(struct wh_tenant_limits *l, uint64_t ns);
/* Says what the next order to leave is for: bytes, or WH_WANTED_*. */
void wh_tenant_want(struct wh_tenant_limits *l, unsigned int device, uint64_t bytes);
void wh_tenant_counters(struct wh_tenant_limits *l, bool allowed);
/*
 * Suspends the tenant (a number that it never had before), or lets its workers go on (0), and wakes
 * whoever sleeps for that.
 */
void wh_tenant_suspend(struct wh_tenant_limits *l, uint32_t number);
void wh_tenant_state(struct wh_tenant_limits *l, enum wh_suspension state, bool makes_room);
/* Returns "running", "suspended" and so on; "unknown" for other numbers. */
const char *wh_suspension_text(uint32_t state);
/* Sleeps until the word has another value, `ms` at most (0: for ever). Others may change it. */
void wh_tenant_await(const uint32_t *word, uint32_t value, unsigned int ms);
/* Wakes all who sleep on a word. */
void wh_tenant_wake(const uint32_t *word);
/* Takes an account for a worker that is about to start; -1 if all are taken. */
int wh_tenant_account_take(struct wh_tenant_usage *u, uint32_t pid);
/* Adds what only grows: calls, bytes, refusals, times. */
void wh_tenant_add_counters(struct wh_worker_usage *to, const struct wh_worker_usage *from);
/*
 * The worker of the account is dead: adds what it counted to `ended`, gives back what it held, and
 * frees the account. Call it once for each take; a second call does nothing.
 */
void wh_tenant_account_clear(struct wh_tenant_usage *u, unsigned int account);
/*
 * Charges the tenant for work that such a worker had under way (`now` is a tsc): those that come
 * after it pay. Part of wh_tenant_account_clear().
 */
void wh_tenant_charge_rest(struct wh_tenant_usage *u, struct wh_worker_usage *w, uint64_t now);
/* Clears the accounts of processes that are gone, if no server waits for them. */
void wh_tenant_accounts_reap(struct wh_tenant_usage *u);
/* Does the owner of an entry live, and does it still have what it shared? */
bool wh_shared_alive(const struct wh_tenant_usage *u, const struct wh_shared *e);
/* Returns the bits of the workers that live. */
uint64_t wh_tenant_living(const struct wh_tenant_usage *u);
/*
 * Returns the bytes on a device that workers have open and whose owner is gone or has freed them.
 */
uint64_t wh_tenant_orphans(const struct wh_tenant_usage *u, unsigned int device);
/* Returns the bytes of host memory that the tenant's living workers hold. */
uint64_t wh_tenant_host_memory(const struct wh_tenant_usage *u);
/*
 * Returns the bytes charged to the tenant on a device: the sum over its living workers, and
 * orphans.
 */
uint64_t wh_tenant_memory(const struct wh_tenant_usage *u, unsigned int device);

#endif
