/* SPDX-License-Identifier: GPL-2.0-only */
/* See compiler.h beside this file. */
#ifndef STANDALONE_LINUX_TYPES_H
#define STANDALONE_LINUX_TYPES_H

#include <stdint.h>
#include_next <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#endif
