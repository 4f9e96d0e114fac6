// SPDX-License-Identifier: Apache-2.0
/*
 * Makes and keeps the files of tenant.h: heads, accounts, limits. Used by the server, which owns
 * the files, and by workers to read them. Nothing here waits but wh_tenant_await(), and nothing
 * takes the usage region's lock: a dead or hostile worker may hold it, and the server must go on.
 */
#include "tenant/tenant.h"
#include "tenant/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(((struct wh_tenant_usage *)0)->lock),
	       "room for the lock");

int wh_tenant_limits_init(struct wh_tenant_limits *l, const char *name, uint64_t tenant_id)
{
	if (strlen(name) >= sizeof(l->name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->version = WH_TENANT_VERSION;
	l->size = sizeof(*l);
	l->tenant_id = tenant_id;
	l->devices = WH_TENANT_DEVICES;
	l->max_kernel_ns = WH_MAX_KERNEL_NS;
	__atomic_store_n(&l->magic, WH_TENANT_LIMITS_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

int wh_tenant_map_again(void *page, size_t size, int fd)
{
	int rc = posix_fallocate(fd, 0, (off_t)size);

	if (!rc && mmap(page, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		   MAP_FAILED)
		rc = errno;
	return -rc;
}

/* Makes a robust lock: a worker killed while it has the lock leaves it to the next one. */
static int init_lock(pthread_mutex_t *m)
{
	pthread_mutexattr_t a;
	int rc = pthread_mutexattr_init(&a);

	if (!rc)
		rc = pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	if (!rc)
		rc = pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	if (!rc)
		rc = pthread_mutex_init(m, &a);
	pthread_mutexattr_destroy(&a);
	return rc;
}

int wh_tenant_usage_init(struct wh_tenant_usage *u, uint64_t tenant_id)
{
	int rc = init_lock((pthread_mutex_t *)u->lock);

	if (!rc)
		rc = init_lock((pthread_mutex_t *)u->shared.lock);
	if (rc) {
		errno = rc;
		return -1;
	}
	u->version = WH_TENANT_VERSION;
	u->size = sizeof(*u);
	u->tenant_id = tenant_id;
	__atomic_store_n(&u->magic, WH_TENANT_USAGE_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

/* Bounds of the GPU time that a share could have saved up or owe. */
#define MOST_TOKENS_NS	250000000ll
#define LEAST_TOKENS_NS	(-600000000000ll)

static void bound_bucket(struct wh_sm_bucket *b)
{
	if (b->tokens_ns > MOST_TOKENS_NS)
		b->tokens_ns = MOST_TOKENS_NS;
	if (b->tokens_ns < LEAST_TOKENS_NS)
		b->tokens_ns = LEAST_TOKENS_NS;
	if (b->ceiling_ns > MOST_TOKENS_NS)
		b->ceiling_ns = MOST_TOKENS_NS;
	if (b->ceiling_ns < LEAST_TOKENS_NS)
		b->ceiling_ns = LEAST_TOKENS_NS;
	if (b->guarantee_ns > MOST_TOKENS_NS)
		b->guarantee_ns = MOST_TOKENS_NS;
	if (b->guarantee_ns < LEAST_TOKENS_NS)
		b->guarantee_ns = LEAST_TOKENS_NS;
}

int64_t wh_bucket_after(int64_t tokens, uint64_t ns, uint32_t percent)
{
	const uint64_t longest = (uint64_t)-LEAST_TOKENS_NS * 100;	/* pays any debt */
	struct wh_sm_bucket b = { .tokens_ns = tokens };
	int64_t most = MOST_TOKENS_NS * percent / 100, more;

	bound_bucket(&b);
	more = (int64_t)((ns < longest ? ns : longest) * percent / 100);
	if (b.tokens_ns >= most)
		return most;
	return b.tokens_ns + more < most ? b.tokens_ns + more : most;
}

static void free_account(struct wh_worker_usage *w)
{
	uint64_t generation = w->generation;

	memset(w, 0, sizeof(*w));
	w->generation = generation;
}

void wh_tenant_accounts_only(struct wh_tenant_usage *u, uint64_t workers)
{
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (!(workers & 1ull << i) && u->worker[i].pid)
			free_account(&u->worker[i]);
}

int wh_tenant_usage_restart(struct wh_tenant_usage *u, uint64_t tenant_id)
{
	uint32_t top = u->shared.top < WH_TENANT_SHARED ? u->shared.top : WH_TENANT_SHARED;
	int d;

	wh_tenant_accounts_only(u, 0);
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		bound_bucket(&u->bucket[d]);
	u->ended.generation &= ~1ull;
	memset(u->shared.entry, 0, top * sizeof(u->shared.entry[0]));
	memset(u->lock, 0, sizeof(u->lock));
	memset(&u->shared, 0, offsetof(struct wh_shared_table, entry));
	return wh_tenant_usage_init(u, tenant_id);
}

void wh_seat_init(struct wh_seat *s)
{
	s->version = WH_TENANT_VERSION;
	s->size = sizeof(*s);
	__atomic_store_n(&s->magic, WH_SEAT_MAGIC, __ATOMIC_RELEASE);
}

void wh_seat_name(char name[WH_SEAT_NAME], uint64_t tenant_id)
{
	snprintf(name, WH_SEAT_NAME, "%llu", (unsigned long long)tenant_id);
}

void wh_board_init(struct wh_board *b)
{
	b->version = WH_TENANT_VERSION;
	b->size = sizeof(*b);
	__atomic_store_n(&b->magic, WH_BOARD_MAGIC, __ATOMIC_RELEASE);
}

/* The sequence is odd while words change; only the server writes them. */
void wh_tenant_limits_set(struct wh_tenant_limits *l, unsigned int device,
			  const struct wh_device_limit *limit)
{
	struct wh_device_limit all = *limit;

	if (device >= WH_TENANT_DEVICES)
		return;
	/* That is no limit, and workers read it at any time. */
	all.wanted = l->device[device].wanted;
	__atomic_store_n(&l->sequence, l->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	l->device[device] = all;
	__atomic_store_n(&l->sequence, l->sequence + 1, __ATOMIC_RELEASE);
}

void wh_tenant_want(struct wh_tenant_limits *l, unsigned int device, uint64_t bytes)
{
	__atomic_store_n(&l->device[device].wanted, bytes, __ATOMIC_RELEASE);
}

void wh_tenant_suspend(struct wh_tenant_limits *l, uint32_t number)
{
	__atomic_store_n(&l->sequence, l->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&l->suspension, number, __ATOMIC_RELEASE);
	__atomic_store_n(&l->sequence, l->sequence + 1, __ATOMIC_RELEASE);
	wh_tenant_wake(&l->suspension);
}

void wh_tenant_state(struct wh_tenant_limits *l, enum wh_suspension state, bool makes_room)
{
	__atomic_store_n(&l->state, state | (makes_room ? WH_MAKES_ROOM : 0), __ATOMIC_RELEASE);
}

const char *wh_suspension_text(uint32_t state)
{
	static const char *const text[] = {
		[WH_RUNS] = "running", [WH_SUSPENDING] = "suspending", [WH_SUSPENDED] = "suspended",
		[WH_RESUMING] = "resuming", [WH_PARKED] = "parked",
	};

	state = wh_suspension_in(state);
	return state < sizeof(text) / sizeof(*text) ? text[state] : "unknown";
}

void wh_tenant_await(const uint32_t *word, uint32_t value, unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000l };

	if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		syscall(SYS_futex, word, FUTEX_WAIT, value, ms ? &t : NULL, NULL, 0);
}

void wh_tenant_wake(const uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void wh_tenant_host_limit(struct wh_tenant_limits *l, uint64_t bytes)
{
	__atomic_store_n(&l->host_memory, bytes, __ATOMIC_RELEASE);
}

void wh_tenant_host_kept(struct wh_tenant_limits *l, uint64_t bytes)
{
	__atomic_store_n(&l->host_kept, bytes, __ATOMIC_RELEASE);
}

void wh_tenant_kernel_limit(struct wh_tenant_limits *l, uint64_t ns)
{
	__atomic_store_n(&l->max_kernel_ns, ns, __ATOMIC_RELEASE);
}

void wh_tenant_counters(struct wh_tenant_limits *l, bool allowed)
{
	__atomic_store_n(&l->counters, allowed, __ATOMIC_RELEASE);
}

/* The pid of an account that is being cleared: it is neither free nor anybody's. */
#define CLEARING	UINT32_MAX

int wh_tenant_account_take(struct wh_tenant_usage *u, uint32_t pid)
{
	struct wh_worker_usage *w;
	uint32_t nobody;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = &u->worker[i];
		nobody = 0;
		if (!__atomic_compare_exchange_n(&w->pid, &nobody, pid, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		w->generation++;
		w->started_ns = wh_wall_ns();
		return i;
	}
	return -1;
}

static void add_device(struct wh_device_usage *to, const struct wh_device_usage *from)
{
	to->refused += from->refused;
	to->gpu_ns += from->gpu_ns;
	to->gpu_beyond_ns += from->gpu_beyond_ns;
	to->throttled_ns += from->throttled_ns;
	to->launches += from->launches;
	to->gpu_ns_driver += from->gpu_ns_driver;
}

void wh_tenant_add_counters(struct wh_worker_usage *to, const struct wh_worker_usage *from)
{
	int d;

	to->calls += from->calls;
	to->waited += from->waited;
	to->posted += from->posted;
	to->bytes_to_device += from->bytes_to_device;
	to->bytes_from_device += from->bytes_from_device;
	to->host_refused += from->host_refused;
	to->paged_out_bytes += from->paged_out_bytes;
	to->paged_out_ns += from->paged_out_ns;
	to->paged_in_bytes += from->paged_in_bytes;
	to->paged_in_ns += from->paged_in_ns;
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		add_device(&to->device[d], &from->device[d]);
}

static void keep(struct wh_worker_usage *sum, const struct wh_worker_usage *w)
{
	struct wh_device_usage *to;
	const struct wh_device_usage *from;
	int d;

	wh_tenant_add_counters(sum, w);
	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		to = &sum->device[d];
		from = &w->device[d];
		if (to->memory_peak < from->memory_peak)
			to->memory_peak = from->memory_peak;
		if (to->context < from->context)
			to->context = from->context;
	}
}

/* A living worker looks after its work far more often, so an older time means no work any more. */
#define UNSEEN_NS	1000000000ull

void wh_tenant_charge_rest(struct wh_tenant_usage *u, struct wh_worker_usage *w, uint64_t now)
{
	uint64_t ticks, ns;
	int d;

	for (d = 0; d < WH_TENANT_DEVICES && w->tsc_per_us; d++) {
		ticks = now - w->device[d].busy_tsc;
		ns = ticks < UINT64_MAX / 1000 ? ticks * 1000 / w->tsc_per_us : UINT64_MAX;
		if (!w->device[d].busy_tsc || ns > UNSEEN_NS)
			continue;
		w->device[d].gpu_ns += ns;
		__atomic_fetch_sub(&u->bucket[d].tokens_ns, (int64_t)ns, __ATOMIC_RELAXED);
		__atomic_fetch_sub(&u->bucket[d].ceiling_ns, (int64_t)ns, __ATOMIC_RELAXED);
		__atomic_fetch_sub(&u->bucket[d].guarantee_ns, (int64_t)ns, __ATOMIC_RELAXED);
	}
}

void wh_tenant_account_clear(struct wh_tenant_usage *u, unsigned int account)
{
	struct wh_worker_usage *w;
	uint64_t generation;
	uint32_t pid;

	if (account >= WH_TENANT_WORKERS)
		return;
	w = &u->worker[account];
	/* The number is odd now: readers of living and ended workers wait. */
	__atomic_fetch_add(&u->ended.generation, 1, __ATOMIC_SEQ_CST);
	pid = __atomic_exchange_n(&w->pid, CLEARING, __ATOMIC_ACQ_REL);
	if (pid && pid != CLEARING) {
		wh_tenant_charge_rest(u, w, __builtin_ia32_rdtsc());
		keep(&u->ended, w);
		generation = w->generation;
		memset(&w->client_pid, 0,
		       sizeof(*w) - offsetof(struct wh_worker_usage, client_pid));
		w->generation = generation;
	}
	__atomic_store_n(&w->pid, 0, __ATOMIC_RELEASE);
	__atomic_fetch_add(&u->ended.generation, 1, __ATOMIC_SEQ_CST);
}

void wh_tenant_accounts_reap(struct wh_tenant_usage *u)
{
	uint32_t pid;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		pid = __atomic_load_n(&u->worker[i].pid, __ATOMIC_RELAXED);
		if (pid && (pid > INT32_MAX || (kill((pid_t)pid, 0) && errno == ESRCH)))
			wh_tenant_account_clear(u, i);
	}
}

/* --- What workers share with each other ------------------------------------------- */

static bool lives(const struct wh_worker_usage *w)
{
	uint32_t pid = __atomic_load_n(&w->pid, __ATOMIC_ACQUIRE);

	return pid && pid != CLEARING;
}

bool wh_shared_alive(const struct wh_tenant_usage *u, const struct wh_shared *e)
{
	const struct wh_worker_usage *w;

	if (e->owner >= WH_TENANT_WORKERS || __atomic_load_n(&e->gone, __ATOMIC_ACQUIRE))
		return false;
	w = &u->worker[e->owner];
	return lives(w) && __atomic_load_n(&w->generation, __ATOMIC_RELAXED) == e->generation;
}

uint64_t wh_tenant_living(const struct wh_tenant_usage *u)
{
	uint64_t bits = 0;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (lives(&u->worker[i]))
			bits |= 1ull << i;
	return bits;
}

uint64_t wh_tenant_orphans(const struct wh_tenant_usage *u, unsigned int device)
{
	uint32_t top = __atomic_load_n(&u->shared.top, __ATOMIC_ACQUIRE), i;
	const struct wh_shared *e = u->shared.entry;
	uint64_t sum = 0, openers, living = 0;

	for (i = 0; i < top && i < WH_TENANT_SHARED; i++, e++) {
		openers = __atomic_load_n(&e->openers, __ATOMIC_RELAXED);
		if (!openers || e->kind == WH_SHARED_EVENT || e->device != (int)device ||
		    wh_shared_alive(u, e))
			continue;
		living = living ? living : wh_tenant_living(u);
		if (openers & living && __builtin_add_overflow(sum, e->bytes, &sum))
			return UINT64_MAX;
	}
	return sum;
}

uint64_t wh_tenant_host_memory(const struct wh_tenant_usage *u)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (lives(&u->worker[i]) &&
		    __builtin_add_overflow(sum, __atomic_load_n(&u->worker[i].host_memory,
								__ATOMIC_RELAXED), &sum))
			return UINT64_MAX;
	return sum;
}

uint64_t wh_tenant_memory(const struct wh_tenant_usage *u, unsigned int device)
{
	const struct wh_worker_usage *w = u->worker;
	uint64_t sum = wh_tenant_orphans(u, device);
	int i;

	/* The sum saturates: a worker can write any number, but only for its own tenant. */
	for (i = 0; i < WH_TENANT_WORKERS; i++, w++)
		if (lives(w) &&
		    __builtin_add_overflow(sum, __atomic_load_n(&w->device[device].memory,
								__ATOMIC_RELAXED), &sum))
			return UINT64_MAX;
	return sum;
}

bool wh_uuid_of(const char *list, unsigned int n, char out[WH_UUID])
{
	size_t length;

	for (; list && *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		if (n--)
			continue;
		snprintf(out, WH_UUID, "%.*s", (int)length, list);
		return *out;
	}
	return false;
}
