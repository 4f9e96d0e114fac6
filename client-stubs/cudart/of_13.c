// SPDX-License-Identifier: Apache-2.0
/* What libcudart.so.13 alone has: its version. Of libcudart.so.12, of_12.c tells it. */
#include "cudart.h"

const int rt_version = CUDART_VERSION;
