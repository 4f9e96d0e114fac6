// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what a worker does with handles that clients bring
 * (server/limits/ipc.c). It has sessions of two tenants and of none over a driver that
 * writes down what it is asked to open, under the sanitizers. It also promises that
 * workers which are killed at any moment leave a table with which others go on.
 */
#define _GNU_SOURCE
#include "session_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "limits/join.h"
#include "tenant/tenant.h"

#define REAL	0xee		/* each byte of the driver's handles but the address */
#define HANDLES	WH_TENANT_SHARED
#define SIZE	(1u << 22)	/* of each allocation */

struct tenant {
	struct wh_tenant_usage *usage;
	int limits, usage_fd;
};

static uint64_t allocated = 1ull << 32;
static int opened;		/* calls that reached the driver's opening */
static bool die_opening;
static bool elsewhere;		/* opens at another address */
static CUipcMemHandle last;

/* --- The driver ------------------------------------------------------------------- */

static CUresult my_alloc(CUdeviceptr *p, size_t n)
{
	(void)n;
	*p = allocated += SIZE;
	return CUDA_SUCCESS;
}

static CUresult my_free(CUdeviceptr p)
{
	(void)p;
	return CUDA_SUCCESS;
}

static CUresult my_range(CUdeviceptr *base, size_t *size, CUdeviceptr p)
{
	*base = p & ~0x3fffffull;
	*size = SIZE;
	return CUDA_SUCCESS;
}

static CUresult my_get(CUipcMemHandle *h, CUdeviceptr p)
{
	if (!h)
		return CUDA_ERROR_INVALID_VALUE;
	memset(h, REAL, sizeof(*h));
	memcpy(h, &p, sizeof(p));
	return CUDA_SUCCESS;
}

static CUresult my_open(CUdeviceptr *p, CUipcMemHandle h, unsigned int flags)
{
	(void)flags;
	opened++;
	last = h;
	if (die_opening)
		kill(getpid(), SIGKILL);
	memcpy(p, &h, sizeof(*p));
	*p += elsewhere ? 1ull << 45 : 1ull << 44;
	return CUDA_SUCCESS;
}

static CUresult my_close(CUdeviceptr p)
{
	(void)p;
	return CUDA_SUCCESS;
}

/* --- Tenants and sessions ----------------------------------------------------------- */

static int file(void **map, size_t size)
{
	int fd = memfd_create("tenant", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, size))
		exit(1);
	*map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return fd;
}

static struct tenant make_tenant(uint64_t id)
{
	struct wh_tenant_limits *limits;
	struct tenant t;

	t.limits = file((void **)&limits, sizeof(*limits));
	t.usage_fd = file((void **)&t.usage, sizeof(*t.usage));
	wh_tenant_limits_init(limits, "t", id);
	wh_tenant_usage_init(t.usage, id);
	return t;
}

static struct wh_session *join(const char *argv0, const struct tenant *t)
{
	struct wh_tenant_files f = { .limits = t ? t->limits : -1, .usage = t ? t->usage_fd : -1,
				     .seats = -1, .seat = -1, .trace = -1, .account = -1 };
	struct wh_session *s = open_session(argv0);
	char err[200];

	if (t && wh_session_set_tenant(s, &f, err, sizeof(err))) {
		printf("Bail out! %s\n", err);
		exit(1);
	}
	s->drv.cuMemAlloc_v2 = my_alloc;
	s->drv.cuMemFree_v2 = my_free;
	s->drv.cuMemGetAddressRange_v2 = my_range;
	s->drv.cuIpcGetMemHandle = my_get;
	s->drv.cuIpcOpenMemHandle_v2 = my_open;
	s->drv.cuIpcCloseMemHandle = my_close;
	say_hello(s);
	return s;
}

/* --- Requests ------------------------------------------------------------------------ */

static uint64_t alloc(struct wh_session *s)
{
	struct wh_req_cuMemAlloc_v2 *q = request(s, WH_CALL_cuMemAlloc_v2, sizeof(*q));

	q->bytesize = SIZE;
	send(s, sizeof(*q));
	return ((const struct wh_rsp_cuMemAlloc_v2 *)rsp(s))->dptr;
}

static void release(struct wh_session *s, uint64_t p)
{
	struct wh_req_cuMemFree_v2 *q = request(s, WH_CALL_cuMemFree_v2, sizeof(*q));

	q->dptr = p;
	send(s, sizeof(*q));
}

static CUresult get(struct wh_session *s, uint64_t p, uint32_t null, CUipcMemHandle *h)
{
	struct wh_req_cuIpcGetMemHandle *q = request(s, WH_CALL_cuIpcGetMemHandle, sizeof(*q));
	const struct wh_rsp_cuIpcGetMemHandle *r = (const void *)rsp(s);

	q->dptr = p;
	q->hdr.null = null;
	send(s, sizeof(*q));
	memcpy(h, &r->pHandle, sizeof(*h));
	return r->hdr.result;
}

static CUresult open_null(struct wh_session *s, const CUipcMemHandle *h, uint32_t null, uint64_t *p)
{
	struct wh_req_cuIpcOpenMemHandle_v2 *q = request(s, WH_CALL_cuIpcOpenMemHandle_v2,
							  sizeof(*q));
	const struct wh_rsp_cuIpcOpenMemHandle_v2 *r = (const void *)rsp(s);

	q->handle = *h;
	q->Flags = 1;
	q->hdr.null = null;
	send(s, sizeof(*q));
	*p = r->pdptr;
	return r->hdr.result;
}

static CUresult open_handle(struct wh_session *s, const CUipcMemHandle *h, uint64_t *p)
{
	return open_null(s, h, 0, p);
}

static CUresult close_memory(struct wh_session *s, uint64_t p)
{
	struct wh_req_cuIpcCloseMemHandle *q = request(s, WH_CALL_cuIpcCloseMemHandle, sizeof(*q));

	q->dptr = p;
	send(s, sizeof(*q));
	return rsp(s)->result;
}

/* --- Points -------------------------------------------------------------------------- */

static int names_real(const CUipcMemHandle *h)
{
	size_t i;

	for (i = 0; i < sizeof(*h); i++)
		if ((uint8_t)h->reserved[i] == REAL)
			return memmem(h, sizeof(*h), "\xee\xee\xee\xee", 4) != NULL;
	return 0;
}

static void test_handles(struct wh_session *a, struct wh_session *b, struct wh_session *other)
{
	uint64_t mine = alloc(a), p = 0;
	CUipcMemHandle h, bad, unused;
	int i, found = 0;

	ok_eq(get(a, mine, 0, &h), 0, "worker_makes_a_handle");
	ok(!names_real(&h), "drivers_handle_stays_in_the_worker");
	ok_eq(get(a, mine, 1, &unused), CUDA_ERROR_INVALID_VALUE, "no_place_for_it_is_an_error");
	ok_eq(open_handle(b, &h, &p), 0, "worker_of_the_tenant_opens_it");
	ok(opened == 1 && !memcmp(&last, &mine, sizeof(mine)) && (uint8_t)last.reserved[63] == REAL,
	   "by_the_drivers_handle");
	ok_eq(open_null(b, &h, 1, &p), CUDA_ERROR_INVALID_VALUE, "no_place_for_the_address_is_an_error");
	ok_eq(open_handle(other, &h, &p), CUDA_ERROR_INVALID_HANDLE, "worker_of_another_tenant_does_not");
	for (i = 0; i < 512; i++) {
		bad = h;
		bad.reserved[i / 8] ^= 1 << i % 8;
		found += !open_handle(b, &bad, &p);
	}
	ok_eq(found, 0, "no_single_bit_can_differ");
	my_get(&bad, mine);
	ok_eq(open_handle(b, &bad, &p), CUDA_ERROR_INVALID_VALUE, "drivers_own_handle_is_none");
	ok_eq(opened, 1, "nothing_else_reached_the_driver");
	release(a, mine);
	ok_eq(open_handle(b, &h, &p), 0, "freed_memory_is_opened_again_by_who_has_it_open");
	ok_eq(close_memory(b, p) | close_memory(b, p), 0, "it_is_closed_as_often");
	ok_eq(open_handle(b, &h, &p), CUDA_ERROR_INVALID_HANDLE, "then_it_is_gone");
}

static void test_no_tenant(const char *argv0)
{
	struct wh_session *s = join(argv0, NULL);
	CUipcMemHandle h;
	uint64_t p;

	ok_eq(get(s, 1 << 22, 0, &h), CUDA_ERROR_NOT_SUPPORTED, "without_a_tenant_there_is_no_handle");
	memset(&h, 0, sizeof(h));
	ok_eq(open_handle(s, &h, &p), CUDA_ERROR_NOT_SUPPORTED, "nor_is_one_opened");
	s->one_process = true;
	ok(!get(s, 1 << 22, 0, &h) && names_real(&h), "in_the_clients_process_it_is_the_drivers");
	wh_session_close(s);
}

/* The table is locked while the driver opens. */
static void test_death_inside(const char *argv0, const struct tenant *t, struct wh_session *a,
			      struct wh_session *b)
{
	uint64_t mine = alloc(a), p;
	CUipcMemHandle h;
	int status = 0;
	pid_t pid;

	get(a, mine, 0, &h);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		die_opening = true;
		open_handle(join(argv0, t), &h, &p);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status), "worker_is_killed_while_it_opens");
	alarm(20);
	ok_eq(open_handle(b, &h, &p), 0, "the_next_one_gets_the_lock");
	alarm(0);
	close_memory(b, p);
	release(a, mine);
}

static struct wh_shared *entry_of(const struct tenant *t, uint64_t address)
{
	uint32_t i;

	for (i = 0; i < t->usage->shared.top; i++)
		if (t->usage->shared.entry[i].key == address)
			return &t->usage->shared.entry[i];
	exit(1);
}

/*
 * Memory that its owner has freed is taken out of the driver's figure of who has it open, because
 * the tenant is charged for it.
 */
static void test_orphans(const struct tenant *t, struct wh_session *a, struct wh_session *b)
{
	uint64_t mine = alloc(a), p, q;
	struct wh_shared *e;
	CUipcMemHandle h;

	get(a, mine, 0, &h);
	e = entry_of(t, mine);
	e->device = 0;
	ok(!open_handle(b, &h, &p), "memory_is_opened");
	elsewhere = true;
	ok(!open_handle(b, &h, &q) && p != q, "and_once_more_at_another_address");
	elsewhere = false;
	ok_eq(wh_ipc_orphans(b, 0), 0, "it_belongs_to_its_owner");
	release(a, mine);
	ok_eq(wh_tenant_orphans(t->usage, 0), SIZE, "then_to_the_tenant");
	ok_eq(wh_ipc_orphans(b, 0), SIZE, "and_is_in_the_figure_of_who_has_it_open_once");
	e->openers |= 1ull << (a->limits.account - a->limits.usage->worker);
	ok_eq(wh_ipc_orphans(b, 0), 0, "perhaps_in_anothers_who_has_it_open_too");
	e->openers = 1ull << (b->limits.account - b->limits.usage->worker);
	e->kind = WH_SHARED_ALLOCATION;
	ok(wh_tenant_orphans(t->usage, 0) == SIZE && !wh_ipc_orphans(b, 0),
	   "what_cuMemCreate_made_is_in_no_figure");
	e->kind = WH_SHARED_MEMORY;
	close_memory(b, p);
	close_memory(b, q);
	ok_eq(wh_tenant_orphans(t->usage, 0), 0, "nobody_pays_for_what_is_closed");
}

/* --- Workers that are killed ------------------------------------------------------------- */

/* Exports, opens what others export, and frees, in an order of its own, until it is killed. */
static void hammer(struct wh_session *s, CUipcMemHandle *board, unsigned int seed)
{
	uint64_t mine[8] = { 0 }, theirs[8] = { 0 };
	CUipcMemHandle h;
	unsigned int i;

	allocated += (uint64_t)seed << 36;
	for (;;) {
		i = rand_r(&seed) % 8;
		if (mine[i]) {
			release(s, mine[i]);
			mine[i] = 0;
		} else {
			mine[i] = alloc(s);
			if (!get(s, mine[i], 0, &h))
				board[rand_r(&seed) % 64] = h;
		}
		if (theirs[i])
			close_memory(s, theirs[i]);
		theirs[i] = 0;
		h = board[rand_r(&seed) % 64];
		if (open_handle(s, &h, &theirs[i]))
			theirs[i] = 0;
	}
}

static void test_kills(const char *argv0, const struct tenant *t)
{
	CUipcMemHandle *board = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0), h[HANDLES];
	struct wh_session *s;
	struct timespec nap = { 0 };
	pid_t pid[6] = { 0 };
	uint64_t p;
	int i, n;

	for (n = 0; n < 60; n++) {
		i = n % 6;
		if (pid[i]) {
			kill(pid[i], SIGKILL);
			waitpid(pid[i], NULL, 0);
		}
		fflush(stdout);
		pid[i] = fork();
		if (!pid[i])
			hammer(join(argv0, t), board, 100 + n);
		/* The moment differs each time; nothing depends on which it is. */
		nap.tv_nsec = 3000000 + n * 37000;
		nanosleep(&nap, NULL);
	}
	for (i = 0; i < 6; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	s = join(argv0, t);
	for (i = 0; i < HANDLES; i++)
		if (get(s, alloc(s), 0, &h[i]))
			break;
	ok_eq(i, HANDLES, "workers_killed_at_any_moment_leave_room_in_the_table");
	for (i = n = 0; i < 64; i++)
		n += !open_handle(s, &board[i], &p);
	ok_eq(n, 0, "and_nothing_that_can_be_opened");
	ok_eq(wh_tenant_orphans(t->usage, 0), 0, "and_nothing_to_pay_for");
	wh_session_close(s);
}

/* --- A worker that writes what it likes into the table ---------------------------------- */

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed ^ *seed >> 29;
}

/* Makes a random entry, or a possible entry with a random word or two. */
static void forge(struct wh_shared *e, uint64_t *seed)
{
	uint64_t *word = (uint64_t *)e;
	size_t i;

	for (i = 0; i < sizeof(*e) / sizeof(*word); i++)
		word[i] = next_random(seed);
	if (next_random(seed) % 2)
		return;
	e->kind = WH_SHARED_MEMORY + next_random(seed) % 3;
	e->device = 0;
	e->owner = next_random(seed) % 4 ? next_random(seed) % 2 : 255;
	e->generation = next_random(seed) % 3;
	e->gone = next_random(seed) % 2;
}

/* Returns the handle that a client would bring which has it from the forger. */
static CUipcMemHandle handle_of(const struct wh_shared *e)
{
	uint64_t word[8] = { 0x434c4f4857ull | (uint64_t)e->kind << 56, e->id[0], e->id[1] };
	CUipcMemHandle h;

	memcpy(&h, word, sizeof(h));
	return h;
}

static void use_forged(struct wh_session *s, const struct tenant *t, uint64_t *seed)
{
	const struct wh_shared *e = &t->usage->shared.entry[next_random(seed) % WH_TENANT_SHARED];
	CUipcMemHandle h = handle_of(e), mine_h;
	CUmemGenericAllocationHandle imported;
	uint64_t mine = alloc(s), p = 0;
	CUresult res;

	get(s, mine, 0, &mine_h);
	if (!open_handle(s, &h, &p))
		close_memory(s, p);
	wh_ipc_import(s, &imported, &h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, &res);
	wh_ipc_orphans(s, 0);
	wh_tenant_orphans(t->usage, 0);
	release(s, mine);
}

static void test_forged(const char *argv0)
{
	struct tenant t = make_tenant(3);
	struct wh_session *a = join(argv0, &t), *b = join(argv0, &t);
	uint64_t seed = 1, mine, p;
	CUipcMemHandle h;
	int n, i;

	for (n = 0; n < 60; n++) {
		for (i = 0; i < WH_TENANT_SHARED; i++)
			forge(&t.usage->shared.entry[i], &seed);
		t.usage->shared.top = n % 2 ? WH_TENANT_SHARED : (uint32_t)next_random(&seed);
		use_forged(n % 3 ? a : b, &t, &seed);
	}
	ok(true, "table_at_random_does_no_harm");
	wh_session_close(a);
	wh_session_close(b);
	wh_tenant_usage_restart(t.usage, 3);
	a = join(argv0, &t);
	b = join(argv0, &t);
	mine = alloc(a);
	ok(!get(a, mine, 0, &h) && !open_handle(b, &h, &p), "and_is_gone_with_the_last_worker");
	ok_eq(wh_tenant_orphans(t.usage, 0), 0, "with_all_that_it_would_have_cost");
	wh_session_close(a);
	wh_session_close(b);
}

int main(int argc, char **argv)
{
	struct tenant one = make_tenant(1), two = make_tenant(2);
	struct wh_session *a = join(argv[0], &one), *b = join(argv[0], &one);
	struct wh_session *other = join(argv[0], &two);

	(void)argc;
	tap_plan(32);
	test_handles(a, b, other);
	test_orphans(&one, a, b);
	test_death_inside(argv[0], &one, a, b);
	test_no_tenant(argv[0]);
	test_kills(argv[0], &two);
	test_forged(argv[0]);
	wh_session_close(a);
	wh_session_close(b);
	wh_session_close(other);
	return tap_exit();
}
