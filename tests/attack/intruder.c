// SPDX-License-Identifier: Apache-2.0
/*
 * A driver whose start does what code of a hostile client would do in its worker. It
 * writes on the standard error what it got: an errno, or "done". The server's log takes
 * few and short lines of a worker (server/daemon/log.c), so all answers are in few lines
 * "intruder: WHAT ANSWER; WHAT ANSWER; ...". Everything else is softgpu's. $INTRUDER
 * names the server's folder, and $INTRUDER_FILE a file that a worker has no business
 * with. $INTRUDER_CACHE makes it fill its tenant's cache and look for other tenants'
 * caches. An allocation of GREEDY bytes first touches $INTRUDER_EAT bytes of the worker's
 * memory.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define LINE	280	/* the log cuts off what is longer than 299 */

static char line[LINE];

static void say_line(void)
{
	if (*line)
		dprintf(2, "intruder: %s\n", line);
	*line = 0;
}

/* Adds an answer to the current line, or begins the next line if there is no room. */
static void add(const char *fmt, ...)
{
	char text[LINE - 16];
	size_t n;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (strlen(line) + strlen("intruder: ; ") + strlen(text) >= sizeof(line))
		say_line();
	n = strlen(line);
	snprintf(line + n, sizeof(line) - n, "%s%s", n ? "; " : "", text);
}

static void say(const char *what, long rc)
{
	const char *answer = rc < 0 ? strerrorname_np(errno) : "done";

	add("%s %s", what, answer ? answer : "?");
}

static long run_program(void)
{
	char *argv[] = { "true", NULL }, *none[] = { NULL };

	return execve("/bin/true", argv, none);
}

static long end_child(long pid)
{
	if (!pid)
		_exit(0);
	return pid;
}

static long open_one(const char *dir, const char *name, int flags)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, flags, 0600);
	if (fd >= 0)
		close(fd);
	return fd;
}

/*
 * Asks for such a socket, as a library of the worker may. It gets a stand-in, which has a
 * name and receives nothing.
 */
static int stand_in(void)
{
	const struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0wormhole-intruder" };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct pollfd p = { fd, POLLIN, 0 };

	if (fd < 0 || bind(fd, (const struct sockaddr *)&name, sizeof(name)) || poll(&p, 1, 0))
		return -1;
	return sendto(fd, "x", 1, 0, (const struct sockaddr *)&name, sizeof(name)) == 1 ? -1 : 0;
}

static long connect_to(const char *dir)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	long rc;

	snprintf(a.sun_path, sizeof(a.sun_path), "%.80s/control.sock", dir);
	rc = connect(fd, (struct sockaddr *)&a, sizeof(a));
	close(fd);
	return rc;
}

static pid_t server(const char *dir)
{
	char path[400], text[32] = "0";
	FILE *f;

	/* If the lock file is closed to the worker as well, the server is its parent. */
	snprintf(path, sizeof(path), "%s/server.lock", dir);
	f = fopen(path, "r");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	return atoi(text) > 1 ? atoi(text) : getppid();
}

static void *nothing(void *arg)
{
	return arg;
}

static long threads(void)
{
	pthread_t t;
	int rc = pthread_create(&t, NULL, nothing, NULL);

	errno = rc;
	return rc ? -1 : pthread_join(t, NULL);
}

/* Reports the names of all network devices. */
static void devices(void)
{
	char text[256], name[32], all[200] = "";
	FILE *f = fopen("/proc/self/net/dev", "r");

	while (f && fgets(text, sizeof(text), f))
		if (strchr(text, ':') && sscanf(text, " %31[^:]", name) == 1) {
			strncat(all, " ", sizeof(all) - strlen(all) - 1);
			strncat(all, name, sizeof(all) - strlen(all) - 1);
		}
	if (f)
		fclose(f);
	add("devices%s", all);
}

static void namespaces(void)
{
	char net[64] = "", ipc[64] = "";

	if (readlink("/proc/self/ns/net", net, sizeof(net) - 1) < 0 ||
	    readlink("/proc/self/ns/ipc", ipc, sizeof(ipc) - 1) < 0)
		say("namespaces", -1);
	add("namespaces %s %s", net, ipc);
}

static long more_files(void)
{
	struct rlimit r = { 1 << 20, 1 << 20 };

	return setrlimit(RLIMIT_NOFILE, &r);
}

static void limits(void)
{
	struct rlimit files, processes, core;

	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_NPROC, &processes);
	getrlimit(RLIMIT_CORE, &core);
	add("limits files %s processes %s core %lu", files.rlim_max <= 4096 ? "few" : "many",
	    processes.rlim_max <= 4096 ? "few" : "many", (unsigned long)core.rlim_max);
}

/* Reports the worker's user, and what keeps it from getting more rights. */
static void rights(void)
{
	add("rights user %u new_privileges %s filter %s", geteuid(),
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? "none" : "some",
	    prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER ? "on" : "off");
}

/* Returns the first mapping with these rights of a file whose path contains `name`, or NULL. */
static void *mapping(const char *rights, const char *name, size_t *size)
{
	char text[PATH_MAX + 128];
	unsigned long from, to;
	FILE *f = fopen("/proc/self/maps", "r");
	void *found = NULL;

	while (f && !found && fgets(text, sizeof(text), f))
		if (strstr(text, rights) && strstr(text, name) &&
		    sscanf(text, "%lx-%lx", &from, &to) == 2) {
			found = (void *)from;
			*size = to - from;
		}
	if (f)
		fclose(f);
	errno = ENOENT;
	return found;
}

/* Does the kernel let the worker write to a file of the server that it has mapped only to read? */
static void widen(const char *what, const char *name)
{
	size_t size;
	void *p = mapping(" r--s ", name, &size);

	say(what, p ? mprotect(p, size, PROT_READ | PROT_WRITE) : -1);
}

/* Removes memory from a mapping that others have as well. */
static long punch(const char *name)
{
	size_t size;
	void *p = mapping(" rw-s ", name, &size);

	return p ? madvise(p, size, MADV_REMOVE) : -1;
}

static long punch_file(void)
{
	int fd = memfd_create("intruder", 0);
	long rc = fallocate(fd, 0, 0, 8192);

	if (!rc)
		rc = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
	close(fd);
	return rc;
}

/* Tries everything that a process of the same user may do to the scheduling of another one. */
static void slow_down(pid_t who)
{
	const struct sched_param none = { 0 };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	say("priority", setpriority(PRIO_PROCESS, who, 19));
	say("priorities", setpriority(PRIO_USER, 0, 19));
	say("cpus", sched_setaffinity(who, sizeof(cpus), &cpus));
	say("policy", sched_setscheduler(who, SCHED_IDLE, &none));
	say("io_priority", syscall(SYS_ioprio_set, 1, who, 3 << 13));
	say("own_priority", setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)));
	say("own_cpus", sched_getaffinity(0, sizeof(cpus), &cpus) < 0 ? -1 :
	    sched_setaffinity(0, sizeof(cpus), &cpus));
}

/* Tries to make this process the first that the kernel ends when memory is short. */
static long end_first(pid_t who)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d", who);
	return open_one(path, "oom_score_adj", O_WRONLY);
}

/* Directs signals of a socket to a process; the signal may be any (F_SETSIG). */
static long own_by_ioctl(unsigned long how, pid_t who)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	long rc = ioctl(fd, how, &who);

	close(fd);
	return rc;
}

#define GREEDY	3751

static void eat(void)
{
	const char *text = getenv("INTRUDER_EAT");
	size_t n = text ? strtoull(text, NULL, 0) : 0, i;
	char *p;

	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	for (i = 0; p != MAP_FAILED && i < n; i += 4096)
		p[i] = 1;
	say("eat", p == MAP_FAILED ? -1 : 0);
	say_line();
}

/*
 * Makes a deep chain of folders, some with a file, the last of them closed to everybody.
 * Also makes folders with names that a program which removes it all may want for its own
 * use.
 */
static void deep(const char *path, int levels)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY), next;
	char name[32];

	for (next = 0; next < 100; next++) {
		snprintf(name, sizeof(name), "%d", next);
		mkdirat(fd, name, 0700);
		snprintf(name, sizeof(name), "%d/d", next);
		mkdirat(fd, name, 0700);
		snprintf(name, sizeof(name), "%d/d/d", next);
		mkdirat(fd, name, 0700);
	}

	/* Landlock walks up the whole chain at each step, which makes this slow. */
	for (; fd >= 0 && levels; levels--) {
		if (!(levels % 100))
			close(openat(fd, "file", O_CREAT | O_WRONLY, 0600));
		mkdirat(fd, "d", 0700);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = next;
	}
	fchmod(fd, 0);
	close(fd);
}

/* Tries to write its tenant's compiled code, and counts the caches of others. */
static void caches(void)
{
	const char *mine = getenv("CUDA_CACHE_PATH"), *off = getenv("CUDA_CACHE_DISABLE");
	DIR *d = opendir("/dev/shm");
	struct dirent *e;
	long others = 0;

	add("cache_path %s", mine ? mine : "none");
	if (!mine) {
		add("cache off %s", off ? off : "not");
	} else {
		add("cache_at %s", mine);
		say("cache_kept", open_one(mine, "kept", O_RDONLY));
		say("cache_make", open_one(mine, "kept", O_CREAT | O_WRONLY));
		deep(mine, 2100);	/* a path beyond PATH_MAX */
	}
	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, "wormhole-code", 13) &&
		    (!mine || strcmp(e->d_name, strrchr(mine, '/') + 1)))
			others++;
	if (d)
		closedir(d);
	add("cache_others %ld", others);
}

static void intrude(void)
{
	const char *dir = getenv("INTRUDER"), *file = getenv("INTRUDER_FILE");
	unsigned long flags[11] = { [4] = SIGCHLD };
	pid_t parent;

	if (!dir)
		return;
	parent = server(dir);
	say("execve", run_program());
	say("fork", end_child(syscall(SYS_fork)));
	say("vfork", syscall(SYS_vfork) ? -1 : (_exit(0), 0));
	say("clone", end_child(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)));
	say("clone3", end_child(syscall(SYS_clone3, flags, 64)));
	say("thread", threads());
	say("socket_inet", socket(AF_INET, SOCK_STREAM, 0));
	say("socket_stream", socket(AF_UNIX, SOCK_STREAM, 0));
	say("datagrams", (int)syscall(SYS_socket, AF_UNIX, SOCK_DGRAM, 0));
	say("stand_in", stand_in());
	say("connect", connect_to(dir));
	say("ptrace", ptrace(PTRACE_ATTACH, parent, 0, 0));
	say("kill", kill(parent, 0));
	say("tgkill", syscall(SYS_tgkill, parent, parent, 0));
	say("kill_all", kill(-1, 0));
	say("setuid", setuid(0));
	say("unshare", unshare(CLONE_NEWUSER));
	say("prlimit", more_files());
	say("prlimit_server", prlimit(parent, RLIMIT_NOFILE, NULL, &(struct rlimit){ 0 }));
	say("owner", fcntl(2, F_SETOWN, parent));
	say("owner_by_ioctl", own_by_ioctl(FIOSETOWN, parent));
	say("group_by_ioctl", own_by_ioctl(SIOCSPGRP, parent));
	slow_down(parent);
	say("end_first", end_first(parent));
	say("segment", shmget(IPC_PRIVATE, 4096, 0600));
	say("semaphore", semget(IPC_PRIVATE, 1, 0600));
	say("queue", msgget(IPC_PRIVATE, 0600));
	say("type", ioctl(0, TIOCSTI, "x"));
	say("terminal", open_one("/dev", "ptmx", O_RDWR | O_NOCTTY));
	say("outlive", prctl(PR_SET_PDEATHSIG, 0));
	say("punch_usage", punch(".usage"));
	say("punch_seat", punch("/seats/"));
	say("punch_file", punch_file());
	add("secret %s", getenv("SECRET") ? "read" : "none");
	say("limits_file", open_one(dir, "tenants/default.limits", O_RDWR));
	say("board", open_one(dir, "tenants/turns/seats/board", O_RDWR));
	say("lock", open_one(dir, "server.lock", O_WRONLY));
	say("make_in_tmp", open_one("/tmp", "intruder", O_CREAT | O_WRONLY));
	if (file)
		say("file", open_one("", file, O_RDONLY));
	widen("widen_limits", ".limits");
	widen("widen_board", "/board");
	rights();
	devices();
	namespaces();
	limits();
	add("end");
	say_line();
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes)
{
	CUresult (*alloc)(CUdeviceptr *, size_t) =
		(CUresult (*)(CUdeviceptr *, size_t))dlsym(RTLD_NEXT, "cuMemAlloc_v2");

	if (bytes == GREEDY)
		eat();
	return alloc ? alloc(p, bytes) : CUDA_ERROR_UNKNOWN;
}

CUresult cuInit(unsigned int flags)
{
	CUresult (*init)(unsigned int) = (CUresult (*)(unsigned int))dlsym(RTLD_NEXT, "cuInit");

	intrude();
	if (getenv("INTRUDER_CACHE")) {
		caches();
		say_line();
	}
	return init ? init(flags) : CUDA_ERROR_UNKNOWN;
}
