// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the companions. It decides what may be asked of one; the service does not. The slot's own
 * thread must make system calls that depend on their thread, or that may wait for something that a
 * call does later. The worker's filter holds for companions as for all its threads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "hypercall.h"
#include "vm/companion.h"
#include "vm/raw.h"

/* The size limit of a read or write: what a pipe takes at once. */
#define SMALL		4096
/*
 * How long a companion looks for more before it sleeps, since the next call may be near. It is
 * twice as long as a wake-up takes. So if a client is interrupted for about that long, this does
 * not cost a wake-up as well; on a slow machine wake-ups are slow. Both bounds hold whatever a
 * client writes as its measured value.
 */
#define LOOK_LEAST_NS	100000
#define LOOK_MOST_NS	2000000
#define LOOKS		64	/* between two looks at the clock */
/*
 * How long a call looks for an answer: as long as a long time slice of a host that runs the server
 * later.
 */
#define PATIENCE_MS	4

static uint64_t ticks_per_ms;
static struct wh_ring rings[WH_MAX_SLOTS] __attribute__((aligned(WH_PAGE_SIZE)));

struct wh_ring *wh_companion_rings(void)
{
	return rings;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

uint64_t wh_companion_patience(void)
{
	int64_t end = now_ns() + 1000000;
	uint64_t start = __builtin_ia32_rdtsc();

	while (now_ns() < end)
		;
	ticks_per_ms = __builtin_ia32_rdtsc() - start;
	return PATIENCE_MS * ticks_per_ms;
}

int64_t wh_companion_look_ns(uint64_t wake_ticks)
{
	uint64_t most = ticks_per_ms * LOOK_MOST_NS / 1000000 / 2, ns;

	if (wake_ticks >= most)
		return LOOK_MOST_NS;
	ns = 2 * wake_ticks * 1000000 / ticks_per_ms;
	return ns < LOOK_LEAST_NS ? LOOK_LEAST_NS : (int64_t)ns;
}

/*
 * Does what the call itself would do if it need not wait: it takes what a pipe or a socket has, and
 * what a file has in memory. Otherwise nothing is done, and the slot's thread waits.
 */
static int64_t transfer(long nr, const uint64_t arg[6], uint64_t offset)
{
	struct iovec v = { .iov_base = (void *)arg[1], .iov_len = arg[2] };
	const uint64_t args[6] = { arg[0], (uint64_t)&v, 1, offset, 0, RWF_NOWAIT };
	int64_t rc;

	if (arg[2] > SMALL)
		return WH_RING_SELF;
	rc = raw6(nr, args);
	return rc == -EAGAIN || rc == -EOPNOTSUPP ? WH_RING_SELF : rc;
}

/* Transfers at an offset; -1 would mean the file's own. */
static int64_t transfer_at(long nr, const uint64_t arg[6])
{
	return (int64_t)arg[3] < 0 ? -EINVAL : transfer(nr, arg, arg[3]);
}

static int64_t wake(const uint64_t arg[6])
{
	int op = (int)arg[1] & ~FUTEX_PRIVATE_FLAG;

	return op == FUTEX_WAKE ? raw6(SYS_futex, arg) : WH_RING_SELF;
}

static int64_t make_call(long nr, const uint64_t arg[6])
{
	switch (nr) {
	case SYS_ioctl:
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_madvise:
	case SYS_mremap:
	case SYS_brk:
		return raw6(nr, arg);
	case SYS_read:
		return transfer(SYS_preadv2, arg, ~0ULL);
	case SYS_write:
		return transfer(SYS_pwritev2, arg, ~0ULL);
	case SYS_pread64:
		return transfer_at(SYS_preadv2, arg);
	case SYS_pwrite64:
		return transfer_at(SYS_pwritev2, arg);
	case SYS_futex:
		return wake(arg);
	default:
		return WH_RING_SELF;
	}
}

static int serve_post(struct wh_ring *ring)
{
	if (__atomic_load_n(&ring->post, __ATOMIC_ACQUIRE) != WH_RING_ASKED)
		return 0;
	raw(SYS_futex, ring->post_address, FUTEX_WAKE_PRIVATE, ring->post_count, 0);
	__atomic_store_n(&ring->post, WH_RING_FREE, __ATOMIC_RELEASE);
	return 1;
}

static int serve_call(struct wh_ring *ring)
{
	uint32_t state = WH_RING_ASKED;
	uint64_t arg[6];

	/* The call may withdraw its request until here. */
	if (!__atomic_compare_exchange_n(&ring->call, &state, WH_RING_TAKEN, 0, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		return 0;
	memcpy(arg, ring->arg, sizeof(arg));
	ring->result = make_call((long)ring->nr, arg);
	state = __atomic_exchange_n(&ring->call, WH_RING_FREE, __ATOMIC_SEQ_CST);
	if (state == WH_RING_AWAITED)
		raw(SYS_futex, (uint64_t)&ring->call, FUTEX_WAKE_PRIVATE, 1, 0);
	return 1;
}

int wh_companion_serve(struct wh_ring *ring)
{
	return serve_post(ring) | serve_call(ring);
}

static int is_asked(const struct wh_ring *ring)
{
	return __atomic_load_n(&ring->call, __ATOMIC_SEQ_CST) == WH_RING_ASKED ||
	       __atomic_load_n(&ring->post, __ATOMIC_SEQ_CST) == WH_RING_ASKED;
}

/*
 * Says that it sleeps, and then looks. The service does the two in the opposite order, so one of
 * them sees the other. A WAKE between LISTEN and the ioctl is not lost.
 */
static void sleep_until_woken(int fd, uint32_t slot)
{
	struct wh_leaf l = { { slot }, 0, 0, 0 };
	struct wh_ring *ring = &rings[slot];
	int64_t status;

	__atomic_store_n(&ring->sleeps, 1, __ATOMIC_SEQ_CST);
	status = wh_hypercall(WH_LEAF_LISTEN, &l);
	if (!status && !is_asked(ring))
		raw_ioctl(fd, WH_SRV_WAIT, slot + WH_SRV_COMPANION);
	__atomic_store_n(&ring->sleeps, 0, __ATOMIC_SEQ_CST);
	/* The pair has ended. The slots' threads are told so, and end the process. */
	while (status)
		raw(SYS_pause, 0, 0, 0, 0);
}

/* Only reads, so that the cache line stays here until the call writes it. */
static int look_often(const struct wh_ring *ring)
{
	int i;

	for (i = 0; i < LOOKS && !is_asked(ring); i++)
		__builtin_ia32_pause();
	return i < LOOKS;
}

void wh_companion_run(int fd, uint32_t slot)
{
	struct wh_ring *ring = &rings[slot];
	int64_t until = 0;

	for (;;) {
		while (look_often(ring)) {
			wh_companion_serve(ring);
			until = 0;
		}
		if (!until)
			until = now_ns() + wh_companion_look_ns(ring->wake_ticks);
		else if (now_ns() >= until)
			sleep_until_woken(fd, slot);
	}
}
