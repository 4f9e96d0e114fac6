// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the way into the sandbox. Entered after the backend is loaded and before
 * the first client comes; there is no way back. The driver itself starts inside,
 * with the client's CUDA_* variables, so its device files must be there and be
 * open to the worker's user. Threads that exist by then get the filter too
 * (TSYNC), and the uid by glibc.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox.h"

#define X32_BIT		0x40000000

/* Refused with EPERM: a hijacked worker's way to the kernel's larger parts. */
static const unsigned short refused[] = {
	SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
	SYS_pidfd_getfd, SYS_kcmp, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
	SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
	SYS_socket, SYS_socketpair, SYS_add_key, SYS_request_key, SYS_keyctl,
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
	SYS_capset,
};

#define REFUSED		(sizeof(refused) / sizeof(refused[0]))
#define STMT(c, k)	((struct sock_filter)BPF_STMT(c, k))
#define JUMP(c, k, t, f) ((struct sock_filter)BPF_JUMP(c, k, t, f))
#define DATA(field)	STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RET(action)	STMT(BPF_RET | BPF_K, action)

static int filter_calls(void)
{
	struct sock_filter f[REFUSED + 8];
	struct sock_fprog prog = { .filter = f };
	size_t i, n = 0;

	/* Another instruction set has other numbers for the same calls. */
	f[n++] = DATA(arch);
	f[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	f[n++] = RET(SECCOMP_RET_KILL_PROCESS);
	f[n++] = DATA(nr);
	f[n++] = JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, REFUSED + 1, 0);
	for (i = 0; i < REFUSED; i++)
		f[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], REFUSED - i, 0);
	f[n++] = RET(SECCOMP_RET_ALLOW);
	f[n++] = RET(SECCOMP_RET_ERRNO | EPERM);
	prog.len = (unsigned short)n;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			    &prog);
}

static int limit(int what, rlim_t value)
{
	struct rlimit r = { value, value };

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
	if (what = "message queue limit", limit(RLIMIT_MSGQUEUE, 0))
		goto fail;
	if (what = "user and group", drop_ids(s))
		goto fail;
	if (what = "no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		goto fail;
	if (what = "dumpable", prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		goto fail;
	if (what = "system call filter (CONFIG_SECCOMP_FILTER)", s->seccomp && filter_calls())
		goto fail;
	return 0;
fail:
	snprintf(err, err_size, "sandbox: %s: %s", what, strerror(errno));
	return -1;
}
