// SPDX-License-Identifier: Apache-2.0
/* The name of the stub library that this is linked into (library.mk). */
#include "library.h"

const char wh_soname[] = SONAME;
