/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session in a link namespace of its own (the loopback transport) has a C
 * library of its own, but runs on threads of the program's: foreign ones, which
 * this C library neither made nor sees end. What it would do for a thread is
 * done here.
 */
#ifndef WORMHOLE_FOREIGN_H
#define WORMHOLE_FOREIGN_H

#include <stdbool.h>

/*
 * Before anything is loaded that has thread-specific data: keys are numbers from
 * first to end - 1 from now on, because both C libraries use one table in each
 * thread. False: they are not free.
 */
bool wh_foreign_init(unsigned int first, unsigned int end);

/* By each foreign thread before its first call, and when it ends. */
void wh_foreign_thread_begin(void);
void wh_foreign_thread_end(void);

#endif
