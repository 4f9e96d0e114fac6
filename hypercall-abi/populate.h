/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice by which the kernel makes the pages of a range at once, since Linux 5.14. The headers of
 * an older C library lack it. A kernel that does not know it answers EINVAL.
 */
#ifndef WORMHOLE_POPULATE_H
#define WORMHOLE_POPULATE_H

#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

#endif
