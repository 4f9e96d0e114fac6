/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `wormhole metrics` that do not deal with figures. */
#ifndef WORMHOLE_HOST_METRICS_H
#define WORMHOLE_HOST_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#define METRICS_LISTENERS	8

/* Returns allocated text and its size, or NULL if there is none now. */
typedef char *(*metrics_fn)(void *arg, size_t *size);

/*
 * Listens at unix:PATH (mode 0600), PORT, 127.0.0.1:PORT or [::1]:PORT. Returns a
 * descriptor, or -1 with one line in @err and errno, which is EINVAL if it is no such
 * address.
 */
int metrics_listen(const char *where, char *err, size_t err_size);
/* Removes the file of a Unix socket. */
void metrics_forget(const char *where);
/*
 * Answers GET /metrics on all listeners with what @text returns, until *end. It calls @tick
 * every @every_ms milliseconds; 0: never.
 */
void metrics_serve(const int *listener, int n, metrics_fn text, void *arg, unsigned int every_ms,
		   void (*tick)(void *arg), const volatile int *end);

#endif
