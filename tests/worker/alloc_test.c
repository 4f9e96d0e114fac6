// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises malloc() of a worker as a library sees it that is loaded as a backend is. Slots
 * that allocate at once make no system call; the kernel kills a process for one (seccomp). Other
 * threads nap while they wait, and forks and signal handlers may come at any time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "state/messages.h"
#include "vm/interpose.h"
#include "vm/memory.h"
#include "../tap.h"

#define ROUNDS		50000
#define FORKS		200
#define HEAP		(8 << 20)
#define PATIENCE_S	60	/* then something hangs */

static bool (*lib_round)(void), (*lib_refuses)(void);
static void *(*lib_pvalloc)(size_t size);

FILE *wh_messages(void)
{
	return stderr;
}

/* From now on the kernel kills the process for any system call of this thread but exit. */
static void forbid_all_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(5);
}

/* --- Two threads that allocate at once ------------------------------------------------ */

static int others;	/* rounds that the other thread has done */
static int stop;

static int done(void)
{
	return __atomic_load_n(&others, __ATOMIC_RELAXED);
}

static void *allocate_as_slot(void *arg)
{
	(void)arg;
	wh_interpose_slot_thread();
	forbid_all_calls();
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (!lib_round())
			syscall(SYS_exit_group, 6);
		__atomic_fetch_add(&others, 1, __ATOMIC_RELAXED);
	}
	syscall(SYS_exit, 0);
	return NULL;
}

static void *allocate(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (!lib_round())
			_exit(6);
		__atomic_fetch_add(&others, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Allocates as a slot's thread until it and the thread beside it have done their rounds. */
static void beside(void *(*other)(void *))
{
	pthread_t t;
	int mine;

	if (other && pthread_create(&t, NULL, other, NULL))
		_exit(4);
	wh_interpose_slot_thread();
	forbid_all_calls();
	for (mine = 0; mine < ROUNDS || (other && done() < ROUNDS); mine++)
		if (!lib_round())
			syscall(SYS_exit, 6);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

static void two_slots(void)
{
	beside(allocate_as_slot);
}

static void slot_and_driver(void)
{
	beside(allocate);
}

static void one_call(void)
{
	beside(NULL);
	getppid();
}

/* Returns 0 if all went well in a process of its own; otherwise what that process said. */
static int run(void (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(PATIENCE_S);
		fn();
		syscall(SYS_exit, 0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* --- A thread that stands still inside of the arena ----------------------------------- */

static int hold, held;
static int raised;		/* a signal to raise there */

/* Replaces the C library's function, for alloc.c: the thread has the lock in here. */
void *__libc_pvalloc(size_t size)
{
	(void)size;
	if (raised)
		raise(raised);
	__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&hold, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
	return NULL;
}

static void *stand_still(void *arg)
{
	lib_pvalloc(1);
	return arg;
}

static int waiter;		/* its thread id */
static bool waits_as_slot;

static void await(const int *word)
{
	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

static void *wait_for_lock(void *arg)
{
	(void)arg;
	if (waits_as_slot)
		wh_interpose_slot_thread();
	__atomic_store_n(&waiter, gettid(), __ATOMIC_RELEASE);
	await(&held);
	return lib_round() ? &waiter : NULL;
}

/* Says how often a thread has slept. It allocates nothing, since another thread has the lock. */
static long naps(pid_t tid)
{
	char path[64], text[8192] = "", *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		_exit(7);
	close(fd);
	at = strstr(text, "\nvoluntary_ctxt_switches:");
	return at ? atol(strchr(at, '\t')) : -1;
}

static void start_thread(pthread_t *t, void *(*fn)(void *))
{
	if (pthread_create(t, NULL, fn, NULL))
		_exit(4);
}

/* The waiting thread naps several times while another one has the lock, then gets it. */
static void wait_long(void)
{
	pthread_t holder, t;
	void *good;
	long before;

	hold = 1;
	start_thread(&t, wait_for_lock);
	await(&waiter);
	before = naps(waiter);
	start_thread(&holder, stand_still);
	while (naps(waiter) < before + 5)
		sched_yield();
	__atomic_store_n(&hold, 0, __ATOMIC_RELEASE);
	pthread_join(t, &good);
	pthread_join(holder, NULL);
	if (!good)
		_exit(6);
}

static void driver_waits(void)
{
	wait_long();
}

static void slot_waits(void)
{
	waits_as_slot = true;
	wait_long();
}

/* --- Signals and forks ----------------------------------------------------------------- */

static bool handled;

static void allocate_in_handler(int sig)
{
	(void)sig;
	handled = lib_round();
}

static void signal_inside(void)
{
	signal(SIGUSR1, allocate_in_handler);
	raised = SIGUSR1;
	lib_pvalloc(1);
	if (!handled || !lib_round())
		_exit(6);
}

static void child_of_fork(void)
{
	alarm(PATIENCE_S);
	_exit(lib_round() ? 0 : 6);
}

/* Forks while another thread is in the arena nearly always. */
static void forks(void)
{
	int i, status;
	pthread_t t;
	pid_t pid;

	start_thread(&t, allocate);
	for (i = 0; i < FORKS; i++) {
		pid = fork();
		if (!pid)
			child_of_fork();
		if (waitpid(pid, &status, 0) != pid || status || !lib_round())
			_exit(8);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
}

/* --- The points ------------------------------------------------------------------------ */

static void test_slots(void)
{
	if (run(one_call) != 1000 + SIGSYS) {
		skip("slots_that_allocate_at_once_make_no_system_call", "no seccomp filters");
		skip("nor_does_a_slot_beside_a_thread_of_the_driver", "no seccomp filters");
		return;
	}
	ok_eq(run(two_slots), 0, "slots_that_allocate_at_once_make_no_system_call");
	ok_eq(run(slot_and_driver), 0, "nor_does_a_slot_beside_a_thread_of_the_driver");
}

static void load(char *self)
{
	char path[4096];
	void *lib;

	*strrchr(self, '/') = 0;
	snprintf(path, sizeof(path), "%s/alloc_lib.so", self);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&lib_round = dlsym(lib, "lib_round");
	*(void **)&lib_refuses = dlsym(lib, "lib_refuses");
	*(void **)&lib_pvalloc = dlsym(lib, "lib_pvalloc");
}

int main(int argc, char **argv)
{
	(void)argc;
	if (wh_memory_tune(argv) || wh_memory_heap(HEAP))
		return 1;
	load(argv[0]);
	tap_plan(8);
	ok(lib_round(), "each_function_gives_memory_as_asked");
	ok(lib_refuses(), "sizes_and_alignments_that_cannot_be_are_refused");
	test_slots();
	ok_eq(run(driver_waits), 0, "other_threads_nap_while_they_wait");
	ok_eq(run(slot_waits), 0, "slots_thread_naps_at_last");
	ok_eq(run(signal_inside), 0, "signal_handler_may_allocate_where_it_interrupts_that");
	ok_eq(run(forks), 0, "forks_wait_for_other_threads_and_children_allocate");
	return tap_exit();
}
