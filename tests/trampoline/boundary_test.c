// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what holds between any two instructions of a delegated call, since an
 * interrupt can come there. In the client world the thread is an ordinary one, with its
 * own bases and stack; in the view the slot holds all that a suspended call needs to
 * unwind. It single-steps real calls, and suspends one at every boundary, with a signal
 * on top. It needs ptrace; the switch is faked.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "../tap.h"

#define STACK_SPAN	0x10000
#define GARBAGE		0x6a6a6a6a6a6a6a6aULL
#define MAX_STEPS	5000

static struct keep k;
static uint64_t flags;		/* of the caller, besides the usual ones */
static __thread int own_tls = 4711;
static volatile sig_atomic_t signals;

/* The handler is as greedy as it may be: all of the stack below is its own. */
static void on_signal(int sig)
{
	volatile char below[8192];

	(void)sig;
	memset((char *)below, 0x55, sizeof(below));
	signals += own_tls == 4711 ? 1 : 100;
}

/* --- The child: one call; its exit status says how it saw it -------------------- */

enum { DONE = 0, SUSPENDED_AND_FAILED = 10, WRONG = 20 };

static int judge(int64_t status)
{
	if (!fake_kept(&k) || fake_world->world != WH_WORLD_CLIENT)
		return WRONG;
	if (status == FAKE_STATUS && !signals && fake_handler_runs == 1)
		return DONE;
	if (status == WH_EGONE && signals == 1 && fake_continues == 1)
		return SUSPENDED_AND_FAILED;
	return WRONG;
}

static void child(void)
{
	signal(SIGUSR1, on_signal);
	fake_reset(&k);
	k.in.mxcsr = 0x7f80;
	k.in.fcw = 0x0b7f;
	k.in.rflags |= flags;
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	_exit(judge(fake_delegate(&k, FAKE_HANDLER)));
}

static pid_t start(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		child();
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL);
	return pid;
}

/* --- The parent: between two instructions ------------------------------------------ */

static struct user_regs_struct regs;

static uint64_t peek(pid_t pid, const void *at)
{
	return (uint64_t)ptrace(PTRACE_PEEKDATA, pid, at, NULL);
}

static int in_page(void)
{
	return regs.rip >= WH_TRAMPOLINE_VA && regs.rip < WH_TRAMPOLINE_VA + WH_PAGE_SIZE;
}

static int in_view(pid_t pid)
{
	return peek(pid, &fake_world->world) == WH_WORLD_SERVER;
}

static int is_clients(uint64_t rsp)
{
	uint64_t here = (uint64_t)&rsp;

	return rsp > here - STACK_SPAN && rsp < here + STACK_SPAN;
}

/* Is it an ordinary thread: with its own bases, and a stack on which a signal may grow? */
static int client_holds(void)
{
	return regs.fs_base == k.in.fs && regs.gs_base == k.in.gs && is_clients(regs.rsp);
}

/* Does the slot hold all that KVM loads when it suspends, unchanged on the way? */
static int view_holds(pid_t pid)
{
	return peek(pid, &fake_slot->client.fs) == k.in.fs &&
	       peek(pid, &fake_slot->client.gs) == k.in.gs &&
	       is_clients(peek(pid, &fake_slot->client.rsp)) &&
	       (regs.rsp == peek(pid, &fake_slot->client.rsp) ||
		(regs.rsp <= fake_stack_top() && regs.rsp > fake_stack_top() - WH_PAGE_SIZE));
}

/* Returns 1 if the child stopped again, or 0 if it is over. */
static int step(pid_t pid, int *status)
{
	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, status, 0) != pid ||
	    !WIFSTOPPED(*status))
		return 0;
	return !ptrace(PTRACE_GETREGS, pid, NULL, &regs);
}

struct walk {
	int client, view;	/* boundaries seen */
	int client_bad, view_bad;
	int status;
};

/* Steps through a whole call; stops after `until` boundaries in the view. */
static void walk(pid_t pid, struct walk *w, int until)
{
	int steps = 0;

	memset(w, 0, sizeof(*w));
	while (steps++ < MAX_STEPS && step(pid, &w->status)) {
		if (!in_page())
			continue;
		if (!in_view(pid)) {
			w->client++;
			w->client_bad += !client_holds();
			continue;
		}
		w->view_bad += !view_holds(pid);
		if (++w->view == until)
			return;
	}
}

/* Does what KVM does to suspend a call, then lets a signal arrive at once. */
static int suspend_here(pid_t pid)
{
	struct user_regs_struct r = regs;
	int status;
	long sig;

	ptrace(PTRACE_POKEDATA, pid, &fake_world->world, WH_WORLD_CLIENT);
	r.rax = r.rbx = r.rcx = r.rdx = r.rbp = GARBAGE;
	r.r8 = r.r9 = r.r10 = r.r11 = r.r12 = r.r13 = r.r14 = r.r15 = GARBAGE;
	r.rdi = FAKE_INDEX;
	r.rsi = FAKE_SLOT;
	r.rip = WH_TRAMPOLINE_VA + fake_page->pending;
	r.rsp = peek(pid, &fake_slot->client.rsp);
	r.fs_base = peek(pid, &fake_slot->client.fs);
	r.gs_base = peek(pid, &fake_slot->client.gs);
	r.eflags = 0x202;
	r.orig_rax = (uint64_t)-1;
	if (ptrace(PTRACE_SETREGS, pid, NULL, &r))
		return -1;
	/* fake_call() pushed its flags while it was stepped, so it traps once more. */
	for (sig = SIGUSR1, status = 0x7f; WIFSTOPPED(status); sig = 0)
		if (ptrace(PTRACE_CONT, pid, NULL, (void *)sig) ||
		    waitpid(pid, &status, 0) != pid)
			return -1;
		else if (WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP)
			break;
	if (!WIFEXITED(status))
		kill(pid, SIGKILL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

static int suspend_everywhere(int boundaries)
{
	int i, end, good = 0;
	struct walk w;
	pid_t pid;

	for (i = 1; i <= boundaries; i++) {
		pid = start();
		walk(pid, &w, i);
		end = w.view == i ? suspend_here(pid) : -1;
		good += end == SUSPENDED_AND_FAILED;
		if (end != SUSPENDED_AND_FAILED)
			diag("suspended at page offset 0x%llx: child ended with %d",
			     regs.rip - WH_TRAMPOLINE_VA, end);
	}
	return good;
}

static const char *cannot(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
	waitpid(pid, &status, 0);
	return status ? "this machine does not let us ptrace" : NULL;
}

int main(void)
{
	const char *lacks = fake_setup();
	struct walk w;

	tap_plan(6);
	if (!lacks)
		lacks = cannot();
	while (lacks && tap_run < tap_planned)
		skip("boundaries", lacks);
	if (lacks)
		return tap_exit();
	fake_reset(&k);
	walk(start(), &w, 0);
	ok(WIFEXITED(w.status) && WEXITSTATUS(w.status) == DONE, "stepped_call_works");
	diag("%d boundaries in the client world, %d in the view", w.client, w.view);
	ok(w.client > 30 && !w.client_bad,
	   "client_world_has_its_bases_and_stack_at_every_boundary");
	ok(w.view > 50 && !w.view_bad, "view_keeps_the_slot_complete_at_every_boundary");
	ok_eq(suspend_everywhere(w.view), w.view,
	      "call_suspended_at_any_boundary_takes_a_signal_and_unwinds");

	flags = RFLAGS_AC;
	walk(start(), &w, 0);
	ok(WIFEXITED(w.status) && WEXITSTATUS(w.status) == DONE && w.client > 40 && !w.client_bad &&
	   !w.view_bad, "stepped_call_of_a_caller_with_alignment_checks_works");
	ok_eq(suspend_everywhere(w.view), w.view, "and_one_suspended_at_any_boundary_unwinds");
	return tap_exit();
}
