// SPDX-License-Identifier: Apache-2.0
/*
 * A preloaded library in which a process stops, as by SIGSTOP, when it is about to make the pages
 * of memory before they are used (MADV_POPULATE_WRITE). Who looks finds it in the middle of that.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "populate.h"

int madvise(void *at, size_t size, int advice)
{
	if (advice == MADV_POPULATE_WRITE)
		kill(getpid(), SIGSTOP);
	return (int)syscall(SYS_madvise, at, size, advice);
}
