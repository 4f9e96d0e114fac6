// SPDX-License-Identifier: GPL-2.0-only
/*
 * Short sequences of leaves and calls, guided by the kernel's own coverage: one
 * that reaches code of the series by a new edge is kept, and the next ones are
 * changed copies of those. Each begins without a pair, or with one that works,
 * and afterwards all pairs are killed. WH_SEED repeats a run (as far as threads
 * do), WH_LEAVES makes it longer, WH_GUIDE=0 takes the guide away, WH_PCS=1 says
 * what was reached. Needs VMFUNC and KCOV, with nothing but the series
 * instrumented.
 */
#include <fcntl.h>
#include <linux/kcov.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "wormhole.h"

#define LEAVES		4000
#define MAX_STEPS	16
#define MAX_KEPT	4096
#define REPORTS		8	/* in a run */
#define PAIRS		4	/* one sequence of so many begins with a pair, which is slow */
#define SET_SIZE	0x20000	/* PCs or edges; a power of 2 */

#define KCOV		"/sys/kernel/debug/kcov"
#define KCOV_WORDS	0x40000

/* Stands in a sequence for the handle of the pair that was made last. */
#define ANY_HANDLE	0x68616e646c65ULL
/* In place of a leaf: of CLIENT_USER, of CLIENT, and of HOST. */
enum { CALL = 1, TIMER, KILL_SERVER, KILL_CLIENT, DENY, ALLOW, ALLOW_IBPB, ALLOW_STRICT };

enum who { BOSS, BOSS_USER, WORKER, WORKER_USER, CLIENT, CLIENT_USER, HOST, ACTORS };

struct step {
	u32 who;
	u32 leaf;
	u64 arg[4];
};

struct sequence {
	bool pair;		/* begins with one */
	u32 turns;		/* so many changed copies of it were made */
	u32 n;
	struct step steps[MAX_STEPS];
};

struct set {
	u64 *keys;
	u32 n;
};

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static u64 random_state;
static bool guided;
static u64 *trace[3];		/* KCOV's buffer of each vCPU's thread */
static struct set pcs, edges;
static struct sequence *kept;
static u32 nkept;
static u64 leaves;
static u32 bad_pairs;

/* --- Guest side ------------------------------------------------------------- */

/* A sequence's next steps, for each vCPU of a VM. */
static struct step todo[2][MAX_STEPS];

/* In the worker; leaves the view as @a0 says. */
static s64 leaving_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 ret = 0;

	switch (a0 & 7) {
	case 0:
		ret = READ_ONCE(*(u64 *)(WH_LAZY_VA + a1 % WH_LAZY_PAGES * WH_PAGE));
		break;
	case 1:
		asm volatile("syscall" : "=a"(ret) : "0"(WH_SYS_ADD), "D"(a0), "S"(a1)
			     : "rcx", "r11", "memory");
		break;
	case 2:
		asm volatile("ud2" : "=a"(ret));
		break;
	case 3:
		asm volatile("out %%al, $0x80" : "=a"(ret) : "0"(0));
		break;
	default:
		for (ret = a1 & 0xffff; ret; ret--)
			asm volatile("pause");
	}
	return ret;
}

static void guest_delegate(const struct step *s)
{
	const struct wh_tramp_hdr *hdr = (void *)WH_TRAMPOLINE_VA;
	const void *entry = (void *)(WH_TRAMPOLINE_VA + hdr->delegate);

	((wh_delegate_fn)entry)((void *)WH_SLOT0_VA, s->arg[3] & 3, s->arg[0] & 3, s->arg[1],
				s->arg[2]);
}

static u64 guest_arg(u64 arg)
{
	return arg == ANY_HANDLE ? wh_known.handle : arg;
}

static void guest_leaf(const struct step *s)
{
	u64 rax = s->leaf, rbx, rcx = 0, rdx = guest_arg(s->arg[2]);
	u64 rdi = guest_arg(s->arg[0]), rsi = guest_arg(s->arg[1]), a3 = guest_arg(s->arg[3]);

	asm volatile("mov %[a3], %%r8; lea 1(%%rdi), %%r9; cpuid"
		     : "+a"(rax), "=b"(rbx), "+c"(rcx), "+d"(rdx)
		     : "D"(rdi), "S"(rsi), [a3] "r"(a3) : "r8", "r9", "memory");
	if (s->leaf == WH_LEAF_WORKER_REGISTER && !rax)
		wh_known.handle = rbx;
}

static u64 guest_steps(const struct step *s, u64 n)
{
	for (; n--; s++) {
		if (s->leaf == CALL)
			guest_delegate(s);
		else if (s->leaf == TIMER)
			wh_guest_timer(s->arg[0] & 0x3fffff);
		else if (s->leaf == WH_LEAF_TAKE)
			wh_guest_park(WH_ANY_PAIR, s->arg[0]);
		else
			guest_leaf(s);
	}
	return 0;
}

/* --- Coverage ----------------------------------------------------------------- */

static u64 **trace_of(struct wh_vcpu *vcpu)
{
	return &trace[vcpu->vm == &client.vm ? 2 : vcpu->id];
}

/* KCOV records what the thread does that switches it on. */
static void cover_thread(struct wh_vcpu *vcpu)
{
	int fd = open(KCOV, O_RDWR | O_CLOEXEC);
	u64 *area;

	if (fd < 0 || ioctl(fd, KCOV_INIT_TRACE, KCOV_WORDS))
		wh_die(KCOV);
	area = mmap(NULL, KCOV_WORDS * sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC))
		wh_die(KCOV);
	*trace_of(vcpu) = area;
}

static void set_create(struct set *set)
{
	set->keys = calloc(SET_SIZE, sizeof(*set->keys));
	if (!set->keys)
		wh_die("calloc");
}

/* True if @key is new. A set that is nearly full takes no more. */
static bool set_add(struct set *set, u64 key)
{
	u64 i = key * 0x9e3779b97f4a7c15ULL >> 40;

	for (;; i++) {
		u64 *p = &set->keys[i & (SET_SIZE - 1)];

		if (*p == key)
			return false;
		if (*p)
			continue;
		if (set->n == SET_SIZE / 4 * 3)
			return false;
		*p = key;
		set->n++;
		return true;
	}
}

static void forget_traces(void)
{
	u32 i;

	for (i = 0; i < WH_ARRAY_SIZE(trace); i++)
		if (trace[i])
			__atomic_store_n(trace[i], 0, __ATOMIC_RELAXED);
}

/* Whether a thread came to a PC from another one than ever before. */
static bool new_edges(void)
{
	bool found = false;
	u64 i, k, n, last;

	for (i = 0; i < WH_ARRAY_SIZE(trace); i++) {
		n = trace[i] ? __atomic_load_n(trace[i], __ATOMIC_RELAXED) : 0;
		for (k = 1, last = 0; k <= n; last = trace[i][k++]) {
			set_add(&pcs, trace[i][k]);
			found |= set_add(&edges, trace[i][k] ^ last << 20);
		}
	}
	return found;
}

/* --- Running a sequence --------------------------------------------------------- */

static void ask_the_host(const struct step *s, u32 n)
{
	for (; n--; s++) {
		switch (s->leaf) {
		case KILL_SERVER:
			wh_kill(1);
			break;
		case KILL_CLIENT:
			wh_kill(2);
			break;
		case DENY:
			wh_deny(2);
			break;
		case ALLOW:
			wh_allow(2, 1, 0, 1);
			break;
		case ALLOW_IBPB:
			wh_allow_barrier(2, 1, 1, WH_ALLOW_IBPB);
			break;
		case ALLOW_STRICT:
			wh_allow_barrier(2, 1, 1, WH_ALLOW_STRICT);
			break;
		}
	}
}

static bool is_parked(void)
{
	struct wh_host_stat st;

	return !wh_stat(1, &st) && st.parked;
}

/* RELEASE leaves the threads alone: a kernel ends them, here they end themselves. */
static void end_who_is_released(void)
{
	if (worker.vcpu->running && !is_parked())
		wh_wake_worker(&worker);
}

static bool parked_or_ended(void)
{
	end_who_is_released();
	return wh_poll(!worker.vcpu->running || is_parked(), 5000);
}

static void end_notifications(u64 pair)
{
	while (wh_leaf(srv.boss, &srv.kernel, 0, WH_LEAF_NOTIFY, pair, 0, 0, WH_NOTIFY_END).rax ==
	       WH_OK)
		;
}

/*
 * A call may wait for what the server's kernel does: it ends each notification that it has begun,
 * and releases the pair of a worker that has ended.
 */
static bool client_ends(void)
{
	u64 pair = G(&srv.vm, wh_known).handle;

	if (!wh_poll(!client.vcpu->running, 1000)) {
		end_notifications(worker.pair);
		end_notifications(pair);
		if (!worker.vcpu->running)
			wh_leaf(srv.boss, &srv.kernel, 0, WH_LEAF_RELEASE, pair, 0, 0, 0);
	}
	return wh_ends_well(client.vcpu);
}

/* Steps of one actor. A worker that is parked takes no others. */
static bool run_steps(const struct step *s, u32 n)
{
	const struct {
		struct wh_vcpu *vcpu;
		struct wh_as *as;
	} actors[ACTORS] = {
		[BOSS] = { srv.boss, &srv.kernel },
		[BOSS_USER] = { srv.boss, &srv.kernel },
		[WORKER] = { worker.vcpu, &worker.as },
		[WORKER_USER] = { worker.vcpu, &worker.as },
		[CLIENT] = { client.vcpu, &client.as },
		[CLIENT_USER] = { client.vcpu, &client.as },
	};
	struct wh_vcpu *vcpu = actors[s->who].vcpu;
	struct step *copy = todo[vcpu->id];
	int cpl = s->who & 1 ? 3 : 0;

	if (vcpu->started) {
		if (!parked_or_ended())
			return false;
		if (vcpu->running)
			return true;
		if (!wh_ends_well(vcpu))
			return false;
	}
	leaves += n;
	memcpy(wh_gpa(vcpu->vm, (uintptr_t)copy), s, n * sizeof(*s));
	wh_start(vcpu, actors[s->who].as, cpl, guest_steps, (uintptr_t)copy, n, 0, 0);
	if (s->who == WORKER_USER)
		return parked_or_ended();
	return vcpu == client.vcpu ? client_ends() : wh_ends_well(vcpu);
}

static void prepare(const struct sequence *q)
{
	wh_allow(2, 1, 0, 1);
	if (q->pair)
		bad_pairs += !wh_next_pair_works(&worker, &client);
	G(&srv.vm, wh_known).handle = worker.pair;
	forget_traces();
}

/* Whether all came back; @found: whether there was anything new. */
static bool run_sequence(const struct sequence *q, bool *found)
{
	bool good = true;
	u32 i, n;

	prepare(q);
	for (i = 0; i < q->n && good; i += n) {
		for (n = 1; i + n < q->n && q->steps[i + n].who == q->steps[i].who; )
			n++;
		if (q->steps[i].who == HOST)
			ask_the_host(&q->steps[i], n);
		else
			good = run_steps(&q->steps[i], n);
	}
	wh_kill(1);
	end_who_is_released();
	if (worker.vcpu->started)
		good &= wh_ends_well(worker.vcpu);
	*found = new_edges();
	return good;
}

/* --- Making sequences ------------------------------------------------------------- */

static u32 below(u32 n)
{
	return (wh_next(&random_state) >> 16) % n;
}

/* What each leaf is for, as the one who may. */
static struct step right_step(void)
{
	const struct step steps[] = {
		{ BOSS, WH_LEAF_SERVER_REGISTER, { WH_ABI_VERSION, wh_known.tramp_gpa } },
		{ WORKER, WH_LEAF_WORKER_REGISTER, { 0, 0, WH_PART_SIZE, wh_known.seq_gpa } },
		{ WORKER, WH_LEAF_SLOT_REGISTER, { ANY_HANDLE } },
		{ WORKER_USER, WH_LEAF_TAKE, { 0 } },
		{ CLIENT_USER, WH_LEAF_ATTACH, { WH_ABI_VERSION, wh_known.checksum } },
		{ CLIENT_USER, CALL, { 1, below(8), below(0x10000), 1 } },
		{ CLIENT, TIMER, { below(0x400000) } },
		{ BOSS, WH_LEAF_NOTIFY, { ANY_HANDLE, 0, WH_LAZY_VA + WH_PAGE, below(2) } },
		{ CLIENT_USER, WH_LEAF_CONTINUE, { 1 } },
		{ CLIENT_USER, WH_LEAF_CANCEL, { 1 } },
		{ CLIENT_USER, WH_LEAF_DETACH, { 1 } },
		{ BOSS, WH_LEAF_RELEASE, { ANY_HANDLE } },
		{ HOST, KILL_SERVER + below(6), { 0 } },
	};

	return steps[below(WH_ARRAY_SIZE(steps))];
}

/* Who alone may do this: TAKE goes on to the end, and the small ones are no leaves. */
static u32 only_for(u32 leaf)
{
	switch (leaf) {
	case CALL:
		return CLIENT_USER;
	case TIMER:
		return CLIENT;
	case WH_LEAF_TAKE:
		return WORKER_USER;
	default:
		return leaf <= ALLOW_STRICT ? HOST : ACTORS;
	}
}

/* Mostly right, but for this or that. */
static struct step any_step(void)
{
	struct step s = right_step();
	u32 i;

	for (i = 0; i < WH_ARRAY_SIZE(s.arg); i++)
		if (!below(4))
			s.arg[i] = wh_any_argument(&random_state);
	if (!below(8) && s.who != HOST)
		s.leaf = wh_any_leaf(&random_state);
	if (!below(8) && s.who != HOST)
		s.who = below(HOST);
	if (only_for(s.leaf) != s.who && only_for(s.leaf) != ACTORS)
		s.leaf = WH_LEAF_VERSION;
	return s;
}

static void any_sequence(struct sequence *q)
{
	q->pair = !below(PAIRS);
	for (q->n = 0; q->n < MAX_STEPS / 2; q->n++)
		q->steps[q->n] = any_step();
}

static void drop(struct sequence *q, u32 i)
{
	if (q->n > 1)
		memmove(&q->steps[i], &q->steps[i + 1], (--q->n - i) * sizeof(q->steps[0]));
}

/* Mostly at the end, where all that was reached before still is. */
static void insert(struct sequence *q, struct step s)
{
	u32 i;

	if (q->n == MAX_STEPS)
		drop(q, below(q->n));
	i = below(2) ? q->n : below(q->n);
	memmove(&q->steps[i + 1], &q->steps[i], (q->n++ - i) * sizeof(s));
	q->steps[i] = s;
}

/* The beginning of one, the end of another. */
static void cross(struct sequence *q, const struct sequence *tail)
{
	u32 at = below(q->n) + 1, from = below(tail->n);

	for (q->n = at; q->n < MAX_STEPS && from < tail->n; )
		q->steps[q->n++] = tail->steps[from++];
}

static void mutate(struct sequence *q)
{
	u32 i = below(q->n);

	switch (below(8)) {
	case 0:
	case 1:
		insert(q, any_step());
		break;
	case 2:
		insert(q, q->steps[i]);
		break;
	case 3:
		drop(q, i);
		break;
	case 4:
		q->steps[i] = any_step();
		break;
	case 5:
		cross(q, &kept[below(nkept)]);
		break;
	case 6:
		q->pair ^= !below(PAIRS);
		break;
	default:
		q->steps[i].arg[below(4)] = wh_any_argument(&random_state);
	}
}

static void keep(const struct sequence *q)
{
	kept[nkept] = *q;
	kept[nkept++].turns = 0;
}

/* The one that had the fewest turns, or any. */
static struct sequence *parent(void)
{
	struct sequence *q = &kept[below(nkept)];
	u32 i;

	for (i = below(2) ? nkept : 0; i < nkept; i++)
		if (kept[i].turns < q->turns)
			q = &kept[i];
	q->turns++;
	return q;
}

static void next_sequence(struct sequence *q)
{
	u32 n;

	if (!guided || !nkept || !below(8)) {
		any_sequence(q);
		return;
	}
	*q = *parent();
	for (n = 1 + below(3); n; n--)
		mutate(q);
}

/* --- The test --------------------------------------------------------------------- */

static void say_how_far(u32 sequences)
{
	wh_diag("%llu leaves, %u PCs, %u edges of the series, %u of %u sequences kept",
		(unsigned long long)leaves, pcs.n, edges.n, nkept, sequences);
}

static void say_sequence(const struct sequence *q)
{
	const struct step *s;

	wh_diag("with%s a pair:", q->pair ? "" : "out");
	for (s = q->steps; s < q->steps + q->n; s++)
		wh_diag("{ %u, 0x%x, { 0x%llx, 0x%llx, 0x%llx, 0x%llx } },", s->who, s->leaf,
			(unsigned long long)s->arg[0], (unsigned long long)s->arg[1],
			(unsigned long long)s->arg[2], (unsigned long long)s->arg[3]);
}

static void say_pcs(void)
{
	u32 i;

	for (i = 0; i < SET_SIZE; i++)
		if (pcs.keys[i])
			wh_diag("pc 0x%llx", (unsigned long long)pcs.keys[i]);
}

static void create(void)
{
	static const wh_handler_fn handlers[] = { wh_add_handler, leaving_handler };

	wh_server_create(&srv, 1);
	srv.boss->on_thread = cover_thread;
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	worker.vcpu->on_thread = cover_thread;
	wh_client_create(&client, 2, &srv, 0);
	client.vcpu->on_thread = cover_thread;
	/* Here stays what a sequence says; the guests know what it stands for. */
	wh_known_set(&worker);
	wh_known.handle = ANY_HANDLE;
	set_create(&pcs);
	set_create(&edges);
	kept = calloc(MAX_KEPT, sizeof(*kept));
	if (!kept)
		wh_die("calloc");
}

int main(void)
{
	u64 limit = wh_env("WH_LEAVES", LEAVES), report = 0;
	u32 sequences = 0, came_back = 0;
	struct sequence q;
	bool found;

	wh_require_feature();
	if (access(KCOV, R_OK | W_OK))
		wh_skip_all("no " KCOV " (CONFIG_KCOV)");
	wh_plan(3);
	wh_watchdog(120 + limit / 50);
	random_state = wh_seed();
	guided = wh_env("WH_GUIDE", 1);
	create();
	while (leaves < limit && came_back == sequences) {
		next_sequence(&q);
		sequences++;
		came_back += run_sequence(&q, &found);
		if (found && nkept < MAX_KEPT)
			keep(&q);
		if (leaves < report)
			continue;
		say_how_far(sequences);
		report += limit / REPORTS;
	}
	say_how_far(sequences);
	if (came_back < sequences)
		say_sequence(&q);
	if (wh_env("WH_PCS", 0))
		say_pcs();
	wh_eq(came_back, sequences, "vcpus_come_back");
	wh_ok(!bad_pairs && wh_next_pair_works(&worker, &client), "and_the_next_pair_works");
	wh_ok(pcs.n && nkept, "the_guide_sees_the_series");
	return wh_exit();
}
