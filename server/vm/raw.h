/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls without the C library, for threads whose thread area is used by others meanwhile, so
 * that errno is not theirs.
 */
#ifndef WORMHOLE_RAW_H
#define WORMHOLE_RAW_H

#include <stdint.h>
#include <sys/syscall.h>

/* Returns what the kernel returns: -errno, or the result. */
static inline int64_t raw6(long number, const uint64_t arg[6])
{
	register uint64_t r10 __asm__("r10") = arg[3];
	register uint64_t r8 __asm__("r8") = arg[4];
	register uint64_t r9 __asm__("r9") = arg[5];
	int64_t rc = number;

	__asm__ volatile("syscall" : "+a" (rc)
			 : "D" (arg[0]), "S" (arg[1]), "d" (arg[2]), "r" (r10), "r" (r8), "r" (r9)
			 : "rcx", "r11", "memory");
	return rc;
}

static inline int64_t raw(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	register uint64_t r10 __asm__("r10") = d;
	int64_t rc = number;

	__asm__ volatile("syscall" : "+a" (rc) : "D" (a), "S" (b), "d" (c), "r" (r10)
			 : "rcx", "r11", "memory");
	return rc;
}

static inline int64_t raw_ioctl(int fd, unsigned long request, uint64_t arg)
{
	return raw(SYS_ioctl, (uint64_t)fd, request, arg, 0);
}

#endif
