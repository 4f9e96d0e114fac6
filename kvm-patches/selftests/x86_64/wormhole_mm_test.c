// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server's VMM loses its memory before its files: do_exit() does that always, and
 * so does exec(). Here another process has the files, too, so that there is time
 * to look. No notifier comes any more then, so views have nothing of that memory
 * from that moment on, neither what is pinned nor what a device has, in whichever
 * order the files of a VM and of a passed-through device end later. Needs VMFUNC.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "wormhole.h"

#define SERVER		7
#define CLIENT		3
#define DEVICE_SLOT	2
#define DEVICE_GPA	0x30000000ULL
#define DEVICE_VA	0x7e0000000000ULL	/* named; its pages come before the first call */
#define LATER_VA	0x7e0040000000ULL	/* the same pages, which come on demand */
#define RAM_VA		0x7e0080000000ULL
#define PAGES		4
#define CLEAN		(WH_USER_RW & ~WH_PTE_D)
#define STORED		0x600d

static s64 store_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	WRITE_ONCE(*(u64 *)a0, a1);
	return STORED;
}

/* Never ends; says when it has begun.  With @a1 it runs in the server. */
static s64 stay_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 *word = (void *)WH_DATA_VA;

	if (a1)
		asm volatile("int3" ::: "memory");
	for (;;) {
		WRITE_ONCE(*(u64 *)a0, 0x1111);
		WRITE_ONCE(word[1], 1);
	}
	return 0;
}

enum { H_LOAD, H_STORE, H_STAY };
static const wh_handler_fn handlers[] = { wh_load_handler, store_handler, stay_handler };

/* What a server's process says to this one, beside its files. */
struct shared {
	int device_fd, vm_fd, vcpu_fd[2];
	bool endless;		/* it is to look at tables that never end */
};

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct wh_window win;
static struct shared *shared;
static u64 *device;
static u64 *words;
static int ready[2], become[2];
static pid_t vmm;

/* --- The server's VMM, a process of its own ------------------------------------------- */

static void make_worker(void)
{
	u64 ram;
	int i;

	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	wh_set_pat(&worker);
	for (i = 0; i < PAGES; i++)
		wh_map(&worker.as, DEVICE_VA + i * WH_PAGE, DEVICE_GPA + i * WH_PAGE,
		       CLEAN | WH_PTE_PCD);
	ram = wh_page_alloc(&srv.vm);
	wh_map(&worker.as, RAM_VA, ram, WH_USER_RW);
	if (wh_worker_register(&worker) || wh_worker_slot(&worker) ||
	    wh_name_device(&worker, DEVICE_VA, DEVICE_VA + PAGES * WH_PAGE))
		wh_die("worker");
	wh_worker_park(&worker);
	for (i = 0; i < PAGES; i++)
		wh_map(&worker.as, LATER_VA + i * WH_PAGE, DEVICE_GPA + i * WH_PAGE,
		       WH_USER_RW | WH_PTE_PCD);
}

static void server_process(void)
{
	int fd = wh_open_device();
	u8 *passed = mmap(NULL, PAGES * WH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char byte;

	if (passed == MAP_FAILED)
		wh_die("mmap of the device");
	wh_server_create_as(&srv, SERVER, WH_ROLE_SERVER, &win);
	wh_server_register(&srv);
	wh_set_memslot(&srv.vm, DEVICE_SLOT, 0, DEVICE_GPA, PAGES * WH_PAGE, passed);
	make_worker();
	shared->device_fd = fd;
	shared->vm_fd = srv.vm.fd;
	shared->vcpu_fd[0] = srv.boss->fd;
	shared->vcpu_fd[1] = worker.vcpu->fd;
	if (shared->endless) {
		wh_endless_tables(&worker, true);
		wh_walk_endless(&worker);
		/* It is at work, and will be. */
		shared->endless = !wh_poll(!READ_ONCE(srv.boss->running), 300);
	}
	if (write(ready[1], "", 1) != 1)
		_exit(1);
	/* Until it is killed, or told to become another program. */
	if (read(become[0], &byte, 1) == 1)
		execl("/proc/self/exe", "wormhole_mm_test", "pause", NULL);
	for (;;)
		pause();
}

/* A server whose files are ours, too, and nothing else of it. */
static void start_server(void)
{
	char byte;

	fflush(stdout);
	vmm = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (!vmm) {
		wh_watchdog(60);
		server_process();
	}
	if (read(ready[0], &byte, 1) != 1)
		wh_die("no server");
	wh_allow(CLIENT, SERVER, 0, 1);
	words[1] = 0;
	WRITE_ONCE(*device, 0);
}

/* Its process ends, and with it its memory, while its files live on. */
static void kill_server(void)
{
	kill(vmm, SIGKILL);
	waitpid(vmm, NULL, 0);
}

static void close_all(void)
{
	close(shared->vcpu_fd[0]);
	close(shared->vcpu_fd[1]);
	close(shared->vm_fd);
	close(shared->device_fd);
}

/* --- What the client still has ---------------------------------------------------------- */

static u64 call(u64 handler, u64 va, u64 val)
{
	return wh_delegate(&client, handler, va, val).rax;
}

static bool reaches(u64 va)
{
	WRITE_ONCE(*device, 0x3333);
	return call(H_STORE, va, 0x2222) == STORED || READ_ONCE(*device) == 0x2222 ||
	       call(H_LOAD, va, 0) == 0x3333;
}

static bool reaches_anything(void)
{
	return reaches(DEVICE_VA) | reaches(LATER_VA) | (call(H_STORE, RAM_VA, 5) == STORED);
}

static bool attaches(void)
{
	return !wh_attach(&client) && reaches(DEVICE_VA) && reaches(LATER_VA) &&
	       call(H_STORE, RAM_VA, 5) == STORED;
}

/* No pair, and no such VM any more. */
static bool is_forgotten(void)
{
	struct wh_host_stat st;

	return !wh_stat(CLIENT, &st) && !st.pairs && wh_stat(SERVER, &st);
}

static bool ends_with(u64 status)
{
	return wh_join(client.vcpu, 5) && client.vcpu->res.end == WH_END_DONE &&
	       client.vcpu->res.rax == status;
}

/* --- Tests ------------------------------------------------------------------------------ */

static void test_killed(void)
{
	start_server();
	wh_ok(attaches(), "client_reaches_a_device_and_memory_of_the_server");
	kill_server();
	wh_ok(!reaches(DEVICE_VA), "the_device_is_out_of_the_view_with_the_vmms_memory");
	wh_ok(!reaches(LATER_VA), "so_are_pages_that_came_on_demand");
	wh_eq(call(H_STORE, RAM_VA, 5), WH_EGONE, "and_its_memory");
	wh_ok(is_forgotten(), "pair_and_server_are_forgotten_while_the_files_are_there");
	wh_eq(wh_attach(&client), WH_ENOENT, "nobody_attaches_any_more");
	close_all();
}

/* VFIO: the device may be reset, and be another's, while KVM's files are there. */
static void test_order(void)
{
	start_server();
	attaches();
	kill_server();
	close(shared->device_fd);
	wh_ok(!reaches_anything(), "nothing_is_reached_when_the_devices_file_ends_first");
	close(shared->vcpu_fd[0]);
	close(shared->vcpu_fd[1]);
	close(shared->vm_fd);
	wh_ok(!reaches_anything(), "nor_behind_the_vms");

	start_server();
	wh_ok(attaches(), "client_has_the_next_server_of_that_name");
	kill_server();
	close(shared->vcpu_fd[0]);
	close(shared->vcpu_fd[1]);
	close(shared->vm_fd);
	wh_ok(!reaches_anything(), "nothing_is_reached_when_the_vms_file_ends_first");
	close(shared->device_fd);
	wh_ok(!reaches_anything(), "nor_behind_the_devices");
}

static void test_exec(void)
{
	int status;

	start_server();
	attaches();
	if (write(become[1], "x", 1) != 1)
		wh_die("write");
	/* The new program says so by its end. */
	waitpid(vmm, &status, 0);
	wh_ok(WIFEXITED(status) && WEXITSTATUS(status) == 42 && !reaches_anything(),
	      "nothing_is_reached_when_the_vmm_becomes_another_program");
	close_all();
}

static void test_call_under_way(bool in_server, const char *name)
{
	bool began;

	start_server();
	attaches();
	words[1] = 0;
	wh_delegate_start(&client, client.vcpu, 0, H_STAY, DEVICE_VA, in_server);
	began = wh_poll(READ_ONCE(words[1]), 2000);
	kill_server();
	/* The thread of this one would write for ever. */
	WRITE_ONCE(*device, 0x4444);
	wh_ok(began && ends_with(WH_EGONE) && READ_ONCE(*device) == 0x4444, name);
	close_all();
}

/* A page of the device is found, and is not in the view yet. */
static void test_fill_under_way(void)
{
	bool held, early;

	start_server();
	wh_attach(&client);
	wh_point("install", "hold", 1);
	wh_delegate_start(&client, client.vcpu, 0, H_STORE, LATER_VA, 0x2222);
	held = wh_point_waits("install");
	kill(vmm, SIGKILL);
	early = wh_poll(waitpid(vmm, NULL, WNOHANG) == vmm, 300);
	wh_point("install", "go", 0);
	if (!early)
		waitpid(vmm, NULL, 0);
	wh_ok(held && !early, "memory_does_not_end_during_a_fill_of_it");
	wh_ok(ends_with(WH_EGONE) && !READ_ONCE(*device), "which_leaves_nothing_in_the_view");
	wh_ok(!reaches_anything() && is_forgotten(), "and_is_the_last_one");
	close_all();
}

static void test_attach_under_way(const char *point, const char *name)
{
	bool held;

	start_server();
	wh_point(point, "hold", 1);
	wh_leaf_start(client.vcpu, &client.as, 3, WH_LEAF_ATTACH, WH_ABI_VERSION,
		      wh_tramp_checksum(), 0, 0);
	held = wh_point_waits(point);
	kill_server();
	wh_point(point, "go", 0);
	held = wh_join(client.vcpu, 5) && held;
	client.index = client.vcpu->res.rbx;
	client.slot->index = client.index;
	wh_ok(held && is_forgotten() && !reaches_anything(), name);
	close_all();
}

/* A vCPU's thread looks at them, and ends with its process. */
static void test_endless(void)
{
	bool ended;

	shared->endless = true;
	start_server();
	kill(vmm, SIGKILL);
	ended = wh_poll(waitpid(vmm, NULL, WNOHANG) == vmm, 1000 * wh_patience());
	wh_ok(shared->endless && ended, "memory_ends_while_tables_that_never_end_are_looked_at");
	wh_ok(!reaches_anything() && is_forgotten(), "and_its_server_with_it");
	shared->endless = false;
	close_all();
}

static void test_points(void)
{
	if (!wh_points_there()) {
		wh_skip("memory_does_not_end_during_a_fill_of_it", "no points");
		wh_skip("which_leaves_nothing_in_the_view", "no points");
		wh_skip("and_is_the_last_one", "no points");
		wh_skip("nor_is_who_has_just_taken_the_pair_attached", "no points");
		wh_skip("nor_who_was_recorded_already", "no points");
		return;
	}
	test_fill_under_way();
	test_attach_under_way("reserve", "nor_is_who_has_just_taken_the_pair_attached");
	test_attach_under_way("attach", "nor_who_was_recorded_already");
}

static void prepare(void)
{
	int fd = wh_open_device();

	device = mmap(NULL, PAGES * WH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	shared = mmap(NULL, WH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (device == MAP_FAILED || shared == MAP_FAILED || pipe(ready) ||
	    pipe(become))
		wh_die("mmap");
	wh_host_fd();
	wh_window_create(&win, WH_PARTS * WH_PART_SIZE);
	wh_client_create_as(&client, CLIENT, WH_ROLE_CLIENT, &win, 0);
	words = (u64 *)(client.part_mem + WH_DATA_OFFSET);
}

int main(int argc, char **argv)
{
	long pins;

	if (argc > 1)
		return 42;
	wh_require_feature();
	wh_plan(24);
	wh_watchdog(90);
	prepare();
	pins = wh_pinned_pages();
	test_killed();
	test_order();
	test_exec();
	test_call_under_way(false, "call_in_the_view_ends_with_the_vmms_memory");
	test_call_under_way(true, "so_does_one_that_runs_in_the_server");
	test_endless();
	test_points();
	start_server();
	wh_ok(attaches(), "the_next_server_is_well");
	kill_server();
	wh_ok(!reaches_anything(), "and_ends_as_well");
	wh_ok(wh_poll(wh_pinned_pages() == pins, 1000), "no_page_stays_pinned");
	wh_diag("%ld pages pinned before, %ld now", pins, wh_pinned_pages());
	return wh_exit();
}
