// SPDX-License-Identifier: Apache-2.0
/*
 * In the place of table.c and of all libraries: what a worker that serves the driver's calls
 * alone is linked with (wormhole-worker-driver). Nobody needs a library's headers to build
 * it; a client's library gets the answer of one that the server lacks.
 */
#include "libraries/nccl_hint.h"
#include "session/library.h"

const struct wh_library *const wh_libraries[WH_LIBS];
const char *wh_nccl_hint;
