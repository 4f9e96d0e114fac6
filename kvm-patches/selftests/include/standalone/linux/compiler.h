/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests take from the kernel's tools/include, for building them
 * outside a kernel tree.
 */
#ifndef STANDALONE_LINUX_COMPILER_H
#define STANDALONE_LINUX_COMPILER_H

#define __aligned(x)		__attribute__((aligned(x)))
#define __noreturn		__attribute__((noreturn))
#define __packed		__attribute__((packed))
#define __printf(a, b)		__attribute__((format(printf, a, b)))
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, val)	(*(volatile __typeof__(x) *)&(x) = (val))

#endif
