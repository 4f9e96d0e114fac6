// SPDX-License-Identifier: Apache-2.0
/*
 * A preloaded library in which the n-th call fails that takes memory, or makes a process,
 * a thread or a descriptor. A file that all processes share (FAIL_FILE) says which call,
 * of which processes, and when, so that this can change while they run. Inner calls of
 * the C library that are not calls of these functions do not count.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { MEMORY = 1, PROCESS, DESCRIPTOR };
enum role { COMMAND = 1, SERVER, WORKER, CHILD };

/* The fault as faults.py writes it. */
struct fault {
	uint32_t kind, role;	/* 0: none */
	uint32_t at, count;
	uint32_t fired;
};

static struct fault *fault;
static uint32_t role;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

/*
 * The role of a process follows from the words with which it was started. A forked
 * process has the role of its parent.
 */
static uint32_t role_of(char *words, ssize_t n)
{
	char *word;
	bool server = n > 0 && strstr(words, "wormhole-server");

	if (n > 0 && strstr(words, "wormhole-"))
		for (word = words; word < words + n; word += strlen(word) + 1) {
			if (!strcmp(word, "--serve"))
				return WORKER;
			if (!strcmp(word, "--probe") || !strcmp(word, "--figures"))
				return CHILD;
		}
	if (server)
		return SERVER;
	return n > 0 && strlen(words) >= 8 && !strcmp(words + strlen(words) - 8, "wormhole") ?
		COMMAND : 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAIL_FILE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	char words[4096];
	ssize_t n;
	void *p;

	if (fd < 0)
		return;
	p = (void *)syscall(SYS_mmap, NULL, sizeof(*fault), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    0);
	close(fd);
	fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, words, sizeof(words) - 1);
	if (fd >= 0)
		close(fd);
	words[n > 0 ? n : 0] = 0;
	role = role_of(words, n);
	fault = p == MAP_FAILED ? NULL : p;
}

static bool fails(enum kind kind, int error)
{
	if (!fault || fault->kind != kind || fault->role != role ||
	    __atomic_add_fetch(&fault->count, 1, __ATOMIC_SEQ_CST) != fault->at)
		return false;
	fault->fired = 1;
	errno = error;
	return true;
}

/* --- Memory --------------------------------------------------------------------------- */

void *malloc(size_t size)
{
	return fails(MEMORY, ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails(MEMORY, ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails(MEMORY, ENOMEM) ? NULL : __libc_realloc(p, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return fails(MEMORY, ENOMEM) ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	void *p = fails(MEMORY, ENOMEM) ? NULL : __libc_memalign(align, size);

	if (p)
		*out = p;
	return p ? 0 : ENOMEM;
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return fails(MEMORY, ENOMEM) ? MAP_FAILED :
		(void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
}

/* --- Processes and threads ---------------------------------------------------------------- */

pid_t fork(void)
{
	static pid_t (*real)(void);

	if (!real)
		real = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
	return fails(PROCESS, EAGAIN) ? -1 : real();
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (!real)
		real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
			dlsym(RTLD_NEXT, "pthread_create");
	return fails(PROCESS, EAGAIN) ? EAGAIN : real(t, attr, fn, arg);
}

/* --- Descriptors ------------------------------------------------------------------------- */

int epoll_create1(int flags)
{
	return fails(DESCRIPTOR, EMFILE) ? -1 : (int)syscall(SYS_epoll_create1, flags);
}

int epoll_ctl(int epoll, int op, int fd, struct epoll_event *e)
{
	return op == EPOLL_CTL_ADD && fails(DESCRIPTOR, ENOMEM) ? -1 :
		(int)syscall(SYS_epoll_ctl, epoll, op, fd, e);
}

int pipe2(int fd[2], int flags)
{
	return fails(DESCRIPTOR, EMFILE) ? -1 : (int)syscall(SYS_pipe2, fd, flags);
}

int socket(int domain, int type, int protocol)
{
	return fails(DESCRIPTOR, EMFILE) ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int fd[2])
{
	return fails(DESCRIPTOR, EMFILE) ? -1 :
		(int)syscall(SYS_socketpair, domain, type, protocol, fd);
}

int memfd_create(const char *name, unsigned int flags)
{
	return fails(DESCRIPTOR, EMFILE) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	return fails(DESCRIPTOR, EMFILE) ? -1 :
		(int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
