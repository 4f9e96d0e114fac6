// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what a worker may still do in its sandbox, and what not. Each
 * behaviour runs in a child of its own. Dropping the user needs root; the filter needs a
 * kernel that has CONFIG_SECCOMP_FILTER.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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
#include <sys/un.h>
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

/* --- Workers whose ranks meet ------------------------------------------------------ */

static int refused(long rc)
{
	return rc < 0 && errno == EPERM;
}

static int makes_tcp_sockets(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 &&
	       socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) >= 0 &&
	       socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) >= 0;
}

static int makes_no_others(void)
{
	int pair[2];

	return refused(socket(AF_INET, SOCK_DGRAM, 0)) && refused(socket(AF_INET, SOCK_RAW, 6)) &&
	       refused(socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP)) &&
	       refused(socket(AF_INET6, SOCK_STREAM, 0)) &&
	       refused(socket(AF_NETLINK, SOCK_RAW, 0)) &&
	       refused(socket(AF_PACKET, SOCK_RAW, 0)) &&
	       refused(socket(AF_UNIX, SOCK_STREAM, 0)) &&
	       refused(socket(AF_UNIX, SOCK_DGRAM, 0)) &&
	       refused(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

static int connects_to_its_like(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int from = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(a);

	return !bind(to, (struct sockaddr *)&a, sizeof(a)) && !listen(to, 1) &&
	       !getsockname(to, (struct sockaddr *)&a, &size) &&
	       !connect(from, (struct sockaddr *)&a, sizeof(a));
}

/* The address may be anywhere, because names of the file system are longer than an IP address. */
static int connects_to_no_file(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "/run/dbus/system_bus_socket" };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	return refused(connect(fd, (struct sockaddr *)&a, sizeof(a))) &&
	       refused(connect(fd, (struct sockaddr *)&a, sizeof(struct sockaddr_in6))) &&
	       refused(chdir("/run")) && refused(fchdir(0));
}

static int gives_tcp_no_other_code(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	return !setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) &&
	       refused(setsockopt(fd, IPPROTO_TCP, 31, "tls", 3)) &&	/* TCP_ULP */
	       refused(setsockopt(fd, IPPROTO_IP, IP_TTL, &one, sizeof(one)));
}

static int cannot_connect(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	return refused(connect(-1, (struct sockaddr *)&a, sizeof(a)));
}

static int cannot_outlive(void)
{
	return refused(prctl(PR_SET_PDEATHSIG, 0)) && refused(prctl(PR_SET_PDEATHSIG, SIGTERM)) &&
	       !prctl(PR_SET_PDEATHSIG, SIGKILL) && !prctl(PR_SET_NAME, "worker");
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

	const struct wh_sandbox local = { .seccomp = 1, .local = true };
	const struct wh_sandbox ranks = { .seccomp = 1, .local = true, .tcp = true };

	tap_plan(19);
	ok_eq(answer(&filter, cannot_exec), YES, "worker_cannot_execute_programs");
	ok_eq(answer(&filter, cannot_open_sockets), YES, "worker_cannot_open_sockets");
	ok_eq(answer(&filter, stays_on_its_cpu), YES, "worker_in_a_vm_stays_on_its_cpu");
	ok_eq(answer(&filter, makes_no_process), YES, "worker_cannot_fork");
	ok_eq(answer(&filter, makes_threads), YES, "worker_can_make_threads");
	ok_eq(answer(&filter, can_map_memory), YES, "worker_can_map_memory");
	ok_eq(answer(&filter, cannot_outlive), YES, "worker_ends_with_its_parent_whatever_it_says");
	ok_eq(answer(&open, cannot_open_sockets), NO, "no_filter_where_none_is_wanted");
	ok_eq(answer(&open, has_no_core), YES, "worker_leaves_no_core_and_gains_nothing");
	ok_eq(with_old_thread(&filter), YES, "threads_that_exist_are_filtered_too");
	ok_eq(answer(&local, cannot_open_sockets), YES, "worker_beside_its_clients_opens_no_socket");
	ok_eq(answer(&local, cannot_connect), YES, "and_connects_to_nobody");
	ok_eq(answer(&ranks, makes_tcp_sockets), YES, "worker_whose_ranks_meet_makes_tcp_sockets");
	ok_eq(answer(&ranks, makes_no_others), YES, "and_none_of_another_kind");
	ok_eq(answer(&ranks, connects_to_its_like), YES, "it_connects_to_its_like");
	ok_eq(answer(&ranks, connects_to_no_file), YES, "and_to_no_socket_of_the_file_system");
	ok_eq(answer(&ranks, gives_tcp_no_other_code), YES, "it_gets_tcp_and_nothing_on_top");
	ok_eq(answer(&ranks, cannot_exec), YES, "all_else_is_as_for_others");
	if (geteuid())
		skip("worker_changes_its_user_for_good", "needs root");
	else
		ok_eq(answer(&user, is_nobody), YES, "worker_changes_its_user_for_good");
	return tap_exit();
}
