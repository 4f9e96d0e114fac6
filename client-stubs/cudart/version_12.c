// SPDX-License-Identifier: Apache-2.0
/* The version of libcudart.so.12: a driver of 12.0 serves, and programs ask for at most this. */
#include "cudart.h"

const int rt_version = 12090;
