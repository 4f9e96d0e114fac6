// SPDX-License-Identifier: Apache-2.0
/*
 * Takes the place of table.c and of all libraries in a worker that serves only the driver's calls
 * (wormhole-worker-driver). Nobody needs a library's headers to build it. A client's library gets
 * the same answer as for one that the server lacks.
 */
#include "libraries/nccl_hint.h"
#include "session/library.h"

const struct wh_library *const wh_libraries[WH_LIBS];
const char *wh_nccl_hint;
