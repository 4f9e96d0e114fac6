// SPDX-License-Identifier: Apache-2.0
/* The backend of interpose_test: a library that yields and maps. */
#include <sched.h>
#include <sys/mman.h>

int lib_yield(void);
int lib_map(int fd);

int lib_yield(void)
{
	return sched_yield();
}

/* Maps a page of the file, or of memory. */
int lib_map(int fd)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	return p == MAP_FAILED || munmap(p, 4096) ? -1 : 0;
}
