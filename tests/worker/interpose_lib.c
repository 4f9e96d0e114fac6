// SPDX-License-Identifier: Apache-2.0
/* A backend's share of interpose_test: a library that yields, makes threads and maps. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

int lib_yield(void);
int lib_map(int fd);
int lib_thread(const pthread_attr_t *attr, cpu_set_t *seen);

int lib_yield(void)
{
	return sched_yield();
}

/* A page of the file, or of memory. */
int lib_map(int fd)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	return p == MAP_FAILED || munmap(p, 4096) ? -1 : 0;
}

static void *where(void *seen)
{
	return sched_getaffinity(0, sizeof(cpu_set_t), seen) ? seen : NULL;
}

int lib_thread(const pthread_attr_t *attr, cpu_set_t *seen)
{
	void *failed = seen;
	pthread_t t;

	if (pthread_create(&t, attr, where, seen) || pthread_join(t, &failed))
		return -1;
	return failed ? -1 : 0;
}
