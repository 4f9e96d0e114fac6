// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that signals may come while a call is under way. The handler runs
 * during the call, with this process's own thread area and memory, and the call goes on
 * and computes what it should.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <immintrin.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "../../tap.h"
#include "client.h"
#include "wormhole_abi.h"

#define CALL_MS		60
#define PERIOD_MS	10
#define START_NS	5000000000LL
#define AT_LEAST	3	/* of the six in one call */
#define OWN		0x6e776f5f73696874ULL
#define HWCAP2_FSGSBASE	2

static __thread volatile uint64_t own = OWN;
static __thread volatile int in_call;

/* The handler writes these; the program reads them when the call is over. */
static struct {
	volatile int during, elsewhere, wrong_tls, wrong_base, wrong_errno, not_pending;
} seen;
static uint64_t fs_base, gs_base;
static int *errno_at;
static int bases, by_vmfunc;
static uint64_t per_ms;

__attribute__((target("fsgsbase"))) static void read_bases(uint64_t *fs, uint64_t *gs)
{
	*fs = _readfsbase_u64();
	*gs = _readgsbase_u64();
}

static void check_bases(void)
{
	uint64_t fs, gs;

	if (!bases)
		return;
	read_bases(&fs, &gs);
	seen.wrong_base += fs != fs_base || gs != gs_base;
}

/* A suspended call waits in the trampoline, whose page has no other code of ours. */
static void check_rip(const ucontext_t *uc)
{
	uint64_t rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];

	seen.not_pending += by_vmfunc && rip - WH_TRAMPOLINE_VA >= WH_PAGE_SIZE;
}

static void handler(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)info;
	check_bases();
	seen.wrong_tls += own != OWN;
	seen.wrong_errno += &errno != errno_at;
	if (in_call) {
		seen.during++;
		check_rip(uc);
	} else {
		seen.elsewhere++;
	}
}

static void catch(int sig)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigaction(sig, &sa, NULL);
}

/* --- Where signals come from ------------------------------------------------------ */

static timer_t timer;
static pid_t sender;

static void interval_timer(int on)
{
	struct itimerval v = { { 0, on * PERIOD_MS * 1000 }, { 0, on * PERIOD_MS * 1000 } };

	setitimer(ITIMER_REAL, &v, NULL);
}

static void posix_timer(int on)
{
	struct itimerspec v = { { 0, PERIOD_MS * 1000000 }, { 0, PERIOD_MS * 1000000 } };
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };

	if (!on) {
		timer_delete(timer);
		return;
	}
	timer_create(CLOCK_MONOTONIC, &e, &timer);
	timer_settime(timer, 0, &v, NULL);
}

static void other_process(int on)
{
	pid_t parent = getpid();

	if (!on) {
		kill(sender, SIGKILL);
		waitpid(sender, NULL, 0);
		return;
	}
	sender = fork();
	if (sender)
		return;
	alarm(LIFE_S);
	for (;;) {
		usleep(PERIOD_MS * 1000);
		kill(parent, SIGUSR2);
	}
}

/* --- The test ------------------------------------------------------------------------ */

static CUresult call_with(struct spin *s, void (*source)(int))
{
	int64_t end = now_ns() + START_NS;
	CUresult res;

	memset((void *)&seen, 0, sizeof(seen));
	source(1);
	/* A process that sends signals needs a while to start. */
	while (!seen.elsewhere && now_ns() < end)
		usleep(1000);
	in_call = 1;
	res = spin_run(s, per_ms * CALL_MS, 77);
	in_call = 0;
	source(0);
	return res;
}

static int handlers_were_right(void)
{
	diag("%d signals in the call, %d outside of it; wrong: TLS %d, FS or GS base %d, errno %d, place %d",
	     seen.during, seen.elsewhere, seen.wrong_tls, seen.wrong_base, seen.wrong_errno,
	     seen.not_pending);
	/* One signal can come between the flag and the switch, at either end. */
	return seen.during >= AT_LEAST && !seen.wrong_tls && !seen.wrong_base &&
	       !seen.wrong_errno && seen.not_pending <= 2;
}

static void test(struct spin *s, const char *name, void (*source)(int))
{
	char text[128];
	uint64_t fs = fs_base, gs = gs_base;
	CUresult res = call_with(s, source);

	snprintf(text, sizeof(text), "%s_runs_its_handler_during_a_call", name);
	ok(handlers_were_right(), text);
	if (bases)
		read_bases(&fs, &gs);
	snprintf(text, sizeof(text), "a_call_goes_on_after_%s", name);
	ok(res == CUDA_SUCCESS && spin_is_right(s) && own == OWN && fs == fs_base && gs == gs_base,
	   text);
}

int main(void)
{
	const char *transport = getenv("WORMHOLE_TRANSPORT");
	struct spin s;

	tap_plan(6);
	by_vmfunc = transport && !strcmp(transport, "vmfunc");
	bases = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE;
	if (bases)
		read_bases(&fs_base, &gs_base);
	errno_at = &errno;
	per_ms = clocks_per_ms();
	start();
	alarm(0);		/* the test uses SIGALRM; the job has a time limit */
	spin_load(&s);
	catch(SIGALRM);
	catch(SIGUSR1);
	catch(SIGUSR2);
	test(&s, "interval_timer", interval_timer);
	test(&s, "posix_timer", posix_timer);
	test(&s, "signal_of_another_process", other_process);
	return tap_exit();
}
