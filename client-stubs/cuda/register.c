// SPDX-License-Identifier: Apache-2.0
/*
 * cuMemHostRegister(). In one process with the worker the memory is registered as it is.
 * Otherwise the device must reach pages of a worker. A block of the far area gets the contents
 * of the program's pages and is mapped in their place, and in the worker at the same address,
 * if possible. Then the worker registers the very bytes, so that several registrations may have
 * parts of a page. When the last of them ends, a private page comes back. Pages that the program
 * may only read stay so. Only whole pages can change. Other data on the first and the last page
 * moves along; writers are held off if the kernel has userfaultfd.
 */
#define _GNU_SOURCE
#include "exchange.h"
#include "maps.h"
#include "stack.h"
#include "stubs.h"
#include "table.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "populate.h"
#include "shm.h"

/* A registered range; [low, low + pages) are the whole pages around it. */
struct range {
	uint8_t *start, *low;
	uint8_t *far;			/* its block, if it is elsewhere in the worker */
	size_t size, pages;
	unsigned int flags;
	uint64_t id;
	bool there;			/* it is at the same address in the worker */
	bool constant;			/* if it is not: as of struct pages */
	bool mapped;			/* by cuMemMap(): hostvmm.c */
};

/* Whole pages with memory of the far area in their place. */
struct pages {
	uint8_t *low, *far;
	size_t size;
	bool constant;			/* the program may only read them */
	bool file;			/* a shared map that the worker has, too; far is low */
};

static pthread_rwlock_t range_lock WH_PAIR = PTHREAD_RWLOCK_INITIALIZER;
/* Only one thread registers at a time. */
static pthread_mutex_t change_lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
static __thread bool changes __attribute__((tls_model("initial-exec")));	/* it holds that */
static struct range *range WH_PAIR;	/* by address; two never overlap */
static size_t ranges WH_PAIR, room WH_PAIR;
/* The pages of all registered ranges that are at their address in the worker, by address. */
static struct pages *shared WH_PAIR;
static size_t shares WH_PAIR, share_room WH_PAIR;
static uint32_t loans WH_PAIR;		/* files that were lent: each has its number */

static void begin_change(void)
{
	pthread_mutex_lock(&change_lock);
	changes = true;
}

static void end_change(void)
{
	changes = false;
	pthread_mutex_unlock(&change_lock);
}

/* --- The list -------------------------------------------------------------------- */

/* Returns the index of the first range that starts above p. */
static size_t above(const void *p)
{
	return WH_ABOVE(range, ranges, start, p);
}

static bool inside(const struct range *r, const void *p, size_t n)
{
	size_t at = (const uint8_t *)p - r->start;

	return (const uint8_t *)p >= r->start && at <= r->size && n <= r->size - at;
}

bool wh_registered_block(const void *p, struct wh_block *out)
{
	bool found;
	size_t i;

	pthread_rwlock_rdlock(&range_lock);
	i = above(p);
	found = i && inside(&range[i - 1], p, 1);
	if (found)
		*out = (struct wh_block) {
			.start = range[i - 1].start, .size = range[i - 1].size,
			.asked = range[i - 1].size, .flags = range[i - 1].flags,
			.id = range[i - 1].id, .used = true, .registered = true,
			.device = (CUdeviceptr)(range[i - 1].there ? range[i - 1].start :
				  range[i - 1].far + (range[i - 1].start - range[i - 1].low)),
		};
	pthread_rwlock_unlock(&range_lock);
	return found;
}

bool wh_registered_there(const void *p, size_t n)
{
	bool found;
	size_t i;

	pthread_rwlock_rdlock(&range_lock);
	i = above(p);
	found = i && range[i - 1].there && inside(&range[i - 1], p, n);
	pthread_rwlock_unlock(&range_lock);
	return found;
}

/*
 * Other threads read the lists. Only one registers, so the room is still there for insert(), and
 * to cut pages in two.
 */
static bool make_room(void)
{
	bool good;

	pthread_rwlock_wrlock(&range_lock);
	good = WH_MAKE_ROOM(range, ranges, room, 64) &&
	       WH_MAKE_ROOM(shared, shares, share_room, 64);
	pthread_rwlock_unlock(&range_lock);
	return good;
}

static void insert(const struct range *r)
{
	size_t i;

	pthread_rwlock_wrlock(&range_lock);
	i = above(r->start);
	memmove(&range[i + 1], &range[i], (ranges - i) * sizeof(*range));
	range[i] = *r;
	wh_client.registered = ++ranges;
	pthread_rwlock_unlock(&range_lock);
}

static void drop(const struct range *r)
{
	size_t i;

	pthread_rwlock_wrlock(&range_lock);
	i = above(r->start) - 1;
	memmove(&range[i], &range[i + 1], (ranges - i - 1) * sizeof(*range));
	wh_client.registered = --ranges;
	pthread_rwlock_unlock(&range_lock);
}

/* While change_lock is held, nobody else writes the lists. */
static bool overlaps(const struct range *r)
{
	size_t i = above(r->start + r->size - 1);

	return i && range[i - 1].start + range[i - 1].size > r->start;
}

/* Has a range other than r bytes from `low` on, below `high`? Pages on which it has are shared. */
static bool used(const struct range *r, const uint8_t *low, const uint8_t *high)
{
	size_t i = above(high - 1);

	if (i && range[i - 1].start == r->start)
		i--;
	return i && range[i - 1].start + range[i - 1].size > low;
}

/* Returns the pages of r on which no other range has a part: all but the first and the last. */
static struct pages alone(const struct range *r)
{
	uint8_t *low = r->low, *end = r->low + r->pages;

	if (used(r, low, low + WH_PAGE_SIZE))
		low += WH_PAGE_SIZE;
	if (end > low && used(r, end - WH_PAGE_SIZE, end))
		end -= WH_PAGE_SIZE;
	return (struct pages) { .low = low, .size = end - low };
}

/* Has a range that is elsewhere in the worker a part of these pages? Nobody shares them. */
static bool is_elsewhere(const struct range *r)
{
	const struct range *o;

	for (o = range; o < range + ranges; o++)
		if (!o->there && o->low < r->low + r->pages && r->low < o->low + o->pages)
			return true;
	return false;
}

static void share(const struct pages *p)
{
	size_t i;

	pthread_rwlock_wrlock(&range_lock);
	i = WH_ABOVE(shared, shares, low, p->low);
	memmove(&shared[i + 1], &shared[i], (shares - i) * sizeof(*shared));
	shared[i] = *p;
	shares++;
	pthread_rwlock_unlock(&range_lock);
}

/*
 * Takes some of the pages out of the list, all of one block, and says which. False: there are none.
 * What is before them stays, and what is behind them.
 */
static bool take_out(const struct pages *p, struct pages *out)
{
	size_t i = WH_ABOVE(shared, shares, low, p->low + p->size - 1);
	struct pages *s = i ? &shared[i - 1] : NULL, behind;

	if (!s || s->low + s->size <= p->low)
		return false;
	out->low = s->low > p->low ? s->low : p->low;
	out->size = (s->low + s->size < p->low + p->size ? s->low + s->size : p->low + p->size) -
		    out->low;
	out->far = s->far + (out->low - s->low);
	out->constant = s->constant;
	out->file = s->file;
	behind = (struct pages) { .low = out->low + out->size, .far = out->far + out->size,
				  .size = s->low + s->size - (out->low + out->size),
				  .constant = s->constant, .file = s->file };
	pthread_rwlock_wrlock(&range_lock);
	s->size = out->low - s->low;
	if (!s->size) {
		memmove(s, s + 1, (shares - i) * sizeof(*s));
		shares--;
	}
	pthread_rwlock_unlock(&range_lock);
	if (behind.size)
		share(&behind);
	return true;
}

bool wh_registered_add(void *start, size_t size)
{
	struct range r = { .start = start, .low = start, .size = size, .pages = size,
			   .id = wh_block_id(), .there = true, .mapped = true };
	bool good;

	begin_change();
	good = !overlaps(&r) && make_room();
	if (good)
		insert(&r);
	end_change();
	return good;
}

void wh_registered_drop(void *start)
{
	begin_change();
	drop(&(struct range) { .start = start });
	end_change();
}

/* --- The worker ---------------------------------------------------------------------- */

CUresult wh_host_block(uint32_t op, void *addr, size_t size, void *at, unsigned int flags)
{
	struct wh_req_whHostBlock *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_whHostBlock, sizeof(*q));
	if (!q)
		return c.result;
	q->addr = (uintptr_t)addr;
	q->size = size;
	q->at = (uintptr_t)at;
	q->op = op;
	q->flags = flags;
	res = wh_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

void wh_far_empty(void *p, size_t size)
{
	/* The first call is for a shared file, the second for memory of this process. */
	if (madvise(p, size, MADV_REMOVE))
		madvise(p, size, MADV_DONTNEED);
}

/* --- Changing pages -------------------------------------------------------------------- */

/*
 * Maps the block in the place of the pages. With size 0 the block also stays where it is, writable:
 * a mapping that is not takes a step more.
 */
static bool to_shared(const struct pages *r)
{
	struct wh_exchange e = { .low = r->low, .size = r->size, .constant = r->constant,
				 .to = r->far, .from = r->far };

	if (!r->constant)
		return wh_exchange(&e);
	e.from = mremap(r->far, 0, r->size, MREMAP_MAYMOVE);
	e.old_size = r->size;
	if (e.from == MAP_FAILED)
		return false;
	if (wh_exchange(&e))
		return true;
	munmap(e.from, r->size);
	return false;
}

/* Returns memory of this process alone, or NULL. */
static uint8_t *fresh(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* `seen` gets what they have at that moment; NULL: nobody wants to know. */
static bool to_private_seen(const struct pages *r, uint8_t *seen)
{
	uint8_t *p = fresh(r->size);
	struct wh_exchange e = { .low = r->low, .size = r->size, .to = p, .from = p,
				 .old_size = r->size, .seen = seen };

	if (!p)
		return false;
	e.constant = r->constant && !wh_maps_writable(r->low);
	if (wh_exchange(&e))
		return true;
	munmap(p, r->size);
	return false;
}

static bool to_private(const struct pages *r)
{
	return to_private_seen(r, NULL);
}

/*
 * The same for pages of the list. Several ranges may have brought them, some of them constant, so
 * it goes on from one kind to the next.
 */
static bool all_private(const struct pages *all)
{
	const uint8_t *end = all->low + all->size;
	struct pages run = { .low = all->low };
	const struct pages *s;
	size_t n;

	while (run.low + run.size < end) {
		s = &shared[WH_ABOVE(shared, shares, low, run.low + run.size) - 1];
		if (run.size && (run.constant != s->constant || run.file != s->file)) {
			if (!run.file && !to_private(&run))
				return false;
			run = (struct pages) { .low = run.low + run.size };
		}
		n = s->low + s->size - (run.low + run.size);
		run.constant = s->constant;
		run.file = s->file;
		run.size += n < (size_t)(end - (run.low + run.size)) ?
			    n : (size_t)(end - (run.low + run.size));
	}
	return run.file || to_private(&run);
}

static void give_far(const struct pages *r)
{
	wh_far_empty(r->far, r->size);
	wh_data_free_part(r->far, r->size);
}

static CUresult pin(void *p, size_t size, unsigned int flags)
{
	return wh_host_block(WH_HOST_PIN, p, size, NULL, flags);
}

static CUresult unpin(void *p)
{
	return wh_host_block(WH_HOST_UNPIN, p, 0, NULL, 0);
}

/* Ends what the worker has of pages that are the program's own again. */
static CUresult give_back(const struct pages *all)
{
	CUresult first = CUDA_SUCCESS, res;
	struct pages p;

	while (take_out(all, &p)) {
		res = wh_host_block(WH_HOST_UNALIAS, p.far, p.size, NULL, 0);
		if (res == CUDA_SUCCESS && !p.file)
			give_far(&p);
		else if (res != CUDA_SUCCESS && first == CUDA_SUCCESS)
			first = res;
	}
	return first;
}

/* Why the server lent the worker nothing. */
static CUresult not_lent(int why)
{
	switch (why) {
	case WH_SHM_LENT_NO_MEMORY:
		return wh_refuse("cuMemHostRegister of a shared map of no memfd and no file on tmpfs");
	case WH_SHM_LENT_NO_RIGHT:
		return wh_refuse("cuMemHostRegister of a shared map that the server may not open "
				 "as this user");
	default:
		return wh_refuse("cuMemHostRegister of a shared map that cannot be lent now");
	}
}

/*
 * Pages of a shared map stay where they are, and the worker maps the same ones, so others that have
 * the map see what the device writes. The server opens the file for the worker (shm.h).
 */
static CUresult lend_pages(struct pages *p)
{
	struct wh_link *l = &wh_client.link;
	uint64_t offset, inode;
	bool close_it;
	CUresult res;
	int fd, rc;

	if (!l->t->lend)
		return wh_refuse("cuMemHostRegister of a shared map over this transport");
	fd = wh_maps_file(p->low, p->size, &offset, &inode, &close_it);
	if (fd < 0)
		return wh_refuse("cuMemHostRegister of a shared map without a descriptor or a name");
	/* The worker makes no page of it, and refuses what this cannot make. */
	madvise(p->low, p->size, MADV_POPULATE_WRITE);
	rc = l->t->lend(l, fd, inode, ++loans);
	if (close_it)
		close(fd);
	if (rc)
		return not_lent(rc);
	res = wh_host_block(WH_HOST_FILE, (void *)offset, p->size, p->low, loans);
	if (res == CUDA_ERROR_MAP_FAILED)
		return wh_refuse("cuMemHostRegister of a shared map where the worker cannot map it");
	p->far = p->low;
	p->file = true;
	if (res == CUDA_SUCCESS)
		share(p);
	return res;
}

/* Brings the pages that no other range has to the worker, at their address if possible. */
static CUresult bring(struct range *r, struct pages *p, unsigned int flags)
{
	enum wh_pages kind = wh_maps_kind(p->low, p->size);
	CUresult res;

	/* As the driver says it: the device may write unless the flag forbids it. */
	if (kind == WH_PAGES_NOTHING ||
	    (kind == WH_PAGES_CONSTANT && !(flags & CU_MEMHOSTREGISTER_READ_ONLY)))
		return CUDA_ERROR_INVALID_VALUE;
	if (kind == WH_PAGES_STACK && !wh_stack_is_first(p->low))
		return wh_refuse("cuMemHostRegister of the first thread's stack by another thread");
	if (kind == WH_PAGES_SHARED)
		return lend_pages(p);
	if (kind == WH_PAGES_OTHER)
		return wh_refuse("cuMemHostRegister of memory of several kinds, or of a kind such as "
				 "read-only shared maps");
	if (!wh_exchange_holds(p->low, p->size))
		return wh_refuse("cuMemHostRegister beside a thread's own data on a kernel "
				 "that gives this process no userfaultfd");
	wh_stack_grow();
	p->constant = kind == WH_PAGES_CONSTANT;
	p->far = wh_far_alloc(p->size, 0, false);
	if (!p->far)
		return CUDA_ERROR_OUT_OF_MEMORY;
	res = wh_host_block(WH_HOST_ALIAS, p->far, p->size, p->low, 0);
	r->there = res == CUDA_SUCCESS;
	/* Something of the worker is at that address. Such pages are not shared by ranges. */
	if (res == CUDA_ERROR_MAP_FAILED && p->size == r->pages)
		res = pin(p->far, p->size, flags);
	if (res == CUDA_SUCCESS && !to_shared(p)) {
		if (r->there)
			wh_host_block(WH_HOST_UNALIAS, p->far, p->size, NULL, 0);
		else
			unpin(p->far);
		res = p->constant ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (res != CUDA_SUCCESS)
		give_far(p);
	else if (r->there)
		share(p);
	else
		r->far = p->far;
	r->constant = p->constant;
	return res;
}

static CUresult register_shared(struct range *r, unsigned int flags)
{
	struct pages p = alone(r);
	CUresult res = CUDA_SUCCESS;

	if (!wh_client.link.far)
		return wh_refuse("cuMemHostRegister over this transport");
	if (is_elsewhere(r))
		return wh_refuse("cuMemHostRegister on pages whose address is taken in the worker");
	if (p.size)
		res = bring(r, &p, flags);
	if (res != CUDA_SUCCESS || !r->there)
		return res;
	res = pin(r->start, r->size, flags);
	if (res != CUDA_SUCCESS && p.size && all_private(&p))
		give_back(&p);
	return res;
}

static CUresult register_range(struct range *r, unsigned int flags)
{
	CUresult res;

	if (!make_room())
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->there = true;
	if (!wh_client.link.one_process)
		res = register_shared(r, flags);
	else if (wh_maps_there(r->start, r->size, !(flags & CU_MEMHOSTREGISTER_READ_ONLY)))
		res = pin(r->start, r->size, flags);
	else
		res = CUDA_ERROR_INVALID_VALUE;
	if (res == CUDA_SUCCESS)
		insert(r);
	return res;
}

/* --- Fork ------------------------------------------------------------------------------- */

/*
 * The thread that forks goes on in both processes on the same stack, before either could have a
 * copy. So its pages are private while it forks. What the device writes meanwhile is seen behind
 * the fork, and what other threads write there goes to the device then.
 */
static struct lent {
	struct pages pages;
	uint8_t *was;		/* what the pages had when they became private */
} *lent WH_PAIR;
static size_t lents WH_PAIR;

static void no_fork(size_t size)
{
	wh_complain("fork: no memory or no thread for %zu registered bytes of the stack", size);
	abort();
}

static void lend(const struct pages *p)
{
	struct lent *more = realloc(lent, (lents + 1) * sizeof(*lent));
	uint8_t *was = fresh(p->size);

	if (!more || !was || !to_private_seen(p, was))
		no_fork(p->size);
	lent = more;
	lent[lents++] = (struct lent) { *p, was };
}

static void end_lending(void)
{
	while (lents) {
		lents--;
		munmap(lent[lents].was, lent[lents].pages.size);
	}
	free(lent);
	lent = NULL;
}

/*
 * A thread that has a call under way may keep what a thread needs that registers, and so does not
 * wait for it.
 */
bool wh_registered_hold(bool patient)
{
	const struct pages *p;
	const struct range *r;

	if (changes)	/* a signal handler on top of a change forks */
		return false;
	if (patient ? pthread_mutex_lock(&change_lock) : pthread_mutex_trylock(&change_lock))
		return false;
	if (pthread_rwlock_rdlock(&range_lock)) {
		pthread_mutex_unlock(&change_lock);
		return false;
	}
	/* What a file has is no stack: it stays shared over a fork, wherever it is mapped. */
	for (p = shared; p < shared + shares; p++)
		if (!p->file && wh_stack_has(p->low, p->size))
			lend(p);
	for (r = range; r < range + ranges; r++)
		if (!r->there && wh_stack_has(r->low, r->pages))
			lend(&(struct pages) { .low = r->low, .far = r->far, .size = r->pages });
	return true;
}

static void let_go(void)
{
	pthread_rwlock_unlock(&range_lock);
	pthread_mutex_unlock(&change_lock);
}

void wh_registered_release(void)
{
	struct lent *l;

	for (l = lent; l < lent + lents; l++) {
		struct wh_exchange e = { .low = l->pages.low, .size = l->pages.size,
					 .to = l->pages.far, .from = l->pages.far,
					 .was = l->was };

		if (!wh_exchange(&e))
			no_fork(l->pages.size);
	}
	end_lending();
	let_go();
}

void wh_registered_release_in_child(void)
{
	end_lending();
	let_go();
}

/* A child's memory is its own: memory shared with the worker becomes a copy. */
static void to_copy(const struct pages *r)
{
	uint8_t *p = fresh(r->size);

	if (!p) {
		wh_complain("fork: no memory for a copy of %zu bytes that are registered", r->size);
		abort();
	}
	memcpy(p, r->low, r->size);
	if (r->constant && !wh_maps_writable(r->low))
		mprotect(p, r->size, PROT_READ);
	mremap(p, r->size, r->size, MREMAP_MAYMOVE | MREMAP_FIXED, r->low);
}

static bool is_lent(const uint8_t *low)
{
	const struct lent *l;

	for (l = lent; l < lent + lents; l++)
		if (l->pages.low == low)
			return true;
	return false;
}

void wh_registered_after_fork(void)
{
	const struct pages *p;
	const struct range *r;

	for (p = shared; p < shared + shares; p++)
		if (!p->file && !is_lent(p->low))
			to_copy(p);
	for (r = range; r < range + ranges; r++)
		if ((!r->there || r->mapped) && !is_lent(r->low))
			to_copy(&(struct pages) { .low = r->low, .size = r->pages,
						  .constant = r->constant });
	end_lending();
}

/* --- The functions ------------------------------------------------------------------------ */

static CUresult usable(void)
{
	CUresult res = wh_usable();

	return res || wh_thread.ctx ? res : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
	const unsigned int known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
				   CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
	struct range r = { .start = p, .size = bytesize, .flags = Flags, .id = wh_block_id() };
	uintptr_t end;
	CUresult res = usable();

	if (res != CUDA_SUCCESS)
		return res;
	if (!p || !bytesize || (Flags & ~known) ||
	    __builtin_add_overflow((uintptr_t)p, bytesize + WH_PAGE_SIZE - 1, &end))
		return CUDA_ERROR_INVALID_VALUE;
	if (Flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return wh_refuse("cuMemHostRegister of I/O memory");
	if (wh_managed_has(p) || wh_in_near(p, 1) || wh_in_far(p, 1) ||
	    wh_range_has((CUdeviceptr)p))
		return CUDA_ERROR_INVALID_VALUE;
	r.low = (uint8_t *)((uintptr_t)p & -(uintptr_t)WH_PAGE_SIZE);
	r.pages = (end & -(uintptr_t)WH_PAGE_SIZE) - (uintptr_t)r.low;
	begin_change();
	res = overlaps(&r) ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED :
			     register_range(&r, Flags & CU_MEMHOSTREGISTER_READ_ONLY);
	end_change();
	return res;
}

CUresult cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
	return cuMemHostRegister_v2(p, bytesize, Flags);
}

/*
 * The device may still use the memory, so it waits for all work of the context, as the driver
 * does.
 */
static CUresult unregister(void *p)
{
	CUresult res = wh_raw_cuCtxSynchronize();
	size_t i = above(p);
	struct pages pages;
	struct range r;
	CUresult again;

	if (res == CUDA_ERROR_NOT_PERMITTED)
		return res;
	if (!i || range[i - 1].start != p)
		return i && inside(&range[i - 1], p, 1) ? CUDA_ERROR_INVALID_VALUE :
							  CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	r = range[i - 1];
	if (r.mapped)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	if (!make_room())
		return CUDA_ERROR_OUT_OF_MEMORY;
	pages = r.there ? alone(&r) :
			  (struct pages) { .low = r.low, .far = r.far, .size = r.pages,
					   .constant = r.constant };
	/* The pages come first: from then on nothing here depends on the worker. */
	if (!wh_client.link.one_process && pages.size &&
	    !(r.there ? all_private(&pages) : to_private(&pages)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	drop(&r);
	res = unpin(r.there ? r.start : r.far);
	if (wh_client.link.one_process)
		return res;
	if (!r.there) {
		give_far(&pages);
		return res;
	}
	again = pages.size ? give_back(&pages) : CUDA_SUCCESS;
	return res == CUDA_SUCCESS ? again : res;
}

CUresult cuMemHostUnregister(void *p)
{
	CUresult res = usable();

	if (res != CUDA_SUCCESS)
		return res;
	if (!p || wh_in_near(p, 1) || wh_in_far(p, 1))
		return CUDA_ERROR_INVALID_VALUE;
	begin_change();
	res = unregister(p);
	end_change();
	return res;
}
