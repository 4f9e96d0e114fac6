/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libnvidia-ml.so.1. */
#ifndef WORMHOLE_NVML_STUB_H
#define WORMHOLE_NVML_STUB_H

/* The library exports what NVIDIA's header declares; its export map says the same. */
#pragma GCC visibility push(default)
#include "wire_nvml.h"
#pragma GCC visibility pop

#include "gen_nvml_client.h"

#endif
