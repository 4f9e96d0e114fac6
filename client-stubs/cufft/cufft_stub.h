/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcufft.so.12. */
#ifndef WORMHOLE_CUFFT_STUB_H
#define WORMHOLE_CUFFT_STUB_H

#include "gen_cufft_client.h"

/* Returns how many sizes and work areas a plan has: one for each GPU. */
uint32_t wh_cufft_gpus(cufftHandle plan);
void wh_cufft_set_gpus(cufftHandle plan, uint32_t count);

#endif
