// SPDX-License-Identifier: Apache-2.0
/* The version of libcudart.so.11.0: programs of all 11 ask for at most this. */
#include "cudart.h"

const int rt_version = 11080;
