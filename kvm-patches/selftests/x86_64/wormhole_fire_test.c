// SPDX-License-Identifier: GPL-2.0-only
/*
 * Under fire: calls from processes that are VMMs, while client processes,
 * workers, client VMMs and server VMMs are killed at points that chance
 * chooses, single and together, and the host takes a CPU away, merges,
 * compacts, discards and logs the memory of the server. Everyone else's calls
 * are right meanwhile, and nothing is left of the dead. WH_SEED repeats the
 * choices, WH_KILLS and WH_CALLS make it longer. Needs VMFUNC.
 */
#include <errno.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "wormhole.h"

#define KILLS		10
#define BATCH		32
#define SPARE_PAGES	32	/* of the server, mapped by nobody: the balloon */
#define WAIT_MS		20000
#define CPU1_ONLINE	"/sys/devices/system/cpu/cpu1/online"
#define KSM_RUN		"/sys/kernel/mm/ksm/run"
#define COMPACT		"/proc/sys/vm/compact_memory"

/*
 * Two servers, each a process: the first is in the line of fire. Its clients,
 * each a process too: a victim and a bystander. The second server's is out of it.
 */
enum { S_VICTIM, S_OTHER, SERVERS };
enum { C_VICTIM, C_NEIGHBOUR, C_OTHER, CLIENTS };

static const struct {
	u64 id, server_id;
	int server;
	u32 part;
} clients[CLIENTS] = {
	[C_VICTIM]	= { 2, 1, S_VICTIM, 0 },
	[C_NEIGHBOUR]	= { 3, 1, S_VICTIM, 1 },
	[C_OTHER]	= { 5, 4, S_OTHER, 0 },
};

static const u64 server_ids[SERVERS] = { 1, 4 };

/* Shared by all processes; who waits for a word calls functions meanwhile. */
struct board {
	u64 calls[CLIENTS];	/* right ones so far */
	u64 wrong[CLIENTS];
	u64 gone[CLIENTS];	/* calls that failed since their pair ended */
	u64 vanish;		/* the victim's process: end in the middle of a call */
	u64 vanished;
	u64 release;		/* the server's kernel: worker of this part + 1 dies */
	u64 ready[SERVERS];
};

static struct board *board;
static struct wh_window windows[SERVERS];
static pid_t server_pids[SERVERS], client_pids[CLIENTS];
static u64 random_state;

static u64 chance(u64 n) { return wh_next(&random_state) % n; }

/* --- Handlers -------------------------------------------------------------- */

static s64 store_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 *word = (u64 *)WH_DATA_VA;

	WRITE_ONCE(word[8], a0);
	WRITE_ONCE(word[9], a1);
	return READ_ONCE(word[8]) + READ_ONCE(word[9]);
}

/* Leaves the view by an exit: the leaf is refused there. */
static s64 exit_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u32 eax = WH_LEAF_VERSION, ecx = 0;

	asm volatile("cpuid" : "+a"(eax), "+c"(ecx) :: "ebx", "edx", "memory");
	return a0 + a1;
}

/* Touches a page that the server maps late, or for the first time. */
static s64 lazy_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 *word = (u64 *)(WH_LAZY_VA + a1 % WH_LAZY_PAGES * WH_PAGE);

	WRITE_ONCE(*word, a0);
	return READ_ONCE(*word) + a1;
}

static const wh_handler_fn handlers[] = {
	wh_add_handler, wh_sys_add_handler, store_handler, exit_handler, lazy_handler,
};

/* --- A server's process ---------------------------------------------------- */

static struct wh_server srv;
static struct wh_worker workers[2];

static void map_lazy_pages(struct wh_worker *w)
{
	u64 i;

	for (i = 0; i < WH_LAZY_PAGES; i++)
		wh_map(&w->as, WH_LAZY_VA + i * WH_PAGE, w->lazy_gpa + i * WH_PAGE,
		       WH_USER_RW);
}

/* What a server's kernel does when a worker has died: release, start another. */
static void replace_dead_worker(struct wh_worker *w)
{
	if (!w->vcpu->started || w->vcpu->running)
		return;
	wh_release(w);
	wh_worker_renew(w);
	wh_worker_begin(w);
}

static void log_dirty_pages(bool on)
{
	static u8 bitmap[WH_RAM_SIZE / WH_PAGE / 8];
	struct kvm_dirty_log log = { .slot = 0 };

	log.dirty_bitmap = bitmap;
	if (on && ioctl(srv.vm.fd, KVM_GET_DIRTY_LOG, &log) && errno != ENOENT)
		wh_die("KVM_GET_DIRTY_LOG");
	wh_set_memslot(&srv.vm, 0, on ? KVM_MEM_LOG_DIRTY_PAGES : 0, 0, WH_RAM_SIZE, srv.vm.mem);
}

/* Pages that no worker maps go, and come back as zeroes. */
static void inflate(u8 *spare)
{
	if (madvise(spare, SPARE_PAGES * WH_PAGE, MADV_DONTNEED))
		wh_die("MADV_DONTNEED");
	memset(spare, 1, WH_PAGE);
}

static void server_process(int s, u64 seed)
{
	u64 i, x = seed | 1, n;
	u8 *spare;

	memset(&srv, 0, sizeof(srv));
	wh_server_create_as(&srv, server_ids[s], WH_ROLE_SERVER, &windows[s]);
	wh_server_register(&srv);
	spare = wh_gpa(&srv.vm, wh_page_alloc(&srv.vm));
	for (i = 1; i < SPARE_PAGES; i++)
		wh_page_alloc(&srv.vm);
	madvise(srv.vm.mem, WH_RAM_SIZE, MADV_MERGEABLE);
	for (i = 0; i < 2; i++) {
		wh_worker_create(&workers[i], &srv, i);
		wh_worker_handlers(&workers[i], handlers, WH_ARRAY_SIZE(handlers));
		map_lazy_pages(&workers[i]);
		wh_worker_begin(&workers[i]);
	}
	board->ready[s]++;
	for (n = 0;; n++) {
		if (s == S_VICTIM && board->release) {
			wh_release(&workers[board->release - 1]);
			board->release = 0;
		}
		for (i = 0; i < 2; i++)
			replace_dead_worker(&workers[i]);
		switch (wh_next(&x) % 8) {
		case 0:
			inflate(spare);
			break;
		case 1:
			log_dirty_pages(true);
			break;
		case 2:
			log_dirty_pages(false);
			break;
		default:
			wh_ms_pause();
		}
	}
}

/* --- A client's process ---------------------------------------------------- */

static struct wh_client client;

/* Client, CPL 3: calls of all kinds; how many were right before the first that was not. */
static u64 guest_batch(u64 seed, u64 n)
{
	u64 x = seed, i;

	for (i = 0; i < n; i++) {
		u64 r = wh_next(&x), a0 = r >> 40, a1 = r >> 20 & 0xffff;
		s64 got = wh_guest_delegate(r % WH_ARRAY_SIZE(handlers), a0, a1);

		if (got != (s64)(a0 + a1))
			return i << 32 | (u32)got;
	}
	return n << 32;
}

/* A status that says that the pair ended, or that the next is not there yet. */
static bool says_gone(s64 status)
{
	return status == WH_EGONE || status == WH_ENOENT || status == WH_EPERM ||
	       status == WH_EBUSY;
}

static void attach_somehow(int c)
{
	s64 status = -1;

	while (status) {
		status = wh_attach(&client);
		if (status && !says_gone(status)) {
			wh_diag("client %d: attach: %lld", c, (long long)status);
			board->wrong[c]++;
		}
		if (status)
			wh_ms_pause();
	}
}

/*
 * The guest's process dies in the middle of a call: its kernel does not return
 * to it, and clears the entry of its window on the way.
 */
static void vanish(void)
{
	u64 *top = wh_gpa(&client.vm, client.as.cr3);
	u64 *entry = &top[(WH_WINDOW_VA >> 39) & 511], saved = *entry;
	u64 calls = board->calls[C_VICTIM];
	struct wh_host_stat st;

	wh_start(client.vcpu, &client.as, 3, guest_batch, calls | 1, 1000000, 0, 0);
	wh_ms_pause();
	wh_vcpu_stop(client.vcpu);
	*entry = 0;
	/* KVM looks once a second. */
	if (!wh_poll(!wh_stat(clients[C_VICTIM].id, &st) && !st.pairs, 3000)) {
		wh_diag("a client process that ended is not noticed");
		board->wrong[C_VICTIM]++;
	}
	*entry = saved;
	board->vanish = 0;
	board->vanished++;
}

static void client_process(int c, u64 seed)
{
	u64 x = seed | 1;

	wh_client_create_as(&client, clients[c].id, WH_ROLE_CLIENT,
			    &windows[clients[c].server], clients[c].part);
	attach_somehow(c);
	for (;;) {
		struct wh_result r = wh_call(client.vcpu, &client.as, 3, guest_batch,
					     wh_next(&x), BATCH, 0, 0);
		s64 status = (int)r.rax;

		if (r.end != WH_END_DONE) {
			wh_diag("client %d: end %d exit %u vector %llu rip 0x%llx", c, r.end,
				r.exit_reason, (unsigned long long)r.vector,
				(unsigned long long)r.rip);
			board->wrong[c]++;
			_exit(1);
		}
		board->calls[c] += r.rax >> 32;
		if (r.rax >> 32 != BATCH) {
			if (says_gone(status)) {
				board->gone[c]++;
			} else {
				wh_diag("client %d: status %lld", c, (long long)status);
				board->wrong[c]++;
			}
			attach_somehow(c);
		}
		if (c == C_VICTIM && board->vanish) {
			vanish();
			attach_somehow(c);
		}
	}
}

/* --- The director ---------------------------------------------------------- */

static pid_t spawn(void (*fn)(int, u64), int which)
{
	u64 seed = wh_next(&random_state);
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	/* Not before its parent's end, and not after. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(0);
	wh_watchdog(100000);
	fn(which, seed);
	_exit(0);
}

static void start_server(int s)
{
	u64 ready = board->ready[s];

	server_pids[s] = spawn(server_process, s);
	if (!wh_poll(board->ready[s] != ready, WAIT_MS))
		wh_die("server does not start");
}

static void end_process(pid_t *pid)
{
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
}

static bool vm_is_gone(u64 id)
{
	struct wh_host_stat st;

	return wh_poll(wh_stat(id, &st) == -ENOENT, WAIT_MS);
}

/* Not every kernel has the file, and a CPU may be busy. */
static void tell(const char *path, const char *text)
{
	int err = wh_write_file(path, text);

	if (err && err != -ENOENT && err != -EBUSY)
		wh_diag("%s: %s", path, strerror(-err));
}

/* What the host does to a machine that is in use. */
static void disturb(void)
{
	static bool online = true, merging;

	switch (chance(4)) {
	case 0:
		online = !online;
		tell(CPU1_ONLINE, online ? "1" : "0");
		break;
	case 1:
		merging = !merging;
		tell(KSM_RUN, merging ? "1" : "2");
		break;
	case 2:
		tell(COMPACT, "1");
		break;
	}
}

/* A point of the victim's life that chance chooses: calls, then microseconds. */
static bool wait_for_a_point(u64 calls)
{
	u64 from = board->calls[C_VICTIM], n = chance(calls);
	struct timespec ts = { .tv_nsec = chance(2000000) };

	if (!wh_poll(board->calls[C_VICTIM] >= from + n, WAIT_MS))
		return false;
	nanosleep(&ts, NULL);
	return true;
}

enum { K_PROCESS = 1, K_WORKER = 2, K_CLIENT = 4, K_SERVER = 8, K_ALL = 16 };

static bool kill_some(u64 what)
{
	bool gone = true;

	if (what & K_PROCESS)
		board->vanish = 1;
	if (what & K_WORKER)
		board->release = 1;
	if (what & K_CLIENT)
		end_process(&client_pids[C_VICTIM]);
	if (what & K_SERVER)
		end_process(&server_pids[S_VICTIM]);
	if (what & K_CLIENT) {
		gone &= vm_is_gone(clients[C_VICTIM].id);
		board->vanish = 0;
	}
	if (what & K_SERVER) {
		gone &= vm_is_gone(server_ids[S_VICTIM]);
		board->release = 0;
		start_server(S_VICTIM);
	}
	if (what & K_CLIENT)
		client_pids[C_VICTIM] = spawn(client_process, C_VICTIM);
	return gone;
}

static bool all_go_on(void)
{
	u64 from[CLIENTS];
	bool good = true;
	int c;

	for (c = 0; c < CLIENTS; c++)
		from[c] = board->calls[c];
	for (c = 0; c < CLIENTS; c++) {
		if (wh_poll(board->calls[c] > from[c] + BATCH, WAIT_MS))
			continue;
		wh_diag("client %d makes no calls", c);
		good = false;
	}
	return good;
}

static void start_all(void)
{
	int i;

	for (i = 0; i < SERVERS; i++)
		start_server(i);
	for (i = 0; i < CLIENTS; i++) {
		wh_allow(clients[i].id, clients[i].server_id, 0, 1);
		client_pids[i] = spawn(client_process, i);
	}
}

static bool end_all(void)
{
	bool gone = true;
	int i;

	for (i = 0; i < CLIENTS; i++) {
		end_process(&client_pids[i]);
		gone &= vm_is_gone(clients[i].id);
	}
	for (i = 0; i < SERVERS; i++) {
		end_process(&server_pids[i]);
		gone &= vm_is_gone(server_ids[i]);
	}
	return gone;
}

/* --- What is left ---------------------------------------------------------- */

/* Each living struct kvm has a folder there. */
static int living_vms(void)
{
	DIR *d = opendir("/sys/kernel/debug/kvm");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_type == DT_DIR && e->d_name[0] != '.';
	if (d)
		closedir(d);
	return d ? n : -1;
}

static long free_kb(void)
{
	tell("/proc/sys/vm/drop_caches", "3");
	return wh_free_kb() + wh_number_in("/proc/meminfo", "Cached") +
	       wh_number_in("/proc/meminfo", "SReclaimable");
}

int main(void)
{
	u64 kills = wh_env("WH_KILLS", KILLS), i, went_on = 0, gone = 0;
	u64 calls = wh_env("WH_CALLS", 200 * kills), other_gone, neighbour_gone = 0;
	long before;

	wh_require_feature();
	wh_plan(9);
	wh_watchdog(120 + 20 * kills);
	random_state = wh_seed();
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < SERVERS; i++)
		wh_window_create(&windows[i], WH_PARTS * WH_PART_SIZE);

	/* Once without fire, so that what the first costs is no leak. */
	start_all();
	wh_ok(all_go_on(), "all_clients_make_calls");
	end_all();
	before = free_kb();

	start_all();
	all_go_on();
	other_gone = board->gone[C_OTHER];
	for (i = 0; i < kills; i++) {
		u64 what = 1 + chance(K_ALL - 1), neighbour = board->gone[C_NEIGHBOUR];

		disturb();
		if (!wait_for_a_point(2 * calls / kills))
			wh_diag("no calls of the victim before kill %llu",
				(unsigned long long)i);
		gone += kill_some(what);
		went_on += all_go_on();
		if (!(what & K_SERVER))
			neighbour_gone += board->gone[C_NEIGHBOUR] - neighbour;
	}
	wh_diag("%llu kills; %llu calls of the victim, %llu of its neighbour, %llu of the other",
		(unsigned long long)kills, (unsigned long long)board->calls[C_VICTIM],
		(unsigned long long)board->calls[C_NEIGHBOUR],
		(unsigned long long)board->calls[C_OTHER]);
	tell(CPU1_ONLINE, "1");
	tell(KSM_RUN, "2");
	wh_eq(gone, kills, "each_killed_vm_is_gone");
	wh_eq(went_on, kills, "calls_go_on_after_each_kill");
	wh_eq(board->wrong[C_VICTIM] + board->wrong[C_NEIGHBOUR] + board->wrong[C_OTHER], 0,
	      "no_call_is_wrong");
	wh_eq(neighbour_gone, 0, "neighbour_of_the_victim_notices_the_end_of_its_server_only");
	wh_eq(board->gone[C_OTHER] - other_gone, 0, "client_of_another_server_notices_nothing");
	end_all();
	wh_eq(wh_poll(!living_vms(), 5000) ? 0 : living_vms(), 0, "no_vm_is_left");
	wh_eq(wh_pinned_pages(), 0, "no_page_stays_pinned");
	wh_poll(before - free_kb() < 2 * (long)kills + 1024, 100);
	before -= free_kb();
	wh_ok(before < 2 * (long)kills + 1024, "no_memory_is_lost");
	wh_diag("%ld kB less are free", before);
	return wh_exit();
}
