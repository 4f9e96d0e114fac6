// SPDX-License-Identifier: Apache-2.0
/*
 * The transport without exits. Owns what a client process needs for it: the window part and the
 * trampoline at their fixed addresses, and the pair that KVM gives for them. A process has one
 * pair, and one call at a time in each slot.
 *
 * The part lies at WH_WINDOW_VA exactly as long as this process is attached or tries to be: KVM
 * takes its absence as the end of the pair.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "client_window.h"
#include "clock.h"
#include "gen_trampoline.h"
#include "hypercall.h"
#include "trampoline.h"
#include "transport.h"
#include "window.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE	0x100000
#endif

/* AT_HWCAP2: the kernel lets user mode write its FS and GS bases. */
#define HWCAP2_FSGSBASE_BIT	(1UL << 1)
#ifndef PCI_DEVICES
#endif
/* A worker comes back some time after its last client has left. */
#define ATTACH_TIMEOUT_MS	5000
#define ATTACH_TIMEOUT_MAX	86400000	/* a day */
#define ATTACH_TIMEOUT_ENV	"WORMHOLE_ATTACH_TIMEOUT_MS"

/* This side's state of a slot; one thread at a time uses it. */
struct lane {
	struct wh_slot *slot;
	wh_delegate_fn *delegate;
	uint32_t index;		/* EPTP index */
	union {
		uint16_t no_call;	/* both flags at once: one look before a call */
		struct {
			volatile uint8_t busy;		/* a call of this process is under way */
			/* The pair belongs to this process's parent. */
			volatile uint8_t forked;
		};
	};
} __attribute__((aligned(64)));

/*
 * A mapping is noted here before it is made: a fork, or a jump out of open(), may come at any
 * time.
 */
static struct pair {
	struct lane lane[WH_MAX_SLOTS];
	uint32_t index;		/* EPTP index of slot 0; the next slots follow */
	uint32_t nslots;	/* 0 = not attached */
	wh_delegate_fn *delegate;
	bool trampoline;	/* mapped */
	bool open;		/* a link has the pair */
	size_t part_size;	/* mapped at WH_WINDOW_VA; 0 = not mapped */
	size_t calls_end;	/* slot pages and message areas end here */
	bool forked;
} pair;

/* --- Can this machine do it? -------------------------------------------- */

static int vmfunc_probe(void)
{
	uint32_t version, role = wh_detect(&version);

	/* It is worth trying another version: open() says what differs. */
	return role == WH_ROLE_CLIENT || (role == WH_ROLE_NONE && version);
}

/* Returns the user shadow stack pointer: a view has no shadow stack pages. 0: there is none. */
static uint64_t shadow_stack(void)
{
	uint64_t ssp = 0;

	/* RDSSPQ is a NOP where there is no shadow stack. */
	__asm__ volatile("rdsspq %0" : "+r" (ssp));
	return ssp;
}

static int check_machine(void)
{
	uint32_t version, role = wh_detect(&version);

	if (role == WH_ROLE_NONE && version) {
		wh_log("vmfunc: the host has ABI version %u, this library %u",
		       version, WH_ABI_VERSION);
		return WH_EVERSION;
	}
	if (role != WH_ROLE_CLIENT) {
		wh_log("vmfunc: this machine is no Wormhole client VM");
		return WH_ETRANSPORT;
	}
	if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT)) {
		wh_log("vmfunc: this kernel runs without FSGSBASE (Linux before 5.9, or nofsgsbase), which the switch needs");
		return WH_ETRANSPORT;
	}
	if (shadow_stack()) {
		wh_log("vmfunc: this program runs with a shadow stack, which a delegated call cannot use");
		return WH_ETRANSPORT;
	}
	return WH_OK;
}

/* --- Mappings ------------------------------------------------------------- */

/*
 * Works like mmap() at a fixed address that must be free. Kernels before 4.17 take
 * MAP_FIXED_NOREPLACE as a hint, so it checks where the mapping is.
 */
static void *map_at(uint64_t va, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *want = (void *)va;
	void *p = mmap(want, size, prot, flags | MAP_FIXED_NOREPLACE, fd, offset);

	if (p == MAP_FAILED || p == want)
		return p;
	munmap(p, size);
	errno = EEXIST;
	return MAP_FAILED;
}

static void unmap_trampoline(void)
{
	munmap((void *)WH_TRAMPOLINE_VA, 2 * WH_PAGE_SIZE);
	munmap((void *)WH_SLOT_VA, WH_PAGE_SIZE);
	pair.trampoline = false;
}

/* Maps this process's copy of the code page, and the page that says "client". */
static int map_code(void)
{
	struct wh_world *world;
	char *page;

	page = map_at(WH_TRAMPOLINE_VA, 2 * WH_PAGE_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED) {
		wh_log("vmfunc: cannot map the trampoline at 0x%llx: %s",
		       WH_TRAMPOLINE_VA, strerror(errno));
		return WH_EFAULT;
	}
	memcpy(page, gen_trampoline, WH_PAGE_SIZE);
	world = (struct wh_world *)(page + WH_PAGE_SIZE);
	world->world = WH_WORLD_CLIENT;
	if (mprotect(page, WH_PAGE_SIZE, PROT_READ | PROT_EXEC) ||
	    mprotect(world, WH_PAGE_SIZE, PROT_READ)) {
		wh_log("vmfunc: cannot make the trampoline executable: %s", strerror(errno));
		munmap(page, 2 * WH_PAGE_SIZE);
		return WH_EPERM;
	}
	pair.delegate = wh_trampoline_delegate(page);
	return WH_OK;
}

/* Also maps zeroes at the place where a view says which slot it is. */
static int map_trampoline(void)
{
	int status;

	pair.trampoline = true;
	status = map_code();
	if (status) {
		pair.trampoline = false;
		return status;
	}
	if (map_at(WH_SLOT_VA, WH_PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	    MAP_FAILED) {
		wh_log("vmfunc: cannot map a page at 0x%llx: %s", WH_SLOT_VA, strerror(errno));
		munmap((void *)WH_TRAMPOLINE_VA, 2 * WH_PAGE_SIZE);
		pair.trampoline = false;
		return WH_EFAULT;
	}
	return WH_OK;
}

static void unmap_part(void)
{
	munmap((void *)WH_WINDOW_VA, pair.part_size);
	pair.part_size = 0;
	pair.nslots = 0;
	pair.calls_end = 0;
}

static int map_part(int fd, uint64_t offset, size_t size)
{
	void *part;

	pair.part_size = size;
	part = map_at(WH_WINDOW_VA, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	if (part == MAP_FAILED) {
		pair.part_size = 0;
		wh_log("vmfunc: cannot map the window at 0x%llx: %s", WH_WINDOW_VA,
		       strerror(errno));
		return WH_EFAULT;
	}
	/* A child that has the part would look like the pair's process. */
	if (madvise(part, size, MADV_DONTFORK)) {
		wh_log("vmfunc: cannot keep the window out of children: %s", strerror(errno));
		unmap_part();
		return WH_EFAULT;
	}
	return WH_OK;
}

/* --- Attach ----------------------------------------------------------------- */

static int attach(void)
{
	const struct wh_tramp_hdr *h = (const void *)gen_trampoline;
	struct wh_leaf l = { { WH_ABI_VERSION, h->checksum }, 0, 0, 0 };
	int64_t status = wh_hypercall(WH_LEAF_ATTACH, &l);

	if (status != WH_OK)
		return status < 0 && status >= WH_ETRANSPORT ? (int)status : WH_ETRANSPORT;
	pair.index = (uint32_t)l.rbx;
	pair.nslots = (uint32_t)l.rcx;
	return WH_OK;
}

static int64_t detach(void)
{
	struct wh_leaf l = { { pair.index }, 0, 0, 0 };

	return wh_hypercall(WH_LEAF_DETACH, &l);
}

static void take_slot(uint32_t i)
{
	struct lane *n = &pair.lane[i];

	*n = (struct lane) {
		.slot = (struct wh_slot *)(WH_WINDOW_VA + (1 + i) * WH_PAGE_SIZE),
		.delegate = pair.delegate,
		.index = pair.index + i,
	};
	n->slot->index = n->index;
	n->slot->slot = i;
}

/*
 * Takes the link's slots from the control page, which is copied once, then checked. KVM has the
 * slots in the pages behind the control page, so they must be there.
 */
static int take_slots(void)
{
	struct wh_ctl c;
	uint64_t end;
	uint32_t i;

	memcpy(&c, (void *)WH_WINDOW_VA, sizeof(c));
	if (!pair.nslots || pair.nslots > WH_MAX_SLOTS || c.nslots != pair.nslots ||
	    c.part_size != pair.part_size || c.slot_offset != WH_PAGE_SIZE ||
	    pair.part_size < (1 + pair.nslots) * WH_PAGE_SIZE)
		return WH_EFAULT;
	end = c.msg_offset + pair.nslots * c.msg_size;
	pair.calls_end = end < pair.part_size ? end : pair.part_size;
	for (i = 0; i < pair.nslots; i++)
		take_slot(i);
	return WH_OK;
}

/* Tries to attach to one part. It stays mapped only if this process is attached. */
static int try_part(struct wh_link *l, int fd, uint64_t offset, size_t size)
{
	int status = map_part(fd, offset, size);

	if (status)
		return status;
	status = attach();
	if (status) {
		unmap_part();
		return status;
	}
	status = take_slots();
	if (!status)
		status = wh_link_from_part(l, (void *)WH_WINDOW_VA, size);
	if (status) {
		detach();
		unmap_part();
	}
	return status;
}

/* Can a later try give another status? Somebody else's pair may just be ending. */
static int may_pass(int status)
{
	return status == WH_ENOENT || status == WH_EBUSY || status == WH_ENOMEM;
}

/* Takes the first free part of a window. On failure, "taken" says more than "no worker". */
static int try_window(struct wh_link *l, const struct wh_window *w)
{
	int status = WH_ENOENT, fd = open(w->path, O_RDWR | O_CLOEXEC);
	int64_t size;
	uint64_t at;
	int rc;

	if (fd < 0) {
		wh_log("%s: %s: who may use the GPU needs to read and write it", w->path,
		       strerror(errno));
		return WH_EPERM;
	}
	size = wh_window_part_size(fd, w->size);
	if (size < 0)
		status = (int)size;
	for (at = 0; size > 0 && at + (uint64_t)size <= w->size; at += (uint64_t)size) {
		rc = try_part(l, fd, at, (size_t)size);
		if (rc == WH_EGONE)	/* its worker is just ending */
			rc = WH_ENOENT;
		if (rc != WH_ENOENT)
			status = rc;
		if (!may_pass(rc))
			break;
	}
	close(fd);
	return status;
}

static int try_windows(struct wh_link *l, const struct wh_window *w, int n)
{
	int i, rc, status = WH_ENOENT;

	for (i = 0; i < n; i++) {
		rc = try_window(l, &w[i]);
		if (!rc)
			return WH_OK;
		if (!may_pass(rc))
			wh_log("%s: %s", w[i].path, wh_strerror(rc));
		/* As long as one window may still become free, waiting makes sense. */
		if (!i || (may_pass(rc) && (!may_pass(status) || status == WH_ENOENT)))
			status = rc;
	}
	return status;
}

/* Returns false, after one line that says why, if the setting is no number of milliseconds. */
static int attach_timeout(int64_t *ms)
{
	const char *s = getenv(ATTACH_TIMEOUT_ENV);
	size_t digits = s ? strspn(s, "0123456789") : 0;

	*ms = ATTACH_TIMEOUT_MS;
	if (!s || !*s)
		return 1;
	errno = 0;
	*ms = strtoll(s, NULL, 10);
	if (digits && !s[digits] && !errno && *ms <= ATTACH_TIMEOUT_MAX)
		return 1;
	wh_complain(ATTACH_TIMEOUT_ENV "=%s: not a number of milliseconds from 0 to %d", s,
		    ATTACH_TIMEOUT_MAX);
	return 0;
}

/* Nobody tells a client that a worker came, so it looks again, ever more seldom. */
static int attach_any(struct wh_link *l)
{
	struct timespec pause = { 0, 1000000 };
	struct wh_window w[WH_WINDOW_MAX];
	int64_t deadline, timeout;
	int n, status;

	if (!attach_timeout(&timeout))
		return WH_EINVAL;
	n = wh_window_list(WH_WINDOW_SYSFS, w);
	if (!n) {
		wh_log("vmfunc: no window device (PCI 1af4:1110) in %s", WH_WINDOW_SYSFS);
		return WH_ETRANSPORT;
	}
	deadline = wh_now_ms() + timeout;
	for (;;) {
		status = try_windows(l, w, n);
		if (!may_pass(status) || wh_now_ms() >= deadline)
			break;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 50000000)
			pause.tv_nsec *= 2;
	}
	if (status == WH_EBUSY)
		wh_log("vmfunc: all parts of the window are taken by other processes");
	else if (status == WH_ENOMEM)
		wh_log("vmfunc: the host's quota of pairs is used up");
	else if (status == WH_ENOENT)
		wh_log("vmfunc: no worker waits on any part of the window");
	return status;
}

/* --- Fork --------------------------------------------------------------------- */

/*
 * A child has the trampoline but not the part. It gets empty pages where the slots and messages
 * were, since a signal handler may have forked within a call. The call goes on in the child
 * until KVM refuses it, and then looks for its response.
 */
static void in_child(void)
{
	uint32_t i;

	if (!pair.trampoline || pair.forked)
		return;
	pair.forked = true;
	for (i = 0; i < pair.nslots; i++)
		pair.lane[i].forked = 1;
	/* The part came along if the parent had not yet kept it out of children. */
	munmap((void *)WH_WINDOW_VA, pair.part_size);
	map_at(WH_WINDOW_VA, pair.calls_end, PROT_READ | PROT_WRITE,
	       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

/* A child that opens a link of its own first drops what it inherited. */
static void forget_parent(void)
{
	if (!pair.forked)
		return;
	munmap((void *)WH_WINDOW_VA, pair.calls_end);
	unmap_trampoline();
	memset(&pair, 0, sizeof(pair));
}

/*
 * A thread that waited for a worker has left by siglongjmp(), or has ended. KVM would not miss
 * the old part, since the next one will be at the same address.
 */
static void drop_unfinished(void)
{
	if (pair.nslots)
		detach();
	if (pair.part_size)
		unmap_part();
	if (pair.trampoline)
		unmap_trampoline();
}

/* --- The transport --------------------------------------------------------------- */

static int vmfunc_open(struct wh_link *l)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int status;

	forget_parent();
	if (pair.open)
		return WH_EBUSY;
	drop_unfinished();
	status = check_machine();
	if (status)
		return status;
	pthread_once(&once, watch_forks);
	status = map_trampoline();
	if (status)
		return status;
	status = attach_any(l);
	if (status) {
		unmap_trampoline();
		return status;
	}
	pair.open = true;
	l->t = &wh_transport_vmfunc;
	l->part = (uint8_t *)WH_WINDOW_VA;
	l->priv = &pair;
	wh_log("vmfunc: attached, EPTP index %u, %u slots", pair.index, pair.nslots);
	return WH_OK;
}

/*
 * `busy` needs no atomics, since the stubs let one thread at a time into a slot. So whoever
 * finds it set is a signal handler on top of the call, or comes after a handler that never
 * returned to it.
 */
static int vmfunc_call(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot)
{
	struct lane *n = &pair.lane[slot];
	int64_t status;

	(void)l;
	if (WH_UNLIKELY(n->no_call))
		return n->forked ? WH_EGONE : WH_EBUSY;
	n->busy = 1;
	status = n->delegate(n->slot, handler, arg, n->index, 0);
	n->busy = 0;
	return (int)status;
}

/* Cancels a call that a signal handler left for good: only KVM can end it. */
static void cancel_call(struct lane *n)
{
	struct wh_leaf l = { { n->index }, 0, 0, 0 };
	int64_t status = wh_hypercall(WH_LEAF_CANCEL, &l);

	wh_log("vmfunc: a call was under way: cancel: %s", wh_strerror(status));
	n->busy = 0;
}

/*
 * The worker stopped in the middle of the call, and the driver may have locks held: it can
 * serve nobody any more.
 */
static int vmfunc_abandon(struct wh_link *l, uint32_t slot)
{
	struct lane *n = &pair.lane[slot];

	(void)l;
	if (n->forked)
		return WH_EGONE;
	if (!n->busy)
		return WH_OK;
	cancel_call(n);
	return WH_EGONE;
}

static void leave_pair(struct pair *p)
{
	int64_t status;
	uint32_t i;

	for (i = 0; i < p->nslots; i++)
		if (p->lane[i].busy)
			cancel_call(&p->lane[i]);
	status = detach();
	if (status != WH_OK && status != WH_EGONE && status != WH_ENOENT) {
		/* Without its part the pair also ends, at KVM's next look. */
		wh_log("vmfunc: detach: %s", wh_strerror(status));
	}
}

static void vmfunc_close(struct wh_link *l)
{
	struct pair *p = l->priv;

	l->priv = NULL;
	if (p->forked) {
		forget_parent();
		return;
	}
	leave_pair(p);
	unmap_part();
	unmap_trampoline();
	p->open = false;
}

/*
 * Detaches at once, so that the worker need not wait until KVM misses the window. Destructors
 * of other libraries and threads that still run may touch pinned memory. Where the part was
 * they find pages of zeros, not the next client's data.
 */
static void vmfunc_end(struct wh_link *l)
{
	struct pair *p = l->priv;

	if (p->forked)
		return;
	leave_pair(p);
	mmap((void *)WH_WINDOW_VA, p->part_size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

const struct wh_transport wh_transport_vmfunc = {
	.name = "vmfunc",
	.probe = vmfunc_probe,
	.open = vmfunc_open,
	.call = vmfunc_call,
	.abandon = vmfunc_abandon,
	.close = vmfunc_close,
	.end = vmfunc_end,
};
