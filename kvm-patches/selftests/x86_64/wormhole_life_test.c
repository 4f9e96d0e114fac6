// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ends of every kind, at every moment: detach, RELEASE, KILL, DENY, VM death,
 * process death; idle, in the view, suspended, handed off. The other side
 * learns it, nothing is leaked, and the server serves the next client.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "wormhole.h"

/* The same after a handoff: on the server's own vCPU. */
static s64 wait_there_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	asm volatile("int3" ::: "memory");
	return wh_wait_handler(session, slot, a0, a1);
}

enum { H_WAIT, H_WAIT_THERE };
static const wh_handler_fn handlers[] = { wh_wait_handler, wait_there_handler };
static const char * const where[] = { "in_view", "handed_off" };

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
/* The worker was, by its kernel. */
static bool released;

static u64 *words(void)
{
	return (u64 *)(srv.vm.window + WH_DATA_OFFSET);
}

static bool point(bool cond, const char *what, const char *when)
{
	char name[192];

	snprintf(name, sizeof(name), "%s_%s", what, when);
	return wh_ok(cond, name);
}

static void make_client(void)
{
	wh_client_create(&client, 2, &srv, 0);
	wh_allow(2, 1, 0, 1);
	if (wh_attach(&client))
		wh_die("attach");
}

/* A call that waits in @handler, seen to be there. */
static bool start_call(u64 handler)
{
	words()[0] = 0;
	words()[1] = 0;
	wh_start(client.vcpu, &client.as, 3, wh_guest_delegate, handler, 77, 0, 0);
	return wh_poll(words()[1], 300);
}

static bool call_returns(s64 status)
{
	if (!wh_join(client.vcpu, 1)) {
		wh_diag("the call does not return");
		wh_vcpu_stop(client.vcpu);
		return false;
	}
	if (client.vcpu->res.end == WH_END_DONE && (s64)client.vcpu->res.rax == status)
		return true;
	wh_diag("end %d rax %lld vector %llu rip 0x%llx", client.vcpu->res.end,
		(long long)client.vcpu->res.rax,
		(unsigned long long)client.vcpu->res.vector,
		(unsigned long long)client.vcpu->res.rip);
	return false;
}

/*
 * The worker's thread learns that its client is gone; who is released in the
 * middle of a call has nowhere to bring it.
 */
static bool worker_ends(void)
{
	u64 leave = WH_TRAMPOLINE_VA + wh_tramp_header()->leave;
	const struct wh_result *r = &worker.vcpu->res;

	words()[0] = 77;
	if (!wh_join(worker.vcpu, 1)) {
		wh_diag("the worker does not end");
		wh_vcpu_stop(worker.vcpu);
		return false;
	}
	if (r->end == WH_END_DONE && (s64)r->rax == (released ? WH_ENOENT : WH_EGONE))
		return true;
	if (released && r->end == WH_END_TRAP && r->vector == 6 && r->rip == leave)
		return true;
	wh_diag("worker: end %d rax %lld vector %llu rip 0x%llx",
		worker.vcpu->res.end, (long long)worker.vcpu->res.rax,
		(unsigned long long)worker.vcpu->res.vector,
		(unsigned long long)worker.vcpu->res.rip);
	return false;
}

/* What every end must leave behind: a server that serves the next client. */
static bool next_call_works(void)
{
	if (client.vm.fd < 0)
		make_client();
	else if (wh_attach(&client))
		return false;
	return start_call(H_WAIT) && (words()[0] = 77, call_returns(77));
}

static void check_after(const char *what, const char *when)
{
	char name[128];

	snprintf(name, sizeof(name), "worker_ends_after_%s", what);
	point(worker_ends(), name, when);
	released = false;
	wh_release(&worker);
	wh_worker_again(&worker);
	snprintf(name, sizeof(name), "next_call_works_after_%s", what);
	point(next_call_works(), name, when);
}

static void end_by_detach(void)
{
	wh_eq(wh_detach(&client), WH_OK, "detach_when_idle");
	check_after("detach", "when_idle");
}

static void end_of_client_vm(int handler)
{
	const char *when = handler < 0 ? "when_idle" : where[handler];

	if (handler >= 0)
		start_call(handler);
	wh_client_destroy(&client);
	check_after("client_vm_death", when);
}

/* RELEASE, KILL and DENY return when nobody is in the view any more. */
static s64 end_by_release(void) { released = true; return wh_release(&worker); }
static s64 end_by_kill_client(void) { return wh_kill(2); }
static s64 end_by_kill_server(void) { return wh_kill(1); }
static s64 end_by_deny(void) { return wh_deny(2); }

static void end_by(s64 (*fn)(void), const char *what, int handler)
{
	char name[128];

	start_call(handler);
	point(!fn(), what, where[handler]);
	snprintf(name, sizeof(name), "call_fails_after_%s", what);
	point(call_returns(WH_EGONE), name, where[handler]);
	wh_allow(2, 1, 0, 1);
	check_after(what, where[handler]);
}

static void end_while_suspended(void)
{
	start_call(H_WAIT);
	wh_vcpu_stop(client.vcpu);
	wh_eq(end_by_release(), WH_OK, "release_while_suspended");
	wh_resume(client.vcpu);
	wh_ok(call_returns(WH_EGONE), "call_fails_after_release_while_suspended");
	check_after("release", "while_suspended");
}

static void end_of_server_vm(int handler)
{
	start_call(handler);
	wh_vm_destroy(&srv.vm);
	point(call_returns(WH_EGONE), "call_fails_after_server_vm_death", where[handler]);
	wh_client_destroy(&client);
	close(srv.win.fd);
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	point(next_call_works(), "next_server_works_after_server_vm_death", where[handler]);
}

/* A process that was killed: its kernel clears the entry on the way. */
static void end_of_client_process(void)
{
	u64 *top = wh_gpa(&client.vm, client.as.cr3), *entry, saved;

	entry = &top[(WH_WINDOW_VA >> 39) & 511];
	saved = *entry;
	*entry = 0;
	wh_ok(wh_join(worker.vcpu, 4), "vanished_client_process_is_noticed");
	*entry = saved;
	check_after("process_death", "when_idle");
}

/* What looks for processes that have ended comes by this one's pair first. */
static void end_beside_an_absent_table(void)
{
	u64 *top = wh_gpa(&client.vm, client.as.cr3), *entry;
	static struct wh_worker other;
	u8 saved[WH_PAGE];
	struct wh_as as;
	bool noticed;
	int fd;

	wh_worker_start(&other, &srv, 1, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_as(&as, &client, 1);
	wh_allow(2, 1, 0, 2);
	wh_eq(wh_leaf(client.vcpu, &as, 3, WH_LEAF_ATTACH, WH_ABI_VERSION, wh_tramp_checksum(),
		      0, 0).rax, WH_OK, "another_process_of_the_client_attaches");
	memcpy(saved, top, WH_PAGE);
	fd = wh_take_away(top);
	entry = wh_gpa(&client.vm, as.cr3);
	entry[(WH_WINDOW_VA >> 39) & 511] = 0;
	noticed = wh_join(other.vcpu, 4) && worker.vcpu->running;
	if (fd < 0)
		wh_skip("its_end_is_noticed_while_the_first_table_is_absent", "no userfaultfd");
	else
		wh_ok(noticed, "its_end_is_noticed_while_the_first_table_is_absent");
	/* Back, and empty. */
	close(fd);
	memset(top, 0, WH_PAGE);
	wh_ok(wh_join(worker.vcpu, 4), "so_is_that_of_the_first_one_once_it_is_there");
	memcpy(top, saved, WH_PAGE);
	wh_release(&other);
	check_after("end_of_another_process", "with_an_absent_table");
}

static long used_kb(void)
{
	usleep(50000);		/* let RCU free what is free */
	return -wh_free_kb();
}

/*
 * A page in every second round is a leak, less is noise. What the kernel keeps
 * for later comes and goes, and weighs less the longer this lasts.
 */
static void no_leak(void (*round)(void), int rounds, const char *name)
{
	long before, more;
	int i, done = 0;

	for (i = 0; i < 5; i++)
		round();
	before = used_kb();
	do {
		for (i = 0; i < rounds; i++)
			round();
		done += rounds;
		more = used_kb() - before;
		wh_diag("%ld kB more in use after %d rounds, %ld kB free", more, done,
			wh_free_kb());
	} while (more >= 2 * done && done < 10 * rounds);
	wh_ok(more < 2 * done, name);
}

static void round_of_pair(void)
{
	if (wh_detach(&client))
		wh_die("detach");
	wh_worker_again(&worker);
	if (!next_call_works())
		wh_die("call");
}

static void round_of_client_vm(void)
{
	wh_client_destroy(&client);
	wh_worker_again(&worker);
	if (!next_call_works())
		wh_die("call");
}

/* Both VMs in one process with a call in the view, and SIGKILL. */
static void end_by_sigkill(int handler)
{
	struct wh_host_stat st;
	int ready[2], status;
	char byte;
	pid_t pid;

	fflush(stdout);
	if (pipe(ready))
		wh_die("pipe");
	pid = fork();
	if (!pid) {
		wh_server_create(&srv, 1);
		wh_server_register(&srv);
		wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
		make_client();
		byte = start_call(handler);
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1 || !byte)
		wh_diag("the child's call does not start");
	close(ready[0]);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	point(wh_poll(wh_stat(1, &st) == -ENOENT && wh_stat(2, &st) == -ENOENT, 500),
	      "sigkill_ends_both_vms", where[handler]);
}

int main(void)
{
	int i;

	wh_require_feature();
	wh_plan(63);
	wh_watchdog(90);
	for (i = 0; i < 2; i++)
		end_by_sigkill(i);
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	make_client();
	end_by_detach();
	end_of_client_process();
	end_beside_an_absent_table();
	end_while_suspended();
	end_of_client_vm(-1);
	for (i = 0; i < 2; i++) {
		end_of_client_vm(i);
		end_by(end_by_release, "release", i);
		end_by(end_by_kill_client, "kill_of_client", i);
		end_by(end_by_kill_server, "kill_of_server", i);
		end_by(end_by_deny, "deny", i);
		end_of_server_vm(i);
	}
	no_leak(round_of_pair, 100, "100_pairs_leak_nothing");
	no_leak(round_of_client_vm, 40, "40_client_vms_leak_nothing");
	wh_client_destroy(&client);
	wh_server_destroy(&srv);
	wh_eq(wh_pinned_pages(), 0, "every_pinned_page_is_unpinned");
	return wh_exit();
}
