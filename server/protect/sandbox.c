// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the way into the sandbox. A worker enters it before the first client comes, and cannot leave
 * it. The driver itself starts inside, with the client's CUDA_* variables, so its device files must
 * exist and be open to the worker's user. Threads that exist by then get the filter too (TSYNC),
 * and the uid by glibc. They do not get Landlock, which holds for the thread that asks for it and
 * for those that it makes. So over shm there are two steps (daemon/worker.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protect/sandbox.h"

#define X32_BIT		0x40000000
#define IO_PRIORITY_OF_ONE	1	/* IOPRIO_WHO_PROCESS; not all systems have its header */

/* These fail with EPERM: they are a hijacked worker's way to larger parts of the kernel. */
static const unsigned short refused[] = {
	SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
	SYS_pidfd_getfd, SYS_kcmp, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
	SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
	SYS_socketpair, SYS_add_key, SYS_request_key, SYS_keyctl,
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount,
	SYS_fsopen, SYS_fsmount, SYS_fsconfig, SYS_fspick, SYS_mount_setattr,
	SYS_unshare, SYS_setns, SYS_init_module, SYS_finit_module, SYS_delete_module,
	SYS_kexec_load, SYS_kexec_file_load, SYS_reboot, SYS_swapon, SYS_swapoff,
	SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_personality, SYS_syslog, SYS_acct,
	SYS_quotactl, SYS_sethostname, SYS_setdomainname, SYS_settimeofday,
	SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_open_by_handle_at,
	SYS_name_to_handle_at, SYS_fanotify_init, SYS_lookup_dcookie, SYS_vhangup,
	SYS_mknod, SYS_mknodat, SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid,
	SYS_setresuid, SYS_setresgid, SYS_setgroups, SYS_setfsuid, SYS_setfsgid,
	SYS_capset, SYS_fork, SYS_vfork,
};

/* A worker over shm shares its kernel with everybody, so it must reach no other process. */
static const unsigned short refused_to_local[] = {
	SYS_tkill,
	SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal, SYS_pidfd_open,
	SYS_process_madvise, SYS_move_pages, SYS_migrate_pages, SYS_setpgid, SYS_setsid,
	SYS_mq_open, SYS_inotify_init, SYS_inotify_init1,
	/* These objects stay when their maker has ended, and every process of the user has them. */
	SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl,
	SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl,
};

/* Its CPU is its slot's vCPU; every other CPU belongs to another tenant. */
static const unsigned short refused_in_vm[] = { SYS_socket, SYS_sched_setaffinity };

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define STMT(c, k)	((struct sock_filter)BPF_STMT(c, k))
#define JUMP(c, k, t, f) ((struct sock_filter)BPF_JUMP(c, k, t, f))
#define DATA(field)	STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RET(action)	STMT(BPF_RET | BPF_K, action)
#define MAX_FILTER	512

struct filter {
	struct sock_filter f[MAX_FILTER];
	unsigned int n;
};

static void add(struct filter *p, struct sock_filter f)
{
	if (p->n < MAX_FILTER)
		p->f[p->n] = f;
	p->n++;
}

static void refuse(struct filter *p, const unsigned short *calls, size_t n, int error)
{
	size_t i;

	for (i = 0; i < n; i++) {
		add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1));
		add(p, RET(SECCOMP_RET_ERRNO | error));
	}
}

/*
 * Allows the call only if its argument, an int, is one of two values. Afterwards the loaded value
 * is the call's number again.
 */
static void only_with(struct filter *p, int call, int arg, uint32_t a, uint32_t b)
{
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 5));
	add(p, DATA(args[arg]));
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, a, 2, 0));
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, b, 1, 0));
	add(p, RET(SECCOMP_RET_ERRNO | EPERM));
	add(p, DATA(nr));
}

static void not_with(struct filter *p, int call, int arg, uint32_t a, uint32_t b)
{
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 5));
	add(p, DATA(args[arg]));
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, a, 1, 0));
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, b, 0, 1));
	add(p, RET(SECCOMP_RET_ERRNO | EPERM));
	add(p, DATA(nr));
}

/*
 * Allows threads, but no processes: a process that a worker left behind would have its user and its
 * part of the window. The flags of clone3() are in memory, where no filter sees them; libraries use
 * clone() if the kernel has no clone3().
 */
static void add_threads_only(struct filter *p)
{
	static const unsigned short clone3[] = { SYS_clone3 };

	refuse(p, clone3, 1, ENOSYS);
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
	add(p, DATA(args[0]));
	add(p, JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
	add(p, RET(SECCOMP_RET_ERRNO | EPERM));
	add(p, DATA(nr));
}

/* A worker ends with its server or supervisor. It may ask for that, but not take it back. */
static void add_end_with_parent(struct filter *p)
{
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 6));
	add(p, DATA(args[0]));
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 0, 3));
	add(p, DATA(args[1]));
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGKILL, 1, 0));
	add(p, RET(SECCOMP_RET_ERRNO | EPERM));
	add(p, DATA(nr));
}

/*
 * Others have the same memory mapped: the tenant's counters and seat, the client's part. If memory
 * is taken out of it, their processes fault.
 */
static void add_no_holes(struct filter *p)
{
	not_with(p, SYS_madvise, 2, MADV_REMOVE, MADV_REMOVE);
	only_with(p, SYS_fallocate, 1, 0, FALLOC_FL_KEEP_SIZE);
}

/*
 * NVIDIA's driver listens on one socket of this kind, and does not start without it; nobody can
 * connect to it.
 */
static void add_no_network(struct filter *p)
{
	static const unsigned short connecting[] = { SYS_connect };

	refuse(p, connecting, COUNT(connecting), EPERM);
	only_with(p, SYS_socket, 0, AF_UNIX, AF_UNIX);
	only_with(p, SYS_socket, 1, SOCK_SEQPACKET, SOCK_SEQPACKET | SOCK_CLOEXEC);
}

/*
 * Allows sockets of the driver's kind, and TCP. connect() needs an address of IPv4's size. The
 * address of a socket in the file system may have that size, too: then it has 14 characters, from
 * the root on, and is of the driver's kind.
 */
static void add_tcp(struct filter *p)
{
	static const unsigned short moving[] = { SYS_chdir, SYS_fchdir };

	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 14));
	add(p, DATA(args[0]));
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 4, 0));
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 8));
	add(p, DATA(args[1]));
	add(p, STMT(BPF_ALU | BPF_AND | BPF_K, ~(uint32_t)SOCK_CLOEXEC));
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_SEQPACKET, 6, 5));
	add(p, DATA(args[1]));
	add(p, STMT(BPF_ALU | BPF_AND | BPF_K, ~(uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK)));
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 0, 2));
	add(p, DATA(args[2]));
	add(p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
	add(p, RET(SECCOMP_RET_ERRNO | EPERM));
	add(p, RET(SECCOMP_RET_ALLOW));
	add(p, DATA(nr));
	only_with(p, SYS_connect, 2, sizeof(struct sockaddr_in), sizeof(struct sockaddr_in));
	only_with(p, SYS_setsockopt, 1, SOL_SOCKET, IPPROTO_TCP);
	not_with(p, SYS_setsockopt, 2, TCP_ULP, TCP_ULP);
	refuse(p, moving, COUNT(moving), EPERM);
}

/*
 * Processes of one user may slow each other down. So a worker may change only the thread that asks,
 * which is 0, and its first thread.
 */
static void add_own_priority(struct filter *p, uint32_t self)
{
	static const int of_a_process[] = {
		SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam,
		SYS_sched_setattr,
	};
	size_t i;

	for (i = 0; i < COUNT(of_a_process); i++)
		only_with(p, of_a_process[i], 0, self, 0);
	only_with(p, SYS_setpriority, 0, PRIO_PROCESS, PRIO_PROCESS);
	only_with(p, SYS_setpriority, 1, self, 0);
	only_with(p, SYS_ioprio_set, 0, IO_PRIORITY_OF_ONE, IO_PRIORITY_OF_ONE);
	only_with(p, SYS_ioprio_set, 1, self, 0);
}

static void add_local(struct filter *p, bool tcp)
{
	uint32_t self = (uint32_t)getpid();

	refuse(p, refused_to_local, COUNT(refused_to_local), EPERM);
	if (tcp)
		add_tcp(p);
	else
		add_no_network(p);
	only_with(p, SYS_kill, 0, self, self);
	only_with(p, SYS_tgkill, 0, self, self);
	only_with(p, SYS_prlimit64, 0, self, 0);
	not_with(p, SYS_ioctl, 1, TIOCSTI, TIOCLINUX);
	/*
	 * These choose who gets a descriptor's signals, and by F_SETSIG these may be any signals.
	 */
	not_with(p, SYS_fcntl, 1, F_SETOWN, F_SETOWN_EX);
	not_with(p, SYS_ioctl, 1, FIOSETOWN, SIOCSPGRP);
	add_own_priority(p, self);
}

static int filter_calls(bool local, bool tcp)
{
	struct filter p = { .n = 0 };
	struct sock_fprog prog = { .filter = p.f };

	/* Another instruction set has other numbers for the same calls. */
	add(&p, DATA(arch));
	add(&p, JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
	add(&p, RET(SECCOMP_RET_KILL_PROCESS));
	add(&p, DATA(nr));
	add(&p, JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
	add(&p, RET(SECCOMP_RET_ERRNO | EPERM));
	refuse(&p, refused, COUNT(refused), EPERM);
	add_end_with_parent(&p);
	add_no_holes(&p);
	add_threads_only(&p);
	if (local)
		add_local(&p, tcp);
	else
		refuse(&p, refused_in_vm, COUNT(refused_in_vm), EPERM);
	add(&p, RET(SECCOMP_RET_ALLOW));
	if (p.n > MAX_FILTER) {
		errno = E2BIG;
		return -1;
	}
	prog.len = (unsigned short)p.n;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			    &prog);
}

/* Sets a limit; a lower one stays. */
static int limit(int what, rlim_t value)
{
	struct rlimit r;

	if (getrlimit(what, &r))
		return -1;
	if (r.rlim_max > value)
		r.rlim_max = value;
	r.rlim_cur = r.rlim_max;
	return setrlimit(what, &r);
}

static int drop_ids(const struct wh_sandbox *s)
{
	if (!s->uid)
		return 0;
	return setgroups(0, NULL) || setresgid(s->gid, s->gid, s->gid) ||
	       setresuid(s->uid, s->uid, s->uid) ? -1 : 0;
}

int wh_sandbox_enter(const struct wh_sandbox *s, char *err, size_t err_size)
{
	const char *what;

	if (what = "core limit", limit(RLIMIT_CORE, 0))
		goto fail;
	if (what = "file limit", limit(RLIMIT_NOFILE, 4096))
		goto fail;
	if (what = "process limit", s->processes && limit(RLIMIT_NPROC, s->processes))
		goto fail;
	if (what = "message queue limit", limit(RLIMIT_MSGQUEUE, 0))
		goto fail;
	if (what = "user and group", drop_ids(s))
		goto fail;
	if (what = "no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		goto fail;
	if (what = "dumpable", prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		goto fail;
	if (what = "Landlock", s->landlock && s->landlock(s->backend, s->seats, s->tcp))
		goto fail;
	if (what = "system call filter (CONFIG_SECCOMP_FILTER)",
	    s->seccomp && filter_calls(s->local, s->tcp))
		goto fail;
	return 0;
fail:
	snprintf(err, err_size, "sandbox: %s: %s", what, strerror(errno));
	return -1;
}
