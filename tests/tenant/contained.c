// SPDX-License-Identifier: Apache-2.0
/*
 * `contained PROGRAM [ARGUMENT...]` becomes the program as root of a container: without
 * the capabilities that container runtimes take away, in a mount namespace whose cgroups
 * are read-only, and with unshare() and setns() refused. With -u in front it is also in a
 * user namespace that has 65536 users.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* These are the capabilities of Docker's containers. */
static const int kept[] = {
	CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FSETID, CAP_FOWNER, CAP_MKNOD, CAP_NET_RAW, CAP_SETGID,
	CAP_SETUID, CAP_SETFCAP, CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT, CAP_KILL,
	CAP_AUDIT_WRITE,
};

static int fail(const char *what)
{
	fprintf(stderr, "contained: %s: %s\n", what, strerror(errno));
	return 1;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -1;
	rc = write(fd, text, strlen(text)) < 0 ? -1 : 0;
	close(fd);
	return rc;
}

static bool is_kept(int cap)
{
	size_t i;

	for (i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (kept[i] == cap)
			return true;
	return false;
}

static int drop(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };
	int i;

	for (i = 0; i <= CAP_LAST_CAP; i++) {
		if (!is_kept(i))
			prctl(PR_CAPBSET_DROP, i);
		else
			d[i / 32].effective |= 1u << (i % 32);
	}
	d[0].permitted = d[0].effective;
	d[1].permitted = d[1].effective;
	return (int)syscall(SYS_capset, &h, d);
}

/* In the child's namespace the first 65536 users are themselves. */
static int user_namespace(void)
{
	char path[64];
	int fds[2];
	pid_t pid;
	char c;

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		if (read(fds[0], &c, 1) != 1)
			_exit(1);
		snprintf(path, sizeof(path), "/proc/%d/uid_map", getppid());
		if (put(path, "0 0 65536"))
			_exit(1);
		snprintf(path, sizeof(path), "/proc/%d/gid_map", getppid());
		_exit(put(path, "0 0 65536") ? 1 : 0);
	}
	if (pid < 0 || unshare(CLONE_NEWUSER) || write(fds[1], "", 1) != 1)
		return -1;
	close(fds[0]);
	close(fds[1]);
	return waitpid(pid, &fds[0], 0) == pid && !fds[0] ? 0 : -1;
}

static int cgroups_read_only(void)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("tmpfs", "/sys/fs/cgroup", "tmpfs", MS_RDONLY, NULL);
}

static int refuse_namespaces(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { .filter = f, .len = sizeof(f) / sizeof(*f) };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p);
}

int main(int argc, char **argv)
{
	bool user = argc > 1 && !strcmp(argv[1], "-u");

	if (argc < 2 + user)
		return 2;
	if (user && user_namespace())
		return fail("user namespace");
	if (unshare(CLONE_NEWNS) || cgroups_read_only())
		return fail("mount namespace");
	if (refuse_namespaces())
		return fail("filter");
	if (drop())
		return fail("capabilities");
	execvp(argv[1 + user], argv + 1 + user);
	return fail(argv[1 + user]);
}
