// SPDX-License-Identifier: GPL-2.0-only
/*
 * Server VM and client VM in two processes, as two QEMUs are: the client's
 * vCPU threads have another mm than the server's memory. Roles come from
 * WH_HOST_CREATE_ROLE. Each side may be killed at any moment. Needs VMFUNC.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "wormhole.h"

#define FRESH_PAGES	32

static s64 store_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 old = READ_ONCE(*(u64 *)a0);

	WRITE_ONCE(*(u64 *)a0, a1);
	return old;
}

static s64 wait_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 *word = (void *)WH_DATA_VA;

	if (a1)
		asm volatile("int3" ::: "memory");
	WRITE_ONCE(word[1], 1);
	while (READ_ONCE(word[0]) != a0)
		;
	return a0;
}

enum { H_NULL, H_ADD, H_STORE, H_WAIT };
static const wh_handler_fn handlers[] = {
	wh_null_handler, wh_sys_add_handler, store_handler, wait_handler,
};

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;

static u64 *words(void)
{
	return (u64 *)(srv.vm.window + WH_DATA_OFFSET);
}

/* The child: a client VM with its role from the control device. */
static void make_client(void)
{
	if (wh_role_fd(WH_ROLE_CLIENT, 2, WH_ROLE_NEXT_VM) < 0)
		wh_die("WH_HOST_CREATE_ROLE");
	wh_client_create_as(&client, 2, WH_ROLE_NONE, &srv.win, 0);
	if (wh_attach(&client))
		_exit(100);
}

/* Run @fn in a child with a client VM; its result is the exit status. */
static int in_child(int (*fn)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		wh_watchdog(30);
		make_client();
		_exit(fn());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

static int do_calls(void)
{
	u64 i;

	for (i = 0; i < 100; i++)
		if (wh_delegate(&client, H_NULL, i, 0).rax != 0x600d + i)
			return 1;
	return 0;
}

static int do_handoffs(void)
{
	u64 i;

	for (i = 0; i < 100; i++)
		if (wh_delegate(&client, H_ADD, i, 5).rax != i + 5)
			return 1;
	return 0;
}

static u64 all_handoffs(const struct wh_host_stat *st)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < WH_ARRAY_SIZE(st->handoffs); i++)
		sum += st->handoffs[i];
	return sum;
}

/* Pages of the server that its own process never touched. */
static int do_fresh_pages(void)
{
	u64 i;

	for (i = 0; i < FRESH_PAGES; i++)
		if (wh_delegate(&client, H_STORE, WH_LAZY_VA + i * WH_PAGE, i + 7).rax)
			return 1;
	return 0;
}

static int do_read_back(void)
{
	u64 i;

	for (i = 0; i < FRESH_PAGES; i++)
		if (wh_delegate(&client, H_STORE, WH_LAZY_VA + i * WH_PAGE, 0).rax != i + 7)
			return 1;
	return 0;
}

/* A page that the server's process waits for: its vCPU does, and the client's does not. */
static int do_absent_page(void)
{
	struct wh_host_stat before, now;
	u64 eintr;

	wh_stat(2, &before);
	wh_delegate_start(&client, client.vcpu, 0, H_STORE, WH_LAZY_VA, 1);
	if (!wh_poll(!wh_stat(2, &now) && all_handoffs(&now) != all_handoffs(&before), 5000))
		return 1;
	eintr = READ_ONCE(client.vcpu->res.eintr);
	wh_vcpu_kick(client.vcpu);
	return wh_poll(READ_ONCE(client.vcpu->res.eintr) != eintr, 2000) ? 0 : 2;
}

static int do_detach(void)
{
	return wh_detach(&client) ? 1 : 0;
}

/* The last client has gone; a new one for the same worker's part. */
static bool next_worker(void)
{
	if (!wh_join(worker.vcpu, 2) || (s64)worker.vcpu->res.rax != WH_EGONE)
		return false;
	wh_worker_again(&worker);
	return true;
}

static void test_calls(void)
{
	u64 i, right = 0;
	int fd;

	wh_eq(in_child(do_calls), 0, "calls_from_another_process_work");
	wh_ok(next_worker(), "worker_learns_of_process_end");
	wh_eq(in_child(do_handoffs), 0, "handoffs_from_another_process_work");
	wh_ok(next_worker(), "worker_learns_of_process_end_again");

	for (i = 0; i < FRESH_PAGES; i++)
		wh_map(&worker.as, WH_LAZY_VA + i * WH_PAGE,
		       worker.lazy_gpa + i * WH_PAGE, WH_USER_RW);
	/* Gone from the process; the server's own vCPU brings them back. */
	if (madvise(wh_gpa(&srv.vm, worker.lazy_gpa), FRESH_PAGES * WH_PAGE,
		    MADV_DONTNEED))
		wh_die("madvise");
	wh_eq(in_child(do_fresh_pages), 0,
	      "pages_not_present_in_the_server_process_are_met_by_the_server");
	wh_ok(next_worker(), "worker_learns_of_that_end");
	for (i = 0; i < FRESH_PAGES; i++)
		right += *(u64 *)wh_gpa(&srv.vm, worker.lazy_gpa + i * WH_PAGE) == i + 7;
	wh_eq(right, FRESH_PAGES, "server_process_reads_what_the_view_wrote");
	wh_eq(in_child(do_read_back), 0, "next_client_reads_it_too");
	wh_ok(next_worker(), "worker_is_free_again");
	fd = wh_take_away(wh_gpa(&srv.vm, worker.lazy_gpa));
	if (fd < 0)
		wh_skip("who_waits_for_the_server_is_not_deaf", "no userfaultfd");
	else
		wh_eq(in_child(do_absent_page), 0, "who_waits_for_the_server_is_not_deaf");
	close(fd);
	if (fd >= 0)
		next_worker();
	wh_eq(in_child(do_detach), 0, "detach_from_another_process_works");
	wh_ok(next_worker(), "worker_learns_of_detach");
}

/* The client's process dies by SIGKILL while its call is in @where. */
static void test_client_killed(u64 handed_off, const char *name)
{
	struct wh_host_stat st;
	bool there;
	pid_t pid;

	words()[0] = words()[1] = 0;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		wh_watchdog(30);
		make_client();
		wh_delegate(&client, H_WAIT, 5, handed_off);
		_exit(0);
	}
	there = wh_poll(words()[1], 500);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	words()[0] = 5;
	wh_ok(wh_poll(wh_stat(2, &st) == -ENOENT, 300) && there && next_worker() &&
	      !in_child(do_calls) && next_worker(), name);
}

static int started[2];

static void start_server(void)
{
	wh_server_register(&srv);
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
}

/* The server's process dies; the client, here, must get its call back. */
static void test_server_killed(u64 handed_off, const char *name)
{
	struct wh_host_stat st;
	struct wh_window win;
	bool there, back;
	char byte = 1;
	pid_t pid;

	wh_window_create(&win, WH_PARTS * WH_PART_SIZE);
	if (pipe(started))
		wh_die("pipe");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		wh_server_create_as(&srv, 7, WH_ROLE_SERVER, &win);
		start_server();
		if (write(started[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	if (read(started[0], &byte, 1) != 1)
		wh_die("no server");
	wh_client_create_as(&client, 3, WH_ROLE_CLIENT, &win, 0);
	wh_allow(3, 7, 0, 1);
	there = !wh_attach(&client);
	wh_start(client.vcpu, &client.as, 3, wh_guest_delegate, H_WAIT, 5, handed_off, 0);
	there &= wh_poll(((u64 *)(client.part_mem + WH_DATA_OFFSET))[1], 500);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	back = wh_join(client.vcpu, 2);
	if (!wh_ok(there && back && (s64)client.vcpu->res.rax == WH_EGONE &&
		   wh_poll(wh_stat(7, &st) == -ENOENT, 300), name))
		wh_diag("there %d back %d rax %lld", there, back,
			(long long)client.vcpu->res.rax);
	wh_client_destroy(&client);
	close(win.fd);
	close(started[0]);
	close(started[1]);
}

int main(void)
{
	wh_require_feature();
	wh_plan(16);
	wh_watchdog(90);
	/* Forks while this process has no thread and no VM. */
	test_server_killed(0, "server_process_killed_while_call_in_view");
	test_server_killed(1, "server_process_killed_while_call_handed_off");

	if (wh_role_fd(WH_ROLE_SERVER, 1, WH_ROLE_NEXT_VM) < 0)
		wh_die("WH_HOST_CREATE_ROLE");
	wh_window_create(&srv.win, WH_PARTS * WH_PART_SIZE);
	wh_server_create_as(&srv, 1, WH_ROLE_NONE, &srv.win);
	start_server();
	wh_allow(2, 1, 0, 1);
	test_calls();
	test_client_killed(0, "client_process_killed_while_call_in_view");
	test_client_killed(1, "client_process_killed_while_call_handed_off");
	return wh_exit();
}
