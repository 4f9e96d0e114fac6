// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a VM may do beside calls: dirty logging, INIT, reset by its VMM, less
 * extended state than the server, a VMM that may lock little memory. Each works
 * or is refused with a status; none confuses a call. Needs VMFUNC.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "wormhole.h"

static s64 store_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	WRITE_ONCE(*(u64 *)a0, a1);
	return a1;
}

enum { H_NULL, H_WAIT, H_REGS, H_STORE };

static const wh_handler_fn handlers[] = {
	wh_null_handler, wh_wait_handler, wh_regs_handler, store_handler,
};

static struct wh_server srv;
static struct wh_worker worker, many;
static struct wh_client client;
static u64 *words;

/* A VM's RAM again, with or without a log of dirty pages. */
static void log_vm(struct wh_vm *vm, bool on)
{
	wh_set_memslot(vm, 0, on ? KVM_MEM_LOG_DIRTY_PAGES : 0, 0, WH_RAM_SIZE, vm->mem);
}

static void log_dirty(bool on)
{
	log_vm(&client.vm, on);
}

static bool start_waiting_call(void)
{
	words[0] = 0;
	words[1] = 0;
	wh_start(client.vcpu, &client.as, 3, wh_guest_delegate, H_WAIT, 5, 0, 0);
	return wh_poll(words[1], 300);
}

static u64 guest_store(u64 *to, u64 val)
{
	WRITE_ONCE(*to, val);
	return val;
}

static bool page_is_dirty(struct wh_vm *vm, u64 gpa)
{
	static u8 bitmap[WH_RAM_SIZE / WH_PAGE / 8];
	struct kvm_dirty_log log = { .slot = 0, .dirty_bitmap = bitmap };

	if (ioctl(vm->fd, KVM_GET_DIRTY_LOG, &log))
		wh_die("KVM_GET_DIRTY_LOG");
	return bitmap[gpa / WH_PAGE / 8] >> (gpa / WH_PAGE % 8) & 1;
}

static void test_dirty_logging(void)
{
	bool there;

	log_dirty(true);
	wh_eq(wh_attach(&client), WH_OK, "attach_under_dirty_logging_succeeds");
	wh_eq(wh_delegate(&client, H_NULL, 0, 0).rax, 0x600d,
	      "call_under_dirty_logging_works");
	log_dirty(false);
	wh_eq(wh_delegate(&client, H_NULL, 0, 0).rax, 0x600d, "call_after_dirty_logging_works");

	there = start_waiting_call();
	log_dirty(true);
	words[0] = 5;
	wh_ok(wh_join(client.vcpu, 1) && there && client.vcpu->res.rax == 5,
	      "call_that_dirty_logging_meets_ends_well");
	page_is_dirty(&client.vm, 0);
	wh_call(client.vcpu, &client.as, 3, guest_store, WH_STACK_VA - 2 * WH_PAGE, 1, 0, 0);
	wh_ok(page_is_dirty(&client.vm,
			    *wh_pte(&client.as, WH_STACK_VA - 2 * WH_PAGE) & WH_PTE_ADDR),
	      "the_log_is_right_afterwards");
	log_dirty(false);
}

/* What a view writes must be in the server's log, i.e. is not written there. */
static void test_log_of_the_server(void)
{
	struct wh_host_stat before;
	u64 store = WH_CALLSTACK_VA - 3 * WH_PAGE, gpa = *wh_pte(&worker.as, store) & WH_PTE_ADDR;
	bool clean;

	/* In the view, and writable there. */
	wh_delegate(&client, H_STORE, store, 1);
	log_vm(&srv.vm, true);
	page_is_dirty(&srv.vm, gpa);
	clean = !page_is_dirty(&srv.vm, gpa);
	wh_stat(2, &before);
	wh_eq(wh_delegate(&client, H_STORE, store, 2).rax, 2, "call_works_while_the_server_logs");
	wh_ok(clean && page_is_dirty(&srv.vm, gpa), "what_it_wrote_is_in_the_servers_log");
	wh_ok(wh_handoffs(2, &before, WH_HANDOFF_FAULT) > 0, "because_the_server_wrote_it");
	log_vm(&srv.vm, false);
	wh_delegate(&client, H_STORE, store, 3);
	wh_stat(2, &before);
	wh_delegate(&client, H_STORE, store, 4);
	wh_eq(wh_handoffs(2, &before, WH_HANDOFF_FAULT), 0, "and_no_longer_when_it_does_not_log");
}

/* INIT and no start-up: the vCPU waits, with its call suspended. */
static void test_init(void)
{
	struct kvm_mp_state state = { 0 };
	struct kvm_regs regs;
	bool there = start_waiting_call();

	wh_msi(&client.vm, 0, WH_MSI_INIT, 0);
	wh_ms_pause();
	wh_ms_pause();
	wh_vcpu_stop(client.vcpu);
	wh_vcpu_regs(client.vcpu, &regs);
	ioctl(client.vcpu->fd, KVM_GET_MP_STATE, &state);
	/* The boot processor starts again at the reset vector by itself. */
	wh_ok(there && (regs.rip >> 32) == 0 && state.mp_state != KVM_MP_STATE_UNINITIALIZED,
	      "init_takes_the_vcpu_out_of_the_view");
	words[0] = 5;
	wh_ok(wh_release(&worker) == WH_OK && wh_join(worker.vcpu, 1),
	      "server_takes_its_worker_back");
	wh_worker_again(&worker);
	wh_ok(!wh_attach(&client) && wh_delegate(&client, H_NULL, 1, 0).rax == 0x600e,
	      "next_call_works_after_init");
}

/* A VMM that gives up on a call: it loads other registers while it is suspended. */
static void test_vmm_reset(void)
{
	bool there = start_waiting_call();
	s64 ret;

	wh_vcpu_stop(client.vcpu);
	ret = wh_delegate(&client, H_NULL, 1, 0).rax;
	wh_ok(there && ret == 0x600e, "call_beside_a_suspended_one_works");
	ret = wh_leaf(client.vcpu, &client.as, 3, WH_LEAF_CANCEL, client.index, 0, 0, 0).rax;
	wh_eq(ret, WH_OK, "suspended_call_can_be_cancelled");
	ret = wh_leaf(client.vcpu, &client.as, 3, WH_LEAF_CONTINUE, client.index, 0, 0, 0).rax;
	wh_ok(ret < 0, "cancelled_call_cannot_be_continued");
	there = start_waiting_call();
	words[0] = 5;
	wh_ok(wh_join(client.vcpu, 1) && there && client.vcpu->res.rax == 5,
	      "next_call_works_after_cancel");
}

/* Both VMs of a call read one clock, the host's; another one is an error, not ignored. */
static void test_tsc(void)
{
	u64 offset = 1;
	struct kvm_device_attr attr = {
		.group = KVM_VCPU_TSC_CTRL, .attr = KVM_VCPU_TSC_OFFSET, .addr = (u64)&offset,
	};
	int fd = client.vcpu->fd, khz = ioctl(fd, KVM_GET_TSC_KHZ, 0);

	wh_ok(ioctl(fd, KVM_SET_DEVICE_ATTR, &attr) && errno == EINVAL,
	      "tsc_offset_of_its_own_is_refused");
	offset = 0;
	wh_ok(!ioctl(fd, KVM_SET_DEVICE_ATTR, &attr), "and_none_is_accepted");
	wh_ok(ioctl(fd, KVM_SET_TSC_KHZ, khz / 2) && errno == EINVAL,
	      "tsc_frequency_of_its_own_is_refused");
	wh_ok(!ioctl(fd, KVM_SET_TSC_KHZ, khz), "and_the_hosts_is_accepted");
}

static u64 guest_xsetbv(u64 xcr0)
{
	asm volatile("xsetbv" :: "c"(0), "a"((u32)xcr0), "d"(0));
	return 1;
}

static void set_xcr0(u64 xcr0)
{
	wh_call(client.vcpu, &client.as, 0, guest_xsetbv, xcr0, 0, 0, 0);
}

static void test_xcr0(void)
{
	s64 ret;

	ret = wh_delegate(&client, H_REGS, 0, 0).rax;
	wh_eq(ret, 0, "ymm_registers_work_in_the_view");
	set_xcr0(3);
	ret = wh_delegate(&client, H_REGS, 0, 0).rax;
	wh_ok(ret <= 0, "client_that_turned_avx_off_loses_no_state_of_the_call");
	wh_diag("returned %lld", (long long)ret);
	wh_detach(&client);
	wh_worker_again(&worker);
	wh_eq(wh_attach(&client), WH_EINVAL, "attach_with_less_state_than_the_server_is_refused");
	set_xcr0(7);
	wh_eq(wh_attach(&client), WH_OK, "attach_with_the_same_state_succeeds");
}

#define XCR0_AVX512	0xe0

/* What is in a register that only the client has, after a call that is handed off. */
static u64 guest_keep_opmask(u32 val)
{
	asm volatile("kmovw %0, %%k1" :: "r"(val));
	wh_guest_delegate(H_REGS, 0, 0);
	asm volatile("kmovw %%k1, %0" : "=r"(val));
	return val;
}

static void test_state_of_its_own(void)
{
	struct wh_host_stat before;
	u64 mine;

	if (!__builtin_cpu_supports("avx512f")) {
		wh_skip("avx512", "the processor has none");
		return;
	}
	wh_detach(&client);
	wh_worker_again(&worker);
	set_xcr0(7 | XCR0_AVX512);
	wh_eq(wh_attach(&client), WH_OK, "attach_with_more_state_than_the_server_succeeds");
	wh_stat(2, &before);
	mine = wh_call(client.vcpu, &client.as, 3, guest_keep_opmask, 0x5a5a, 0, 0, 0).rax;
	wh_ok(wh_handoffs(2, &before, WH_HANDOFF_EXCEPTION), "a_call_is_handed_off");
	wh_eq(mine, 0x5a5a, "and_what_the_server_does_not_have_stays_the_clients");
}

/* --- RLIMIT_MEMLOCK, which counts from the moment of the role ------------------- */

static struct {
	s64 registration;
	s64 park;		/* the worker's status, if it does not park */
	u64 registered;		/* pages pinned for the worker, before it has a view */
	u64 before, after;	/* pages pinned for the view */
	u64 right, handoffs;
} *locked;

static u64 pinned_pages(void)
{
	return wh_number_in("/proc/self/status", "VmPin") / (WH_PAGE / 1024);
}

static void may_lock(u64 pages)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	struct rlimit r = { pages * WH_PAGE, pages * WH_PAGE };

	if (setrlimit(RLIMIT_MEMLOCK, &r) || syscall(SYS_capget, &hdr, caps))
		wh_die("RLIMIT_MEMLOCK");
	caps[0].effective &= ~(1u << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &hdr, caps))
		wh_die("CAP_IPC_LOCK");
}

static void store_to_late_pages(void)
{
	struct wh_host_stat before;
	u64 i, va;

	locked->before = pinned_pages();
	wh_stat(2, &before);
	for (i = 0; i < WH_LAZY_PAGES; i++)
		wh_map(&worker.as, WH_LAZY_VA + i * WH_PAGE, worker.lazy_gpa + i * WH_PAGE,
		       WH_USER_RW);
	for (i = 0; i < WH_LAZY_PAGES; i++) {
		va = WH_LAZY_VA + i * WH_PAGE;
		locked->right += wh_delegate(&client, H_STORE, va, i + 1).rax == i + 1 &&
				 *(u64 *)wh_gpa(&srv.vm, worker.lazy_gpa + i * WH_PAGE) == i + 1;
	}
	locked->handoffs = wh_handoffs(2, &before, WH_HANDOFF_FAULT);
	locked->after = pinned_pages();
}

/* What is pinned is the process's, so each limit has one of its own. */
static void run_with(u64 pages)
{
	struct wh_host_stat st;
	pid_t pid = fork();

	if (pid) {
		waitpid(pid, NULL, 0);
		if (!wh_poll(wh_stat(1, &st) && wh_stat(2, &st), 3000))
			wh_die("the VMs of a process that ended are still there");
		return;
	}
	memset(locked, 0, sizeof(*locked));
	if (pages)
		may_lock(pages);
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	locked->registered = -pinned_pages();
	locked->registration = wh_worker_register(&worker);
	locked->registered += pinned_pages();
	if (locked->registration)
		_exit(0);
	wh_worker_slot(&worker);
	wh_worker_park(&worker);
	if (!worker.vcpu->running) {
		locked->park = worker.vcpu->res.rax;
		_exit(0);
	}
	wh_client_create(&client, 2, &srv, 0);
	wh_allow(2, 1, 0, 1);
	if (wh_attach(&client))
		wh_die("attach");
	store_to_late_pages();
	_exit(0);
}

static void test_memlock(void)
{
	u64 limit;

	locked = mmap(NULL, sizeof(*locked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	run_with(0);
	wh_ok(locked->right == WH_LAZY_PAGES && locked->after >= locked->before + WH_LAZY_PAGES,
	      "who_may_lock_everything_has_all_pages_of_a_view_pinned");
	wh_diag("%llu pages before the calls, %llu after them", (unsigned long long)locked->before,
		(unsigned long long)locked->after);
	/* The word for flushes, the control page and the slot's. */
	wh_eq(locked->registered, 3, "what_a_worker_keeps_from_the_start_is_pinned_too");
	limit = locked->before + 8;
	run_with(limit);
	wh_ok(locked->right == WH_LAZY_PAGES && locked->handoffs,
	      "pages_beyond_the_limit_are_reached_by_handoff");
	wh_ok(locked->after && locked->after <= limit, "and_no_more_than_the_limit_is_pinned");
	run_with(limit / 2);
	wh_eq(locked->park, WH_ENOMEM, "worker_that_needs_more_from_the_start_does_not_park");
	run_with(2);
	wh_eq(locked->registration, WH_ENOMEM,
	      "and_one_that_cannot_keep_its_slot_does_not_register");
	wh_eq(locked->registered, 0, "and_leaves_nothing_pinned");
}

/* --- Pairs that are dead, of workers that nobody releases ------------------------------ */

#define MAX_WORKERS	1024

/* The same tables below another top-level page: KVM takes it for another worker. */
static s64 register_as_new(struct wh_worker *w, u64 *pair)
{
	struct wh_as as = { .vm = &srv.vm, .cr3 = wh_page_alloc(&srv.vm) };
	struct wh_result r;

	memcpy(wh_gpa(&srv.vm, as.cr3), wh_gpa(&srv.vm, w->as.cr3), WH_PAGE);
	r = wh_leaf(w->vcpu, &as, 0, WH_LEAF_WORKER_REGISTER, 0, w->part, WH_PART_SIZE,
		    w->seq_gpa);
	*pair = r.rbx;
	return r.rax;
}

static void test_dead_pairs(void)
{
	u64 first = 0, pair;
	s64 ret = WH_OK;
	u32 n;

	wh_worker_create(&many, &srv, 1);
	for (n = 0; n <= MAX_WORKERS && !ret; n++) {
		ret = register_as_new(&many, n ? &pair : &first);
		wh_kill(srv.vm.id);
	}
	wh_ok(ret == WH_ENOMEM && n > MAX_WORKERS / 2,
	      "a_server_keeps_so_many_dead_pairs_and_no_more");
	wh_leaf(srv.boss, &srv.kernel, 0, WH_LEAF_RELEASE, first, 0, 0, 0);
	wh_eq(register_as_new(&many, &pair), WH_OK, "release_makes_room_for_one");
}

int main(void)
{
	wh_require_feature();
	wh_plan(37);
	wh_watchdog(60);
	test_memlock();
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&client, 2, &srv, 0);
	words = (u64 *)(client.part_mem + WH_DATA_OFFSET);
	wh_allow(2, 1, 0, 1);
	test_dirty_logging();
	test_log_of_the_server();
	test_vmm_reset();
	test_init();
	test_tsc();
	test_xcr0();
	test_state_of_its_own();
	test_dead_pairs();
	return wh_exit();
}
