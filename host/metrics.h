/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `wormhole metrics` that are no figures. */
#ifndef WORMHOLE_HOST_METRICS_H
#define WORMHOLE_HOST_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#define METRICS_LISTENERS	8

/* Allocated text and its size; NULL: there is none now. */
typedef char *(*metrics_fn)(void *arg, size_t *size);

/*
 * Listens at unix:PATH (mode 0600), PORT, 127.0.0.1:PORT or [::1]:PORT. A descriptor, or
 * -1 with one line in err and errno: EINVAL where that is no such address.
 */
int metrics_listen(const char *where, char *err, size_t err_size);
/* Forgets the file of such a socket. */
void metrics_forget(const char *where);
/*
 * Answers GET /metrics on all of them with what `text` gives, until *end. every_ms: calls
 * `tick` this often; 0: never.
 */
void metrics_serve(const int *listener, int n, metrics_fn text, void *arg, unsigned int every_ms,
		   void (*tick)(void *arg), const volatile int *end);

#endif
