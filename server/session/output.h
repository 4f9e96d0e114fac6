/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver prints in a worker, on its way to the client. */
#ifndef WORMHOLE_SERVER_OUTPUT_H
#define WORMHOLE_SERVER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct wh_session;

/*
 * From now on stdout and stderr of this process are the client's. For a process
 * that is a worker and nothing else; over loopback the driver prints by itself.
 */
bool wh_output_capture(void);
/* WH_RSP_OUTPUT while there is something for the client to fetch. Looked at behind each call. */
extern uint32_t wh_output_pending __attribute__((visibility("hidden")));
/* An image that the client loads: may its kernels print? Then waits flush. */
void wh_output_look_at(struct wh_session *s, const void *image, size_t size);

#endif
