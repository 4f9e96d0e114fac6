/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of NPP. */
#ifndef WORMHOLE_WIRE_NPP_H
#define WORMHOLE_WIRE_NPP_H

#include <nppcore.h>
#include <stdbool.h>

#include "wire_table.h"

struct wh_rsp_whNppVersion {
	struct wh_rsp hdr;
	NppLibraryVersion version;
};

#endif
