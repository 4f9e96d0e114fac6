/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcusparseLt.so.0. */
#ifndef WORMHOLE_CUSPARSELT_STUB_H
#define WORMHOLE_CUSPARSELT_STUB_H

#include "gen_cusparselt_client.h"

#include "../opaque.h"

#endif
