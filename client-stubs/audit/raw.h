/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of the audit library, which has no C library. They return errors as negative
 * numbers.
 */
#ifndef WORMHOLE_AUDIT_RAW_H
#define WORMHOLE_AUDIT_RAW_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long raw_call(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

static inline long raw_access(const char *path, int mode)
{
	return raw_call(SYS_access, (long)path, mode, 0, 0);
}

static inline long raw_open(const char *path)
{
	return raw_call(SYS_open, (long)path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0, 0);
}

static inline void raw_close(long fd)
{
	raw_call(SYS_close, fd, 0, 0, 0);
}

static inline long raw_read_at(long fd, void *to, size_t size, size_t offset)
{
	return raw_call(SYS_pread64, fd, (long)to, size, offset);
}

#endif
