// SPDX-License-Identifier: Apache-2.0
/*
 * What a worker may still do in its sandbox, and what not. Each behaviour in a
 * child of its own. Dropping the user needs root; the filter a kernel that has
 * CONFIG_SECCOMP_FILTER.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protect/sandbox.h"
#include "../tap.h"

enum { YES = 0, NO = 1, NO_SANDBOX = 2 };
static char *const argv[] = { "true", NULL };

static int answer(const struct wh_sandbox *s, int (*question)(void))
{
	char err[256];
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (wh_sandbox_enter(s, err, sizeof(err))) {
			fprintf(stderr, "# %s\n", err);
			_exit(NO_SANDBOX);
		}
		_exit(question() ? YES : NO);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

static int cannot_exec(void)
{
	return execv("/bin/true", argv) && errno == EPERM;
}

static int cannot_open_sockets(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM;
}

static int stays_on_its_cpu(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	return sched_setaffinity(0, sizeof(all), &all) && errno == EPERM;
}

static int makes_no_process(void)
{
	char args[88] = { 0 };	/* of clone3(): no flags */

	return fork() < 0 && errno == EPERM && syscall(SYS_fork) < 0 && errno == EPERM &&
	       syscall(SYS_vfork) < 0 && errno == EPERM &&
	       syscall(SYS_clone, CLONE_VM | SIGCHLD, 0, 0, 0, 0) < 0 && errno == EPERM &&
	       syscall(SYS_clone3, args, sizeof(args)) < 0 && errno == ENOSYS;
}

static void *nothing(void *arg)
{
	return arg;
}

static int makes_threads(void)
{
	pthread_t t;

	return !pthread_create(&t, NULL, nothing, NULL) && !pthread_join(t, NULL);
}

static int can_map_memory(void)
{
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static int has_no_core(void)
{
	struct rlimit r;

	return !getrlimit(RLIMIT_CORE, &r) && !r.rlim_max &&
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && !prctl(PR_GET_DUMPABLE);
}

static int is_nobody(void)
{
	uid_t r, e, s;

	return !getresuid(&r, &e, &s) && r == 65533 && e == 65533 && s == 65533 &&
	       getgid() == 65532 && !getgroups(0, NULL) && setuid(0);
}

/* A thread that exists before the sandbox, as a driver's would. */
static int go[2];

static void *other_thread(void *arg)
{
	char c;

	if (read(go[0], &c, 1) != 1)
		return NULL;
	*(int *)arg = cannot_open_sockets();
	return NULL;
}

static int filtered_too;
static pthread_t thread;

static int old_thread_is_filtered(void)
{
	return write(go[1], "x", 1) == 1 && !pthread_join(thread, NULL) && filtered_too;
}

static int with_old_thread(const struct wh_sandbox *s)
{
	char err[256];
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (pipe(go) || pthread_create(&thread, NULL, other_thread, &filtered_too))
			_exit(NO);
		if (wh_sandbox_enter(s, err, sizeof(err)))
			_exit(NO_SANDBOX);
		_exit(old_thread_is_filtered() ? YES : NO);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

int main(void)
{
	const struct wh_sandbox filter = { .seccomp = 1 }, open = { .seccomp = 0 };
	const struct wh_sandbox user = { .uid = 65533, .gid = 65532 };

	tap_plan(10);
	ok_eq(answer(&filter, cannot_exec), YES, "worker_cannot_execute_programs");
	ok_eq(answer(&filter, cannot_open_sockets), YES, "worker_cannot_open_sockets");
	ok_eq(answer(&filter, stays_on_its_cpu), YES, "worker_in_a_vm_stays_on_its_cpu");
	ok_eq(answer(&filter, makes_no_process), YES, "worker_cannot_fork");
	ok_eq(answer(&filter, makes_threads), YES, "worker_can_make_threads");
	ok_eq(answer(&filter, can_map_memory), YES, "worker_can_map_memory");
	ok_eq(answer(&open, cannot_open_sockets), NO, "no_filter_where_none_is_wanted");
	ok_eq(answer(&open, has_no_core), YES, "worker_leaves_no_core_and_gains_nothing");
	ok_eq(with_old_thread(&filter), YES, "threads_that_exist_are_filtered_too");
	if (geteuid())
		skip("worker_changes_its_user_for_good", "needs root");
	else
		ok_eq(answer(&user, is_nobody), YES, "worker_changes_its_user_for_good");
	return tap_exit();
}
