/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libnvjpeg.so.13. */
#ifndef WORMHOLE_NVJPEG_STUB_H
#define WORMHOLE_NVJPEG_STUB_H

#include "gen_nvjpeg_client.h"

#endif
