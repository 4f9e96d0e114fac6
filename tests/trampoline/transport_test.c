// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the vmfunc transport from end to end in one process. It has the
 * transport's source, but leaves and switch are faked, and "sysfs" is a folder with one
 * window of four parts. It runs on any x86-64 machine with FSGSBASE.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <sys/wait.h>

#include "fake_host.h"
#include "../tap.h"

/* --- What libcuda.so.1 has beside the transport ------------------------------------- */

void wh_log(const char *fmt, ...)
{
	(void)fmt;
}

static char complaint[512];	/* the last one */

void wh_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(complaint, sizeof(complaint), fmt, ap);
	va_end(ap);
}

/* Does what client-stubs/transport/transport.c does, without the hash of the API. */
int wh_link_from_part(struct wh_link *l, void *part, size_t part_size)
{
	struct wh_ctl c;

	if (host.in_link)
		host.in_link();
	memcpy(&c, part, sizeof(c));
	l->part_size = part_size;
	l->slot[0].msg = (uint8_t *)part + c.msg_offset;
	l->data = (uint8_t *)part + c.data_offset;
	return 0;
}

/*
 * --- The worker: the same process after a switch -----------------------------------
 *
 * It has one slot and one thread. The switch changes the world page, and leads to a
 * function of the same process.
 */

int64_t fake_handler_result;
struct regs fake_at_handler;
uint64_t fake_handler_runs;
static struct wh_link l;
static int64_t nested_status;
static int nest;
static uint64_t handled[4];
static char stack[16384] __attribute__((aligned(16)));

static int64_t handler(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	handled[0] = (uint64_t)session;
	handled[1] = slot;
	handled[2] = arg0;
	handled[3] = arg1;
	return arg0 == 99 ? WH_EINVAL : WH_OK;
}

static void become(uint64_t word)
{
	struct wh_slot_view *v = (struct wh_slot_view *)WH_SLOT_VA;
	struct wh_world *w = (struct wh_world *)WH_WORLD_VA;

	mprotect(w, WH_PAGE_SIZE, PROT_READ | PROT_WRITE);
	memset(w, 0, sizeof(*w));
	w->world = word;
	if (word == WH_WORLD_SERVER) {
		w->nslots = 1;
		w->nhandlers = 2;
		w->session = 0x5e55;
		w->handlers[1] = (uint64_t)handler;
		w->slots[0].stack_top = (uint64_t)stack + sizeof(stack);
		w->slots[0].fs_base = ((struct wh_slot *)(WH_WINDOW_VA + WH_PAGE_SIZE))->client.fs;
		w->slots[0].mxcsr = 0x1f80;
		w->slots[0].fcw = 0x037f;
	}
	mprotect(w, WH_PAGE_SIZE, PROT_READ);
	mprotect(v, WH_PAGE_SIZE, PROT_READ | PROT_WRITE);
	v->view = word == WH_WORLD_SERVER ? WH_SLOT_VIEW : 0;
	mprotect(v, WH_PAGE_SIZE, PROT_READ);
}

int64_t fake_switch_c(struct regs *r)
{
	if ((uint32_t)r->gpr[RCX] && r->gpr[RCX] != EPTP_INDEX)
		return WH_ENOENT;
	/* The nested call stands for a signal handler that comes just before the switch. */
	if (r->gpr[RCX] && nest)
		nested_status = l.t->call(&l, 1, 1, 0);
	become(r->gpr[RCX] ? WH_WORLD_SERVER : WH_WORLD_CLIENT);
	return 0;
}

int64_t fake_continue_c(struct regs *r)
{
	(void)r;
	return WH_EFATAL;
}

static uint32_t part_here(void)
{
	return ((struct wh_ctl *)WH_WINDOW_VA)->part;
}

/* Begins with a host that was asked nothing yet, and no link. */
static void begin_afresh(void)
{
	fresh_host();
	memset(&l, 0, sizeof(l));
}

/* --- The test ------------------------------------------------------------------------ */

static void test_refusals(void)
{
	begin_afresh();
	host.role = WH_ROLE_NONE;
	host.version = 0;
	ok(!wh_transport_vmfunc.probe() && wh_transport_vmfunc.open(&l) == WH_ETRANSPORT,
	   "machine_without_wormhole_is_refused");
	host.version = WH_ABI_VERSION + 1;
	ok(wh_transport_vmfunc.probe() && wh_transport_vmfunc.open(&l) == WH_EVERSION,
	   "host_of_another_version_is_named_as_such");
	begin_afresh();
	host.role = WH_ROLE_SERVER;
	ok(!wh_transport_vmfunc.probe() && wh_transport_vmfunc.open(&l) == WH_ETRANSPORT,
	   "server_vm_is_refused");
	begin_afresh();
	host.hwcap2 = 0;
	ok_eq(wh_transport_vmfunc.open(&l), WH_ETRANSPORT, "kernel_without_fsgsbase_is_refused");
	begin_afresh();
	for (int i = 0; i < 8; i++)
		host.attach[i] = WH_EPERM;
	ok(wh_transport_vmfunc.open(&l) == WH_EPERM && host.attaches == 1,
	   "no_from_the_host_is_final");
	ok(!is_mapped(WH_WINDOW_VA) && !is_mapped(WH_TRAMPOLINE_VA),
	   "refused_open_leaves_nothing_mapped");
}

static void test_open(void)
{
	const struct wh_tramp_hdr *h = (const void *)gen_trampoline;

	begin_afresh();
	host.attach[0] = WH_EBUSY;
	host.attach[1] = WH_ENOENT;
	ok(!wh_transport_vmfunc.open(&l) && part_here() == 2, "first_part_to_be_had_is_taken");
	ok_eq((int64_t)host.seen_checksum, (int64_t)h->checksum,
	      "attach_shows_the_trampolines_checksum");
	ok(l.part == (uint8_t *)WH_WINDOW_VA && l.part_size == PART &&
	   l.slot[0].msg == l.part + AT_MSG && l.data == l.part + DATA, "link_describes_the_part");
	ok(!memcmp((void *)WH_TRAMPOLINE_VA, gen_trampoline, WH_PAGE_SIZE) &&
	   ((struct wh_world *)WH_WORLD_VA)->world == WH_WORLD_CLIENT,
	   "trampoline_and_world_are_mapped");
}

static void test_calls(void)
{
	int i, good = 0;

	ok(!l.t->call(&l, 1, 4711, 0) && handled[0] == 0x5e55 && handled[1] == 0 &&
	   handled[2] == 4711 && handled[3] == 0, "call_reaches_the_handler");
	ok_eq(l.t->call(&l, 1, 99, 0), WH_EINVAL, "handlers_status_comes_back");
	ok_eq(l.t->call(&l, 7, 1, 0), WH_ENOSYS, "unknown_handler_is_refused");
	for (i = 100; i < 1100; i++)
		good += !l.t->call(&l, 1, (uint64_t)i, 0) && handled[2] == (uint64_t)i;
	ok_eq(good, 1000, "many_calls_work");
	nest = 1;
	good = l.t->call(&l, 1, 5, 0) == 0 && handled[2] == 5;
	nest = 0;
	ok(good && nested_status == WH_EBUSY, "call_on_top_of_a_call_is_refused");
	ok(!l.t->call(&l, 1, 6, 0), "refused_call_leaves_the_link_usable");
}

static void child(void)
{
	struct wh_slot *slot = (struct wh_slot *)(WH_WINDOW_VA + WH_PAGE_SIZE);
	int bad = 0;

	bad |= l.t->call(&l, 1, 1, 0) != WH_EGONE;
	bad |= is_mapped((uint64_t)l.data) << 1;
	slot->client.rsp = 1;		/* as a gate sets it that goes on */
	bad |= (part_here() == 2) << 2;
	host.detaches = 0;
	l.t->close(&l);
	bad |= (host.detaches != 0) << 3;
	bad |= (wh_transport_vmfunc.open(&l) != WH_OK) << 4;
	_exit(bad);
}

static void test_fork(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		child();
	waitpid(pid, &status, 0);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 0xff;
	ok(!(status & 1), "child_of_a_fork_cannot_call");
	ok(!(status & 6), "child_of_a_fork_does_not_have_the_window");
	ok(!(status & 8), "child_of_a_fork_does_not_detach_its_parent");
	ok(!(status & 16), "child_of_a_fork_can_open_its_own");
	ok(!l.t->call(&l, 1, 1, 0), "parent_goes_on_after_a_fork");
}

static void test_close(void)
{
	ok_eq(wh_transport_vmfunc.open(&(struct wh_link){ 0 }), WH_EBUSY,
	      "second_link_of_a_process_is_refused");
	l.t->close(&l);
	ok(host.detaches == 1 && !host.cancels, "close_detaches");
	ok(!is_mapped(WH_WINDOW_VA) && !is_mapped(WH_TRAMPOLINE_VA), "close_unmaps_all");
}

static void test_waiting(void)
{
	int i;

	begin_afresh();
	for (i = 0; i < 5; i++)
		host.attach[i] = i % 2 ? WH_EGONE : i ? WH_ENOMEM : WH_ENOENT;
	ok(!wh_transport_vmfunc.open(&l) && host.attaches == 6,
	   "client_waits_for_a_worker_to_come");
	l.t->close(&l);
	setenv("WORMHOLE_ATTACH_TIMEOUT_MS", "30", 1);
	begin_afresh();
	for (i = 0; i < 8; i++)
		host.attach[i] = i ? WH_ENOENT : WH_EBUSY;
	host.attach[7] = WH_EBUSY;
	ok(wh_transport_vmfunc.open(&l) == WH_EBUSY && host.attaches > PARTS,
	   "client_gives_up_after_the_timeout");
}

/* --- An open() that is not finished --------------------------------------------------- */

static int child_of_open;	/* its exit status; -1: there was none */

static void child_opens(void)
{
	int bad = is_mapped(WH_WINDOW_VA);

	begin_afresh();
	bad |= (wh_transport_vmfunc.open(&l) != WH_OK) << 1;
	_exit(bad);
}

/* Forks, as another thread may do meanwhile. */
static void forks_once(void)
{
	int status;
	pid_t pid;

	host.in_pause = host.in_madvise = NULL;
	pid = fork();
	if (!pid)
		child_opens();
	waitpid(pid, &status, 0);
	child_of_open = WIFEXITED(status) ? WEXITSTATUS(status) : 0xff;
}

static sigjmp_buf left;

/* Leaves, as a signal handler may do, which is like the end of the thread. */
static void leaves(void)
{
	siglongjmp(left, 1);
}

/* The worker comes with the second look at the window, however long a fork takes before it. */
static void let_wait(void)
{
	int i;

	setenv("WORMHOLE_ATTACH_TIMEOUT_MS", "60000", 1);
	begin_afresh();
	child_of_open = -1;
	for (i = 0; i < PARTS; i++)
		host.attach[i] = WH_ENOENT;
}

static void test_unfinished(void)
{
	let_wait();
	host.in_pause = forks_once;
	ok(!wh_transport_vmfunc.open(&l) && child_of_open == 0,
	   "child_of_a_client_that_waits_for_a_worker_can_open_its_own");
	l.t->close(&l);
	let_wait();
	host.in_madvise = forks_once;
	ok(!wh_transport_vmfunc.open(&l) && child_of_open == 0,
	   "so_can_one_forked_when_the_window_is_just_mapped_and_it_does_not_have_it");
	l.t->close(&l);
	let_wait();
	host.in_pause = leaves;
	if (!sigsetjmp(left, 1))
		wh_transport_vmfunc.open(&l);
	begin_afresh();
	ok(!wh_transport_vmfunc.open(&l) && !host.detaches, "open_after_one_that_was_left_works");
	l.t->close(&l);
	begin_afresh();
	host.in_link = leaves;
	if (!sigsetjmp(left, 1))
		wh_transport_vmfunc.open(&l);
	begin_afresh();
	ok(!wh_transport_vmfunc.open(&l) && host.detaches == 1,
	   "also_when_that_one_had_attached_and_its_pair_ends");
	l.t->close(&l);
	ok(!is_mapped(WH_WINDOW_VA) && !is_mapped(WH_TRAMPOLINE_VA), "and_close_unmaps_all");
}

/* Is it refused before the host is asked, by a line that names it? */
static int timeout_is_refused(const char *value)
{
	char named[64];

	setenv("WORMHOLE_ATTACH_TIMEOUT_MS", value, 1);
	snprintf(named, sizeof(named), "WORMHOLE_ATTACH_TIMEOUT_MS=%s:", value);
	begin_afresh();
	complaint[0] = 0;
	return wh_transport_vmfunc.open(&l) == WH_EINVAL && !host.attaches &&
	       strstr(complaint, named);
}

static void test_timeout(void)
{
	static const char *const bad[] = { "soon", "5s", "1e3", "-1", "+5", " 5", "0x10",
					   "99999999999999999999", "86400001" };
	size_t i;
	int refused = 0;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refused += timeout_is_refused(bad[i]);
	ok_eq(refused, (int)i, "timeout_that_is_no_number_is_refused_by_name");
	ok(!is_mapped(WH_TRAMPOLINE_VA), "and_nothing_stays_mapped");
	setenv("WORMHOLE_ATTACH_TIMEOUT_MS", "", 1);
	begin_afresh();
	complaint[0] = 0;
	ok(!wh_transport_vmfunc.open(&l) && !complaint[0], "empty_timeout_is_none");
	l.t->close(&l);
}

/*
 * Does what the stubs do with an open link when their process ends; the bits of the
 * status say what happened.
 */
static int end(int busy)
{
	int bad;

	*(volatile char *)l.data = 1;
	pair.lane[0].busy = busy;
	l.t->end(&l);
	bad = host.cancels != busy;
	bad |= (*(volatile char *)l.data != 0) << 1;
	*(volatile char *)l.data = 1;
	return bad;
}

/* Returns how often a process detaches that opens the transport and ends. */
static int detaches_at_exit(int busy)
{
	int *n = mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, count;
	pid_t pid = fork();

	if (!pid) {
		begin_afresh();
		host.detaches_of_all = n;
		if (wh_transport_vmfunc.open(&l))
			_exit(1);
		_exit(end(busy));
	}
	waitpid(pid, &status, 0);
	count = status ? -1 : *n;
	munmap(n, sizeof(*n));
	return count;
}

static void test_exit(void)
{
	ok_eq(detaches_at_exit(0), 1, "end_of_the_process_detaches_and_leaves_pages_of_zeros");
	ok_eq(detaches_at_exit(1), 1, "end_after_a_call_was_left_cancels_it_and_detaches");
}

static void test_abandon(void)
{
	begin_afresh();
	ok(!wh_transport_vmfunc.open(&l) && !l.t->abandon(&l, 0) && !host.cancels &&
	   !l.t->call(&l, 1, 5, 0), "nothing_to_abandon_leaves_the_link_usable");
	pair.lane[0].busy = 1;
	ok(l.t->abandon(&l, 0) == WH_EGONE && host.cancels == 1,
	   "abandoned_call_is_cancelled_and_ends_the_link");
	l.t->close(&l);
}

int main(void)
{
	char cmd[64];

	if (!mkdtemp(sysfs))
		return 1;
	tap_plan(38);
	if (!(getauxval(AT_HWCAP2) & 2)) {
		while (tap_run < tap_planned)
			skip("vmfunc transport", "this machine runs without FSGSBASE");
		return tap_exit();
	}
	format_window(1, 0);
	map_hooks();
	test_refusals();
	test_open();
	test_calls();
	test_fork();
	test_close();
	test_waiting();
	test_unfinished();
	test_timeout();
	test_exit();
	test_abandon();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", sysfs);
	return system(cmd) || tap_exit();
}
