// SPDX-License-Identifier: Apache-2.0
/* A backend's share of interpose_test: a library that yields and makes threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

int lib_yield(void);
int lib_thread(const pthread_attr_t *attr, cpu_set_t *seen);

int lib_yield(void)
{
	return sched_yield();
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
