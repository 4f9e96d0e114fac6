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

/* Before anything else is loaded into the namespace. False: out of keys. */
bool wh_foreign_init(void);

/* By each foreign thread before its first call, and when it ends. */
void wh_foreign_thread_begin(void);
void wh_foreign_thread_end(void);

#endif
