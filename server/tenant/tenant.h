/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of one tenant share: the server that sets limits, the
 * workers that keep to them, and readers that look. Two files for each tenant:
 *
 *	NAME.limits	struct wh_tenant_limits. Only the server writes it; workers
 *			and readers map it read-only, so that no worker, hijacked
 *			or not, changes a limit.
 *	NAME.usage	struct wh_tenant_usage. Workers write their own account, the
 *			server clears the accounts of the dead; readers map it
 *			read-only and need no lock.
 *
 * A tenant's use is the sum over the accounts of its living workers and is kept
 * nowhere else: what a worker held is given back, once, by clearing its account,
 * however the worker ended. All counters only grow while an account lives, except
 * where said; an account is torn only between two of its words, and a reader that
 * must not see that reads `generation` before and after.
 *
 * What workers can write, a hijacked one writes as it likes: the server reads none
 * of it to decide (docs/security.md), and cleans up behind a tenant's last worker.
 */
#ifndef WORMHOLE_TENANT_H
#define WORMHOLE_TENANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WH_TENANT_LIMITS_MAGIC	0x54494d494c544857ULL	/* "WHTLIMIT" */
#define WH_TENANT_USAGE_MAGIC	0x4547415355544857ULL	/* "WHTUSAGE" */
/* Bumped on every change that an old reader would misread. */
#define WH_TENANT_VERSION	4
#define WH_TENANT_NAME		64	/* with its NUL; letters, digits, '.', '_', '-' */
#define WH_TENANT_DEVICES	16
#define WH_TENANT_WORKERS	64	/* living workers of one tenant */
#define WH_TENANT_SHARED	4096	/* memory and events that they share with each other */

/* --- Limits: written by the server, under `sequence` (odd: being written) ---- */

#define WH_SM_TEMPORAL		1u	/* a share of the device's time */
#define WH_SM_SPATIAL		2u	/* a share of its SMs, by green contexts */

struct wh_device_limit {
	uint64_t memory;	/* bytes, 0 for no limit */
	uint32_t sm_percent;	/* 1..100; 0 and 100 are no limit */
	uint32_t sm_policy;	/* WH_SM_*, of effect with a limit only; both may be set */
	uint64_t sm_groups;	/* spatial: bit i is the i-th group of the split; 0: any */
	uint32_t sm_group_size;	/* SMs of a group; 0: nobody has asked the driver */
	uint32_t sm_group_loose;	/* struct wh_sm_split's */
	uint64_t resv[4];
};

/* Is there a limit of this policy (WH_SM_*)? */
static inline bool wh_has_share(const struct wh_device_limit *l, uint32_t policy)
{
	return l->sm_percent && l->sm_percent < 100 && l->sm_policy & policy;
}

struct wh_tenant_limits {
	uint64_t magic;
	uint32_t version;
	uint32_t size;		/* of this struct */
	uint32_t sequence;
	uint32_t devices;	/* that the server knows of; limits beyond are 0 */
	char name[WH_TENANT_NAME];
	uint64_t tenant_id;	/* unique in a server's life */
	uint32_t seat;		/* on the board, below */
	uint32_t hidden;	/* bit i: device i is not the tenant's. Never changes */
	uint64_t host_memory;	/* bytes, 0 for no limit; changed as one word */
	uint64_t max_kernel_ns;	/* that one launch may hold a device, 0 for no limit; the same */
	uint64_t host_kept;	/* bytes of parts whose workers have ended, not their programs */
	struct wh_device_limit device[WH_TENANT_DEVICES];
};

/* Is the device another's? Who has not all devices has none beyond those that are counted. */
static inline bool wh_is_hidden(uint32_t hidden, int device)
{
	return device >= 0 && hidden && (device >= 32 || hidden >> device & 1);
}

/* --- Usage: one account for each worker --------------------------------------- */

struct wh_device_usage {
	uint64_t memory;	/* bytes charged now: goes up and down */
	uint64_t memory_peak;
	uint64_t memory_driver;	/* the driver's own figure for the process, last read */
	uint64_t refused;	/* allocations refused for the limit */
	uint64_t gpu_ns;	/* time that the device worked for this worker, under a share */
	uint64_t throttled_ns;	/* time that calls waited for the SM share */
	uint64_t launches;
	uint32_t sms_granted;	/* spatial: SMs really given; 0: all */
	uint32_t resv0;
	uint64_t gpu_ns_driver;	/* without one, by the driver's sampling; written by the server */
	uint64_t context;	/* what a context takes of the device, measured; 0: not yet */
	/*
	 * Under a share: work is under way since then, and all before is in gpu_ns (a count of
	 * the time stamp counter); 0: none is.
	 */
	uint64_t busy_tsc;
	uint64_t resv[1];
};

/* Time that the device worked for this worker, with a share of time and without. */
static inline uint64_t wh_gpu_ns(const struct wh_device_usage *u)
{
	return __atomic_load_n(&u->gpu_ns, __ATOMIC_RELAXED) +
	       __atomic_load_n(&u->gpu_ns_driver, __ATOMIC_RELAXED);
}

struct wh_worker_usage {
	uint32_t pid;		/* of the worker; 0: the account is free. Written by the server */
	uint32_t client_pid;	/* 0 where the client is in another VM */
	uint64_t generation;	/* counts the workers that had this account */
	uint64_t started_ns;	/* CLOCK_REALTIME */
	uint64_t calls;		/* API calls that the worker has made */
	uint64_t waited;	/* requests that a client waits for */
	uint64_t bytes_to_device;
	uint64_t bytes_from_device;
	uint64_t host_memory;	/* bytes charged now: the part, and what is pinned besides */
	uint64_t host_refused;	/* requests for more that were refused for the limit */
	uint64_t posted;	/* requests that nobody waits for */
	uint64_t tsc_per_us;	/* of busy_tsc; 0: not known */
	/* A call is under way whose memory handlers see when it has returned. */
	uint64_t taking;
	uint64_t resv[4];
	struct wh_device_usage device[WH_TENANT_DEVICES];
};

/*
 * The bucket of the temporal SM limit, one for a tenant and device, shared by
 * all its workers. Owned by server/limits/bucket.c, which explains it. Times are raw
 * counts of the time stamp counter: a worker may run where no clock can be read.
 */
struct wh_sm_bucket {
	int64_t tokens_ns;	/* GPU time that may be used now; negative: a debt */
	uint64_t refilled_tsc;	/* of the last refill; 0: never */
	uint64_t sequence;	/* of the limits at the last refill */
	uint64_t state[13];	/* the controller's own */
};

/*
 * What one worker of the tenant has given to the others (CUDA IPC): the driver's
 * own handle, which no client ever sees, under a random number, which is what
 * they hand to each other. Owned by server/limits/ipc.c; changed under `lock`. An entry
 * dies with its owner or with the object. Who still has such memory open keeps
 * it on the device: until the last one closes it or ends, the tenant is charged
 * for it (wh_tenant_orphans()).
 */
#define WH_SHARED_MEMORY	1u
#define WH_SHARED_EVENT		2u
#define WH_SHARED_ALLOCATION	3u	/* `real` is the owner's socket (ipc_files.h) */

struct wh_shared {
	uint64_t id[2];		/* both 0: free. Written last, cleared first */
	uint32_t kind;		/* WH_SHARED_* */
	int16_t device;		/* of memory */
	uint8_t owner;		/* account */
	uint8_t gone;		/* its owner has freed it */
	uint64_t generation;	/* of the owner's account */
	uint64_t key;		/* the owner's address or handle */
	uint64_t ctx;		/* the owner's context: it ends with that */
	uint64_t bytes;		/* that the memory takes of the device */
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
	 * What workers that have ended had counted: calls, bytes, GPU time. Added
	 * while `generation` is odd: who reads the living, too, waits for that.
	 */
	struct wh_worker_usage ended;
	uint64_t lock[16];	/* server/limits/memory.c: robust mutex around check and charge */
	struct wh_sm_bucket bucket[WH_TENANT_DEVICES];
	struct wh_worker_usage worker[WH_TENANT_WORKERS];
	struct wh_shared_table shared;
};

/* --- Turns: who may put work on a device now ----------------------------------- */

/*
 * Those that have a share of a device's time take turns on it: two at a time would
 * be time-sliced and each one's measured time would hold the other's. Each tenant
 * has a seat, a file that its own workers write and those of the others read. What
 * stands in it is a claim, and limits/turns.c, which owns it, believes it for no
 * longer than the tenant's share allows. Whose seats there are and what their
 * shares are is on the board, which the server alone writes.
 */
#define WH_SEAT_MAGIC		0x5441455354574857ULL	/* "WHWTSEAT" */
#define WH_BOARD_MAGIC		0x4452414f42544857ULL	/* "WHTBOARD" */
#define WH_SEATS		256u
#define WH_SEAT_NAME		24	/* of its file, with the NUL */

struct wh_turn {
	uint64_t holder;	/* which of the tenant's workers has it: account + 1; 0: none */
	uint64_t next;		/* the one that gets it then; 0: none of them waits */
	uint64_t next_tsc;	/* when that one last asked */
	/* What other tenants read. */
	uint64_t since_tsc;	/* the tenant has its turn since then; 0: has not */
	uint64_t renewed_tsc;	/* until when others are asked to wait for its end */
	uint64_t ending_tsc;	/* when its last work should be done; 0: not known */
	uint64_t waiting_tsc;	/* it waits for its turn since then */
	uint64_t asked_tsc;	/* and asked last then: who asks no more waits no more */
};

struct wh_seat {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
	uint64_t resv[6];
	struct wh_turn device[WH_TENANT_DEVICES];
};

struct wh_board {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
	uint32_t top;		/* seats from here on are nobody's */
	uint32_t resv0;
	uint64_t resv[5];
	struct {
		uint64_t tenant_id;	/* 0: nobody's. Names the seat's file */
		uint8_t percent[WH_TENANT_DEVICES];	/* of the time; 0: takes no turns */
	} seat[WH_SEATS];
};

/* --- tenant.c: what the server and tests do to the files ---------------------- */

/* Of zeroed, writable mappings of at least the struct's size. 0 or -1 (errno). */
int wh_tenant_limits_init(struct wh_tenant_limits *l, const char *name, uint64_t tenant_id);
int wh_tenant_usage_init(struct wh_tenant_usage *u, uint64_t tenant_id);
/*
 * Maps `size` bytes of a file at `page` again, with all their blocks: some of them may have
 * been taken out of the file, or of this mapping (faults.c). 0 or a negative errno; what was
 * mapped stays then.
 */
int wh_tenant_map_again(void *page, size_t size, int fd);
/*
 * No worker of the tenant lives: nothing that one of them wrote holds up the next.
 * Locks are free, no account is taken, nothing is shared, and of the buckets is left
 * what a share can have saved up or owe. The sums of the ended stay.
 */
int wh_tenant_usage_restart(struct wh_tenant_usage *u, uint64_t tenant_id);
/* Free the accounts that are none of these workers' (a bit each). */
void wh_tenant_accounts_only(struct wh_tenant_usage *u, uint64_t workers);
void wh_seat_init(struct wh_seat *s);
void wh_board_init(struct wh_board *b);
/* The name of a seat's file beside the board. */
void wh_seat_name(char name[WH_SEAT_NAME], uint64_t tenant_id);
/* Change one device's limit; workers see it at their next call. */
void wh_tenant_limits_set(struct wh_tenant_limits *l, unsigned int device,
			  const struct wh_device_limit *limit);
/* The limit of host memory; 0: none. */
void wh_tenant_host_limit(struct wh_tenant_limits *l, uint64_t bytes);
/* What counts of it beside what living workers hold. */
void wh_tenant_host_kept(struct wh_tenant_limits *l, uint64_t bytes);
/* How long one launch may hold a device under a share of time; 0: as long as it likes. */
#define WH_MAX_KERNEL_NS	2000000000ull	/* where nobody says anything */
void wh_tenant_kernel_limit(struct wh_tenant_limits *l, uint64_t ns);
/* An account for a worker that is about to start; -1 if all are taken. */
int wh_tenant_account_take(struct wh_tenant_usage *u, uint32_t pid);
/*
 * The worker of the account is dead: keep what it counted in `ended`, give back
 * what it held, free the account. Once for each take; a second time does nothing.
 */
void wh_tenant_account_clear(struct wh_tenant_usage *u, unsigned int account);
/*
 * What such a worker had under way (tsc: now) is the tenant's to pay, and is paid by those
 * that come after it. Part of wh_tenant_account_clear().
 */
void wh_tenant_charge_rest(struct wh_tenant_usage *u, struct wh_worker_usage *w, uint64_t now);
/* Clear the accounts of processes that are gone, where no server waits for them. */
void wh_tenant_accounts_reap(struct wh_tenant_usage *u);
/* Does the owner of an entry live, and has it still what it shared? */
bool wh_shared_alive(const struct wh_tenant_usage *u, const struct wh_shared *e);
/* The bits of workers that live. */
uint64_t wh_tenant_living(const struct wh_tenant_usage *u);
/* Bytes on a device that workers have open and whose owner is gone or has freed them. */
uint64_t wh_tenant_orphans(const struct wh_tenant_usage *u, unsigned int device);
/* Bytes of host memory that the tenant's living workers hold. */
uint64_t wh_tenant_host_memory(const struct wh_tenant_usage *u);
/* Bytes charged to the tenant on a device: the sum over its living workers, and orphans. */
uint64_t wh_tenant_memory(const struct wh_tenant_usage *u, unsigned int device);

#endif
