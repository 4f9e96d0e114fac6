/* SPDX-License-Identifier: GPL-2.0-only */
/* See compiler.h beside this file. */
#ifndef STANDALONE_LINUX_BITS_H
#define STANDALONE_LINUX_BITS_H

#define BIT_ULL(nr)		(1ULL << (nr))

#endif
