// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the functions that a worker replaces for its backend, as a library
 * sees them that is loaded as a backend is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "state/messages.h"
#include "vm/interpose.h"
#include "window.h"
#include "../tap.h"

#define MODULE		42	/* no open file: the test's own ioctl() knows it */

static int (*lib_yield)(void);
static int (*lib_map)(int fd);
static int asked;	/* how often the module was told of a mapping */

/* Replaces the C library's function, for interpose.c. */
int ioctl(int fd, unsigned long request, ...)
{
	asked += fd == MODULE && request == WH_SRV_DEVICES;
	return 0;
}

/* From now on the system call itself answers EPERM. */
static int forbid_sched_yield(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, f };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void *yield_elsewhere(void *arg)
{
	*(int *)arg = lib_yield();
	return NULL;
}

static void test_yield(void)
{
	pthread_t t;
	int rc = 0;

	if (forbid_sched_yield()) {
		skip("slot_threads_yield_is_no_system_call", "no seccomp filters");
		skip("other_threads_yield_is_one", "no seccomp filters");
		return;
	}
	ok_eq(lib_yield(), 0, "slot_threads_yield_is_no_system_call");
	pthread_create(&t, NULL, yield_elsewhere, &rc);
	pthread_join(t, NULL);
	ok_eq(rc, -1, "other_threads_yield_is_one");
}

FILE *wh_messages(void)
{
	return stderr;
}

/* Returns how often the module is asked when the library maps this file. */
static int maps(const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1, before = asked, failed;

	failed = lib_map(fd);
	if (fd >= 0)
		close(fd);
	return failed ? -1 : asked - before;
}

static void test_devices(void)
{
	ok_eq(maps("/dev/zero"), 0, "mapping_of_a_device_is_nobody_s_before_the_worker_has_a_pair");
	wh_interpose_devices(MODULE);
	ok_eq(maps("/dev/zero"), 1, "then_the_module_is_told_of_it");
	ok_eq(maps("/proc/self/exe"), 0, "but_not_of_a_file_s");
	ok_eq(maps(NULL), 0, "nor_of_memory");
}

int main(int argc, char **argv)
{
	char path[4096];
	void *lib;

	(void)argc;
	*strrchr(argv[0], '/') = 0;
	snprintf(path, sizeof(path), "%s/interpose_lib.so", argv[0]);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	tap_plan(7);
	if (!ok(lib != NULL, "library_loads")) {
		diag("%s", dlerror());
		return 1;
	}
	*(void **)&lib_yield = dlsym(lib, "lib_yield");
	*(void **)&lib_map = dlsym(lib, "lib_map");
	test_devices();
	wh_interpose_slot_thread();
	test_yield();
	return tap_exit();
}
