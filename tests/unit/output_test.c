// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a driver that prints while a client fetches what was printed does not
 * sleep, and neither does the fetch. The kernel kills the process for a wait for a futex, and for a
 * wake-up (seccomp).
 */
#include "session_fixture.h"
#include "session/output.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS	5000

static char line[3000];
static int printed, stop;

static void forbid_futexes(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(5);
}

/* Prints as a driver does, whose standard output is the session's. */
static void *print(void *arg)
{
	(void)arg;
	forbid_futexes();
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (fwrite(line, 1, sizeof(line), stdout) != sizeof(line))
			_exit(6);
		__atomic_fetch_add(&printed, 1, __ATOMIC_RELAXED);
	}
	syscall(SYS_exit, 0);
	return NULL;
}

static uint32_t fetch(struct wh_session *s)
{
	const struct wh_rsp_whOutput *r = msg(s);

	request(s, WH_CALL_whOutput, sizeof(struct wh_req));
	return send(s, sizeof(struct wh_req)) == WH_OK && !r->hdr.result ? r->out : 0;
}

static void fetch_beside(struct wh_session *s, bool beside)
{
	uint64_t bytes = 0;
	pthread_t t;
	int i;

	if (!wh_output_capture() || (beside && pthread_create(&t, NULL, print, NULL)))
		_exit(4);
	forbid_futexes();
	for (i = 0; beside && (i < ROUNDS || __atomic_load_n(&printed, __ATOMIC_RELAXED) < ROUNDS);
	     i++)
		bytes += fetch(s);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	if (!beside)
		syscall(SYS_futex, &stop, 1, 1, NULL, NULL, 0);
	syscall(SYS_exit, beside && !bytes ? 7 : 0);
}

/* Returns 0 if all went well in a process of its own; otherwise what that process said. */
static int run(struct wh_session *s, bool beside)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		fetch_beside(s, beside);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);

	(void)argc;
	memset(line, 'a', sizeof(line));
	say_hello(s);
	tap_plan(1);
	if (run(s, false) != 1000 + SIGSYS)
		skip("driver_prints_while_a_client_fetches_and_nobody_sleeps", "no seccomp filters");
	else
		ok_eq(run(s, true), 0, "driver_prints_while_a_client_fetches_and_nobody_sleeps");
	wh_session_close(s);
	return tap_exit();
}
