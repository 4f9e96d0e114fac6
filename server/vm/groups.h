/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cgroup for each worker of a server VM. A worker that was taken over may take its own part of
 * the VM's memory and no more, and leaves no process behind.
 */
#ifndef WORMHOLE_VM_GROUPS_H
#define WORMHOLE_VM_GROUPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Starts groups for this many workers, each with at most @memory bytes; 0: an equal part of seven
 * eighths of the VM's memory. 1: done, and @text says what; 0: this VM has no cgroup with memory,
 * and @text says why.
 */
int wh_worker_groups_start(unsigned int workers, uint64_t memory, char *text, size_t size);
void wh_worker_groups_stop(void);
/* Call this before worker @n is forked; 0, or -1 with one line in err. */
int wh_worker_group_open(unsigned int n, char *err, size_t err_size);
/*
 * Worker @n may take so many bytes beyond its part; 0: no more. 1: it has more than that now, so
 * its bound is as before; else 0, or -1 with one line in err.
 */
int wh_worker_group_more(unsigned int n, uint64_t bytes, char *err, size_t err_size);
/* Call this in the child that becomes the worker; 0, or -1 with errno. */
int wh_worker_group_enter(unsigned int n);
/* Call this when the worker has ended: whatever it has forked ends, too. */
void wh_worker_group_close(unsigned int n);

#endif
