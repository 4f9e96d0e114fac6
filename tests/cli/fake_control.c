// SPDX-License-Identifier: Apache-2.0
/*
 * A preloaded library that stands in for /dev/kvm-wormhole on hosts without one. With it
 * the wormhole command runs up to where it becomes the VMM. FAKE_CONTROL is `none' (the
 * device is not there), `old' (it has another ABI), `denied' (the caller lacks a
 * capability) or `taken' (the id is another VM's). VMs of tests are not noted in
 * /run/wormhole, but in FAKE_RUN, if it is set. Each VM has counters that go up at each
 * look. Every change of the host is a line in FAKE_LOG. The file FAKE_ATTACHED has the number
 * of programs that are attached. With FAKE_BUSY no worker waits for one.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "wormhole_abi.h"

static int control = -1;

static bool is(const char *how)
{
	const char *asked = getenv("FAKE_CONTROL");

	return asked && !strcmp(asked, how);
}

static int fail(int error)
{
	errno = error;
	return -1;
}

#define RUN	"/run/wormhole"

static const char *elsewhere(const char *path, char buf[512])
{
	const char *run = getenv("FAKE_RUN");

	if (!run || strncmp(path, RUN, sizeof(RUN) - 1))
		return path;
	snprintf(buf, 512, "%s%s", run, path + sizeof(RUN) - 1);
	return buf;
}

int open(const char *path, int flags, ...)
{
	char buf[512];
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	if (strcmp(path, "/dev/kvm-wormhole"))
		return (int)syscall(SYS_openat, AT_FDCWD, elsewhere(path, buf), flags, mode);
	if (is("none"))
		return fail(ENOENT);
	control = (int)syscall(SYS_openat, AT_FDCWD, "/dev/full", flags);
	return control;
}

DIR *opendir(const char *path)
{
	DIR *(*real)(const char *) = (DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir");
	char buf[512];

	return real(elsewhere(path, buf));
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *) =
		(FILE *(*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen");
	char buf[512];

	return real(elsewhere(path, buf), mode);
}

int access(const char *path, int mode)
{
	char buf[512];

	return (int)syscall(SYS_faccessat, AT_FDCWD, elsewhere(path, buf), mode);
}

int rename(const char *from, const char *to)
{
	char a[512], b[512];

	return (int)syscall(SYS_rename, elsewhere(from, a), elsewhere(to, b));
}

int unlink(const char *path)
{
	char buf[512];

	return (int)syscall(SYS_unlink, elsewhere(path, buf));
}

int connect(int fd, const struct sockaddr *to, socklen_t size)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char buf[512];

	if (to->sa_family != AF_UNIX)
		return (int)syscall(SYS_connect, fd, to, size);
	snprintf(a.sun_path, sizeof(a.sun_path), "%.107s",
		 elsewhere(((const struct sockaddr_un *)to)->sun_path, buf));
	return (int)syscall(SYS_connect, fd, &a, sizeof(a));
}

static unsigned int attached(void)
{
	const char *file = getenv("FAKE_ATTACHED");
	FILE *f = file ? fopen(file, "re") : NULL;
	unsigned int n = 0;

	if (f && fscanf(f, "%u", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

static int show(struct wh_host_stat *s)
{
	static unsigned int looks;

	looks++;
	s->detaches = 5 - attached();
	s->parked = getenv("FAKE_BUSY") ? 0 : 16;
	s->role = s->vm_id == 1 ? WH_ROLE_SERVER : WH_ROLE_CLIENT;
	s->pairs = 4;
	s->attaches = 5;
	s->fills = 6;
	s->view_pages = 7;
	s->handoffs[WH_HANDOFF_SYSCALL] = 1000 * looks;
	s->handoffs[WH_HANDOFF_FAULT] = 3;
	s->exits[1] = 50 * looks;
	s->exits[48] = 2;
	s->exits[70] = 1;	/* this reason has no name */
	return 0;
}

static int note(const char *what, uint64_t id, const void *arg)
{
	const struct wh_host_allow *a = arg;
	const char *log = getenv("FAKE_LOG");
	char line[100];
	int to, n;

	if (!log)
		return fail(ENOTTY);
	n = snprintf(line, sizeof(line), "%s %llu", what, (unsigned long long)id);
	if (a)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %llu window %u pairs %u",
			      (unsigned long long)a->server_id, a->window, a->max_pairs);
	line[n++] = '\n';
	to = open(log, O_WRONLY | O_APPEND);
	if (to < 0 || write(to, line, (size_t)n) != n)
		return fail(EIO);
	return close(to);
}

/* The descriptor is that of a file which a test can look for in the VMM. */
static int create_role(const struct wh_host_role *r)
{
	if (is("taken"))
		return fail(EEXIST);
	if (r->flags != WH_ROLE_NEXT_VM)
		return fail(EINVAL);
	if (getenv("FAKE_LOG") &&
	    note(r->role == WH_ROLE_SERVER ? "server" : "client", r->vm_id, NULL))
		return -1;
	return (int)syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDWR | O_CLOEXEC);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd != control)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	switch (request) {
	case WH_HOST_VERSION:
		if (is("denied"))
			return fail(EPERM);
		return WH_ABI_VERSION - is("old");
	case WH_HOST_CREATE_ROLE:
		return create_role(arg);
	case WH_HOST_ALLOW:
		return note("allow", ((struct wh_host_allow *)arg)->client_id, arg);
	case WH_HOST_DENY:
		return note("deny", ((struct wh_host_vm *)arg)->vm_id, NULL);
	case WH_HOST_STAT:
		return show(arg);
	}
	return fail(ENOTTY);
}

int mkdir(const char *path, mode_t mode)
{
	char buf[512];

	if (!strcmp(path, RUN) && !getenv("FAKE_RUN"))
		return fail(EACCES);
	return (int)syscall(SYS_mkdir, elsewhere(path, buf), mode);
}
