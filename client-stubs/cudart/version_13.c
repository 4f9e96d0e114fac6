// SPDX-License-Identifier: Apache-2.0
/* What libcudart.so.13 alone has: its version. version_12.c and version_11.c tell the others'. */
#include "cudart.h"

const int rt_version = CUDART_VERSION;
