/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcufft.so.12. */
#ifndef WORMHOLE_CUFFT_STUB_H
#define WORMHOLE_CUFFT_STUB_H

#include "gen_cufft_client.h"

#endif
