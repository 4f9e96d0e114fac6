/* SPDX-License-Identifier: Apache-2.0 */
/* The two system calls of the audit library, which has no C library. */
#ifndef WORMHOLE_AUDIT_RAW_H
#define WORMHOLE_AUDIT_RAW_H

#include <sys/syscall.h>
#include <unistd.h>

static inline long raw_call(long number, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}

static inline long raw_access(const char *path, int mode)
{
	return raw_call(SYS_access, (long)path, mode, 0);
}

static inline long raw_readlink(const char *path, char *to, size_t size)
{
	return raw_call(SYS_readlink, (long)path, (long)to, size);
}

#endif
