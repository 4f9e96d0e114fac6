/* SPDX-License-Identifier: Apache-2.0 */
/* Text that the driver prints in a worker, on its way to the client. */
#ifndef WORMHOLE_SERVER_OUTPUT_H
#define WORMHOLE_SERVER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct wh_session;

/*
 * From now on stdout and stderr of this process are the client's. Call it in a process that is only
 * a worker; over loopback the driver prints by itself.
 */
bool wh_output_capture(void);
/* WH_RSP_OUTPUT while there is text for the client to fetch. Each response reads it. */
extern uint32_t wh_output_pending __attribute__((visibility("hidden")));
/* Looks at an image that the client loads: may its kernels print? If so, waits flush the text. */
void wh_output_look_at(struct wh_session *s, const void *image, size_t size);

#endif
